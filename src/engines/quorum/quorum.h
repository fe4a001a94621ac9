/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store (engines/leased/store.h) made of several servers that know nothing of
 * each other, of which a majority has to be there.  No I/O: time, what servers
 * say and the leased client's calls in; calls of single servers and answers
 * out.
 *
 *     leased client -- call, answer --> quorum -- call, answer --> servers
 *
 * No server ever refuses a ticket, so that contenders cannot share the servers
 * out among themselves until nobody has a majority.  What is to be agreed on is
 * the order:
 *
 *  1. PROPOSE at all: the ticket is in the queue there, with a number greater
 *     than every one that this server ever gave or was told.  When a majority
 *     has answered, the greatest of their numbers is the ticket's.
 *  2. SETTLE at all, with that number: the server is told the number, and shows
 *     its queue.  When a majority has settled, the ticket is in its place, and
 *     its number is its token.
 *
 * Why nobody is passed over: of two tickets the one with the lower number was
 * proposed at a majority, of which one server is also among those whose queues
 * the other one is shown.  If the proposal came first, the ticket is in that
 * list.  If it came after, it got a greater number, since that server had been
 * told the other one's.  For this to hold of every list, and not of the first
 * alone, each LIST tells the servers the number of the lister's ticket.
 *
 * A ticket that is only proposed may get any number from the least that it was
 * proposed with on: it stands in a list with that one.
 *
 * A ticket is held as long as a majority has it.  So whatever is not there at
 * so many servers that no majority can have it is in no list, and a ticket of
 * ours that fewer than a majority have renewed is not renewed.  A server that
 * was started not long ago may have forgotten tickets, and numbers that it was
 * told: it *counts* when every ticket that may hang on it has run out.  Until
 * then it is asked with the others, but what it says is not heeded.
 *
 * The clock of each server is only ever compared with itself.
 */
#ifndef HF_ENGINES_QUORUM_QUORUM_H
#define HF_ENGINES_QUORUM_QUORUM_H

#include "core/random.h"
#include "engines/leased/store.h"

#define HF_QUORUM_SERVERS_MIN 3
#define HF_QUORUM_SERVERS_MAX 9

struct hf_quorum;

/* What a quorum asks of its servers, each known by its place from 0 on. Nothing
 * is told from inside these. */
struct hf_quorum_ops {
    /* As in hf_store_ops, for one of the links. */
    void (*connect)(void *servers, size_t server, const char *session);
    void (*disconnect)(void *servers, size_t server);
    void (*call)(void *servers, size_t server, struct hf_store_call *call);
    const char *(*awaited)(const void *servers, size_t server); /* or NULL */
};

/* And whom it tells: hf_leased_up() and so on. */
struct hf_quorum_user {
    void (*up)(void *arg, uint64_t server_ms, uint64_t now_ms);
    void (*down)(void *arg, hf_status status, const char *why, uint64_t now_ms);
    void (*answered)(void *arg, struct hf_store_call *call,
                     const struct hf_store_answer *answer, uint64_t now_ms);
    void (*notice)(void *arg, const struct hf_store_notice *notice,
                   uint64_t now_ms);
    void *arg;
};

struct hf_quorum_config {
    size_t servers; /* odd, HF_QUORUM_SERVERS_MIN to _MOST */
    uint64_t ttl_ms;
    /* A server counts so long after its start.  No ticket of anybody may live
     * longer than that without being renewed. */
    uint64_t rejoin_ms;
    struct hf_random random;
};

/* All is copied.  NULL for lack of memory. */
struct hf_quorum *hf_quorum_new(const struct hf_quorum_config *config,
                                const struct hf_quorum_ops *ops, void *servers,
                                const struct hf_quorum_user *user);
/* There are no links. */
void hf_quorum_free(struct hf_quorum *quorum);

/* As in hf_store_ops. */
void hf_quorum_connect(struct hf_quorum *quorum, const char *session,
                       uint64_t now_ms);
void hf_quorum_disconnect(struct hf_quorum *quorum);
void hf_quorum_call(struct hf_quorum *quorum, struct hf_store_call *call,
                    uint64_t now_ms);

void hf_quorum_tick(struct hf_quorum *quorum, uint64_t now_ms);
/* When the next tick is wanted, HF_FOREVER if none; may be past. */
uint64_t hf_quorum_wake_at_ms(const struct hf_quorum *quorum);

/* ---------------------------------------------------- told by the servers --
 */

/* ${server_ms}: what its clock shows; ${served_ms}: for how long it has been
 * there since it may last have forgotten something, HF_FOREVER if it never
 * did. */
void hf_quorum_server_up(struct hf_quorum *quorum, size_t server,
                         uint64_t server_ms, uint64_t served_ms,
                         uint64_t now_ms);
/* The link could not be made, or has ended; its calls are forgotten. */
void hf_quorum_server_down(struct hf_quorum *quorum, size_t server,
                           hf_status status, const char *why, uint64_t now_ms);
void hf_quorum_server_answered(struct hf_quorum *quorum,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t now_ms);
void hf_quorum_server_notice(struct hf_quorum *quorum, size_t server,
                             const struct hf_store_notice *notice,
                             uint64_t now_ms);

#endif
