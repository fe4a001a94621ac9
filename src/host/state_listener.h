/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners are notified of the states of a client.  Each has a callback of its
 * own, so that a slow one costs the others nothing but their turn.  It brings
 * the state that is true when it runs, and before that a LOST that the listener
 * has not been notified of.
 */
#ifndef HF_HOST_STATE_LISTENER_H
#define HF_HOST_STATE_LISTENER_H

#include <holdfast/client.h>

#include "monitor/callback_queue.h"

struct hf_client;
struct hf_waiter;

struct hf_listener {
    struct hf_client *client;
    struct hf_on_state on_state; /* .fn is NULL: only to be dropped */
    struct hf_callback callback;
    bool lost_pending; /* there was a LOST, and it was not called with it */
    bool notifying;    /* it is being called */
    bool removed;      /* meanwhile */
    struct hf_waiter *remove_waiter; /* who waits for the end of that */
    struct hf_listener *next;        /* in the client's list, unless removed */
};

/* All with the client's lock. */

/* ${client} has one: that of its options. */
void hf_listeners_init(struct hf_client *client, struct hf_on_state on_state);

/* The state of ${client} has changed. */
void hf_listeners_notify(struct hf_client *client);

/* At its end: drop each.  Gives the lock up meanwhile. */
void hf_listeners_drop(struct hf_client *client);

#endif
