/* SPDX-License-Identifier: Apache-2.0 */
/* A store (leased/store.h) on a Redis server or a Redis Cluster. */
#ifndef HF_ENGINES_REDIS_REDIS_STORE_H
#define HF_ENGINES_REDIS_REDIS_STORE_H

#include "engines/leased/leased_engine.h"
#include "engines/redis/config.h"

extern const struct hf_store_ops hf_redis_store_ops;

/* A store for ${engine}; ${config} is copied.  On failure returns NULL and
 * fills in ${error}. */
struct hf_store *hf_redis_store_new(struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error);

#endif
