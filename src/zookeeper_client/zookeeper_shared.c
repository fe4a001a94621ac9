/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handle on the session of a client of locks.  Ephemeral nodes of the handle
 * and locks of the client belong to one session, so they are lost together.
 *
 * The monitor, the session and its I/O are the client's.  The handle has its
 * own queue of operations, listeners and watches, and memory that lives until
 * its last operation and watch are gone.  A client may have several handles.
 *
 * The close of a handle takes its watches out of the session, and ends its
 * operations as the close of a session does: those that were sent have a second
 * to be answered.  Then a last callback, queued behind all others of the
 * client, notifies the user.  The close of the client ends the operations of
 * all its handles, but the user must still close each handle.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "operation/done.h"
#include "zookeeper_client/zookeeper_retry.h"
#include "zookeeper_client/zookeeper_session.h"
#include "zookeeper_client/zookeeper_watch.h"

/* How long the close of a handle waits for answers to operations that were
 * sent. */
#define CLOSE_MS 1000

static struct hf_zookeeper *of_user(const struct hf_session_user *user)
{
    return container_of(user, struct hf_zookeeper, shared.user);
}

/* ----------------------------------------------------------------- close -- */

/* Report the end of the close to the user.  Releases the lock meanwhile. */
static void report_closed(struct hf_zookeeper *zookeeper)
{
    const struct hf_result result = {.status = HF_OK, .text = ""};
    const struct hf_done done = zookeeper->close_done;

    zookeeper->close_done = (struct hf_done){NULL, NULL, NULL};
    hf_state_listeners_drop(&zookeeper->listeners);
    hf_done_call(zookeeper->monitor, &done, &result);
}

/* Wake the thread that waits in hf_zookeeper_close(), if there is one. */
static void answer_close(struct hf_zookeeper *zookeeper)
{
    struct hf_waiter *waiter = zookeeper->shared.waiter;

    zookeeper->shared.waiter = NULL;
    if (waiter != NULL)
        hf_waiter_answer(zookeeper->monitor, waiter, HF_OK);
}

/* The .run of the last callback. */
static void run_closed(void *arg)
{
    struct hf_zookeeper *zookeeper = arg;
    bool awaited = zookeeper->shared.awaited;

    report_closed(zookeeper);
    if (hf_fork_is_child(&zookeeper->monitor->fork))
        return;
    zookeeper->shared.closed = true;
    answer_close(zookeeper);
    if (!awaited)
        hf_zookeeper_dereference(zookeeper);
}

/* End the operations that are not answered, and take the handle out of the
 * session. */
static void leave_session(struct hf_zookeeper *zookeeper)
{
    struct hf_zk_listeners *listeners = &zookeeper->session->listeners;

    hf_zk_op_queue_abandon(&zookeeper->queue);
    hf_zk_listeners_remove(listeners, &zookeeper->queue.listener);
    hf_zk_listeners_remove(listeners, &zookeeper->listener);
    zookeeper->begun = false;
    hf_client_remove_session_user(zookeeper->shared.client,
                                  &zookeeper->shared.user);
    hf_state_listeners_notify(&zookeeper->listeners, HF_STATE_CLOSED);
}

/* End the close: leave the session and queue the last callback.  If the user
 * dispatches callbacks, the thread that closes runs it, so it is woken here. */
static void end_close(struct hf_zookeeper *zookeeper)
{
    struct hf_monitor *monitor = zookeeper->monitor;

    leave_session(zookeeper);
    hf_monitor_queue(monitor, &zookeeper->shared.closed_callback);
    if (monitor->callback_queue.runner == HF_RUNNER_DISPATCH)
        answer_close(zookeeper);
}

/* The queue is closed and idle, so it drops its reference of the handle.  If
 * nothing else is waited for, the close ends. */
static void queue_idle(void *user)
{
    struct hf_zookeeper *zookeeper = user;

    if (zookeeper->shared.closing && zookeeper->begun)
        end_close(zookeeper);
    hf_zookeeper_dereference(zookeeper);
}

