/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of candidacies: a campaign begins the first one, the effects of
 * the core move it to leadership or to its end, a loss begins the next one, and
 * a resignation ends it.
 */
#include "client/election.h"

#include <assert.h>

#include "base/container_of.h"
#include "base/error.h"

/* A leadership that lasted this long counts as a success and resets the
 * backoff. */
#define LASTING_LEADERSHIP_MS 10000

/* ----------------------------------------------------------- leadership -- */

/* The candidacy was granted.  The token is set before .valid, and so before
 * safe-until counts for this leadership, because readers without the lock check
 * the token first. */
static void start_leading(struct hf_election *e)
{
    const struct hf_error elected = {.status = HF_OK};

    e->state = HF_ELECTION_LEADING;
    e->elected_at_ms = hf_now_ms();
    atomic_store(&e->token, hf_grant_token(e->grant));
    e->grant->acquisition.user.valid_copy = &e->valid;
    atomic_store(&e->valid, atomic_load(&e->grant->acquisition.user.valid));
    hf_log_write(&e->client->monitor.log, HF_LOG_INFO,
                 "elected for \"%s\", with token %llu", e->lock->name,
                 (unsigned long long)hf_grant_token(e->grant));
    hf_election_notify(e);
    hf_election_waits_end(e, &elected);
}

/* The opposite, in the opposite order: .valid is cleared first. */
static void stop_leading(struct hf_election *e)
{
    e->grant->acquisition.user.valid_copy = NULL;
    atomic_store(&e->valid, false);
    atomic_store(&e->token, 0);
    e->revoke_pending = false;
}

/* ------------------------------------------------------------ candidacy -- */

/* Begin a candidacy: a grant whose end the election receives, and not the user.
 * Its ticket is not requested before ${not_before_ms}.  With ${error} set on
 * failure. */
static hf_status begin_candidacy(struct hf_election *e, uint64_t not_before_ms,
                                 struct hf_error *error)
{
    const struct hf_done no_done = {NULL, NULL, NULL};
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_event event = {.kind = HF_EVENT_ACQUIRE};

