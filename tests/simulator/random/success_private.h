/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a job: success.c has its processes, success_check.c the checks on
 * the committed state. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SUCCESS_PRIVATE_H
#define HF_TESTS_SIMULATOR_RANDOM_SUCCESS_PRIVATE_H

#include "core/core.h"
#include "simulator/model/sim.h"
#include "simulator/random/success.h"

#define RUNNERS_MAX 3
#define PROCESSES_MAX 128 /* with those that have died */
#define QUEUE "jobs/nightly"
#define PERIOD_MS 4000
#define RECORDED_MAX 256
#define LENT_MAX 1024

enum runner_phase { OUTSIDE, WAITING, READING, WORKING, WRITING, RELEASING };

/* A process, which runs the job again and again. */
struct runner {
    unsigned number;
    struct hf_engine *engine;
    struct hf_core core;
    struct hf_acquisition *acquisition; /* until it is RELEASED or ENDED */
    enum runner_phase phase;
    bool lost; /* its grant */
    bool dead;
    bool draining;
    uint64_t tick_us;
    uint64_t write_sent_us; /* true time of its last request to write */
};

struct recorded_success {
    uint64_t token;
    uint64_t at_us; /* true time of its last write */
};

/* A success that somebody was answered to be written. */
struct confirmed_success {
    uint64_t token;   /* 0: none was */
    uint64_t sent_us; /* its write is not older: the request was sent then */
};

struct success_run {
    struct hf_sim *sim;
    struct hf_random random;
    struct runner *processes[PROCESSES_MAX];
    unsigned process_count;
    struct runner *alive[RUNNERS_MAX];
    unsigned count;
    struct recorded_success recorded[RECORDED_MAX]; /* tokens rise */
    unsigned recorded_count;
    struct confirmed_success confirmed; /* the one with the highest token */
    bool faults_over;
    bool stopping;
    struct lent_memory {
        void *memory;
        struct runner *owner; /* of an acquisition; NULL: an operation */
    } lent[LENT_MAX];
    unsigned lent_count;
    struct success_result *end;
    void (*line)(void *arg, const char *text); /* or NULL */
};

extern struct success_run success_run;

/* If ${holds} is false, record a violation, if it is the first. */
void success_check(bool holds, int invariant, const char *message);

/* A line of the trace; ${runner} may be NULL. */
void success_trace(const struct runner *runner, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The callbacks on the committed state. */
struct hf_sim_observer success_observer(void);

/* ${runner} has found that it is due. */
void success_check_due(const struct runner *runner);

/* ${runner} was answered that it has written the success of ${token}. */
void success_check_confirmed(const struct runner *runner, uint64_t token);

/* A read or write of ${runner} has failed. */
void success_check_failure(const struct runner *runner,
                           const struct hf_operation *operation);

#endif
