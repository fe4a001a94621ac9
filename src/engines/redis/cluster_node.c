/* SPDX-License-Identifier: Apache-2.0 */
/* The servers that the store has links to: the single server, or nodes of a
 * Redis Cluster; and the slot map of the cluster.
 *
 * Notices are received from every node that we are connected to.  A cluster
 * passes each published message on to all nodes, so one link would do.  But
 * messages between nodes can get lost, and then the message still comes from
 * the node on which it was published. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "engines/redis/redis_private.h"
#include "engines/redis/reply.h"

uint64_t hf_redis_node_clock_ms(const struct hf_redis_node *node,
                                uint64_t at_ms)
{
    return hf_after_ms(node->server_ms,
                       hf_before_ms(at_ms, node->server_clock_at_ms));
}

/* Make the link of ${node}.  A node without a host name keeps the unix socket
 * of the URL.  Returns false if memory runs out. */
static bool make_link(struct hf_redis_node *node)
{
    struct hf_store *store = node->store;
    struct hf_redis_link_listener listener = store->link_listener;

    listener.arg = node;
    node->link = hf_redis_link_new(&store->shared, &store->config, &listener);
    if (node->link == NULL)
        return false;
    node->link->config.host = node->host;
    if (node->host.name[0] != '\0')
        node->link->config.path[0] = '\0';
    return true;
}

static bool has_address(const struct hf_redis_node *node,
                        const struct hf_redis_host *host)
{
    return node->host.port == host->port &&
           strcmp(node->host.name, host->name) == 0;
}

static bool is_in_url(const struct hf_redis_node *node)
{
    const struct hf_redis_config *config = &node->store->config;

    for (size_t i = 0; i < config->host_count; i++) {
        if (has_address(node, &config->hosts[i]))
            return true;
    }
    return has_address(node, &config->host);
}

/* Add a node at ${host}.  Returns NULL if memory runs out or there are too many
 * nodes. */
static struct hf_redis_node *node_new(struct hf_store *store,
                                      const struct hf_redis_host *host)
{
    struct hf_redis_node *node;

    if (store->node_count == HF_REDIS_NODES_MAX)
        return NULL;
    node = hf_alloc(sizeof *node);
    if (node == NULL)
        return NULL;
    node->store = store;
    node->host = *host;
    node->retry_at_ms = HF_FOREVER;
    node->trusted = is_in_url(node);
    if (!make_link(node)) {
        hf_free(node);
        return NULL;
    }
    store->nodes[store->node_count++] = node;
    return node;
}

static struct hf_redis_node *find_node(const struct hf_store *store,
                                       const struct hf_redis_host *host)
{
    for (size_t i = 0; i < store->node_count; i++) {
        if (has_address(store->nodes[i], host))
            return store->nodes[i];
    }
    return NULL;
}

/* Returns ${host}; if it has no name, with the name of ${reporter}, the node
 * that named it. */
static struct hf_redis_host with_host_name(const struct hf_redis_host *host,
                                           const struct hf_redis_node *reporter)
{
    struct hf_redis_host completed = *host;

    if (completed.name[0] == '\0' && reporter != NULL)
        memcpy(completed.name, reporter->host.name, sizeof completed.name);
    /* ${reporter} has no name either, because it is reached by the unix
     * socket */
    if (completed.name[0] == '\0' && reporter != NULL)
        (void)snprintf(completed.name, sizeof completed.name, "localhost");
    return completed;
}

struct hf_redis_node *hf_redis_node_get(struct hf_store *store,
                                        const struct hf_redis_host *host,
                                        const struct hf_redis_node *reporter)
{
    struct hf_redis_host completed = with_host_name(host, reporter);
    struct hf_redis_node *node = find_node(store, &completed);

    return node != NULL ? node : node_new(store, &completed);
}

struct hf_redis_node *
hf_redis_node_find_trusted(struct hf_store *store,
                           const struct hf_redis_host *host,
                           const struct hf_redis_node *reporter)
{
    struct hf_redis_host completed = with_host_name(host, reporter);
    struct hf_redis_node *node = find_node(store, &completed);

    return node != NULL && node->trusted ? node : NULL;
}

