/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of an election's candidatures. */
#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "host/election.h"
#include "host/election_wait.h"

/* A leadership that lasted so long says nothing of how the next one ends. */
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
    hf_election_tell(e);
    hf_election_waits_end(e, &elected);
}

static void lead_no_more(struct hf_election *e)
{
    e->grant->acquisition.user.valid_copy = NULL;
    atomic_store(&e->valid, false);
    atomic_store(&e->token, 0);
    e->asked = false;
}

/* ----------------------------------------------------------- candidature -- */

hf_status hf_election_stand(struct hf_election *e, uint64_t not_before_ms,
                            struct hf_error *error)
{
    const struct hf_done untold = {NULL, NULL, NULL};
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_event event = {.kind = HF_EVENT_WANT};

    assert(e->state == HF_ELECTION_RESTING && e->grant == NULL);
    opts.text = e->opts.text;
    if ((e->grant = hf_grant_new(&e->lock, 1, &opts, e->opts.id, untold)) ==
        NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    e->state = HF_ELECTION_STANDING;
    e->grant->election = e;
    e->grant->acquisition.user.waits_for_removal = true;
    e->grant->acquisition.not_before_ms = not_before_ms;
    hf_election_reference(e);     /* the candidature's, until FORGOTTEN */
    hf_grant_reference(e->grant); /* the core's, as long */
    hf_grant_set_unsettled(e->grant, true);
    event.as.acquisition = &e->grant->acquisition;
    hf_client_step(e->client, &event);
    return HF_OK;
}

void hf_election_leave(struct hf_election *e)
{
    if (e->state == HF_ELECTION_RESTING || e->state == HF_ELECTION_LEAVING)
        return;
    if (e->state == HF_ELECTION_LEADING)
        lead_no_more(e);
    e->state = HF_ELECTION_LEAVING;
    hf_grant_let_go(e->grant);
}

/* It ended, and nobody asked for that. */
static void end(struct hf_election *e, const struct hf_error *why)
{
    e->state = HF_ELECTION_RESTING;
    e->end = *why;
    e->ended = true;
    hf_election_tell(e);
    hf_election_waits_end(e, why);
}

/* Not faster than a retry, lest we fight with whoever takes our tickets out. */
static uint64_t stand_again_at_ms(struct hf_election *e)
{
    if (hf_now_ms() - e->elected_at_ms >= LASTING_MS)
        e->again = (struct hf_retry_state){0};
    return hf_core_again_at_ms(&e->client->core, &e->again);
}

static void deposed(struct hf_election *e)
{
    struct hf_grant *grant = e->grant;
    struct hf_error why;

    hf_error_set(&why, HF_ELOST, "the leadership of \"%.120s\" was lost: %s",
                 e->lock->name, hf_acquisition_text(&grant->acquisition));
    hf_failure_keep(&e->client->failures, &e->lock->failure, NULL, &why);
    lead_no_more(e);
    e->state = HF_ELECTION_RESTING;
    e->grant = NULL;
    hf_election_tell(e);
    hf_grant_let_go(grant);
    if (e->client->monitor.closing)
        hf_error_set(&why, HF_ECLOSED, "the client was closed");
    else
        (void)hf_election_stand(e, stand_again_at_ms(e), &why);
    if (e->grant == NULL)
        end(e, &why);
}

/* ENDED or RELEASED: nothing of ${grant} is in the queue, or its status says
 * why.  It is no more the candidature if it was lost before. */
static void over(struct hf_election *e, struct hf_grant *grant)
{
    struct hf_error why = {.status = HF_OK};

    if (e->grant == grant) {
        if (grant->done_status != HF_OK)
            hf_error_set(&why, grant->done_status, "%s",
                         hf_acquisition_text(&grant->acquisition));
        e->grant = NULL;
        if (e->state == HF_ELECTION_LEAVING)
            hf_election_left(e, &why);
        else
            end(e, &why);
    }
    hf_grant_dereference(grant);
}

void hf_election_heed(struct hf_election *e, struct hf_grant *grant,
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
        hf_election_tell(e);
        break;
    case HF_EFFECT_WAITING:
        hf_election_waits_try(e);
        break;
    case HF_EFFECT_ENDED:
    case HF_EFFECT_RELEASED:
        over(e, grant);
        break;
    case HF_EFFECT_FORGOTTEN:
        hf_election_dereference(e);
        break;
    default:
        break;
    }
}
