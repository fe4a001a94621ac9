/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what users are notified of: grants, losses, downgrades and ends. */
#include "simulator/check/check_grant.h"

#include <inttypes.h>
#include <string.h>

#include "base/time_math.h"

/* ---------------------------------------------------------------- grants -- */

/* The kind that its ticket has, as far as its user relies on it. */
static enum hf_ticket_kind kind_of(const struct attempt *attempt,
                                   const struct item *item)
{
    return attempt->downgrade_called ? HF_TICKET_READ : item->a->kind;
}

/* 1, 3: attempts of a group are granted in order, a ticket is handed on at most
 * .handoffs times unless it can be kept, and not at all after a revocation was
 * notified. */
static void check_group(const struct attempt *granted)
{
    struct client *client = granted->client;
    struct cluster *cluster = client->cluster;
    struct group *group = granted->group;
    bool older = false;

    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (older && a->group == group && !a->forgotten && check_waits(a) &&
            !a->cancelled && !a->a.only_try &&
            check_client_ms(client) < a->limit_ms)
            cluster_broken(cluster, 3, "%s was granted before %s",
                           granted->name, a->name);
        older |= a == granted;
    }
    if (++group->grants > 1 + (uint64_t)group->cohort.handoffs &&
        cluster->keep_ms == 0)
        cluster_broken(
            cluster, 3,
            "%s is the %uth to be granted on one ticket, which may be "
            "handed on %u times",
            granted->name, group->grants, group->cohort.handoffs);
    if (cluster_ticket_record(cluster, &granted->a.ticket_id)->revoke_notified)
        cluster_broken(cluster, 3, "%s was granted on a ticket that should go",
                       granted->name);
    /* The client may learn late of a removal while it is connected; after a
     * reconnect it has to look for the ticket first. */
    if (group->evicted_us != 0 && group->evicted_us < client->connected_us)
        cluster_broken(cluster, 1,
                       "%s was granted on a ticket that was taken away before "
                       "its client was connected",
                       granted->name);
}

/* 1, 3: no conflicting ticket is ahead of it in the committed state, and there
 * are enough permits. */
static void check_queue_order(struct attempt *attempt, const struct item *item)
{
    struct cluster *cluster = attempt->client->cluster;
    struct hf_snapshot queue = hf_sim_queue(cluster->sim, item->lock->name);
    size_t position = hf_snapshot_find(&queue, &item->a->ticket_id);

    if (attempt->evicted || check_clock_suspect(attempt))
        return;
    if (position == queue.count) {
        cluster_broken(cluster, 1, "%s was granted on a ticket that is gone",
                       attempt->name);
        return;
    }
    if (!hf_sim_ticket_current(attempt->client->engine, &item->a->ticket_id))
        cluster_broken(cluster, 1, "%s was granted on another session's ticket",
                       attempt->name);
    if (queue.tickets[position].token != item->a->token)
        cluster_broken(
            cluster, 2, "%s has token %" PRIu64 ", its ticket %" PRIu64,
            attempt->name, item->a->token, queue.tickets[position].token);
    if (item->a->kind == HF_TICKET_LEASE &&
        check_permits(&queue, position + 1) > item->a->limit)
        cluster_broken(
            cluster, 1, "%s was granted permits %" PRIu64 " of %" PRIu32,
            attempt->name, check_permits(&queue, position + 1), item->a->limit);
    for (size_t i = 0; i < position; i++) {
        const struct ticket_record *ahead =
            cluster_ticket_record(cluster, &queue.tickets[i].id);
        bool held =
            ahead == NULL || ahead->attempt == NULL || ahead->attempt->granted;
        const char *name = "another client's ticket";

        if (ahead != NULL && ahead->attempt != NULL)
            name = ahead->attempt->name;
        else if (ahead != NULL && ahead->group != NULL)
            name = "the ticket of a cohort";
        if (check_conflict(queue.tickets[i].kind, item->a->kind))
            cluster_broken(cluster, held ? 1 : 3,
                           "%s was granted behind %s (%s)", attempt->name, name,
                           held ? "held" : "waiting");
    }
}

/* The item of ${attempt} for ${lock} if it was granted and safe-until has not
 * passed; NULL if not, or if its client cannot know better. */
