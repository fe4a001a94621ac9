/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What moves the machine of zk.h: a link to the server it wants, a timer, and
 * the loop.  Everything here runs with the client's lock held.
 *
 * Whatever was asked of the machine is followed by hf_engine_drive().  Within a
 * callback of the loop that is once, at its end; requests from elsewhere leave
 * it to an idle handle, which the loop runs in its next turn and before anybody
 * sleeps.  So the requests of one turn leave in one write.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/error.h"
#include "core/memory.h"
#include "engines/zookeeper/engine.h"
#include "engines/zookeeper/zookeeper.h"

/* How many links may fail at once before the loop gets a turn. */
#define LINKS_PER_DRIVE 8

static uint64_t now_ms(const struct hf_engine *engine)
{
    return engine->host.now_ms(engine->host.host);
}

/* ----------------------------------------------------------------- timer -- */

/* A timer that is early does no harm and saves a system call for each request
 * that puts the next ping off. */
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
}

/* ----------------------------------------------------------------- drive -- */

static void drop_link(struct hf_engine *engine)
{
    /* A goodbye that is still on its way out is meant to arrive. */
    if (engine->link != NULL)
        hf_link_close(engine->link,
                      engine->ending ? HF_LINK_FINISH : HF_LINK_ABORT);
    engine->link = NULL;
}

static void tell_down(struct hf_engine *engine, const char *why)
{
    if (engine->link != NULL && hf_link_hung_up(engine->link))
        why = NULL;
    drop_link(engine);
    hf_zk_link_down(engine->zk, engine->number, now_ms(engine), why);
}

static const struct hf_link_user link_user;

/* Have the link that the machine wants.  False if that failed, of which it was
 * told. */
static bool follow(struct hf_engine *engine)
{
    struct hf_link_way way = {
        .loop = engine->loop,
        .resolver = engine->resolver,
        .tls = engine->tls,
        .context = engine->context,
    };
    struct hf_link_user user = link_user;
    char why[HF_LINK_TEXT_BYTES];
    const struct hf_zk_server *server;
    uint64_t number = engine->number;

    server = hf_zk_link(engine->zk, &number);
    if (server != NULL && number == engine->number)
        return true;
    drop_link(engine);
    if (server == NULL)
        return true;
    engine->number = number;
    way.host = server->host;
    way.port = server->port;
    user.arg = engine;
    engine->link = hf_link_open(&way, &user, why);
    if (engine->link == NULL)
        tell_down(engine, why);
    return engine->link != NULL;
}

/* Send what the machine wants to have sent.  False if that failed. */
static bool flush(struct hf_engine *engine)
{
    size_t count = 0;
    const void *bytes = hf_zk_output(engine->zk, &count);
    char why[HF_LINK_TEXT_BYTES];
    size_t taken;

    if (engine->link == NULL || count == 0)
        return true;
    if (hf_link_send(engine->link, bytes, count, &taken)) {
        hf_zk_written(engine->zk, taken);
        return true;
    }
    hf_zk_written(engine->zk, taken);
    (void)snprintf(why, sizeof(why), "%s", hf_link_why(engine->link));
    tell_down(engine, why);
    return false;
}

void hf_engine_drive(struct hf_engine *engine)
{
    bool settled = false;

    (void)uv_idle_stop(&engine->idle);
    for (int i = 0; i < LINKS_PER_DRIVE && !settled; i++)
        settled = follow(engine) && flush(engine);
    arm(engine, settled ? hf_zk_wake_at_ms(engine->zk) : 0);
}

static void on_idle(uv_idle_t *idle);

/* From outside: have it driven before anybody sleeps. */
static void drive_later(struct hf_engine *engine)
{
    if (engine->callbacks == 0)
        (void)uv_idle_start(&engine->idle, on_idle);
}

/* A callback of the loop begins, and ends. */
static void enter(struct hf_engine *engine)
{
    engine->callbacks++;
}

static void leave(struct hf_engine *engine)
{
    hf_engine_drive(engine);
    engine->callbacks--;
}

static void on_idle(uv_idle_t *idle)
{
    struct hf_engine *engine = idle->data;

    enter(engine);
    leave(engine);
}

