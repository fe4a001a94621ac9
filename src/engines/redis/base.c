/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/base.h"

#include "core/error.h"
#include "core/memory.h"

static hf_status get_tls(struct hf_redis_base *base,
                         const struct hf_redis_config *config,
                         struct hf_error *error)
{
    static const struct hf_tls_memory memory = {hf_alloc, hf_free};
    const struct hf_engine_host *host = &base->engine->host;
    struct hf_tls_files files = {config->ca, config->cert, config->key};
    hf_status status;

    if (!config->tls)
        return HF_OK;
    if (host->tls == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "there is no TLS where this engine is used; "
                            "expected redis:");
    status = host->tls(host->host, &base->tls, error);
    if (status == HF_OK)
        status = base->tls->context_new(&memory, &files, &base->context, error);
    return status;
}

hf_status hf_redis_base_begin(struct hf_redis_base *base,
                              struct hf_engine *engine,
                              const struct hf_redis_config *config,
                              struct hf_error *error)
{
    const struct hf_resolver_log log = {engine->host.log, engine->host.host};
    hf_status status;

    *base = (struct hf_redis_base){.engine = engine};
    status = get_tls(base, config, error);
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
