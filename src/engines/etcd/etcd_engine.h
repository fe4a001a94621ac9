/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The etcd engine without I/O: tickets, queues and watches in a cluster.  It is
 * the listener of a session (etcd/session.h), and the caller drives that
 * session.  The simulator and the tests use the same code as the real engine.
 *
 * Events and answers go to host->event(), from within hf_etcd_engine_submit(),
 * hf_etcd_engine_flush() and calls to the session.  Within an event the host
 * may call hf_etcd_engine_submit() and hf_etcd_engine_unwatch().  .now_ms and
 * .loop of the host are not used.  ${now_ms} is CLOCK_BOOTTIME in milliseconds
 * and never decreases.
 *
 * etcd may carry out the calls of one connection in any order.  So a request
 * that must keep an order is sent only when the one before it was answered: see
 * queue_order.h.
 */
#ifndef HF_ENGINES_ETCD_ETCD_ENGINE_H
#define HF_ENGINES_ETCD_ETCD_ENGINE_H

#include "core/engine.h"
#include "etcd/etcd_url.h"

struct hf_engine_host;
struct hf_etcd_engine;

/* Make an engine; ${config} and ${host} are copied.  With .list_only of the
 * host its session has no lease.  The session wants its first connection at
 * once.  Returns NULL for lack of memory. */
struct hf_etcd_engine *
hf_etcd_engine_new(const struct hf_etcd_url_config *config,
                   const struct hf_engine_host *host, uint64_t now_ms);

/* Free ${engine}, after HF_EVENT_CLOSED or before the first request.  Tests may
 * free it earlier; requests in flight are then not answered. */
void hf_etcd_engine_free(struct hf_etcd_engine *engine);

/* .request and .unwatch of struct hf_engine_ops. */
void hf_etcd_engine_submit(struct hf_etcd_engine *engine,
                           struct hf_request *request, uint64_t now_ms);
void hf_etcd_engine_unwatch(struct hf_etcd_engine *engine,
                            struct hf_request *watch);

/* Begin what was submitted since the last call.  REMOVE and ENQUEUE of one
 * queue may then share a transaction.  The driver calls this each time before
 * hf_etcd_session_output(). */
void hf_etcd_engine_flush(struct hf_etcd_engine *engine, uint64_t now_ms);

/* Return the configuration that was read from the URL. */
const struct hf_etcd_url_config *
hf_etcd_engine_url(const struct hf_etcd_engine *engine);

/* Return the session, which the caller drives. */
struct hf_etcd_session *hf_etcd_engine_session(struct hf_etcd_engine *engine);

/* The traits of the engine: see HF_ENGINE_... in core/engine.h.  A watch begins
 * at the revision of the list that has shown the ticket, so no event can be
 * missed.  A new ticket is always behind all others. */
#define HF_ETCD_TRAITS (HF_ENGINE_GONE_ADMITS | HF_ENGINE_WATCHES_TWO)

#endif