static void on_timer(uv_poll_t *timer, int status, int events)
{
    struct hf_engine *engine = timer->data;
    uint64_t expirations;

    (void)status;
    (void)events;
    /* It may have been armed anew since the loop was told. */
    if (read(engine->timer_fd, &expirations, sizeof(expirations)) < 0)
        return;
    engine->armed_at_ms = HF_FOREVER;
    enter(engine);
    hf_zk_tick(engine->zk, now_ms(engine));
    leave(engine);
}

/* ------------------------------------------------------------------ link -- */

static void on_up(void *arg)
{
    struct hf_engine *engine = arg;

    enter(engine);
    hf_zk_link_up(engine->zk, engine->number, now_ms(engine));
    leave(engine);
}

static void on_received(void *arg, const void *bytes, size_t count)
{
    struct hf_engine *engine = arg;

    enter(engine);
    hf_zk_receive(engine->zk, engine->number, now_ms(engine), bytes, count);
    leave(engine);
}

static void on_writable(void *arg)
{
    struct hf_engine *engine = arg;

    enter(engine);
    leave(engine);
}

static void on_down(void *arg, const char *why)
{
    struct hf_engine *engine = arg;

    enter(engine);
    tell_down(engine, why);
    leave(engine);
}

static const struct hf_link_user link_user = {
    .up = on_up,
    .received = on_received,
    .writable = on_writable,
    .down = on_down,
};

hf_status hf_engine_start_timer(struct hf_engine *engine,
                                struct hf_error *error)
{
    int rest = 0;

    engine->armed_at_ms = HF_FOREVER;
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
    (void)uv_poll_start(&engine->timer, UV_READABLE, on_timer);
    (void)uv_idle_init(engine->loop, &engine->idle);
    engine->idle.data = engine;
    engine->handles = 2;
    return HF_OK;
}

/* ------------------------------------------------------------------ free -- */

static void release(struct hf_engine *engine)
{
    if (engine->context != NULL)
        engine->tls->context_free(engine->context);
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

static void close_handles(struct hf_engine *engine)
{
    uv_close((uv_handle_t *)&engine->idle, on_handle_closed);
    uv_close((uv_handle_t *)&engine->timer, on_handle_closed);
}

/* What open() had made by then, or all of it. */
void hf_engine_free(struct hf_engine *engine)
{
    drop_link(engine);
    if (engine->resolver != NULL)
        hf_resolver_free(engine->resolver);
    if (engine->zk != NULL)
        hf_zk_free(engine->zk);
    engine->zk = NULL;
    if (engine->handles > 0)
        close_handles(engine);
    if (engine->timer_fd >= 0)
        (void)close(engine->timer_fd);
    engine->timer_fd = -1;
    if (engine->handles == 0)
        release(engine);
}

/* -------------------------------------------------------------- requests -- */

static void carry_out(struct hf_engine *engine, struct hf_request *request)
{
    if (request->kind == HF_REQUEST_END)
        engine->ending = true;
    hf_zk_request(engine->zk, request, now_ms(engine));
    drive_later(engine);
}

static void forget(struct hf_engine *engine, struct hf_request *watch)
{
    hf_zk_forget(engine->zk, watch);
    drive_later(engine);
}

static const char *describe(const struct hf_engine *engine)
{
    return engine->description;
}

static void after_fork(struct hf_engine *engine)
{
    if (engine->link != NULL)
        hf_link_after_fork(engine->link);
    if (engine->timer_fd >= 0)
        (void)close(engine->timer_fd);
}

/* There is no .hold: a session lives by what its client sends, and no
 * descriptor can do that. */
#define OPS(name)                                                              \
    {                                                                          \
        .abi = HF_ENGINE_ABI, .scheme = name, .traits = HF_ZK_TRAITS,          \
        .open = hf_engine_open, .request = carry_out, .forget = forget,        \
        .describe = describe, .after_fork = after_fork,                        \
        .free = hf_engine_free,                                                \
    }

const struct hf_engine_ops hf_engine_zookeeper = OPS("zk");
const struct hf_engine_ops hf_engine_zookeeper_tls = OPS("zks");
