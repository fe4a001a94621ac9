/* SPDX-License-Identifier: Apache-2.0 */
/* The whole PostgreSQL client, from the core to the bytes on libpq's socket,
 * against a fake server that gives wrong answers. */
#include "engines/leased/leased_engine.h"
#include "engines/postgres/postgres.h"
#include "fuzz.h"
#include "pg_server.h"

/* As in src/engines/postgres/module.c. */
static const struct hf_engine_ops engine = {
    .abi = HF_ENGINE_ABI,
    .scheme = "postgresql",
    .traits = HF_LEASED_TRAITS,
    .open = hf_pg_open,
    .request = hf_leased_engine_request,
    .unwatch = hf_leased_engine_forget,
    .describe = hf_leased_engine_describe,
    .origin = hf_leased_engine_origin,
    .after_fork = hf_leased_engine_after_fork,
    .free = hf_leased_engine_free,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct client_server server = {
        .engine = &engine,
        .url = pg_url,
        .names_queues = true,
        .begin = pg_begin,
        .end = pg_end,
        .serve = pg_serve,
        .step = pg_step,
        .tick = leased_tick,
        .wake_at_ms = leased_wake_at_ms,
    };

    client_run(&server, data, bytes);
    return 0;
}
