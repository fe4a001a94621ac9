/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate in an election that writes down what it is told. */
#ifndef HF_TESTS_ELECTION_CANDIDATE_H
#define HF_TESTS_ELECTION_CANDIDATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "host_fixture.h"

struct election_candidate {
    struct host_fixture *host;
    struct hf_election *election;
    pthread_mutex_t callback_lock; /* held, it makes callbacks wait */
    char received[512];            /* "elected deposed " and so on, in order */
    _Atomic int count;             /* of the words */
    _Atomic int started;           /* callbacks that began */
    _Atomic int drops;
    _Atomic uint64_t token; /* of the last that was told */
    struct hf_error error;
    bool resigns_on_revoke; /* when it is asked to let go */
    bool campaigns_again;
    bool frees_when_elected; /* when it is elected */
    /* A resignation. */
    _Atomic int ended;
    hf_status status;
};

#define CANDIDATE_DROPS 4 /* in the end */

/* Open an election for ${name}; ${opts} may be NULL, its callbacks are set. */
void candidate_open(struct election_candidate *candidate,
                    struct host_fixture *host, const char *name,
                    const struct hf_election_opts *opts);
void candidate_set_callbacks(struct election_candidate *candidate,
                             struct hf_election_opts *opts);

/* Free it, and wait until every callback has been dropped. */
void candidate_free(struct election_candidate *candidate);

/* Let callbacks come until it was told exactly ${told}. */
void candidate_expect(struct election_candidate *candidate,
                      const char *received);

void candidate_campaign(struct election_candidate *candidate);

/* Resign in the way of its front, to the end. */
hf_status candidate_resign(struct election_candidate *candidate);

/* Begin it; candidate_has_resigned() takes it for .arg. */
void candidate_begin_resign(struct election_candidate *candidate);
bool candidate_has_resigned(void *arg);

/* What is listed, in the way of the front: all candidates, or the leader. */
struct hf_tickets *candidate_list(struct election_candidate *candidate,
                                  enum hf_tickets_which which);

#endif
