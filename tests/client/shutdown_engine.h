/* SPDX-License-Identifier: Apache-2.0 */
/* The engines of the shutdown sweep: the simulator's servers, a directory,
 * real servers. */
#ifndef HF_TESTS_SHUTDOWN_ENGINE_H
#define HF_TESTS_SHUTDOWN_ENGINE_H

#include "client_fixture.h"
#include "model_engine.h"

struct shutdown_case;

/* What an engine keeps for one case. */
struct engine_state {
    struct model_status *status; /* of a model */
    int pipe[2];
    uint64_t sent;                     /* number of commands */
    struct client_directory directory; /* of the file engine */
    struct hf_client *observer;        /* another client of a real server */
};

struct shutdown_engine {
    const char *name;
    const char *detail; /* a model's scheme; or the environment variable that
                           has the address of a server */
    bool virtual_time;  /* nothing happens without a command, in virtual time */
    uint64_t timeout_ms; /* of a wait that has to time out */
    bool (*is_available)(const struct shutdown_engine *engine);
    void (*open)(
        struct shutdown_case *test_case); /* open the client of the case */
    /* Let the server do the next thing. */
    void (*step)(struct shutdown_case *test_case);
    /* No message of the server is under way. */
    bool (*is_idle)(struct shutdown_case *test_case);
    /* Let a little time pass, so that delayed work is done. */
    void (*pause)(struct shutdown_case *test_case);
    void (*time_out)(struct shutdown_case *test_case);
    void (*lose)(struct shutdown_case
                     *test_case); /* end the session; NULL: impossible */
    long (*tickets)(
        struct shutdown_case *test_case); /* in the queues of the case */
    void (*close)(
        struct shutdown_case *test_case); /* after the client was closed */
};

extern const struct shutdown_engine engines[];
extern const int engine_count;

/* With a borrowed loop: is its descriptor readable within ${ms}? */
bool case_is_readable(struct shutdown_case *test_case, int ms);

#endif
