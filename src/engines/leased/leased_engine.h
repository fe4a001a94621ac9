/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every engine with leased tickets has in common beyond the machine of
 * leased.h: the loop and its turns.  A module's table
 * of functions is these and an .open of its own:
 *
 *     engine = hf_leased_engine_new(host, description, &error)
 *     store = ...                       on engine->loop
 *     hf_leased_engine_start(engine, &config, &ops, store, &error)
 *
 * A callback of the loop that tells the machine something is
 *
 *     hf_leased_engine_enter(engine);
 *     hf_leased_up(engine->leased, server_ms, hf_leased_engine_now_ms(engine));
 *     hf_leased_engine_leave(engine);    flushes the store, arms the timer
 *
 * Everything here is used with the client's lock held, by whichever thread
 * calls into the engine or runs its loop.
 */
#ifndef HF_ENGINES_LEASED_LEASED_ENGINE_H
#define HF_ENGINES_LEASED_LEASED_ENGINE_H

#include <uv.h>

#include "engine_loop/engine_loop.h"
#include "engines/leased/leased.h"

struct hf_engine {
    struct hf_engine_host host;
    char *description;
    struct hf_leased *leased; /* NULL until it was started */
    struct hf_store_ops ops;
    struct hf_store *store;
    uv_loop_t *loop;
    struct hf_engine_loop turns; /* memory is freed when they are closed */
};

/* An engine without a machine yet; ${host} and ${description} are copied.  On
 * failure NULL and ${error} says why, with its status. */
struct hf_engine *hf_leased_engine_new(const struct hf_engine_host *host,
                                       const char *description,
                                       struct hf_error *error);

/* Give it ${store}, which is freed by ${ops}->free from then on, and begin. */
hf_status hf_leased_engine_start(struct hf_engine *engine,
                                 const struct hf_leased_config *config,
                                 const struct hf_store_ops *ops,
                                 struct hf_store *store,
                                 struct hf_error *error);

uint64_t hf_leased_engine_now_ms(const struct hf_engine *engine);
void hf_leased_engine_enter(struct hf_engine *engine);
void hf_leased_engine_leave(struct hf_engine *engine);

/* 256 bits of getrandom(). */
hf_status hf_leased_engine_random(struct hf_random *random,
                                  struct hf_error *error);

/* As in hf_engine_ops. */
void hf_leased_engine_request(struct hf_engine *engine,
                              struct hf_request *request);
void hf_leased_engine_forget(struct hf_engine *engine,
                             struct hf_request *watch);
void hf_leased_engine_connect(struct hf_engine *engine);
const char *hf_leased_engine_describe(const struct hf_engine *engine);
void hf_leased_engine_after_fork(struct hf_engine *engine);
void hf_leased_engine_free(struct hf_engine *engine);

#endif
