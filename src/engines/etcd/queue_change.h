/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events of the keys of a queue make a list of the queue out of date.
 *
 * A ticket comes with the put that creates its key and goes with the deletion.
 * Any other put of a key of ours only changes its value: the owner has
 * described the ticket, somebody has asked for its release, or it is being
 * evicted.  The exception is a downgrade, which turns the value of a write
 * ticket into that of a read ticket by such a put.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_CHANGE_H
#define HF_ENGINES_ETCD_QUEUE_CHANGE_H

#include <stdbool.h>

#include "engines/etcd/queue_snapshot.h"

/* What kind of keys a list has shown. */
struct hf_etcd_engine_shown {
    bool participants; /* true: participants and READY; false: tickets */
    bool has_writers;  /* there are write tickets among them */
};

/* Return what ${list} has shown: participants (${participants}) or tickets. */
struct hf_etcd_engine_shown
hf_etcd_engine_shown_by(const struct hf_etcd_engine_list *list,
                        bool participants);

/* Is a list of ${queue} that has shown ${shown} out of date after ${event}?  If
 * the list has write tickets, the answer may be true although nothing has
 * changed. */
bool hf_etcd_engine_is_change(const struct hf_etcd_engine_queue *queue,
                              const struct hf_etcd_engine_shown *shown,
                              const struct hf_etcd_event *event);

#endif