static const struct item *promised_item(const struct attempt *attempt,
                                        const struct lock *lock)
{
    if (!check_holds(attempt) || attempt->evicted ||
        check_clock_suspect(attempt) ||
        check_safe_until(attempt) <= check_client_ms(attempt->client))
        return NULL;
    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (attempt->items[i].lock == lock && !attempt->items[i].a->entry_mutex)
            return &attempt->items[i];
    }
    return NULL;
}

/* 1: no conflicting grant is safe still. */
static void check_conflicting_grants(struct attempt *granted,
                                     const struct item *item)
{
    struct cluster *cluster = granted->client->cluster;
    uint64_t permits = item->a->weight;

    if (granted->evicted || check_clock_suspect(granted))
        return;
    for (unsigned i = 0; i < cluster->client_count; i++) {
        struct client *client = &cluster->clients[i];

        for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
            const struct item *other =
                a == granted ? NULL : promised_item(a, item->lock);

            if (other == NULL)
                continue;
            permits += other->a->weight;
            if (check_conflict(kind_of(a, other), item->a->kind))
                cluster_broken(cluster, 1,
                               "%s was granted while %s is safe for %" PRIu64
                               " ms more",
                               granted->name, a->name,
                               check_safe_until(a) - check_client_ms(client));
        }
    }
    if (item->a->kind == HF_TICKET_LEASE && permits > item->a->limit)
        cluster_broken(cluster, 1,
                       "with %s, %" PRIu64 " permits of %" PRIu32 " are held",
                       granted->name, permits, item->a->limit);
}

/* 2: its token is greater than those of all earlier grants that conflict. */
static void check_token(struct attempt *attempt, const struct item *item)
{
    struct lock *lock = item->lock;
    uint64_t token = item->a->token;
    bool reads = item->a->kind == HF_TICKET_READ;

    if (attempt->group != NULL && attempt->group->grants > 1 &&
        token == lock->last_write_token)
        return; /* handed on */
    if (token <= lock->last_write_token ||
        (!reads && token <= lock->last_read_token))
        cluster_broken(attempt->client->cluster, 2,
                       "%s has token %" PRIu64 " after %" PRIu64 " and %" PRIu64
                       " (read)",
                       attempt->name, token, lock->last_write_token,
                       lock->last_read_token);
    if (reads)
        lock->last_read_token = hf_max_ms(lock->last_read_token, token);
    else
        lock->last_write_token = token;
}

/* 2: its token is that of its ticket.  check_added() has checked that tokens
 * rise. */
static void check_token_given(const struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;

    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct item *item = &attempt->items[i];
        const struct ticket_record *record =
            item->a->entry_mutex
                ? NULL
                : cluster_ticket_record(cluster, &item->a->ticket_id);

        if (record != NULL && record->token != item->a->token)
            cluster_broken(cluster, 2,
                           "%s has token %" PRIu64 ", its ticket %" PRIu64,
                           attempt->name, item->a->token, record->token);
    }
}

bool check_loss_queued(const struct attempt *attempt)
{
    const struct hf_effect *effect = &attempt->a.user.loss;

    return effect->queued && effect->kind == HF_EFFECT_LOST;
}

/* 1, 2, 3, 7, 8: nothing that conflicts is held, the token is greater than
 * earlier ones, and safe-until has not passed. */
