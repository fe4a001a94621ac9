/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One candidacy of an election: one grant, from the request for its ticket
 * until the ticket is removed.  It is the leadership as soon as the grant is
 * granted.  A candidacy whose grant is lost is released, and the next one
 * begins in the same turn of the loop.  If the leadership was short, the next
 * ticket waits as a retry does.
 */
#ifndef HF_HOST_CANDIDACY_H
#define HF_HOST_CANDIDACY_H

#include "client/election.h"

/* All with the client's lock. */

/* End the candidacy, if there is one, because the election resigns or is freed.
 * hf_candidacy_left() follows, perhaps at once. */
void hf_candidacy_leave(struct hf_election *election);

/* A candidacy that was to end has ended: nothing of ${election} is in the queue
 * any more, or ${why} says why something still is (HF_EDENIED).  Answers a
 * resignation. */
void hf_candidacy_left(struct hf_election *election,
                       const struct hf_error *why);

/* The effect of ${kind} on ${grant} was carried out; ${grant} is a candidacy of
 * ${election}.  Changes the state of the election. */
void hf_candidacy_handle_effect(struct hf_election *election,
                                struct hf_grant *grant,
                                enum hf_effect_kind kind);

#endif
