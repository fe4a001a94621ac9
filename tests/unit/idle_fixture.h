/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core with many idle objects of one sort beside one subject, for tests of
 * what an event of the subject costs.  The core counts the objects that it
 * visits; that number must not grow with the idle ones.  bench/core.c measures
 * time with the same fixture.
 *
 * The test answers the requests of the subject.  Those of idle objects are
 * dropped.
 */
#ifndef HF_TESTS_UNIT_IDLE_FIXTURE_H
#define HF_TESTS_UNIT_IDLE_FIXTURE_H

#include "core/cohort.h"
#include "core/core.h"

enum idle_sort {
    IDLE_GRANTS,         /* held mutexes, each of its own name */
    IDLE_WAITERS,        /* waiters for the mutex of the subject */
    IDLE_NAMES,          /* waiters, each for a mutex of its own name */
    IDLE_PAUSED,         /* acquisitions whose first request is due later */
    IDLE_COHORT_WAITERS, /* waiters in the cohort of the subject */
    IDLE_COHORTS,        /* cohorts of one holder, each of its own name */
    IDLE_BARRIERS,       /* waits at barriers, each of its own name */
    IDLE_SORTS
};

extern const char *const idle_names[IDLE_SORTS];

#define IDLE_START_MS 1000
#define IDLE_TIMEOUT_MS 10000

struct idle_object {
    char queue[32];
    struct hf_acquisition a;
    struct hf_cohort cohort;
    struct hf_operation operation;
};

struct idle_fixture {
    struct hf_core core;
    uint64_t now_ms;
    char names[2][32];                /* of the subject, and of its cohort */
    struct hf_acquisition a;          /* the subject */
    struct hf_acquisition b;          /* a second one of the same name */
    struct hf_operation operation;    /* the subject if it is an operation */
    struct hf_cohort cohort;          /* has waiters[0], which holds, */
    struct hf_acquisition waiters[2]; /* and waiters[1], which waits */
    /* The last request of each kind. */
    struct hf_request *asked[HF_REQUEST_WRITE_SUCCESS + 1];
    struct idle_object *idle;
    bool filled; /* all idle objects were added */
};

/* With a session and ${count} idle objects.  Freed by idle_free(). */
struct idle_fixture *idle_new(enum idle_sort sort, size_t count);
void idle_free(struct idle_fixture *f);

/* Feed an event, read all effects, and ask for the next wake-up.  The number of
 * objects that the core visited for that. */
uint64_t idle_step(struct idle_fixture *f, struct hf_event event);

/* Events: of a user, of an operation, and answers to the last request of a
 * kind.  idle_listed() answers with a queue of the ticket of the request and,
 * if ${ahead} is not 0, a ticket of that kind in front of it; it feeds the
 * event and returns what idle_step() does. */
struct hf_event idle_user(enum hf_event_kind kind, struct hf_acquisition *a);
struct hf_event idle_operation(enum hf_event_kind kind, struct hf_operation *i);
struct hf_event idle_answer(const struct idle_fixture *f,
                            enum hf_event_kind kind,
                            enum hf_request_kind request);
uint64_t idle_listed(struct idle_fixture *f, enum hf_event_kind kind,
                     enum hf_request_kind request, enum hf_ticket_kind ahead);

/* Make ${a} a mutex of the name of the subject, before HF_EVENT_ACQUIRE. */
void idle_subject(struct idle_fixture *f, struct hf_acquisition *a);

#endif
