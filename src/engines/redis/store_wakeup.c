/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the store, and when the store is called again: from the loop at
 * once (.later), because a store must not report from inside a call of the
 * leased client; or by the timer of the engine, when something times out
 * (.wake_at_ms). */
#include "base/time_math.h"
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
    store->wake_at_ms = hf_min_ms(store->wake_at_ms, at_ms);
}
