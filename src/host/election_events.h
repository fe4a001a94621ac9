/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an election notifies its user of, one event at a time: that it leads,
 * that it does not any more, that it is asked to let go, that it has ended, and
 * how a resignation went.
 *
 * One callback serves the first four.  It looks, when it runs, at what the user
 * was notified of last and at what is true now.  So elected and deposed come by
 * turns, and the last event is always the truth; a leadership that was over
 * before the callback ran is not mentioned.
 */
#ifndef HF_HOST_ELECTION_EVENTS_H
#define HF_HOST_ELECTION_EVENTS_H

#include "host/election.h"

/* All with the client's lock, where nothing else is said. */

/* Of a new one. */
void hf_election_init_events(struct hf_election *election);

/* Something has changed: queue the callback if the user is to be notified. */
void hf_election_notify(struct hf_election *election);

/* Forget the events that the user has not been notified of. */
void hf_election_discard_events(struct hf_election *election);

/* Answer a resignation that can be answered: nothing of it is in the queue, and
 * no callback runs. */
void hf_election_answer_resign(struct hf_election *election);

/* Have ${election}, which was freed, drop the callbacks that it has.  Gives the
 * lock up meanwhile. */
void hf_election_drop_callbacks(struct hf_election *election);

/* Drop what the user gave in ${opts}.  Without the lock. */
void hf_election_drop_opts(const struct hf_election_opts *opts);

#endif
