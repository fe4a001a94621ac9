/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The close of a session at the server, which removes all its tickets.
 *
 * A session may have thousands of tickets, and no fixed time is right for
 * these: a busy server needs ten times as long as an idle one, and it is no
 * use to wait for a server that is gone.  So the tickets go in pieces, and each
 * answer that is no failure restarts the timeout of the close.  If the server
 * is silent for that long, the close ends, and each ticket that is left stays
 * until its lease runs out.
 *
 * The pieces of the session's own close are sent all at once, because nothing
 * follows them, and because the tickets at the nodes of a Redis Cluster that
 * are up must not wait for a node that is down.  The pieces of a session that
 * was lost before are sent one after the other: of many calls at once one
 * might miss its deadline, which would end the link, and the session that has
 * begun since needs that link.
 */
#ifndef HF_ENGINES_LEASED_SESSION_CLOSE_H
#define HF_ENGINES_LEASED_SESSION_CLOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_leased;
struct hf_leased_ticket_sets;

/* The tickets that are to be removed at the server.  Only session_close.c
 * writes. */
struct hf_leased_session_close {
    /* Called when all pieces of the session's own close were answered, and
     * nothing is left of the session before.  Not if the link ends first. */
    void (*closed)(struct hf_leased *leased);
    /* The tickets of the session before this one; NULL: there are none. */
    struct hf_leased_ticket_sets *old;
    /* The tickets of this session, while it is CLOSING; else NULL. */
    struct hf_leased_ticket_sets *own;
    size_t own_calls;  /* pieces of .own that are sent and not answered */
    uint64_t limit_ms; /* CLOSING: how long the server may be silent */
};

/* Keep ${sets}, the tickets of a session that was lost, to be removed by
 * hf_leased_session_close_old() over another link, and free ${sets} later.
 * NULL: keep nothing.  What was kept before is freed, so no call about that
 * may be under way. */
void hf_leased_session_close_keep(struct hf_leased *leased,
                                  struct hf_leased_ticket_sets *sets);

/* Begin to remove what was kept, if anything was.  The link is up. */
void hf_leased_session_close_old(struct hf_leased *leased);

/* Begin to remove all that the session has: its connectivity is CLOSING from
 * now on.  False, and nothing changes, if memory runs out for the copy of its
 * tickets or for the first piece. */
bool hf_leased_session_close_begin(struct hf_leased *leased);

/* A copy of all that the session has now, cut into the pieces of a
 * CLOSE_SESSION; NULL if memory runs out. */
struct hf_leased_ticket_sets *
hf_leased_session_close_sets(const struct hf_leased *leased);

/* Free what was kept. */
void hf_leased_session_close_free(struct hf_leased *leased);

#endif
