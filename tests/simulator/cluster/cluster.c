/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a cluster and what happens to them: starts, closes, crashes,
 * faults; and the records of locks and tickets.
 */
#include "simulator/cluster/cluster.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "base/engine_host.h"
#include "base/time_math.h"
#include "core/cohort.h"
#include "simulator/cluster/barrier.h"
#include "simulator/cluster/driver.h"
#include "simulator/cluster/operation.h"
#include "simulator/model/zk_faults.h"

/* Is the invariant checked even if the server's clock is set or its data is
 * lost? */
static bool survives(int invariant)
{
    return invariant == 2 || invariant == 8 || invariant == 10;
}

/* Only the first violation counts, because later ones follow from it. */
void cluster_broken(struct cluster *cluster, int invariant, const char *format,
                    ...)
{
    va_list arguments;

    if (cluster->broken != 0 || (cluster->tokens_only && !survives(invariant)))
        return;
    cluster->check = format;
    va_start(arguments, format);
    vsnprintf(cluster->message, sizeof cluster->message, format, arguments);
    va_end(arguments);
    cluster_trace(cluster, "CHECK", "invariant %d broken: %s", invariant,
                  cluster->message);
    cluster->broken = invariant;
}

static struct client *client_of(struct cluster *cluster,
                                const struct hf_engine *engine)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        if (cluster->clients[i].engine == engine)
            return &cluster->clients[i];
    }
    return NULL;
}

static void on_line(void *arg, const struct hf_engine *engine, const char *text)
{
    struct cluster *cluster = arg;
    struct client *client = engine == NULL ? NULL : client_of(cluster, engine);

    cluster_trace(cluster, client == NULL ? "-" : client->name, "%s", text);
}

static void on_added(void *arg, const char *queue,
                     const struct hf_ticket *ticket)
{
    check_added(arg, queue, ticket);
}

static void on_gone(void *arg, const char *queue,
                    const struct hf_ticket *ticket,
                    struct hf_request *const *watches, size_t count)
{
    check_gone(arg, queue, ticket, watches, count);
}

static void on_deleted(void *arg, const char *queue)
{
    check_deleted(arg, queue);
}

static void on_node_changed(void *arg, const struct hf_sim_node_change *change)
{
    struct cluster *cluster = arg;

    if (cluster->node_changed != NULL)
        cluster->node_changed(arg, change);
}

/* --------------------------------------------------------------- tickets -- */

struct ticket_record *cluster_ticket_record(struct cluster *cluster,
                                            const struct hf_ticket_id *id)
{
    /* Searches are mostly for young tickets. */
    for (unsigned i = cluster->ticket_count; i-- > 0;) {
        if (hf_ticket_id_equal(&cluster->tickets[i].id, id))
            return &cluster->tickets[i];
    }
    return NULL;
}

void cluster_add_ticket_record(struct cluster *cluster,
                               const struct hf_ticket_id *id,
                               struct attempt *attempt, struct group *group)
{
    if (cluster->ticket_count == CLUSTER_TICKETS_MAX) {
        cluster_broken(cluster, 5,
                       "more than %d tickets in one run: a client "
                       "enqueues again and again",
                       CLUSTER_TICKETS_MAX);
        return;
    }
    cluster->tickets[cluster->ticket_count++] =
        (struct ticket_record){.id = *id, .attempt = attempt, .group = group};
}

/* -------------------------------------------------------- calls of users -- */

void cluster_start_operation(struct client *client,
                             struct hf_operation *operation)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};

    assert(cluster_can_call(client));
    event.now_ms = driver_now_ms(client);
    event.as.operation = operation;
    driver_step(client, &event);
}

void cluster_cancel_operation(struct client *client,
                              struct hf_operation *operation)
{
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};

    assert(cluster_can_call(client));
    event.now_ms = driver_now_ms(client);
    event.as.operation = operation;
    driver_step(client, &event);
}

void cluster_close(struct client *client)
{
    assert(!client->closing);
    client->closing = true;
    driver_call(client, HF_EVENT_CLOSE, NULL);
}

void cluster_crash(struct client *client)
{
    cluster_trace(client->cluster, client->name, "crash");
    client->alive = false;
    /* From now on nothing is notified. */
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        a->crashed |= !a->forgotten;
        a->forgotten = true;
    }
    operation_crash(client);
    hf_sim_crash(client->engine);
}

