/* SPDX-License-Identifier: Apache-2.0 */
/* The credentials of a Redis server, for the functions that open an engine on
 * it. */
#ifndef HF_ENGINES_REDIS_CREDENTIALS_H
#define HF_ENGINES_REDIS_CREDENTIALS_H

#include "base/url.h"
#include "core/engine.h"
#include "engines/redis/config.h"

/* Find the credentials of the server of ${url}, and put them into ${config}. */
hf_status hf_redis_get_credentials(struct hf_redis_config *config,
                                   const struct hf_url *url,
                                   struct hf_error *error);

/* Log a warning if a file has credentials, but none for this server. */
void hf_redis_warn_unlisted(const struct hf_redis_config *config,
                            const struct hf_engine_host *host);

#endif
