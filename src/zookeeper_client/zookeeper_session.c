/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a handle.  Its events become states for the user, and are
 * passed on to watches, retries, registrations and caches.
 */
#include "zookeeper_client/zookeeper_session.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "operation/done.h"
#include "zookeeper/watch_resume.h"
#include "zookeeper_client/zookeeper_registration.h"
#include "zookeeper_client/zookeeper_retry.h"
#include "zookeeper_client/zookeeper_watch.h"

/* ------------------------------------------------- events of the session -- */

static void set_state(struct hf_zookeeper *zookeeper, enum hf_state state)
{
    zookeeper->monitor->events++;
    hf_state_listeners_notify(&zookeeper->listeners, state);
}

/* Have log lines name the session and its server from now on.  If the session
 * is that of a client of locks, the client does so. */
static void set_origin(struct hf_zookeeper *zookeeper)
{
    struct hf_log_origin origin;

    if (zookeeper->shared.client != NULL)
        return;
    hf_zk_session_origin(zookeeper->session, origin.session, origin.server);
    hf_log_set_origin(&zookeeper->monitor->log, origin.session, origin.server);
}

static void up(void *user, bool resumed)
{
    struct hf_zookeeper *zookeeper = user;

    set_origin(zookeeper);
    set_state(zookeeper, HF_STATE_CONNECTED);
    hf_zookeeper_watches_set_again(zookeeper);
    hf_zookeeper_retries_up(zookeeper);
    hf_zookeeper_registrations_up(zookeeper);
    HF_ZK_NOTIFY(&zookeeper->parts, up, (listener->user, resumed));
}

static void suspended(void *user)
{
    struct hf_zookeeper *zookeeper = user;

    set_state(zookeeper, HF_STATE_SUSPENDED);
    HF_ZK_NOTIFY(&zookeeper->parts, suspended, (listener->user));
}

/* The reconnect policy allows no further attempt.  Operations were ended by the
 * queue, which is an earlier listener. */
static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_zookeeper *zookeeper = user;

    hf_zookeeper_registrations_gave_up(zookeeper);
    HF_ZK_NOTIFY(&zookeeper->parts, gave_up,
                 (listener->user, retries, elapsed_ms));
}

/* The next connection begins a new session. */
static void lost(void *user, const char *why)
{
    struct hf_zookeeper *zookeeper = user;

    (void)why;
    set_state(zookeeper, HF_STATE_LOST);
    hf_zk_watch_set_session_lost(&zookeeper->session->watches);
    hf_zookeeper_registrations_lost(zookeeper);
    set_state(zookeeper, HF_STATE_CONNECTING);
}

/* The client of locks has closed the session, and will free it: use it no
 * more. */
static void leave_session(struct hf_zookeeper *zookeeper)
{
    hf_zookeeper_watches_leave(zookeeper);
    zookeeper->begun = false;
}

static void closed(void *user)
{
    struct hf_zookeeper *zookeeper = user;

    hf_zookeeper_end_parts(zookeeper);
    set_state(zookeeper, HF_STATE_CLOSED);
    if (zookeeper->shared.client != NULL)
        leave_session(zookeeper);
    else
        hf_monitor_closed(zookeeper->monitor);
}

