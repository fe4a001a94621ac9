/* SPDX-License-Identifier: Apache-2.0 */
/* The engine for clusters of etcd, etcd://HOST:PORT,HOST:PORT/PREFIX, and
 * etcds:// for TLS. */
#ifndef HF_ENGINES_ETCD_ETCD_H
#define HF_ENGINES_ETCD_ETCD_H

#include "core/engine.h"
#include "engines/etcd/etcd_engine.h"

/* The functions of struct hf_engine_ops. */
hf_status hf_etcd_open(const struct hf_url *url,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error);
void hf_etcd_request(struct hf_engine *engine, struct hf_request *request);
void hf_etcd_unwatch(struct hf_engine *engine, struct hf_request *watch);
void hf_etcd_connect(struct hf_engine *engine);
const char *hf_etcd_describe(const struct hf_engine *engine);
void hf_etcd_origin(const struct hf_engine *engine, struct hf_origin *origin);
void hf_etcd_after_fork(struct hf_engine *engine);
void hf_etcd_free(struct hf_engine *engine);

/* There is no .hold: a lease lives as long as its client sends keep-alives, so
 * an inherited descriptor cannot keep it. */
#define HF_ETCD_OPS                                                            \
    {                                                                          \
        .abi = HF_ENGINE_ABI, .scheme = "etcd", .traits = HF_ETCD_TRAITS,      \
        .open = hf_etcd_open, .request = hf_etcd_request,                      \
        .unwatch = hf_etcd_unwatch, .connect = hf_etcd_connect,                \
        .describe = hf_etcd_describe, .origin = hf_etcd_origin,                \
        .after_fork = hf_etcd_after_fork, .free = hf_etcd_free,                \
    }

#endif
