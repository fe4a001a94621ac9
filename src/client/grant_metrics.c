/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each event of a grant is counted for all, and for the name of each of its
 * locks; and then it waits for the user's function to be called with it.
 */
#include "client/grant.h"

#include "client/client_metrics.h"
#include "core/multi_lock.h"
#include "monitor/clock.h"

/* What one event adds. */
struct addition {
    enum hf_lock_event_kind kind;
    bool waited;
    struct hf_metrics_duration wait, hold, handoff;
};

/* Is anything of ${grant} counted or reported? */
static bool is_measured(const struct hf_grant *grant)
{
    const struct hf_client *client = grant->client;

    return grant->lock->kind != HF_TICKET_PARTICIPANT &&
           (hf_client_metrics_on(client) ||
            client->metrics.events.on_event.fn != NULL);
}

static void add(struct hf_metrics_series *series,
                const struct addition *addition)
{
    switch (addition->kind) {
    case HF_LOCK_EVENT_ACQUIRED:
        series->acquired++;
        break;
    case HF_LOCK_EVENT_FAILED:
        series->failed++;
        break;
    case HF_LOCK_EVENT_LOST:
        series->lost++;
        break;
    case HF_LOCK_EVENT_REVOKED:
        series->revoked++;
        break;
    case HF_LOCK_EVENT_RELEASED:
        break; /* its hold counts */
    }
    if (addition->waited)
        series->waited++;
    if (addition->wait.known)
        hf_metrics_observe(&series->wait, &addition->wait);
    if (addition->hold.known)
        hf_metrics_observe(&series->hold, &addition->hold);
    if (addition->handoff.known)
        hf_metrics_observe(&series->handoff, &addition->handoff);
}

static void add_to_name(struct hf_metrics_file *file,
                        struct hf_metrics_name_ref *name,
                        const struct addition *addition)
{
    struct hf_metrics_block *block = file->block;
    size_t index = hf_metrics_find(block, name, addition->waited);

    add(&block->named, addition);
    if (index == HF_METRICS_NAMES)
        return;
    hf_metrics_file_take(file, index, name);
    if (addition->waited)
        block->entries[index].weight++;
    add(&block->entries[index].series, addition);
}

static void add_to_all(struct hf_grant *grant, const struct addition *addition)
{
    struct hf_metrics_file *file = &grant->client->metrics.file;

    add(&file->block->all, addition);
    for (size_t i = 0; i < grant->item_count; i++)
        add_to_name(file, hf_lock_metrics_name(grant->items[i].lock), addition);
}

/* Count one event, if the client counts. */
static void count(struct hf_grant *grant, const struct addition *addition)
{
    if (!hf_client_metrics_on(grant->client))
        return;
    add_to_all(grant, addition);
    hf_client_metrics_keep(grant->client);
}

/* Have the user's function called with ${event}, for each lock of ${grant}. */
static void report(struct hf_grant *grant, struct hf_lock_event event)
{
    struct hf_lock_events *events = &grant->client->metrics.events;

    event.count = grant->item_count;
    for (size_t i = 0; i < grant->item_count; i++) {
        event.index = i;
        event.name = grant->items[i].lock->name;
        event.token = event.kind == HF_LOCK_EVENT_FAILED
                          ? 0
                          : grant->items[i].acquisition->token;
        hf_lock_events_add(events, &event);
    }
}

void hf_grant_metrics_begun(struct hf_grant *grant)
{
    if (is_measured(grant))
        grant->metrics.begun_us = hf_boottime_us();
}

/* The acquire has ended with ${status}. */
static void count_end(struct hf_grant *grant, hf_status status,
                      const struct addition *addition)
{
    struct hf_metrics_block *block = grant->client->metrics.file.block;

    if (block == NULL)
        return;
    if ((unsigned)status < HF_METRICS_STATUSES)
        block->ended[status]++;
    add_to_all(grant, addition);
    hf_client_metrics_keep(grant->client);
}

