/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the store, and when the loop calls it again: at once, because a
 * store must not report from inside a call, or when something times out. */
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

void hf_redis_store_answer_later(struct hf_store *store)
{
    (void)uv_idle_start(&store->later, store->on_later);
}

void hf_redis_store_out_of_memory(struct hf_store *store)
{
    store->out_of_memory = true;
    hf_redis_store_answer_later(store);
}

void hf_redis_store_wake_by(struct hf_store *store, uint64_t at_ms)
{
    uint64_t now_ms = hf_redis_store_now_ms(store);

    if (uv_is_active((uv_handle_t *)&store->timer) &&
        store->wake_at_ms <= at_ms)
        return;
    store->wake_at_ms = at_ms;
    uv_update_time(store->shared.engine->loop);
    (void)uv_timer_start(&store->timer, store->on_timer,
                         hf_max_ms(at_ms, now_ms) - now_ms + 1, 0);
}