/* Write a log line of the session. */
static void log_line(void *user, enum hf_log_level level, const char *format,
                     ...)
{
    struct hf_zookeeper *zookeeper = user;
    char text[HF_LOG_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hf_log_write(&zookeeper->monitor->log, level, "%s", text);
}

/* ----------------------------------------------------- beginning and end -- */

/* The I/O has closed its libuv handles.  Nothing is freed here, because their
 * memory is part of the handle, which the monitor frees later. */
static void io_closed(void *arg)
{
    (void)arg;
}

void hf_zookeeper_session_init(struct hf_zookeeper *zookeeper)
{
    const struct hf_zk_io_user user = {io_closed, zookeeper};

    hf_zk_io_init(zookeeper->io, &zookeeper->host, &user);
}

/* Give the session the credentials of the options. */
static hf_status add_credentials(struct hf_zookeeper *zookeeper,
                                 const struct hf_zookeeper_opts *opts,
                                 struct hf_error *error)
{
    for (size_t i = 0; i < opts->credential_count; i++) {
        const struct hf_zookeeper_credential *credential =
            &opts->credentials[i];

        if (hf_zk_session_add_credential(zookeeper->session, credential->scheme,
                                         credential->bytes, credential->count,
                                         NULL, NULL) != HF_OK)
            return hf_error_set(error, HF_ENOMEM, "out of memory");
    }
    return HF_OK;
}

/* Have the first connection take ${session} over.  The connection asks for the
 * timeout that the session was granted, because another value would change the
 * timeout of the session. */
static void take_over(struct hf_zk_session_config *config,
                      const struct hf_zookeeper_session *session)
{
    config->id = session->id;
    memcpy(config->password, session->password, sizeof config->password);
    if (session->timeout_ms > 0)
        config->timeout_ms = session->timeout_ms;
}

void hf_zookeeper_session_use(struct hf_zookeeper *zookeeper,
                              const struct hf_zk_url_config *config,
                              size_t max_request_bytes)
{
    zookeeper->begun = true;
    zookeeper->context = (struct hf_zk_op_context){
        .chroot = config->chroot,
        .private_nodes = config->session.private_nodes,
        .max_request_bytes = max_request_bytes};
    hf_zk_op_queue_init(&zookeeper->queue, zookeeper->session,
                        &zookeeper->context);
    zookeeper->listener = (struct hf_zk_listener){.user = zookeeper,
                                                  .up = up,
                                                  .suspended = suspended,
                                                  .gave_up = gave_up,
                                                  .lost = lost,
                                                  .closed = closed};
    hf_zk_listeners_add(&zookeeper->session->listeners, &zookeeper->listener);
}

hf_status hf_zookeeper_session_begin(struct hf_zookeeper *zookeeper,
                                     const struct hf_zookeeper_opts *opts,
                                     struct hf_error *error)
{
    struct hf_zk_session_config *config = &zookeeper->own.config.session;
    const struct hf_zk_log log = {zookeeper, log_line};

    if (opts->session != NULL && opts->session->id != 0)
        take_over(config, opts->session);
    config->read_only = opts->read_only;
    hf_zk_session_begin(zookeeper->session, config, &log, hf_now_ms());
    hf_zookeeper_session_use(zookeeper, &zookeeper->own.config,
                             opts->max_request_bytes);
    hf_zk_io_start(zookeeper->io, zookeeper->session);
    return add_credentials(zookeeper, opts, error);
}

/* ------------------------------------------- what a handle has under way -- */

uint64_t hf_zookeeper_due_at_ms(const struct hf_zookeeper *zookeeper)
{
    return hf_min_ms(hf_zk_op_queue_wake_at_ms(&zookeeper->queue),
                     hf_zookeeper_timers_due_at_ms(zookeeper));
}

void hf_zookeeper_run_due(struct hf_zookeeper *zookeeper)
{
    hf_zk_op_queue_tick(&zookeeper->queue, hf_now_ms());
    hf_zookeeper_timers_run(zookeeper);
}

void hf_zookeeper_end_parts(struct hf_zookeeper *zookeeper)
{
    hf_zookeeper_registrations_closed(zookeeper);
    HF_ZK_NOTIFY(&zookeeper->parts, closed, (listener->user));
}

void hf_zookeeper_stop(struct hf_zookeeper *zookeeper)
{
    hf_zk_op_queue_close(&zookeeper->queue, hf_now_ms());
    hf_zookeeper_retries_close(zookeeper);
}

/* The session stays in memory as it is, and notifies nobody any more.
 * Operations that were sent end as in a close. */
void hf_zookeeper_session_abandon(struct hf_zookeeper *zookeeper)
{
    if (!zookeeper->begun)
        return;
    zookeeper->begun = false;
    set_state(zookeeper, HF_STATE_LOST);
    hf_zookeeper_end_parts(zookeeper);
    hf_zookeeper_watches_leave(zookeeper);
    hf_zookeeper_stop(zookeeper);
    hf_zk_op_queue_abandon(&zookeeper->queue);
    set_state(zookeeper, HF_STATE_CLOSED);
}

/* -------------------------------------------------- calls of the monitor -- */

static uint64_t due_at_ms(const void *owner)
{
    return hf_zookeeper_due_at_ms(owner);
}

static void run_due(void *owner)
{
    hf_zookeeper_run_due(owner);
}

/* A session needs a thread or loop that sends pings in time. */
static bool needs_poller(const void *owner)
{
    const struct hf_zookeeper *zookeeper = owner;

    return zookeeper->begun &&
           hf_state_listeners_state(&zookeeper->listeners) != HF_STATE_CLOSED;
}

/* The session is closed when what was sent is answered, or after
 * HF_CLOSE_TIMEOUT_MS. */
static void begin_close(void *owner)
{
    struct hf_zookeeper *zookeeper = owner;

    hf_zookeeper_stop(zookeeper);
    zookeeper->io->ending = true;
    hf_zk_session_close(zookeeper->session);
    hf_zookeeper_changed(zookeeper);
}

static void ended(void *owner)
{
    struct hf_zookeeper *zookeeper = owner;
    const struct hf_done done = zookeeper->close_done;
    const struct hf_result result = {.status = HF_OK, .text = ""};

    zookeeper->close_done = (struct hf_done){NULL, NULL, NULL};
    hf_state_listeners_drop(&zookeeper->listeners);
    hf_done_call(zookeeper->monitor, &done, &result);
}

static void leave_loop(void *owner)
{
    struct hf_zookeeper *zookeeper = owner;

    if (zookeeper->begun)
        hf_zk_session_free(zookeeper->session);
    zookeeper->begun = false;
    hf_zk_io_close(zookeeper->io);
}

static void destroy(void *owner)
{
    struct hf_zookeeper *zookeeper = owner;

    hf_free(zookeeper->description);
    /* The handle has passwords in it. */
    explicit_bzero(zookeeper, sizeof *zookeeper);
    hf_free(zookeeper);
}

static void after_fork(void *owner)
{
    struct hf_zookeeper *zookeeper = owner;

    if (hf_descriptor_guard_is_intact(&zookeeper->monitor->guard))
        hf_zk_io_after_fork(zookeeper->io);
}

static void abandon(void *owner)
{
    hf_zookeeper_session_abandon(owner);
}

const struct hf_monitor_ops hf_zookeeper_monitor_ops = {
    .due_at_ms = due_at_ms,
    .run_due = run_due,
    .needs_poller = needs_poller,
    .close = begin_close,
    .ended = ended,
    .leave_loop = leave_loop,
    .destroy = destroy,
    .after_fork = after_fork,
    .abandon = abandon,
};

/* ---------------------------------------------------------- public calls -- */

hf_status hf_zookeeper_session(struct hf_zookeeper *zookeeper,
                               struct hf_zookeeper_session *session)
{
    hf_status status =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_session");
    struct hf_error error;

    *session = (struct hf_zookeeper_session){.id = 0};
    if (status != HF_OK)
        return status;
    if (zookeeper->begun && zookeeper->session->id != 0 &&
        zookeeper->session->mode != HF_ZK_SESSION_LOCAL) {
        session->id = zookeeper->session->id;
        session->timeout_ms = zookeeper->session->timeout_ms;
        if (zookeeper->shared.client == NULL) {
            memcpy(session->password, zookeeper->session->password,
                   sizeof session->password);
            zookeeper->session->handed_out = true;
        }
    } else {
        status = hf_error_set(&error, HF_EUNREACHABLE,
                              "there is no session that other servers know; "
                              "expected to be called while the state is "
                              "HF_STATE_CONNECTED and the server has a "
                              "quorum");
        (void)hf_fail("hf_zookeeper_session", &error);
    }
    hf_monitor_leave(zookeeper->monitor);
    return status;
}

/* Read ${text} and give the session its servers.  With the lock. */
static hf_status set_servers(struct hf_zookeeper *zookeeper, const char *text,
                             struct hf_error *error)
{
    struct hf_zk_session_config *config = &zookeeper->own.config.session;
    struct hf_zk_session_config list = {.tls = config->tls,
                                        .random = config->random};
    hf_status status;

    if (hf_zookeeper_is_closing(zookeeper))
        return hf_monitor_explain_closed(zookeeper->monitor, "handle", error);
    if (zookeeper->shared.client != NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the session is that of a client of locks, and "
                            "has the servers of its URL; expected a handle of "
                            "hf_zookeeper_open()");
    status = hf_zk_url_parse_servers(&list, text, error);
    if (status != HF_OK)
        return status;
    hf_zk_url_shuffle(&list);
    config->random = list.random;
    hf_zk_session_set_servers(zookeeper->session, list.servers,
                              list.server_count, hf_now_ms());
    hf_zookeeper_changed(zookeeper);
    return HF_OK;
}

hf_status hf_zookeeper_set_servers(struct hf_zookeeper *zookeeper,
                                   const char *servers)
{
    hf_status status =
        hf_monitor_enter(zookeeper->monitor, "hf_zookeeper_set_servers");
    struct hf_error error;

    if (status != HF_OK)
        return status;
    status = set_servers(zookeeper, servers, &error);
    if (status != HF_OK)
        (void)hf_fail("hf_zookeeper_set_servers", &error);
    hf_monitor_leave(zookeeper->monitor);
    return status;
}
