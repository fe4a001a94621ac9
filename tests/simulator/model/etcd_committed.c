/* SPDX-License-Identifier: Apache-2.0 */
/* The committed state as queues and tickets, which the checks compare with:
 * updated with each revision.  Also: when a lease can end, and the writes of
 * other programs. */
#include "simulator/model/etcd_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/lock_name.h"
#include "engines/etcd/key_name.h"
#include "engines/etcd/ticket_value.h"
#include "simulator/model/etcd_client.h"

#define WATCHES_MAX 256
#define NAME_BYTES 1024

/* ----------------------------------------------------------------- names -- */

/* What a key is: of which queue, and what in it. */
struct place {
    char queue[NAME_BYTES];
    struct hf_etcd_engine_key_name name;
    bool is_flag; /* a barrier, or READY: .queue is what observers call it */
};

/* The key is PREFIX QUEUE/SUFFIX, or the key of a flag, which has no lease.
 * False: it is nothing that the checks know. */
static bool place_of(const struct etcd_version *version, struct place *place)
{
    static const char ready[] = "//ready";
    size_t prefix = strlen(ETCD_PREFIX), bytes = version->key->name.count;
    const char *key = (const char *)version->key->name.at;
    const char *slash;

    if (bytes <= prefix || bytes - prefix >= NAME_BYTES ||
        memcmp(key, ETCD_PREFIX, prefix) != 0)
        return false;
    snprintf(place->queue, sizeof place->queue, "%.*s", (int)(bytes - prefix),
             key + prefix);
    if (hf_etcd_engine_queue_is_reserved(place->queue))
        return false;
    slash = strstr(place->queue, ready);
    place->is_flag = true;
    if (slash != NULL && slash[sizeof ready - 1] == '\0') {
        /* QUEUE/ready */
        memmove(place->queue + (slash - place->queue), slash + 1,
                sizeof ready - 1);
        return true;
    }
    slash = strrchr(place->queue, '/');
    if (slash == NULL || version->lease == 0)
        return true;
    place->is_flag = false;
    place->name = hf_etcd_engine_key_name_parse(place->queue, slash + 1,
                                                strlen(slash + 1));
    place->queue[slash - place->queue] = '\0';
    return true;
}

static struct etcd_lease *lease_of(struct etcd_cluster *cluster,
                                   const struct etcd_version *version)
{
    return etcd_lease_find(cluster, version->lease, UINT64_MAX);
}

/* --------------------------------------------------------------- tickets -- */

static const char *text_of(struct hf_sim *sim, const char *text, size_t bytes)
{
    char *copy = sim_alloc(sim, bytes + 1);

    if (bytes > 0)
        memcpy(copy, text, bytes);
    return copy;
}

/* Fill in the ticket that the key and its value are.  The value of an election
 * is its text alone. */
static void read_ticket(struct hf_sim *sim, const struct place *place,
                        const struct etcd_version *version,
                        struct hf_ticket *ticket)
{
    const char *value = (const char *)version->value.at;
    size_t bytes = version->value.count;
    struct hf_etcd_engine_ticket_value parsed =
        hf_etcd_engine_value_parse(value, bytes);

    ticket->sequence = ticket->token = (uint64_t)version->create;
    ticket->weight = 1;
    if (place->name.form == HF_ETCD_KEY_ELECTION) {
        ticket->kind = HF_TICKET_ELECTION;
        ticket->id = place->name.id;
        ticket->payload = text_of(sim, value, bytes);
    } else if (place->name.form == HF_ETCD_KEY_FOREIGN || parsed.kind == 0) {
        ticket->kind = HF_TICKET_EXCLUSIVE;
        ticket->id = sim->etcd->committed->command->ticket;
        ticket->payload = "";
    } else {
        ticket->kind = parsed.kind;
        ticket->id = parsed.id;
        ticket->weight = parsed.weight == 0 ? 1 : parsed.weight;
        ticket->payload = text_of(sim, parsed.text, parsed.text_bytes);
    }
}

static void ticket_added(struct etcd_cluster *cluster,
                         const struct place *place,
                         struct etcd_version *version)
{
    struct hf_sim *sim = cluster->sim;
    struct etcd_lease *lease = lease_of(cluster, version);
    struct hf_ticket ticket = {.token = 0};

    read_ticket(sim, place, version, &ticket);
    version->ticket =
        sim_ticket_add(sim, sim_queue_find(sim, place->queue), &ticket,
                       lease == NULL || lease->engine == NULL ? NULL : lease);
    sim_trace(sim, lease == NULL ? NULL : lease->engine,
              "server adds ticket %llu to %s",
              (unsigned long long)version->create, place->queue);
}

/* The value may be that of another kind, or say who evicts the ticket. */
static void ticket_written(struct etcd_cluster *cluster,
                           const struct place *place,
                           struct etcd_version *version,
                           struct sim_ticket *ticket)
{
    struct hf_ticket now = {.token = 0};

