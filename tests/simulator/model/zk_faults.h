/* SPDX-License-Identifier: Apache-2.0 */
/* What may go wrong with the servers of a model ensemble, and what some other
 * program may do there.  Servers are numbered from 0. */
#ifndef HF_TESTS_SIMULATOR_MODEL_ZK_FAULTS_H
#define HF_TESTS_SIMULATOR_MODEL_ZK_FAULTS_H

#include "simulator/model/sim.h"

/* How many there are; 0: it is the plain model. */
unsigned hf_sim_server_count(const struct hf_sim *sim);

/* The one that leads, or that the client is connected to; -1: none. */
int hf_sim_leader_index(const struct hf_sim *sim);
int hf_sim_server_index_of(const struct hf_engine *engine);

/* What it sends to the others (${out}) and they to it (${in}) arrives, or is
 * held up. */
void hf_sim_server_link(struct hf_sim *sim, int server, bool out, bool in);

/* Its process is stopped, or goes on; ${machine}: its clock stands too. */
void hf_sim_server_freeze(struct hf_sim *sim, int server, bool machine);
void hf_sim_server_thaw(struct hf_sim *sim, int server);

/* It is killed, or started with what it had on disk. */
void hf_sim_server_stop(struct hf_sim *sim, int server);
void hf_sim_server_start(struct hf_sim *sim, int server);

/* It grants sessions ${timeout_ms} at most from now on, until it is stopped. */
void hf_sim_server_set_max_timeout(struct hf_sim *sim, int server,
                                   uint64_t timeout_ms);

/* Every server is killed and another with nothing on disk started in its
 * place. */
void hf_sim_wipe(struct hf_sim *sim);

/* The next server that the client tries is this one; the others refuse it.
 * -1: any. */
void hf_sim_client_use_only(struct hf_engine *engine, int server);

/* The client's connection ends right behind the next event that it is told of,
 * and before any other of the same transaction. */
void hf_sim_reset_after_event(struct hf_engine *engine);

/* The counter of a node's children is set to ${counter}; the node is made. */
void hf_sim_set_counter(struct hf_sim *sim, const char *queue, int32_t counter);

/* Creates below the queue's node are refused from now on; NULL: no more. */
void hf_sim_deny_creates(struct hf_sim *sim, const char *queue);

/* Some other program makes an ephemeral node ${name} in the queue, with a
 * number behind it if ${sequential}; or deletes it, or with "" the queue's own
 * node. */
void hf_sim_other_client_create(struct hf_sim *sim, const char *queue,
                                const char *name, bool sequential);
void hf_sim_other_client_delete(struct hf_sim *sim, const char *queue,
                                const char *name);

/* Some other program writes data to the ticket's node, as one that asks for its
 * revocation does. */
void hf_sim_other_client_write(struct hf_sim *sim,
                               const struct hf_ticket_id *ticket);

/* How many watches the servers keep, and how many nodes there are but for the
 * root. */
size_t hf_sim_watch_count(const struct hf_sim *sim);
size_t hf_sim_node_count(const struct hf_sim *sim);

/* Was everything wiped? */
bool hf_sim_wiped(const struct hf_sim *sim);

#endif
