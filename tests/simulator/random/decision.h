/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of a random run: each time at which a user, the fault injector or
 * another program may do something.  A run is recorded, and then run again with
 * some decisions left out: each that is kept comes at the same time and draws
 * the same numbers, so the run changes only by what was left out.  shrink.c
 * uses this to make a failing run small (delta debugging, Zeller 1999). */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DECISION_H
#define HF_TESTS_SIMULATOR_RANDOM_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "simulator/model/sim.h"

/* Later decisions are not recorded. */
#define DECISIONS_MAX 65536
/* The most actors of one kind: clients, participants, barriers. */
#define DECISION_ACTORS_MAX 8

enum decision_kind {
    DECISION_OPEN,         /* a process starts for the first time */
    DECISION_USER,         /* the user of a client acquires something */
    DECISION_OPERATION,    /* a client starts an operation */
    DECISION_BARRIER,      /* somebody uses a barrier */
    DECISION_OTHER_CLIENT, /* a program of another make does its next step */
    DECISION_FAULT,        /* a fault happens */
    DECISION_PARTICIPANT,  /* a participant comes to a double barrier */
    DECISION_HANDLE,       /* the user of a handle on a session of locks does
                              something */
    DECISION_KINDS,
};

struct decision {
    enum decision_kind kind;
    unsigned actor;
    uint64_t at_us;
    /* The states of the random generators before it, of the run and of the
     * model. */
    struct hf_random random;
    struct hf_random model;
};

struct decision_log {
    unsigned count;
    struct decision decisions[DECISIONS_MAX];
};

/* Kinds of faults by chance that may be left out; bits. */
enum fault_chance {
    CHANCE_REFUSE,
    CHANCE_LOSE,
    CHANCE_SLOW,
    CHANCE_LATE,
    CHANCE_DENY,
    CHANCE_GARBLE,
    CHANCE_NOTICE, /* notices are lost, sent twice, or late */
    CHANCE_COMMIT, /* commits fail or are not confirmed */
    CHANCE_DRIFT,  /* clocks drift */
    CHANCES,
};

struct decision_selection {
    bool kept[DECISIONS_MAX];
    unsigned without; /* bits of enum fault_chance */
};

/* Runs that start from now on are recorded in ${recorded}, each over the last;
 * or, if ${selection} is not NULL, repeat the recorded run with the decisions
 * that are kept; or, if both are NULL, simply run.  Both are borrowed. */
void decisions_follow(struct decision_log *recorded,
                      const struct decision_selection *selection);

/* Called before a run is made from ${config}, and after that.  ${random} is the
 * random generator of the run. */
void decisions_drop_chances(struct hf_sim_config *config);
void decisions_start(struct hf_random *random, struct hf_sim *sim);

/* How fast clocks are slewed in random runs, in millionths: as chrony does. */
#define SLEW_PPM 83333

/* Do clocks run without drift? */
bool decisions_without_drift(void);

/* ${actor} may decide now.  Record that, or say whether the decision is
 * kept. */
bool decision_taken(enum decision_kind kind, unsigned actor);

/* The delay in microseconds until the next decision: ${us}, or as recorded. */
uint64_t decision_delay_us(enum decision_kind kind, unsigned actor,
                           uint64_t us);

/* Names for the command line: "refuse" and so on. */
extern const char *const fault_chance_names[CHANCES];

#endif
