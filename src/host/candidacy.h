/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A candidacy of an election: one grant, from its want to the end of its
 * ticket, which is the leadership as soon as it is granted.  One that is lost
 * is released, and the next one begins in the same turn; if the leadership did
 * not last, the next ticket waits as a retry would.
 */
#ifndef HF_HOST_CANDIDACY_H
#define HF_HOST_CANDIDACY_H

#include "host/election.h"

/* All with the client's lock. */

/* End the candidacy, if there is one: hf_candidacy_left() follows, perhaps at
 * once. */
void hf_candidacy_leave(struct hf_election *election);

/* A candidacy that was to end has ended: nothing of ${election} is in the queue
 * any more, or ${why} says why something still is.  Answers a resignation. */
void hf_candidacy_left(struct hf_election *election,
                       const struct hf_error *why);

/* An effect of ${kind} on ${grant}, a candidacy of ${election}, has been
 * carried out. */
void hf_candidacy_effect(struct hf_election *election, struct hf_grant *grant,
                         enum hf_effect_kind kind);

#endif
