/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine share: the state of a client, and the function
 * that begins each kind of request. */
#ifndef HF_ENGINES_ETCD_ETCD_PRIVATE_H
#define HF_ENGINES_ETCD_ETCD_PRIVATE_H

#include "base/engine_host.h"
#include "core/engine.h"
#include "engines/etcd/etcd_engine.h"
#include "engines/etcd/own_ticket.h"
#include "etcd/session.h"

struct hf_etcd_engine_watch;

/* Queues below which a key was found that is no ticket, and was logged: a ring
 * of the digests of their names. */
#define HF_ETCD_REPORTS_MAX 32
struct hf_etcd_engine_reports {
    uint32_t digests[HF_ETCD_REPORTS_MAX];
    size_t count;
};

/* One client of a cluster: its session, whose listener is etcd_engine.c, and
 * what the engine knows of queues, own tickets and watches. */
struct hf_etcd_engine {
    struct hf_etcd_url_config config;
    struct hf_engine_host host;
    struct hf_etcd_session session;
    struct hf_request *end; /* HF_REQUEST_END; NULL: not requested */
    /* A HF_REQUEST_PROVE that waits for a keep-alive; NULL: none does. */
    struct hf_etcd_engine_request *proof;
    struct hf_tree queues; /* by name */
    struct hf_tree own;    /* our tickets, by id */
    struct {
        struct hf_etcd_engine_own_ticket *first;
        struct hf_etcd_engine_own_ticket *last;
    } proofs; /* our tickets, in the order in which they are compared */
    struct {
        struct hf_etcd_engine_queue *first;
        struct hf_etcd_engine_queue *last;
    } due, blocked; /* queues in the state of that name, see queue_order.h */
    struct {
        struct hf_etcd_engine_watch *first;
        struct hf_etcd_engine_watch *last;
    } watches; /* all watches that have not ended, see watches.h */
    struct hf_etcd_engine_reports reports;
};

/* Pass ${event} to the core: the answer to a request, or what happened to the
 * session.  The core may call back into the engine. */
static inline void hf_etcd_engine_notify(struct hf_etcd_engine *engine,
                                         struct hf_event *event)
{
    engine->host.event(engine->host.host, event);
}

/* -------------------------------------------------------------- requests -- */

/* Each of these begins one kind of request.  The request is answered exactly
 * once, later or at once. */

/* The first five keep the order of their queue (queue_order.h).  So do some
 * lists. */
void hf_etcd_engine_enqueue(struct hf_etcd_engine *engine,
                            struct hf_request *request);
void hf_etcd_engine_remove_ticket(struct hf_etcd_engine *engine,
                                  struct hf_request *request);
void hf_etcd_engine_set_flag(struct hf_etcd_engine *engine,
                             struct hf_request *request);
void hf_etcd_engine_clear_flag(struct hf_etcd_engine *engine,
                               struct hf_request *request);
void hf_etcd_engine_watch_barrier(struct hf_etcd_engine *engine,
                                  struct hf_request *request);

void hf_etcd_engine_list_queue(struct hf_etcd_engine *engine,
                               struct hf_request *request);
void hf_etcd_engine_watch_queue(struct hf_etcd_engine *engine,
                                struct hf_request *request);
void hf_etcd_engine_watch_ticket(struct hf_etcd_engine *engine,
                                 struct hf_request *request);
void hf_etcd_engine_prove(struct hf_etcd_engine *engine,
                          struct hf_request *request);
void hf_etcd_engine_downgrade_ticket(struct hf_etcd_engine *engine,
                                     struct hf_request *request);
void hf_etcd_engine_describe_ticket(struct hf_etcd_engine *engine,
                                    struct hf_request *request);
void hf_etcd_engine_revoke_ticket(struct hf_etcd_engine *engine,
                                  struct hf_request *request);
void hf_etcd_engine_new_generation(struct hf_etcd_engine *engine,
                                   struct hf_request *request);
void hf_etcd_engine_name_queues(struct hf_etcd_engine *engine,
                                struct hf_request *request);

#endif
