/* SPDX-License-Identifier: Apache-2.0 */
/* What is said and asked when a connection is there, before it is of use. */
#ifndef HF_ENGINES_REDIS_SERVER_INFO_H
#define HF_ENGINES_REDIS_SERVER_INFO_H

#include "engines/redis/config.h"
#include "engines/redis/resp.h"

/* The credentials, if there are any; the number of replies that will come. */
size_t hf_redis_put_auth(struct hf_resp *resp,
                         const struct hf_redis_config *config);

/* Is it a node of a Redis Cluster? */
bool hf_redis_info_clustered(const char *info);

/* For how long the server has been there, as INFO says it; 0 if it does not. */
uint64_t hf_redis_info_served_ms(const char *info);

/* Does a restart of the server take back what it has answered, as far as INFO
 * says? */
bool hf_redis_info_forgets(const char *info);

/* Is it the process ${run}?  ${run} is the one that INFO names from now on, ""
 * if it names none, which is never the same. */
#define HF_REDIS_RUN_ID_BYTES 64
bool hf_redis_info_same_run(const char *info,
                            char run_id[HF_REDIS_RUN_ID_BYTES]);

/* What INFO says of a server that we cannot use: its fault with ${status}, or
 * NULL. */
const char *hf_redis_info_problem(const char *info, hf_status *status);

#endif
