/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a grant was lost, and why its release failed.
 */
#include "client/grant.h"

#include <assert.h>

#include "base/error.h"

/* The lock that was lost, if that is one of several. */
static const struct hf_lock *find_lost(const struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        const struct hf_grant_item *item = &grant->items[i];

        if (item->acquisition->state == HF_ACQUISITION_LOST)
            return item->lock;
    }
    return grant->lock;
}

void hf_grant_set_lost(struct hf_grant *grant)
{
    assert(grant->state != HF_GRANT_REQUESTED && grant->lost_lock == NULL);
    grant->lost_lock = find_lost(grant);
}

/* A grant that the core has not reported as lost may be past safe-until. */
hf_status hf_grant_explain_loss(const struct hf_grant *grant,
                                struct hf_error *error)
{
    bool lost = grant->lost_lock != NULL;

    return hf_error_set(error, HF_ELOST, "the grant of \"%.120s\" was lost: %s",
                        (lost ? grant->lost_lock : grant->lock)->name,
                        lost ? hf_acquisition_text(&grant->acquisition)
                             : "its lease has run out");
}

void hf_grant_explain_release(const struct hf_grant *grant, hf_status status,
                              struct hf_error *error)
{
    const char *text = hf_acquisition_text(&grant->acquisition);

    if (grant->lost_lock != NULL)
        hf_grant_explain_loss(grant, error);
    else
        hf_error_set(error, status, "%s",
                     text[0] != '\0' ? text : hf_status_text(status));
}
