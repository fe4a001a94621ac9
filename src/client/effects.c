/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each effect of the core does to its grant, and who carries out the
 * others.  The effects of one step come in an order that matters, for instance
 * a loss before what follows from it; so they are carried out one by one, and
 * nothing here reorders them.
 */
#include "client/effects.h"

#include <assert.h>
#include <stdio.h>

#include "base/container_of.h"
#include "base/error.h"
#include "client/client.h"
#include "client/election.h"
#include "client/examination.h"
#include "client/grant.h"
#include "client/names.h"
#include "client/queue_op.h"
#include "client/queue_watch.h"
#include "client/semaphore_limit.h"
#include "operation/state_listener.h"

/* ----------------------------------------------------------- of a grant -- */

/* Report ${status} to the call that began the acquire or the release.  An
 * election receives every effect itself. */
static void complete(struct hf_grant *grant, hf_status status)
{
    if (grant->election == NULL)
        hf_user_op_end(&grant->user_op, status);
}

/* The grant was lost: remember why, log it, and notify everyone who waits or
 * listens. */
static void lose_grant(struct hf_grant *grant)
{
    struct hf_error why;

    hf_grant_set_lost(grant);
    hf_grant_explain_loss(grant, &why);
    hf_grant_signal_loss_fd(grant);
    hf_log_write(&grant->client->monitor.log, HF_LOG_WARNING,
                 "%s; its token was %llu", why.text,
                 (unsigned long long)grant->acquisition.token);
    hf_grant_checks_answer(grant->client, grant);
    hf_grant_unqueue_revoke(grant);
    if (grant->state == HF_GRANT_HELD)
        hf_grant_queue_loss(grant);
}

/* It was granted: if it was displaced after its wait was last reported, report
 * the wait once more.  Not to a call that blocks: no callback may follow its
 * answer. */
static void end_waiting(struct hf_grant *grant)
{
    if (grant->user_op.completion.waiter == NULL &&
        hf_grant_has_unreported_wait(grant))
        hf_grant_queue_wait(grant);
    else
        hf_grant_unqueue_wait(grant);
}

/* Is ${status}, with which an acquire has ended, about the lock that it waited
 * for?  HF_EDEADLK is left out, because its text names the lock already. */
static bool is_of_one_lock(hf_status status)
{
    return status == HF_EBUSY || status == HF_ETIMEDOUT || status == HF_EKIND ||
           status == HF_EDENIED;
}

/* If the wait failed, add to its text what the engine does not know: that the
 * limits of a semaphore differ, which may be the reason; and which one of
 * several locks was not obtained. */
static void explain_failure(struct hf_grant *grant)
{
    struct hf_acquisition *a = &grant->acquisition;
    struct hf_error why = {.status = a->status}, before;

    if (!is_of_one_lock(a->status))
        return;
    (void)snprintf(why.text, sizeof(why.text), "%s", hf_acquisition_text(a));
    if (a->status == HF_ETIMEDOUT || a->status == HF_EBUSY) {
        hf_limit_compare(grant); /* a try has no HF_EFFECT_WAITING */
        hf_limit_explain(grant, &why);
    }
    before = why;
    if (grant->item_count > 1)
        hf_error_set(&why, before.status, "\"%.200s\": %s",
                     hf_grant_awaited_lock(grant)->name, before.text);
    hf_acquisition_set_text(&grant->client->core, a, why.text);
}

/* For the log of what a program does with its locks: ${grant} ${what}. */
static void log_acquire(struct hf_grant *grant, const char *what)
{
    hf_log_write(&grant->client->monitor.log, HF_LOG_DEBUG,
                 "\"%s\" %s; its token is %llu", grant->lock->name, what,
                 (unsigned long long)grant->acquisition.token);
}

static void log_end(struct hf_grant *grant)
{
    const struct hf_acquisition *a = &grant->acquisition;

    hf_log_write(&grant->client->monitor.log, HF_LOG_DEBUG,
                 "\"%s\" was not granted: %s", grant->lock->name,
                 hf_acquisition_text(a));
}

/* The eight kinds at the end of the switch are not about an acquisition:
 * hf_effects_carry_out() handles them itself. */
