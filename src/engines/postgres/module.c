/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the engine, which is the symbol of the module
 * engine-postgresql.so. */
#include "engines/leased/leased_engine.h"
#include "engines/postgres/postgres.h"

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = {
    .abi = HF_ENGINE_ABI,
    .scheme = "postgresql",
    .traits = HF_LEASED_TRAITS,
    .open = hf_pg_open,
    .request = hf_leased_engine_request,
    .unwatch = hf_leased_engine_forget,
    .connect = hf_leased_engine_connect,
    .describe = hf_leased_engine_describe,
    .origin = hf_leased_engine_origin,
    .after_fork = hf_leased_engine_after_fork,
    .free = hf_leased_engine_free,
};
