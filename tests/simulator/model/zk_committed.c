/* SPDX-License-Identifier: Apache-2.0 */
/* The committed state as queues and tickets, which the checks compare with:
 * updated as transactions are applied to the committed replica.  Also: when the
 * leader will end a session, and the writes of other programs. */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"
#include "core/lock_name.h"
#include "engines/zookeeper/node_name.h"
#include "engines/zookeeper/zk_queue.h"

#define WATCHES_MAX 256
#define PATH_BYTES 4096

/* ---------------------------------------------------------------- queues -- */

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

/* Parse the name of a ticket's node in the layout of this run.  False: it is
 * none. */
static bool parse(const struct hf_sim *sim, const char *name,
                  struct hf_zk_engine_node *parsed)
{
    size_t bytes = strlen(name);

    return (sim->config.ensemble.layout == HF_ZK_KAZOO &&
            hf_zk_engine_permit_parse(name, bytes, parsed)) ||
           hf_zk_engine_participant_parse(name, bytes, parsed) ||
           hf_zk_engine_node_parse(name, bytes, parsed);
}

/* The queue whose nodes are below ${path}, the inverse of
 * hf_zk_engine_queue_path().
 * ${permits}: the queue of a semaphore's permits. */
static struct sim_queue *queue_at(struct hf_sim *sim, const char *path,
                                  bool permits)
{
    static const char suffix[] = "-__lock__";
    const char *name = path + 1, *end = permits ? HF_QUEUE_LEASES : "";
    size_t bytes = strlen(name), less = sizeof suffix - 1;
    char text[PATH_BYTES];

    if (sim->config.ensemble.layout == HF_ZK_KAZOO && bytes > less &&
        strcmp(name + bytes - less, suffix) == 0) {
        bytes -= less;
        end = HF_QUEUE_LOCKS;
    }
    snprintf(text, sizeof text, "%.*s%s", (int)bytes, name, end);
    return sim_queue_find(sim, text);
}

/* One more node of a ticket that has several, as permits of weight 2 have. */
static void add_node(struct sim_ticket *ticket)
{
    if (++ticket->nodes > ticket->ticket.weight)
        ticket->ticket.weight = ticket->nodes;
}

/* The number of operations in ${parts} that create a node of that ticket. */
static uint32_t count_nodes(const struct hf_sim *sim,
                            const struct zk_txn *parts,
                            const struct hf_ticket_id *id)
{
    struct hf_zk_engine_node parsed;
    uint32_t count = 0;

    for (; parts != NULL; parts = parts->next) {
        const char *name =
            parts->path == NULL ? "" : strrchr(parts->path, '/') + 1;

        count += parts->opcode == HF_ZK_CREATE && parse(sim, name, &parsed) &&
                 hf_ticket_id_equal(&parsed.id, id);
    }
    return count;
}

/* If the node is that of a success: it was written. */
static bool observe_success(struct hf_sim *sim, const struct zk_node *node)
{
    static const char prefix[] = HF_NAME_SUCCESS;
    char queue[PATH_BYTES], token[32];

    if (strncmp(node->name, prefix, sizeof prefix - 1) != 0)
        return false;
    snprintf(queue, sizeof queue, "%.*s%s", (int)(node->name - node->path - 1),
             node->path + 1, node->name + sizeof prefix - 1);
    snprintf(token, sizeof token, "%.*s", (int)node->bytes,
             (const char *)node->data);
    sim_observe_success(sim, queue, strtoull(token, NULL, 10),
                        node->written_us);
    return true;
}

/* The first node of a ticket adds the ticket with its whole weight, because all
 * its nodes are created in one transaction. */
void zk_committed_create(struct hf_sim *sim, struct zk_node *node,
                         const struct zk_txn *following)
{
    struct hf_engine *engine = engine_of(node->owner);
    struct hf_zk_engine_node parsed;
    struct hf_ticket ticket = {.token = (uint64_t)node->czxid, .weight = 1};
    struct sim_queue *queue;
    bool permit;

    if (!parse(sim, node->name, &parsed)) {
        if (!observe_success(sim, node) && !node->container)
            sim_observe_barrier(sim, node->path + 1, true);
        return;
    }
    permit = hf_zk_engine_node_is_permit(&parsed);
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
                          : hf_zk_engine_node_order(parsed.sequence);
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
    (void)observe_success(sim, node);
}

