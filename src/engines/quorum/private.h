/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a quorum share: quorum.c has the links and what time does,
 * op.c calls under way, place.c how a ticket gets its place, deeds.c the other
 * calls, tally.c what servers say of tickets, own.c which are ours. */
#ifndef HF_ENGINES_QUORUM_PRIVATE_H
#define HF_ENGINES_QUORUM_PRIVATE_H

#include "core/retry.h"
#include "engines/quorum/own.h"
#include "engines/quorum/quorum.h"
#include "engines/quorum/tally.h"

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
    uint64_t until_ms; /* WAITING: the next attempt; OPENING: the end of our
                          patience */
    struct hf_retry_state backoff;
    uint64_t counts_at_ms; /* LINKED: what it says counts from then on */
    /* Its clock as last heard, and when. */
    uint64_t server_ms;
    uint64_t heard_at_ms;
    /* Calls that it has not answered, oldest first. */
    struct hf_quorum_part *first;
    struct hf_quorum_part *last;
    hf_status status;
    char why[HF_QUORUM_WHY_BYTES];
};

/* ---------------------------------------------------------------- calls -- */

/* One server's part in a call. */
struct hf_quorum_part {
    struct hf_store_call call; /* the first member */
    struct hf_store_accord accord;
    struct hf_quorum_op *op;
    size_t server;
    unsigned round;
    bool counts;
    uint64_t deadline_at_ms;
    struct hf_quorum_part *previous;
    struct hf_quorum_part *next;
};

/* A call under way.  It outlives its answer until no server's is missing. */
struct hf_quorum_op {
    enum hf_store_call_kind kind;
    struct hf_store_call *asked; /* NULL: answered, or nobody asked */
    struct hf_ticket_id ticket;
    uint64_t *numbers;    /* RENEW, see hf_store_accord */
    uint64_t renewal;     /* its own number, see hf_quorum_own */
    bool refused;         /* answered in the next tick: we do not do that */
    bool touched;         /* a server has done it, or may have */
    unsigned round;       /* of calls to all; whatever is of another is late */
    unsigned settlings;   /* rounds of SETTLE */
    uint64_t number;      /* that is being settled; REVOKE: asked for */
    size_t pending;       /* parts without an answer, of any round */
    size_t open;          /* of this round, of servers that count */
    uint32_t ok;          /* servers that count and did it in this round */
    uint32_t found;       /* of these: that had it */
    uint32_t settled;     /* of these: that have settled it with .number */
    bool taken;           /* one has another ticket settled with it */
    bool graced;          /* .grace_at_ms is set */
    uint64_t grace_at_ms; /* what is doubtful then is taken as it is */
    struct hf_quorum_tally tally;
    /* The first failure. */
    bool failed;
    enum hf_failure failure;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    bool telling; /* the user is being told: memory stays */
    bool dead;    /* and is freed after that */
    struct hf_quorum_op *previous;
    struct hf_quorum_op *next;
};

struct hf_quorum {
    struct hf_quorum_config config;
    struct hf_quorum_ops ops;
    void *servers_arg;
    struct hf_quorum_user user;
    uint64_t now_ms; /* of the call that is being carried out */
    char session[HF_STORE_SESSION_BYTES];
    bool linked;       /* between connect() and down() or disconnect() */
    bool up;           /* and it has been told so */
    uint64_t up_at_ms; /* a majority is there: tell then at the latest */
    bool starved;      /* memory has run out: down in the next tick */
    struct hf_quorum_server servers[HF_QUORUM_SERVERS_MOST];
    struct hf_quorum_op *first;
    struct hf_quorum_op *last;
    struct hf_quorum_owns owns;
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
                                      uint32_t there, uint32_t heard)
{
    return hf_quorum_count(there & heard) + quorum->config.servers -
               hf_quorum_count(heard) >=
           hf_quorum_majority(quorum);
}

/* Cut off from the majority, for ${why}. */
void hf_quorum_go_down(struct hf_quorum *quorum, hf_status status,
                       const char *why);

/* ----------------------------------------------------------------- op.c -- */

struct hf_quorum_op *hf_quorum_op_new(struct hf_quorum *quorum,
                                      struct hf_store_call *asked);

/* Begin a new round: make ${call} of all that are linked. */
void hf_quorum_op_ask(struct hf_quorum *quorum, struct hf_quorum_op *op,
                      const struct hf_store_call *call,
                      const struct hf_store_accord *accord);
/* Of one. */
void hf_quorum_op_ask_one(struct hf_quorum *quorum, struct hf_quorum_op *op,
                          size_t server, const struct hf_store_call *call,
                          const struct hf_store_accord *accord);

/* ${part} has been answered; NULL: its link has ended. */
void hf_quorum_part_done(struct hf_quorum *quorum, struct hf_quorum_part *part,
                         const struct hf_store_answer *answer);

/* Can this round still have ${count} servers that did it, ${have} of them being
 * known? */
bool hf_quorum_op_can_have(const struct hf_quorum_op *op, size_t have,
                           size_t count);

/* What is still doubtful is waited for a little.  True while it is to be. */
bool hf_quorum_op_wait(struct hf_quorum *quorum, struct hf_quorum_op *op);

/* Answer it: .ok with what ${answer} has; or as its servers have failed. */
void hf_quorum_op_answer(struct hf_quorum *quorum, struct hf_quorum_op *op,
                         struct hf_store_answer *answer);
void hf_quorum_op_fail(struct hf_quorum *quorum, struct hf_quorum_op *op);
void hf_quorum_op_refuse(struct hf_quorum *quorum, struct hf_quorum_op *op,
                         enum hf_failure failure, hf_status status,
                         const char *text);

/* Free it if nothing is to come any more. */
void hf_quorum_op_leave(struct hf_quorum *quorum, struct hf_quorum_op *op);

/* Whatever is under way is the user's again. */
void hf_quorum_ops_cut(struct hf_quorum *quorum);

/* -------------------------------------------------------------- deeds.c -- */

/* Begin; take in what a server says, the answer being a good one; and go on, or
 * answer, if enough is known. */
void hf_quorum_begin(struct hf_quorum *quorum, struct hf_quorum_op *op);
void hf_quorum_take(struct hf_quorum *quorum, struct hf_quorum_op *op,
                    const struct hf_quorum_part *part,
                    const struct hf_store_answer *answer);
void hf_quorum_judge(struct hf_quorum *quorum, struct hf_quorum_op *op);

/* Answer with the queue, unless something in it is to be waited for. */
void hf_quorum_answer_queue(struct hf_quorum *quorum, struct hf_quorum_op *op);

/* -------------------------------------------------------------- place.c -- */

void hf_quorum_place_begin(struct hf_quorum *quorum, struct hf_quorum_op *op);
void hf_quorum_place_take(struct hf_quorum *quorum, struct hf_quorum_op *op,
                          const struct hf_quorum_part *part,
                          const struct hf_store_answer *answer);
void hf_quorum_place_judge(struct hf_quorum *quorum, struct hf_quorum_op *op);

/* Put those of our tickets in where they are missing that the RENEW of that
 * number has named: a majority has just renewed all of them. */
void hf_quorum_mend(struct hf_quorum *quorum, uint64_t renewal);

#endif
