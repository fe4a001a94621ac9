/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of users, and what must hold of them.  Each is answered once, and
 * by its deadline.  A failure has a cause and a message.  A client that is not
 * cut off gets an answer, unless it waits at a barrier that is set.  A client
 * passes a barrier only if the barrier was cleared at some time since the wait
 * began.  A grant is notified of REVOKED only if some client revoked it. */
#include "simulator/cluster/operation.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/time_math.h"
#include "simulator/cluster/barrier.h"

static const char *const names[] = {
    [HF_REQUEST_LIST] = "list",        [HF_REQUEST_REMOVE] = "evict",
    [HF_REQUEST_REVOKE] = "revoke",    [HF_REQUEST_SET_FLAG] = "set",
    [HF_REQUEST_CLEAR_FLAG] = "clear", [HF_REQUEST_WATCH_QUEUE] = "wait",
};

static uint64_t client_ms(const struct client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

/* A new operation of ${client}, not started yet. */
static struct user_operation *operation_new(struct client *client,
                                            const char *queue,
                                            enum hf_request_kind kind,
                                            uint64_t wait_ms)
{
    struct user_operation *user_operation = calloc(1, sizeof *user_operation);

    if (user_operation == NULL)
        abort();
    user_operation->client = client;
    user_operation->operation.kind = kind;
    user_operation->operation.queue = queue;
    user_operation->operation.deadline_at_ms =
        hf_after_ms(client_ms(client), wait_ms);
    user_operation->started_us = hf_sim_now_us(client->cluster->sim);
    user_operation->started_ms = client_ms(client);
    user_operation->next = client->operations;
    client->operations = user_operation;
    return user_operation;
}

void operation_list(struct client *client, struct lock *lock, uint64_t wait_ms)
{
    struct user_operation *user_operation =
        operation_new(client, lock->name, HF_REQUEST_LIST, wait_ms);

    cluster_trace(client->cluster, client->name, "list %s", lock->name);
    cluster_start_operation(client, &user_operation->operation);
}

/* From now on the ticket may be gone at any time. */
void operation_evict(struct client *client, struct attempt *target,
                     uint64_t wait_ms)
{
    struct user_operation *user_operation =
        operation_new(client, target->lock->name, HF_REQUEST_REMOVE, wait_ms);

    user_operation->operation.ticket = target->id;
    cluster_note_eviction(target);
    cluster_trace(client->cluster, client->name, "evict %s", target->name);
    cluster_start_operation(client, &user_operation->operation);
}

/* Record which tickets are revoked, for operation_check_revoked(). */
void operation_revoke(struct client *client, struct attempt *target,
                      uint64_t wait_ms)
{
    struct user_operation *user_operation =
        operation_new(client, target->lock->name, HF_REQUEST_REVOKE, wait_ms);

    user_operation->operation.ticket = target->id;
    client->cluster->revoked = true;
    if (target->group != NULL && target->enqueued)
        cluster_ticket_record(client->cluster, &target->id)->revoked = true;
    for (unsigned i = 0; i < target->item_count; i++) {
        struct item *item = &target->items[i];

        if (!hf_ticket_id_equal(&item->id, &target->id))
            continue;
        item->revoked = true;
        item->revoked_id = target->id;
    }
    cluster_trace(client->cluster, client->name, "revoke %s", target->name);
    cluster_start_operation(client, &user_operation->operation);
}

void operation_set_barrier(struct client *client, struct barrier *barrier,
                           bool set, uint64_t wait_ms)
{
    struct user_operation *user_operation = operation_new(
        client, barrier->name,
        set ? HF_REQUEST_SET_FLAG : HF_REQUEST_CLEAR_FLAG, wait_ms);

    user_operation->barrier = barrier;
    cluster_trace(client->cluster, client->name, "%s %s", set ? "set" : "clear",
                  barrier->name);
    cluster_start_operation(client, &user_operation->operation);
}

struct user_operation *operation_wait(struct client *client,
                                      struct barrier *barrier, uint64_t wait_ms)
{
    struct user_operation *user_operation =
        operation_new(client, barrier->name, HF_REQUEST_WATCH_QUEUE, wait_ms);

    user_operation->barrier = barrier;
    user_operation->operation.only_try = wait_ms == 0;
    if (wait_ms == 0)
        user_operation->operation.deadline_at_ms = HF_FOREVER;
    cluster_trace(client->cluster, client->name, "wait at %s", barrier->name);
    cluster_start_operation(client, &user_operation->operation);
    return user_operation;
}

void operation_cancel(struct user_operation *user_operation)
{
    if (user_operation->answered || !cluster_can_call(user_operation->client))
        return;
    user_operation->recalled = true;
    cluster_trace(user_operation->client->cluster, user_operation->client->name,
                  "cancel wait at %s", user_operation->barrier->name);
    cluster_cancel_operation(user_operation->client,
                             &user_operation->operation);
}

/* 9: is this failure what happened? */
static bool may_fail(const struct user_operation *user_operation)
{
    const struct client *client = user_operation->client;
    uint64_t now_ms = client_ms(client);

    switch (user_operation->operation.status) {
    case HF_ETIMEDOUT:
        return now_ms >= user_operation->operation.deadline_at_ms;
    case HF_ECLOSED:
        return client->closing;
    case HF_EUNREACHABLE:
        return !client->ever_connected ||
               (client->gave_up &&
                user_operation->operation.started_at_ms <= client->gave_up_ms);
    case HF_EDENIED:
        return client->cluster->denied;
    case HF_EFULL:
        /* A removal needs no room, but a session does.  A server that has too
         * many requests says the same. */
        return client->cluster->config.refuse_chance > 0 ||
               (client->cluster->full &&
                (user_operation->operation.kind != HF_REQUEST_REMOVE ||
                 !client->ever_connected || client->gave_up));
    case HF_ECANCELLED:
        return user_operation->recalled;
    case HF_EBUSY:
        return user_operation->operation.only_try &&
               barrier_was_set(user_operation->barrier,
                               user_operation->started_us);
    default:
        return false;
    }
}

/* 1: a wait ends with HF_OK only if the barrier was cleared meanwhile. */
static void check_passed(const struct user_operation *user_operation)
{
    struct cluster *cluster = user_operation->client->cluster;

    if (user_operation->operation.kind == HF_REQUEST_WATCH_QUEUE &&
        !barrier_was_clear(user_operation->barrier, user_operation->started_us))
        cluster_broken(cluster, 1, "%s passes %s, which is up since %" PRIu64,
                       user_operation->client->name,
                       user_operation->barrier->name,
                       user_operation->barrier->set_us / 1000);
}

/* From now on the owner has to be notified of the revocation.  An answer after
 * a try without an answer does not count, because the owner may have been
 * notified for that try. */
static void record_revoke_found(const struct user_operation *user_operation)
{
    const struct hf_operation *operation = &user_operation->operation;
    struct ticket_record *record = cluster_ticket_record(
        user_operation->client->cluster, &operation->ticket);

    if (operation->kind == HF_REQUEST_REVOKE && operation->found &&
        operation->tries != HF_TRIES_UNSURE && record != NULL)
        record->revoke_found = true;
}

/* 8, 9, 10: an answer comes once, and a failure has a cause and a message. */
static void check_answer(struct user_operation *user_operation)
{
    struct cluster *cluster = user_operation->client->cluster;
    const struct hf_operation *operation = &user_operation->operation;
    const char *name = names[operation->kind];

    if (user_operation->answered || user_operation->finished)
        cluster_broken(cluster, 8, "%s is answered twice", name);
    user_operation->answered = true;
    cluster->answers++;
    if (operation->status == HF_OK) {
        check_passed(user_operation);
        record_revoke_found(user_operation);
        return;
    }
    if (!may_fail(user_operation))
        cluster_broken(cluster, 9, "%s failed with %s, which has no cause",
                       name, hf_status_name(operation->status));
    if (operation->text[0] == '\0')
        cluster_broken(cluster, 10, "%s failed with %s and no message", name,
                       hf_status_name(operation->status));
}

/* DONE comes once, after ANSWERED. */
void operation_effect(const struct hf_effect *effect)
{
    struct user_operation *user_operation =
        (struct user_operation *)(void *)effect->operation;
    struct client *client = user_operation->client;
    const struct hf_operation *operation = &user_operation->operation;

    if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        check_answer(user_operation);
        cluster_trace(client->cluster, client->name, "%s ANSWERED %s%s",
                      names[operation->kind], hf_status_name(operation->status),
                      operation->found ? " found" : "");
        return;
    }
    if (!user_operation->answered || user_operation->finished)
        cluster_broken(client->cluster, 8, "%s is finished %s",
                       names[operation->kind],
                       user_operation->finished ? "twice" : "unanswered");
    user_operation->finished = true;
}

