/* SPDX-License-Identifier: Apache-2.0 */
/* The users of random runs, which acquire and release until
 * plan.faults_over. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_USERS_H
#define HF_TESTS_SIMULATOR_RANDOM_USERS_H

#include "simulator/cluster/cluster.h"

/* Users are notified from now on; those of ${client} begin to acquire. */
void users_start(void);
void user_start(struct client *client);

/* A program of another make uses ${lock}. */
void users_add_other_client(struct lock *lock);

/* Clients and others use ${barrier}. */
void users_add_barrier(struct barrier *barrier);

/* Nothing may hold up the waiters that are left. */
void users_stop(void);

#endif
