/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the supervisor does with the library: the client, the locks, the
 * acquire, and the grant until its release.
 */
#include "cli/supervisor.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/grant.h>
#include <holdfast/mutex.h>

#include "base/error.h"
#include "base/time_math.h"
#include "cli/ipc.h"
#include "cli/notify_socket.h"
#include "client/grant.h"
#include "monitor/log_default.h"

/* A candidate looks this often who leads. */
#define HF_LEADER_LOOK_EVERY_MS 10000

/* On a terminal the line about the wait is redrawn this often. */
#define HF_WAIT_REDRAW_EVERY_MS 1000

/* The lease is published this many times while it lasts, but at intervals of
 * at least the second value. */
#define HF_LEASE_CHECKS 8
#define HF_LEASE_CHECK_MIN_MS 20

/* When to try again to watch the grant after a descriptor or a thread was
 * missing. */
#define HF_WATCH_RETRY_MS 1000

/* ----------------------------------------------------------- callbacks -- */

/* The library logs.  Runs in hf_client_dispatch(). */
static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    hf_supervisor_offer_line(arg, level, line);
}

/* Does anybody want to know how the wait goes: the user, or for a candidate the
 * service manager? */
static bool reports_wait(const struct hf_run_options *options)
{
    return options->verbosity != HF_QUIET ||
           (options->elect && hf_notify_socket_is_set());
}

/* The number of the lock called ${name} on the command line. */
static size_t number_of(const struct hf_supervisor *supervisor,
                        const char *name)
{
    size_t i = 0;

    while (i + 1 < supervisor->lock_count &&
           strcmp(hf_lock_name(supervisor->locks[i]), name) != 0)
        i++;
    return i;
}

/* The library reports the state of the wait.  Runs in hf_client_dispatch(). */
static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct hf_ipc_message message = {.kind = HF_IPC_WAITING};
    struct hf_supervisor *supervisor = arg;

    supervisor->queued = true;
    if (hf_nested_waits_for_itself(supervisor->run->options, wait))
        supervisor->held_outside =
            hf_lock_name(supervisor->locks[number_of(supervisor, wait->name)]);
    if (!reports_wait(supervisor->run->options))
        return;
    message.as.wait.ahead = wait->ahead;
    message.as.wait.waited_ms = wait->waited_ms;
    message.as.wait.number = number_of(supervisor, wait->name);
    snprintf(message.as.wait.holder, sizeof message.as.wait.holder, "%s",
             wait->holder);
    (void)hf_ipc_send_droppable(supervisor->run->supervisor_end, &message);
}

/* WAITING: the acquire has ended, with a grant or without.  Runs in
 * hf_client_dispatch(). */
static void on_acquired(void *arg, const struct hf_result *result)
{
    struct hf_supervisor *supervisor = arg;

    supervisor->granted_at_ms = hf_clock_now_ms();
    supervisor->grant = result->grant;
    supervisor->failure.status = result->status;
    snprintf(supervisor->failure.text, sizeof supervisor->failure.text, "%s",
             result->text);
    hf_supervisor_move(supervisor, result->grant != NULL ? HF_SUPERVISOR_GRANTED
                                                         : HF_SUPERVISOR_DONE);
}

/* Another program asks for the lock.  Runs in hf_client_dispatch(), also right
 * after a grant that was asked for during the wait. */
static void on_revoke(void *arg, struct hf_grant *grant)
{
    struct hf_supervisor *supervisor = arg;

    supervisor->asked = hf_grant_asked_name(grant);
}

/* ---------------------------------------------------------------- open -- */

/* How often the launcher wants to know how the wait goes. */
static uint64_t on_wait_every_ms(const struct hf_run_options *options)
{
    if (options->elect)
        return HF_LEADER_LOOK_EVERY_MS;
    return hf_run_shows_wait(options) ? HF_WAIT_REDRAW_EVERY_MS
                                      : HF_WAIT_LINE_EVERY_MS;
}

/* False with .failure set. */
static bool open_client(struct hf_supervisor *supervisor)
{
    static const enum hf_log_level levels[] = {
        [HF_QUIET] = HF_LOG_ERROR,
        [HF_NORMAL] = HF_LOG_WARNING,
        [HF_VERBOSE] = HF_LOG_INFO,
    };
    const struct hf_run_options *options = supervisor->run->options;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.connect_ms = HF_CONNECT_MAX_MS;
    /* The first connection may not take longer than the whole wait.  A try (0)
     * waits for no other ticket, but it too needs time to connect. */
    if (options->wait_ms > 0 && options->wait_ms < HF_CONNECT_MAX_MS)
        opts.connect_ms = options->wait_ms;
    /* Not with HOLDFAST_LOG, because a function would replace that log. */
    if (!hf_log_is_chosen())
        opts.on_log.fn = on_log;
    opts.on_log.arg = supervisor;
    opts.on_log.level = levels[options->verbosity];
    opts.metrics = HF_METRICS_DIR;
    if (hf_client_open(options->url, &opts, &supervisor->client) == HF_OK)
        return true;
    supervisor->failure = *hf_last_error();
    return false;
}

