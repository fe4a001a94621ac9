/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a client and closing it, and what its monitor calls in between.  To
 * open it, the options are checked, the core is set up, and the engine of the
 * URL is opened.  When the monitor ends, the client closes the session and then
 * notifies its user; the order of those steps is in monitor/close.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include <holdfast/uv.h>

#include "base/engine_host.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "base/url.h"
#include "client/client.h"
#include "client/client_url.h"
#include "client/effects.h"
#include "client/election.h"
#include "client/engines.h"
#include "client/grant.h"
#include "client/monitor_host.h"
#include "client/queue_watch.h"
#include "core/core.h"
#include "operation/done.h"
#include "operation/opts_compat.h"

/* ------------------------------------------------ what its monitor asks -- */

/* The earliest deadline of the core, of the waits for an election, of the
 * watches of queues, and of the other users of the session. */
static uint64_t due_at_ms(const void *owner)
{
    const struct hf_client *client = owner;
    uint64_t at_ms = hf_min_ms(hf_core_wake_at_ms(&client->core),
                               hf_heap_first_key(&client->election_deadlines));

    at_ms = hf_min_ms(at_ms, hf_heap_first_key(&client->queue_watch_pauses));
    for (const struct hf_session_user *user = client->session_users;
         user != NULL; user = user->next)
        at_ms = hf_min_ms(at_ms, user->due_at_ms(user));
    return at_ms;
}

/* Give the core the time, end the waits for an election whose deadline has
 * passed, list the queues that are watched, and have the other users of the
 * session do what is due. */
static void run_due(void *owner)
{
    struct hf_client *client = owner;
    struct hf_event tick = {.kind = HF_EVENT_TICK};
    struct hf_session_user *next;

    hf_client_step(client, &tick);
    hf_client_metrics_cut_searches(client);
    hf_election_waits_expire(client);
    hf_queue_watches_run_due(client);
    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = next) {
        next = user->next;
        user->run_due(user);
    }
}

/* A poller is needed for what is under way.  And a session that is not closed
 * needs one while it is not connected and, if it has a timeout, all the time,
 * because it ends without proofs. */
static bool needs_poller(const void *owner)
{
    const struct hf_client *client = owner;
    const struct hf_session *session = &client->core.session;

    return client->pending > 0 || (session->state != HF_STATE_CLOSED &&
                                   (session->state != HF_STATE_CONNECTED ||
                                    session->timeout_ms != HF_FOREVER));
}

/* Free the engine, which has handles on the loop. */
static void leave_loop(void *owner)
{
    struct hf_client *client = owner;

    if (client->engine != NULL)
        client->ops->free(client->engine);
    client->engine = NULL;
}

static void destroy(void *owner)
{
    struct hf_client *client = owner;

    hf_client_cohorts_free(client);
    hf_client_metrics_close(client);
    hf_free(client);
}

/* In the child nothing is held: the copies of the parent's handles must say so,
 * and their descriptors must not keep a ticket alive. */
static void after_fork(void *owner)
{
    struct hf_client *client = owner;

    hf_safe_until_store(&client->core.session.published, 0);
    if (!hf_descriptor_guard_is_intact(&client->monitor.guard))
        return;
    if (client->engine != NULL)
        client->ops->after_fork(client->engine);
    hf_grant_after_fork(client);
    hf_metrics_file_after_fork(&client->metrics.file);
}

/* The metrics need nothing: before each write the file sees whether its
 * descriptor is still its own. */
static void abandon(void *owner)
{
    struct hf_client *client = owner;
    struct hf_session_user *next;

    hf_grant_forget_loss_fds(client);
    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = next) {
        next = user->next;
        user->abandon(user);
    }
    hf_client_engine_abandon(client);
    hf_queue_watches_end(client, HF_DESCRIPTORS_GONE_TEXT);
}

/* Notify the other users of the session, and have the core close it.  The state
 * CLOSED follows, and with it hf_monitor_closed(). */
