/* SPDX-License-Identifier: Apache-2.0 */
/* The store of a Redis server or cluster: the interface to the leased client,
 * and when its link is up. */
#include "engines/redis/redis_store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/time_math.h"
#include "engines/redis/redis_private.h"

uint64_t hf_redis_store_now_ms(const struct hf_store *store)
{
    return hf_leased_engine_now_ms(store->shared.engine);
}

uint64_t hf_redis_node_timeout_ms(const struct hf_store *store)
{
    uint64_t ttl_ms = store->config.ttl_ms;

    return hf_min_ms(hf_leased_call_timeout_ms(ttl_ms) * 3 / 4, ttl_ms / 4);
}

/* -------------------------------------------------------------- the link -- */

/* End the link without a report; no call is under way after that. */
static void disconnect(struct hf_store *store)
{
    hf_redis_nodes_close(store); /* the links let go of the routed calls */
    hf_redis_routed_calls_clear(store);
    store->linked = store->up = store->out_of_memory = false;
    store->slot_map_source = NULL;
    (void)uv_idle_stop(&store->later);
    (void)uv_timer_stop(&store->timer);
}

void hf_redis_store_up(struct hf_store *store, bool clustered,
                       uint64_t server_ms)
{
    store->up = true;
    store->clustered = clustered;
    hf_leased_up(store->shared.engine->leased, server_ms,
                 hf_redis_store_now_ms(store));
}

void hf_redis_store_down(struct hf_store *store, hf_status status,
                         const char *why)
{
    disconnect(store);
    hf_leased_down(store->shared.engine->leased, status, why,
                   hf_redis_store_now_ms(store));
}

/* Reports that had to wait, because a store must not report from inside a
 * call. */
static void on_later(uv_idle_t *later)
{
    struct hf_store *store = later->data;

    (void)uv_idle_stop(later);
    hf_leased_engine_enter(store->shared.engine);
    if (store->out_of_memory)
        hf_redis_store_down(store, HF_EUNREACHABLE, "out of memory");
    else
        hf_redis_routed_calls_answer_failed(store);
    hf_leased_engine_leave(store->shared.engine);
}

void hf_redis_store_answer_later(struct hf_store *store)
{
    (void)uv_idle_start(&store->later, on_later);
}

void hf_redis_store_out_of_memory(struct hf_store *store)
{
    store->out_of_memory = true;
    hf_redis_store_answer_later(store);
}

/* A uv timer, which stops in suspend.  That is enough: the timeouts are
 * computed from CLOCK_BOOTTIME, and the leased client has a timer of that
 * clock. */
static void on_timer(uv_timer_t *timer)
{
    struct hf_store *store = timer->data;

    hf_leased_engine_enter(store->shared.engine);
    hf_redis_slot_map_expire(store);
    hf_redis_routed_calls_expire(store);
    hf_redis_nodes_retry(store);
    hf_leased_engine_leave(store->shared.engine);
}

void hf_redis_store_wake_by(struct hf_store *store, uint64_t at_ms)
{
    uint64_t now_ms = hf_redis_store_now_ms(store);

    if (uv_is_active((uv_handle_t *)&store->timer) &&
        store->wake_at_ms <= at_ms)
        return;
    store->wake_at_ms = at_ms;
    uv_update_time(store->shared.engine->loop);
    (void)uv_timer_start(&store->timer, on_timer,
                         hf_max_ms(at_ms, now_ms) - now_ms + 1, 0);
}

/* ------------------------------------------------ functions of the store -- */

/* The next server to connect to: those of the URL in turn, and then the nodes
 * that the cluster named. */
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

/* Connect to one server; the rest of a cluster follows when it is needed. */
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
    disconnect(store);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    assert(store->up);
    if (!store->clustered)
        hf_redis_link_call(store->default_node->link, call);
    else if (call->queue == NULL)
        hf_redis_fan_out_begin(store, call);
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
}

static void store_after_fork(struct hf_store *store)
{
    for (size_t i = 0; i < store->node_count; i++)
        hf_redis_link_after_fork(store->nodes[i]->link);
}

/* ----------------------------------------------------- beginning and end -- */

static void on_closed(uv_handle_t *handle)
{
    struct hf_store *store = handle->data;

    assert(store->handles > 0);
    if (--store->handles == 0)
        hf_free(store);
}

static void store_free(struct hf_store *store)
{
    disconnect(store);
    hf_redis_nodes_free(store);
    hf_redis_link_shared_free(&store->shared);
    hf_free(store->slot_map);
    explicit_bzero(&store->config, sizeof store->config);
    uv_close((uv_handle_t *)&store->later, on_closed);
    uv_close((uv_handle_t *)&store->timer, on_closed);
}

const struct hf_store_ops hf_redis_store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .awaited = store_awaited,
    .flush = store_flush,
    .after_fork = store_after_fork,
    .free = store_free,
};

struct hf_store *hf_redis_store_new(struct hf_engine *engine,
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
    (void)uv_idle_init(engine->loop, &store->later);
    (void)uv_timer_init(engine->loop, &store->timer);
    store->later.data = store->timer.data = store;
    store->handles = 2;
    return store;
}
