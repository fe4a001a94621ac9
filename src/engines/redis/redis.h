/* SPDX-License-Identifier: Apache-2.0 */
/* The Redis engine: redis:, and rediss: with TLS. */
#ifndef HF_ENGINES_REDIS_REDIS_H
#define HF_ENGINES_REDIS_REDIS_H

#include "engines/leased/leased_engine.h"

/* The same as hf_engine_ops.open. */
hf_status hf_redis_open(const struct hf_url *url,
                        const struct hf_engine_host *host,
                        struct hf_engine **engine, struct hf_error *error);

/* There is no .hold, because a ticket lives only as long as its client renews
 * it. */
#define HF_REDIS_OPS                                                           \
    {                                                                          \
        .abi = HF_ENGINE_ABI, .scheme = "redis", .traits = HF_LEASED_TRAITS,   \
        .open = hf_redis_open, .request = hf_leased_engine_request,            \
        .unwatch = hf_leased_engine_forget,                                    \
        .connect = hf_leased_engine_connect,                                   \
        .describe = hf_leased_engine_describe,                                 \
        .origin = hf_leased_engine_origin,                                     \
        .after_fork = hf_leased_engine_after_fork,                             \
        .free = hf_leased_engine_free,                                         \
    }

#endif
