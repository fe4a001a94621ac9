/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up and frees what the links of a store share. */
#include "engines/redis/link_shared.h"

#include "base/error.h"
#include "transport/tls_context.h"

hf_status hf_redis_link_shared_init(struct hf_redis_link_shared *shared,
                                    struct hf_engine *engine,
                                    const struct hf_redis_config *config,
                                    struct hf_error *error)
{
    const struct hf_resolver_host host = {engine->host.host, engine->host.log,
                                          engine->host.now_ms};
    hf_status status = HF_OK;

    *shared = (struct hf_redis_link_shared){.engine = engine};
    if (config->tls)
        status = hf_tls_context_get(&engine->host, &config->files, "redis",
                                    &shared->tls, &shared->context, error);
    if (status != HF_OK)
        return status;
    shared->resolver = hf_resolver_new(engine->loop, &host);
    if (shared->resolver != NULL)
        return HF_OK;
    hf_redis_link_shared_free(shared);
    return hf_error_set(error, HF_ENOMEM, "no memory for looking up names");
}

void hf_redis_link_shared_free(struct hf_redis_link_shared *shared)
{
    if (shared->resolver != NULL)
        hf_resolver_free(shared->resolver);
    if (shared->context != NULL)
        shared->tls->context_free(shared->context);
    *shared = (struct hf_redis_link_shared){0};
}
