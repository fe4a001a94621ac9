/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tickets on an ensemble, without I/O: the listener of a session
 * (zookeeper/zk_session.h), which whoever drives it drives for itself.
 *
 * Events and answers go to host->event(), from inside the calls of the session,
 * and may lead back into hf_zk_submit() and hf_zk_forget() from there.
 * .now_ms and .loop of the host are not used: ${now_ms} is CLOCK_BOOTTIME,
 * never less than in the call before.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_MACHINE_H
#define HF_ENGINES_ZOOKEEPER_ZK_MACHINE_H

#include "core/engine.h"
#include "engines/zookeeper/zk_config.h"

struct hf_zk;

/* ${config} and ${host} are copied.  The first connection is wanted at once.
 * NULL for lack of memory. */
struct hf_zk *hf_zk_new(const struct hf_zk_config *config,
                        const struct hf_engine_host *host, uint64_t now_ms);

/* After CLOSED, or before anything was requested, or in a test: requests under
 * way are not answered. */
void hf_zk_free(struct hf_zk *zk);

/* As hf_engine_ops.request and .forget. */
void hf_zk_submit(struct hf_zk *zk, struct hf_request *request,
                  uint64_t now_ms);
void hf_zk_forget(struct hf_zk *zk, struct hf_request *watch);

struct hf_zk_session *hf_zk_session(struct hf_zk *zk);

/* The traits of the engine, HF_ENGINE_... */
#define HF_ZK_TRAITS (HF_ENGINE_GONE_ADMITS | HF_ENGINE_WATCHES_TWO)

#endif
