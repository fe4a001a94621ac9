/* SPDX-License-Identifier: Apache-2.0 */
/* One world of double barriers: rounds.c has its parties, rounds_truth.c what
 * is seen of them from outside. */
#ifndef HF_TESTS_SIM_ROUNDS_PRIVATE_H
#define HF_TESTS_SIM_ROUNDS_PRIVATE_H

#include "core/core.h"
#include "engines/sim/sim.h"
#include "rounds.h"

#define PARTIES_MAX 4
#define QUEUE "d"
#define LIVE_MAX 64
#define LENT_MAX 256

enum where { OUTSIDE, ENTERING, INSIDE, LEAVING };

struct party {
    struct hf_engine *engine;
    struct hf_core core;
    struct hf_acquisition *member; /* until DONE, or given up for lost */
    enum where where;
    bool draining;
    bool yields;
    bool holds; /* granted, and not released */
    bool lost;  /* and told so */
    uint64_t tick_us;
    unsigned rounds;
};

/* A ticket that is there. */
struct live {
    struct hf_ticket_id id;
    uint64_t token;
    bool called; /* since it came the mark was made, and all were there */
};

struct rounds_world {
    struct hf_sim *sim;
    struct hf_random random;
    struct party parties[PARTIES_MAX];
    unsigned count;
    enum hf_loss_at loss_at; /* of every party */
    struct live live[LIVE_MAX];
    unsigned live_count;
    bool calm;
    bool over;
    bool marked;            /* the mark is there, */
    unsigned lowered_under; /* or was lowered when so many were */
    struct lent {
        void *memory;
        struct party *to; /* a member's; NULL: an operation */
    } lent[LENT_MAX];
    unsigned lent_count;
    struct rounds_end *end;
    void (*line)(void *arg, const char *text); /* or NULL */
};

extern struct rounds_world rounds;

/* The first that does not hold is the finding. */
void rounds_must(bool holds, int invariant, const char *story);

/* A line of the transcript; ${party} may be NULL. */
void rounds_line(const struct party *party, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* It hears of what happens at the servers. */
struct hf_sim_observer rounds_observer(void);

/* ${party} goes in; it passes the barrier on its way out, by ${stamp}. */
void rounds_check_entry(const struct party *party);
void rounds_check_passage(const struct party *party, uint64_t stamp);

#endif
