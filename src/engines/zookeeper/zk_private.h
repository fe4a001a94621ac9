/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a client share: the session (src/zookeeper), of which
 * zk_machine.c is the listener; queues, own tickets and watches; and each
 * request, which has a file of its own. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_PRIVATE_H
#define HF_ENGINES_ZOOKEEPER_ZK_PRIVATE_H

#include "core/engine.h"
#include "engines/zookeeper/unknown_node.h"
#include "engines/zookeeper/zk_config.h"
#include "engines/zookeeper/zk_failure.h"
#include "engines/zookeeper/zk_own_ticket.h"
#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zk_watches.h"
#include "zookeeper/zk_calls.h"

#define HF_ZK_PATH_BYTES 4096

struct hf_zk {
    struct hf_zk_config config;
    struct hf_engine_host host;
    struct hf_zk_session session;
    struct hf_zk_listener listener;                 /* of the session */
    struct hf_zk_window_callbacks window_callbacks; /* of its window */
    struct hf_request *end;                         /* NULL: not asked for */
    struct hf_zk_queues queues;
    struct hf_zk_own_tickets own_tickets;
    struct hf_zk_reports reports;
    struct hf_zk_request *cancellable; /* that a UNWATCH may take back */
    bool containers_unsupported; /* to the server: parents are persistent */
    char path[HF_ZK_PATH_BYTES]; /* the one that was put together last */
};

/* Have the core take in ${event}: an answer to a request, or what happened to
 * the session. */
static inline void hf_zk_notify(struct hf_zk *zk, struct hf_event *event)
{
    zk->host.event(zk->host.host, event);
}

/* -------------------------------------------------------------- requests -- */

/* Each carries out such a request; the session is usable. */

void hf_zk_enqueue(struct hf_zk *zk, struct hf_request *request);
void hf_zk_list(struct hf_zk *zk, struct hf_request *request);
void hf_zk_watch_queue(struct hf_zk *zk, struct hf_request *request);
void hf_zk_remove(struct hf_zk *zk, struct hf_request *request);
void hf_zk_prove(struct hf_zk *zk, struct hf_request *request);
void hf_zk_watch_ticket(struct hf_zk *zk, struct hf_request *request);
void hf_zk_downgrade(struct hf_zk *zk, struct hf_request *request);
void hf_zk_describe(struct hf_zk *zk, struct hf_request *request);
void hf_zk_revoke(struct hf_zk *zk, struct hf_request *request);
void hf_zk_set_flag(struct hf_zk *zk, struct hf_request *request);
void hf_zk_clear_flag(struct hf_zk *zk, struct hf_request *request);
void hf_zk_new_generation(struct hf_zk *zk, struct hf_request *request);
void hf_zk_clear_generation(struct hf_zk *zk, struct hf_request *request);
void hf_zk_watch_barrier(struct hf_zk *zk, struct hf_request *request);
void hf_zk_list_detailed(struct hf_zk *zk, struct hf_request *request);

#endif
