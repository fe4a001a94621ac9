/* SPDX-License-Identifier: Apache-2.0 */
#include "host/candidacy.h"

#include <assert.h>

#include "core/error.h"
#include "host/election_events.h"
#include "host/election_wait.h"

/* A leadership that lasted this long counts as a success and resets the
 * backoff. */
#define LASTING_MS 10000

/* ------------------------------------------------------------ leadership -- */

static void lead(struct hf_election *e)
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

static void lead_no_more(struct hf_election *e)
{
    e->grant->acquisition.user.valid_copy = NULL;
    atomic_store(&e->valid, false);
    atomic_store(&e->token, 0);
    e->asked = false;
}

/* ------------------------------------------------------------- candidacy -- */

static hf_status begin(struct hf_election *e, uint64_t not_before_ms,
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
    hf_election_reference(e);     /* the candidacy's, until DONE */
    hf_grant_reference(e->grant); /* the core's, as long */
    hf_grant_set_unsettled(e->grant, true);
    event.as.acquisition = &e->grant->acquisition;
    hf_client_step(e->client, &event);
    return HF_OK;
}

void hf_candidacy_leave(struct hf_election *e)
{
    if (e->state == HF_ELECTION_IDLE || e->state == HF_ELECTION_LEAVING)
        return;
    if (e->state == HF_ELECTION_LEADING)
        lead_no_more(e);
    e->state = HF_ELECTION_LEAVING;
    hf_grant_let_go(e->grant);
}

void hf_candidacy_left(struct hf_election *e, const struct hf_error *why)
{
    e->state = HF_ELECTION_IDLE;
    e->out = true;
    e->outcome = (struct hf_error){.status = HF_OK};
    if (why->status == HF_EDENIED)
        e->outcome = *why;
    hf_election_answer(e);
}

/* The candidacy ended, and nobody asked for that. */
static void end(struct hf_election *e, const struct hf_error *why)
{
    e->state = HF_ELECTION_IDLE;
    e->end = *why;
    e->ended = true;
    hf_election_notify(e);
    hf_election_waits_end(e, why);
}

/* Not faster than a retry, lest we fight with whoever takes our tickets out. */
static uint64_t campaign_again_at_ms(struct hf_election *e)
{
    if (hf_now_ms() - e->elected_at_ms >= LASTING_MS)
        e->again = (struct hf_retry_state){0};
    return hf_core_retry_at_ms(&e->client->core, &e->again);
}

static void deposed(struct hf_election *e)
{
    struct hf_grant *grant = e->grant;
    struct hf_error why;

    hf_error_set(&why, HF_ELOST, "the leadership of \"%.120s\" was lost: %s",
                 e->lock->name, hf_acquisition_text(&grant->acquisition));
    hf_failure_keep(&e->client->failures, &e->lock->failure, NULL, &why);
    lead_no_more(e);
    e->state = HF_ELECTION_IDLE;
    e->grant = NULL;
    hf_election_notify(e);
    hf_grant_let_go(grant);
    if (e->client->monitor.closing)
        hf_error_set(&why, HF_ECLOSED, "the client was closed");
    else
        (void)begin(e, campaign_again_at_ms(e), &why);
    if (e->grant == NULL)
        end(e, &why);
}

/* ENDED or RELEASED: nothing of ${grant} is in the queue, or its status says
 * why.  It is no more the candidacy if it was lost before. */
static void over(struct hf_election *e, struct hf_grant *grant)
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
            end(e, &why);
    }
    hf_grant_dereference(grant);
}

void hf_candidacy_effect(struct hf_election *e, struct hf_grant *grant,
                         enum hf_effect_kind kind)
{
    switch (kind) {
    case HF_EFFECT_GRANTED:
        if (e->state == HF_ELECTION_LEAVING)
            hf_grant_let_go(grant); /* it won the race */
        else
            lead(e);
        break;
    case HF_EFFECT_LOST:
        deposed(e);
        break;
    case HF_EFFECT_REVOKED:
        e->asked = e->state == HF_ELECTION_LEADING;
        hf_election_notify(e);
        break;
    case HF_EFFECT_WAITING:
        hf_election_waits_try(e);
        break;
    case HF_EFFECT_ENDED:
    case HF_EFFECT_RELEASED:
        over(e, grant);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        hf_election_dereference(e);
        break;
    default:
        break;
    }
}

/* ------------------------------------------------------------- campaign -- */

static hf_status campaign(struct hf_election *e, struct hf_error *error)
{
    hf_status status;

    if (e->client->monitor.closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    if (e->resigning)
        return hf_error_set(error, HF_ESTATE,
                            "it is resigning; wait for the end of that");
    if (e->state != HF_ELECTION_IDLE)
        return HF_OK;
    if ((status = hf_monitor_ensure_driver(&e->client->monitor, error)) !=
        HF_OK)
        return status;
    e->again = (struct hf_retry_state){0};
    e->end = (struct hf_error){.status = HF_OK};
    return begin(e, 0, error);
}

hf_status hf_election_campaign_start(struct hf_election *e)
{
    struct hf_client *client = e->client;
    hf_status status = hf_monitor_enter(&client->monitor);
    struct hf_error error;

    if (status != HF_OK)
        return status;
    if ((status = campaign(e, &error)) != HF_OK)
        hf_lock_fail(e->lock, "hf_election_campaign_start", &error);
    hf_monitor_leave(&client->monitor);
    return status;
}
