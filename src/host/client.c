/* SPDX-License-Identifier: Apache-2.0 */
#include "host/client.h"

#include <assert.h>
#include <stdio.h>

#include "core/error.h"
#include "core/instant.h"
#include "core/memory.h"
#include "host/close.h"
#include "host/election.h"
#include "host/election_wait.h"
#include "host/errand.h"
#include "host/grant_check.h"

/* -------------------------------------------------------------- effects -- */

static void tell_state(struct hf_client *client, enum hf_state state)
{
    client->state = state;
    atomic_store(&client->published, (unsigned)client->state);
    hf_log_write(&client->monitor.log, HF_LOG_INFO, "the session is %s",
                 hf_state_name(client->state));
    hf_listeners_tell(client);
    if (client->state == HF_STATE_CLOSED)
        hf_monitor_closed(&client->monitor);
}

static struct hf_grant *grant_of(const struct hf_effect *effect)
{
    return (struct hf_grant *)((char *)effect->acquisition -
                               offsetof(struct hf_grant, acquisition));
}

static void carry_out(struct hf_client *client, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        if (effect->request->kind == HF_REQUEST_ENQUEUE)
            hf_grant_describe_ticket(effect->request->own);
        else if (effect->request->kind == HF_REQUEST_DESCRIBE)
            hf_grant_describe_asked(effect->request->own);
        client->ops->request(client->engine, effect->request);
        break;
    case HF_EFFECT_FORGET:
        client->ops->forget(client->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        client->ops->connect(client->engine);
        break;
    case HF_EFFECT_PROVEN:
        hf_grant_checks_answer(client, NULL);
        break;
    case HF_EFFECT_STATE:
        tell_state(client, effect->state);
        break;
    case HF_EFFECT_LOST:
    case HF_EFFECT_GRANTED:
    case HF_EFFECT_ENDED:
    case HF_EFFECT_WAITING:
    case HF_EFFECT_RELEASED:
    case HF_EFFECT_DOWNGRADED:
    case HF_EFFECT_FORGOTTEN:
    case HF_EFFECT_REVOKED:
        hf_grant_effect(grant_of(effect), effect);
        break;
    case HF_EFFECT_ANSWERED:
    case HF_EFFECT_FINISHED:
        hf_errand_effect(effect);
        break;
    }
}

/* An engine may answer from inside its request: that steps the core again and
 * leaves the new effects to the pump that is already running. */
static void pump(struct hf_client *client)
{
    struct hf_effect *effect;

    if (client->pumping)
        return;
    client->pumping = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL)
        carry_out(client, effect);
    client->pumping = false;
}

void hf_client_step(struct hf_client *client, struct hf_event *event)
{
    event->now_ms = hf_now_ms();
    client->monitor.events++;
    hf_core_step(&client->core, event);
    pump(client);
}

/* ---------------------------------------------------------- the monitor -- */

static uint64_t due_at_ms(const void *owner)
{
    const struct hf_client *client = owner;

    return hf_earlier_ms(hf_core_wake_at_ms(&client->core),
                         hf_election_waits_wake_at_ms(client));
}

static void run_due(void *owner)
{
    struct hf_client *client = owner;
    struct hf_event tick = {.kind = HF_EVENT_TICK};

    hf_client_step(client, &tick);
    hf_election_waits_expire(client);
}

/* A session that is not connected, or that a proof keeps alive, is never at
 * rest. */
static bool needs_driver(const void *owner)
{
    const struct hf_client *client = owner;
    const struct hf_session *session = &client->core.session;

    return client->unsettled > 0 || (session->state != HF_STATE_CLOSED &&
                                     (session->state != HF_STATE_CONNECTED ||
                                      session->timeout_ms != HF_FOREVER));
}

static void leave_loop(void *owner)
{
    struct hf_client *client = owner;

    if (client->engine != NULL)
        client->ops->free(client->engine);
    client->engine = NULL;
}

static void destroy(void *owner)
{
    hf_free(owner);
}

/* Nobody holds in the child: its copies of the parent's handles say so. */
static void after_fork(void *owner)
{
    struct hf_client *client = owner;

    hf_safe_until_store(&client->core.session.published, 0);
    if (client->engine != NULL)
        client->ops->after_fork(client->engine);
    hf_grant_after_fork(client);
}

const struct hf_monitor_ops hf_client_monitor_ops = {
    .due_at_ms = due_at_ms,
    .run_due = run_due,
    .needs_driver = needs_driver,
    .close = hf_close_begin,
    .ended = hf_close_ended,
    .leave_loop = leave_loop,
    .destroy = destroy,
    .after_fork = after_fork,
};

/* -------------------------------------------------------------- queries -- */

hf_status hf_client_fail(struct hf_client *client, const char *call,
                         struct hf_error *error)
{
    hf_error_prefix(error, call);
    client->error = *error;
    return error->status;
}

enum hf_state hf_client_state(const struct hf_client *client)
{
    return (enum hf_state)atomic_load(&client->published);
}

void hf_client_describe(const struct hf_client *client, char *buffer,
                        size_t bytes)
{
    if (bytes > 0)
        (void)snprintf(buffer, bytes, "%s", client->description);
}

void hf_client_error(const struct hf_client *client, struct hf_error *error)
{
    struct hf_client *locked = (struct hf_client *)client;

    if (hf_fork_check(&client->monitor.fork, error) != HF_OK)
        return;
    hf_monitor_lock(&locked->monitor);
    *error = client->error;
    pthread_mutex_unlock(&locked->monitor.lock);
}

int hf_client_fd(const struct hf_client *client)
{
    return hf_fork_parted(&client->monitor.fork) ? -1
                                                 : client->monitor.delivery.fd;
}

hf_status hf_client_dispatch(struct hf_client *client)
{
    static const char call[] = "hf_client_dispatch";
    struct hf_error error;
    hf_status status;

    if ((status = hf_monitor_enter(&client->monitor)) != HF_OK)
        return status;
    if (client->monitor.delivery.place != HF_PLACE_DISPATCH)
        status = hf_error_set(&error, HF_ESTATE,
                              "the callbacks of this client run elsewhere; "
                              "open it with HF_DELIVER_DISPATCH");
    else if (hf_delivery_inside())
        status = hf_error_set(&error, HF_EREENTRANT,
                              "it was called in a callback; those that wait "
                              "run when that has returned");
    if (status != HF_OK) {
        hf_client_fail(client, call, &error);
        hf_monitor_leave(&client->monitor);
        return status;
    }
    hf_monitor_reference(&client->monitor); /* a callback may close it */
    hf_delivery_run(&client->monitor.delivery);
    hf_monitor_leave(&client->monitor);
    hf_monitor_release(&client->monitor);
    return HF_OK;
}
