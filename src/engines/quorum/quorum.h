/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store (engines/leased/store.h) made of several servers that are not
 * connected to each other.  It works while a majority of them can be used.  It
 * does no I/O: the time, the answers of servers and the calls of the leased
 * client come in; calls for single servers and answers go out.
 *
 *      leased client -- call, answer --> quorum -- call, answer --> servers
 *
 * No server ever refuses a ticket, so contenders cannot split the servers among
 * them until none has a majority.  But the servers must agree on the order of
 * the tickets.  They agree as in Skeen's total-order multicast (Birman and
 * Joseph, ACM TOCS 5(1), 1987), with a majority in place of all servers:
 *
 *   1. PROPOSE at all servers: each adds the ticket to its queue, with a number
 *      greater than all that it ever gave out or received.  When a majority has
 *      answered, the greatest of their numbers becomes the ticket's number.
 *   2. COMMIT at all servers with that number: each receives the number and
 *      answers with its queue.  When a majority has committed, the ticket's
 *      position in the queue is final, and its number is its token.
 *
 * Why no ticket is passed over.  Let A be the ticket with the lower number and
 * B the other.  A was proposed at a majority, and B sees the queues of a
 * majority, so one server is in both.  If that server got the proposal of A
 * before the commit of B, B sees A in its queue.  If the proposal of A came
 * after the commit of B, the server had received the number of B and proposed a
 * greater one for A; but A has the lower number.  For this to hold for every
 * list and not only for the first, each LIST sends the number of its own ticket
 * to the servers.
 *
 * A ticket that is only proposed may still get any number from the least of its
 * proposals on, so a list shows it with that least number.
 *
 * A ticket is held as long as a majority has it.  Therefore a list leaves out
 * tickets that are missing at so many servers that no majority can have them,
 * and a ticket of ours that fewer than a majority have renewed does not count
 * as renewed.
 *
 * A server that was started recently may have forgotten tickets and numbers.
 * It *counts* only when every lease that it may have forgotten has run out.
 * Until then it gets all calls, but its answers do not count.
 *
 * The clock of a server is only compared with itself.
 */
#ifndef HF_ENGINES_QUORUM_QUORUM_H
#define HF_ENGINES_QUORUM_QUORUM_H

#include "base/random.h"
#include "engines/leased/store.h"

#define HF_QUORUM_SERVERS_MIN 3
#define HF_QUORUM_SERVERS_MAX 9

struct hf_quorum;

/* The functions by which a quorum calls its servers, whose indices begin at 0.
 * None of them may report anything from inside. */
struct hf_quorum_ops {
    /* The same as in hf_store_ops, for the link of one server. */
    void (*connect)(void *servers, size_t server, const char *session);
    void (*disconnect)(void *servers, size_t server);
    void (*call)(void *servers, size_t server, struct hf_store_call *call);
    /* the pointer may be NULL */
    const char *(*awaited)(const void *servers, size_t server);
};

/* The callbacks of a quorum, the same as hf_leased_up() and so on. */
struct hf_quorum_listener {
    void (*up)(void *arg, uint64_t server_ms, uint64_t now_ms);
    void (*down)(void *arg, hf_status status, const char *why, uint64_t now_ms);
    void (*answered)(void *arg, struct hf_store_call *call,
                     const struct hf_store_answer *answer, uint64_t now_ms);
    void (*notice)(void *arg, const struct hf_store_notice *notice,
                   uint64_t now_ms);
    void *arg;
};

/* Options of a quorum. */
struct hf_quorum_config {
    size_t servers; /* odd, HF_QUORUM_SERVERS_MIN to _MAX */
    uint64_t ttl_ms;
    /* how much the clocks of servers and ours may drift, in percent */
    uint64_t clock_drift;
    /* How long after its start a server counts.  No client may use a longer
     * ttl. */
    uint64_t rejoin_ms;
    struct hf_random random;
};

/* Make a quorum without links.  All arguments are copied.  Returns NULL if
 * memory runs out. */
struct hf_quorum *hf_quorum_new(const struct hf_quorum_config *config,
                                const struct hf_quorum_ops *ops, void *servers,
                                const struct hf_quorum_listener *listener);
/* Free the quorum, which must have no links. */
void hf_quorum_free(struct hf_quorum *quorum);

/* The same as in hf_store_ops; connect() begins to connect to all servers. */
void hf_quorum_connect(struct hf_quorum *quorum, const char *session,
                       uint64_t now_ms);
void hf_quorum_disconnect(struct hf_quorum *quorum);
void hf_quorum_call(struct hf_quorum *quorum, struct hf_store_call *call,
                    uint64_t now_ms);

/* Do all that is due at ${now_ms}. */
void hf_quorum_tick(struct hf_quorum *quorum, uint64_t now_ms);
/* Returns when the next tick is due, which may be in the past; HF_FOREVER: no
 * tick is due. */
uint64_t hf_quorum_wake_at_ms(const struct hf_quorum *quorum);

/* The state of one server, for people. */
struct hf_quorum_view {
    bool linked;
    /* if linked: how long until its answers count; 0: they count now */
    uint64_t counts_in_ms;
    const char *why;    /* if not linked: the reason, or "" */
    uint64_t server_ms; /* if linked: what its clock shows now, about */
};

/* Set ${view} to the state of ${server}.  .why is valid until the next call of
 * a function of the quorum. */
void hf_quorum_look(const struct hf_quorum *quorum, size_t server,
                    struct hf_quorum_view *view);

/* ------------------------------------------ called by the servers' links -- */

/* The link to ${server} is up.  ${server_ms} is the server's clock.
 * ${served_ms} is the time since the server may have forgotten something last;
 * HF_FOREVER: it never did. */
void hf_quorum_server_up(struct hf_quorum *quorum, size_t server,
                         uint64_t server_ms, uint64_t served_ms,
                         uint64_t now_ms);
/* The link to ${server} has ended or could not be made.  Its calls are not
 * answered. */
void hf_quorum_server_down(struct hf_quorum *quorum, size_t server,
                           hf_status status, const char *why, uint64_t now_ms);
/* ${call} was answered.  If hf_store_answer_check() refuses the answer, the
 * link to that server is ended.  The answer is not checked if the request was
 * answered already. */
void hf_quorum_server_answered(struct hf_quorum *quorum,
                               struct hf_store_call *call,
                               const struct hf_store_answer *answer,
                               uint64_t now_ms);
/* ${server} sent ${notice}, which is passed on if the quorum is up.  One notice
 * is held back: that a ticket of ours is gone, if the ticket has no number yet
 * or a majority may still have it. */
void hf_quorum_server_notice(struct hf_quorum *quorum, size_t server,
                             const struct hf_store_notice *notice,
                             uint64_t now_ms);

#endif
