/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who carries out which effect of the core.  The effects of one step come in an
 * order that matters, for instance a loss before what follows from it; so they
 * are carried out one by one, and nothing here reorders them.
 */
#include "client/effects.h"

#include <stddef.h>

#include "client/client_engine.h"
#include "client/examination.h"
#include "client/grant.h"
#include "client/grant_check.h"
#include "client/grant_effects.h"
#include "client/names.h"
#include "client/queue_op.h"
#include "operation/state_listener.h"

/* The session has another state: notify the listeners.  CLOSED is the end that
 * the monitor waits for. */
static void notify_state(struct hf_client *client, enum hf_state state)
{
    hf_state_listeners_notify(&client->listeners, state);
    if (state == HF_STATE_CLOSED)
        hf_monitor_closed(&client->monitor);
}

/* Every acquisition that an effect is about is part of a grant. */
static struct hf_grant *grant_of(const struct hf_effect *effect)
{
    return (struct hf_grant *)((char *)effect->acquisition -
                               offsetof(struct hf_grant, acquisition));
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
            hf_grant_write_description(effect->request->own_ticket);
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
        hf_grant_handle_effect(grant_of(effect), effect);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
    case HF_EFFECT_OPERATION_DONE:
        if (effect->operation->kind == HF_REQUEST_NAMES)
            hf_names_handle_effect(effect);
        else if (effect->operation->kind == HF_REQUEST_EXAMINE)
            hf_examination_handle_effect(effect);
        else
            hf_queue_op_handle_effect(effect);
        break;
    }
}
