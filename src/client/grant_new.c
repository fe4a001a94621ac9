/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grant has from its beginning: its callbacks, and the memory for
 * everything that it will need; and how it is destroyed.
 *
 * The callbacks report that its operation has ended, that it waits, that it was
 * lost, or that its release is asked for.  Each .run is called with the lock
 * and releases it around the function of the user.  A callback is queued at
 * most once.  It reports what is true when it runs, and holds a reference to
 * the grant until then.
 */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/grant.h"
#include "client/owner_text.h"
#include "core/deadlock_detection.h"
#include "core/multi_lock.h"
#include "operation/done.h"

/* ----------------------------------------------------------------- runs -- */

/* Set ${why} to why it was not acquired, or not released. */
static void explain_end(struct hf_grant *grant, struct hf_error *why)
{
    if (grant->released) {
        hf_grant_explain_release(grant, grant->done_status, why);
        hf_last_error_set(&grant->client->error_texts, &grant->last_error, NULL,
                          why);
    } else {
        hf_error_set(why, grant->done_status, "%s",
                     hf_acquisition_text(&grant->acquisition));
    }
}

/* Report the end of the acquire or the release. */
static void run_done(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    struct hf_error why = {.text = ""};
    struct hf_done done = grant->done;
    struct hf_result result = {.status = grant->done_status, .text = why.text};

    if (!grant->released && grant->done_status == HF_OK)
        result.grant = grant;
    if (grant->done_status != HF_OK)
        explain_end(grant, &why);
    grant->done = (struct hf_done){NULL, NULL, NULL};
    hf_done_call(&client->monitor, &done, &result);
    /* A grant that was granted is the user's from here on.  Otherwise the
     * reference was that of the operation. */
    if (result.grant == NULL)
        hf_grant_dereference(grant);
    hf_grant_dereference(grant);
}

/* Report the place in the queue as it is now, which may have changed since this
 * was queued. */
static void run_wait(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    struct hf_grant_callbacks *callbacks = grant->callbacks;
    char holder[HF_PAYLOAD_BYTES];
    struct hf_wait wait = {
        .ahead = grant->granted ? 0 : grant->acquisition.ahead,
        .waited_ms = hf_now_ms() - grant->acquisition.started_at_ms,
        .holder = holder,
        .displaced = grant->acquisition.displaced,
        .name = hf_grant_awaited_lock(grant)->name,
    };

    hf_payload_copy(
        holder,
        grant->granted ? "" : hf_shared_text_get(grant->acquisition.holder));
    callbacks->displaced = wait.displaced;
    hf_monitor_unlock(&client->monitor);
    callbacks->on_wait.fn(callbacks->on_wait.arg, &wait);
    hf_monitor_lock(&client->monitor);
    hf_grant_dereference(grant);
}

/* Report the loss. */
static void run_loss(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    const struct hf_on_loss *on_loss = &grant->callbacks->on_loss;

    hf_monitor_unlock(&client->monitor);
    on_loss->fn(on_loss->arg, grant);
    hf_monitor_lock(&client->monitor);
    hf_grant_dereference(grant);
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
    hf_grant_dereference(grant);
}

/* ------------------------------------------------------------- queueing -- */

/* Take ${callback} out of the queue, with the reference that it has. */
static void unqueue_callback(struct hf_grant *grant,
                             struct hf_callback *callback)
{
    if (!callback->queued)
        return;
    hf_callback_queue_remove(&grant->client->monitor.callback_queue, callback);
    hf_grant_dereference(grant);
}

void hf_grant_queue_wait(struct hf_grant *grant)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks != NULL && callbacks->on_wait.fn != NULL)
        hf_grant_queue_callback(grant, &callbacks->wait);
}

void hf_grant_unqueue_wait(struct hf_grant *grant)
{
    if (grant->callbacks != NULL)
        unqueue_callback(grant, &grant->callbacks->wait);
}

/* Queued in the order of the effects, and so before anything else that follows
 * from the loss. */
void hf_grant_queue_loss(struct hf_grant *grant)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    if (callbacks != NULL && callbacks->on_loss.fn != NULL)
        hf_grant_queue_callback(grant, &callbacks->loss);
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
        hf_grant_queue_callback(grant, &callbacks->revoke);
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

static bool has_callbacks(const struct hf_acquire_opts *opts)
{
    return opts->on_wait.fn != NULL || opts->on_wait.drop != NULL ||
           opts->on_loss.fn != NULL || opts->on_loss.drop != NULL ||
           opts->on_revoke.fn != NULL || opts->on_revoke.drop != NULL;
}

