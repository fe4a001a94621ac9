/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant from its making to its end: the memory for everything that it will
 * need, until when it waits, the operation of the user that it is, and whether
 * the core has work to do on it.
 */
#include "client/grant.h"

#include <assert.h>
#include <string.h>

#include <holdfast/grant.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/owner_text.h"
#include "core/deadlock_detection.h"
#include "core/multi_lock.h"

/* Each grant counts once, however often this is called. */
void hf_grant_set_pending(struct hf_grant *grant, bool pending)
{
    if (grant->pending == pending)
        return;
    grant->pending = pending;
    if (pending)
        grant->client->pending++;
    else
        grant->client->pending--;
}

/* The core answers with an end or, if it was granted already, with nothing. */
void hf_grant_cancel(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_CANCEL};

    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}

const char *hf_grant_keep_text(struct hf_grant *grant, const char *text)
{
    struct hf_grant_text *kept = grant->texts;
    size_t bytes = strlen(text) + 1;

    while (kept != NULL && strcmp(kept->text, text) != 0)
        kept = kept->next;
    if (kept != NULL)
        return kept->text;
    if ((kept = hf_alloc(sizeof(*kept) + bytes)) == NULL)
        return NULL;
    memcpy(kept->text, text, bytes);
    kept->next = grant->texts;
    grant->texts = kept;
    return kept->text;
}

/* --------------------------------------------------- making and freeing -- */

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

/* Free what the core keeps for the acquisitions of ${grant}. */
static void free_texts(struct hf_grant *grant)
{
    const struct hf_multi_lock *multi_lock =
        hf_acquisition_multi_lock(&grant->acquisition);
    struct hf_client *client = grant->client;

    hf_acquisition_free(&client->core, &grant->acquisition);
    for (size_t i = 0; multi_lock != NULL && i < multi_lock->count; i++)
        hf_acquisition_free(&client->core, &multi_lock->children[i]);
}

/* Free the grant: without the lock, after its last reference is gone.  In a
 * child of a fork only the callbacks are dropped, because the rest belongs to
 * the parent. */
static void free_grant(struct hf_deferred_free *object)
{
    struct hf_grant *grant = container_of(object, struct hf_grant, deferred);
    struct hf_client *client = grant->client;
    struct hf_grant_text *text;

    hf_grant_drop_callbacks(grant);
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
    assert(grant->downgrade == NULL);
    hf_free(grant->payload_larger);
    hf_free(grant);
    hf_monitor_release(&client->monitor);
}

/* -------------------------------------------------------- its operation -- */

/* The .cancel of a grant's operation. */
static void cancel_op(struct hf_user_op *user_op)
{
    hf_grant_cancel(container_of(user_op, struct hf_grant, user_op));
}

/* The .take of a grant's operation: the grant, with a reference for the user;
 * or why it was not acquired, or not released. */
static void take_end(struct hf_user_op *user_op, struct hf_result *result,
                     struct hf_error *why)
{
    struct hf_grant *grant = container_of(user_op, struct hf_grant, user_op);

    if (grant->state == HF_GRANT_HELD) {
        assert(result->status == HF_OK);
        result->grant = grant;
        user_op->references++;
    } else if (result->status == HF_OK) {
        assert(grant->state == HF_GRANT_RELEASED);
    } else if (grant->state == HF_GRANT_RELEASED) {
        hf_grant_explain_release(grant, result->status, why);
    } else {
        hf_error_set(why, result->status, "%s",
                     hf_acquisition_text(&grant->acquisition));
    }
}

/* The .destroy of a grant's operation. */
static void destroy_grant(struct hf_user_op *user_op)
{
    struct hf_grant *grant = container_of(user_op, struct hf_grant, user_op);

    hf_monitor_defer_free(&grant->client->monitor, &grant->deferred);
}

static const struct hf_user_op_ops op_ops = {
    .cancel = cancel_op,
    .take = take_end,
    .destroy = destroy_grant,
};

/* --------------------------------------------------------------- making -- */

/* All that the acquire and the release need is allocated here, except a larger
 * payload, and what a search for a deadlock reads. */
struct hf_grant *hf_grant_new(struct hf_lock *const *locks, size_t count,
                              const struct hf_acquire_opts *opts,
                              const char *fixed_payload)
{
    size_t tickets = hf_grant_items_tickets(locks, count);
    char payload[HF_PAYLOAD_BYTES];
    struct hf_grant *grant;

    if (fixed_payload != NULL)
        hf_payload_copy(payload, fixed_payload);
    else
        hf_owner_text_write(payload, hf_boottime_ms(), opts->text);
    grant = allocate(tickets, count, hf_grant_callbacks_wanted(opts), payload);
    if (grant == NULL)
        return NULL;
    if (opts->detect_deadlock && opts->wait_ms > 0 &&
        (grant->acquisition.detection =
             hf_alloc(sizeof(*grant->acquisition.detection))) == NULL) {
        hf_free(grant);
        return NULL;
    }
    grant->client = locks[0]->client;
    grant->lock = locks[0];
    hf_user_op_init(&grant->user_op, &op_ops, &grant->client->monitor, 1);
    grant->loss_fd = -1;
    hf_grant_metrics_begun(grant);
    grant->deferred.destroy = free_grant;
    if (grant->callbacks != NULL)
        hf_grant_set_callbacks(grant, opts);
    for (size_t i = 0; i < count; i++)
        hf_lock_reference(locks[i]);
    hf_monitor_reference(&grant->client->monitor);
    set_wait_limits(grant, opts);
    hf_grant_items_set(grant, locks);
    return grant;
}

void hf_grant_start(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_ACQUIRE};

    assert(grant->state == HF_GRANT_REQUESTED && !grant->pending);
    grant->user_op.references++; /* the core's, until it is done with it */
    hf_grant_set_pending(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}
