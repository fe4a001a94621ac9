/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners: who is told of the states of a client.  Each has a callback of its
 * own, so that a slow one costs the others nothing but their turn; it tells the
 * state there is when it runs, and before it a LOST that has not been told.
 */
#ifndef HF_HOST_LISTENER_H
#define HF_HOST_LISTENER_H

#include <holdfast/client.h>

#include "monitor/delivery.h"

struct hf_client;
struct hf_waiter;

struct hf_listener {
    struct hf_client *client;
    struct hf_on_state on_state; /* .fn is NULL: only to be dropped */
    struct hf_callback callback;
    bool lost_unheard; /* there was a LOST that it has not heard of */
    bool telling;      /* it is being called */
    bool removed;      /* meanwhile */
    struct hf_waiter *remove_waiter; /* who waits for the end of that */
    struct hf_listener *next;        /* in the client's list, unless removed */
};

/* All with the client's lock. */

/* ${client} has one: that of its options. */
void hf_listeners_init(struct hf_client *client, struct hf_on_state on_state);

/* The state of ${client} has changed. */
void hf_listeners_tell(struct hf_client *client);

/* At its end: drop each.  Gives the lock up meanwhile. */
void hf_listeners_drop(struct hf_client *client);

#endif
