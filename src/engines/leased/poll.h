/* SPDX-License-Identifier: Apache-2.0 */
/* Polls: asking the server whether the tickets that are watched, or that a
 * queue watch has listed, are still there.  A notice usually comes first.  But
 * notices can be lost, and an expired ticket causes none before somebody uses
 * its queue.  Tickets of a double barrier are listed again instead, because new
 * participants count as well. */
#ifndef HF_ENGINES_LEASED_POLL_H
#define HF_ENGINES_LEASED_POLL_H

#include "core/engine.h"

struct hf_leased;

/* Begin HF_REQUEST_WATCH: WATCHING or GONE.  A watch of another session's
 * ticket begins with a poll for it.  A watch of our own ticket needs none,
 * because renewals cover it. */
void hf_leased_watch(struct hf_leased *leased, struct hf_request *request);

/* Poll every queue in which anything is watched. */
void hf_leased_poll_all(struct hf_leased *leased);

/* Poll the queues that are due. */
void hf_leased_poll_tick(struct hf_leased *leased);

#endif