/* A grant without callbacks besides ${done} has no memory for them. */
static void set_callbacks(struct hf_grant *grant, struct hf_done done,
                          const struct hf_acquire_opts *opts)
{
    struct hf_grant_callbacks *callbacks = grant->callbacks;

    grant->done = done;
    grant->done_callback = (struct hf_callback){.run = run_done, .arg = grant};
    if (callbacks == NULL)
        return;
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
static void drop_callbacks(struct hf_grant *grant)
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

/* ------------------------------------------------ making and destroying -- */

/* Set until when ${grant} waits, and how often its wait is reported. */
static void set_wait_limits(struct hf_grant *grant,
                            const struct hf_acquire_opts *opts)
{
    struct hf_acquisition *acquisition = &grant->acquisition;

    acquisition->payload = grant->payload;
    acquisition->only_try = opts->wait_ms == 0;
    acquisition->deadline_at_ms =
        acquisition->only_try ? HF_FOREVER
                              : hf_deadline_ms(hf_now_ms(), opts->wait_ms);
    acquisition->report_every_ms =
        opts->on_wait.fn != NULL ? opts->on_wait_every_ms : 0;
}

/* Allocate a grant and, behind it in the same memory, what it needs: the
 * multi-lock of several tickets with its children, the items, the callbacks,
 * and the payload with room for a limit. */
static struct hf_grant *allocate(size_t tickets, size_t count, bool calls_back,
                                 const char *payload)
{
    struct hf_acquisition *children;
    struct hf_multi_lock *multi_lock = NULL;
    size_t multi_lock_bytes =
        tickets == 1 ? 0 : tickets * sizeof(*children) + sizeof(*multi_lock);
    size_t callbacks_bytes = calls_back ? sizeof(struct hf_grant_callbacks) : 0;
    size_t bytes = strlen(payload);
    size_t size = bytes + (tickets == count ? 0 : HF_OWNER_LIMIT_BYTES) + 1;
    struct hf_grant *grant =
        hf_alloc(sizeof(*grant) + multi_lock_bytes +
                 count * sizeof(grant->items[0]) + callbacks_bytes + size);

    if (grant == NULL)
        return NULL;
    if (tickets > 1) { /* what needs the greatest alignment is first */
        children = (void *)(grant + 1);
        multi_lock = (void *)(children + tickets);
        multi_lock->children = children;
        multi_lock->count = tickets;
    }
    if (multi_lock != NULL)
        hf_acquisition_use_multi_lock(&grant->acquisition, multi_lock);
    grant->items = (void *)((char *)(grant + 1) + multi_lock_bytes);
    grant->item_count = count;
    if (calls_back)
        grant->callbacks = (void *)(grant->items + count);
    grant->payload = (char *)(grant->items + count) + callbacks_bytes;
    grant->payload_bytes = bytes;
    grant->payload_size = size;
    memcpy(grant->payload, payload, bytes);
    return grant;
}

/* Free the texts that the core and the last error keep for it. */
static void free_texts(struct hf_grant *grant)
{
    const struct hf_multi_lock *multi_lock =
        hf_acquisition_multi_lock(&grant->acquisition);
    struct hf_client *client = grant->client;

    hf_acquisition_free(&client->core, &grant->acquisition);
    for (size_t i = 0; multi_lock != NULL && i < multi_lock->count; i++)
        hf_acquisition_free(&client->core, &multi_lock->children[i]);
    hf_last_error_free(&client->error_texts, &grant->last_error);
}

/* The .destroy of a grant: without the lock, after its last reference is gone.
 * In a child of a fork only the callbacks are dropped, because the rest belongs
 * to the parent. */
static void destroy_grant(struct hf_deferred_free *object)
{
    struct hf_grant *grant =
        (struct hf_grant *)((char *)object -
                            offsetof(struct hf_grant, deferred));
    struct hf_client *client = grant->client;
    struct hf_grant_text *text;

    drop_callbacks(grant);
    if (hf_fork_is_child(&client->monitor.fork))
        return;
    hf_monitor_lock(&client->monitor);
    hf_grant_close_loss_fd(grant);
    for (size_t i = 0; i < grant->item_count; i++)
        hf_lock_dereference(grant->items[i].lock);
    free_texts(grant);
    pthread_mutex_unlock(&client->monitor.lock);
    while ((text = grant->texts) != NULL) {
        grant->texts = text->next;
        hf_free(text);
    }
    hf_free(grant->downgrade);
    hf_free(grant->payload_larger);
    hf_free(grant);
    hf_monitor_release(&client->monitor);
}

static struct hf_grant *of_op(struct hf_op *op)
{
    return (struct hf_grant *)((char *)op - offsetof(struct hf_grant, op));
}

static void cancel_op(struct hf_op *op)
{
    hf_grant_cancel(of_op(op));
}

static void dereference_op(struct hf_op *op)
{
    hf_grant_dereference(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

/* Everything is allocated here, except a downgrade, a payload that grows, and a
 * look for deadlocks. */
struct hf_grant *hf_grant_new(struct hf_lock *const *locks, size_t count,
                              const struct hf_acquire_opts *opts,
                              const char *fixed_payload, struct hf_done done)
{
    size_t tickets = hf_grant_items_tickets(locks, count);
    char payload[HF_PAYLOAD_BYTES];
    struct hf_grant *grant;

    if (fixed_payload != NULL)
        hf_payload_copy(payload, fixed_payload);
    else
        hf_owner_text_write(payload, hf_boottime_ms(), opts->text);
    if ((grant = allocate(tickets, count, has_callbacks(opts), payload)) ==
        NULL)
        return NULL;
    if (opts->detect_deadlock && opts->wait_ms > 0 &&
        (grant->acquisition.detection =
             hf_alloc(sizeof(*grant->acquisition.detection))) == NULL) {
        hf_free(grant);
        return NULL;
    }
    grant->client = locks[0]->client;
    grant->lock = locks[0];
    grant->references = 1;
    grant->op = (struct hf_op){&op_ops, &grant->client->monitor};
    grant->loss_fd = -1;
    hf_grant_metrics_begun(grant);
    grant->deferred.destroy = destroy_grant;
    set_callbacks(grant, done, opts);
    for (size_t i = 0; i < count; i++)
        hf_lock_reference(locks[i]);
    hf_monitor_reference(&grant->client->monitor);
    set_wait_limits(grant, opts);
    hf_grant_items_set(grant, locks);
    return grant;
}
