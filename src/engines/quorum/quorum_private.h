/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a quorum share.  quorum.c has the links and the timers,
 * majority.c what each kind of request asks and when it is decided,
 * quorum_enqueue.c how a ticket gets its number, quorum_answer.c the answer to
 * a list, quorum_request.c the requests under way, merged_tickets.c the merged
 * answers, and quorum_tickets.c our own tickets.  Each calls only those behind
 * it. */
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
    HF_QUORUM_WAITING, /* for the next attempt */
    HF_QUORUM_OPENING, /* an attempt is under way */
    HF_QUORUM_LINKED,  /* calls can be made */
};

/* A server, with the state of its link. */
struct hf_quorum_server {
    enum hf_quorum_link link;
    bool tried; /* it was up or has failed since hf_quorum_connect() */
    /* WAITING: when the next attempt begins; OPENING: when we give up */
    uint64_t state_until_ms;
    struct hf_retry_state backoff;
    uint64_t counts_at_ms; /* LINKED: when its answers begin to count */
    /* Its clock as last read, in milliseconds since 1970, and when that was by
     * our clock. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
    /* Calls without an answer, oldest first. */
    struct hf_quorum_server_call *first;
    struct hf_quorum_server_call *last;
    hf_status status;
    char why[HF_QUORUM_WHY_BYTES];
};

/* ----------------------------------------------------------------- calls -- */

/* The call of one request at one server. */
struct hf_quorum_server_call {
    struct hf_store_call call; /* the link has only this */
    struct hf_store_quorum_args args;
    struct hf_quorum_request *request;
    size_t server;
    unsigned round; /* round of the request that it belongs to */
    bool counts;    /* did the server count when this was sent? */
    uint64_t deadline_at_ms;
    struct hf_quorum_server_call *previous;
    struct hf_quorum_server_call *next;
};

/* Whether the leased client waits for a request. */
enum hf_quorum_request_state {
    HF_QUORUM_REQUEST_OPEN, /* .user_call waits for the answer */
    /* the next tick answers it with UNSUPPORTED */
    HF_QUORUM_REQUEST_UNSUPPORTED,
    /* The leased client is being called with the answer; ENDED: it has ended
     * the quorum meanwhile, so the request is freed after that. */
    HF_QUORUM_REQUEST_ANSWERING,
    HF_QUORUM_REQUEST_ENDED,
    /* it was answered, or is a repair, which nobody waits for; late answers of
     * servers may come */
    HF_QUORUM_REQUEST_ANSWERED,
};

/* A call of the leased client, carried out at the servers in rounds.  It is
 * freed when it was answered and no server call is without an answer. */
struct hf_quorum_request {
    enum hf_quorum_request_state state;
    enum hf_store_call_kind kind;
    /* the leased client's call; OPEN and UNSUPPORTED only, else NULL */
    struct hf_store_call *user_call;
    struct hf_ticket_id ticket;
    uint64_t *numbers; /* RENEW: see hf_store_quorum_args; ours */
    uint64_t renewal;  /* RENEW: serial number, see hf_quorum_ticket */
    bool may_be_done;  /* a server did it, or may have */
    /* number of the current round, in which all servers are called; answers of
     * other rounds are outdated */
    unsigned round;
    unsigned commit_rounds; /* rounds of COMMIT so far */
    /* ENQUEUE: the greatest number that was proposed so far, then the one to be
     * committed, which may be raised; LIST: the greatest of our tickets in the
     * queue, 0: we have none; REVOKE: the new .revoked, 0 in the first round */
    uint64_t number;
    size_t pending;          /* server calls without an answer, of all rounds */
    size_t pending_in_round; /* the same of this round, of servers that count */
    /* bit set of servers that count and did it in this round */
    uint32_t ok_servers;
    uint32_t found_servers; /* of these: that had the ticket */
    uint32_t committed;     /* of these: that committed it with .number */
    /* a server has the ticket and did not commit it with .number */
    bool number_taken;
    /* from then on the request does not wait for more answers of this round;
     * HF_FOREVER: no grace period has begun */
    uint64_t grace_ends_at_ms;
    struct hf_quorum_merged merged; /* the servers' answers of this round */
    /* The first failure of this round. */
    bool failed;
    enum hf_failure failure;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    /* EXAMINE: from the servers that have answered */
    struct hf_finding_list findings;
    /* READ_SUCCESS: the latest of those that were answered */
    struct hf_success success;
    struct hf_quorum_request *previous;
    struct hf_quorum_request *next;
};

