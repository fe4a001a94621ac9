/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever was asked of the machine is followed by a turn's end: what calls it
 * made are flushed, and the timer is armed for what it waits for.  Within a
 * callback of the loop that is once, at its end; requests from elsewhere leave
 * it to an idle handle, which the loop runs in its next turn and before anybody
 * sleeps.  So the calls of one turn leave together.
 */
#include "engines/leased/engine.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"

uint64_t hf_leased_engine_now_ms(const struct hf_engine *engine)
{
    return engine->host.now_ms(engine->host.host);
}

/* ----------------------------------------------------------------- turns -- */

/* A timer that is early does no harm and saves system calls. */
static void arm(struct hf_engine *engine, uint64_t at_ms)
{
    struct itimerspec when = {{0, 0}, {0, 0}};
    int rest;

    if (engine->armed_at_ms <= at_ms)
        return;
    engine->armed_at_ms = at_ms;
    when.it_value.tv_sec = (time_t)(at_ms / 1000);
    /* Zero would disarm it. */
    when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000L + 1;
    rest = timerfd_settime(engine->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(rest == 0);
    (void)rest;
}

static void end_turn(struct hf_engine *engine)
{
    (void)uv_idle_stop(&engine->idle);
    engine->ops.flush(engine->store);
    arm(engine, hf_leased_wake_at_ms(engine->leased));
}

void hf_leased_engine_enter(struct hf_engine *engine)
{
    engine->callbacks++;
}

void hf_leased_engine_leave(struct hf_engine *engine)
{
    end_turn(engine);
    engine->callbacks--;
}

static void on_idle(uv_idle_t *idle)
{
    struct hf_engine *engine = idle->data;

    hf_leased_engine_enter(engine);
    hf_leased_engine_leave(engine);
}

/* From outside: have the turn ended before anybody sleeps. */
static void end_turn_later(struct hf_engine *engine)
{
    if (engine->callbacks == 0)
        (void)uv_idle_start(&engine->idle, on_idle);
}

static void on_timer(uv_poll_t *timer, int status, int events)
{
    struct hf_engine *engine = timer->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    /* It may have been armed anew since the loop was told. */
    if (read(engine->timer_fd, &expirations, sizeof expirations) < 0)
        return;
    engine->armed_at_ms = HF_FOREVER;
    hf_leased_engine_enter(engine);
    hf_leased_tick(engine->leased, hf_leased_engine_now_ms(engine));
    hf_leased_engine_leave(engine);
}

/* ------------------------------------------------------------- beginning -- */

static hf_status start_timer(struct hf_engine *engine, struct hf_error *error)
{
    int rest;

    engine->timer_fd =
        timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (engine->timer_fd < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor for a timer: %s; raise the limit on "
                            "open files",
                            strerrordesc_np(errno));
    rest = uv_poll_init(engine->loop, &engine->timer, engine->timer_fd);
    if (rest != 0)
        return hf_error_set(error, HF_ELIMIT, "the loop takes no timer: %s",
                            uv_strerror(rest));
    engine->timer.data = engine;
    (void)uv_idle_init(engine->loop, &engine->idle);
    engine->idle.data = engine;
    engine->handles = 2;
    return HF_OK;
}

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
    return start_timer(engine, error);
}

struct hf_engine *hf_leased_engine_new(const struct hf_engine_host *host,
                                       const char *description,
                                       struct hf_error *error)
{
    struct hf_engine *engine = hf_alloc(sizeof *engine);

    if (engine == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        return NULL;
    }
    engine->host = *host;
    engine->timer_fd = -1;
    engine->armed_at_ms = HF_FOREVER;
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
    (void)uv_poll_start(&engine->timer, UV_READABLE, on_timer);
    end_turn(engine);
    return HF_OK;
}

hf_status hf_leased_engine_random(struct hf_random *random,
                                  struct hf_error *error)
{
    if (getrandom(random->s, sizeof random->s, 0) != (ssize_t)sizeof random->s)
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            strerrordesc_np(errno));
    random->s[0] |= 1; /* xoshiro must not start from nothing but zeros */
    return HF_OK;
}

/* ------------------------------------------------------------------- end -- */

static void release(struct hf_engine *engine)
{
    hf_free(engine->description);
    hf_free(engine);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct hf_engine *engine = handle->data;

    assert(engine->handles > 0);
    if (--engine->handles == 0)
        release(engine);
}

void hf_leased_engine_free(struct hf_engine *engine)
{
    if (engine->leased != NULL)
        hf_leased_free(engine->leased);
    engine->leased = NULL;
    if (engine->store != NULL)
        engine->ops.free(engine->store);
    engine->store = NULL;
    if (engine->handles > 0) {
        uv_close((uv_handle_t *)&engine->idle, on_handle_closed);
        uv_close((uv_handle_t *)&engine->timer, on_handle_closed);
    }
    if (engine->timer_fd >= 0)
        (void)close(engine->timer_fd);
    engine->timer_fd = -1;
    if (engine->handles == 0)
        release(engine);
}

/* -------------------------------------------------------------- requests -- */

void hf_leased_engine_request(struct hf_engine *engine,
                              struct hf_request *request)
{
    hf_leased_request(engine->leased, request, hf_leased_engine_now_ms(engine));
    end_turn_later(engine);
}

void hf_leased_engine_forget(struct hf_engine *engine, struct hf_request *watch)
{
    hf_leased_forget(engine->leased, watch, hf_leased_engine_now_ms(engine));
    end_turn_later(engine);
}

const char *hf_leased_engine_describe(const struct hf_engine *engine)
{
    return engine->description;
}

void hf_leased_engine_after_fork(struct hf_engine *engine)
{
    if (engine->store != NULL)
        engine->ops.after_fork(engine->store);
    if (engine->timer_fd >= 0)
        (void)close(engine->timer_fd);
}
