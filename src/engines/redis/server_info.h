/* SPDX-License-Identifier: Apache-2.0 */
/* What INFO says of a server, and whether that server can be used. */
#ifndef HF_ENGINES_REDIS_SERVER_INFO_H
#define HF_ENGINES_REDIS_SERVER_INFO_H

#include "engines/redis/config.h"
#include "engines/redis/resp.h"

/* Is it a node of a Redis Cluster? */
bool hf_redis_info_clustered(const char *info);

/* How long the server has been running; 0 if INFO does not say. */
uint64_t hf_redis_info_served_ms(const char *info);

/* Can a restart of the server lose what it has answered, as far as INFO
 * says? */
bool hf_redis_info_forgets(const char *info);

/* Is ${run_id} the run id of INFO?  Sets ${run_id} to that of INFO, or to ""
 * if INFO has none; "" is never the same. */
#define HF_REDIS_RUN_ID_BYTES 64
bool hf_redis_info_same_run(const char *info,
                            char run_id[HF_REDIS_RUN_ID_BYTES]);

/* Copy the value of ${key} to ${value}, cut if it does not fit; "" and false if
 * there is none. */
bool hf_redis_info_value(const char *info, const char *key, char *value,
                         size_t room);

/* The value of ${key} as a number; 0 if there is none. */
uint64_t hf_redis_info_number(const char *info, const char *key);

/* Why this server cannot be used, with ${status}; NULL if it can. */
const char *hf_redis_info_problem(const char *info, hf_status *status);

#endif
