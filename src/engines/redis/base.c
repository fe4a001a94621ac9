/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/base.h"

#include "core/error.h"
#include "transport/tls_context.h"

hf_status hf_redis_base_begin(struct hf_redis_base *base,
                              struct hf_engine *engine,
                              const struct hf_redis_config *config,
                              struct hf_error *error)
{
    const struct hf_resolver_log log = {engine->host.log, engine->host.host};
    hf_status status = HF_OK;

    *base = (struct hf_redis_base){.engine = engine};
    if (config->tls)
        status = hf_tls_context_get(&engine->host, &config->files, "redis",
                                    &base->tls, &base->context, error);
    if (status != HF_OK)
        return status;
    base->resolver = hf_resolver_new(engine->loop, &log);
    if (base->resolver != NULL)
        return HF_OK;
    hf_redis_base_end(base);
    return hf_error_set(error, HF_ENOMEM, "no memory for looking up names");
}

void hf_redis_base_end(struct hf_redis_base *base)
{
    if (base->resolver != NULL)
        hf_resolver_free(base->resolver);
    if (base->context != NULL)
        base->tls->context_free(base->context);
    *base = (struct hf_redis_base){0};
}