bool hf_supervisor_acquire(struct hf_supervisor *supervisor)
{
    const struct hf_run_options *options = supervisor->run->options;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_acquired, supervisor, NULL};

    opts.wait_ms = options->wait_ms;
    opts.text = options->text[0] != '\0' ? options->text : NULL;
    opts.owner = hf_owner_self(); /* so that the ticket's "holds=" has the locks
                                     that are inherited */
    opts.detect_deadlock = options->detect_deadlock;
    opts.on_wait.fn = on_wait;
    opts.on_wait.arg = supervisor;
    /* Only if it is needed, because it takes a thread. */
    if (options->on_revoke != HF_ON_REVOKE_IGNORE) {
        opts.on_revoke.fn = on_revoke;
        opts.on_revoke.arg = supervisor;
    }
    if (reports_wait(options))
        opts.on_wait_every_ms = on_wait_every_ms(options);
    if (hf_locks_acquire_start(supervisor->locks, supervisor->lock_count, &opts,
                               done, &supervisor->op) == HF_OK)
        return true;
    supervisor->failure = *hf_last_error();
    return false;
}

/* With -v: print where the locks are. */
static void print_engine(struct hf_supervisor *supervisor)
{
    char engine[HF_ERROR_TEXT_BYTES - 16];

    if (supervisor->run->options->verbosity < HF_VERBOSE)
        return;
    hf_client_describe(supervisor->client, engine, sizeof engine);
    hf_supervisor_print(supervisor, HF_VERBOSE, "engine %s", engine);
}

bool hf_supervisor_open(struct hf_supervisor *supervisor)
{
    const struct hf_run_options *options = supervisor->run->options;
    struct hf_lock_opts lock_opts = HF_LOCK_OPTS_INIT;

    if (!open_client(supervisor))
        return false;
    print_engine(supervisor);
    lock_opts.kind = options->kind;
    lock_opts.permits = options->permits;
    lock_opts.limit = options->limit;
    for (int i = 0; i < options->name_count; i++) {
        if (hf_lock_open(supervisor->client, options->names[i], &lock_opts,
                         &supervisor->locks[i]) != HF_OK) {
            supervisor->failure = *hf_last_error();
            return false;
        }
        supervisor->lock_count++;
    }
    if (hf_nested_refuse(options, supervisor->client, supervisor->locks,
                         supervisor->lock_count, &supervisor->failure))
        return false;
    supervisor->nested =
        (struct hf_nested){.options = options,
                           .client = supervisor->client,
                           .waited_for = supervisor->run->launcher,
                           .ends_by_itself = options->wait_ms != HF_FOREVER ||
                                             supervisor->run->has_timer};
    hf_nested_inherit(&supervisor->nested);
    return hf_supervisor_acquire(supervisor);
}

/* --------------------------------------------------------------- grant -- */

uint64_t hf_supervisor_publish_lease(struct hf_supervisor *supervisor,
                                     uint64_t now_ms)
{
    struct hf_shared_page *page = supervisor->run->page;
    int64_t slew_ms = hf_shared_page_slew_ms();
    uint64_t safe_until_ms = hf_grant_safe_until_ms(supervisor->grant);
    uint64_t check_ms, proof_at_ms;

    /* A 0 means that the grant is lost.  It is not written: the page keeps the
     * last instant until which the lock was held for certain. */
    if (safe_until_ms == HF_FOREVER || safe_until_ms == 0)
        return HF_FOREVER;
    /* Ask for the next proof in time, because a renewal that is late ends the
     * command. */
    proof_at_ms = hf_grant_request_proof(supervisor->grant);
    hf_shared_page_set_safe_until(page, safe_until_ms, slew_ms, now_ms);
    check_ms = atomic_load(&page->lease_ms) / HF_LEASE_CHECKS;
    return hf_max_ms(now_ms + HF_LEASE_CHECK_MIN_MS,
                     hf_min_ms(now_ms + check_ms, proof_at_ms));
}

/* Send the launcher a descriptor of the ticket of ${lock}, if the engine's
 * tickets have descriptors.  False with .failure set. */
