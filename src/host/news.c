/* SPDX-License-Identifier: Apache-2.0 */
/* What an election has to tell its user, one thing at a time. */
#include "host/election.h"

static bool is_over(const struct hf_election *e)
{
    return e->told_token != 0 && e->told_token != atomic_load(&e->token);
}

static bool is_won(const struct hf_election *e)
{
    return e->told_token == 0 && atomic_load(&e->token) != 0;
}

static bool is_asked(const struct hf_election *e)
{
    return e->asked && e->told_token != 0;
}

void hf_election_tell(struct hf_election *e)
{
    if (e->news_callback.queued ||
        (!is_over(e) && !e->ended && !is_won(e) && !is_asked(e)))
        return;
    hf_election_reference(e);
    hf_monitor_queue(&e->client->monitor, &e->news_callback);
}

void hf_election_hush(struct hf_election *e)
{
    e->told_token = 0;
    e->asked = false;
    e->ended = false;
    if (!e->news_callback.queued)
        return;
    hf_delivery_remove(&e->client->monitor.delivery, &e->news_callback);
    hf_election_dereference(e);
}

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
    uint64_t token = e->told_token;

    e->told_token = 0;
    call(e, &e->opts.on_deposed, token);
}

static void call_won(struct hf_election *e)
{
    e->told_token = atomic_load(&e->token);
    call(e, &e->opts.on_elected, e->told_token);
}

static void call_asked(struct hf_election *e)
{
    e->asked = false;
    call(e, &e->opts.on_revoke, e->told_token);
}

void hf_election_run_news(void *arg)
{
    struct hf_election *e = arg;
    struct hf_client *client = e->client;

    e->telling = true;
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
    e->telling = false;
    if (e->free_waiter != NULL)
        hf_waiter_answer(&client->monitor, e->free_waiter, HF_OK);
    else if (e->freed)
        hf_election_drop_callbacks(e);
    hf_election_tell(e);
    hf_election_answer(e);
    hf_election_dereference(e);
}
