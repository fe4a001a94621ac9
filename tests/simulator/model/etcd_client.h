/* SPDX-License-Identifier: Apache-2.0 */
/* A client process of the etcd model. */
#ifndef HF_TESTS_SIMULATOR_MODEL_ETCD_CLIENT_H
#define HF_TESTS_SIMULATOR_MODEL_ETCD_CLIENT_H

#include "etcd/session.h"
#include "simulator/model/etcd_internal.h"

struct hf_etcd_engine;

/* The beginning of all keys of clients. */
#define ETCD_PREFIX "hf/"

/* A WATCH or WATCH_QUEUE of the core. */
struct etcd_watch_request {
    struct hf_request *request;
    bool watching;
    struct etcd_watch_request *next;
};

struct etcd_client {
    struct hf_engine *engine;
    struct hf_etcd_engine *etcd;
    struct hf_etcd_session *session; /* of .etcd */
    uint64_t number;                 /* of the link that the client asked for */
    struct etcd_connection *connection;
    /* That the client believes in; NULL: none. */
    const struct etcd_lease *lease;
    struct etcd_member *stalled; /* that this client's stall has cut off */
    struct etcd_watch_request *watches;
    unsigned call_depth; /* depth of calls into .etcd */
    bool called;         /* since the last flush */
};

/* As in struct sim_model_ops; in etcd_committed.c and etcd_faults.c. */
void etcd_kill_session(struct hf_engine *engine);
bool etcd_evict(struct hf_sim *sim, const struct hf_ticket_id *ticket,
                struct sim_ticket *found);
void etcd_other_enqueue(struct hf_sim *sim, struct sim_queue *queue,
                        enum hf_ticket_kind kind,
                        const struct hf_ticket_id *ticket,
                        const struct sim_ticket *beside);
void etcd_set_barrier(struct hf_sim *sim, struct sim_queue *queue, bool up);
void etcd_touch_barrier(struct hf_sim *sim, struct sim_queue *queue);
void etcd_stall(struct hf_engine *engine, bool out, bool in);
void etcd_restart(struct hf_sim *sim);
void etcd_end_faults(struct hf_sim *sim);

#endif