    assert(e->state == HF_ELECTION_IDLE && e->grant == NULL);
    opts.text = e->opts.text;
    if ((e->grant = hf_grant_new(&e->lock, 1, &opts, e->opts.id, no_done)) ==
        NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    e->state = HF_ELECTION_CAMPAIGNING;
    e->grant->election = e;
    e->grant->acquisition.user.waits_for_removal = true;
    e->grant->acquisition.not_before_ms = not_before_ms;
    /* The candidacy's, until the core is done with it. */
    hf_election_reference(e);
    hf_grant_reference(e->grant); /* the core's, for as long */
    hf_grant_set_pending(e->grant, true);
    event.as.acquisition = &e->grant->acquisition;
    hf_client_step(e->client, &event);
    return HF_OK;
}

/* A leadership ends here at once, before its ticket is removed, so that no
 * thread relies on it while another candidate may be elected. */
void hf_candidacy_leave(struct hf_election *e)
{
    if (e->state == HF_ELECTION_IDLE || e->state == HF_ELECTION_LEAVING)
        return;
    if (e->state == HF_ELECTION_LEADING)
        stop_leading(e);
    e->state = HF_ELECTION_LEAVING;
    hf_grant_release_or_cancel(e->grant);
}

/* Only HF_EDENIED is reported: any other end means that nothing is left in the
 * queue. */
void hf_candidacy_left(struct hf_election *e, const struct hf_error *why)
{
    e->state = HF_ELECTION_IDLE;
    e->has_left_queue = true;
    e->outcome = (struct hf_error){.status = HF_OK};
    if (why->status == HF_EDENIED)
        e->outcome = *why;
    hf_election_answer_resign(e);
}

/* The candidacy ended with ${why}, although the user did not resign: there is
 * no next one. */
static void end_candidacy(struct hf_election *e, const struct hf_error *why)
{
    e->state = HF_ELECTION_IDLE;
    e->idle_reason = *why;
    e->end_pending = true;
    hf_election_notify(e);
    hf_election_waits_end(e, why);
}

/* When the next candidacy may request its ticket.  After a short leadership
 * that is no sooner than a retry, because otherwise two candidates that evict
 * each other would do it without end. */
static uint64_t campaign_again_at_ms(struct hf_election *e)
{
    if (hf_now_ms() - e->elected_at_ms >= LASTING_LEADERSHIP_MS)
        e->campaign_retry = (struct hf_retry_state){0};
    return hf_core_retry_at_ms(&e->client->core, &e->campaign_retry);
}

/* The leadership was lost: notify the user, release the old grant, and begin
 * the next candidacy. */
static void handle_loss(struct hf_election *e)
{
    struct hf_grant *grant = e->grant;
    struct hf_error why;

    hf_error_set(&why, HF_ELOST, "the leadership of \"%.120s\" was lost: %s",
                 e->lock->name, hf_acquisition_text(&grant->acquisition));
    hf_last_error_set(&e->client->error_texts, &e->lock->last_error, NULL,
                      &why);
    stop_leading(e);
    e->state = HF_ELECTION_IDLE;
    e->grant = NULL;
    hf_election_notify(e);
    hf_grant_release_or_cancel(grant);
    if (e->client->monitor.closing)
        (void)hf_monitor_explain_closed(&e->client->monitor, "client", &why);
    else
        (void)begin_candidacy(e, campaign_again_at_ms(e), &why);
    if (e->grant == NULL)
        end_candidacy(e, &why);
}

/* The acquisition or the release of ${grant} has ended: nothing of it is in the
 * queue, or its status says why something is.  If it was lost before, ${grant}
 * is not the candidacy any more. */
static void candidacy_over(struct hf_election *e, struct hf_grant *grant)
{
    struct hf_error why = {.status = HF_OK};

    if (e->grant == grant) {
        if (grant->done_status != HF_OK)
            hf_error_set(&why, grant->done_status, "%s",
                         hf_acquisition_text(&grant->acquisition));
        e->grant = NULL;
        if (e->state == HF_ELECTION_LEAVING)
            hf_candidacy_left(e, &why);
        else
            end_candidacy(e, &why);
    }
    hf_grant_dereference(grant);
}

/* HF_EFFECT_GRANTED may come after a resignation has begun; the grant is then
 * released. */
void hf_candidacy_handle_effect(struct hf_election *e, struct hf_grant *grant,
                                enum hf_effect_kind kind)
{
    switch (kind) {
    case HF_EFFECT_GRANTED:
        if (e->state == HF_ELECTION_LEAVING)
            /* It was granted before it could be cancelled. */
            hf_grant_release_or_cancel(grant);
        else
            start_leading(e);
        break;
    case HF_EFFECT_LOST:
        handle_loss(e);
        break;
    case HF_EFFECT_REVOKED:
        e->revoke_pending = e->state == HF_ELECTION_LEADING;
        hf_election_notify(e);
        break;
    case HF_EFFECT_WAITING:
        hf_election_waits_end_tries(e);
        break;
    case HF_EFFECT_ENDED:
    case HF_EFFECT_RELEASED:
        candidacy_over(e, grant);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        hf_election_dereference(e);
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------- campaign -- */

/* Begin the first candidacy, unless there is one. */
static hf_status begin_campaign(struct hf_election *e, struct hf_error *error)
{
    hf_status status;

    if (e->client->monitor.closing)
        return hf_monitor_explain_closed(&e->client->monitor, "client", error);
    if (e->resigning)
        return hf_error_set(error, HF_ESTATE,
                            "it is resigning; wait for the end of that");
    if (e->state != HF_ELECTION_IDLE)
        return HF_OK;
    if ((status = hf_monitor_ensure_poller(&e->client->monitor, error)) !=
        HF_OK)
        return status;
    e->campaign_retry = (struct hf_retry_state){0};
    e->idle_reason = (struct hf_error){.status = HF_OK};
    return begin_candidacy(e, 0, error);
}

/* A second call while the election campaigns or leads does nothing. */
hf_status hf_election_campaign_start(struct hf_election *e)
{
    struct hf_client *client = e->client;
    hf_status status = hf_monitor_enter(&client->monitor);
    struct hf_error error;

    if (status != HF_OK)
        return status;
    if ((status = begin_campaign(e, &error)) != HF_OK)
        hf_lock_fail(e->lock, "hf_election_campaign_start", &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* ------------------------------------------------------------ resigning -- */

static struct hf_election *of_resign_op(struct hf_user_op *op)
{
    return container_of(op, struct hf_election, resign_op);
}

/* The .take of a resignation. */
static void take_resign(struct hf_user_op *op, struct hf_result *result,
                        struct hf_error *why)
{
    (void)result;
    *why = of_resign_op(op)->outcome;
}

/* The .destroy of it: it keeps the election alive. */
static void destroy_resign(struct hf_user_op *op)
{
    hf_election_dereference(of_resign_op(op));
}

/* No call gives out a handle of it, so nothing is cancelled. */
static const struct hf_user_op_ops resign_ops = {
    .take = take_resign,
    .destroy = destroy_resign,
};

/* Begin a resignation, with a reference of the caller. */
static void begin_resign(struct hf_election *e,
                         const struct hf_completion *completion)
{
    const struct hf_error idle = {.status = HF_OK};

    e->resigning = true;
    e->has_left_queue = false;
    if (e->resign_op.references == 0) {
        hf_election_reference(e);
        hf_user_op_init(&e->resign_op, &resign_ops, &e->client->monitor, 0);
    } /* else the callback of the last one has begun this one */
    hf_user_op_begin(&e->resign_op, completion);
    e->resign_op.references++; /* the caller's */
    e->idle_reason = idle;
    hf_election_discard_events(e);
    hf_election_waits_cancel(e, "it resigned");
    if (e->state == HF_ELECTION_IDLE)
        hf_candidacy_left(e, &idle);
    else
        hf_candidacy_leave(e);
}

/* A call of the user that resigns. */
struct resign_call {
    struct hf_user_call call;
    struct hf_election *election;
};

/* A callback with a function needs a thread that calls it. */
static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    struct hf_election *e =
        container_of(call, struct resign_call, call)->election;

    if (completion->done.fn != NULL && call->monitor->ended)
        hf_error_set(error, HF_ECLOSED, "the client was closed");
    else if (completion->done.fn != NULL)
        (void)hf_monitor_ensure_poller(call->monitor, error);
    if (error->status == HF_OK &&
        (e->resigning || e->resign_op.callback.queued))
        hf_error_set(error, HF_ESTATE,
                     "it is resigning already; wait for the end of that");
    if (error->status != HF_OK)
        return NULL;
    begin_resign(e, completion);
    return &e->resign_op;
}

static void fail_call(struct hf_user_call *call, struct hf_error *error)
{
    hf_lock_fail(container_of(call, struct resign_call, call)->election->lock,
                 call->api_name, error);
}

static struct resign_call make_call(struct hf_election *e, const char *api_name)
{
    return (struct resign_call){
        .call = {api_name, &e->client->monitor, begin_call, fail_call},
        .election = e,
    };
}

/* If this thread cannot wait, the resignation goes on all the same. */
hf_status hf_election_resign(struct hf_election *e)
{
    struct resign_call call = make_call(e, "hf_election_resign");
    struct hf_result result;

    return hf_user_op_run(&call.call, &result);
}

/* After the end of the client there is nothing to resign from. */
static bool is_over(struct hf_election *e)
{
    bool ended;

    if (hf_monitor_enter(&e->client->monitor) != HF_OK)
        return false;
    ended = e->client->monitor.ended;
    hf_monitor_leave(&e->client->monitor);
    return ended;
}

hf_status hf_election_resign_start(struct hf_election *e, struct hf_done done)
{
    struct resign_call call = make_call(e, "hf_election_resign_start");

    if (done.fn != NULL || !is_over(e))
        return hf_user_op_start(&call.call, done, NULL);
    hf_done_drop(&done);
    return HF_OK;
}
