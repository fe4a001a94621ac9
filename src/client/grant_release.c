/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releasing a grant, and downgrading it: that of a writer becomes that of a
 * reader.  Each is started, or waited for.
 *
 * For a downgrade the core keeps the ticket and asks the engine to give it
 * another kind.  The record of a downgrade is allocated when it begins, because
 * only few grants need one.
 */
#include <assert.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/grant.h"
#include "core/multi_lock.h"
#include "operation/done.h"

/* -------------------------------------------------------------- release -- */

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

/* ------------------------------------------------------------ downgrade -- */

/* A downgrade, from its beginning until its end is reported. */
struct hf_downgrade {
    hf_status status; /* when it has ended */
    struct hf_waiter *waiter;
    struct hf_done done;
    struct hf_callback callback;
};

/* The text of an end with ${status}. */
static const char *downgrade_message(const struct hf_grant *grant,
                                     hf_status status)
{
    const char *text = hf_acquisition_text(&grant->acquisition);

    switch (status) {
    case HF_OK:
        return "";
    case HF_ECANCELLED:
        return "the grant was released before it was downgraded";
    default:
        return text[0] != '\0' ? text : hf_status_text(status);
    }
}

/* The end was reported. */
static void free_downgrade(struct hf_grant *grant)
{
    hf_free(grant->downgrade);
    grant->downgrade = NULL;
}

/* The .run of its callback. */
static void run_downgrade_done(void *arg)
{
    struct hf_grant *grant = arg;
    struct hf_client *client = grant->client;
    struct hf_done done = grant->downgrade->done;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_result result = {.status = grant->downgrade->status,
                               .text = text};

    (void)snprintf(text, sizeof(text), "%s",
                   downgrade_message(grant, result.status));
    free_downgrade(grant);
    hf_done_call(&client->monitor, &done, &result);
    hf_grant_dereference(grant);
}

/* After a loss or a release the core still has work to do on the grant, so it
 * stays pending. */
void hf_grant_downgraded(struct hf_grant *grant)
{
    struct hf_downgrade *downgrade = grant->downgrade;

    downgrade->status = grant->acquisition.user.downgrade_status;
    if (!grant->lost && !grant->released)
        hf_grant_set_pending(grant, false);
    if (downgrade->done.fn != NULL || downgrade->done.drop != NULL) {
        hf_grant_queue_callback(grant, &downgrade->callback);
        return;
    }
    if (downgrade->waiter != NULL)
        hf_waiter_answer(&grant->client->monitor, downgrade->waiter,
                         downgrade->status);
    free_downgrade(grant);
}

/* For ${waiter} or ${done}; NULL if out of memory. */
static struct hf_downgrade *new_downgrade(struct hf_grant *grant,
                                          struct hf_waiter *waiter,
                                          struct hf_done done)
{
    struct hf_downgrade *made = hf_alloc(sizeof(*made));

    if (made == NULL)
        return NULL;
    made->waiter = waiter;
    made->done = done;
    made->callback =
        (struct hf_callback){.run = run_downgrade_done, .arg = grant};
    return made;
}

/* Begin the downgrade, or set ${error} to why it is not possible.  With the
 * lock. */
static hf_status begin_downgrade(struct hf_grant *grant,
                                 struct hf_waiter *waiter, struct hf_done done,
                                 struct hf_error *error)
{
    struct hf_event event = {.kind = HF_EVENT_DOWNGRADE};

    hf_monitor_run_ready(&grant->client->monitor);
    error->status = HF_OK;
    if (grant->lost)
        hf_grant_explain_loss(grant, error);
    else if (grant->downgrade != NULL)
        hf_error_set(error, HF_ESTATE,
                     "it is being downgraded already; wait for the end of "
                     "that");
    else if (hf_acquisition_multi_lock(&grant->acquisition) != NULL)
        hf_error_set(error, HF_ESTATE,
                     "it is the grant of a semaphore, or of several locks at "
                     "once; only that of one writer can be downgraded");
    else if (grant->acquisition.kind != HF_TICKET_WRITE)
        hf_error_set(error, HF_ESTATE,
                     "it is the grant of a %s; only a writer's can be "
                     "downgraded",
                     grant->acquisition.kind == HF_TICKET_READ ? "reader"
                                                               : "mutex");
    else if ((grant->downgrade = new_downgrade(grant, waiter, done)) == NULL)
        hf_error_set(error, HF_ENOMEM, "out of memory");
    if (error->status != HF_OK)
        return error->status;
    hf_grant_set_pending(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
    return HF_OK;
}

/* Wait for the end of it.  With the lock. */
static hf_status await_downgrade(struct hf_grant *grant,
                                 struct hf_waiter *waiter,
                                 struct hf_error *error)
{
    hf_status status = hf_monitor_wait(&grant->client->monitor, waiter, error);

    if (!waiter->done) {
        /* It goes on, and its end is not reported. */
        grant->downgrade->waiter = NULL;
        return status;
    }
    if (status == HF_OK)
        return HF_OK;
    if (status == HF_ELOST)
        return hf_grant_explain_loss(grant, error);
    return hf_error_set(error, status, "%s", downgrade_message(grant, status));
}

/* Blocking, without remembering a failure: the caller has a handle of its own
 * for that. */
hf_status hf_grant_downgrade_for(struct hf_grant *grant, struct hf_error *error)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_client *client = grant->client;
    struct hf_waiter waiter = {.done = false};
    hf_status status;

    if ((status = hf_monitor_may_block(&client->monitor, error)) != HF_OK)
        return status;
    (void)hf_monitor_enter(&client->monitor);
    status = begin_downgrade(grant, &waiter, no_done, error);
    if (status == HF_OK)
        status = await_downgrade(grant, &waiter, error);
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_grant_downgrade(struct hf_grant *grant)
{
    struct hf_error error;
    hf_status status = hf_grant_downgrade_for(grant, &error);

    if (status != HF_OK)
        hf_grant_fail(grant, "hf_grant_downgrade", &error);
    return status;
}

/* A poller is needed only if ${done} has a function to be called. */
hf_status hf_grant_downgrade_start(struct hf_grant *grant, struct hf_done done)
{
    struct hf_client *client = grant->client;
    struct hf_error error;
    hf_status status = hf_fork_check(&client->monitor.fork, &error);

    if (status == HF_OK) {
        (void)hf_monitor_enter(&client->monitor);
        if (client->monitor.ended)
            status = hf_error_set(&error, HF_ECLOSED, "the client was closed");
        else if (done.fn != NULL)
            status = hf_monitor_ensure_poller(&client->monitor, &error);
        if (status == HF_OK)
            status = begin_downgrade(grant, NULL, done, &error);
        hf_monitor_leave(&client->monitor);
    }
    if (status != HF_OK) {
        hf_grant_fail(grant, "hf_grant_downgrade_start", &error);
        hf_done_drop(&done);
    }
    return status;
}
