/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant: its references, whether the core has work to do on it, its tokens
 * and ticket ids.
 *
 * What the other files do with a grant is listed in grant.h, by file.
 */
#include "host/grant.h"

#include <assert.h>

void hf_grant_reference(struct hf_grant *grant)
{
    grant->references++;
}

/* With the last reference the grant is destroyed, but only after the lock was
 * released. */
void hf_grant_dereference(struct hf_grant *grant)
{
    assert(grant->references > 0);
    if (--grant->references > 0)
        return;
    hf_monitor_defer_free(&grant->client->monitor, &grant->deferred);
}

void hf_grant_queue_callback(struct hf_grant *grant,
                             struct hf_callback *callback)
{
    if (callback->queued)
        return;
    hf_grant_reference(grant);
    hf_monitor_queue(&grant->client->monitor, callback);
}

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

uint64_t hf_grant_token(const struct hf_grant *grant)
{
    return grant->acquisition.token;
}

uint64_t hf_grant_token_of(const struct hf_grant *grant,
                           const struct hf_lock *lock)
{
    const struct hf_acquisition *a = hf_grant_items_find(grant, lock);

    return a != NULL ? a->token : 0;
}

const struct hf_ticket_id *hf_grant_ticket_id(const struct hf_grant *grant,
                                              const struct hf_lock *lock)
{
    const struct hf_acquisition *a = hf_grant_items_find(grant, lock);

    assert(a != NULL && grant->granted);
    return &a->ticket_id;
}
