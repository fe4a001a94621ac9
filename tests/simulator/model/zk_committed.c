/* SPDX-License-Identifier: Apache-2.0 */
/* What is so: the queues as committed, and when the leader will end a session.
 * Also what somebody else does to them, with a client of his own. */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/time_math.h"
#include "engines/zookeeper/node_name.h"
#include "engines/zookeeper/permit.h"

#define WATCHES_MAX 256
#define PATH_BYTES 4096

/* --------------------------------------------------------------- queues -- */

static struct hf_engine *engine_of(const struct zk_session *session)
{
    return session == NULL ? NULL : session->engine;
}

static const char *payload_of(struct hf_sim *sim, const struct zk_node *node)
{
    char *payload = sim_alloc(sim, node->bytes + 1);

    if (node->bytes > 0)
        memcpy(payload, node->data, node->bytes);
    return payload;
}

/* A ticket's name, in the layout that all of them have. */
static bool parse(const struct hf_sim *sim, const char *name,
                  struct hf_zk_node *parsed)
{
    size_t bytes = strlen(name);

    return (sim->config.ensemble.layout == HF_ZK_KAZOO &&
            hf_zk_permit_parse(name, bytes, parsed)) ||
           hf_zk_participant_parse(name, bytes, parsed) ||
           hf_zk_node_parse(name, bytes, parsed);
}

/* The queue whose path this is: hf_zk_queue_path() the other way round. */
static struct sim_queue *queue_at(struct hf_sim *sim, const char *path,
                                  bool permits)
{
    static const char gate[] = "-__lock__";
    const char *name = path + 1, *end = permits ? HF_QUEUE_LEASES : "";
    size_t bytes = strlen(name), less = sizeof gate - 1;
    char text[PATH_BYTES];

    if (sim->config.ensemble.layout == HF_ZK_KAZOO && bytes > less &&
        strcmp(name + bytes - less, gate) == 0) {
        bytes -= less;
        end = HF_QUEUE_LOCKS;
    }
    snprintf(text, sizeof text, "%.*s%s", (int)bytes, name, end);
    return sim_queue_find(sim, text);
}

/* One more node of a lease that is there. */
static void add_node(struct sim_ticket *ticket)
{
    if (++ticket->nodes > ticket->ticket.weight)
        ticket->ticket.weight = ticket->nodes;
}

/* So many of the parts make nodes of that lease. */
static uint32_t count_nodes(const struct hf_sim *sim,
                            const struct zk_txn *parts,
                            const struct hf_ticket_id *id)
{
    struct hf_zk_node parsed;
    uint32_t count = 0;

    for (; parts != NULL; parts = parts->next) {
        const char *name =
            parts->path == NULL ? "" : strrchr(parts->path, '/') + 1;

        count += parts->opcode == HF_ZK_CREATE && parse(sim, name, &parsed) &&
                 hf_ticket_id_equal(&parsed.id, id);
    }
    return count;
}

void zk_committed_create(struct hf_sim *sim, struct zk_node *node,
                         const struct zk_txn *following)
{
    struct hf_engine *engine = engine_of(node->owner);
    struct hf_zk_node parsed;
    struct hf_ticket ticket = {.token = (uint64_t)node->czxid, .weight = 1};
    struct sim_queue *queue;
    bool permit;

    if (!parse(sim, node->name, &parsed)) {
        if (!node->container)
            sim_observe_barrier(sim, node->path + 1, true);
        return;
    }
    permit = hf_zk_node_is_permit(&parsed);
    queue = queue_at(sim, node->parent->path, permit);
    if (parsed.kind == HF_TICKET_LEASE) {
        node->ticket = sim_ticket_find(queue, &parsed.id);
        ticket.weight += count_nodes(sim, following, &parsed.id);
    }
    if (node->ticket != NULL) {
        add_node(node->ticket);
        return;
    }
    ticket.id = parsed.id;
    ticket.kind = parsed.kind;
    ticket.sequence = permit || parsed.kind == HF_TICKET_PARTICIPANT
                          ? ticket.token
                          : hf_zk_node_order(parsed.sequence);
    ticket.payload = payload_of(sim, node);
    node->ticket = sim_ticket_add(sim, queue, &ticket,
                                  engine == NULL ? NULL : node->owner);
    node->ticket->data = (void *)(uintptr_t)node->path;
    node->ticket->nodes = 1;
    sim_trace(sim, engine, "server adds ticket %d to %s", parsed.sequence,
              queue->name);
}

