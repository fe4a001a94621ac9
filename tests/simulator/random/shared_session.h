/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the public client of ZooKeeper on the sessions of clients of
 * locks, as hf_client_zookeeper() gives them, in random runs with
 * --engine zk-shared.  What their users do and what must hold is as in
 * random/zookeeper.h, and they read and watch the nodes of the locks too.
 * Invariants 21 to 24 are 1 to 4 there.
 */
#ifndef HF_TESTS_SIMULATOR_RANDOM_SHARED_SESSION_H
#define HF_TESTS_SIMULATOR_RANDOM_SHARED_SESSION_H

#include "simulator/cluster/cluster.h"

/* The run of the plan begins, before its first client. */
void shared_sessions_begin(void);

/* ${client} has just been opened: it gets a handle or none.  It is about to be
 * closed, or to crash. */
void shared_session_open(struct client *client);
void shared_session_close(const struct client *client);
void shared_session_crash(const struct client *client);

/* There are no faults any more; users of handles start nothing more. */
void shared_sessions_end_faults(void);
void shared_sessions_stop(void);

/* Are there operations that have not ended? */
bool shared_sessions_busy(void);

/* Check what must hold after that. */
void shared_sessions_check_end(void);

/* The run is over, before the cluster is freed. */
void shared_sessions_end(void);

#endif
