/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of an engine on a loop: the real core and the real engine, against a
 * server that is the target's.  The input is a program of steps: what is asked
 * of the client, what its server says and when, and what time does.
 *
 * Time is made up: it passes in steps only, and the timers of the loop are
 * replaced by ours (CMakeLists.txt has the linker do that), so that the same
 * input is the same run.
 *
 * Whatever the server says: nothing ends the process, every acquisition and
 * operation ends exactly once, memory has a bound, and a close ends.
 */
#ifndef HF_TESTS_FUZZ_LEASED_CLIENT_H
#define HF_TESTS_FUZZ_LEASED_CLIENT_H

#include <uv.h>

#include "core/core.h"

#define CLIENT_ACQUISITIONS 8
#define CLIENT_OPERATIONS 4

struct leased_client;

/* What a target is. */
struct client_server {
    const struct hf_engine_ops *engine;
    /* The URL of the engine; the first byte of the input chooses it. */
    const char *(*url)(uint8_t choice);
    /* A new run begins, and has ended. */
    void (*begin)(struct leased_client *client);
    void (*end)(struct leased_client *client);
    /* Answer what has arrived, and let the answers arrive. */
    void (*serve)(struct leased_client *client);
    /* The step that is the server's, of what the input says next. */
    void (*step)(struct leased_client *client);
};

struct leased_acquisition {
    struct hf_acquisition acquisition; /* first: effects lead back to it */
    bool used;                         /* from ACQUIRE to DONE */
    bool granted, lost, released, ended;
};

struct leased_operation {
    struct hf_operation operation; /* first */
    bool used, answered;
};

struct leased_client {
    const struct client_server *server;
    struct hf_engine *engine;
    struct hf_core core;
    uv_loop_t loop;
    uint64_t now_ms;
    bool closing, closed;
    bool stepping; /* the core is in a step: its effects wait for that */
    const uint8_t *bytes;
    size_t left;
    struct leased_acquisition acquisitions[CLIENT_ACQUISITIONS];
    struct leased_operation operations[CLIENT_OPERATIONS];
};

/* Carry out the input. */
void client_run(const struct client_server *server, const uint8_t *bytes,
                size_t count);

/* The next byte of the input, behind its end 0; and so many bytes of it, less
 * at its end, with the number of them in ${count}. */
uint8_t client_next(struct leased_client *client);
const uint8_t *client_some(struct leased_client *client, size_t *count);

/* Let the loop do what there is to be done. */
void client_run_loop(struct leased_client *client);

/* The ticket of the acquisition at that place: zeros if it has none. */
struct hf_ticket_id client_ticket(const struct leased_client *client,
                                  uint8_t which);

/* The name of one of a few locks. */
const char *client_queue(uint8_t which);

#endif
