/* SPDX-License-Identifier: Apache-2.0 */
/* A user is told of a grant, or of the end of a wish: is that true? */
#ifndef HF_TESTS_SIMULATOR_CHECK_CHECK_GRANT_H
#define HF_TESTS_SIMULATOR_CHECK_CHECK_GRANT_H

#include "simulator/cluster/cluster.h"

/* Is ${attempt} about to be told LOST? */
bool check_loss_queued(const struct attempt *attempt);

void check_granted(struct attempt *attempt);
void check_lost(struct attempt *attempt);
void check_suspended(struct client *client);
void check_downgraded(struct attempt *attempt);
void check_ended(struct attempt *attempt);
void check_released(struct attempt *attempt);

/* Before ${attempt} is released: is its ticket there? */
void check_release(struct attempt *attempt);
void check_forgotten(struct attempt *attempt);

#endif
