/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A quorum of Redis servers that are not connected to each other:
 *
 *        quorum:redis://a,redis://b,redis://c?ttl=10s&rejoin=60s
 *
 * The protocol is in engines/quorum; here are its URL and the links to the
 * servers.
 */
#ifndef HF_ENGINES_REDIS_REDIS_QUORUM_H
#define HF_ENGINES_REDIS_REDIS_QUORUM_H

#include "core/finding_list.h"
#include "engines/leased/leased_engine.h"
#include "engines/quorum/quorum.h"
#include "engines/redis/config.h"
#include "engines/redis/redis_link.h"

#define HF_REDIS_REJOIN_MS UINT64_C(60000)

/* The URL of a quorum, parsed: one config for each server. */
struct hf_redis_quorum_config {
    size_t count;
    struct hf_redis_config servers[HF_QUORUM_SERVERS_MAX];
    uint64_t ttl_ms;
    uint64_t clock_drift; /* of a server, in percent */
    uint64_t rejoin_ms;
    struct hf_reconnect reconnect;
};

/* Fill in ${config} from the URL, the environment and files.  HF_EURL names the
 * server and the part that is wrong, never a password. */
hf_status hf_redis_quorum_config_read(struct hf_redis_quorum_config *config,
                                      const struct hf_url *url,
                                      struct hf_error *error);

/* The same as hf_engine_ops.open, for a URL with ${url}->inner. */
hf_status hf_redis_quorum_open(const struct hf_url *url,
                               const struct hf_engine_host *host,
                               struct hf_engine **engine,
                               struct hf_error *error);

extern const struct hf_store_ops hf_redis_quorum_store_ops;

/* A store for ${engine}; ${config} is copied.  On failure returns NULL and
 * fills in ${error}. */
struct hf_store *hf_redis_quorum_store_new(
    struct hf_engine *engine, const struct hf_redis_quorum_config *config,
    const struct hf_random *random, struct hf_error *error);

/* Implemented in quorum_examine.c.  Add to ${list} the findings about the
 * quorum as a whole.  ${links} are the links to its ${count} servers. */
void hf_redis_quorum_examine(const struct hf_quorum *quorum,
                             struct hf_redis_link *const *links, size_t count,
                             struct hf_finding_list *list);

#endif
