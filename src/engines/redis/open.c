/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the engine: reads the URL, the environment and files, and makes the
 * store and the leased client. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reconnect_policy.h"
#include "engines/redis/credentials.h"
#include "engines/redis/redis.h"
#include "engines/redis/redis_quorum.h"
#include "engines/redis/redis_store.h"

/* Make the store and start the engine with it. */
static hf_status start(const struct hf_redis_config *config,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    char description[HF_REDIS_ADDRESS_BYTES + 32];
    char address[HF_REDIS_ADDRESS_BYTES];
    struct hf_leased_config leased = {
        .ttl_ms = config->ttl_ms,
        .clock_drift = config->clock_drift,
        .server_address = address,
        .reconnect = &config->reconnect,
        .servers = config->host_count,
        .renewal_piece_max = HF_REDIS_RENEWAL_PIECE_MAX,
    };
    struct hf_engine *made;
    struct hf_store *store;
    hf_status status = hf_leased_engine_random(&leased.random, error);

    if (status != HF_OK)
        return status;
    hf_redis_warn_unlisted(config, host);
    hf_redis_config_address(config, address);
    (void)snprintf(description, sizeof description,
                   config->path[0] != '\0' ? "redis:%s?db=%u"
                   : config->tls           ? "rediss://%s/%u"
                                           : "redis://%s/%u",
                   address, (unsigned)config->db);
    if ((made = hf_leased_engine_new(host, description, error)) == NULL)
        return error->status;
    store = hf_redis_store_new(made, config, error);
    status = store == NULL
                 ? error->status
                 : hf_leased_engine_start(made, &leased, &hf_redis_store_ops,
                                          store, error);
    if (status != HF_OK)
        hf_leased_engine_free(made);
    else
        *engine = made;
    return status;
}

hf_status hf_redis_open(const struct hf_url *url,
                        const struct hf_engine_host *host,
                        struct hf_engine **engine, struct hf_error *error)
{
    struct hf_redis_config *config;
    struct hf_error own = {HF_OK, ""};
    hf_status status;

    *engine = NULL;
    /* A module has its own copy of these functions.  The allocator can be set
     * only once, before anything was allocated; later it is the same
     * allocator. */
    if (host->allocator != NULL)
        (void)!hf_set_allocator(host->allocator);
    if (url->inner != NULL)
        return hf_redis_quorum_open(url, host, engine, error);
    config = hf_alloc(sizeof *config);
    if (config == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    status = hf_redis_config_parse(config, url, &own);
    if (status == HF_OK)
        status =
            hf_reconnect_choose(url, host->reconnect, &config->reconnect, &own);
    if (status == HF_OK)
        status = hf_redis_get_credentials(config, url, &own);
    if (status == HF_OK)
        status = start(config, host, engine, &own);
    explicit_bzero(config, sizeof *config);
    hf_free(config);
    if (status != HF_OK)
        (void)hf_error_set(error, own.status, "%s", own.text);
    return status;
}
