/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core of a client on an engine of the model, and the texts of its tickets.
 * A ticket says what the client writes to it (client/grant_payload.c): when it
 * is enqueued, what its owner holds then.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "core/cohort.h"
#include "simulator/random/deadlock_private.h"

/* ------------------------------------------------- the core of a client -- */

static void drain(struct deadlock_client *client);

void deadlock_client_step(struct deadlock_client *client, struct hf_event event)
{
    event.now_ms = hf_sim_client_now_ms(client->engine);
    hf_core_step(&client->core, &event);
    hf_core_check(&client->core);
    drain(client);
}

static void on_event(void *host, struct hf_event *event)
{
    if (event->kind == HF_EVENT_NAMED)
        deadlock_walk_named(event);
    deadlock_client_step(host, *event);
}

static uint64_t now_ms(void *host)
{
    return hf_sim_client_now_ms(((struct deadlock_client *)host)->engine);
}

struct deadlock_client *deadlock_client_new(uint64_t seed)
{
    struct deadlock_client *client =
        &deadlock_run.clients[deadlock_run.client_count];
    struct hf_core_config config = {.connect_ms = HF_FOREVER,
                                    .retry = {.base_ms = 10,
                                              .cap_ms = 200,
                                              .tries = HF_RETRY_UNLIMITED,
                                              .elapsed_ms = HF_FOREVER}};
    struct hf_engine_host host = {
        .event = on_event, .now_ms = now_ms, .host = client};

    hf_random_seed(&config.random,
                   seed * DEADLOCK_OWNERS_MAX + deadlock_run.client_count++);
    client->tick_us = UINT64_MAX;
    client->engine = hf_sim_engine_new(deadlock_run.sim, &host);
    hf_core_init(&client->core, &config, now_ms(client));
    return client;
}

static void tick(void *arg)
{
    struct deadlock_client *client = arg;

    if (hf_sim_frozen(client->engine) ||
        hf_sim_now_us(deadlock_run.sim) < client->tick_us)
        return;
    client->tick_us = UINT64_MAX;
    deadlock_client_step(client, (struct hf_event){.kind = HF_EVENT_TICK});
}

void deadlock_client_thaw(struct deadlock_client *client)
{
    hf_sim_set_frozen(client->engine, false);
    client->tick_us = UINT64_MAX;
    deadlock_client_step(client, (struct hf_event){.kind = HF_EVENT_TICK});
}

static void arm(struct deadlock_client *client)
{
    uint64_t wake_ms = hf_core_wake_at_ms(&client->core);
    uint64_t at_us;

    if (wake_ms == HF_FOREVER || hf_sim_frozen(client->engine))
        return;
    at_us = hf_sim_client_at_us(client->engine, wake_ms);
    if (at_us == UINT64_MAX || at_us == client->tick_us)
        return;
    client->tick_us = at_us;
    hf_sim_call_at(deadlock_run.sim, at_us, true, tick, client);
}

/* ----------------------------------------------------------------- texts -- */

/* The want that ${a} is the first field of. */
static struct deadlock_want *want_of(struct hf_acquisition *a)
{
    return (struct deadlock_want *)(void *)a;
}

/* Append the words about deadlocks: "detect" and "holds=". */
static void write_holds(struct deadlock_want *want)
{
    const struct deadlock_holds *said = &want->said;
    size_t used = strlen(want->payload);

    if (said->count == 0)
        return;
    used += (size_t)snprintf(
        want->payload + used, sizeof want->payload - used,
        "%s holds=", want->a.detection != NULL ? " detect" : "");
    for (size_t i = 0; i < said->count; i++) {
        char id[HF_TICKET_ID_TEXT_BYTES];

        hf_ticket_id_format(&said->holds[i].ticket, id);
        used +=
            (size_t)snprintf(want->payload + used, sizeof want->payload - used,
                             "%s%s:%.8s", i == 0 ? "" : ",",
                             deadlock_run.locks[said->holds[i].lock].name, id);
        assert(used < sizeof want->payload);
    }
}

/* What ${want} says of its owner as long as nothing is known of what that
 * holds. */
void deadlock_write_owner(struct deadlock_want *want)
{
    const struct deadlock_lock *lock = &deadlock_run.locks[want->lock];
    size_t used = (size_t)snprintf(want->payload, sizeof want->payload,
                                   "host=h pid=%zu command=c",
                                   deadlock_number(want->owner) + 1);

    if (lock->limit > 0)
        (void)snprintf(want->payload + used, sizeof want->payload - used,
                       " limit=%u permits=%u", lock->limit, want->permits);
}

/* A ticket is enqueued: record it, and write what its owner holds now.  A
 * shared ticket belongs to no single owner. */