/* The requests of clients that will be answered GONE or CHANGED. */
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

/* When the first of its nodes is deleted, the ticket is gone for its owner;
 * when the last is, it leaves the queue. */
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

/* Tickets of several nodes wait until the transaction has been applied. */
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

void zk_committed_observe(struct hf_sim *sim, enum hf_sim_node_change_kind kind,
                          const struct zk_node *node)
{
    const struct zk_txn *txn = sim->zk->committed.applied;
    const struct hf_sim_node_change change = {
        .kind = kind,
        .path = node->path,
        .zxid = txn->zxid,
        .data = node->data,
        .bytes = node->bytes,
        .version = node->version,
        .aversion = node->aversion,
        .acl = node->acl,
        .engine = txn->request == NULL || txn->opcode == HF_ZK_CLOSE_SESSION
                      ? NULL
                      : txn->session->engine,
    };

    if (sim->observer.node_changed != NULL)
        sim->observer.node_changed(sim->observer.arg, &change);
}

/* ---------------------------------------------------------------- leases -- */

/* The timeout that ${message} makes the leader restart for ${session}; 0:
 * none. */
static uint64_t touch_timeout_ms(const struct zk_message *message,
                                 const struct zk_session *session)
{
    const struct zk_session_touch *touch = message->touches;

    while (touch != NULL && touch->session != session)
        touch = touch->next;
    return touch == NULL ? 0 : touch->timeout_ms;
}

/* Is a report that the session is alive on its way to the leader, on a link
 * that is not cut?  Then the shortest timeout in it, else 0.  With proof=strict
 * the client relies on no such report, so it is 0. */
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

/* Is an answer on its way that grants a client a shorter timeout than any
 * server before, and does the client have no timeout_floor=?  Until it arrives
 * the client's safe-until may be too late.  docs/proof.md says so. */
static bool grants_less(const struct hf_engine *engine)
{
    const struct zk_connection *connection = engine->zk->connection;

    return engine->sim->config.ensemble.timeout_floor_ms == 0 &&
           connection != NULL && connection->client_open &&
           connection->accepted && !connection->client_accepted &&
           connection->timeout_ms < connection->session->timeout_ms;
}

/* The earliest instant at which the leader can end the session, given what is
 * on its way to the leader.  A correct client's safe-until is never later. */
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
    /* The next leader gives each session a whole timeout. */
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

/* --------------------------------------------------------- other clients -- */

static struct zk_command *create(struct hf_sim *sim, const char *path,
                                 struct zk_session *session)
{
    struct zk_command *command = zk_command_new(
        sim, session == NULL ? HF_ZK_CREATE_CONTAINER : HF_ZK_CREATE);

    command->path = sim_strdup(sim, path);
    command->session = session;
    return command;
}

/* Create the containers above ${path} that do not exist. */
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

void zk_other_create(struct hf_sim *sim, const char *path, bool sequential)
{
    zk_make_parents(sim, path);
    create(sim, path, sim->zk->other_session)->sequential = sequential;
    zk_commands_push(sim);
}

/* The node has the name that the layout of this run demands; beside another
 * ticket it gets that one's number. */
void zk_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                      enum hf_ticket_kind kind,
                      const struct hf_ticket_id *ticket,
                      const struct sim_ticket *beside)
{
    enum hf_zk_engine_dialect layout = sim->config.ensemble.layout;
    char parent[HF_ZK_QUEUE_PATH_BYTES];
    char prefix[HF_ZK_NODE_BYTES];
    char path[PATH_BYTES];
    struct zk_command *command;
    bool permit = hf_zk_engine_queue_path(layout, "", queue->name, parent);
    bool named = true;

    if (permit)
        hf_zk_engine_permit_name(ticket, 0, prefix);
    else
        named = hf_zk_engine_node_prefix(layout, ticket, kind, prefix);
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

/* A barrier is one node; another program creates it, deletes it or writes to
 * it. */
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

/* Is a command that creates the ticket not committed yet? */
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

/* The deletion is a command, which the next leader repeats if this one
 * fails. */
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
