/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of queues: invariants 4, 5, 6 and 14, and what must be left at the end
 * of a run. */
#include <inttypes.h>
#include <string.h>

#include "base/time_math.h"
#include "core/cohort.h"
#include "simulator/cluster/operation.h"
#include "simulator/model/lease_faults.h"

/* A release may wake at most this many waiters that cannot be granted; one that
 * looks ahead of its neighbour is enough for that. */
#define IDLE_WAKEUPS_MAX 2

/* -------------------------------------------------------------- wake-ups -- */

/* Is no conflicting ticket ahead of it? */
static bool is_next(const struct attempt *attempt, const struct item *item)
{
    struct hf_snapshot queue =
        hf_sim_queue(attempt->client->cluster->sim, item->lock->name);
    size_t position = hf_snapshot_find(&queue, &item->id);

    if (!item->enqueued || position == queue.count ||
        !hf_sim_ticket_current(attempt->client->engine, &item->id))
        return false;
    for (size_t i = 0; i < position; i++) {
        if (check_conflict(queue.tickets[i].kind, item->a->kind))
            return false;
    }
    return true;
}

/* Would its permits fit behind all others? */
static bool has_room(const struct attempt *attempt, const struct item *lease)
{
    struct hf_snapshot leases =
        hf_sim_queue(attempt->client->cluster->sim, lease->lock->name);
    size_t position = hf_snapshot_find(&leases, &lease->id);
    uint64_t permits = check_permits(&leases, leases.count);

    if (position < leases.count)
        permits -= leases.tickets[position].weight;
    return permits + lease->a->weight <= lease->a->limit;
}

/* The item that could be granted, or whose child could go on, without anything
 * else happening; NULL: none.  Which child the multi-lock is at is read from
 * the core, because only that child can go on. */
static const struct item *admissible(const struct attempt *attempt)
{
    if (attempt->group != NULL && check_group_ahead(attempt))
        return NULL;
    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct item *item = &attempt->items[i];

        if (attempt->item_count > 1 && !item->a->entry_mutex &&
            item->a->state == HF_ACQUISITION_HELD)
            continue;
        if (item->a->entry_mutex && item->a->state == HF_ACQUISITION_DONE)
            continue;
        if (!is_next(attempt, item))
            return NULL;
        if (item->a->entry_mutex && item->a->state == HF_ACQUISITION_HELD)
            return has_room(attempt, item + 1) ? item + 1 : NULL;
        if (item->a->kind == HF_TICKET_LEASE && !has_room(attempt, item))
            return NULL;
        return item;
    }
    return NULL;
}

/* 4: an attempt that could be granted is, within .grant_limit_us without a
 * fault. */
static void check_wakeup(struct attempt *attempt)
{
    struct client *client = attempt->client;
    struct cluster *cluster = client->cluster;
    uint64_t now_us = hf_sim_now_us(cluster->sim);

    const struct item *due = attempt->enqueued ? admissible(attempt) : NULL;

    /* This check runs every 50 ms.  One run may see the cohort's ticket that is
     * about to go, and the next run another ticket, which is due only since
     * then. */
    if (due == NULL || due != attempt->grantable ||
        !hf_ticket_id_equal(&due->id, &attempt->grantable_ticket))
        attempt->admissible_us = now_us;
    attempt->grantable = due;
    if (due == NULL)
        return;
    attempt->grantable_ticket = due->id;
    if (now_us > attempt->admissible_us + cluster->grant_limit_us &&
        now_us > client->last_fault_us + cluster->grant_limit_us)
        cluster_broken(cluster, 4,
                       "%s could have been granted since %" PRIu64 ".%03u",
                       attempt->name, attempt->admissible_us / 1000,
                       (unsigned)(attempt->admissible_us % 1000));
}

