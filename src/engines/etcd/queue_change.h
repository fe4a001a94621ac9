/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which events of the keys of a queue change what a list of it has shown.
 *
 * A ticket comes with the put that creates its key and goes with the deletion.
 * Any other put of our key changes its value alone: its owner has described the
 * ticket, somebody has asked for its release, or it is being evicted.  Only a
 * downgrade is stored like this, too: the value of a write ticket becomes that
 * of a read ticket.
 */
#ifndef HF_ENGINES_ETCD_QUEUE_CHANGE_H
#define HF_ENGINES_ETCD_QUEUE_CHANGE_H

#include <stdbool.h>

#include "engines/etcd/queue_snapshot.h"

/* What a list has shown. */
struct hf_etcd_engine_shown {
    bool participants; /* participants and READY; else tickets */
    bool has_writers;  /* write tickets are among them */
};

/* What ${list} has shown, of ${participants} or of tickets. */
struct hf_etcd_engine_shown
hf_etcd_engine_shown_by(const struct hf_etcd_engine_list *list,
                        bool participants);

/* Is a list of ${queue} that has shown ${shown} out of date after ${event}?
 * If it has write tickets, also after some events that change nothing. */
bool hf_etcd_engine_is_change(const struct hf_etcd_engine_queue *queue,
                              const struct hf_etcd_engine_shown *shown,
                              const struct hf_etcd_event *event);

#endif
