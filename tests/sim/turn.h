/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of a random world: each time at which one of its users, or what
 * goes wrong, may do something.  A world is recorded, and then gone through
 * again with turns left out: each that is kept comes when it came, and draws
 * what it drew then, so that what the others would have done is all that is
 * missing.
 */
#ifndef HF_TESTS_SIM_TURN_H
#define HF_TESTS_SIM_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/random.h"
#include "engines/sim/sim.h"

/* Those beyond are not recorded. */
#define TURNS_MAX 65536
/* Of whose turns there may be more than one kind: clients, parties, gates. */
#define TURN_TAKERS 8

enum turn_of {
    TURN_OPEN,    /* a process starts, for the first time */
    TURN_USER,    /* its user wants something */
    TURN_MEDDLER, /* somebody looks at a queue, or meddles with it */
    TURN_GATE,    /* a barrier is used */
    TURN_FOREIGN, /* a program of another make does the next thing */
    TURN_FAULT,   /* something goes wrong */
    TURN_PARTY,   /* one comes to a double barrier */
    TURNS_OF,
};

struct turn {
    enum turn_of of;
    unsigned taker;
    uint64_t at_us;
    /* The numbers from which it drew: the world's own, and the model's. */
    struct hf_random own;
    struct hf_random model;
};

struct turn_record {
    unsigned count;
    struct turn turns[TURNS_MAX];
};

/* Chances of a world's config that may be left out, as bits. */
enum turn_chance {
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

struct turn_choice {
    bool kept[TURNS_MAX];
    unsigned without; /* bits */
};

/* Worlds that begin from now on are written to ${record}, each over the one
 * before; or, if ${choice} is not NULL, are the one in ${record} with those of
 * its turns that are kept; or, if both are NULL, are simply lived through.
 * Both stay the caller's, and there. */
void turns_follow(struct turn_record *record, const struct turn_choice *choice);

/* A world begins: before it is made from ${config}, and when it is.  Its own
 * numbers are at ${own}. */
void turns_still(struct hf_sim_config *config);
void turns_begin(struct hf_random *own, struct hf_sim *sim);

/* Are clocks to run alike? */
bool turns_without_drift(void);

/* It is ${taker}'s turn; is it taken? */
bool turn_taken(enum turn_of of, unsigned taker);

/* In how many microseconds is the next one?  In ${us}, unless that is
 * recorded. */
uint64_t turn_in_us(enum turn_of of, unsigned taker, uint64_t us);

/* "refuse", and so on: what users leave out by. */
extern const char *const turn_chances[CHANCES];

#endif
