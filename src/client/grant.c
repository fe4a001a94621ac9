/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant: its references, whether the core has work to do on it, its tokens,
 * ticket ids and the paths of its tickets.
 *
 * What the other files do with a grant is listed in grant.h, by file.
 */
#include "client/grant.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/grant_check.h"

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

/* The engine does not know the ticket of a grant that is about to be reported
 * as lost, or whose last downgrade got no answer. */
static const char *ask_ticket_path(struct hf_grant *grant,
                                   const struct hf_lock *lock)
{
    struct hf_client *client = grant->client;

    return grant->downgrade != NULL
               ? NULL
               : client->ops->ticket_path(client->engine,
                                          hf_grant_ticket_id(grant, lock));
}

const char *hf_grant_ticket_path(struct hf_grant *grant,
                                 const struct hf_lock *lock,
                                 struct hf_error *error)
{
    struct hf_client *client = grant->client;
    const char *path = NULL;

    hf_monitor_run_ready(&client->monitor);
    if (client->ops->ticket_path == NULL)
        (void)hf_error_set(error, HF_EUNSUPPORTED,
                           "the grant is one of %.200s, and its ticket is no "
                           "node of ZooKeeper; expected a client with a URL "
                           "zk:// or zks://",
                           client->description);
    else if (!hf_grant_is_valid(grant))
        (void)hf_grant_explain_loss(grant, error);
    else if ((path = ask_ticket_path(grant, lock)) == NULL)
        (void)hf_error_set(error, HF_ESTATE,
                           "the ticket is being downgraded, or its loss is "
                           "about to be reported; wait for the end of that");
    return path;
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