    version->ticket = ticket;
    read_ticket(cluster->sim, place, version, &now);
    if (!hf_ticket_id_equal(&now.id, &ticket->ticket.id))
        return;
    ticket->ticket.kind = now.kind;
    ticket->ticket.payload = now.payload;
}

/* The requests of clients that will be answered GONE or CHANGED. */
static size_t find_watches(struct hf_sim *sim, const struct sim_ticket *ticket,
                           struct hf_request *notified[WATCHES_MAX])
{
    size_t count = 0;

    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        if (e->gone)
            continue;
        for (struct etcd_watch_request *w = e->etcd->watches; w != NULL;
             w = w->next) {
            if (w->watching && count < WATCHES_MAX &&
                strcmp(w->request->queue, ticket->queue->name) == 0 &&
                ((w->request->kind == HF_REQUEST_WATCH_QUEUE &&
                  w->request->ticket_kind != HF_TICKET_BARRIER) ||
                 hf_ticket_id_equal(&w->request->ticket, &ticket->ticket.id)))
                notified[count++] = w->request;
        }
    }
    return count;
}

static void ticket_gone(struct hf_sim *sim, struct sim_ticket *ticket)
{
    const struct etcd_lease *lease = ticket->owner;
    struct hf_request *notified[WATCHES_MAX];

    sim_ticket_unlink(ticket);
    sim_trace(sim, lease == NULL ? NULL : lease->engine,
              "server removes ticket %llu from %s",
              (unsigned long long)ticket->ticket.token, ticket->queue->name);
    sim_observe_gone(sim, ticket, notified,
                     find_watches(sim, ticket, notified));
}

/* --------------------------------------------------------------- changes -- */

static void put_seen(struct etcd_cluster *cluster, struct etcd_version *version)
{
    const struct etcd_version *was = version->previous;
    bool is_new = was == NULL || was->deleted;
    struct place place;

    if (!place_of(version, &place))
        return;
    if (place.is_flag)
        sim_observe_barrier(cluster->sim, place.queue, true);
    else if (place.name.form == HF_ETCD_KEY_DEEPER)
        return;
    else if (is_new || was->ticket == NULL)
        ticket_added(cluster, &place, version);
    else
        ticket_written(cluster, &place, version, was->ticket);
}

static void deletion_seen(struct etcd_cluster *cluster,
                          const struct etcd_version *version)
{
    const struct etcd_version *was = version->previous;
    struct place place;

    if (was == NULL || was->deleted)
        return;
    if (was->ticket != NULL)
        ticket_gone(cluster->sim, was->ticket);
    else if (place_of(was, &place) && place.is_flag)
        sim_observe_barrier(cluster->sim, place.queue, false);
}

/* Deletions come first: a transaction that replaces a ticket is one instant. */
void etcd_committed_changes(struct etcd_cluster *cluster, int64_t revision)
{
    struct etcd_version *first = cluster->store.changes[revision];

    for (struct etcd_version *v = first; v != NULL; v = v->next) {
        if (v->deleted)
            deletion_seen(cluster, v);
    }
    for (struct etcd_version *v = first; v != NULL; v = v->next) {
        if (!v->deleted)
            put_seen(cluster, v);
    }
}

/* ---------------------------------------------------------------- leases -- */

/* Is there a log that can still become the committed one, and that has the end
 * of the lease in it, because a lessor found it expired? */
static bool end_is_proposed(const struct etcd_cluster *cluster,
                            const struct etcd_lease *lease)
{
    for (unsigned i = 0; i < cluster->count; i++) {
        const struct etcd_entry *entry = cluster->members[i].log;
        bool found = false;

        for (; entry->index > cluster->committed->index;
             entry = entry->previous)
            found |= entry->command->kind == ETCD_REVOKE &&
                     entry->command->decided_in != 0 &&
                     entry->command->lease == lease->id;
        if (found && entry == cluster->committed)
            return true;
    }
    return false;
}

/* ${us} of the servers' time from now on. */
static uint64_t after_us(const struct hf_sim *sim, uint64_t us)
{
    struct sim_clock clock = {.since_us = sim->now_us,
                              .ppm = sim->config.server_ppm};

    return sim_clock_when_us(&clock, sim->now_us, us);
}

/* The earliest instant at which the lease can end.  A correct client's
 * safe-until is never later.  The leader of the highest term is the only one
 * that can commit a decision of its own; a leader that follows it begins every
 * lease anew. */
