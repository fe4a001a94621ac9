/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releasing a grant, and downgrading it: that of a writer becomes that of a
 * reader.  Each is started, or waited for.
 *
 * The release is the operation that the grant is.  For a downgrade, which only
 * few grants need, an operation of its own is allocated when it begins; the
 * core keeps the ticket and asks the engine to give it another kind.
 */
#include <assert.h>

#include <holdfast/grant.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "client/grant.h"
#include "core/multi_lock.h"

/* A call of the user on a grant. */
struct grant_call {
    struct hf_user_call call;
    struct hf_grant *grant;
};

static struct grant_call *of_call(struct hf_user_call *call)
{
    return container_of(call, struct grant_call, call);
}

/* -------------------------------------------------------------- release -- */

/* Hand the release of ${grant} to the core, and take back callbacks that are
 * out of date. */
static void step_release(struct hf_grant *grant)
{
    struct hf_event event = {.kind = HF_EVENT_RELEASE};

    assert(grant->state == HF_GRANT_HELD);
    grant->state = HF_GRANT_RELEASED;
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
    if (grant->state == HF_GRANT_HELD)
        step_release(grant);
    else
        hf_grant_cancel(grant);
}

/* The end may come from inside the step. */
void hf_grant_release_step(struct hf_grant *grant, struct hf_done done)
{
    const struct hf_completion completion = {.done = done, .is_step = true};

    hf_user_op_begin(&grant->user_op, &completion);
    step_release(grant);
    hf_user_op_dereference(&grant->user_op); /* that of the user's grant */
}

/* The .begin of a release.  The reference of the user's grant becomes that of
 * the caller.  After the end of the client a callback is refused, because no
 * thread would call it; without one the release still drops the grant. */
static struct hf_user_op *begin_release(struct hf_user_call *call,
                                        const struct hf_completion *completion,
                                        struct hf_error *error)
{
    struct hf_grant *grant = of_call(call)->grant;

    if (call->monitor->state == HF_MONITOR_ENDED &&
        completion->done.fn != NULL) {
        hf_error_set(error, HF_ECLOSED,
                     "the client was closed, and has nowhere to call back; "
                     "pass no function");
        return NULL;
    }
    hf_user_op_begin(&grant->user_op, completion);
    step_release(grant);
    return &grant->user_op;
}

static struct grant_call make_release(struct hf_grant *grant,
                                      const char *api_name)
{
    return (struct grant_call){
        .call = {.api_name = api_name,
                 .monitor = &grant->client->monitor,
                 .begin = begin_release},
        .grant = grant,
    };
}

hf_status hf_grant_release_for(struct hf_grant *grant, const char *api_name)
{
    struct grant_call grant_call = make_release(grant, api_name);
    struct hf_result result;

    return hf_user_op_run(&grant_call.call, &result);
}

hf_status hf_grant_release(struct hf_grant *grant)
{
    return hf_grant_release_for(grant, "hf_grant_release");
}

hf_status hf_grant_release_start(struct hf_grant *grant, struct hf_done done)
{
    struct grant_call grant_call =
        make_release(grant, "hf_grant_release_start");

    return hf_user_op_start(&grant_call.call, done, NULL);
}

/* ------------------------------------------------------------ downgrade -- */

/* A downgrade, from its beginning until its end is reported. */
struct hf_downgrade {
    struct hf_user_op user_op;
    struct hf_grant *grant; /* which it keeps alive */
};

static struct hf_downgrade *of_user_op(struct hf_user_op *user_op)
{
    return container_of(user_op, struct hf_downgrade, user_op);
}

/* The .cancel of a downgrade.  The user has no handle to cancel it by. */
static void cancel_downgrade(struct hf_user_op *user_op)
{
    (void)user_op;
}

/* The .take of a downgrade: why it failed.  From now on another one may
 * begin. */
static void take_downgrade(struct hf_user_op *user_op, struct hf_result *result,
                           struct hf_error *why)
{
    struct hf_grant *grant = of_user_op(user_op)->grant;
    const char *text = hf_acquisition_text(&grant->acquisition);

    grant->downgrade = NULL;
    if (result->status == HF_ECANCELLED)
        hf_error_set(why, HF_ECANCELLED,
                     "the grant was released before it was downgraded");
    else if (result->status == HF_ELOST)
        hf_grant_explain_loss(grant, why);
    else if (result->status != HF_OK)
        hf_error_set(why, result->status, "%s",
                     text[0] != '\0' ? text : hf_status_text(result->status));
}

/* The .destroy of a downgrade.  .downgrade still points to it if the call could
 * not wait, and so has not taken the end. */