void zk_committed_write(struct hf_sim *sim, struct zk_node *node)
{
    if (node->ticket != NULL)
        node->ticket->ticket.payload = payload_of(sim, node);
}

/* The requests that will hear of it. */
static size_t find_watches(struct hf_sim *sim, const struct sim_ticket *ticket,
                           struct hf_request *notified[WATCHES_MAX])
{
    size_t count = 0;

    for (struct hf_engine *e = sim->engines; e != NULL; e = e->next) {
        if (e->gone)
            continue;
        for (struct zk_watch_request *w = e->zk->watches; w != NULL;
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

/* With its first node it has gone for its owner, with the last for all. */
static void ticket_gone(struct hf_sim *sim, struct sim_ticket *ticket)
{
    struct hf_request *notified[WATCHES_MAX];
    bool known = ticket->partly_deleted;

    if (ticket->nodes == 0)
        sim_ticket_unlink(ticket);
    else
        ticket->ticket.weight = ticket->nodes;
    ticket->partly_deleted = ticket->nodes > 0;
    if (!known)
        sim_observe_gone(sim, ticket, notified,
                         find_watches(sim, ticket, notified));
}

void zk_committed_delete(struct hf_sim *sim, struct zk_node *node)
{
    struct sim_ticket *ticket = node->ticket;
    struct sim_ticket *touched = sim->zk->touched;

    if (ticket == NULL) {
        if (node->container)
            sim_observe_deleted(sim, node->path + 1);
        else
            sim_observe_barrier(sim, node->path + 1, false);
        return;
    }
    sim_trace(sim, engine_of(node->owner), "server removes ticket %s from %s",
              node->name + strlen(node->name) - 10, ticket->queue->name);
    ticket->nodes--;
    if (ticket->ticket.weight == 1) {
        ticket_gone(sim, ticket);
        return;
    }
    while (touched != NULL && touched != ticket)
        touched = touched->next_touched;
    if (touched != NULL)
        return;
    ticket->next_touched = sim->zk->touched;
    sim->zk->touched = ticket;
}

void zk_committed_end(struct hf_sim *sim)
{
    struct sim_ticket *ticket;

    while ((ticket = sim->zk->touched) != NULL) {
        sim->zk->touched = ticket->next_touched;
        ticket_gone(sim, ticket);
    }
}

/* ---------------------------------------------------------------- leases -- */

/* The timeout that ${message} has the leader count anew for ${session}, 0 if it
 * says nothing of it. */
static uint64_t touch_timeout_ms(const struct zk_message *message,
                                 const struct zk_session *session)
{
    const struct zk_session_touch *touch = message->touches;

    while (touch != NULL && touch->session != session)
        touch = touch->next;
    return touch == NULL ? 0 : touch->timeout_ms;
}

/* Is the word that the session lives on its way to the leader, and nothing in
 * it?  The shortest timeout that it tells, else 0.  With a strict proof it has
 * arrived. */
static uint64_t pending_touch_ms(const struct zk_server *leader,
                                 const struct zk_session *session)
{
    uint64_t least_ms = UINT64_MAX;

    if (leader->sim->config.ensemble.strict_proof)
        return 0;
    for (unsigned i = 0; i < ZK_SERVERS_MAX; i++) {
        const struct zk_peer_link *link = leader->links[i];

        if (link == NULL || !link->follower_open ||
            link->up.ops->blocked(&link->up))
            continue;
        for (const struct sim_pipe_item *m = link->up.first; m != NULL;
             m = m->next) {
            uint64_t ms =
                touch_timeout_ms((const struct zk_message *)m, session);

            if (ms != 0)
                least_ms = hf_min_ms(least_ms, ms);
        }
    }
    return least_ms == UINT64_MAX ? 0 : least_ms;
}

/* Is the answer under way that grants a client less than any server before,
 * although it was told of no floor?  It cannot know, and safe-until may be late
 * until it does: that is documented. */
static bool grants_less(const struct hf_engine *engine)
{
    const struct zk_connection *connection = engine->zk->connection;

    return engine->sim->config.ensemble.timeout_floor_ms == 0 &&
           connection != NULL && connection->client_open &&
           connection->accepted && !connection->client_accepted &&
           connection->timeout_ms < connection->session->timeout_ms;
}

uint64_t zk_lease_end_us(const struct hf_engine *engine,
                         const struct hf_ticket_id *ticket)
{
    const struct zk_session *session = engine->zk->client_session;
    const struct hf_sim *sim = engine->sim;
    const struct zk_server *leader = sim->zk->leader;
    uint64_t ms;

    (void)ticket;
    if (grants_less(engine))
        return UINT64_MAX;
    /* Whoever leads next gives every session its whole timeout. */
    if (leader == NULL) {
        struct sim_clock next = {.since_us = sim->now_us,
                                 .ppm = sim->config.server_ppm};

        return sim_clock_when_us(&next, sim->now_us,
                                 1000 * session->timeout_ms);
    }
    if (!zk_session_tracked(leader, session))
        return sim->now_us;
    if ((ms = pending_touch_ms(leader, session)) != 0)
        return sim_clock_when_us(&leader->clock, sim->now_us,
                                 zk_clock_us(leader) + 1000 * ms);
    return sim_clock_when_us(&leader->clock, sim->now_us,
                             session->expires_us[leader->index]);
}

/* ---------------------------------------------------------------- others -- */

static struct zk_command *create(struct hf_sim *sim, const char *path,
                                 struct zk_session *session)
{
    struct zk_command *command = zk_command_new(
        sim, session == NULL ? HF_ZK_CREATE_CONTAINER : HF_ZK_CREATE);

    command->path = sim_strdup(sim, path);
    command->session = session;
    return command;
}

void zk_make_parents(struct hf_sim *sim, const char *path)
{
    char parent[PATH_BYTES];

    for (size_t i = 1; path[i] != '\0'; i++) {
        if (path[i] != '/')
            continue;
        snprintf(parent, sizeof parent, "%.*s", (int)i, path);
        if (zk_find(&sim->zk->committed, parent) == NULL)
            create(sim, parent, NULL);
    }
}

/* A node of any name, as some other program makes it. */
void zk_other_create(struct hf_sim *sim, const char *path, bool sequential)
{
    zk_make_parents(sim, path);
    create(sim, path, sim->zk->other_session)->sequential = sequential;
    zk_commands_push(sim);
}

void zk_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                      enum hf_ticket_kind kind,
                      const struct hf_ticket_id *ticket,
                      const struct sim_ticket *beside)
{
    enum hf_zk_dialect layout = sim->config.ensemble.layout;
    char parent[HF_ZK_QUEUE_PATH_BYTES];
    char prefix[HF_ZK_NODE_BYTES];
    char path[PATH_BYTES];
    struct zk_command *command;
    bool permit = hf_zk_queue_path(layout, "", queue->name, parent);
    bool named = true;

    if (permit)
        hf_zk_permit_name(ticket, 0, prefix);
    else
        named = hf_zk_node_prefix(layout, ticket, kind, prefix);
    assert(named);
    (void)named;
    if (beside == NULL)
        snprintf(path, sizeof path, "%s/%s", parent, prefix);
    else
        snprintf(path, sizeof path, "%s/%s%010d", parent, prefix,
                 (int)beside->ticket.sequence);
    zk_make_parents(sim, path);
    command = create(sim, path, sim->zk->other_session);
    command->sequential = beside == NULL && !permit;
    command->ticket = *ticket;
    zk_commands_push(sim);
}

static void change_barrier(struct hf_sim *sim, const struct sim_queue *queue,
                           int32_t opcode)
{
    char path[PATH_BYTES];
    struct zk_command *command;

    snprintf(path, sizeof path, "/%s", queue->name);
    if (opcode == HF_ZK_CREATE)
        zk_make_parents(sim, path);
    command = zk_command_new(sim, opcode);
    command->path = sim_strdup(sim, path);
    zk_commands_push(sim);
}

void zk_set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up)
{
    change_barrier(sim, queue, up ? HF_ZK_CREATE : HF_ZK_DELETE);
}

void zk_touch_barrier(struct hf_sim *sim, struct sim_queue *queue)
{
    change_barrier(sim, queue, HF_ZK_SET_DATA);
}

/* Is it on its way into a queue? */
static bool is_being_created(const struct hf_sim *sim,
                             const struct hf_ticket_id *ticket)
{
    const struct zk_command *command = sim->zk->first_command;

    while (command != NULL &&
           (command->done || command->opcode != HF_ZK_CREATE ||
            !hf_ticket_id_equal(&command->ticket, ticket)))
        command = command->next;
    return command != NULL;
}

bool zk_evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
              struct sim_ticket *found)
{
    struct zk_command *command;

    if (found == NULL && !is_being_created(sim, ticket))
        return false;
    command = zk_command_new(sim, HF_ZK_DELETE);
    command->by_ticket = true;
    command->ticket = *ticket;
    zk_commands_push(sim);
    return true;
}
