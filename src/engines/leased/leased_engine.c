/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the leased client and its store on the loop.  One timer serves both: the
 * timerfd of the engine loop, because timers of libuv stop while the machine is
 * suspended. */
#include "engines/leased/leased_engine.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"

uint64_t hf_leased_engine_now_ms(const struct hf_engine *engine)
{
    return engine->host.now_ms(engine->host.host);
}

/* ------------------------------------------------------------------ loop -- */

/* Called by the engine loop after each group of callbacks: send the calls that
 * they made, and return when the timer is due. */
static uint64_t end_turn(void *arg)
{
    struct hf_engine *engine = arg;
    uint64_t at_ms;

    engine->ops.flush(engine->store);
    at_ms = hf_leased_wake_at_ms(engine->leased);
    if (engine->ops.wake_at_ms == NULL)
        return at_ms;
    return hf_min_ms(at_ms, engine->ops.wake_at_ms(engine->store));
}

/* The timer is due.  The store comes first, because it ends the link to one
 * silent server, where the client would end all. */
static void on_due(void *arg)
{
    struct hf_engine *engine = arg;

    if (engine->ops.tick != NULL)
        engine->ops.tick(engine->store);
    hf_leased_tick(engine->leased, hf_leased_engine_now_ms(engine));
}

/* The handles are closed: free the memory. */
static void release(void *arg)
{
    struct hf_engine *engine = arg;

    hf_free(engine->description);
    hf_free(engine);
}

void hf_leased_engine_enter(struct hf_engine *engine)
{
    hf_engine_loop_enter(&engine->engine_loop);
}

void hf_leased_engine_leave(struct hf_engine *engine)
{
    hf_engine_loop_leave(&engine->engine_loop);
}

/* ------------------------------------------------------------- beginning -- */

/* Make what the engine needs.  Even after a failure, hf_leased_engine_free()
 * frees it. */
static hf_status prepare(struct hf_engine *engine, const char *description,
                         struct hf_error *error)
{
    engine->description = hf_strdup(description);
    if (engine->description == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    engine->loop = engine->host.loop(engine->host.host);
    if (engine->loop == NULL)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptors for a loop; raise the limit on "
                            "open files");
    return hf_engine_loop_open(&engine->engine_loop, engine->loop, error);
}

struct hf_engine *hf_leased_engine_new(const struct hf_engine_host *host,
                                       const char *description,
                                       struct hf_error *error)
{
    struct hf_engine_loop_ops ops = {
        .run = end_turn, .timer_due = on_due, .closed = release};
    struct hf_engine *engine = hf_alloc(sizeof *engine);

    if (engine == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        return NULL;
    }
    engine->host = *host;
    ops.arg = engine;
    ops.host = &engine->host;
    hf_engine_loop_init(&engine->engine_loop, &ops);
    if (prepare(engine, description, error) != HF_OK) {
        hf_leased_engine_free(engine);
        return NULL;
    }
    return engine;
}

hf_status hf_leased_engine_start(struct hf_engine *engine,
                                 const struct hf_leased_config *config,
                                 const struct hf_store_ops *ops,
                                 struct hf_store *store, struct hf_error *error)
{
    engine->ops = *ops;
    engine->store = store;
    engine->leased = hf_leased_new(config, &engine->host, ops, store,
                                   hf_leased_engine_now_ms(engine));
    if (engine->leased == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    hf_engine_loop_start(&engine->engine_loop);
    return HF_OK;
}

hf_status hf_leased_engine_random(struct hf_random *random,
                                  struct hf_error *error)
{
    if (getrandom(random->s, sizeof random->s, 0) != (ssize_t)sizeof random->s)
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            hf_errno_text(errno));
    random->s[0] |= 1; /* xoshiro must not start with all zeros */
    return HF_OK;
}

/* ------------------------------------------------------------------- end -- */

void hf_leased_engine_free(struct hf_engine *engine)
{
    if (engine->leased != NULL)
        hf_leased_free(engine->leased);
    engine->leased = NULL;
    if (engine->store != NULL)
        engine->ops.free(engine->store);
    engine->store = NULL;
    hf_engine_loop_close(&engine->engine_loop);
}

/* -------------------------------------------------------------- requests -- */

/* end_turn() sends the calls that these functions make, when the loop next
 * runs. */
void hf_leased_engine_request(struct hf_engine *engine,
                              struct hf_request *request)
{
    hf_leased_request(engine->leased, request, hf_leased_engine_now_ms(engine));
    hf_engine_loop_run_soon(&engine->engine_loop);
}

void hf_leased_engine_forget(struct hf_engine *engine, struct hf_request *watch)
{
    hf_leased_forget(engine->leased, watch, hf_leased_engine_now_ms(engine));
    hf_engine_loop_run_soon(&engine->engine_loop);
}

void hf_leased_engine_connect(struct hf_engine *engine)
{
    hf_leased_connect(engine->leased, hf_leased_engine_now_ms(engine));
    hf_engine_loop_run_soon(&engine->engine_loop);
}

const char *hf_leased_engine_describe(const struct hf_engine *engine)
{
    return engine->description;
}

void hf_leased_engine_origin(const struct hf_engine *engine,
                             struct hf_origin *origin)
{
    (void)snprintf(origin->session, sizeof origin->session, "%s",
                   hf_leased_session_name(engine->leased));
    if (engine->ops.server != NULL)
        engine->ops.server(engine->store, origin->server,
                           sizeof origin->server);
}

void hf_leased_engine_after_fork(struct hf_engine *engine)
{
    if (engine->store != NULL)
        engine->ops.after_fork(engine->store);
    hf_engine_loop_after_fork(&engine->engine_loop);
}
