/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of an election that the user is notified of, one at a time: it leads,
 * it does not lead any more, somebody asks it to resign, its candidacy has
 * ended, and how a resignation ended.
 *
 * One callback serves the first four.  When it runs, it compares what the user
 * was notified of last with what is true now.  So on_elected and on_deposed
 * alternate and the last event is always the truth; a leadership that was over
 * before the callback ran is not reported.
 */
#ifndef HF_HOST_ELECTION_EVENTS_H
#define HF_HOST_ELECTION_EVENTS_H

#include "client/election.h"

/* All with the client's lock, where nothing else is said. */

/* Set the callback of a new election. */
void hf_election_init_events(struct hf_election *election);

/* Something has changed: queue the callback if there is an event to report. */
void hf_election_notify(struct hf_election *election);

/* Forget the events that were not reported yet. */
void hf_election_discard_events(struct hf_election *election);

/* Answer a resignation if it can be answered: nothing of it is in the queue,
 * and no callback of the election runs. */
void hf_election_answer_resign(struct hf_election *election);

/* Call the .drop of the callbacks of ${election}, which was freed.  Releases
 * the lock meanwhile. */
void hf_election_drop_callbacks(struct hf_election *election);

/* Call the .drop of the callbacks in ${opts}.  Without the lock. */
void hf_election_drop_opts(const struct hf_election_opts *opts);

#endif