static void begin_close(void *owner)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSE};
    struct hf_client *client = owner;

    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = user->next)
        user->close(user);
    hf_queue_watches_end(client, "the client was closed");
    hf_client_step(client, &event);
}

/* All callbacks have run: drop the listeners, and call what the user gave to
 * hf_client_close_start().  That is taken out of the client first, so that it
 * is called once.  Releases the lock meanwhile. */
static void end_close(void *owner)
{
    struct hf_client *client = owner;
    struct hf_done done = client->close_done;
    struct hf_result result = {.status = HF_OK, .text = "", .grant = NULL};

    client->close_done = (struct hf_done){NULL, NULL, NULL};
    for (struct hf_session_user *user = client->session_users; user != NULL;
         user = user->next)
        user->ended(user);
    hf_state_listeners_drop(&client->listeners);
    hf_client_metrics_close(client);
    hf_done_call(&client->monitor, &done, &result);
}

static const struct hf_monitor_ops monitor_ops = {
    .due_at_ms = due_at_ms,
    .run_due = run_due,
    .needs_poller = needs_poller,
    .close = begin_close,
    .ended = end_close,
    .leave_loop = leave_loop,
    .destroy = destroy,
    .after_fork = after_fork,
    .abandon = abandon,
};

/* ----------------------------------------------------------------- open -- */

/* Set ${opts} to what ${given} says, and check it.  ${borrowed}: the loop is
 * the user's. */
static hf_status check_opts(const struct hf_client_opts *given, bool borrowed,
                            struct hf_client_opts *opts, struct hf_error *error)
{
    hf_status status = hf_opts_copy(&hf_client_opts_type, given, opts, error);

    if (status != HF_OK)
        return status;
    if (opts->delivery != HF_DELIVER_THREAD &&
        opts->delivery != HF_DELIVER_DISPATCH)
        return hf_error_set(error, HF_EINVAL,
                            "the delivery is %d, expected "
                            "HF_DELIVER_THREAD or HF_DELIVER_DISPATCH",
                            (int)opts->delivery);
    if (opts->loss_at != HF_LOSS_AT_LOST &&
        opts->loss_at != HF_LOSS_AT_SUSPENDED)
        return hf_error_set(error, HF_EINVAL,
                            "'loss_at' is %d; expected HF_LOSS_AT_LOST or "
                            "HF_LOSS_AT_SUSPENDED",
                            (int)opts->loss_at);
    if ((opts->metrics & ~(uint64_t)(HF_METRICS_COUNT | HF_METRICS_DIR)) != 0)
        return hf_error_set(error, HF_EINVAL,
                            "'metrics' is %llu; expected HF_METRICS_NONE, "
                            "HF_METRICS_COUNT, HF_METRICS_DIR or both",
                            (unsigned long long)opts->metrics);
    if (borrowed && opts->delivery != HF_DELIVER_THREAD)
        return hf_error_set(error, HF_EINVAL,
                            "HF_DELIVER_DISPATCH does not go with a borrowed "
                            "loop, which runs the callbacks itself; leave "
                            ".delivery at HF_DELIVER_THREAD");
    return HF_OK;
}

/* Seed the generator of the core, which draws ticket ids and backoffs. */
static hf_status seed_random(struct hf_random *random, struct hf_error *error)
{
    if (getrandom(random->s, sizeof(random->s), 0) != sizeof(random->s))
        return hf_error_set(error, HF_ELIMIT,
                            "getrandom gave no random bytes: %s",
                            hf_errno_text(errno));
    random->s[0] |= 1; /* xoshiro must not start with all zeros */
    return HF_OK;
}

/* How an enqueue is retried that the engine has refused. */
static const struct hf_retry_policy enqueue_retry = {
    .base_ms = 20,
    .cap_ms = 2000,
    .tries = HF_RETRY_UNLIMITED,
    .elapsed_ms = 15000,
};

