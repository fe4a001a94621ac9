/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of the members of the etcd model, and what other programs do there.
 * Members are numbered from 0. */
#ifndef HF_TESTS_SIMULATOR_MODEL_ETCD_FAULTS_H
#define HF_TESTS_SIMULATOR_MODEL_ETCD_FAULTS_H

#include "simulator/model/sim.h"

/* The number of members; 0: this is not the etcd model. */
unsigned hf_sim_etcd_members(const struct hf_sim *sim);

/* The number of the leader; -1: none. */
int hf_sim_etcd_leader(const struct hf_sim *sim);

/* Carry messages of the member to the others (${out}) and of these to it
 * (${in}), or hold them up.  ${forwards}: also what members ask each other by
 * HTTP, and not only raft's messages. */
void hf_sim_etcd_link(struct hf_sim *sim, int member, bool out, bool in,
                      bool forwards);

/* Stop the member's process, or continue it.  ${machine}: its clock stops
 * too. */
void hf_sim_etcd_freeze(struct hf_sim *sim, int member, bool machine);
void hf_sim_etcd_thaw(struct hf_sim *sim, int member);

/* Writes to its disk do not end, or go on. */
void hf_sim_etcd_stick_disk(struct hf_sim *sim, int member, bool stuck);

/* Kill the member, or end it in order (${politely}); start it again with what
 * it has on disk. */
void hf_sim_etcd_stop(struct hf_sim *sim, int member, bool politely);
void hf_sim_etcd_start(struct hf_sim *sim, int member);

/* An administrator compacts what is older than the last ${keep} revisions;
 * changes a role, which makes all tokens old; has the database be full; makes
 * room again. */
void hf_sim_etcd_compact(struct hf_sim *sim, unsigned keep);
void hf_sim_etcd_change_auth(struct hf_sim *sim);
void hf_sim_etcd_fill(struct hf_sim *sim);
void hf_sim_etcd_make_room(struct hf_sim *sim);

#endif