void check_granted(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;
    uint64_t now_ms = check_client_ms(attempt->client);

    if (!check_waits(attempt))
        cluster_broken(cluster, 8, "%s was notified of GRANTED after its end",
                       attempt->name);
    attempt->granted = true;
    attempt->granted_id = attempt->a.ticket_id;
    attempt->granted_us = hf_sim_now_us(cluster->sim);
    cluster->grants++;
    attempt->safe_until_ms = check_safe_until(attempt);
    hf_safe_until_read_word(&attempt->client->core.session.published,
                            &attempt->a.user.valid, &attempt->reading);
    /* The ticket may have been found gone meanwhile; then LOST follows. */
    if (attempt->safe_until_ms <= now_ms && !check_loss_queued(attempt))
        cluster_broken(cluster, 7,
                       "%s was granted at %" PRIu64
                       " with a safe-until of %" PRIu64,
                       attempt->name, now_ms, attempt->safe_until_ms);
    if (attempt->client->state != HF_STATE_CONNECTED)
        cluster_broken(cluster, 7, "%s was granted while %s", attempt->name,
                       hf_state_name(attempt->client->state));
    if (attempt->cancelled)
        cluster_broken(cluster, 8, "%s was granted after it was cancelled",
                       attempt->name);
    if (attempt->group != NULL)
        check_group(attempt);
    if (cluster->answers_garbled)
        return;
    if (cluster->tokens_only) {
        check_token_given(attempt);
        return;
    }
    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct item *item = &attempt->items[i];

        if (item->a->entry_mutex)
            continue;
        check_queue_order(attempt, item);
        check_conflicting_grants(attempt, item);
        if (!check_clock_suspect(attempt) && !attempt->evicted &&
            item->a->kind != HF_TICKET_LEASE)
            check_token(attempt, item);
    }
}

/* 7, 8, 10: LOST comes after a grant, before all other effects of its event,
 * and with a reason. */
void check_lost(struct attempt *attempt)
{
    struct client *client = attempt->client;

    if (!check_holds(attempt))
        cluster_broken(client->cluster, 8,
                       "%s was notified of LOST without a grant",
                       attempt->name);
    if (client->began_drained && client->drained > 0)
        cluster_broken(client->cluster, 7,
                       "%s was notified of LOST after other effects",
                       attempt->name);
    if (check_safe_until(attempt) != 0)
        cluster_broken(client->cluster, 7,
                       "%s is lost and keeps its safe-until", attempt->name);
    /* With losses at SUSPENDED a link may end without a fault, for instance
     * when its server does not lead any more. */
    if (client->cluster->no_faults && !client->closing &&
        client->cluster->loss_at == HF_LOSS_AT_LOST)
        cluster_broken(client->cluster, 7, "%s was lost, and nothing was wrong",
                       attempt->name);
    if (attempt->a.message == NULL)
        cluster_broken(client->cluster, 10, "%s was lost without a reason",
                       attempt->name);
    attempt->lost = true;
    client->cluster->losses++;
    attempt->safe_until_ms = 0;
    /* All attempts that one event loses are notified in a row. */
    client->drained--;
}

/* 7: with losses at SUSPENDED, all holders have been notified of LOST by
 * then. */
void check_suspended(struct client *client)
{
    if (client->cluster->loss_at != HF_LOSS_AT_SUSPENDED)
        return;
    for (const struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (check_holds(a))
            cluster_broken(client->cluster, 7,
                           "%s was not notified of LOST, and the link is down",
                           a->name);
    }
}

/* Notified of LOST, or released at the same time and then released with
 * HF_ELOST. */
static bool is_lost(const struct attempt *attempt)
{
    return attempt->lost ||
           (attempt->release_called && attempt->a.status == HF_ELOST);
}

/* 3, 9: its ticket has the kind that it was notified of, once. */
void check_downgraded(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;
    struct hf_snapshot queue = hf_sim_queue(cluster->sim, attempt->lock->name);
    size_t position = hf_snapshot_find(&queue, &attempt->id);
    hf_status status = attempt->a.user.downgrade_status;

    if (!attempt->downgrade_waits)
        cluster_broken(cluster, 8,
                       "%s was notified of DOWNGRADED without a downgrade",
                       attempt->name);
    attempt->downgrade_waits = false;
    if (status == HF_OK) {
        if (!check_holds(attempt))
            cluster_broken(cluster, 8, "%s is a reader without a grant",
                           attempt->name);
        if (position < queue.count &&
            queue.tickets[position].kind != HF_TICKET_READ)
            cluster_broken(cluster, 4,
                           "%s was notified of DOWNGRADED and is no reader",
                           attempt->name);
    } else if (status != HF_EUNSURE && check_holds(attempt) &&
               position < queue.count &&
               queue.tickets[position].kind == HF_TICKET_READ) {
        cluster_broken(cluster, 1,
                       "%s is a writer still, %s, and its ticket a reader's",
                       attempt->name, hf_status_name(status));
    } else if (!(status == HF_ELOST && is_lost(attempt)) &&
               !(status == HF_ECANCELLED && attempt->release_called) &&
               !((status == HF_EDENIED || status == HF_EUNSURE) &&
                 cluster->denied)) {
        cluster_broken(cluster, 9,
                       "%s was not downgraded, %s, without a reason",
                       attempt->name, hf_status_name(status));
    }
}

