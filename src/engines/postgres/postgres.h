/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for PostgreSQL: postgresql://HOST:PORT/DATABASE. */
#ifndef HF_ENGINES_POSTGRES_POSTGRES_H
#define HF_ENGINES_POSTGRES_POSTGRES_H

#include "core/engine.h"

/* See HF_ENGINE_MODULE_SYMBOL. */
extern const struct hf_engine_ops hf_engine_module;

/* The .open of this table. */
hf_status hf_pg_open(const struct hf_url *url,
                     const struct hf_engine_host *host,
                     struct hf_engine **engine, struct hf_error *error);

#endif
