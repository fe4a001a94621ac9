/* SPDX-License-Identifier: Apache-2.0 */
/* What INFO says of a server, and whether that server can be used. */
#ifndef HF_ENGINES_REDIS_SERVER_INFO_H
#define HF_ENGINES_REDIS_SERVER_INFO_H

#include "engines/redis/config.h"
#include "engines/redis/resp.h"

/* Returns whether the server is a node of a Redis Cluster. */
bool hf_redis_info_clustered(const char *info);

/* How long the server has been running; 0 if INFO does not say. */
uint64_t hf_redis_info_served_ms(const char *info);

/* Returns whether a restart of the server can lose what it has answered, as far
 * as INFO shows. */
bool hf_redis_info_forgets(const char *info);

/* Returns whether ${run_id} is the run id in INFO, and then sets ${run_id} to
 * the run id in INFO, or to "" if INFO has none.  "" is never the same. */
#define HF_REDIS_RUN_ID_BYTES 64
bool hf_redis_info_same_run(const char *info,
                            char run_id[HF_REDIS_RUN_ID_BYTES]);

/* Copy the value of ${key} to ${value}, cut if it does not fit.  If INFO has no
 * such key, ${value} becomes "" and the return value is false. */
bool hf_redis_info_value(const char *info, const char *key, char *value,
                         size_t room);

/* Returns the value of ${key} as a number; 0 if INFO has no such key. */
uint64_t hf_redis_info_number(const char *info, const char *key);

/* Returns why this server cannot be used, and sets ${status}; NULL: it can be
 * used. */
const char *hf_redis_info_problem(const char *info, hf_status *status);

#endif
