/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releasing a grant: started, and the same waited for.
 */
#include <assert.h>

#include "base/error.h"
#include "client/grant.h"
#include "client/grant_metrics.h"
#include "operation/done.h"

/* Hand the release of ${grant} to the core, and take back callbacks that are
 * out of date. */
static void step_release(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_RELEASE};

    assert(grant->granted && !grant->released);
    grant->released = true;
    hf_grant_metrics_released(grant);
    hf_owner_grants_remove(grant);
    hf_grant_unqueue_loss(grant);
    hf_grant_unqueue_revoke(grant);
    hf_grant_set_pending(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
}

void hf_grant_release_or_cancel(struct hf_grant *grant)
{
    if (grant->granted)
        step_release(grant);
    else
        hf_grant_cancel(grant);
}

/* The end may come from inside the step, and drops the reference of the
 * caller. */
void hf_grant_release_step(struct hf_grant *grant, struct hf_done done)
{
    grant->done = done;
    grant->release_is_step = true;
    hf_grant_reference(grant);
    step_release(grant);
    hf_grant_dereference(grant);
}

/* The grant stays alive until the core has answered, also if this thread cannot
 * wait for that. */
hf_status hf_grant_release_for(struct hf_grant *grant, struct hf_error *error)
{
    struct hf_client *client = grant->client;
    struct hf_waiter waiter = {.done = false};
    hf_status status;

    if ((status = hf_monitor_may_block(&client->monitor, error)) != HF_OK)
        return status;
    (void)hf_monitor_enter(&client->monitor);
    grant->waiter = &waiter;
    step_release(grant);
    status = hf_monitor_wait(&client->monitor, &waiter, error);
    if (status != HF_OK && waiter.done)
        hf_grant_explain_release(grant, status, error);
    if (status != HF_OK)
        hf_lock_fail(grant->lock, "hf_grant_release", error);
    if (waiter.done)
        hf_grant_dereference(grant);
    else
        grant->waiter = NULL; /* it goes on; its end drops the reference */
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_grant_release(struct hf_grant *grant)
{
    struct hf_error error;
    hf_status status = hf_grant_release_for(grant, &error);

    if (status == HF_EREENTRANT)
        hf_grant_fail(grant, "hf_grant_release", &error);
    return status;
}

/* After the end of the client there is no thread for ${done}; without a
 * function the release still drops the grant. */
hf_status hf_grant_release_start(struct hf_grant *grant, struct hf_done done)
{
    static const char call[] = "hf_grant_release_start";
    struct hf_client *client = grant->client;
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor);

    if (status == HF_OK && client->monitor.ended && done.fn != NULL) {
        hf_monitor_leave(&client->monitor);
        status = hf_error_set(&error, HF_ECLOSED,
                              "the client was closed, and has nowhere to call "
                              "back; pass no function");
        hf_grant_fail(grant, call, &error);
    }
    if (status != HF_OK) {
        hf_done_drop(&done);
        return status;
    }
    grant->done = done;
    hf_grant_reference(grant); /* the operation's; run_done() drops it */
    step_release(grant);
    hf_grant_dereference(grant);
    hf_monitor_leave(&client->monitor);
    return HF_OK;
}
