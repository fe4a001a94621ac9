/* SPDX-License-Identifier: Apache-2.0 */
/* The whole Redis client, from the core to the bytes of its connections,
 * against fake servers that give wrong answers: a single server, one with
 * replicas to wait for, one with the locks of another prefix, the nodes of a
 * Redis Cluster, and three servers as a quorum. */
#include "engines/redis/redis.h"
#include "fuzz.h"
#include "resp_server.h"

static const struct hf_engine_ops engine = HF_REDIS_OPS;

static const char *url(uint8_t choice)
{
    static const char *const urls[] = {
        "redis://127.0.0.1?ttl=1s",
        "redis://127.0.0.1?ttl=2s&wait=1",
        "redis://127.0.0.1?layout=redis-py",
        "redis://127.0.0.1,127.0.0.2?ttl=1s",
        "redis://127.0.0.1,127.0.0.2?ttl=1s&wait=1",
        "quorum:redis://127.0.0.1,redis://127.0.0.2,redis://127.0.0.3?ttl=1s",
        "quorum:redis://127.0.0.1,redis://127.0.0.2,redis://127.0.0.3?ttl=1s",
    };
    size_t chosen = choice % (sizeof urls / sizeof urls[0]);

    resp_cluster(chosen == 3 || chosen == 4);
    return urls[chosen];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct client_server server = {
        .engine = &engine,
        .url = url,
        .begin = resp_begin,
        .end = resp_end,
        .serve = resp_serve,
        .step = resp_step,
        .tick = leased_tick,
        .wake_at_ms = leased_wake_at_ms,
    };

    client_run(&server, data, bytes);
    return 0;
}
