/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts of users to acquire locks, and what they do with a grant. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "core/cohort.h"
#include "core/deadlock_detection.h"
#include "simulator/check/check_grant.h"
#include "simulator/cluster/cluster.h"
#include "simulator/cluster/driver.h"

static const char *name_prefix_of(const struct lock_spec *specs, unsigned count)
{
    static const char *const prefixes[] = {[HF_TICKET_MUTEX] = "m",
                                           [HF_TICKET_READ] = "r",
                                           [HF_TICKET_WRITE] = "w",
                                           [HF_TICKET_LEASE] = "s",
                                           [HF_TICKET_ELECTION] = "e"};

    if (count > 1)
        return "x";
    return specs[0].shares ? "c" : prefixes[specs[0].kind];
}

/* Names are a letter for the kind and a number, as m1. */
static struct attempt *attempt_new(struct client *client, const char *prefix)
{
    struct cluster *cluster = client->cluster;
    struct attempt *attempt = calloc(1, sizeof *attempt);

    if (attempt == NULL)
        abort();
    attempt->client = client;
    attempt->next = client->attempts;
    client->attempts = attempt;
    snprintf(attempt->name, sizeof attempt->name, "%s%u", prefix,
             ++cluster->attempt_count);
    snprintf(attempt->payload, sizeof attempt->payload, "%s/%s", client->name,
             attempt->name);
    attempt->started_us = hf_sim_now_us(cluster->sim);
    return attempt;
}

/* Add an item of ${kind} to ${attempt}: its own acquisition (${alone}), or the
 * next child of its multi-lock. */
static struct hf_acquisition *add_item(struct attempt *attempt,
                                       struct lock *lock,
                                       enum hf_ticket_kind kind, bool alone)
{
    struct item *item = &attempt->items[attempt->item_count];

    assert(attempt->item_count < ATTEMPT_ITEMS_MAX);
    item->a = alone ? &attempt->a : &attempt->children[attempt->item_count];
    item->lock = lock;
    item->a->queue = lock->name;
    item->a->payload = attempt->payload;
    item->a->kind = kind;
    if (!alone) {
        item->a->only_try = attempt->a.only_try;
        item->a->deadline_at_ms = attempt->a.deadline_at_ms;
        item->a->report_every_ms = attempt->a.report_every_ms;
    }
    attempt->item_count++;
    return item->a;
}

/* Permits are two items: the entry mutex, and the ticket of the permits. */
static void add_semaphore(struct attempt *attempt,
                          const struct lock_spec *lock_spec)
{
    struct hf_acquisition *child;

    child = add_item(attempt, lock_spec->lock, HF_TICKET_MUTEX, false);
    child->entry_mutex = true;
    child = add_item(attempt, lock_spec->lock->leases, HF_TICKET_LEASE, false);
    child->weight = lock_spec->weight;
    child->limit = lock_spec->lock->leases->limit;
}

/* The cohort of the client for the lock.  It is initialised again after the
 * core has forgotten all its waiters, unless it keeps its ticket. */
static struct group *group_at(struct client *client, struct lock *lock)
{
    struct group *group = client->groups;

    while (group != NULL &&
           (group->lock != lock || group->incarnation != client->incarnation))
        group = group->next;
    if (group == NULL) {
        group = calloc(1, sizeof *group);
        if (group == NULL)
            abort();
        group->client = client;
        group->lock = lock;
        group->incarnation = client->incarnation;
        group->next = client->groups;
        client->groups = group;
    }
    if (!group->ready)
        hf_cohort_init(&group->cohort, lock->name, client->cluster->handoffs,
                       client->cluster->keep_ms);
    group->ready = true;
    return group;
}

/* The attempt takes over what is known of the group's current ticket. */
static void add_shared(struct attempt *attempt, struct lock *lock)
{
    struct group *group = group_at(attempt->client, lock);
    struct hf_acquisition *a = add_item(attempt, lock, HF_TICKET_MUTEX, true);

    hf_acquisition_use_cohort(a, &group->cohort);
    attempt->group = group;
    attempt->id = attempt->items[0].id = group->id;
    attempt->enqueued = attempt->items[0].enqueued = group->enqueued;
    attempt->evicted = group->evicted;
}

/* One lock is an acquisition; several locks, or a semaphore, are a
 * multi-lock. */
static void add_items(struct attempt *attempt, const struct lock_spec *specs,
                      unsigned count)
{
    if (count == 1 && specs[0].shares) {
        add_shared(attempt, specs[0].lock);
        return;
    }
    if (count == 1 && specs[0].kind != HF_TICKET_LEASE) {
        add_item(attempt, specs[0].lock, specs[0].kind, true);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (specs[i].kind == HF_TICKET_LEASE)
            add_semaphore(attempt, &specs[i]);
        else
            add_item(attempt, specs[i].lock, specs[i].kind, false);
    }
    attempt->a.kind = HF_TICKET_MUTEX;
    attempt->a.queue = specs[0].lock->name;
    attempt->a.payload = attempt->payload;
    hf_acquisition_use_multi_lock(&attempt->a, &attempt->multi_lock);
    attempt->multi_lock.children = attempt->children;
    attempt->multi_lock.count = attempt->item_count;
    attempt->multi_lock.token_child = attempt->item_count - 1;
}

/* The name of the lock that ${item} is about, without that of the queue. */
static int lock_name_bytes(const struct item *item)
{
    size_t bytes = strlen(item->lock->name);

    if (item->a->kind == HF_TICKET_LEASE)
        bytes -= strlen(HF_QUEUE_LEASES);
    return (int)bytes;
}

