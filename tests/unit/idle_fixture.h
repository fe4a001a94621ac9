/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A core with many idle objects of one sort and one subject that something
 * happens to, for tests of what a step costs.  The tests answer requests; what
 * the idle objects ask for is not kept.
 */
#ifndef HF_TESTS_UNIT_IDLE_FIXTURE_H
#define HF_TESTS_UNIT_IDLE_FIXTURE_H

#include "core/core.h"

enum idle_sort {
    IDLE_GRANTS,  /* mutexes that are held, each of its own name */
    IDLE_WAITERS, /* for one mutex, the subject's */
    IDLE_NAMES,   /* waiters, each for a mutex of its own name */
    IDLE_PAUSED,  /* each of its own name, and not to ask for a ticket yet */
    IDLE_COHORT_WAITERS, /* of the subject's cohort, which wait */
    IDLE_COHORTS,  /* each of its own name, with one member, which holds */
    IDLE_BARRIERS, /* waits at barriers, each of its own name */
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
    char names[2][32];             /* names of the subjects */
    struct hf_acquisition a;       /* the subject */
    struct hf_acquisition b;       /* another, with it */
    struct hf_operation operation; /* a question */
    struct hf_cohort cohort;       /* of a subject that is a member ... */
    struct hf_acquisition
        waiters[2]; /* ... behind one that holds and another */
    struct hf_request
        *asked[HF_REQUEST_NEW_GENERATION + 1]; /* the last of its kind */
    struct idle_object *idle;
    bool filled; /* all idle objects are there */
};

/* Connected, with ${count} idle objects. */
struct idle_fixture *idle_new(enum idle_sort sort, size_t count);
void idle_free(struct idle_fixture *f);

/* Step, take all effects and ask for the next wake-up.  How many objects that
 * came by. */
uint64_t idle_step(struct idle_fixture *f, struct hf_event event);

/* Events.  ${ahead}: of a queue, the kind of a stranger's ticket ahead of that
 * of the request, or 0. */
struct hf_event idle_user(enum hf_event_kind kind, struct hf_acquisition *a);
struct hf_event idle_operation(enum hf_event_kind kind, struct hf_operation *i);
struct hf_event idle_answer(const struct idle_fixture *f,
                            enum hf_event_kind kind,
                            enum hf_request_kind request);
uint64_t idle_listed(struct idle_fixture *f, enum hf_event_kind kind,
                     enum hf_request_kind request, enum hf_ticket_kind ahead);

/* Make ${a} a mutex of the subject's name that was not wanted yet. */
void idle_subject(struct idle_fixture *f, struct hf_acquisition *a);

#endif
