/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole client of an engine, of leases or of etcd: the real core and the real
 * engine, against the fake server of the fuzz target.  The input is a program
 * of steps: what is requested, what the server answers and when, and how time
 * passes.
 *
 * Time is virtual: it passes in steps only.  The linker replaces the timers of
 * the loop by those of timers.c, so that the same input is the same run.
 *
 * Properties, whatever the server answers: the process lives, every acquisition
 * and operation ends exactly once, memory has a limit, and a close ends.
 */
#ifndef HF_TESTS_FUZZ_LEASED_CLIENT_H
#define HF_TESTS_FUZZ_LEASED_CLIENT_H

#include <uv.h>

#include "core/core.h"

#define CLIENT_ACQUISITIONS 8
#define CLIENT_OPERATIONS 4

struct leased_client;

/* A fuzz target: the engine and its fake server. */
struct client_server {
    const struct hf_engine_ops *engine;
    /* The URL for the engine; the first byte of the input chooses it. */
    const char *(*url)(uint8_t choice);
    bool names_queues; /* the server knows HF_STORE_NAMES */
    /* Before and after each run. */
    void (*begin)(struct leased_client *client);
    void (*end)(struct leased_client *client);
    /* Answer what has arrived, and deliver the answers. */
    void (*serve)(struct leased_client *client);
    /* A step of the server; the input says which. */
    void (*step)(struct leased_client *client);
    /* Time has passed; and when the engine wants that, by its own account. */
    void (*tick)(struct leased_client *client);
    uint64_t (*wake_at_ms)(const struct leased_client *client);
};

/* Those of an engine that leases tickets. */
void leased_tick(struct leased_client *client);
uint64_t leased_wake_at_ms(const struct leased_client *client);

struct leased_acquisition {
    struct hf_acquisition acquisition; /* first, because effects point to it */
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
    bool connected; /* at some time */
    bool closing, closed;
    bool stepping; /* the core is in a step; its effects wait for the end of
                      that */
    const uint8_t *bytes;
    size_t left;
    struct leased_acquisition acquisitions[CLIENT_ACQUISITIONS];
    struct leased_operation operations[CLIENT_OPERATIONS];
};

/* Carry out the input.  Before the first one it is checked that the client gets
 * a session if the server does nothing wrong: else the inputs would show
 * nothing. */
void client_run(const struct client_server *server, const uint8_t *bytes,
                size_t count);

/* The next byte of the input, 0 at its end; and the next ${count} bytes,
 * with the number that there are in ${count}. */
uint8_t client_next(struct leased_client *client);
const uint8_t *client_some(struct leased_client *client, size_t *count);

/* Let the loop run what is ready. */
void client_run_loop(struct leased_client *client);

/* The ticket of acquisition number ${which}; zeros if it has none. */
struct hf_ticket_id client_ticket(const struct leased_client *client,
                                  uint8_t which);

/* The name of one of a few locks. */
const char *client_queue(uint8_t which);

#endif