/* Begin the close of a handle whose client is open. */
static void begin_close(struct hf_zookeeper *zookeeper)
{
    assert(!zookeeper->shared.closing);
    zookeeper->shared.closing = true;
    zookeeper->shared.close_by_ms = hf_after_ms(hf_now_ms(), CLOSE_MS);
    hf_zookeeper_end_parts(zookeeper);
    hf_zookeeper_watches_leave(zookeeper);
    hf_zookeeper_stop(zookeeper);
    hf_zookeeper_changed(zookeeper);
}

/* Wait until the last callback has run; run callbacks here if no other thread
 * does.  HF_EFORKED if a callback has forked and this is the child.  Called
 * with the lock. */
static hf_status await_close(struct hf_zookeeper *zookeeper,
                             struct hf_waiter *waiter)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    struct hf_error ignored;

    (void)hf_monitor_wait(monitor, waiter, &ignored);
    assert(waiter->done); /* a session has a poller */
    while (!zookeeper->shared.closed) {
        hf_monitor_await_callbacks(monitor);
        if (!zookeeper->shared.closed)
            hf_monitor_run_callbacks(monitor);
        if (hf_fork_is_child(&monitor->fork))
            return HF_EFORKED;
    }
    return HF_OK;
}

/* Close a handle whose client is closing or closed: wait for the end of the
 * client's close, which ends everything of the handle.  No callback can be
 * queued any more.  If the program has closed the library's descriptors, there
 * is nothing to wait for. */
static void close_behind_client(struct hf_zookeeper *zookeeper,
                                struct hf_waiter *waiter)
{
    struct hf_error ignored;

    if (zookeeper->monitor->state != HF_MONITOR_ENDED &&
        zookeeper->monitor->descriptors == HF_DESCRIPTORS_OURS)
        (void)hf_monitor_wait(zookeeper->monitor, waiter, &ignored);
    assert(zookeeper->monitor->state == HF_MONITOR_ENDED ||
           zookeeper->monitor->descriptors != HF_DESCRIPTORS_OURS);
    hf_client_remove_session_user(zookeeper->shared.client,
                                  &zookeeper->shared.user);
    report_closed(zookeeper);
}

bool hf_zookeeper_shared_is_over(struct hf_zookeeper *zookeeper)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    bool over;

    if (zookeeper->shared.client == NULL ||
        hf_monitor_enter(monitor, NULL) != HF_OK)
        return false;
    over = monitor->state == HF_MONITOR_ENDED;
    hf_monitor_leave(monitor);
    return over;
}

hf_status hf_zookeeper_shared_close(struct hf_zookeeper *zookeeper)
{
    struct hf_monitor *monitor = zookeeper->monitor;
    struct hf_waiter waiter = {.done = false};
    hf_status status = hf_monitor_enter(monitor, NULL);

    if (status != HF_OK)
        return status;
    zookeeper->shared.awaited = true;
    zookeeper->shared.waiter = &waiter;
    if (monitor->state != HF_MONITOR_OPEN) {
        close_behind_client(zookeeper, &waiter);
    } else {
        begin_close(zookeeper);
        status = await_close(zookeeper, &waiter);
    }
    hf_monitor_leave(monitor);
    if (status == HF_OK)
        hf_zookeeper_release(zookeeper);
    return status;
}

void hf_zookeeper_shared_close_start(struct hf_zookeeper *zookeeper)
{
    struct hf_monitor *monitor = zookeeper->monitor;

    hf_monitor_reference(monitor); /* the end may drop all others */
    begin_close(zookeeper);
    hf_monitor_leave(monitor);
    hf_monitor_release(monitor);
}

/* --------------------------------------------------- calls of the client -- */

static uint64_t due_at_ms(const struct hf_session_user *user)
{
    const struct hf_zookeeper *zookeeper = of_user(user);
    uint64_t at_ms = hf_zookeeper_due_at_ms(zookeeper);

    return zookeeper->shared.closing
               ? hf_min_ms(at_ms, zookeeper->shared.close_by_ms)
               : at_ms;
}

static void run_due(struct hf_session_user *user)
{
    struct hf_zookeeper *zookeeper = of_user(user);

    hf_zookeeper_run_due(zookeeper);
    if (zookeeper->shared.closing &&
        hf_now_ms() >= zookeeper->shared.close_by_ms)
        end_close(zookeeper);
}