/* 4: after its permits were granted it leaves the entry mutex to others. */
static void check_entry_mutexes(const struct attempt *attempt)
{
    const struct client *client = attempt->client;
    struct cluster *cluster = client->cluster;
    uint64_t since_us = hf_max_ms(attempt->granted_us, client->last_fault_us);

    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct item *item = &attempt->items[i];

        if (item->a->entry_mutex &&
            hf_sim_now_us(cluster->sim) > since_us + cluster->grant_limit_us &&
            hf_sim_ticket_exists(cluster->sim, &item->id))
            cluster_broken(cluster, 4,
                           "%s was granted at %" PRIu64
                           ".%03u and keeps the entry mutex %s",
                           attempt->name, attempt->granted_us / 1000,
                           (unsigned)(attempt->granted_us % 1000),
                           item->lock->name);
    }
}

/* 4: a ticket that is kept goes within .grant_limit_us without a fault when
 * others wait, and when its time is over. */
static void check_kept(struct group *group)
{
    struct client *client = group->client;
    struct cluster *cluster = client->cluster;
    uint64_t now_us = hf_sim_now_us(cluster->sim);
    uint64_t limit_us = cluster->grant_limit_us;
    bool kept = group->ready && group->incarnation == client->incarnation &&
                group->cohort.kept_until_ms != 0;

    if (!kept || hf_sim_queue(cluster->sim, group->lock->name).count < 2)
        group->delays_since_us = 0;
    else if (group->delays_since_us == 0)
        group->delays_since_us = now_us;
    if (!kept || now_us <= client->last_fault_us + limit_us)
        return;
    if (group->delays_since_us != 0 &&
        now_us > group->delays_since_us + limit_us)
        cluster_broken(cluster, 4, "%s is kept while others wait for it",
                       group->lock->name);
    if (check_client_ms(client) > group->cohort.kept_until_ms + limit_us / 1000)
        cluster_broken(cluster, 4, "%s is kept for too long",
                       group->lock->name);
}

/* While a client is cut off or frozen, nothing of it can be granted. */
void check_wakeups(struct cluster *cluster)
{
    if (cluster->answers_garbled)
        return;
    for (unsigned i = 0; i < cluster->client_count; i++) {
        struct client *client = &cluster->clients[i];

        if (!client->alive || client->closing)
            continue;
        if (!hf_sim_connected(client->engine) ||
            hf_sim_frozen(client->engine)) {
            client->last_fault_us = hf_sim_now_us(cluster->sim);
            continue;
        }
        for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
            if (!a->forgotten && check_waits(a))
                check_wakeup(a);
            else if (check_holds(a))
                check_entry_mutexes(a);
        }
        for (struct group *g = client->groups; g != NULL; g = g->next)
            check_kept(g);
    }
}

/* ----------------------------------------------------------------- queue -- */

/* Record for each queue that there are tickets to wait for. */
static void note_contention(struct cluster *cluster,
                            const struct hf_ticket *ticket)
{
    const struct ticket_record *record =
        cluster_ticket_record(cluster, &ticket->id);

    for (unsigned i = 0; i < cluster->lock_count; i++) {
        struct hf_snapshot queue =
            hf_sim_queue(cluster->sim, cluster->locks[i].name);

        if (queue.count > 1 ||
            (cluster->locks[i].limit > 0 && queue.count > 0) ||
            (queue.count == 1 && record != NULL && record->attempt == NULL &&
             record->group == NULL))
            cluster->locks[i].contended_at_us = hf_sim_now_us(cluster->sim);
    }
}

static struct lock *lock_named(struct cluster *cluster, const char *queue)
{
    for (unsigned i = 0; i < cluster->lock_count; i++) {
        if (strcmp(cluster->locks[i].name, queue) == 0)
            return &cluster->locks[i];
    }
    return NULL;
}

/* 2, 5: a leasing server gives each ticket a token greater than all before, and
 * a ticket that has gone does not come back. */
static void check_leased(struct cluster *cluster, const char *queue,
                         const struct hf_ticket *ticket,
                         struct ticket_record *record)
{
    struct lock *lock = lock_named(cluster, queue);

