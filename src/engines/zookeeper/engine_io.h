/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of one client: the machine of zk_machine.h and what moves it.
 * Everything here is used with the client's lock held, by whichever thread
 * calls into the engine or runs its loop.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ENGINE_IO_H
#define HF_ENGINES_ZOOKEEPER_ENGINE_IO_H

#include <uv.h>

#include "engine_loop/engine_loop.h"
#include "engines/zookeeper/zk_machine.h"
#include "transport/connection.h"

struct hf_engine {
    struct hf_engine_host host;
    char *description;
    struct hf_zk *zk;
    bool ending; /* END was requested */
    uv_loop_t *loop;
    struct hf_engine_loop turns; /* memory is freed when they are closed */
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: none */
    struct hf_tls_context *context;
    struct hf_connection *connection; /* NULL: none */
    uint64_t connection_number;       /* of the link, or of the one before */
};

/* Of memory that is all zero; wants hf_engine_free(). */
void hf_engine_init(struct hf_engine *engine,
                    const struct hf_engine_host *host);

/* As hf_engine_ops.open and .free. */
hf_status hf_engine_open(const struct hf_url *url,
                         const struct hf_engine_host *host,
                         struct hf_engine **engine, struct hf_error *error);
void hf_engine_free(struct hf_engine *engine);

#endif
