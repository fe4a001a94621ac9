/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/time_math.h"
#include "engines/redis/private.h"

uint64_t hf_redis_store_now_ms(const struct hf_store *store)
{
    return hf_leased_engine_now_ms(store->base.engine);
}

uint64_t hf_redis_patience_ms(const struct hf_store *store)
{
    uint64_t ttl_ms = store->config.ttl_ms;

    return hf_min_ms(hf_leased_patience_ms(ttl_ms) * 3 / 4, ttl_ms / 4);
}

/* -------------------------------------------------------------- up, down -- */

/* There is no link any more, and no call under way. */
static void cut(struct hf_store *store)
{
    hf_redis_nodes_close(store); /* which lets go of the calls of errands */
    hf_redis_errands_clear(store);
    store->linked = store->up = store->out_of_memory = false;
    store->mapper = NULL;
    (void)uv_idle_stop(&store->later);
    (void)uv_timer_stop(&store->patience);
}

void hf_redis_store_up(struct hf_store *store, bool clustered,
                       uint64_t server_ms)
{
    store->up = true;
    store->clustered = clustered;
    hf_leased_up(store->base.engine->leased, server_ms,
                 hf_redis_store_now_ms(store));
}

void hf_redis_store_down(struct hf_store *store, hf_status status,
                         const char *why)
{
    cut(store);
    hf_leased_down(store->base.engine->leased, status, why,
                   hf_redis_store_now_ms(store));
}

static void on_later(uv_idle_t *later)
{
    struct hf_store *store = later->data;

    (void)uv_idle_stop(later);
    hf_leased_engine_enter(store->base.engine);
    if (store->out_of_memory)
        hf_redis_store_down(store, HF_EUNREACHABLE, "out of memory");
    else
        hf_redis_errands_tell(store);
    hf_leased_engine_leave(store->base.engine);
}

void hf_redis_store_tell_later(struct hf_store *store)
{
    (void)uv_idle_start(&store->later, on_later);
}

void hf_redis_store_starve(struct hf_store *store)
{
    store->out_of_memory = true;
    hf_redis_store_tell_later(store);
}

/* Of uv, which stops in suspend: whether it is too long then our own clock
 * tells, and the leased client has a timer of that one. */
static void on_patience(uv_timer_t *timer)
{
    struct hf_store *store = timer->data;

    hf_leased_engine_enter(store->base.engine);
    hf_redis_map_expire(store);
    hf_redis_errands_expire(store);
    hf_redis_nodes_retry(store);
    hf_leased_engine_leave(store->base.engine);
}

void hf_redis_store_wake_by(struct hf_store *store, uint64_t at_ms)
{
    uint64_t now_ms = hf_redis_store_now_ms(store);

    if (uv_is_active((uv_handle_t *)&store->patience) &&
        store->wake_at_ms <= at_ms)
        return;
    store->wake_at_ms = at_ms;
    uv_update_time(store->base.engine->loop);
    (void)uv_timer_start(&store->patience, on_patience,
                         hf_max_ms(at_ms, now_ms) - now_ms + 1, 0);
}

/* ------------------------------------------------------------ operations -- */

/* The servers of the URL in turn, and then the nodes that were heard of. */
static struct hf_redis_node *choose(struct hf_store *store)
{
    const struct hf_redis_config *config = &store->config;
    size_t given = config->host_count == 0 ? 1 : config->host_count;
    size_t heard = store->clustered ? store->node_count : 0;
    size_t at = store->attempts++ % (given + heard);

    if (at >= given && store->nodes[at - given]->named)
        return store->nodes[at - given];
    at %= given;
    return hf_redis_node_at(
        store, config->host_count > 0 ? &config->hosts[at] : &config->host,
        NULL);
}

static void store_connect(struct hf_store *store, const char *session)
{
    assert(!store->linked);
    store->linked = true;
    (void)snprintf(store->session, sizeof store->session, "%s", session);
    store->home = choose(store);
    if (store->home == NULL)
        hf_redis_store_starve(store);
    else
        hf_redis_node_open(store->home);
}

static void store_disconnect(struct hf_store *store)
{
    assert(store->linked);
    cut(store);
}

static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    assert(store->up);
    if (!store->clustered)
        hf_redis_link_call(store->home->link, call);
    else if (call->queue == NULL)
        hf_redis_gather_begin(store, call);
    else
        hf_redis_errand_begin(store, call, NULL, NULL);
}

static const char *store_missing(const struct hf_store *store)
{
    return store->home != NULL ? hf_redis_link_missing(store->home->link)
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
    cut(store);
    hf_redis_nodes_free(store);
    hf_redis_base_end(&store->base);
    hf_free(store->map);
    explicit_bzero(&store->config, sizeof store->config);
    uv_close((uv_handle_t *)&store->later, on_closed);
    uv_close((uv_handle_t *)&store->patience, on_closed);
}

const struct hf_store_ops hf_redis_store_ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
    .missing = store_missing,
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
    if (hf_redis_base_begin(&store->base, engine, config, error) != HF_OK) {
        hf_free(store);
        return NULL;
    }
    store->config = *config;
    (void)uv_idle_init(engine->loop, &store->later);
    (void)uv_timer_init(engine->loop, &store->patience);
    store->later.data = store->patience.data = store;
    store->handles = 2;
    return store;
}