/* A handle that is being closed was stopped already. */
static void client_closes(struct hf_session_user *user)
{
    struct hf_zookeeper *zookeeper = of_user(user);

    if (!zookeeper->shared.closing)
        hf_zookeeper_stop(zookeeper);
}

static void client_ended(struct hf_session_user *user)
{
    answer_close(of_user(user));
}

/* The program has closed the descriptors of the client, which are also those of
 * the session.  This ends a close of the handle that has begun. */
static void client_abandons(struct hf_session_user *user)
{
    struct hf_zookeeper *zookeeper = of_user(user);

    if (zookeeper->shared.closing && zookeeper->begun)
        end_close(zookeeper);
    else
        hf_zookeeper_session_abandon(zookeeper);
}

/* ------------------------------------------------------------------ open -- */

/* The state of a session that may have begun before the handle was made. */
static enum hf_state state_of(const struct hf_zk_session *session)
{
    if (hf_zk_session_usable(session))
        return HF_STATE_CONNECTED;
    return session->id != 0 ? HF_STATE_SUSPENDED : HF_STATE_CONNECTING;
}

/* Begin to use ${shared}.  The handle may outlive the engine, so it keeps the
 * path of the URL. */
static void use_session(struct hf_zookeeper *zookeeper,
                        const struct hf_engine_session *shared)
{
    const struct hf_zookeeper_opts defaults = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zk_url_config *own = &zookeeper->own.config;

    zookeeper->session = shared->session;
    zookeeper->io = shared->io;
    memcpy(own->chroot, shared->config->chroot, sizeof own->chroot);
    own->session.private_nodes = shared->config->session.private_nodes;
    hf_zookeeper_session_use(zookeeper, own, defaults.max_request_bytes);
    zookeeper->queue.idle = queue_idle;
    zookeeper->queue.user = zookeeper;
}

/* Make a handle on the session of the engine of ${client}.  NULL: no memory. */
static struct hf_zookeeper *new_handle(struct hf_client *client)
{
    struct hf_zookeeper *zookeeper = hf_alloc(sizeof *zookeeper);
    struct hf_engine_session shared;

    if (zookeeper == NULL)
        return NULL;
    client->ops->session(client->engine, &shared);
    zookeeper->monitor = &client->monitor;
    zookeeper->shared.client = client;
    zookeeper->shared.user = (struct hf_session_user){
        due_at_ms, run_due, client_closes, client_ended, client_abandons, NULL};
    zookeeper->shared.closed_callback =
        (struct hf_callback){.run = run_closed, .arg = zookeeper};
    zookeeper->connect_ms = client->core.config.connect_ms;
    hf_state_listeners_init(&zookeeper->listeners, zookeeper->monitor,
                            (struct hf_on_state){NULL, NULL, NULL});
    zookeeper->listeners.unlogged = true;
    hf_state_listeners_notify(&zookeeper->listeners, state_of(shared.session));
    use_session(zookeeper, &shared);
    hf_zookeeper_reference(zookeeper); /* the user's */
    hf_zookeeper_reference(zookeeper); /* the queue's */
    hf_client_add_session_user(client, &zookeeper->shared.user);
    hf_zookeeper_retries_up(zookeeper);
    return zookeeper;
}

/* With the lock. */
static hf_status open_shared(struct hf_client *client,
                             struct hf_zookeeper **zookeeper,
                             struct hf_error *error)
{
    if (client->monitor.state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(&client->monitor, "client", error);
    if (client->ops->session == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "the client is one of %.200s, which has no session "
                            "of ZooKeeper; expected one that was opened with a "
                            "URL zk:// or zks://",
                            client->description);
    *zookeeper = new_handle(client);
    return *zookeeper != NULL ? HF_OK
                              : hf_error_set(error, HF_ENOMEM, "out of memory");
}

hf_status hf_client_zookeeper(struct hf_client *client,
                              struct hf_zookeeper **zookeeper)
{
    hf_status status =
        hf_monitor_enter(&client->monitor, "hf_client_zookeeper");
    struct hf_error error;

    *zookeeper = NULL;
    if (status != HF_OK)
        return status;
    status = open_shared(client, zookeeper, &error);
    if (status != HF_OK)
        (void)hf_fail("hf_client_zookeeper", &error);
    hf_monitor_leave(&client->monitor);
    return status;
}