static void enqueued(struct deadlock_client *client, struct hf_request *request)
{
    struct hf_acquisition *a = request->own_ticket->acquisition;
    struct hf_acquisition *parent = hf_acquisition_parent(a);
    struct hf_cohort *cohort = hf_acquisition_cohort(a);
    struct deadlock_want *want;

    if (cohort != NULL) {
        for (size_t i = 0; i < DEADLOCK_LOCKS; i++) {
            if (cohort == &client->cohorts[i].cohort)
                client->cohorts[i].ticket = request->ticket;
        }
        return;
    }
    want = want_of(parent != NULL ? parent : a);
    deadlock_truth_keep(want);
    want->tickets[a == &want->children[1]] = request->ticket;
    deadlock_write_owner(want);
    want->said = (struct deadlock_holds){.count = 0};
    if (want->way == DEADLOCK_LISTED) {
        want->said = want->owner->inherited;
        deadlock_add_holds(want->owner, &want->said);
    }
    write_holds(want);
    if (want->said.count > 0)
        deadlock_trace(want->owner, "says: %s", want->payload);
}

/* As the client does: at the end, once. */
static void add_asked(char *text)
{
    if (strstr(text, " asked=") == NULL)
        strncat(text, " asked=2026-11-21T16:33:00Z",
                HF_PAYLOAD_BYTES - strlen(text) - 1);
}

/* --------------------------------------------------------------- effects -- */

/* The wait of ${want} has ended. */
static void end_wait(struct deadlock_want *want, hf_status status)
{
    struct deadlock_owner *owner = want->owner;

    owner->waiting = NULL;
    want->granted = status == HF_OK;
    want->gave_up = status != HF_OK;
    deadlock_run.end->counts.grants += status == HF_OK;
    deadlock_run.end->counts.handoffs +=
        status == HF_OK && want->way == DEADLOCK_SHARED &&
        want->owner->client->cohorts[want->lock].cohort.grants > 1;
    deadlock_trace(owner, "%s %s: %s",
                   status == HF_OK ? "is GRANTED" : "ends with",
                   status == HF_OK ? deadlock_run.locks[want->lock].name
                                   : hf_status_name(status),
                   status == HF_OK ? "" : hf_acquisition_text(&want->a));
    deadlock_continue(owner, want, status);
}

static void carry_out_request(struct deadlock_client *client,
                              struct hf_request *request)
{
    if (request->kind == HF_REQUEST_ENQUEUE)
        enqueued(client, request);
    else if (request->kind == HF_REQUEST_DESCRIBE)
        add_asked(request->own_ticket->text_update->text);
    hf_sim_ops(deadlock_run.sim)->request(client->engine, request);
}

/* An effect that is about a want. */
static void carry_out_for(struct deadlock_want *want, enum hf_effect_kind kind)
{
    switch (kind) {
    case HF_EFFECT_GRANTED:
        end_wait(want, HF_OK);
        break;
    case HF_EFFECT_ENDED:
        end_wait(want, want->a.status);
        break;
    case HF_EFFECT_LOST:
        deadlock_trace(want->owner, "LOST %s",
                       deadlock_run.locks[want->lock].name);
        want->lost = deadlock_run.has_lost = true;
        break;
    case HF_EFFECT_REVOKED:
        deadlock_trace(want->owner, "is asked for %s",
                       deadlock_run.locks[want->lock].name);
        deadlock_run.end->counts.revoked++;
        deadlock_revoked(want->owner);
        break;
    case HF_EFFECT_ACQUISITION_DONE:
        deadlock_truth_keep(want);
        deadlock_forget(want);
        break;
    default:
        break;
    }
}

static void carry_out(struct deadlock_client *client,
                      const struct hf_effect *effect)
{
    const struct hf_engine_ops *ops = hf_sim_ops(deadlock_run.sim);

    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        carry_out_request(client, effect->request);
        break;
    case HF_EFFECT_UNWATCH:
        ops->unwatch(client->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        ops->connect(client->engine);
        break;
    case HF_EFFECT_OPERATION_ANSWERED:
        deadlock_walk_answered(effect->operation);
        break;
    case HF_EFFECT_OPERATION_DONE:
        free(effect->operation);
        break;
    case HF_EFFECT_GRANTED:
    case HF_EFFECT_ENDED:
    case HF_EFFECT_LOST:
    case HF_EFFECT_REVOKED:
    case HF_EFFECT_ACQUISITION_DONE:
        carry_out_for(want_of(effect->acquisition), effect->kind);
        break;
    default:
        break;
    }
}

/* An event inside an effect leads here again; the outermost call carries out
 * all effects. */
static void drain(struct deadlock_client *client)
{
    struct hf_effect *effect;

    if (client->draining)
        return;
    client->draining = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL) {
        struct hf_effect taken = *effect;

        carry_out(client, &taken);
    }
    client->draining = false;
    arm(client);
}

/* ------------------------------------------------------------------- end -- */

void deadlock_free_clients(void)
{
    deadlock_walk_free();
    deadlock_truth_free(true);
    for (size_t i = 0; i < deadlock_run.count; i++) {
        while (deadlock_run.owners[i].wants != NULL)
            deadlock_forget(deadlock_run.owners[i].wants);
    }
    for (size_t i = 0; i < deadlock_run.client_count; i++) {
        struct deadlock_client *client = &deadlock_run.clients[i];

        for (size_t k = 0; k < DEADLOCK_LOCKS; k++) {
            if (client->cohorts[k].ready)
                hf_cohort_free(&client->core, &client->cohorts[k].cohort);
        }
    }
}