static void destroy_downgrade(struct hf_user_op *user_op)
{
    struct hf_downgrade *downgrade = of_user_op(user_op);
    struct hf_grant *grant = downgrade->grant;

    if (grant->downgrade == downgrade)
        grant->downgrade = NULL;
    hf_free(downgrade);
    hf_user_op_dereference(&grant->user_op);
}

static const struct hf_user_op_ops downgrade_ops = {
    .cancel = cancel_downgrade,
    .take = take_downgrade,
    .destroy = destroy_downgrade,
};

/* If the grant was lost or released meanwhile the core still has work to do on
 * it, so it stays pending. */
void hf_grant_downgraded(struct hf_grant *grant)
{
    assert(grant->downgrade != NULL);
    if (grant->lost_lock == NULL && grant->state == HF_GRANT_HELD)
        hf_grant_set_pending(grant, false);
    hf_user_op_end(&grant->downgrade->user_op,
                   grant->acquisition.user.downgrade_status);
}

/* A downgrade with one reference, the caller's; NULL if out of memory. */
static struct hf_downgrade *new_downgrade(struct hf_grant *grant)
{
    struct hf_downgrade *made = hf_alloc(sizeof(*made));

    if (made == NULL)
        return NULL;
    hf_user_op_init(&made->user_op, &downgrade_ops, &grant->client->monitor, 1);
    made->grant = grant;
    grant->user_op.references++;
    return made;
}

/* Can it be downgraded?  HF_OK, or why not. */
static hf_status check_downgrade(const struct hf_grant *grant,
                                 struct hf_error *error)
{
    if (grant->lost_lock != NULL)
        return hf_grant_explain_loss(grant, error);
    if (grant->downgrade != NULL)
        return hf_error_set(error, HF_ESTATE,
                            "it is being downgraded already; wait for the end "
                            "of that");
    if (hf_acquisition_multi_lock(&grant->acquisition) != NULL)
        return hf_error_set(error, HF_ESTATE,
                            "it is the grant of a semaphore, or of several "
                            "locks at once; only that of one writer can be "
                            "downgraded");
    if (grant->acquisition.kind != HF_TICKET_WRITE)
        return hf_error_set(
            error, HF_ESTATE,
            "it is the grant of a %s; only a writer's can be "
            "downgraded",
            grant->acquisition.kind == HF_TICKET_READ ? "reader" : "mutex");
    return HF_OK;
}

/* The .begin of a downgrade.  A poller is needed only if there is a function to
 * be called. */
static struct hf_user_op *
begin_downgrade(struct hf_user_call *call,
                const struct hf_completion *completion, struct hf_error *error)
{
    struct hf_event event = {.kind = HF_EVENT_DOWNGRADE};
    struct hf_grant *grant = of_call(call)->grant;
    struct hf_downgrade *downgrade;

    if (completion->waiter == NULL &&
        call->monitor->state == HF_MONITOR_ENDED) {
        hf_error_set(error, HF_ECLOSED, "the client was closed");
        return NULL;
    }
    if (completion->done.fn != NULL &&
        hf_monitor_ensure_poller(call->monitor, error) != HF_OK)
        return NULL;
    hf_monitor_run_ready(call->monitor);
    if (check_downgrade(grant, error) != HF_OK)
        return NULL;
    if ((downgrade = new_downgrade(grant)) == NULL) {
        hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    grant->downgrade = downgrade;
    hf_user_op_begin(&downgrade->user_op, completion);
    hf_grant_set_pending(grant, true);
    event.as.acquisition = &grant->acquisition;
    hf_client_step(grant->client, &event);
    return &downgrade->user_op;
}

static struct grant_call make_downgrade(struct hf_grant *grant,
                                        const char *api_name)
{
    return (struct grant_call){
        .call = {.api_name = api_name,
                 .monitor = &grant->client->monitor,
                 .begin = begin_downgrade},
        .grant = grant,
    };
}

hf_status hf_grant_downgrade_for(struct hf_grant *grant, const char *api_name)
{
    struct grant_call grant_call = make_downgrade(grant, api_name);
    struct hf_result result;

    return hf_user_op_run(&grant_call.call, &result);
}

hf_status hf_grant_downgrade(struct hf_grant *grant)
{
    return hf_grant_downgrade_for(grant, "hf_grant_downgrade");
}

hf_status hf_grant_downgrade_start(struct hf_grant *grant, struct hf_done done)
{
    struct grant_call grant_call =
        make_downgrade(grant, "hf_grant_downgrade_start");

    return hf_user_op_start(&grant_call.call, done, NULL);
}