uint64_t etcd_lease_end_us(const struct hf_engine *engine,
                           const struct hf_ticket_id *ticket)
{
    const struct etcd_lease *lease = etcd_client_lease(engine);
    const struct hf_sim *sim = engine->sim;
    const struct etcd_member *leader = etcd_leader(sim->etcd);

    (void)ticket;
    if (lease == NULL || end_is_proposed(sim->etcd, lease))
        return sim->now_us;
    if (leader == NULL || !leader->primary ||
        leader->primary_term != leader->term)
        return after_us(sim, etcd_election_us(sim) + 1000 * lease->ttl_ms);
    if (leader->applied->index < lease->granted_index)
        return after_us(sim, 1000 * lease->ttl_ms);
    return sim_clock_when_us(&leader->clock, sim->now_us,
                             lease->expires_us[leader->index]);
}

/* -------------------------------------------------------- other programs -- */

/* Put behind those that are there, so that they are committed in order. */
struct etcd_command *etcd_command_new(struct hf_sim *sim,
                                      enum etcd_command_kind kind)
{
    struct etcd_command *command = sim_alloc(sim, sizeof *command);
    struct etcd_command **end = &sim->etcd->commands;

    command->kind = kind;
    while (*end != NULL)
        end = &(*end)->next;
    *end = command;
    return command;
}

static void drop_done(struct etcd_cluster *cluster)
{
    while (cluster->commands != NULL && cluster->commands->done)
        cluster->commands = cluster->commands->next;
}

/* Each leader proposes every command once. */
void etcd_commands_push(struct etcd_cluster *cluster)
{
    struct etcd_member *leader = etcd_leader(cluster);

    drop_done(cluster);
    if (leader == NULL || leader->frozen || !leader->leads)
        return;
    for (struct etcd_command *c = cluster->commands; c != NULL; c = c->next) {
        if (c->done || c->proposed_in == leader->term)
            continue;
        c->proposed_in = leader->term;
        etcd_propose(leader, c);
    }
}

void etcd_kill_session(struct hf_engine *engine)
{
    const struct etcd_lease *lease = etcd_client_lease(engine);
    struct etcd_command *command;

    if (lease == NULL)
        return;
    command = etcd_command_new(engine->sim, ETCD_REVOKE);
    command->lease = lease->id;
    etcd_commands_push(engine->sim->etcd);
}

/* Is a command that makes the ticket not committed yet? */
static bool is_being_made(const struct hf_sim *sim,
                          const struct hf_ticket_id *ticket)
{
    const struct etcd_command *command = sim->etcd->commands;

    while (command != NULL && (command->done || command->kind != ETCD_WRITE ||
                               !hf_ticket_id_equal(&command->ticket, ticket)))
        command = command->next;
    return command != NULL;
}

bool etcd_evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                struct sim_ticket *found)
{
    if (found == NULL && !is_being_made(sim, ticket))
        return false;
    etcd_command_new(sim, ETCD_EVICT)->ticket = *ticket;
    etcd_commands_push(sim->etcd);
    return true;
}

static struct etcd_command *put_key(struct hf_sim *sim, const char *name,
                                    int64_t lease, const char *value)
{
    struct etcd_command *command = etcd_command_new(sim, ETCD_WRITE);
    char key[NAME_BYTES];

    snprintf(key, sizeof key, ETCD_PREFIX "%s", name);
    command->op.kind = ETCD_OP_PUT;
    command->op.put.key = etcd_text(sim_strdup(sim, key));
    command->op.put.value = etcd_text(value);
    command->op.put.lease = lease;
    return command;
}

/* As Go's Mutex calls its keys.  It is not put beside another ticket, because
 * no two revisions are the same. */
void etcd_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                        enum hf_ticket_kind kind,
                        const struct hf_ticket_id *ticket,
                        const struct sim_ticket *beside)
{
    struct etcd_lease *lease = sim_alloc(sim, sizeof *lease);
    char name[NAME_BYTES];

    (void)kind;
    (void)beside;
    lease->id = (int64_t)(hf_random_next(&sim->random) >> 1);
    lease->ttl_ms = UINT64_C(1000000000000); /* it never ends */
    for (unsigned i = 0; i < ETCD_MEMBERS_MAX; i++)
        lease->expires_us[i] = UINT64_MAX;
    lease->next = sim->etcd->leases;
    sim->etcd->leases = lease;
    snprintf(name, sizeof name, "%s/%llx", queue->name,
             (unsigned long long)lease->id);
    put_key(sim, name, lease->id, "")->ticket = *ticket;
    etcd_commands_push(sim->etcd);
}

/* A barrier is one key; another program puts it, deletes it or puts it once
 * more. */
void etcd_set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up)
{
    struct etcd_command *command = put_key(sim, queue->name, 0, "");

    if (!up) {
        command->op.kind = ETCD_OP_DELETE;
        command->op.deletion.key = command->op.put.key;
    }
    etcd_commands_push(sim->etcd);
}

/* It is not set by that. */
void etcd_touch_barrier(struct hf_sim *sim, struct sim_queue *queue)
{
    struct etcd_command *command = put_key(sim, queue->name, 0, "");

    command->op.put.ignore_value = true;
    etcd_commands_push(sim->etcd);
}
