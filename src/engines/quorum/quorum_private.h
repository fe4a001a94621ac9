/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a quorum share:
 *
 *   quorum.c          the links and the timers
 *   majority.c        what each kind of request asks, and when it is decided
 *   quorum_enqueue.c  how a ticket gets its number
 *   quorum_answer.c   the answer to a list
 *   quorum_request.c  the requests under way
 *   merged_tickets.c  the merged answers
 *   quorum_tickets.c  our own tickets
 *
 * A file calls only functions of files below it. */
#ifndef HF_ENGINES_QUORUM_QUORUM_PRIVATE_H
#define HF_ENGINES_QUORUM_QUORUM_PRIVATE_H

#include "base/retry.h"
#include "core/finding_list.h"
#include "engines/quorum/merged_tickets.h"
#include "engines/quorum/quorum.h"
#include "engines/quorum/quorum_tickets.h"

#define HF_QUORUM_WHY_BYTES 200

/* --------------------------------------------------------------- servers -- */

/* State of the link to one server. */
enum hf_quorum_link {
    HF_QUORUM_WAITING, /* until the next attempt */
    HF_QUORUM_OPENING, /* an attempt is under way */
    HF_QUORUM_LINKED,  /* calls can be made */
};

/* A server and the state of its link. */
struct hf_quorum_server {
    enum hf_quorum_link link;
    bool tried; /* it was up, or has failed, since hf_quorum_connect() */
    /* WAITING: when the next attempt begins; OPENING: when the attempt is given
     * up */
    uint64_t state_until_ms;
    struct hf_retry_state backoff;
    uint64_t counts_at_ms; /* LINKED: when its answers begin to count */
    /* The server's clock when it was last read, in milliseconds since 1970, and
     * the time of that by our clock. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
    /* Calls without an answer, oldest first. */
    struct hf_quorum_server_call *first;
    struct hf_quorum_server_call *last;
    hf_status status;
    char why[HF_QUORUM_WHY_BYTES];
};

/* ----------------------------------------------------------------- calls -- */

/* The part of a request that one server carries out. */
struct hf_quorum_server_call {
    struct hf_store_call call; /* the part that the link gets */
    struct hf_store_quorum_args args;
    struct hf_quorum_request *request;
    size_t server;
    unsigned round; /* the round of the request in which it was sent */
    bool counts;    /* the server counted when this was sent */
    uint64_t deadline_at_ms;
    struct hf_quorum_server_call *previous;
    struct hf_quorum_server_call *next;
};

/* Whether the leased client waits for a request. */
enum hf_quorum_request_state {
    HF_QUORUM_REQUEST_OPEN, /* .user_call waits for the answer */
    /* refused with UNSUPPORTED in the next tick */
    HF_QUORUM_REQUEST_UNSUPPORTED,
    /* ANSWERING: the leased client is being called with the answer.  ENDED:
     * during that call it has ended the links, so the request is freed
     * afterwards. */
    HF_QUORUM_REQUEST_ANSWERING,
    HF_QUORUM_REQUEST_ENDED,
    /* it was answered, or is a repair, for which nobody waits; late answers of
     * servers may still come */
    HF_QUORUM_REQUEST_ANSWERED,
};

/* A call of the leased client, which the servers carry out in rounds.  It is
 * freed when it was answered and all its server calls have ended. */
struct hf_quorum_request {
    enum hf_quorum_request_state state;
    enum hf_store_call_kind kind;
    /* the leased client's call; NULL unless OPEN or UNSUPPORTED */
    struct hf_store_call *user_call;
    struct hf_ticket_id ticket;
    /* RENEW: .numbers of hf_store_quorum_args; belongs to the request */
    uint64_t *numbers;
    uint64_t renewal; /* RENEW: serial number of the renewal */
    bool may_be_done; /* a server has done it, or may have */
    /* Number of the present round.  In each round all servers are called;
     * answers of earlier rounds are outdated. */
    unsigned round;
    unsigned commit_rounds; /* number of COMMIT rounds so far */
    /* ENQUEUE: the greatest number that was proposed, then the number to be
     * committed, which may be raised.  LIST: the greatest number of our tickets
     * in the queue; 0: we have none.  REVOKE: the new .revoked; 0 in the first
     * round. */
    uint64_t number;
    size_t pending; /* server calls without an answer, of all rounds */
    /* server calls of this round without an answer, at servers that count */
    size_t pending_in_round;
    /* bit set of the servers that count and have done it in this round */
    uint32_t ok_servers;
    /* bit set of those among them that had the ticket */
    uint32_t found_servers;
    /* bit set of those among them that committed it with .number */
    uint32_t committed;
    /* a server has the ticket but did not commit it with .number */
    bool number_taken;
    /* When the request stops to wait for more answers of this round.
     * HF_FOREVER: no grace period has begun. */
    uint64_t grace_ends_at_ms;
    struct hf_quorum_merged merged; /* the answers of this round, merged */
    /* The first failure of this round. */
    bool failed;
    enum hf_failure failure;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    /* EXAMINE: the findings of the servers that have answered */
    struct hf_finding_list findings;
    /* READ_SUCCESS: the latest success that was answered */
    struct hf_success success;
    struct hf_quorum_request *previous;
    struct hf_quorum_request *next;
};

