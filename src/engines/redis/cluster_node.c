/* SPDX-License-Identifier: Apache-2.0 */
/* The servers that the store has links to: the single server, or nodes of a
 * Redis Cluster.  Notices are received from every node, because each message
 * goes to all of them; if one is lost between nodes, it still comes from the
 * node that published it. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/time_math.h"
#include "engines/redis/redis_private.h"
#include "engines/redis/reply.h"

/* --------------------------------------------------- called by the links -- */

/* Note the node's clock, if ${server_ms} is known. */
static void set_server_clock(struct hf_redis_node *node, uint64_t server_ms)
{
    if (server_ms == 0)
        return;
    node->server_ms = server_ms;
    node->server_clock_at_ms = hf_redis_store_now_ms(node->store);
}

uint64_t hf_redis_node_clock_ms(const struct hf_redis_node *node,
                                uint64_t at_ms)
{
    return hf_after_ms(node->server_ms,
                       hf_before_ms(at_ms, node->server_clock_at_ms));
}

/* As if the link had ended by itself. */
static void fail_store(struct hf_redis_node *node, hf_status status,
                       const char *why)
{
    hf_redis_store_down(node->store, status, why);
}

/* The server is not a node of a cluster, so it is the only one. */
static void use_single_server(struct hf_redis_node *node)
{
    if (node->store->config.host_count > 1)
        fail_store(
            node, HF_EURL,
            "it is no node of a Redis Cluster, or does not say so; expected "
            "one server in the URL, or nodes of one cluster");
    else
        hf_redis_store_up(node->store, false, node->server_ms);
}

/* The first link decides whether this is a cluster; later links send the calls
 * that wait for their node. */
static void on_up(void *arg, struct hf_redis_link *link, uint64_t server_ms)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;
    bool reconnected = node->was_up;

    set_server_clock(node, server_ms);
    node->up = node->was_up = true;
    node->retry_ms = 0;
    if (!store->up && (link->clustered || link->info_denied)) {
        hf_redis_link_ask_slots(link);
    } else if (!store->up) {
        use_single_server(node);
    } else {
        hf_redis_routed_calls_send(store, node);
        if (reconnected)
            hf_leased_notices_lost(store->shared.engine->leased,
                                   hf_redis_store_now_ms(store));
    }
}

/* While a node is down its notices are lost, so the pause between attempts is
 * short. */
#define RETRY_MIN_MS UINT64_C(250)
#define RETRY_MAX_MS UINT64_C(2000)

static void plan_retry(struct hf_redis_node *node)
{
    if (!node->was_up)
        return;
    node->retry_ms =
        hf_min_ms(hf_max_ms(2 * node->retry_ms, RETRY_MIN_MS), RETRY_MAX_MS);
    node->retry_at_ms =
        hf_after_ms(hf_redis_store_now_ms(node->store), node->retry_ms);
    hf_redis_store_wake_by(node->store, node->retry_at_ms);
}

/* A node went down: fail its calls and find out which node has its slots now.
 * If it was the last one, the store goes down. */
static void on_down(void *arg, struct hf_redis_link *link, hf_status status,
                    const char *why)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;
    char address[HF_REDIS_HOST_TEXT_BYTES];
    char text[HF_CONNECTION_TEXT_BYTES];

    (void)link;
    node->up = node->asked_nodes = false;
    if (store->slot_map_source == node)
        store->slot_map_source = NULL;
    (void)snprintf(text, sizeof text, "%s", why);
    if (store->clustered || store->config.host_count > 1) {
        hf_redis_host_format(&node->host, address);
        (void)snprintf(text, sizeof text, "the node %.60s: %.180s", address,
                       why);
    }
    if (hf_redis_node_up(store) == NULL) {
        hf_redis_store_down(store, status, text);
        return;
    }
    plan_retry(node);
    hf_redis_routed_calls_fail(store, node, status, text);
    hf_redis_slot_map_refresh(store);
}

/* Only calls of a cluster are routed calls. */
static void on_answered(void *arg, struct hf_redis_link *link,
                        struct hf_store_call *call,
                        const struct hf_store_answer *answer)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;

    (void)link;
    if (!store->clustered) {
        hf_leased_answered(store->shared.engine->leased, call, answer,
                           hf_redis_store_now_ms(store));
        return;
    }
    set_server_clock(node, answer->server_ms);
    hf_redis_routed_call_answered(store, (struct hf_redis_routed_call *)call,
                                  answer);
}