static bool share_ticket(struct hf_supervisor *supervisor, struct hf_lock *lock)
{
    struct hf_ipc_message message = {.kind = HF_IPC_TICKET};
    const char *why = "";
    hf_status status;
    int fd = -1;

    status = hf_grant_hold_fd_of(supervisor->grant, lock, &fd);
    if (status == HF_EUNSUPPORTED)
        return true;
    if (status != HF_OK) {
        why = hf_status_text(status);
    } else if (hf_ipc_send(supervisor->run->supervisor_end, &message, fd)) {
        supervisor->tickets_shared = true;
    } else {
        why = strerror(errno);
        status = HF_ELIMIT;
    }
    if (fd >= 0)
        close(fd);
    if (status != HF_OK)
        hf_error_set(&supervisor->failure, status,
                     "the ticket of '%.200s' cannot be shared between two "
                     "processes: %s; end some of what is running",
                     hf_lock_name(lock), why);
    return status == HF_OK;
}

bool hf_supervisor_share_tickets(struct hf_supervisor *supervisor)
{
    struct hf_ipc_message message = {.kind = HF_IPC_GRANTED};

    for (size_t i = 0; i < supervisor->lock_count; i++) {
        if (!share_ticket(supervisor, supervisor->locks[i]))
            return false;
        supervisor->run->page->tickets[i] =
            *hf_grant_ticket_id(supervisor->grant, supervisor->locks[i]);
    }
    hf_supervisor_publish_lease(supervisor, hf_clock_now_ms());
    atomic_store(&supervisor->run->page->phase, HF_RUN_RUNNING);
    if (hf_ipc_send(supervisor->run->supervisor_end, &message, -1))
        return true;
    hf_error_set(&supervisor->failure, HF_ELIMIT,
                 "'%.200s' was granted, but the process that should know "
                 "cannot be notified: %s; end some of what is running",
                 supervisor->run->options->label, strerror(errno));
    return false;
}

uint64_t hf_supervisor_watch_grant(struct hf_supervisor *supervisor,
                                   uint64_t now_ms)
{
    if (supervisor->loss_fd >= 0)
        return HF_FOREVER;
    if (now_ms < supervisor->watch_at_ms)
        return supervisor->watch_at_ms;
    if (hf_grant_loss_fd(supervisor->grant, &supervisor->loss_fd) == HF_OK)
        return HF_FOREVER;
    supervisor->loss_fd = -1;
    supervisor->watch_at_ms = now_ms + HF_WATCH_RETRY_MS;
    return supervisor->watch_at_ms;
}

/* RELEASING: the engine has answered the release of a grant whose loss is
 * known.  Runs in hf_client_dispatch(). */
static void on_lost_released(void *arg, const struct hf_result *result)
{
    (void)result;
    hf_supervisor_move(arg, HF_SUPERVISOR_RESIGNED);
}

/* RELEASING: the engine has answered the release of a grant that was not known
 * to be lost when the release began.  Runs in hf_client_dispatch(). */
static void on_released(void *arg, const struct hf_result *result)
{
    struct hf_supervisor *supervisor = arg;

    hf_supervisor_move(supervisor, HF_SUPERVISOR_RESIGNED);
    if (result->status == HF_ELOST)
        hf_supervisor_print(
            supervisor, HF_QUIET,
            "'%.200s' may have been lost before it was released: the engine "
            "did not confirm the release",
            supervisor->run->options->label);
}

/* Forget everything about this grant. */
void hf_supervisor_begin_release(struct hf_supervisor *supervisor)
{
    struct hf_done done = {supervisor->lost ? on_lost_released : on_released,
                           supervisor, NULL};
    struct hf_grant *grant = supervisor->grant;

    assert(supervisor->state == HF_SUPERVISOR_RELEASING && grant != NULL);
    hf_shared_page_clear(supervisor->run->page);
    hf_op_free(supervisor->op);
    supervisor->op = NULL;
    supervisor->grant = NULL;
    supervisor->loss_fd = -1;
    supervisor->asked = NULL;
    supervisor->leading = false;
    supervisor->prepared = false;
    supervisor->lost = false;
    supervisor->not_renewed = false;
    /* If there is no thread for the answer, wait for it here. */
    if (hf_grant_release_start(grant, done) != HF_OK) {
        (void)hf_grant_release(grant);
        hf_supervisor_move(supervisor, HF_SUPERVISOR_RESIGNED);
    }
}

bool hf_supervisor_close(struct hf_supervisor *supervisor)
{
    bool released = true;

    if (supervisor->grant)
        released = hf_grant_release(supervisor->grant) != HF_ELOST;
    hf_op_free(supervisor->op);
    for (size_t i = 0; i < supervisor->lock_count; i++)
        hf_lock_free(supervisor->locks[i]);
    hf_client_close(supervisor->client);
    return released;
}