/* Write to ${holds} what the client of ${attempt} holds, as the client does. */
static void write_holds(const struct attempt *attempt,
                        char holds[ATTEMPT_TEXT_BYTES])
{
    size_t used = 0;

    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        const struct item *item = &a->items[a->item_count - 1];
        char id[HF_TICKET_ID_TEXT_BYTES];

        if (!check_holds(a))
            continue;
        hf_ticket_id_format(&item->id, id);
        used += (size_t)snprintf(holds + used, ATTEMPT_TEXT_BYTES - used,
                                 "%s%.*s:%.8s", used == 0 ? " holds=" : ",",
                                 lock_name_bytes(item), item->lock->name, id);
        assert(used < ATTEMPT_TEXT_BYTES);
    }
}

/* Write the text of a ticket of ${lock_spec}, and see that the acquisition does
 * what it says. */
static void write_text(struct attempt *attempt,
                       const struct lock_spec *lock_spec)
{
    char holds[ATTEMPT_TEXT_BYTES] = "", permits[48] = "";
    int bytes;

    if (lock_spec->text == TEXT_NAME)
        return;
    write_holds(attempt, holds);
    if (lock_spec->kind == HF_TICKET_LEASE)
        (void)snprintf(permits, sizeof permits,
                       " limit=%" PRIu32 " permits=%" PRIu32,
                       lock_spec->lock->leases->limit, lock_spec->weight);
    bytes = snprintf(
        attempt->payload, sizeof attempt->payload,
        "host=%s pid=1 command=%s%s%s%s", attempt->client->name, attempt->name,
        lock_spec->text == TEXT_DETECT ? " detect" : "", permits, holds);
    assert(bytes > 0 && (size_t)bytes < sizeof attempt->payload);
    if (lock_spec->text == TEXT_DETECT)
        attempt->a.detection = hf_alloc(sizeof *attempt->a.detection);
}

struct attempt *cluster_want_all(struct client *client,
                                 const struct lock_spec *specs, unsigned count,
                                 bool only_try, uint64_t wait_ms,
                                 uint64_t report_every_ms, uint64_t hold_us,
                                 bool release_on_loss)
{
    struct attempt *attempt = attempt_new(client, name_prefix_of(specs, count));

    attempt->lock = specs[0].lock;
    attempt->hold_us = hold_us;
    attempt->release_on_loss = release_on_loss;
    attempt->a.only_try = only_try;
    attempt->a.deadline_at_ms = hf_after_ms(driver_now_ms(client), wait_ms);
    attempt->a.report_every_ms = report_every_ms;
    attempt->limit_ms = only_try ? HF_FOREVER : attempt->a.deadline_at_ms;
    add_items(attempt, specs, count);
    write_text(attempt, &specs[0]);
    driver_call(client, HF_EVENT_ACQUIRE, attempt);
    return attempt;
}

struct attempt *cluster_want(struct client *client, struct lock *lock,
                             enum hf_ticket_kind kind, bool only_try,
                             uint64_t wait_ms, uint64_t report_every_ms,
                             uint64_t hold_us, bool release_on_loss)
{
    const struct lock_spec lock_spec = {
        .lock = lock, .kind = kind, .weight = 1};

    return cluster_want_all(client, &lock_spec, 1, only_try, wait_ms,
                            report_every_ms, hold_us, release_on_loss);
}

struct attempt *cluster_want_shared(struct client *client, struct lock *lock,
                                    bool only_try, uint64_t wait_ms)
{
    const struct lock_spec lock_spec = {
        .lock = lock, .kind = HF_TICKET_MUTEX, .weight = 1, .shares = true};

    return cluster_want_all(client, &lock_spec, 1, only_try, wait_ms, 0, 0,
                            false);
}

/* Also for permits that were not granted yet. */
void cluster_limit(struct attempt *attempt, uint32_t limit)
{
    struct client *client = attempt->client;
    struct hf_event event = {.kind = HF_EVENT_SET_LIMIT};

    assert(cluster_can_call(client));
    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (attempt->items[i].a->kind != HF_TICKET_LEASE)
            continue;
        attempt->items[i].lock->resized |=
            limit != attempt->items[i].lock->limit;
        event.now_ms = driver_now_ms(client);
        event.as.limit.acquisition = attempt->items[i].a;
        event.as.limit.permits = limit;
        cluster_trace(client->cluster, client->name, "limit %s %" PRIu32,
                      attempt->name, limit);
        driver_step(client, &event);
    }
}

void cluster_cancel(struct attempt *attempt)
{
    /* Also if it was granted: the user may not have been notified yet. */
    if (attempt->forgotten || attempt->release_called ||
        !cluster_can_call(attempt->client))
        return;
    attempt->cancelled = true;
    attempt->limit_ms =
        hf_min_ms(attempt->limit_ms, driver_now_ms(attempt->client));
    driver_call(attempt->client, HF_EVENT_CANCEL, attempt);
}

void cluster_release(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called);
    attempt->release_called = true;
    check_release(attempt);
    driver_call(attempt->client, HF_EVENT_RELEASE, attempt);
}

void cluster_check(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called && !attempt->lost);
    driver_call(attempt->client, HF_EVENT_CHECK, attempt);
    check_lazy_started(attempt->client);
}

void cluster_downgrade(struct attempt *attempt)
{
    assert(attempt->granted && !attempt->release_called && !attempt->lost);
    attempt->downgrade_called = attempt->downgrade_waits = true;
    driver_call(attempt->client, HF_EVENT_DOWNGRADE, attempt);
}
