/* SPDX-License-Identifier: Apache-2.0 */
/* The servers of a random world fail, for a while: see chaos.h. */
#ifndef HF_TESTS_SIM_OUTAGE_H
#define HF_TESTS_SIM_OUTAGE_H

#include "chaos.h"

/* The follower of ${client} hears nothing of its leader, or the leader nothing
 * of it. */
void outage_of_link(struct client *client);

/* One of those behind FAULT_COUNT: of an ensemble, or of a leasing server. */
void outage_of_any(enum fault fault);

#endif
