/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a Redis server or cluster: its functions for the leased client.
 * Also opens the engine: reads the URL, the environment and the files, and
 * makes the store and the leased client. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reconnect.h"
#include "engines/redis/redis.h"
#include "engines/redis/redis_private.h"
#include "engines/redis/redis_quorum.h"

/* ------------------------------------------------ functions of the store -- */

/* Returns the next server to connect to: first the servers of the URL in turn,
 * and then the nodes that the cluster named.  Returns NULL if memory runs
 * out. */
static struct hf_redis_node *choose_node(struct hf_store *store)
{
    const struct hf_redis_config *config = &store->config;
    size_t in_url = config->host_count == 0 ? 1 : config->host_count;
    size_t known = store->clustered ? store->node_count : 0;
    size_t at = store->connect_attempts++ % (in_url + known);

    if (at >= in_url && store->nodes[at - in_url]->trusted)
        return store->nodes[at - in_url];
    at %= in_url;
    return hf_redis_node_get(
        store, config->host_count > 0 ? &config->hosts[at] : &config->host,
        NULL);
}

/* Connect to one server.  If it is a node of a cluster, other nodes are
 * connected to when they are needed. */
static void store_connect(struct hf_store *store, const char *session)
{
    assert(!store->linked);
    store->linked = true;
    (void)snprintf(store->session, sizeof store->session, "%s", session);
    store->default_node = choose_node(store);
    if (store->default_node == NULL)
        hf_redis_store_out_of_memory(store);
    else
        hf_redis_node_open(store->default_node);
}

static void store_disconnect(struct hf_store *store)
{
    assert(store->linked);
    hf_redis_store_disconnect(store);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    assert(store->up);
    if (!store->clustered && call->kind == HF_STORE_EXAMINE)
        hf_redis_successor_examine(store, call);
    else if (!store->clustered)
        hf_redis_link_call(store->default_node->link, call);
    else if (call->queue == NULL && call->kind != HF_STORE_NAMES)
        hf_redis_routed_calls_begin(store, call);
    else
        hf_redis_routed_call_begin(store, call, NULL, NULL);
}

static const char *store_awaited(const struct hf_store *store)
{
    return store->default_node != NULL
               ? hf_redis_link_awaited(store->default_node->link)
               : NULL;
}

static void store_flush(struct hf_store *store)
{
    for (size_t i = 0; i < store->node_count; i++)
        hf_redis_link_flush(store->nodes[i]->link);
    if (store->look != NULL)
        hf_redis_link_flush(store->look);
}

static void store_after_fork(struct hf_store *store)
{
    for (size_t i = 0; i < store->node_count; i++)
        hf_redis_link_after_fork(store->nodes[i]->link);
    if (store->look != NULL)
        hf_redis_link_after_fork(store->look);
}

static uint64_t store_wake_at_ms(const struct hf_store *store)
{
    return store->wake_at_ms;
}

/* Each of the four functions at the end may set .wake_at_ms, to be called
 * again. */
static void store_tick(struct hf_store *store)
{
    if (hf_redis_store_now_ms(store) < store->wake_at_ms)
        return;
    store->wake_at_ms = HF_FOREVER;
    hf_redis_slot_map_expire(store);
    hf_redis_routed_calls_expire(store);
    hf_redis_nodes_retry(store);
    hf_redis_successor_tick(store);
}

/* ----------------------------------------------------- beginning and end -- */

static void on_closed(uv_handle_t *handle)
{
    hf_free(handle->data);
}

static void store_free(struct hf_store *store)
{
    hf_redis_store_disconnect(store);
    hf_redis_nodes_free(store);
    hf_redis_successor_free(store);
    hf_redis_link_shared_free(&store->shared);
    hf_free(store->slot_map);
    explicit_bzero(&store->config, sizeof store->config);
    uv_close((uv_handle_t *)&store->later, on_closed);
}

/* Write the address of the server, if there is a single one.  Calls of a Redis
 * Cluster go to several nodes. */
