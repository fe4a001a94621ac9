/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a quorum share: quorum.c has the links and what time does,
 * quorum_request.c calls under way, quorum_enqueue.c how a ticket gets its
 * place, operations.c the other calls, merged_tickets.c what servers say of
 * tickets, quorum_tickets.c which are ours. */
#ifndef HF_ENGINES_QUORUM_QUORUM_PRIVATE_H
#define HF_ENGINES_QUORUM_QUORUM_PRIVATE_H

#include "core/retry.h"
#include "engines/quorum/merged_tickets.h"
#include "engines/quorum/quorum.h"
#include "engines/quorum/quorum_tickets.h"

#define HF_QUORUM_WHY_BYTES 200

/* ------------------------------------------------------------- servers -- */

enum hf_quorum_link {
    HF_QUORUM_WAITING, /* for the next attempt */
    HF_QUORUM_OPENING,
    HF_QUORUM_LINKED,
};

struct hf_quorum_server {
    enum hf_quorum_link link;
    bool tried; /* since we were asked to connect it has been up, or has failed
                 */
    uint64_t state_until_ms; /* WAITING: the next attempt; OPENING: the end of
                          our patience */
    struct hf_retry_state backoff;
    uint64_t counts_at_ms; /* LINKED: what it says counts from then on */
    /* Its clock as last heard, and when. */
    uint64_t server_ms;
    uint64_t server_clock_at_ms;
    /* Calls that it has not answered, oldest first. */
    struct hf_quorum_server_call *first;
    struct hf_quorum_server_call *last;
    hf_status status;
    char why[HF_QUORUM_WHY_BYTES];
};

/* ---------------------------------------------------------------- calls -- */

/* One server's part in a call. */
struct hf_quorum_server_call {
    struct hf_store_call call; /* the first member */
    struct hf_store_quorum_args args;
    struct hf_quorum_request *request;
    size_t server;
    unsigned round;
    bool counts;
    uint64_t deadline_at_ms;
    struct hf_quorum_server_call *previous;
    struct hf_quorum_server_call *next;
};

/* A call under way.  It outlives its answer until no server's is missing. */
struct hf_quorum_request {
    enum hf_store_call_kind kind;
    struct hf_store_call *user_call; /* NULL: answered, or nobody asked */
    struct hf_ticket_id ticket;
    uint64_t *numbers; /* RENEW, see hf_store_quorum_args */
    uint64_t renewal;  /* its own number, see hf_quorum_ticket */
    bool unsupported;  /* answered in the next tick: we do not do that */
    bool may_be_done;  /* a server has done it, or may have */
    unsigned round;    /* of calls to all; whatever is of another is late */
    unsigned commit_rounds;    /* rounds of SETTLE */
    uint64_t number;           /* that is being settled; REVOKE: asked for */
    size_t pending;            /* parts without an answer, of any round */
    size_t pending_in_round;   /* of this round, of servers that count */
    uint32_t ok_servers;       /* servers that count and did it in this round */
    uint32_t found_servers;    /* of these: that had it */
    uint32_t committed;        /* of these: that have settled it with .number */
    bool number_taken;         /* one has another ticket settled with it */
    bool grace_running;        /* .grace_at_ms is set */
    uint64_t grace_ends_at_ms; /* what is doubtful then is taken as it is */
    struct hf_quorum_merged merged;
    /* The first failure. */
    bool failed;
    enum hf_failure failure;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    bool answering;  /* the user is being told: memory stays */
    bool free_later; /* and is freed after that */
    struct hf_quorum_request *previous;
    struct hf_quorum_request *next;
};

struct hf_quorum {
    struct hf_quorum_config config;
    struct hf_quorum_ops ops;
    void *servers_arg;
    struct hf_quorum_user user;
    uint64_t now_ms; /* of the call that is being carried out */
    char session[HF_STORE_SESSION_BYTES];
    bool linked;        /* between connect() and down() or disconnect() */
    bool up;            /* and it has been told so */
    uint64_t up_at_ms;  /* a majority is there: tell then at the latest */
    bool out_of_memory; /* memory has run out: down in the next tick */
    struct hf_quorum_server servers[HF_QUORUM_SERVERS_MAX];
    struct hf_quorum_request *first;
    struct hf_quorum_request *last;
    struct hf_quorum_tickets tickets;
    uint64_t renewals; /* RENEWs that have begun */
};

