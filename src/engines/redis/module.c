/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol of the module engine-redis.so. */
#include "engines/redis/redis.h"

extern const struct hf_engine_ops hf_engine_module;

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = HF_REDIS_OPS;