static void on_notice(void *arg, struct hf_redis_link *link,
                      const struct hf_store_notice *notice)
{
    struct hf_store *store = ((struct hf_redis_node *)arg)->store;

    (void)link;
    if (store->up)
        hf_leased_notice(store->shared.engine->leased, notice,
                         hf_redis_store_now_ms(store));
}

/* The server did not say that it is a node of a cluster, because we may not
 * ask. */
static void fail_redirected(struct hf_store *store, struct hf_store_call *call)
{
    const struct hf_store_answer answer = {
        .failure = HF_FAILURE_FATAL,
        .status = HF_EUNSUPPORTED,
        .text = "this lock is another node's of a Redis Cluster; expected a "
                "user who may +info or +cluster|slots",
    };

    hf_leased_answered(store->shared.engine->leased, call, &answer,
                       hf_redis_store_now_ms(store));
}

/* Another node has the queue of the call. */
static void on_redirected(void *arg, struct hf_redis_link *link,
                          struct hf_store_call *call,
                          const struct hf_redis_redirect *redirect)
{
    struct hf_store *store = ((struct hf_redis_node *)arg)->store;

    (void)link;
    if (store->clustered)
        hf_redis_routed_call_redirected(
            store, (struct hf_redis_routed_call *)call, redirect);
    else
        fail_redirected(store, call);
}

/* The reply to CLUSTER SLOTS. */
static void on_slots(void *arg, struct hf_redis_link *link,
                     const struct redisReply *reply)
{
    struct hf_redis_node *node = arg;
    struct hf_store *store = node->store;
    bool refused = reply->type == REDIS_REPLY_ERROR;
    char text[HF_CONNECTION_TEXT_BYTES];

    store->slot_map_source = NULL;
    if (store->up) {
        if (!refused)
            (void)hf_redis_slot_map_read(store, node, reply);
    } else if (refused && !link->clustered) {
        use_single_server(node);
    } else if (refused) {
        (void)snprintf(text, sizeof text,
                       "it does not say which node has what: %.120s; expected "
                       "a user who may +cluster|slots",
                       reply->str);
        fail_store(node, hf_redis_connection_status(reply->str), text);
    } else if (hf_redis_slot_map_read(store, node, reply)) {
        hf_redis_store_up(store, true, hf_redis_store_now_ms(store));
    } else {
        fail_store(node, HF_EPROTOCOL, "CLUSTER SLOTS gave no slots");
    }
}

/* The reply to CLUSTER NODES. */
static void on_nodes(void *arg, struct hf_redis_link *link,
                     const struct redisReply *reply)
{
    struct hf_redis_node *node = arg;
    bool listed = reply->type == REDIS_REPLY_STRING;
    const char *why = reply->type == REDIS_REPLY_ERROR ? reply->str : "no text";

    (void)link;
    node->asked_nodes = false;
    hf_redis_routed_calls_nodes_listed(node->store, node,
                                       listed ? reply->str : NULL, why);
}

/* ----------------------------------------------------------------- nodes -- */

/* Make the link of a node, to its host or the unix socket.  False if memory
 * runs out. */
static bool make_link(struct hf_redis_node *node)
{
    const struct hf_redis_link_user user = {
        .up = on_up,
        .down = on_down,
        .answered = on_answered,
        .notice = on_notice,
        .redirected = on_redirected,
        .slots = on_slots,
        .nodes = on_nodes,
        .arg = node,
    };
    struct hf_store *store = node->store;

    node->link = hf_redis_link_new(&store->shared, &store->config, &user);
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

/* A node at ${host}.  NULL if memory runs out or there are too many. */
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

/* ${host} with a name: the name of ${reporter} if it has none. */
static struct hf_redis_host with_host_name(const struct hf_redis_host *host,
                                           const struct hf_redis_node *reporter)
{
    struct hf_redis_host completed = *host;

    if (completed.name[0] == '\0' && reporter != NULL)
        memcpy(completed.name, reporter->host.name, sizeof completed.name);
    /* reached by the unix socket */
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
    if (!node->link->open)
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
    on_down(node, node->link, HF_EUNREACHABLE, why);
}

static void node_free(struct hf_redis_node *node)
{
    hf_redis_link_free(node->link);
    hf_free(node);
}

/* Does our map have a slot of this node? */
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
    return node->link->open || node == store->default_node ||
           has_slots(store, node);
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