/* ------------------------------------------------------------------ ends -- */

/* Was there another ticket at some time since it began? */
static bool was_contended(const struct attempt *attempt)
{
    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (attempt->items[i].lock->contended_at_us >= attempt->started_us)
            return true;
    }
    return false;
}

/* Does the semaphore store its number of permits, and do users disagree on
 * it? */
static bool sizes_differ(const struct attempt *attempt)
{
    const struct hf_sim_ensemble *ensemble =
        &attempt->client->cluster->config.ensemble;

    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (attempt->items[i].lock->resized)
            return ensemble->servers > 0 && ensemble->layout == HF_ZK_KAZOO;
    }
    return false;
}

/* 9: is there a cause for the status? */
static bool may_end(const struct attempt *attempt)
{
    const struct client *client = attempt->client;
    const struct cluster *cluster = client->cluster;
    uint64_t now_ms = check_client_ms(client);
    bool wait_over =
        now_ms >= hf_after_ms(attempt->a.started_at_ms, cluster->connect_ms);
    bool gave_up =
        client->gave_up && attempt->a.started_at_ms <= client->gave_up_ms;

    switch (attempt->a.status) {
    case HF_EBUSY:
        return attempt->a.only_try &&
               (was_contended(attempt) || cluster->answers_garbled ||
                (attempt->group != NULL && check_group_needs(attempt)));
    case HF_ETIMEDOUT:
        return !attempt->a.only_try && now_ms >= attempt->a.deadline_at_ms;
    case HF_ECANCELLED:
        return attempt->cancelled;
    case HF_ECLOSED:
        return client->closing;
    case HF_EUNREACHABLE:
        wait_over |=
            !client->ever_connected &&
            now_ms >= hf_after_ms(client->opened_ms, cluster->connect_ms);
        return gave_up || (attempt->a.only_try && wait_over) ||
               (!client->ever_connected &&
                (wait_over || now_ms >= attempt->a.deadline_at_ms));
    case HF_EDENIED:
        return cluster->denied;
    case HF_EFULL:
        return cluster->full;
    case HF_EEXHAUSTED:
        return cluster->exhausted;
    case HF_EKIND:
        return cluster->mixed_kinds || sizes_differ(attempt);
    case HF_EPROTOCOL:
        return cluster->answers_garbled;
    default:
        return false;
    }
}

/* Were all other waiters of the group notified of their end?  Then this one is
 * the last that waits for removals. */
static bool is_last_notified(const struct attempt *attempt)
{
    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a != attempt && a->group == attempt->group && !a->forgotten &&
            !a->ended && !a->released)
            return false;
    }
    return !attempt->group->may_remain;
}

/* Was somebody granted on the ticket?  Then that one's release removes it. */
static bool was_granted(const struct attempt *attempt,
                        const struct hf_ticket_id *id)
{
    for (const struct attempt *a = attempt->client->attempts; a != NULL;
         a = a->next) {
        if (a->group == attempt->group && a->granted &&
            hf_ticket_id_equal(&a->granted_id, id))
            return true;
    }
    return false;
}

/* Does ${a} await the removal of a ticket?  A multi-lock and the waiter of a
 * cohort have none of their own. */
static bool awaits_removal(const struct hf_acquisition *a)
{
    return a->ops->takes_tickets && hf_acquisition_awaits_removal(a);
}

/* 13: an attempt ends after all its tickets have left their queues, or it is
 * notified that one may still be there. */
