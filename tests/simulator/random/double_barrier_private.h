/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a double barrier: double_barrier.c has its participants,
 * double_barrier_check.c the checks on the committed state. */
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
    struct hf_acquisition *acquisition; /* until DONE */
    enum phase phase;
    bool draining;
    bool yields;
    bool holds; /* granted and not released */
    bool lost;  /* and notified of LOST */
    uint64_t tick_us;
    unsigned generations;
};

/* A ticket in the queue. */
struct live_ticket {
    struct hf_ticket_id id;
    uint64_t token;
    /* READY was set since it came, with all participants there. */
    bool ready_seen;
};

struct double_barrier_run {
    struct hf_sim *sim;
    struct hf_random random;
    struct participant participants[PARTICIPANTS_MAX];
    unsigned count;
    enum hf_loss_at loss_at; /* of every participant */
    struct live_ticket live_tickets[LIVE_TICKETS_MAX];
    unsigned live_count;
    bool faults_over;
    bool stopping;
    bool ready_set; /* the node READY is there, ... */
    /* ... or was cleared while this many tickets were there. */
    unsigned cleared_under;
    struct lent_memory {
        void *memory;
        /* Of an acquisition: its participant; NULL: memory of an operation. */
        struct participant *owner;
    } lent[LENT_MAX];
    unsigned lent_count;
    struct double_barrier_result *end;
    void (*line)(void *arg, const char *text); /* or NULL */
};

extern struct double_barrier_run double_barrier;

/* If ${holds} is false, record a violation, if it is the first. */
void double_barrier_check(bool holds, int invariant, const char *message);

/* A line of the trace; ${participant} may be NULL. */
void double_barrier_trace(const struct participant *participant,
                          const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The callbacks on the committed state. */
struct hf_sim_observer double_barrier_observer(void);

/* ${participant} enters; it passes the barrier on its way out, in
 * ${generation}. */
void double_barrier_check_entry(const struct participant *participant);
void double_barrier_check_passage(const struct participant *participant,
                                  uint64_t generation);

#endif
