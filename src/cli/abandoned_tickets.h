/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tickets of a supervisor that was killed.  Under a lease they would stay in
 * their queues until it ends, and nobody would hold the lock meanwhile.
 */
#ifndef HF_CLI_ABANDONED_TICKETS_H
#define HF_CLI_ABANDONED_TICKETS_H

#include "cli/run.h"

/* Remove the tickets of the grant in ${run}->page, by a client of our own.  To
 * be called when nothing of the command runs any more.  Takes a few seconds at
 * most; what cannot be removed by then leaves with its lease, which needs no
 * mention. */
void hf_abandoned_tickets_remove(const struct hf_run *run);

#endif
