/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of locks that the user is to be called with (.on_event).  They
 * happen with the client's lock, where nobody may wait for the user, so they
 * are kept in a bounded queue that a callback empties.
 */
#ifndef HF_HOST_LOCK_EVENTS_H
#define HF_HOST_LOCK_EVENTS_H

#include <holdfast/client.h>

#include "monitor/callback_queue.h"

/* How many events may wait: enough for a client that is closed with as many
 * locks. */
#define HF_LOCK_EVENTS_MAX 65536

struct hf_monitor;
struct hf_waiting_lock_event;

/* All fields under the client's lock, where nothing else is said. */
struct hf_lock_events {
    struct hf_monitor *monitor;  /* the client's; set once */
    struct hf_on_event on_event; /* the user's; .fn is NULL: none, or no more */
    struct hf_callback callback;
    struct hf_waiting_lock_event *first, **end;
    unsigned count; /* events in the queue */
    unsigned lost;  /* found no room or no memory since the callback ran */
};

/* All with the client's lock. */

void hf_lock_events_init(struct hf_lock_events *events,
                         struct hf_monitor *monitor,
                         struct hf_on_event on_event);

/* Have the user called with ${event}, which is copied with its name, if it
 * wants to be. */
void hf_lock_events_add(struct hf_lock_events *events,
                        const struct hf_lock_event *event);

/* All callbacks have run: call the user with what is left, and not any more
 * from then on.  Releases the lock meanwhile.  Idempotent. */
void hf_lock_events_close(struct hf_lock_events *events);

#endif
