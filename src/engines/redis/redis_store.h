/* SPDX-License-Identifier: Apache-2.0 */
/* The store of leased tickets on a Redis server. */
#ifndef HF_ENGINES_REDIS_REDIS_STORE_H
#define HF_ENGINES_REDIS_REDIS_STORE_H

#include "engines/leased/leased_engine.h"
#include "engines/redis/config.h"

extern const struct hf_store_ops hf_redis_store_ops;

/* A store for ${engine}; ${config} is copied.  NULL with ${error}. */
struct hf_store *hf_redis_store_new(struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

#endif