static void store_server(const struct hf_store *store, char *text, size_t bytes)
{
    char address[HF_REDIS_ADDRESS_BYTES];

    if (store->clustered || store->default_node == NULL)
        return;
    hf_redis_config_address(&store->default_node->link->config, address);
    (void)snprintf(text, bytes, "%.*s", (int)bytes - 1, address);
}

static const struct hf_store_ops store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .awaited = store_awaited,
    .server = store_server,
    .flush = store_flush,
    .wake_at_ms = store_wake_at_ms,
    .tick = store_tick,
    .after_fork = store_after_fork,
    .free = store_free,
};

/* Make a store for ${engine}; ${config} is copied.  On failure returns NULL and
 * sets ${error}. */
static struct hf_store *store_new(struct hf_engine *engine,
                                  const struct hf_redis_config *config,
                                  struct hf_error *error)
{
    struct hf_store *store = hf_alloc(sizeof *store);

    if (store == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "no memory for an engine");
        return NULL;
    }
    if (hf_redis_link_shared_init(&store->shared, engine, config, error) !=
        HF_OK) {
        hf_free(store);
        return NULL;
    }
    store->config = *config;
    store->wake_at_ms = store->look_at_ms = HF_FOREVER;
    hf_redis_store_init_events(store);
    (void)uv_idle_init(engine->loop, &store->later);
    store->later.data = store;
    return store;
}

/* ------------------------------------------------------------ the engine -- */

/* Make the store and start the engine with it. */
static hf_status start(const struct hf_redis_config *config,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    char description[HF_REDIS_ADDRESS_BYTES + 32];
    char address[HF_REDIS_ADDRESS_BYTES];
    struct hf_leased_config leased = {
        .ttl_ms = config->ttl_ms,
        .clock_drift = config->clock_drift,
        .server_address = address,
        .reconnect = &config->reconnect,
        .servers = config->host_count,
        .renewal_piece_max = HF_REDIS_RENEWAL_PIECE_MAX,
        .has_unlisted_waiters = config->layout == HF_REDIS_LAYOUT_REDIS_PY,
    };
    struct hf_engine *made;
    struct hf_store *store;
    hf_status status = hf_leased_engine_random(&leased.random, error);

    if (status != HF_OK)
        return status;
    hf_redis_warn_unlisted(config, host);
    hf_redis_config_address(config, address);
    (void)snprintf(description, sizeof description,
                   config->path[0] != '\0' ? "redis:%s?db=%u"
                   : config->tls           ? "rediss://%s/%u"
                                           : "redis://%s/%u",
                   address, (unsigned)config->db);
    if ((made = hf_leased_engine_new(host, description, error)) == NULL)
        return error->status;
    store = store_new(made, config, error);
    status = store == NULL ? error->status
                           : hf_leased_engine_start(made, &leased, &store_ops,
                                                    store, error);
    if (status != HF_OK)
        hf_leased_engine_free(made);
    else
        *engine = made;
    return status;
}

hf_status hf_redis_open(const struct hf_url *url,
                        const struct hf_engine_host *host,
                        struct hf_engine **engine, struct hf_error *error)
{
    struct hf_redis_config *config;
    struct hf_error own = {HF_OK, ""};
    hf_status status;

    *engine = NULL;
    /* A module has its own copy of hf_alloc() and its allocator.  The allocator
     * can be set only once, before anything was allocated.  If the module is
     * opened again, this call fails, which does no harm because the allocator
     * is the same. */
    if (host->allocator != NULL)
        (void)!hf_set_allocator(host->allocator);
    if (url->inner != NULL)
        return hf_redis_quorum_open(url, host, engine, error);
    config = hf_alloc(sizeof *config);
    if (config == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    status = hf_redis_config_parse(config, url, &own);
    if (status == HF_OK)
        status =
            hf_reconnect_choose(url, host->reconnect, &config->reconnect, &own);
    if (status == HF_OK)
        status = hf_redis_get_credentials(config, url, &own);
    if (status == HF_OK)
        status = start(config, host, engine, &own);
    explicit_bzero(config, sizeof *config);
    hf_free(config);
    if (status != HF_OK)
        (void)hf_error_set(error, own.status, "%s", own.text);
    return status;
}