void cluster_discard(struct client *client)
{
    assert(client->closed && cluster_is_idle(client));
    client->alive = false;
    hf_sim_ops(client->cluster->sim)->free(client->engine);
}

bool cluster_proves_lazily(const struct cluster *cluster)
{
    return cluster->config.ensemble.lazy_proof ||
           cluster->config.etcd.lazy_proof;
}

bool cluster_is_idle(const struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten)
            return false;
    }
    return !operation_is_open(client);
}

/* ---------------------------------------------------------------- faults -- */

/* After a freeze the core's timer runs at once. */
void cluster_freeze(struct client *client, bool frozen)
{
    cluster_trace(client->cluster, client->name, frozen ? "freeze" : "thaw");
    if (!frozen)
        client->thawed_ms = driver_now_ms(client);
    hf_sim_set_frozen(client->engine, frozen);
    client->last_fault_us = hf_sim_now_us(client->cluster->sim);
    if (!frozen) {
        client->waking = true;
        client->tick_us = UINT64_MAX;
        driver_arm(client);
    }
}

/* The clock of the machine stops, so its client cannot know how long the pause
 * was. */
void cluster_pause(struct client *client, bool paused)
{
    cluster_trace(client->cluster, client->name, paused ? "pause" : "unpause");
    if (!paused)
        client->thawed_ms = driver_now_ms(client);
    hf_sim_set_paused(client->engine, paused);
    client->paused = paused;
    client->last_fault_us = hf_sim_now_us(client->cluster->sim);
    /* Proofs from before the pause may have been used until now. */
    client->clock_suspect_until_ms =
        hf_after_ms(driver_now_ms(client), client->cluster->config.timeout_ms);
    if (!paused) {
        client->waking = true;
        client->tick_us = UINT64_MAX;
        driver_arm(client);
    }
}

/* Tickets of the session may be gone at any time from now on. */
static void end_session(struct client *client)
{
    client->killed = true;
    for (struct group *group = client->groups; group != NULL;
         group = group->next)
        group->evicted = true;
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && a->enqueued)
            a->evicted = true;
    }
    client->last_fault_us = hf_sim_now_us(client->cluster->sim);
}

void cluster_kill_session(struct client *client)
{
    cluster_trace(client->cluster, client->name, "session killed");
    end_session(client);
    hf_sim_kill_session(client->engine);
}

/* Tokens start from the beginning with new servers.  docs say to use
 * token_floor= in that case. */
void cluster_wipe(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++)
        end_session(&cluster->clients[i]);
    for (unsigned i = 0; i < cluster->lock_count; i++)
        cluster->locks[i].last_write_token = cluster->locks[i].last_read_token =
            0;
    hf_sim_wipe(cluster->sim);
}

void cluster_note_eviction(struct attempt *attempt)
{
    struct client *client = attempt->client;

    attempt->evicted = true;
    client->last_fault_us = hf_sim_now_us(client->cluster->sim);
    if (attempt->group == NULL)
        return;
    attempt->group->evicted |=
        hf_ticket_id_equal(&attempt->group->id, &attempt->id);
    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        a->evicted |= a->group == attempt->group &&
                      hf_ticket_id_equal(&a->id, &attempt->id);
}

/* A shared ticket is gone for the whole group. */
bool cluster_evict(struct attempt *attempt)
{
    struct cluster *cluster = attempt->client->cluster;
    struct group *group = attempt->group;
    bool was_there;

    cluster_note_eviction(attempt);
    was_there = hf_sim_evict(cluster->sim, attempt->lock->name, &attempt->id);
    if (was_there && group != NULL &&
        hf_ticket_id_equal(&group->id, &attempt->id))
        group->evicted_us = hf_sim_now_us(cluster->sim);
    return was_there;
}

bool cluster_evict_item(struct attempt *attempt, unsigned number)
{
    const struct item *item = &attempt->items[number - 1];

    if (number == 0 || number > attempt->item_count)
        return false;
    cluster_note_eviction(attempt);
    return hf_sim_evict(attempt->client->cluster->sim, item->lock->name,
                        &item->id);
}

/* ------------------------------------------------------------ life cycle -- */