static void handle_grant_effect(struct hf_grant *grant,
                                const struct hf_effect *effect)
{
    struct hf_election *election = grant->election;

    switch (effect->kind) {
    case HF_EFFECT_LOST:
        hf_owner_grants_remove(grant);
        hf_grant_metrics_lost(grant);
        hf_grant_set_pending(grant, true);
        lose_grant(grant);
        break;
    case HF_EFFECT_GRANTED:
        assert(grant->state == HF_GRANT_REQUESTED);
        grant->state = HF_GRANT_HELD;
        hf_grant_metrics_granted(grant);
        log_acquire(grant, "is granted");
        hf_owner_grants_add(grant);
        hf_limit_compare(grant);
        hf_grant_set_pending(grant, false);
        end_waiting(grant);
        complete(grant, HF_OK);
        break;
    case HF_EFFECT_ENDED:
        explain_failure(grant);
        hf_grant_metrics_ended(grant);
        log_end(grant);
        hf_grant_unqueue_wait(grant);
        complete(grant, grant->acquisition.status);
        break;
    case HF_EFFECT_WAITING:
        grant->metrics.waited = true;
        hf_log_write(&grant->client->monitor.log, HF_LOG_DEBUG,
                     "\"%s\" is waited for; tickets ahead: %zu",
                     hf_grant_awaited_lock(grant)->name,
                     (size_t)grant->acquisition.ahead);
        hf_limit_compare(grant);
        hf_grant_queue_wait(grant);
        break;
    case HF_EFFECT_REVOKED:
        hf_grant_metrics_revoked(grant);
        hf_log_write(&grant->client->monitor.log, HF_LOG_INFO,
                     "somebody asks for \"%s\" to be released",
                     hf_grant_asked_lock(grant)->name);
        if (grant->state == HF_GRANT_HELD)
            hf_grant_queue_revoke(grant);
        break;
    case HF_EFFECT_RELEASED:
        log_acquire(grant, "is released");
        hf_grant_metrics_release_ended(grant);
        if (grant->acquisition.status == HF_EDENIED)
            hf_log_write(&grant->client->monitor.log, HF_LOG_WARNING,
                         "the ticket of \"%s\" cannot leave its queue before "
                         "this client is closed: %s",
                         grant->lock->name,
                         hf_acquisition_text(&grant->acquisition));
        complete(grant, grant->acquisition.status);
        break;
    case HF_EFFECT_DOWNGRADED:
        hf_grant_downgraded(grant);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        hf_grant_set_pending(grant, false);
        hf_limit_remove(grant);
        hf_user_op_dereference(&grant->user_op);
        break;
    case HF_EFFECT_REQUEST:
    case HF_EFFECT_UNWATCH:
    case HF_EFFECT_CONNECT:
    case HF_EFFECT_PROVEN:
    case HF_EFFECT_STATE:
    case HF_EFFECT_OPERATION_WATCHING:
    case HF_EFFECT_OPERATION_ANSWERED:
    case HF_EFFECT_OPERATION_DONE:
        assert(false);
    }
    if (election != NULL)
        hf_candidacy_handle_effect(election, grant, effect->kind);
}

/* ---------------------------------------------------------- of a client -- */

/* The session has another state: notify the listeners.  CLOSED is the end that
 * the monitor waits for. */
static void notify_state(struct hf_client *client, enum hf_state state)
{
    hf_queue_watches_notify(client, state);
    hf_state_listeners_notify(&client->listeners, state);
    if (state == HF_STATE_CLOSED)
        hf_monitor_closed(&client->monitor);
}

/* The payload of a ticket is written just before its request is sent, so that
 * it says what is true then. */
void hf_effects_carry_out(struct hf_client *client,
                          const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        if (effect->request->kind == HF_REQUEST_ENQUEUE)
            hf_grant_write_payload(effect->request->own_ticket);
        else if (effect->request->kind == HF_REQUEST_DESCRIBE)
            hf_grant_update_text(effect->request->own_ticket);
        hf_client_metrics_request(client, effect->request);
        hf_client_engine_request(client, effect->request);
        break;
    case HF_EFFECT_UNWATCH:
        hf_client_engine_unwatch(client, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        client->ops->connect(client->engine);
        break;
    case HF_EFFECT_PROVEN:
        hf_grant_checks_answer(client, NULL);
        break;
    case HF_EFFECT_STATE:
        notify_state(client, effect->state);
        break;
    case HF_EFFECT_LOST:
    case HF_EFFECT_GRANTED:
    case HF_EFFECT_ENDED:
    case HF_EFFECT_WAITING:
    case HF_EFFECT_RELEASED:
    case HF_EFFECT_DOWNGRADED:
    case HF_EFFECT_ACQUISITION_DONE:
    case HF_EFFECT_REVOKED:
        /* Every acquisition that an effect is about is part of a grant. */
        handle_grant_effect(
            container_of(effect->acquisition, struct hf_grant, acquisition),
            effect);
        break;
    case HF_EFFECT_OPERATION_WATCHING:
    case HF_EFFECT_OPERATION_ANSWERED:
    case HF_EFFECT_OPERATION_DONE:
        if (effect->operation->kind == HF_REQUEST_NAMES)
            hf_names_handle_effect(effect);
        else if (effect->operation->kind == HF_REQUEST_EXAMINE)
            hf_examination_handle_effect(effect);
        else if (effect->operation->waits_for == HF_WAIT_CHANGE)
            hf_queue_watch_handle_effect(effect);
        else
            hf_queue_op_handle_effect(effect);
        break;
    }
}
