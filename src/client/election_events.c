/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The references of an election, its events, and the one callback that reports
 * them.
 */
#include "client/election.h"

#include <assert.h>

#include "base/error.h"

void hf_election_reference(struct hf_election *e)
{
    e->references++;
}

void hf_election_dereference(struct hf_election *e)
{
    assert(e->references > 0);
    if (--e->references == 0)
        hf_monitor_defer_free(&e->client->monitor, &e->deferred);
}

/* ---------------------------------------------------------- what is due -- */

/* Was the user notified of a leadership that is over? */
static bool is_deposed_due(const struct hf_election *e)
{
    return e->notified_token != 0 &&
           e->notified_token != atomic_load(&e->token);
}

/* Is there a leadership of which the user was not notified? */
static bool is_elected_due(const struct hf_election *e)
{
    return e->notified_token == 0 &&
           (e->missed_token != 0 || atomic_load(&e->token) != 0);
}

/* Does somebody ask for the release of a leadership of which the user was
 * notified? */
static bool is_revoke_due(const struct hf_election *e)
{
    return e->revoke_pending && e->notified_token != 0;
}

/* While the callback is queued it will see every change, so it is not queued
 * twice.  It keeps the election alive. */
void hf_election_notify(struct hf_election *e)
{
    if (e->event_callback.queued ||
        (!is_deposed_due(e) && e->end_report == HF_END_REPORT_NONE &&
         !is_elected_due(e) && !is_revoke_due(e)))
        return;
    hf_election_reference(e);
    hf_monitor_queue(&e->client->monitor, &e->event_callback);
}

/* .notified_token is set to 0 as well: on_deposed must not follow a resignation
 * that the user asked for. */
void hf_election_discard_events(struct hf_election *e)
{
    e->notified_token = 0;
    e->missed_token = 0;
    e->revoke_pending = false;
    e->end_report = HF_END_REPORT_NONE;
    if (!e->event_callback.queued)
        return;
    hf_callback_queue_remove(&e->client->monitor.callback_queue,
                             &e->event_callback);
    hf_election_dereference(e);
}

/* While a callback runs this does nothing: run_event() calls it again when the
 * callback has returned. */
void hf_election_answer_resign(struct hf_election *e)
{
    if (e->resignation != HF_RESIGNATION_LEFT ||
        hf_user_callback_is_running(&e->user))
        return;
    e->resignation = e->resign_op.completion.waiter != NULL
                         ? HF_RESIGNATION_ANSWERED
                         : HF_RESIGNATION_NONE;
    hf_user_op_end(&e->resign_op, e->outcome.status);
}

/* ------------------------------------------------------------- dropping -- */

void hf_election_drop_opts(const struct hf_election_opts *opts)
{
    if (opts->on_elected.drop != NULL)
        opts->on_elected.drop(opts->on_elected.arg);
    if (opts->on_deposed.drop != NULL)
        opts->on_deposed.drop(opts->on_deposed.arg);
    if (opts->on_revoke.drop != NULL)
        opts->on_revoke.drop(opts->on_revoke.arg);
    if (opts->on_ended.drop != NULL)
        opts->on_ended.drop(opts->on_ended.arg);
}

/* The .drop of all callbacks together. */
static void drop_all(void *arg)
{
    struct hf_election *e = arg;

    hf_election_drop_opts(&e->opts);
}

/* -------------------------------------------------------------- calling -- */

/* Call the callback ${on} of the user, without the lock.  ${why} is the failure
 * that it reports, or NULL. */
static void call_user(struct hf_election *e, const struct hf_on_election *on,
                      uint64_t token, const struct hf_error *why)
{
    if (!hf_user_callback_enter(&e->user, &e->client->monitor))
        return;
    if (on->fn != NULL) {
        if (why != NULL)
            hf_last_error_report(why->status, why->text);
        on->fn(on->arg, e, token);
    }
    (void)hf_user_callback_leave(&e->user, &e->client->monitor);
}

/* Report why the candidacy ended, without the lock. */
static void call_ended(struct hf_election *e)
{
    const struct hf_on_ended *on = &e->opts.on_ended;
    struct hf_error why = e->idle_reason;

    e->end_report = HF_END_REPORT_NONE;
    if (!hf_user_callback_enter(&e->user, &e->client->monitor))
        return;
    if (on->fn != NULL) {
        hf_last_error_report(why.status, why.text);
        on->fn(on->arg, e, &why);
    }
    (void)hf_user_callback_leave(&e->user, &e->client->monitor);
}

static void call_deposed(struct hf_election *e)
{
    uint64_t token = e->notified_token;
    struct hf_error why = e->loss;

    e->notified_token = 0;
    call_user(e, &e->opts.on_deposed, token, &why);
}

static void call_elected(struct hf_election *e)
{
    e->notified_token =
        e->missed_token != 0 ? e->missed_token : atomic_load(&e->token);
    e->missed_token = 0;
    call_user(e, &e->opts.on_elected, e->notified_token, NULL);
}

static void call_revoke(struct hf_election *e)
{
    e->revoke_pending = false;
    call_user(e, &e->opts.on_revoke, e->notified_token, NULL);
}

/* The .run of the callback: report one event, and queue the callback again if
 * there is another.  A candidacy that has ended and a leadership that was
 * missed are reported in the order in which they were. */
static void run_event(void *arg)
{
    struct hf_election *e = arg;
    struct hf_client *client = e->client;

    if (is_deposed_due(e))
        call_deposed(e);
    else if (e->end_report == HF_END_REPORT_DUE_FIRST ||
             (e->end_report == HF_END_REPORT_DUE && e->missed_token == 0))
        call_ended(e);
    else if (is_elected_due(e))
        call_elected(e);
    else if (is_revoke_due(e))
        call_revoke(e);
    if (hf_fork_is_child(&client->monitor.fork))
        return;
    hf_election_notify(e);
    hf_election_answer_resign(e);
    hf_election_dereference(e);
}

void hf_election_init_events(struct hf_election *e)
{
    e->event_callback = (struct hf_callback){.run = run_event, .arg = e};
    e->user.drop = (struct hf_user_drop){drop_all, e};
}