/* The state of a quorum. */
struct hf_quorum {
    struct hf_quorum_config config;
    struct hf_quorum_ops ops;
    void *servers_arg;
    struct hf_quorum_listener listener;
    /* the time, as passed to the function of quorum.h that is running */
    uint64_t now_ms;
    char session[HF_STORE_SESSION_BYTES];
    bool linked; /* between connect() and down() or disconnect() */
    bool up;     /* hf_leased_up() was called */
    /* When to report up even if no more servers come up.  HF_FOREVER: no
     * majority is up, or up was reported. */
    uint64_t up_at_ms;
    bool out_of_memory; /* go down in the next tick */
    struct hf_quorum_server servers[HF_QUORUM_SERVERS_MAX];
    /* Requests under way, oldest first. */
    struct hf_quorum_request *first;
    struct hf_quorum_request *last;
    struct hf_quorum_tickets tickets;
    uint64_t renewals; /* serial number of the last RENEW */
};

/* Returns the number of servers in a bit set. */
static inline size_t hf_quorum_count(uint32_t servers)
{
    return (size_t)__builtin_popcount(servers);
}

/* Returns how many servers are a majority. */
static inline size_t hf_quorum_majority(const struct hf_quorum *quorum)
{
    return quorum->config.servers / 2 + 1;
}

/* Returns whether a majority can have what the servers ${present_at} have, if
 * only the servers ${answered} have answered.  Each of the others may have
 * it. */
static inline bool hf_quorum_may_hold(const struct hf_quorum *quorum,
                                      uint32_t present_at, uint32_t answered)
{
    return hf_quorum_count(present_at & answered) + quorum->config.servers -
               hf_quorum_count(answered) >=
           hf_quorum_majority(quorum);
}

/* End all links and report down.  ${why} is shown to the waiters. */
void hf_quorum_go_down(struct hf_quorum *quorum, hf_status status,
                       const char *why);

/* ------------------------------------------------------ quorum_request.c -- */

/* Make a request for ${user_call}; NULL: for a repair.  Returns NULL if memory
 * runs out. */
struct hf_quorum_request *
hf_quorum_request_new(struct hf_quorum *quorum,
                      struct hf_store_call *user_call);

/* Begin a new round: send ${call} with ${args} to all servers that are
 * linked. */
void hf_quorum_request_send_all(struct hf_quorum *quorum,
                                struct hf_quorum_request *request,
                                const struct hf_store_call *call,
                                const struct hf_store_quorum_args *args);
/* Send ${call} to one server, as a part of the current round.  If memory runs
 * out, the quorum goes down in the next tick. */
void hf_quorum_request_send_one(struct hf_quorum *quorum,
                                struct hf_quorum_request *request,
                                size_t server, const struct hf_store_call *call,
                                const struct hf_store_quorum_args *args);

/* End ${server_call}, which was answered; ${answer} is NULL if its link ended.
 * Unlinks it and counts it in its request.  Returns true if the server has done
 * it, so that its answer must be added.  The caller frees ${server_call}. */
bool hf_quorum_server_call_end(struct hf_quorum *quorum,
                               struct hf_quorum_server_call *server_call,
                               const struct hf_store_answer *answer);

/* Returns whether ${count} servers can still have done it in this round, if
 * ${have} have. */
bool hf_quorum_request_can_reach(const struct hf_quorum_request *request,
                                 size_t have, size_t count);

/* Returns whether to wait for more answers of this round.  The first call
 * begins a short grace period.  Returns true until that ends, as long as
 * answers are missing. */
bool hf_quorum_request_wait(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);

/* Answer the request: with ${answer}; with the failure that its servers
 * reported; or with the given failure.  Each may free ${request}. */
void hf_quorum_request_answer(struct hf_quorum *quorum,
                              struct hf_quorum_request *request,
                              struct hf_store_answer *answer);
void hf_quorum_request_fail(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);
void hf_quorum_request_fail_with(struct hf_quorum *quorum,
                                 struct hf_quorum_request *request,
                                 enum hf_failure failure, hf_status status,
                                 const char *text);

/* Free the request if it was answered and all its server calls have ended. */
void hf_quorum_request_release(struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* Forget all requests without an answer, because the links have ended. */
void hf_quorum_requests_abort(struct hf_quorum *quorum);

/* ------------------------------------------------------------ majority.c -- */

/* Begin to carry out the leased client's call: send the first round. */
void hf_quorum_operation_begin(struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* Answer the request if its answer is known, or send the next round if that is
 * due. */
void hf_quorum_operation_decide(struct hf_quorum *quorum,
                                struct hf_quorum_request *request);

/* End ${server_call}, which was answered; ${answer} is NULL if its link ended.
 * Adds the answer to the request and decides the request, which may free it.
 * Frees ${server_call}. */
void hf_quorum_server_call_done(struct hf_quorum *quorum,
                                struct hf_quorum_server_call *server_call,
                                const struct hf_store_answer *answer);

/* ------------------------------------------------------ quorum_enqueue.c -- */

/* The parts of hf_quorum_operation_begin(), add_answer() and
 * hf_quorum_operation_decide() of majority.c for an ENQUEUE. */
void hf_quorum_enqueue_begin(struct hf_quorum *quorum,
                             struct hf_quorum_request *request);
void hf_quorum_enqueue_add_answer(
    struct hf_quorum *quorum, struct hf_quorum_request *request,
    const struct hf_quorum_server_call *server_call,
    const struct hf_store_answer *answer);
void hf_quorum_enqueue_decide(struct hf_quorum *quorum,
                              struct hf_quorum_request *request);

/* Add tickets of ours again at servers that lack them.  Only tickets that the
 * RENEW with the serial number ${renewal} named, because a majority has just
 * renewed these. */
void hf_quorum_repair(struct hf_quorum *quorum, uint64_t renewal);

#endif