/* The whole state of a quorum; only the functions of these files change it. */
struct hf_quorum {
    struct hf_quorum_config config;
    struct hf_quorum_ops ops;
    void *servers_arg;
    struct hf_quorum_listener listener;
    /* time of the call into the quorum that is being carried out */
    uint64_t now_ms;
    char session[HF_STORE_SESSION_BYTES];
    bool linked; /* between connect() and down() or disconnect() */
    bool up;     /* hf_leased_up() was called */
    /* when to report up, whether or not more servers come up; HF_FOREVER: no
     * majority is up, or up was reported */
    uint64_t up_at_ms;
    bool out_of_memory; /* go down in the next tick */
    struct hf_quorum_server servers[HF_QUORUM_SERVERS_MAX];
    /* Requests under way, oldest first. */
    struct hf_quorum_request *first;
    struct hf_quorum_request *last;
    struct hf_quorum_tickets tickets;
    uint64_t renewals; /* serial number of the last RENEW */
};

/* The number of servers in a bit set. */
static inline size_t hf_quorum_count(uint32_t servers)
{
    return (size_t)__builtin_popcount(servers);
}

/* How many servers are a majority. */
static inline size_t hf_quorum_majority(const struct hf_quorum *quorum)
{
    return quorum->config.servers / 2 + 1;
}

/* Can a majority have what the servers ${present_at} have, if only the servers
 * ${answered} have answered?  The others may have it. */
static inline bool hf_quorum_may_hold(const struct hf_quorum *quorum,
                                      uint32_t present_at, uint32_t answered)
{
    return hf_quorum_count(present_at & answered) + quorum->config.servers -
               hf_quorum_count(answered) >=
           hf_quorum_majority(quorum);
}

/* End all links and report down.  ${why} goes to the waiters. */
void hf_quorum_go_down(struct hf_quorum *quorum, hf_status status,
                       const char *why);

/* ------------------------------------------------------ quorum_request.c -- */

/* Make a request for ${user_call}; if that is NULL, for a repair.  Returns
 * NULL if memory runs out. */
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

/* ${server_call} was answered; NULL: its link ended.  Unlink it, and count it
 * in its request.  True: the server did it, and its answer is to be added.
 * ${server_call} is the caller's to free. */
bool hf_quorum_server_call_end(struct hf_quorum *quorum,
                               struct hf_quorum_server_call *server_call,
                               const struct hf_store_answer *answer);

/* Can ${count} servers still do it in this round, if ${have} have done it? */
bool hf_quorum_request_can_reach(const struct hf_quorum_request *request,
                                 size_t have, size_t count);

/* Is it worth to wait for more answers of this round?  The first call begins a
 * short grace period.  True until that ends, while answers are outstanding. */
bool hf_quorum_request_wait(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);

/* Answer the request with ${answer}, or with the failure that its servers
 * reported, or with the given failure.  This may free ${request}. */
void hf_quorum_request_answer(struct hf_quorum *quorum,
                              struct hf_quorum_request *request,
                              struct hf_store_answer *answer);
void hf_quorum_request_fail(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);
void hf_quorum_request_fail_with(struct hf_quorum *quorum,
                                 struct hf_quorum_request *request,
                                 enum hf_failure failure, hf_status status,
                                 const char *text);

/* Free the request if it was answered and all its server calls were. */
void hf_quorum_request_release(struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* The links have ended: forget all requests, and answer none of them. */
void hf_quorum_requests_abort(struct hf_quorum *quorum);

/* ------------------------------------------------------------ majority.c -- */

/* Begin to carry out what the user's call asks for: send the first round. */
void hf_quorum_operation_begin(struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* Answer the request if enough is known, or send the next round if that is
 * due. */
void hf_quorum_operation_decide(struct hf_quorum *quorum,
                                struct hf_quorum_request *request);

/* ${server_call} was answered; NULL: its link ended.  Adds the answer to the
 * request and decides the request, which may free that.  Frees
 * ${server_call}. */
void hf_quorum_server_call_done(struct hf_quorum *quorum,
                                struct hf_quorum_server_call *server_call,
                                const struct hf_store_answer *answer);

/* ------------------------------------------------------ quorum_enqueue.c -- */

/* What hf_quorum_operation_begin(), add_answer() and
 * hf_quorum_operation_decide() of majority.c do for an ENQUEUE. */
void hf_quorum_enqueue_begin(struct hf_quorum *quorum,
                             struct hf_quorum_request *request);
void hf_quorum_enqueue_add_answer(
    struct hf_quorum *quorum, struct hf_quorum_request *request,
    const struct hf_quorum_server_call *server_call,
    const struct hf_store_answer *answer);
void hf_quorum_enqueue_decide(struct hf_quorum *quorum,
                              struct hf_quorum_request *request);

/* Put tickets of ours in at the servers where they are missing; only tickets
 * that the RENEW with the serial number ${renewal} has named, because a
 * majority has just renewed these. */
void hf_quorum_repair(struct hf_quorum *quorum, uint64_t renewal);

#endif
