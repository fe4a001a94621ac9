/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of one client: the machine of zk.h and what moves it.  Everything
 * here is used with the client's lock held, by whichever thread calls into the
 * engine or runs its loop.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ENGINE_H
#define HF_ENGINES_ZOOKEEPER_ENGINE_H

#include <uv.h>

#include "engines/zookeeper/zk.h"
#include "transport/link.h"

struct hf_engine {
    struct hf_engine_host host;
    char *description;
    struct hf_zk *zk;
    bool ending; /* END was requested */
    uv_loop_t *loop;
    unsigned callbacks; /* of the loop or the machine, that are running */
    uv_idle_t idle;     /* active while there is something to drive */
    /* Timer of CLOCK_BOOTTIME: those of uv stop in suspend. */
    int timer_fd;
    uv_poll_t timer;
    uint64_t armed_at_ms; /* HF_FOREVER: not armed */
    struct hf_resolver *resolver;
    const struct hf_tls_ops *tls; /* NULL: none */
    struct hf_tls_context *context;
    struct hf_link *link; /* NULL: none */
    uint64_t number;      /* of the link, or of the one before */
    unsigned handles;     /* open or closing; memory is freed with the last */
};

/* Have the loop call, on behalf of ${engine}, from then on.  On failure
 * hf_engine_free() undoes what was done. */
hf_status hf_engine_start_timer(struct hf_engine *engine,
                                struct hf_error *error);

/* Carry out what the machine wants by now. */
void hf_engine_drive(struct hf_engine *engine);

/* As hf_engine_ops.open and .free. */
hf_status hf_engine_open(const struct hf_url *url,
                         const struct hf_engine_host *host,
                         struct hf_engine **engine, struct hf_error *error);
void hf_engine_free(struct hf_engine *engine);

#endif