/* Has any of its tickets been revoked?  Of a shared ticket, whichever attempt
 * holds it is notified. */
static bool was_revoked(const struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;

    if (attempt->group != NULL)
        return cluster_ticket_record(cluster, &attempt->a.ticket_id)->revoked;
    for (unsigned i = 0; i < attempt->item_count; i++) {
        const struct item *item = &attempt->items[i];

        if (item->revoked && hf_ticket_id_equal(&item->revoked_id, &item->id))
            return true;
    }
    return false;
}

/* 8: a holder is notified of REVOKED only after a revocation. */
void operation_check_revoked(const struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;

    if (!attempt->granted || attempt->lost || attempt->release_called)
        cluster_broken(cluster, 8,
                       "%s was notified of REVOKED and holds nothing",
                       attempt->name);
    if (!was_revoked(attempt))
        cluster_broken(cluster, 8,
                       "%s was notified of REVOKED and nobody revoked it",
                       attempt->name);
    if (attempt->group != NULL)
        cluster_ticket_record(cluster, &attempt->a.ticket_id)->revoke_notified =
            true;
}

/* 4, 9: is the answer late? */
static void check_one(const struct user_operation *user_operation)
{
    const struct client *client = user_operation->client;
    struct cluster *cluster = client->cluster;
    uint64_t limit_ms =
        hf_max_ms(user_operation->operation.deadline_at_ms, client->thawed_ms);
    uint64_t quiet_since_us = client->last_fault_us > user_operation->started_us
                                  ? client->last_fault_us
                                  : user_operation->started_us;

    if (client_ms(client) > hf_after_ms(limit_ms, check_lateness_ms(cluster)) &&
        client->tick_us > hf_sim_now_us(cluster->sim))
        cluster_broken(cluster, 9, "%s should have been answered by %" PRIu64,
                       names[user_operation->operation.kind], limit_ms);
    if (user_operation->operation.kind == HF_REQUEST_WATCH_QUEUE &&
        user_operation->barrier->is_set)
        return; /* nor should it have an answer */
    if (user_operation->operation.kind == HF_REQUEST_WATCH_QUEUE &&
        user_operation->barrier->cleared_us > quiet_since_us)
        quiet_since_us = user_operation->barrier->cleared_us;
    if (client->state == HF_STATE_CONNECTED &&
        hf_sim_connected(client->engine) &&
        hf_sim_now_us(cluster->sim) > quiet_since_us + cluster->grant_limit_us)
        cluster_broken(cluster, 4, "%s is never answered",
                       names[user_operation->operation.kind]);
}

void operation_check(const struct client *client)
{
    if (!client->alive || client->closing || hf_sim_frozen(client->engine))
        return;
    for (struct user_operation *q = client->operations; q != NULL; q = q->next)
        if (!q->answered)
            check_one(q);
}

bool operation_is_open(const struct client *client)
{
    for (struct user_operation *q = client->operations; q != NULL; q = q->next)
        if (!q->finished)
            return true;
    return false;
}

void operation_crash(struct client *client)
{
    for (struct user_operation *q = client->operations; q != NULL; q = q->next)
        q->answered = q->finished = true;
}

void operation_free(struct client *client)
{
    while (client->operations != NULL) {
        struct user_operation *user_operation = client->operations;

        client->operations = user_operation->next;
        free(user_operation);
    }
}
