/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a grant says of its loss and of calls on it that failed.
 */
#include "base/error.h"
#include "client/grant.h"

const struct hf_lock *hf_grant_find_lost(const struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        const struct hf_grant_item *item = &grant->items[i];

        if (item->acquisition->state == HF_ACQUISITION_LOST)
            return item->lock;
    }
    return grant->lock;
}

/* A grant that the core has not reported as lost may be past safe-until. */
hf_status hf_grant_explain_loss(const struct hf_grant *grant,
                                struct hf_error *error)
{
    return hf_error_set(error, HF_ELOST, "the grant of \"%.120s\" was lost: %s",
                        (grant->lost ? grant->lost_lock : grant->lock)->name,
                        grant->lost ? hf_acquisition_text(&grant->acquisition)
                                    : "its lease has run out");
}

void hf_grant_explain_release(const struct hf_grant *grant, hf_status status,
                              struct hf_error *error)
{
    const char *text = hf_acquisition_text(&grant->acquisition);

    if (grant->lost)
        hf_grant_explain_loss(grant, error);
    else
        hf_error_set(error, status, "%s",
                     text[0] != '\0' ? text : hf_status_text(status));
}

/* Fills the last error of the grant and of its lock. */
hf_status hf_grant_fail(struct hf_grant *grant, const char *call,
                        const struct hf_error *error)
{
    struct hf_client *client = grant->client;

    if (hf_monitor_enter(&client->monitor) != HF_OK)
        return error->status;
    hf_last_error_set(&client->error_texts, &grant->last_error, call, error);
    hf_last_error_set(&client->error_texts, &grant->lock->last_error, call,
                      error);
    hf_monitor_leave(&client->monitor);
    return error->status;
}

void hf_grant_error(const struct hf_grant *grant, struct hf_error *error)
{
    if (hf_fork_check(&grant->client->monitor.fork, error) != HF_OK)
        return;
    hf_monitor_lock(&grant->client->monitor);
    hf_last_error_copy(&grant->last_error, error);
    pthread_mutex_unlock(&grant->client->monitor.lock);
}
