/* SPDX-License-Identifier: Apache-2.0 */
/* The users of a random world: they come until plan.over, see chaos.h. */
#ifndef HF_TESTS_SIM_USER_H
#define HF_TESTS_SIM_USER_H

#include "world.h"

/* They hear of what they get, and somebody meddles; those of ${client} come. */
void users_begin(void);
void user_begin(struct client *client);

/* A program of another make works at ${place}. */
void users_foreign(struct place *place);

/* There is a barrier. */
void users_gate(struct gate *gate);

/* Nobody is in the way of those who still wait. */
void users_end(void);

#endif