/* Set up everything but the engine.  On failure there is nothing to undo but
 * the memory. */
static hf_status init_client(struct hf_client *client,
                             const struct hf_engine_ops *ops,
                             const struct hf_client_opts *opts, uv_loop_t *loop,
                             struct hf_error *error)
{
    struct hf_core_config config = {
        .traits = ops->traits,
        .connect_ms = opts->connect_ms,
        .retry = enqueue_retry,
        .engine_name = client->description,
        .loss_at = opts->loss_at,
    };
    enum hf_callback_runner runner = HF_RUNNER_THREAD;
    hf_status status;

    if ((status = seed_random(&config.random, error)) != HF_OK)
        return status;
    if (loop != NULL)
        runner = HF_RUNNER_BORROWED_LOOP;
    else if (opts->delivery == HF_DELIVER_DISPATCH)
        runner = HF_RUNNER_DISPATCH;
    client->ops = ops;
    client->carry_out = hf_effects_carry_out;
    hf_state_listeners_init(&client->listeners, &client->monitor,
                            opts->on_state);
    client->reconnect = opts->reconnect;
    hf_core_init(&client->core, &config, hf_now_ms());
    /* The last step, because a fork may use the client from here on. */
    if (!hf_monitor_init(&client->monitor, &monitor_ops, client, runner,
                         opts->on_log))
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptor for callbacks: %s; raise the "
                            "limit on open files",
                            hf_errno_text(errno));
    return HF_OK;
}

/* The engine may be gone when hf_client_describe() is called, so copy what it
 * says. */
static void remember_description(struct hf_client *client)
{
    (void)snprintf(client->description, sizeof(client->description), "%s",
                   client->ops->describe(client->engine));
}

/* Open the engine, and start a thread if the session needs one at once.  With
 * the lock.  Events may come from here on, so a failure is undone by
 * abandon_client(). */
static hf_status open_engine(struct hf_client *client, const struct hf_url *url,
                             uv_loop_t *loop, bool list_only,
                             struct hf_error *error)
{
    struct hf_engine_host host = hf_monitor_host(&client->monitor);
    hf_status status;

    host.event = hf_client_engine_event;
    host.reconnect = &client->reconnect;
    host.list_only = list_only;
    if (loop != NULL &&
        (status = hf_monitor_borrow_loop(&client->monitor, loop)) != HF_OK)
        return hf_error_set(error, status,
                            "the loop takes no more handles; raise the limit "
                            "on open files");
    status = client->ops->open(url, &host, &client->engine, error);
    if (status != HF_OK)
        return status;
    remember_description(client);
    if (hf_monitor_needs_poller(&client->monitor) &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK)
        return hf_error_set(error, status,
                            "no thread for the session; raise the limits on "
                            "open files and processes");
    return HF_OK;
}

/* Undo a client whose opening failed, without a callback of the user but for
 * the last lines of its log (.on_log).  Releases the lock and frees the client,
 * or has the borrowed loop free it when our handles are closed. */
static void abandon_client(struct hf_client *client)
{
    hf_state_listeners_abandon(&client->listeners);
    hf_monitor_abandon(&client->monitor, client->engine != NULL);
}

/* Allocate a client for ${url} and open it. */
static hf_status new_client(const struct hf_url *url,
                            const struct hf_client_opts *opts, uv_loop_t *loop,
                            bool list_only, struct hf_client **client,
                            struct hf_error *error)
{
    const struct hf_engine_ops *ops;
    struct hf_client *made;
    hf_status status;