void hf_redis_nodes_trust_by_map(struct hf_store *store)
{
    for (size_t i = 0; i < store->node_count; i++)
        store->nodes[i]->trusted = is_in_url(store->nodes[i]);
    for (size_t slot = 0; slot < HF_REDIS_HASH_SLOTS; slot++) {
        if (store->slot_map->owners.of[slot] != NULL)
            store->slot_map->owners.of[slot]->trusted = true;
    }
}

void hf_redis_node_ask_nodes(struct hf_redis_node *node)
{
    if (node->asked_nodes)
        return;
    node->asked_nodes = true;
    hf_redis_link_ask_nodes(node->link);
}

void hf_redis_node_open(struct hf_redis_node *node)
{
    assert(node->trusted);
    if (node->link->state == HF_REDIS_LINK_CLOSED)
        hf_redis_link_open(node->link, node->store->session);
}

struct hf_redis_node *hf_redis_node_up(const struct hf_store *store)
{
    if (store->default_node != NULL && store->default_node->up)
        return store->default_node;
    for (size_t i = 0; i < store->node_count; i++) {
        if (store->nodes[i]->up)
            return store->nodes[i];
    }
    return NULL;
}

void hf_redis_node_time_out(struct hf_redis_node *node, uint64_t silent_ms)
{
    char why[HF_CONNECTION_TEXT_BYTES];

    (void)snprintf(why, sizeof why, "no answer for %llu ms",
                   (unsigned long long)silent_ms);
    hf_redis_link_close(node->link);
    node->link->listener.down(node, node->link, HF_EUNREACHABLE, why);
}

static void node_free(struct hf_redis_node *node)
{
    hf_redis_link_free(node->link);
    hf_free(node);
}

/* Returns whether the slot map gives any slot to ${node}. */
static bool has_slots(const struct hf_store *store,
                      const struct hf_redis_node *node)
{
    for (size_t slot = 0; slot < HF_REDIS_HASH_SLOTS; slot++) {
        if (store->slot_map->owners.of[slot] == node)
            return true;
    }
    return false;
}

static bool is_needed(const struct hf_store *store,
                      const struct hf_redis_node *node)
{
    return node->link->state != HF_REDIS_LINK_CLOSED ||
           node == store->default_node || has_slots(store, node);
}

void hf_redis_nodes_retry(struct hf_store *store)
{
    uint64_t now_ms = hf_redis_store_now_ms(store);

    for (size_t i = 0; i < store->node_count; i++) {
        struct hf_redis_node *node = store->nodes[i];

        if (node->retry_at_ms == HF_FOREVER)
            continue;
        if (now_ms < node->retry_at_ms) {
            hf_redis_store_wake_by(store, node->retry_at_ms);
            continue;
        }
        node->retry_at_ms = HF_FOREVER;
        if (has_slots(store, node))
            hf_redis_node_open(node);
    }
}

void hf_redis_nodes_prune(struct hf_store *store)
{
    size_t kept = 0;

    if (store->node_count <= HF_REDIS_NODES_MAX / 2)
        return;
    for (size_t i = 0; i < store->node_count; i++) {
        if (is_needed(store, store->nodes[i]))
            store->nodes[kept++] = store->nodes[i];
        else
            node_free(store->nodes[i]);
    }
    store->node_count = kept;
}

void hf_redis_nodes_close(struct hf_store *store)
{
    for (size_t i = 0; i < store->node_count; i++) {
        hf_redis_link_close(store->nodes[i]->link);
        store->nodes[i]->up = store->nodes[i]->was_up = false;
        store->nodes[i]->asked_nodes = false;
        store->nodes[i]->retry_at_ms = HF_FOREVER;
    }
}

void hf_redis_nodes_free(struct hf_store *store)
{
    for (size_t i = 0; i < store->node_count; i++)
        node_free(store->nodes[i]);
    store->node_count = 0;
}

/* -------------------------------------------------------------- slot map -- */

