/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of one client: the machine of zk_machine.h and the I/O that
 * drives it.  Everything here is used with the client's lock held, by any
 * thread that calls into the engine or runs its loop. */
#ifndef HF_ENGINES_ZOOKEEPER_ENGINE_IO_H
#define HF_ENGINES_ZOOKEEPER_ENGINE_IO_H

#include <uv.h>

#include "engine_loop/engine_loop.h"
#include "engines/zookeeper/zk_machine.h"
#include "transport/connection.h"

struct hf_engine {
    struct hf_engine_host host;
    char *description; /* servers and chroot, as a URL */
    struct hf_zk *zk;
    bool ending; /* HF_REQUEST_END was requested */
    uv_loop_t *loop;
    struct hf_engine_loop
        engine_loop; /* the memory is freed when its handles are closed */
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    struct hf_tls_context *context;
    struct hf_connection *connection; /* NULL: none */
    uint64_t connection_number; /* the session's number of .connection, or of
                                   the last one */
};

/* Initialise an engine in zeroed memory.  Free it with hf_engine_free(). */
void hf_engine_init(struct hf_engine *engine,
                    const struct hf_engine_host *host);

/* As .open and .free of struct hf_engine_ops. */
hf_status hf_engine_open(const struct hf_url *url,
                         const struct hf_engine_host *host,
                         struct hf_engine **engine, struct hf_error *error);
void hf_engine_free(struct hf_engine *engine);

#endif
