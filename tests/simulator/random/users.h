/* SPDX-License-Identifier: Apache-2.0 */
/* The users of a random cluster: they come until plan.over, see chaos.h. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_USERS_H
#define HF_TESTS_SIMULATOR_RANDOM_USERS_H

#include "simulator/cluster/cluster.h"

/* They hear of what they get, and somebody meddles; those of ${client} come. */
void users_start(void);
void user_start(struct client *client);

/* A program of another make works at ${place}. */
void users_add_other_client(struct lock *lock);

/* There is a barrier. */
void users_add_barrier(struct barrier *barrier);

/* Nobody is in the way of those who still wait. */
void users_stop(void);

#endif
