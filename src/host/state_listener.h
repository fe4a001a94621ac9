/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners are notified of the states of a client.  Each has a callback of its
 * own, so a slow one does not delay the others more than its turn takes.  The
 * callback reports the state that is true when it runs, and before that a LOST
 * that was not reported yet.
 */
#ifndef HF_HOST_STATE_LISTENER_H
#define HF_HOST_STATE_LISTENER_H

#include <holdfast/client.h>

#include "monitor/callback_queue.h"

struct hf_client;
struct hf_waiter;

/* All fields under the client's lock. */
struct hf_listener {
    struct hf_client *client;
    struct hf_on_state on_state; /* .fn is NULL: only .drop is called */
    struct hf_callback callback;
    bool lost_pending; /* a LOST was not reported yet */
    bool notifying;    /* .on_state.fn runs */
    bool removed;      /* by the user, perhaps while .notifying */
    /* The removal that waits until .fn has returned. */
    struct hf_waiter *remove_waiter;
    struct hf_listener *next; /* in the client's list, unless .removed */
};

/* All with the client's lock. */

/* The first listener of ${client}: that of its options. */
void hf_listeners_init(struct hf_client *client, struct hf_on_state on_state);

/* The state of ${client} has changed: queue the callbacks. */
void hf_listeners_notify(struct hf_client *client);

/* At the end of the client: call .drop of each and free it.  Releases the lock
 * meanwhile. */
void hf_listeners_drop(struct hf_client *client);

#endif
