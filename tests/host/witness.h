/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate in an election that writes down what it is told. */
#ifndef HF_TESTS_WITNESS_H
#define HF_TESTS_WITNESS_H

#include <pthread.h>
#include <stdatomic.h>

#include "front.h"

struct witness {
    struct front *front;
    struct hf_election *election;
    pthread_mutex_t gate; /* held, it makes callbacks wait */
    char told[512];       /* "elected deposed " and so on, in order */
    _Atomic int count;    /* of the words */
    _Atomic int entered;  /* callbacks that began */
    _Atomic int drops;
    _Atomic uint64_t token; /* of the last that was told */
    struct hf_error why;
    bool resigns; /* when it is asked to let go */
    bool runs_again;
    bool frees; /* when it is elected */
    /* A resignation. */
    _Atomic int ended;
    hf_status status;
};

#define WITNESS_DROPS 4 /* in the end */

/* Open an election for ${name}; ${opts} may be NULL, its callbacks are set. */
void witness_open(struct witness *witness, struct front *front,
                  const char *name, const struct hf_election_opts *opts);
void witness_set_callbacks(struct witness *witness,
                           struct hf_election_opts *opts);

/* Free it, and wait until every callback has been dropped. */
void witness_free(struct witness *witness);

/* Let callbacks come until it was told exactly ${told}. */
void witness_hears(struct witness *witness, const char *told);

void witness_runs(struct witness *witness);

/* Resign in the way of its front, to the end. */
hf_status witness_resigns(struct witness *witness);

/* Begin it; witness_has_resigned() takes it for .arg. */
void witness_begins_to_resign(struct witness *witness);
bool witness_has_resigned(void *arg);

/* What is listed, in the way of the front: all candidates, or the leader. */
struct hf_tickets *witness_lists(struct witness *witness,
                                 enum hf_tickets_which which);

#endif
