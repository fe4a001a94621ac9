/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the servers of the ZooKeeper model, and what other programs do
 * there.  Servers are numbered from 0. */
#ifndef HF_TESTS_SIMULATOR_MODEL_ZK_FAULTS_H
#define HF_TESTS_SIMULATOR_MODEL_ZK_FAULTS_H

#include "simulator/model/sim.h"

/* The number of servers; 0: this is not the ZooKeeper model. */
unsigned hf_sim_server_count(const struct hf_sim *sim);

/* The number of the leader, and of the server that the client is connected to;
 * -1: none. */
int hf_sim_leader_index(const struct hf_sim *sim);
int hf_sim_server_index_of(const struct hf_engine *engine);

/* Carry messages of the server to the others (${out}) and of these to it
 * (${in}), or hold them up. */
void hf_sim_server_link(struct hf_sim *sim, int server, bool out, bool in);

/* Stop the server's process, or continue it.  ${machine}: its clock stops
 * too. */
void hf_sim_server_freeze(struct hf_sim *sim, int server, bool machine);
void hf_sim_server_thaw(struct hf_sim *sim, int server);

/* Kill the server; start it again with what it has on disk. */
void hf_sim_server_stop(struct hf_sim *sim, int server);
void hf_sim_server_start(struct hf_sim *sim, int server);

/* The longest timeout that it grants from now on, until it is stopped. */
void hf_sim_server_set_max_timeout(struct hf_sim *sim, int server,
                                   uint64_t timeout_ms);

/* Kill all servers and start others without any data in their place. */
void hf_sim_wipe(struct hf_sim *sim);

/* The client can connect to this server alone, the others refuse it.  -1: to
 * all. */
void hf_sim_client_use_only(struct hf_engine *engine, int server);

/* The server resets the client's connection right after the next watch event,
 * before another event of the same transaction. */
void hf_sim_reset_after_event(struct hf_engine *engine);

/* Set the counter of children of the queue's node. */
void hf_sim_set_counter(struct hf_sim *sim, const char *queue, int32_t counter);

/* Refuse creates below the queue's node from now on; NULL: refuse none. */
void hf_sim_deny_creates(struct hf_sim *sim, const char *queue);

/* Another program creates an ephemeral node ${name} in the queue, with a
 * sequence number if ${sequential}; or deletes it; with "" it deletes the
 * queue's own node. */
void hf_sim_other_client_create(struct hf_sim *sim, const char *queue,
                                const char *name, bool sequential);
void hf_sim_other_client_delete(struct hf_sim *sim, const char *queue,
                                const char *name);

/* Another program writes data to the ticket's node, as Curator does to ask for
 * its release. */
void hf_sim_other_client_write(struct hf_sim *sim,
                               const struct hf_ticket_id *ticket);

/* The number of watches that servers have, and of nodes without the root. */
size_t hf_sim_watch_count(const struct hf_sim *sim);
size_t hf_sim_node_count(const struct hf_sim *sim);

/* Has hf_sim_wipe() been called? */
bool hf_sim_wiped(const struct hf_sim *sim);

#endif
