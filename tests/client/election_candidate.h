/* SPDX-License-Identifier: Apache-2.0 */
/* A candidate in an election that records its callbacks in order, and may
 * react to them. */
#ifndef HF_TESTS_ELECTION_CANDIDATE_H
#define HF_TESTS_ELECTION_CANDIDATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "client_fixture.h"

struct election_candidate {
    struct client_fixture *fixture;
    struct hf_election *election;
    pthread_mutex_t
        callback_lock;   /* a test that holds it makes callbacks wait */
    char received[512];  /* "elected deposed " and so on, in order */
    _Atomic int count;   /* of words in .received */
    _Atomic int started; /* callbacks that have started */
    _Atomic int drops;
    _Atomic uint64_t token; /* of the last callback */
    struct hf_error error;
    bool resigns_on_revoke; /* in on_revoke */
    bool campaigns_again;
    bool frees_when_elected; /* in on_elected */
    /* the result of a resignation */
    _Atomic int ended;
    hf_status status;
};

#define CANDIDATE_DROPS 4 /* callbacks that are dropped by candidate_free() */

/* Open an election called ${name} on ${host}.  ${opts} may be NULL; its
 * callbacks are replaced by those that record. */
void candidate_open(struct election_candidate *candidate,
                    struct client_fixture *fixture, const char *name,
                    const struct hf_election_opts *opts);
void candidate_set_callbacks(struct election_candidate *candidate,
                             struct hf_election_opts *opts);

/* Free the election and wait until every callback is dropped. */
void candidate_free(struct election_candidate *candidate);

/* Run callbacks until as many words as in ${received} are recorded; they
 * must be the same. */
void candidate_expect(struct election_candidate *candidate,
                      const char *received);

void candidate_campaign(struct election_candidate *candidate);

/* Resign in the way of the client and wait for the end. */
hf_status candidate_resign(struct election_candidate *candidate);

/* Start to resign.  candidate_has_resigned() is a condition for
 * client_wait_until(), with the candidate as its argument. */
void candidate_begin_resign(struct election_candidate *candidate);
bool candidate_has_resigned(void *arg);

/* List the candidates or the leader, in the way of the client. */
struct hf_tickets *candidate_list(struct election_candidate *candidate,
                                  enum hf_tickets_which which);

#endif
