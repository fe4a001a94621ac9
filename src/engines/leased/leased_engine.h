/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of all engines with leased tickets: runs the client of
 * leased.h on the loop.  The table of functions of such an engine
 * (hf_engine_ops) has the functions below, and an .open of its own, which does
 * this:
 *
 *      engine = hf_leased_engine_new(host, description, &error)
 *      store = ...                                on engine->loop
 *      hf_leased_engine_start(engine, &config, &ops, store, &error)
 *
 * A callback of the loop that reports something to the client does this:
 *
 *      hf_leased_engine_enter(engine);
 *      hf_leased_up(engine->leased, server_ms,
 * hf_leased_engine_now_ms(engine)); hf_leased_engine_leave(engine);    flushes
 * the store, sets the timer
 *
 * All functions are called with the client's lock held, in the thread that
 * calls into the engine or runs its loop.
 */
#ifndef HF_ENGINES_LEASED_LEASED_ENGINE_H
#define HF_ENGINES_LEASED_LEASED_ENGINE_H

#include <uv.h>

#include "base/engine_host.h"
#include "engine_loop/engine_loop.h"
#include "engines/leased/leased.h"
#include "engines/leased/store.h"

/* An engine with leased tickets. */
struct hf_engine {
    /* The host, copied. */
    struct hf_engine_host host;
    /* The text that hf_engine_ops.describe returns. */
    char *description;
    struct hf_leased *leased; /* NULL until hf_leased_engine_start() */
    struct hf_store_ops ops;
    struct hf_store *store;
    uv_loop_t *loop;
    /* when this is closed, the memory of the engine is freed */
    struct hf_engine_loop engine_loop;
};

/* Make an engine that has no client yet; ${host} and ${description} are copied.
 * On failure returns NULL and sets ${error}. */
struct hf_engine *hf_leased_engine_new(const struct hf_engine_host *host,
                                       const char *description,
                                       struct hf_error *error);

/* Make the client for ${store} and begin to connect.  From now on the store
 * belongs to the engine, even if this function fails: hf_leased_engine_free()
 * frees it with ${ops}->free. */
hf_status hf_leased_engine_start(struct hf_engine *engine,
                                 const struct hf_leased_config *config,
                                 const struct hf_store_ops *ops,
                                 struct hf_store *store,
                                 struct hf_error *error);

/* Returns CLOCK_BOOTTIME in milliseconds, as the host has it. */
uint64_t hf_leased_engine_now_ms(const struct hf_engine *engine);
/* Call these at the beginning and end of every callback of the loop. */
void hf_leased_engine_enter(struct hf_engine *engine);
void hf_leased_engine_leave(struct hf_engine *engine);

/* Seed ${random} with 256 bits of getrandom(). */
hf_status hf_leased_engine_random(struct hf_random *random,
                                  struct hf_error *error);

/* Functions for the table hf_engine_ops. */
void hf_leased_engine_request(struct hf_engine *engine,
                              struct hf_request *request);
void hf_leased_engine_forget(struct hf_engine *engine,
                             struct hf_request *watch);
void hf_leased_engine_connect(struct hf_engine *engine);
const char *hf_leased_engine_describe(const struct hf_engine *engine);
void hf_leased_engine_origin(const struct hf_engine *engine,
                             struct hf_origin *origin);
void hf_leased_engine_after_fork(struct hf_engine *engine);
void hf_leased_engine_free(struct hf_engine *engine);

#endif
