/* SPDX-License-Identifier: Apache-2.0 */
/* Where case_count take place: the model's servers, a directory, real servers.
 */
#ifndef HF_TESTS_SHUTDOWN_ENGINE_H
#define HF_TESTS_SHUTDOWN_ENGINE_H

#include "host_fixture.h"
#include "model_engine.h"

struct shutdown_case;

/* What one has in a cell. */
struct engine_state {
    struct model_status *status; /* of a model */
    int pipe[2];
    uint64_t sent;                   /* commands it was given */
    struct host_directory directory; /* of files */
    struct hf_client *observer;      /* of a real server */
};

struct shutdown_engine {
    const char *name;
    const char *detail;  /* a scheme; of a server, the variable that has its
                            address */
    bool virtual_time;   /* nothing happens but by a command, in virtual time */
    uint64_t timeout_ms; /* of a wait that is to time out */
    bool (*is_available)(const struct shutdown_engine *engine);
    void (*open)(struct shutdown_case *test_case); /* its client */
    /* Let the next thing happen on the other side. */
    void (*step)(struct shutdown_case *test_case);
    /* Nothing is on its way from there. */
    bool (*is_idle)(struct shutdown_case *test_case);
    /* Let a little time pass, in which what was put off is done. */
    void (*pause)(struct shutdown_case *test_case);
    void (*time_out)(struct shutdown_case *test_case);
    void (*lose)(
        struct shutdown_case *test_case); /* NULL: it can't be made to */
    long (*tickets)(struct shutdown_case *test_case); /* of the cell's queues */
    void (*close)(struct shutdown_case *test_case);   /* after its client */
};

extern const struct shutdown_engine engines[];
extern const int engine_count;

/* In the borrowed way: is the loop's descriptor readable within ${ms}? */
bool case_is_readable(struct shutdown_case *test_case, int ms);

#endif
