/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what a user is notified of: a grant, its loss, a downgrade, the end
 * of an attempt.  Each function is called when the core has that effect, before
 * the user is notified. */
#ifndef HF_TESTS_SIMULATOR_CHECK_CHECK_GRANT_H
#define HF_TESTS_SIMULATOR_CHECK_CHECK_GRANT_H

#include "simulator/cluster/cluster.h"

/* Is the effect LOST for ${attempt} queued in the core? */
bool check_loss_queued(const struct attempt *attempt);

void check_granted(struct attempt *attempt);
void check_lost(struct attempt *attempt);
void check_suspended(struct client *client);
void check_downgraded(struct attempt *attempt);
void check_ended(struct attempt *attempt);
void check_released(struct attempt *attempt);

/* Called before ${attempt} is released: notes whether its tickets are there. */
void check_release(struct attempt *attempt);
void check_forgotten(struct attempt *attempt);

#endif