    if ((status = hf_engines_find(url->scheme, &ops, error)) != HF_OK)
        return status;
    if ((made = hf_alloc(sizeof(*made))) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    if ((status = init_client(made, ops, opts, loop, error)) != HF_OK)
        goto free_client;
    hf_monitor_disable_cancel();
    hf_monitor_lock(&made->monitor);
    if ((status = hf_client_metrics_open(made, opts, error)) != HF_OK ||
        (status = open_engine(made, url, loop, list_only, error)) != HF_OK)
        goto undo;
    /* A callback that runs while we leave may close the client. */
    hf_monitor_reference(&made->monitor);
    hf_monitor_leave(&made->monitor);
    hf_monitor_release(&made->monitor);
    *client = made;
    return HF_OK;
undo:
    abandon_client(made);
    return status;
free_client:
    hf_free(made);
    return status;
}

/* Parse ${given} or, if that is NULL, HOLDFAST_URL; "file:" if there is no such
 * variable. */
static hf_status parse_url(const char *given, struct hf_url *url,
                           struct hf_error *error)
{
    hf_status status = HF_OK;
    char *text;

    if (given == NULL)
        status = hf_client_url_of_environment(&given, error);
    if (status == HF_OK)
        status =
            hf_client_url_take(given != NULL ? given : "file:", &text, error);
    if (status != HF_OK)
        return status;
    status = hf_url_parse(text, url, error);
    hf_client_url_free(text);
    return status;
}

/* On every failure, also if the URL cannot be read, .on_state.drop is called,
 * so that its owner need not know how far the call came.  No other callback of
 * the options has a .drop. */
hf_status hf_client_open_common(const char *api_name, const char *text,
                                const struct hf_client_opts *given,
                                uv_loop_t *loop, bool list_only,
                                struct hf_client **client)
{
    struct hf_error error = {.status = HF_OK};
    struct hf_client_opts opts;
    struct hf_url url;
    hf_status status;

    *client = NULL;
    status = check_opts(given, loop != NULL, &opts, &error);
    if (status == HF_OK)
        status = parse_url(text, &url, &error);
    if (status == HF_OK) {
        status = new_client(&url, &opts, loop, list_only, client, &error);
        hf_url_free(&url);
    }
    if (status != HF_OK) {
        (void)hf_fail(api_name, &error);
        if (opts.on_state.drop != NULL)
            opts.on_state.drop(opts.on_state.arg);
    }
    return status;
}

hf_status hf_client_open(const char *url, const struct hf_client_opts *opts,
                         struct hf_client **client)
{
    return hf_client_open_common("hf_client_open", url, opts, NULL, false,
                                 client);
}

hf_status hf_client_open_uv(uv_loop_t *loop, const char *url,
                            const struct hf_client_opts *opts,
                            struct hf_client **client)
{
    return hf_client_open_common("hf_client_open_uv", url, opts, loop, false,
                                 client);
}

hf_status hf_client_open_list_only(const char *url,
                                   const struct hf_client_opts *opts,
                                   struct hf_client **client)
{
    return hf_client_open_common("hf_client_open", url, opts, NULL, true,
                                 client);
}

/* -------------------------------------------------------------- closing -- */

/* Where this thread may not block, the call fails and the client stays open. */
hf_status hf_client_close(struct hf_client *client)
{
    struct hf_error error;

    if (client == NULL)
        return HF_OK;
    if (hf_monitor_may_block(&client->monitor, &error) != HF_OK)
        return hf_fail("hf_client_close", &error);
    if (hf_monitor_close(&client->monitor) != HF_OK)
        return hf_fork_fail("hf_client_close");
    return HF_OK;
}

hf_status hf_client_close_start(struct hf_client *client, struct hf_done done)
{
    hf_status status =
        hf_monitor_enter(&client->monitor, "hf_client_close_start");
    struct hf_error error;

    /* A poller has to run the last callback, because no caller waits for the
     * end. */
    if (status == HF_OK && (status = hf_monitor_ensure_poller(
                                &client->monitor, &error)) != HF_OK) {
        (void)hf_fail("hf_client_close_start", &error);
        hf_monitor_leave(&client->monitor);
    }
    if (status != HF_OK) {
        hf_done_drop(&done);
        return status;
    }
    client->close_done = done;
    hf_monitor_close_start(&client->monitor);
    return HF_OK;
}
