/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ZooKeeper engine without I/O: tickets, queues and watches on an
 * ensemble.  It is a listener of a session (zookeeper/zk_session.h), and
 * the caller drives that session.  The simulator and the tests
 * use the same code as the real engine.
 *
 * Events and answers go to host->event(), from within calls to the session and
 * from within hf_zk_engine_submit(); the host may call hf_zk_engine_submit()
 * and hf_zk_engine_forget() from there.  .now_ms and .loop of the host are not
 * used.  ${now_ms} is CLOCK_BOOTTIME in milliseconds and never decreases.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_ENGINE_H
#define HF_ENGINES_ZOOKEEPER_ZK_ENGINE_H

#include "core/engine.h"
#include "engines/zookeeper/zk_config.h"

struct hf_zk_engine;

/* Make an engine; ${config} and ${host} are copied.  The session asks its
 * driver to connect at once.  NULL for lack of memory. */
struct hf_zk_engine *hf_zk_engine_new(const struct hf_zk_engine_config *config,
                                      const struct hf_engine_host *host,
                                      uint64_t now_ms);

/* Free ${zk}, after HF_EVENT_CLOSED or before the first request.  Tests may
 * free it earlier; requests in flight are then not answered. */
void hf_zk_engine_free(struct hf_zk_engine *zk);

/* As .request and .unwatch of struct hf_engine_ops. */
void hf_zk_engine_submit(struct hf_zk_engine *zk, struct hf_request *request,
                         uint64_t now_ms);
void hf_zk_engine_forget(struct hf_zk_engine *zk, struct hf_request *watch);

/* As .ticket_path of struct hf_engine_ops. */
const char *hf_zk_engine_ticket_path(struct hf_zk_engine *zk,
                                     const struct hf_ticket_id *ticket);

/* The configuration that was parsed from the URL. */
const struct hf_zk_url_config *hf_zk_engine_url(const struct hf_zk_engine *zk);

/* The session, to be driven by the caller. */
struct hf_zk_session *hf_zk_engine_session(struct hf_zk_engine *zk);

/* The traits of the engine, see HF_ENGINE_... in core/engine.h. */
#define HF_ZK_TRAITS (HF_ENGINE_GONE_ADMITS | HF_ENGINE_WATCHES_TWO)

#endif