void hf_grant_metrics_granted(struct hf_grant *grant)
{
    struct hf_grant_metrics *metrics = &grant->metrics;
    struct addition addition = {.kind = HF_LOCK_EVENT_ACQUIRED,
                                .waited = metrics->waited};
    uint64_t now_us;

    if (!is_measured(grant))
        return;
    now_us = hf_boottime_us();
    metrics->granted_us = now_us;
    addition.wait = hf_metrics_duration(now_us - metrics->begun_us);
    if (metrics->gone_us != 0)
        addition.handoff = hf_metrics_duration(now_us - metrics->gone_us);
    count_end(grant, HF_OK, &addition);
    report(grant, (struct hf_lock_event){.kind = HF_LOCK_EVENT_ACQUIRED,
                                         .waited = addition.waited,
                                         .duration_us = addition.wait.us});
}

/* A try that ends with HF_EBUSY has not waited, but counts as if it had,
 * because the lock was contended. */
void hf_grant_metrics_ended(struct hf_grant *grant)
{
    hf_status status = grant->acquisition.status;
    struct addition addition = {.kind = HF_LOCK_EVENT_FAILED};

    if (!is_measured(grant))
        return;
    addition.waited = grant->metrics.waited || status == HF_EBUSY;
    count_end(grant, status, &addition);
    report(grant,
           (struct hf_lock_event){.kind = HF_LOCK_EVENT_FAILED,
                                  .status = status,
                                  .waited = addition.waited,
                                  .duration_us = hf_boottime_us() -
                                                 grant->metrics.begun_us});
}

/* ${grant} is not held any more: count and report ${kind}, with how long it was
 * held.  Nothing if that was done before. */
static void end_hold(struct hf_grant *grant, enum hf_lock_event_kind kind)
{
    struct hf_grant_metrics *metrics = &grant->metrics;
    struct addition addition = {.kind = kind};

    if (!is_measured(grant) || metrics->granted_us == 0)
        return;
    addition.hold = hf_metrics_duration(hf_boottime_us() - metrics->granted_us);
    metrics->granted_us = 0;
    count(grant, &addition);
    report(grant, (struct hf_lock_event){.kind = kind,
                                         .duration_us = addition.hold.us});
}

void hf_grant_metrics_released(struct hf_grant *grant)
{
    end_hold(grant, HF_LOCK_EVENT_RELEASED);
}

void hf_grant_metrics_lost(struct hf_grant *grant)
{
    end_hold(grant, HF_LOCK_EVENT_LOST);
}

/* A release that nothing confirmed counts as a loss, unless the loss was
 * counted before. */
void hf_grant_metrics_release_ended(struct hf_grant *grant)
{
    const struct addition addition = {.kind = HF_LOCK_EVENT_LOST};

    if (!is_measured(grant) || grant->acquisition.status != HF_ELOST ||
        grant->lost_lock != NULL)
        return;
    count(grant, &addition);
    report(grant, (struct hf_lock_event){.kind = HF_LOCK_EVENT_LOST});
}

void hf_grant_metrics_revoked(struct hf_grant *grant)
{
    const struct addition addition = {.kind = HF_LOCK_EVENT_REVOKED};

    if (!is_measured(grant))
        return;
    count(grant, &addition);
    report(grant, (struct hf_lock_event){.kind = HF_LOCK_EVENT_REVOKED});
}

/* A grant of several tickets has no handoff, because the end of one wait is not
 * the grant.  A ticket of our own that is watched is not the one ahead. */
void hf_grant_metrics_event(const struct hf_event *event)
{
    const struct hf_own_ticket *ticket;
    const struct hf_request *watch;
    struct hf_grant *grant;

    if (event->kind != HF_EVENT_GONE && event->kind != HF_EVENT_WATCHING)
        return;
    watch = event->as.answer.request;
    ticket = watch->own_ticket;
    if (ticket == NULL || hf_ticket_id_equal(&watch->ticket, &ticket->id))
        return;
    grant = hf_grant_of_ticket(ticket);
    if (grant == NULL || hf_acquisition_multi_lock(&grant->acquisition) != NULL)
        return;
    grant->metrics.gone_us =
        event->kind == HF_EVENT_GONE ? hf_boottime_us() : 0;
}
