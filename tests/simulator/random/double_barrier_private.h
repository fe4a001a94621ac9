/* SPDX-License-Identifier: Apache-2.0 */
/* One cluster of double barriers: rounds.c has its parties, rounds_truth.c what
 * is seen of them from outside. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DOUBLE_BARRIER_PRIVATE_H
#define HF_TESTS_SIMULATOR_RANDOM_DOUBLE_BARRIER_PRIVATE_H

#include "core/core.h"
#include "simulator/model/sim.h"
#include "simulator/random/double_barrier.h"

#define PARTICIPANTS_MAX 4
#define QUEUE "d"
#define LIVE_TICKETS_MAX 64
#define LENT_MAX 256

enum phase { OUTSIDE, ENTERING, INSIDE, LEAVING };

struct participant {
    struct hf_engine *engine;
    struct hf_core core;
    struct hf_acquisition *member; /* until DONE, or given up for lost */
    enum phase phase;
    bool draining;
    bool yields;
    bool holds; /* granted, and not released */
    bool lost;  /* and told so */
    uint64_t tick_us;
    unsigned rounds;
};

/* A ticket that is there. */
struct live_ticket {
    struct hf_ticket_id id;
    uint64_t token;
    bool ready_seen; /* since it came the mark was made, and all were there */
};

struct double_barrier_run {
    struct hf_sim *sim;
    struct hf_random random;
    struct participant participants[PARTICIPANTS_MAX];
    unsigned count;
    enum hf_loss_at loss_at; /* of every party */
    struct live_ticket live_tickets[LIVE_TICKETS_MAX];
    unsigned live_count;
    bool faults_over;
    bool stopping;
    bool ready_set;         /* the node READY is there, */
    unsigned cleared_under; /* or was lowered when so many were */
    struct lent_memory {
        void *memory;
        struct participant *owner; /* a member's; NULL: an operation */
    } lent[LENT_MAX];
    unsigned lent_count;
    struct double_barrier_result *end;
    void (*line)(void *arg, const char *text); /* or NULL */
};

extern struct double_barrier_run double_barrier;

/* The first that does not hold is the finding. */
void double_barrier_check(bool holds, int invariant, const char *message);

/* A line of the transcript; ${party} may be NULL. */
void double_barrier_trace(const struct participant *participant,
                          const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* It hears of what happens at the servers. */
struct hf_sim_observer double_barrier_observer(void);

/* ${party} goes in; it passes the barrier on its way out, by ${stamp}. */
void double_barrier_check_entry(const struct participant *participant);
void double_barrier_check_passage(const struct participant *participant,
                                  uint64_t stamp);

#endif