    if (!hf_sim_is_leased(cluster->sim))
        return;
    if (record != NULL && record->gone)
        cluster_broken(cluster, 5, "a ticket that was gone is in %s again",
                       queue);
    if (record != NULL)
        record->token = ticket->token;
    if (lock == NULL)
        return;
    if (ticket->token <= lock->highest_token)
        cluster_broken(cluster, 2,
                       "a ticket in %s has token %" PRIu64 " after %" PRIu64,
                       queue, ticket->token, lock->highest_token);
    lock->highest_token = hf_max_ms(lock->highest_token, ticket->token);
}

/* May ${attempt}, which was never in the queue, be overtaken?  It may be
 * ending, or an enqueue of it has failed, even if only the engine learned
 * that. */
static bool is_excused(const struct attempt *attempt)
{
    const struct cluster *cluster = attempt->client->cluster;
    uint64_t now_ms = check_client_ms(attempt->client);
    uint64_t limit_ms = attempt->limit_ms;

    if (attempt->forgotten) /* the core has forgotten .a */
        return true;
    if (attempt->a.only_try)
        limit_ms = hf_after_ms(attempt->a.started_at_ms, cluster->connect_ms);
    return !check_waits(attempt) || attempt->cancelled || now_ms >= limit_ms ||
           attempt->client->closing || cluster->denied || cluster->exhausted ||
           cluster->full || cluster->answers_garbled || attempt->failed;
}

static bool is_under_way(const struct attempt *attempt)
{
    const struct hf_own_ticket *ticket = attempt->items[0].a->tickets.current;

    return ticket != NULL && hf_own_ticket_enqueue_unanswered(ticket);
}

static void break_order(const struct attempt *attempt, const char *other)
{
    cluster_broken(attempt->client->cluster, 14,
                   "%s did not enter %s before %s, which was started later",
                   attempt->name, attempt->items[0].lock->name, other);
}

/* 14: attempts of one client enter a queue in the order in which they were
 * started.  Whether an enqueue under way was overtaken shows when it is
 * answered. */
static void check_order(struct attempt *attempt, const struct lock *lock)
{
    if (lock == NULL || lock != attempt->items[0].lock ||
        attempt->group != NULL)
        return;
    attempt->was_queued = true;
    for (struct attempt *a = attempt->next; a != NULL; a = a->next) {
        if (a->group != NULL || a->items[0].lock != lock || a->was_queued ||
            is_excused(a))
            continue;
        if (is_under_way(a))
            a->overtaken = true;
        else
            break_order(a, attempt->name);
    }
}

/* 14: an answer to an enqueue shows whether it failed or was overtaken. */
void check_enqueued(const struct hf_event *event)
{
    const struct hf_request *request = event->as.answer.request;
    struct attempt *attempt;

    if (request == NULL || request->kind != HF_REQUEST_ENQUEUE ||
        request->own_ticket == NULL ||
        hf_acquisition_cohort(request->own_ticket->acquisition) != NULL)
        return;
    attempt = cluster_attempt(request->own_ticket->acquisition);
    if (request->own_ticket->acquisition != attempt->items[0].a)
        return;
    if (event->kind == HF_EVENT_FAILED)
        attempt->failed = true;
    else if (attempt->overtaken && !is_excused(attempt))
        break_order(attempt, "another");
}

/* Enqueues of ${client} under way may fail, because the queue's node is
 * gone. */
static void excuse_under_way(const struct client *client,
                             const struct lock *lock)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->group == NULL && !a->forgotten && a->items[0].lock == lock &&
            is_under_way(a))
            a->failed = true;
    }
}

void check_deleted(struct cluster *cluster, const char *queue)
{
    for (unsigned i = 0; i < cluster->client_count; i++)
        excuse_under_way(&cluster->clients[i], lock_named(cluster, queue));
}

