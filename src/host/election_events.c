/* SPDX-License-Identifier: Apache-2.0 */
#include "host/election_events.h"

#include <assert.h>

static bool is_over(const struct hf_election *e)
{
    return e->notified_token != 0 &&
           e->notified_token != atomic_load(&e->token);
}

static bool is_won(const struct hf_election *e)
{
    return e->notified_token == 0 && atomic_load(&e->token) != 0;
}

static bool is_asked(const struct hf_election *e)
{
    return e->asked && e->notified_token != 0;
}

void hf_election_notify(struct hf_election *e)
{
    if (e->event_callback.queued ||
        (!is_over(e) && !e->ended && !is_won(e) && !is_asked(e)))
        return;
    hf_election_reference(e);
    hf_monitor_queue(&e->client->monitor, &e->event_callback);
}

void hf_election_discard_events(struct hf_election *e)
{
    e->notified_token = 0;
    e->asked = false;
    e->ended = false;
    if (!e->event_callback.queued)
        return;
    hf_delivery_remove(&e->client->monitor.delivery, &e->event_callback);
    hf_election_dereference(e);
}

void hf_election_answer(struct hf_election *e)
{
    if (!e->resigning || !e->out || e->notifying)
        return;
    e->resigning = false;
    if (e->waiter != NULL) {
        hf_waiter_answer(&e->client->monitor, e->waiter, e->outcome.status);
        e->waiter = NULL;
    } else if (e->done.fn != NULL || e->done.drop != NULL) {
        hf_election_reference(e);
        hf_monitor_queue(&e->client->monitor, &e->done_callback);
    }
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

void hf_election_drop_callbacks(struct hf_election *e)
{
    static const struct hf_election_opts silent = HF_ELECTION_OPTS_INIT;
    struct hf_election_opts opts = e->opts;

    assert(e->freed && !e->notifying);
    e->opts = silent;
    hf_monitor_unlock(&e->client->monitor);
    hf_delivery_begin();
    hf_election_drop_opts(&opts);
    hf_delivery_end();
    hf_monitor_lock(&e->client->monitor);
}

/* -------------------------------------------------------------- calling -- */

/* With the lock, which it gives up. */
static void call(struct hf_election *e, const struct hf_on_election *on,
                 uint64_t token)
{
    hf_monitor_unlock(&e->client->monitor);
    if (on->fn != NULL)
        on->fn(on->arg, e, token);
    hf_monitor_lock(&e->client->monitor);
}

static void call_ended(struct hf_election *e)
{
    const struct hf_on_ended *on = &e->opts.on_ended;
    struct hf_error why = e->end;

    e->ended = false;
    hf_monitor_unlock(&e->client->monitor);
    if (on->fn != NULL)
        on->fn(on->arg, e, &why);
    hf_monitor_lock(&e->client->monitor);
}

static void call_over(struct hf_election *e)
{
    uint64_t token = e->notified_token;

    e->notified_token = 0;
    call(e, &e->opts.on_deposed, token);
}

static void call_won(struct hf_election *e)
{
    e->notified_token = atomic_load(&e->token);
    call(e, &e->opts.on_elected, e->notified_token);
}

static void call_asked(struct hf_election *e)
{
    e->asked = false;
    call(e, &e->opts.on_revoke, e->notified_token);
}

static void run(void *arg)
{
    struct hf_election *e = arg;
    struct hf_client *client = e->client;

    e->notifying = true;
    if (is_over(e))
        call_over(e);
    else if (e->ended)
        call_ended(e);
    else if (is_won(e))
        call_won(e);
    else if (is_asked(e))
        call_asked(e);
    if (hf_fork_parted(&client->monitor.fork))
        return;
    e->notifying = false;
    if (e->free_waiter != NULL)
        hf_waiter_answer(&client->monitor, e->free_waiter, HF_OK);
    else if (e->freed)
        hf_election_drop_callbacks(e);
    hf_election_notify(e);
    hf_election_answer(e);
    hf_election_dereference(e);
}

void hf_election_init_events(struct hf_election *e)
{
    e->event_callback = (struct hf_callback){.run = run, .arg = e};
}
