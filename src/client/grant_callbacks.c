/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user of a grant is notified of besides the end of its operation:
 * that it waits, that it was lost, that its release is asked for.
 *
 * Each .run is called with the lock and releases it around the function of the
 * user.  A callback is queued at most once.  It reports what is true when it
 * runs, and holds a reference to the grant until then.
 */
#include "base/error.h"
#include "client/grant.h"

/* Report the place in the queue as it is now, which may have changed since this
 * was queued. */
static void run_wait(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    struct hf_grant_callbacks *callbacks = grant->callbacks;
    bool waits = grant->state == HF_GRANT_REQUESTED;
    char holder[HF_PAYLOAD_BYTES];
    struct hf_wait wait = {
        .ahead = waits ? grant->acquisition.ahead : 0,
        .waited_ms = hf_now_ms() - grant->acquisition.started_at_ms,
        .holder = holder,
        .displaced = grant->acquisition.displaced,
        .name = hf_grant_awaited_lock(grant)->name,
    };

    hf_payload_copy(holder,
                    waits ? hf_shared_text_get(grant->acquisition.holder) : "");
    callbacks->displaced = wait.displaced;
    hf_monitor_unlock(&client->monitor);
    callbacks->on_wait.fn(callbacks->on_wait.arg, &wait);
    hf_monitor_lock(&client->monitor);
    hf_user_op_dereference(&grant->user_op);
}

/* Report the loss. */
static void run_loss(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    const struct hf_on_loss *on_loss = &grant->callbacks->on_loss;
    struct hf_error why;

    hf_grant_explain_loss(grant, &why);
    hf_monitor_unlock(&client->monitor);
    hf_last_error_report(why.status, why.text);
    on_loss->fn(on_loss->arg, grant);
    hf_monitor_lock(&client->monitor);
    hf_user_op_dereference(&grant->user_op);
}

/* Report that somebody asks for the release. */
static void run_revoke(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    const struct hf_on_revoke *on_revoke = &grant->callbacks->on_revoke;

    hf_monitor_unlock(&client->monitor);
    on_revoke->fn(on_revoke->arg, grant);
    hf_monitor_lock(&client->monitor);
    hf_user_op_dereference(&grant->user_op);
}

/* ------------------------------------------------------------- queueing -- */

/* Queue ${callback} of ${grant}, unless it is queued, and keep the grant alive
 * until it has run. */
static void queue_callback(struct hf_grant *grant, struct hf_callback *callback)
{
    if (callback->queued)
        return;
    grant->user_op.references++;
    hf_monitor_queue(&grant->client->monitor, callback);
}

/* Take ${callback} out of the queue, with the reference that it has. */
static void unqueue_callback(struct hf_grant *grant,
                             struct hf_callback *callback)
{
    if (!callback->queued)
        return;
    hf_callback_queue_remove(&grant->client->monitor.callback_queue, callback);
    hf_user_op_dereference(&grant->user_op);
}

void hf_grant_queue_wait(struct hf_grant *grant)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks != NULL && callbacks->on_wait.fn != NULL)
        queue_callback(grant, &callbacks->wait);
}

void hf_grant_unqueue_wait(struct hf_grant *grant)
{
    if (grant->callbacks != NULL)
        unqueue_callback(grant, &grant->callbacks->wait);
}

/* The effects of a step come in order, so the loss is queued before anything
 * that follows from it. */
void hf_grant_queue_loss(struct hf_grant *grant)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks != NULL && callbacks->on_loss.fn != NULL)
        queue_callback(grant, &callbacks->loss);
}

/* A release was called: the user knows that the grant ends. */
void hf_grant_unqueue_loss(struct hf_grant *grant)
{
    if (grant->callbacks != NULL)
        unqueue_callback(grant, &grant->callbacks->loss);
}

void hf_grant_queue_revoke(struct hf_grant *grant)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks != NULL && callbacks->on_revoke.fn != NULL)
        queue_callback(grant, &callbacks->revoke);
}

void hf_grant_unqueue_revoke(struct hf_grant *grant)
{
    if (grant->callbacks != NULL)
        unqueue_callback(grant, &grant->callbacks->revoke);
}

bool hf_grant_has_unreported_wait(const struct hf_grant *grant)
{
    const struct hf_grant_callbacks *callbacks = grant->callbacks;

    return callbacks != NULL && callbacks->on_wait.fn != NULL &&
           grant->acquisition.displaced != callbacks->displaced;
}

/* ------------------------------------------------------------- lifetime -- */

bool hf_grant_callbacks_wanted(const struct hf_acquire_opts *opts)
{
    return opts->on_wait.fn != NULL || opts->on_wait.drop != NULL ||
           opts->on_loss.fn != NULL || opts->on_loss.drop != NULL ||
           opts->on_revoke.fn != NULL || opts->on_revoke.drop != NULL;
}

void hf_grant_set_callbacks(struct hf_grant *grant,
                            const struct hf_acquire_opts *opts)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    callbacks->on_wait = opts->on_wait;
    callbacks->on_loss = opts->on_loss;
    callbacks->on_revoke = opts->on_revoke;
    callbacks->wait = (struct hf_callback){.run = run_wait, .arg = grant};
    callbacks->loss = (struct hf_callback){.run = run_loss, .arg = grant};
    callbacks->revoke = (struct hf_callback){.run = run_revoke, .arg = grant};
}

void hf_grant_clear_callbacks(struct hf_grant *grant)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks == NULL)
        return;
    callbacks->on_wait = (struct hf_on_wait){NULL, NULL, NULL};
    callbacks->on_loss = (struct hf_on_loss){NULL, NULL, NULL};
    callbacks->on_revoke = (struct hf_on_revoke){NULL, NULL, NULL};
}

/* Each .drop runs once: hf_grant_clear_callbacks() has emptied those that the
 * caller keeps. */
void hf_grant_drop_callbacks(struct hf_grant *grant)
{
    const struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks == NULL)
        return;
    if (callbacks->on_wait.drop != NULL)
        callbacks->on_wait.drop(callbacks->on_wait.arg);
    if (callbacks->on_loss.drop != NULL)
        callbacks->on_loss.drop(callbacks->on_loss.arg);
    if (callbacks->on_revoke.drop != NULL)
        callbacks->on_revoke.drop(callbacks->on_revoke.arg);
}