/* The core is initialised as the client does it. */
void cluster_open(struct client *client, uint64_t clock_ms, int32_t ppm)
{
    struct cluster *cluster = client->cluster;
    struct hf_engine_host host = {
        .event = driver_event, .now_ms = driver_now_ms, .host = client};
    struct hf_core_config config = {
        .traits = cluster->config.traits,
        .connect_ms = cluster->connect_ms,
        .loss_at = cluster->loss_at,
        .retry = {.base_ms = 10,
                  .cap_ms = 100,
                  .tries = HF_RETRY_UNLIMITED,
                  .elapsed_ms = HF_FOREVER},
    };

    client->incarnation++;
    client->alive = true;
    client->closing = client->closed = client->ever_connected = false;
    client->paused = client->killed = client->gave_up = false;
    client->state = HF_STATE_CONNECTING;
    client->tick_us = UINT64_MAX;
    client->clock_suspect_until_ms = 0;
    client->thawed_ms = 0;
    client->waking = false;
    client->engine = hf_sim_engine_new(cluster->sim, &host);
    hf_sim_client_set_clock(client->engine, clock_ms, ppm);
    client->opened_us = client->last_fault_us = hf_sim_now_us(cluster->sim);
    client->opened_ms = driver_now_ms(client);
    hf_random_seed(&config.random, hf_random_next(&cluster->random));
    hf_core_init(&client->core, &config, driver_now_ms(client));
    cluster_trace(cluster, client->name, "open");
}

void cluster_init(struct cluster *cluster, const struct hf_sim_config *config)
{
    struct hf_sim_observer observer = {.added = on_added,
                                       .gone = on_gone,
                                       .barrier_changed = barrier_changed,
                                       .deleted = on_deleted,
                                       .node_changed = on_node_changed,
                                       .line = on_line,
                                       .arg = cluster};

    memset(cluster, 0, sizeof *cluster);
    cluster->config = *config;
    cluster->sim = hf_sim_new(config);
    cluster->handoffs = HF_MUTEX_HANDOFFS;
    cluster->connect_ms = 15000;
    hf_random_seed(&cluster->random, config->seed ^ 0x686f6c6466617374);
    hf_sim_observe(cluster->sim, &observer);
    for (unsigned i = 0; i < CLUSTER_CLIENTS_MAX; i++) {
        cluster->clients[i].cluster = cluster;
        snprintf(cluster->clients[i].name, sizeof cluster->clients[i].name,
                 "%c", (char)('a' + (int)i));
    }
}

void cluster_free_attempt(struct attempt *attempt)
{
    struct hf_core *core = &attempt->client->core;

    hf_acquisition_free(core, &attempt->a);
    for (size_t i = 0; i < ATTEMPT_ITEMS_MAX; i++)
        hf_acquisition_free(core, &attempt->children[i]);
}

/* The memory of acquisitions that the core still has is freed with it. */
void cluster_free(struct cluster *cluster)
{
    /* The engines have pointers to requests, which are in the attempts. */
    hf_sim_free(cluster->sim);
    for (unsigned i = 0; i < CLUSTER_CLIENTS_MAX; i++) {
        struct client *client = &cluster->clients[i];

        while (client->attempts != NULL) {
            struct attempt *attempt = client->attempts;

            client->attempts = attempt->next;
            if (!attempt->forgotten || attempt->crashed)
                cluster_free_attempt(attempt);
            free(attempt);
        }
        while (client->groups != NULL) {
            struct group *group = client->groups;

            client->groups = group->next;
            if (group->ready)
                hf_cohort_free(&client->core, &group->cohort);
            free(group);
        }
        operation_free(client);
    }
}

struct lock *cluster_lock(struct cluster *cluster, const char *name,
                          bool read_write)
{
    struct lock *lock;

    for (unsigned i = 0; i < cluster->lock_count; i++) {
        if (strcmp(cluster->locks[i].name, name) == 0)
            return &cluster->locks[i];
    }
    assert(cluster->lock_count < CLUSTER_LOCKS_MAX);
    lock = &cluster->locks[cluster->lock_count++];
    snprintf(lock->name, sizeof lock->name, "%s", name);
    lock->read_write = read_write;
    return lock;
}

struct lock *cluster_semaphore(struct cluster *cluster, const char *name,
                               uint32_t limit)
{
    char queue[sizeof cluster->locks[0].name];
    struct lock *locks;

    snprintf(queue, sizeof queue, "%s" HF_QUEUE_LOCKS, name);
    locks = cluster_lock(cluster, queue, false);
    snprintf(queue, sizeof queue, "%s" HF_QUEUE_LEASES, name);
    locks->leases = cluster_lock(cluster, queue, false);
    locks->leases->limit = limit;
    return locks;
}