static inline size_t hf_quorum_count(uint32_t servers)
{
    return (size_t)__builtin_popcount(servers);
}

static inline size_t hf_quorum_majority(const struct hf_quorum *quorum)
{
    return quorum->config.servers / 2 + 1;
}

/* May what is there at ${there} of the servers ${heard} be there at a majority?
 */
static inline bool hf_quorum_may_hold(const struct hf_quorum *quorum,
                                      uint32_t present_at, uint32_t answered)
{
    return hf_quorum_count(present_at & answered) + quorum->config.servers -
               hf_quorum_count(answered) >=
           hf_quorum_majority(quorum);
}

/* Cut off from the majority, for ${why}. */
void hf_quorum_go_down(struct hf_quorum *quorum, hf_status status,
                       const char *why);

/* -----------------------------------------------------------------
 * quorum_request.c -- */

struct hf_quorum_request *
hf_quorum_request_new(struct hf_quorum *quorum,
                      struct hf_store_call *user_call);

/* Begin a new round: make ${call} of all that are linked. */
void hf_quorum_request_send_all(struct hf_quorum *quorum,
                                struct hf_quorum_request *request,
                                const struct hf_store_call *call,
                                const struct hf_store_quorum_args *args);
/* Of one. */
void hf_quorum_request_send_one(struct hf_quorum *quorum,
                                struct hf_quorum_request *request,
                                size_t server, const struct hf_store_call *call,
                                const struct hf_store_quorum_args *args);

/* ${part} has been answered; NULL: its link has ended. */
void hf_quorum_server_call_done(struct hf_quorum *quorum,
                                struct hf_quorum_server_call *server_call,
                                const struct hf_store_answer *answer);

/* Can this round still have ${count} servers that did it, ${have} of them being
 * known? */
bool hf_quorum_request_can_reach(const struct hf_quorum_request *request,
                                 size_t have, size_t count);

/* What is still doubtful is waited for a little.  True while it is to be. */
bool hf_quorum_request_wait(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);

/* Answer it: .ok with what ${answer} has; or as its servers have failed. */
void hf_quorum_request_answer(struct hf_quorum *quorum,
                              struct hf_quorum_request *request,
                              struct hf_store_answer *answer);
void hf_quorum_request_fail(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);
void hf_quorum_request_fail_with(struct hf_quorum *quorum,
                                 struct hf_quorum_request *request,
                                 enum hf_failure failure, hf_status status,
                                 const char *text);

/* Free it if nothing is to come any more. */
void hf_quorum_request_release(struct hf_quorum *quorum,
                               struct hf_quorum_request *request);

/* Whatever is under way is the user's again. */
void hf_quorum_requests_abort(struct hf_quorum *quorum);

/* -------------------------------------------------------------- operations.c
 * -- */

/* Begin; take in what a server says, the answer being a good one; and go on, or
 * answer, if enough is known. */
void hf_quorum_operation_begin(struct hf_quorum *quorum,
                               struct hf_quorum_request *request);
void hf_quorum_operation_add_answer(
    struct hf_quorum *quorum, struct hf_quorum_request *request,
    const struct hf_quorum_server_call *server_call,
    const struct hf_store_answer *answer);
void hf_quorum_operation_decide(struct hf_quorum *quorum,
                                struct hf_quorum_request *request);

/* Answer with the queue, unless something in it is to be waited for. */
void hf_quorum_answer_queue(struct hf_quorum *quorum,
                            struct hf_quorum_request *request);

/* --------------------------------------------------------------
 * quorum_enqueue.c -- */

void hf_quorum_enqueue_begin(struct hf_quorum *quorum,
                             struct hf_quorum_request *request);
void hf_quorum_enqueue_add_answer(
    struct hf_quorum *quorum, struct hf_quorum_request *request,
    const struct hf_quorum_server_call *server_call,
    const struct hf_store_answer *answer);
void hf_quorum_enqueue_decide(struct hf_quorum *quorum,
                              struct hf_quorum_request *request);

/* Put those of our tickets in where they are missing that the RENEW of that
 * number has named: a majority has just renewed all of them. */
void hf_quorum_repair(struct hf_quorum *quorum, uint64_t renewal);

#endif