/* 5, 13: a ticket of an attempt does not appear after the attempt has ended. */
void check_added(struct cluster *cluster, const char *queue,
                 const struct hf_ticket *ticket)
{
    struct ticket_record *record = cluster_ticket_record(cluster, &ticket->id);

    note_contention(cluster, ticket);
    check_leased(cluster, queue, ticket, record);
    if (record == NULL)
        return;
    if (record->group != NULL && !check_group_lives(record->group) &&
        (cluster->keep_ms == 0 || hf_cohort_is_idle(&record->group->cohort)) &&
        record->group->incarnation == record->group->client->incarnation &&
        record->group->client->alive &&
        hf_sim_ticket_current(record->group->client->engine, &ticket->id))
        cluster_broken(cluster, 5,
                       "a ticket of a cohort appears after its members");
    if (record->attempt == NULL)
        return;
    if (!record->attempt->client->alive ||
        !hf_sim_ticket_current(record->attempt->client->engine, &ticket->id))
        return;
    check_order(record->attempt, lock_named(cluster, queue));
    if (record->attempt->forgotten)
        cluster_broken(cluster, 5,
                       "a ticket of %s appears after it was forgotten",
                       record->attempt->name);
    else if (record->attempt->ended && !record->attempt->a.may_remain &&
             !record->attempt->client->closing)
        cluster_broken(cluster, 13, "a ticket of %s appears after its end",
                       record->attempt->name);
}

static bool is_last_of(const struct attempt *attempt,
                       const struct hf_ticket *ticket)
{
    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (hf_ticket_id_equal(&attempt->items[i].id, &ticket->id))
            return true;
    }
    return false;
}

/* 6: the end of a grant wakes those that it admits, and few others. */
void check_gone(struct cluster *cluster, const char *queue,
                const struct hf_ticket *ticket,
                struct hf_request *const *watches, size_t count)
{
    struct ticket_record *record = cluster_ticket_record(cluster, &ticket->id);
    struct lock *lock = lock_named(cluster, queue);
    size_t useless = 0;
    char names[64] = "";

    if (record != NULL)
        record->gone = true;
    if (lock != NULL && hf_sim_queue(cluster->sim, queue).count > 0)
        lock->contended_at_us = hf_sim_now_us(cluster->sim);
    /* Not if a wait was given up, and not for a ticket that came late. */
    if (record == NULL || record->attempt == NULL ||
        !record->attempt->granted || !is_last_of(record->attempt, ticket))
        return;
    for (size_t i = 0; i < count; i++) {
        struct attempt *woken =
            cluster_attempt(watches[i]->own_ticket->acquisition);

        /* An attempt whose ticket was removed, and which does not know yet, is
         * not woken for nothing. */
        if (woken == record->attempt || !check_waits(woken) ||
            admissible(woken) != NULL ||
            !hf_sim_ticket_exists(cluster->sim, &woken->id))
            continue;
        useless++;
        strncat(names, " ", sizeof names - strlen(names) - 1);
        strncat(names, woken->name, sizeof names - strlen(names) - 1);
    }
    if (useless > IDLE_WAKEUPS_MAX)
        cluster_broken(cluster, 6,
                       "the end of %s wakes %zu that cannot enter:%s",
                       record->attempt->name, useless, names);
}

/* ------------------------------------------------------------------- end -- */

static bool empty(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->lock_count; i++) {
        if (hf_sim_queue(cluster->sim, cluster->locks[i].name).count > 0)
            return false;
    }
    return true;
}

static bool all_idle(const struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        if (!cluster_is_idle(&cluster->clients[i]))
            return false;
    }
    return true;
}

bool check_quiet(struct cluster *cluster)
{
    return all_idle(cluster) && empty(cluster);
}

/* 4, 5, 8: report everything that has not ended. */
void check_end(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        for (struct attempt *a = cluster->clients[i].attempts; a != NULL;
             a = a->next) {
            if (a->forgotten)
                continue;
            if (!a->granted && !a->ended)
                cluster_broken(cluster, 4, "%s waits for ever", a->name);
            else if (a->release_called && !a->released)
                cluster_broken(cluster, 8, "%s is never notified of RELEASED",
                               a->name);
            else
                cluster_broken(cluster, 5, "%s is never forgotten", a->name);
        }
        if (operation_is_open(&cluster->clients[i]))
            cluster_broken(cluster, 8, "an operation is never answered");
    }
    if (!empty(cluster))
        cluster_broken(cluster, 5, "a ticket is left in a queue");
}
