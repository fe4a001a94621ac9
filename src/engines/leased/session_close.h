/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The close of a session at the server, which removes all its tickets.
 *
 * A session may have thousands of tickets, and no fixed timeout suits all
 * cases: a busy server needs ten times as long as an idle one, but it is
 * useless to wait for a server that is gone.  So the tickets are removed in
 * pieces, and each answer, unless it is a failure, restarts the timeout.  When
 * the server was silent for that long, the close ends, and the tickets that are
 * left stay until their leases run out.
 *
 * The session's own pieces are sent all at once.  Nothing is sent after them,
 * and on a Redis Cluster, pieces for nodes that are up do not wait for a node
 * that is down.
 *
 * The pieces of an older session, which was lost, are sent one after the other.
 * If many were sent at once, one might miss its deadline and so end the link,
 * which the new session needs.
 */
#ifndef HF_ENGINES_LEASED_SESSION_CLOSE_H
#define HF_ENGINES_LEASED_SESSION_CLOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_leased;
struct hf_leased_ticket_sets;

/* What is to be removed at the server.  Only session_close.c writes this. */
struct hf_leased_session_close {
    /* Called when all pieces were answered, of this session and of the session
     * before.  Not called if the link ends first. */
    void (*closed)(struct hf_leased *leased);
    /* The tickets of the session before this one, which was lost; NULL:
     * none. */
    struct hf_leased_ticket_sets *old;
    /* The tickets of this session while it is CLOSING, else NULL. */
    struct hf_leased_ticket_sets *own;
    /* number of pieces of .own that were sent and are not answered */
    size_t own_calls;
    /* CLOSING: how long the server may be silent, in milliseconds */
    uint64_t limit_ms;
};

/* Keep ${sets}, the tickets of a lost session, until
 * hf_leased_session_close_old() removes them on another link.  ${sets} belongs
 * to this file then.  NULL: keep nothing.  Frees what was kept before, so no
 * call about that may be under way. */
void hf_leased_session_close_keep(struct hf_leased *leased,
                                  struct hf_leased_ticket_sets *sets);

/* Begin to remove what was kept, if there is anything.  The link must be up. */
void hf_leased_session_close_old(struct hf_leased *leased);

/* Begin to close the session, whose connectivity becomes CLOSING.  If memory
 * runs out for the copy of its tickets or for the first piece, returns false,
 * and nothing has changed. */
bool hf_leased_session_close_begin(struct hf_leased *leased);

/* Returns a copy of the session's tickets, to be removed in pieces; NULL if
 * memory runs out. */
struct hf_leased_ticket_sets *
hf_leased_session_close_sets(const struct hf_leased *leased);

/* Free what hf_leased_session_close_keep() has kept. */
void hf_leased_session_close_free(struct hf_leased *leased);

#endif