static void check_removed(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;
    struct group *group = attempt->group;

    if (awaits_removal(&attempt->a) && !attempt->client->closing &&
        check_client_ms(attempt->client) < attempt->a.notify_at_ms)
        cluster_broken(
            cluster, 13,
            "%s ended before its removal was answered, and in no need",
            attempt->name);
    if (group != NULL)
        group->may_remain |= attempt->a.may_remain;
    if (attempt->a.may_remain || attempt->client->closing ||
        cluster->answers_garbled)
        return;
    if (group != NULL && !is_last_notified(attempt))
        group = NULL;
    for (unsigned i = 0; i < cluster->ticket_count; i++) {
        const struct ticket_record *record = &cluster->tickets[i];
        bool mine =
            record->attempt == attempt ||
            (group != NULL && hf_ticket_id_equal(&record->id, &group->id) &&
             !was_granted(attempt, &record->id));

        if (mine && hf_sim_ticket_current(attempt->client->engine, &record->id))
            cluster_broken(cluster, 13,
                           "%s has ended and is still in the queue",
                           attempt->name);
    }
}

/* 8, 9, 10, 13: an attempt ends once, with a cause and a message, and after its
 * tickets are gone. */
void check_ended(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;

    if (!check_waits(attempt))
        cluster_broken(cluster, 8, "%s was notified of ENDED after its end",
                       attempt->name);
    attempt->ended = true;
    if (!may_end(attempt))
        cluster_broken(cluster, 9, "%s ended with %s, which has no cause",
                       attempt->name, hf_status_name(attempt->a.status));
    if (attempt->a.message == NULL)
        cluster_broken(cluster, 10, "%s ended with %s and no message",
                       attempt->name, hf_status_name(attempt->a.status));
    check_removed(attempt);
}

void check_release(struct attempt *attempt)
{
    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct hf_acquisition *a = attempt->items[i].a;

        attempt->gone_before_release |=
            !a->entry_mutex &&
            !hf_sim_ticket_current(attempt->client->engine, &a->ticket_id);
    }
}

/* 8, 9, 10, 13: released once, and HF_OK only if its tickets were removed by
 * the release. */
void check_released(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;

    if (!attempt->release_called || attempt->released)
        cluster_broken(cluster, 8, "%s was notified of RELEASED %s",
                       attempt->name,
                       attempt->released ? "twice" : "without a release");
    attempt->released = true;
    if (attempt->downgrade_waits)
        cluster_broken(cluster, 8, "%s was not notified of DOWNGRADED",
                       attempt->name);
    if (attempt->a.status != HF_OK && attempt->a.status != HF_ELOST)
        cluster_broken(cluster, 9, "%s was released with %s", attempt->name,
                       hf_status_name(attempt->a.status));
    if (attempt->a.status != HF_OK && attempt->a.message == NULL)
        cluster_broken(cluster, 10, "%s was released with %s and no message",
                       attempt->name, hf_status_name(attempt->a.status));
    if (attempt->group != NULL &&
        (check_group_needs(attempt) || cluster->keep_ms > 0))
        return; /* handed on, given back for another, or kept */
    if (attempt->a.status == HF_OK && attempt->gone_before_release &&
        !cluster->answers_garbled)
        cluster_broken(cluster, 13,
                       "%s was released in order, and its ticket was gone",
                       attempt->name);
    for (unsigned i = 0; i < attempt->item_count; i++) {
        if (attempt->a.status == HF_OK && attempt->items[i].enqueued &&
            hf_sim_ticket_current(attempt->client->engine,
                                  &attempt->items[i].id))
            cluster_broken(cluster, 5, "%s is released and still in the queue",
                           attempt->name);
    }
}

/* 5, 8: nothing of it is left in a queue. */
void check_forgotten(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;
    bool last;

    if (attempt->forgotten || !(attempt->ended || attempt->released))
        cluster_broken(cluster, 8, "%s was forgotten %s", attempt->name,
                       attempt->forgotten ? "twice" : "before its end");
    attempt->forgotten = true;
    last = attempt->group != NULL && !check_group_lives(attempt->group) &&
           cluster->keep_ms == 0;
    for (unsigned i = 0; i < cluster->ticket_count; i++) {
        const struct ticket_record *record = &cluster->tickets[i];

        if ((last ? record->group == attempt->group
                  : record->attempt == attempt) &&
            hf_sim_ticket_current(attempt->client->engine, &record->id))
            cluster_broken(cluster, 5, "%s is forgotten and still in the queue",
                           attempt->name);
    }
}
