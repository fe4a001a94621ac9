/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of a random cluster: each time at which one of its users, or what
 * goes wrong, may do something.  A cluster is recorded, and then gone through
 * again with turns left out: each that is kept comes when it came, and draws
 * what it drew then, so that what the others would have done is all that is
 * missing.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_DECISION_H
#define HF_TESTS_SIMULATOR_RANDOM_DECISION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/random.h"
#include "simulator/model/sim.h"

/* Those beyond are not recorded. */
#define DECISIONS_MAX 65536
/* Of whose turns there may be more than one kind: clients, parties, gates. */
#define DECISION_ACTORS_MAX 8

enum decision_kind {
    DECISION_OPEN,         /* a process starts, for the first time */
    DECISION_USER,         /* its user wants something */
    DECISION_OPERATION,    /* somebody looks at a queue, or meddles with it */
    DECISION_BARRIER,      /* a barrier is used */
    DECISION_OTHER_CLIENT, /* a program of another make does the next thing */
    DECISION_FAULT,        /* something goes wrong */
    DECISION_PARTICIPANT,  /* one comes to a double barrier */
    DECISION_KINDS,
};

struct decision {
    enum decision_kind kind;
    unsigned actor;
    uint64_t at_us;
    /* The numbers from which it drew: the cluster's own, and the model's. */
    struct hf_random random;
    struct hf_random model;
};

struct decision_log {
    unsigned count;
    struct decision decisions[DECISIONS_MAX];
};

/* Chances of a cluster's config that may be left out, as bits. */
enum fault_chance {
    CHANCE_REFUSE,
    CHANCE_LOSE,
    CHANCE_SLOW,
    CHANCE_LATE,
    CHANCE_DENY,
    CHANCE_GARBLE,
    CHANCE_NOTICE, /* of notices: lost, told twice, late */
    CHANCE_COMMIT, /* of commits that fail or are not confirmed */
    CHANCE_DRIFT,  /* of clocks */
    CHANCES,
};

struct decision_selection {
    bool kept[DECISIONS_MAX];
    unsigned without; /* bits */
};

/* Worlds that begin from now on are written to ${record}, each over the one
 * before; or, if ${choice} is not NULL, are the one in ${record} with those of
 * its turns that are kept; or, if both are NULL, are simply lived through.
 * Both stay the caller's, and there. */
void decisions_follow(struct decision_log *recorded,
                      const struct decision_selection *selection);

/* A cluster begins: before it is made from ${config}, and when it is.  Its own
 * numbers are at ${own}. */
void decisions_drop_chances(struct hf_sim_config *config);
void decisions_start(struct hf_random *random, struct hf_sim *sim);

/* Are clocks to run alike? */
bool decisions_without_drift(void);

/* It is ${taker}'s turn; is it taken? */
bool decision_taken(enum decision_kind kind, unsigned actor);

/* In how many microseconds is the next one?  In ${us}, unless that is
 * recorded. */
uint64_t decision_delay_us(enum decision_kind kind, unsigned actor,
                           uint64_t us);

/* "refuse", and so on: what users leave out by. */
extern const char *const fault_chance_names[CHANCES];

#endif