/*
 * Which node has which hash slot, as CLUSTER SLOTS says.  Its rows are
 *
 *     first slot, last slot, {host, port, ...} of the primary, replicas ...
 */

void hf_redis_slot_map_refresh(struct hf_store *store)
{
    struct hf_redis_node *node = hf_redis_node_up(store);

    if (node == NULL || store->slot_map_source != NULL)
        return;
    store->slot_map_source = node;
    store->slot_map_deadline_ms = hf_after_ms(hf_redis_store_now_ms(store),
                                              hf_redis_node_timeout_ms(store));
    hf_redis_store_wake_by(store, store->slot_map_deadline_ms);
    hf_redis_link_ask_slots(node->link);
}

void hf_redis_slot_map_expire(struct hf_store *store)
{
    struct hf_redis_node *source = store->slot_map_source;

    if (source == NULL)
        return;
    if (hf_redis_store_now_ms(store) >= store->slot_map_deadline_ms)
        hf_redis_node_time_out(source, hf_redis_node_timeout_ms(store));
    else
        hf_redis_store_wake_by(store, store->slot_map_deadline_ms);
}

static bool is_number(const struct redisReply *reply, long long min,
                      long long max)
{
    return reply->type == REDIS_REPLY_INTEGER && reply->integer >= min &&
           reply->integer <= max;
}

/* Parse {host, port, ...}.  If the host is nil, "" or "?", .name becomes "",
 * which means the host of the node that sent this reply. */
static bool read_host(struct hf_redis_host *host, const struct redisReply *row)
{
    const struct redisReply *name;

    *host = (struct hf_redis_host){.port = 0};
    if (row->type != REDIS_REPLY_ARRAY || row->elements < 2 ||
        !is_number(row->element[1], 1, UINT16_MAX))
        return false;
    name = row->element[0];
    host->port = (uint16_t)row->element[1]->integer;
    if (name->type == REDIS_REPLY_NIL)
        return true;
    if (name->type != REDIS_REPLY_STRING ||
        strlen(name->str) >= sizeof host->name)
        return false;
    if (strcmp(name->str, "?") != 0)
        memcpy(host->name, name->str, strlen(name->str) + 1);
    return true;
}

/* Add the slots of one row.  Returns false if the row is malformed, or if
 * memory runs out. */
static bool read_row(struct hf_redis_slot_owners *owners,
                     struct hf_redis_node *reporter,
                     const struct redisReply *row)
{
    struct hf_redis_host host;
    struct hf_redis_node *node;

    if (row->type != REDIS_REPLY_ARRAY || row->elements < 3 ||
        !is_number(row->element[0], 0, HF_REDIS_HASH_SLOTS - 1) ||
        !is_number(row->element[1], row->element[0]->integer,
                   HF_REDIS_HASH_SLOTS - 1) ||
        !read_host(&host, row->element[2]))
        return false;
    node = hf_redis_node_get(reporter->store, &host, reporter);
    if (node == NULL)
        return false;
    for (long long slot = row->element[0]->integer;
         slot <= row->element[1]->integer; slot++) {
        if (owners->of[slot] != NULL)
            return false; /* a slot has one owner */
        owners->of[slot] = node;
    }
    return true;
}

static bool read_rows(struct hf_redis_slot_owners *owners,
                      struct hf_redis_node *reporter,
                      const struct redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY)
        return false;
    for (size_t i = 0; i < reply->elements; i++) {
        if (!read_row(owners, reporter, reply->element[i]))
            return false;
    }
    return true;
}

bool hf_redis_slot_map_read(struct hf_store *store, struct hf_redis_node *node,
                            const struct redisReply *reply)
{
    struct hf_redis_slot_owners *owners;
    bool valid;

    if (store->slot_map == NULL)
        store->slot_map = hf_alloc(sizeof *store->slot_map);
    owners = hf_alloc(sizeof *owners);
    valid = store->slot_map != NULL && owners != NULL &&
            read_rows(owners, node, reply);
    if (valid) {
        store->slot_map->owners = *owners;
        hf_redis_nodes_trust_by_map(store);
    }
    hf_free(owners);
    return valid;
}
