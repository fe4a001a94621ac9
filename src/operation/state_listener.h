/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a session, as its user sees it: the last one, and the listeners
 * that are notified of each.  A handle that has a session embeds one of these;
 * nothing here knows the handle, only its monitor.
 *
 * Each listener has a callback of its own, so a slow one does not delay the
 * others more than its turn takes.  The callback reports the state that is true
 * when it runs, and before that a LOST that was not reported yet.
 */
#ifndef HF_OPERATION_STATE_LISTENER_H
#define HF_OPERATION_STATE_LISTENER_H

#include <holdfast/client.h>

#include "monitor/monitor.h"
#include "operation/user_callback.h"

struct hf_state_listeners;

/* All fields under the monitor's lock. */
struct hf_listener {
    struct hf_state_listeners *listeners; /* set once */
    struct hf_on_state on_state; /* .fn is NULL: only .drop is called */
    struct hf_callback callback;
    struct hf_user_callback user; /* around .on_state.fn */
    bool lost_pending;            /* a LOST was not reported yet */
    struct hf_listener *next;     /* in the list, until it is removed */
};

/* All fields under the monitor's lock, where nothing else is said. */
struct hf_state_listeners {
    struct hf_monitor *monitor; /* set once */
    /* All of them, in the order in which they were added. */
    struct hf_listener *first;
    struct hf_listener of_options; /* the one of the handle's options */
    bool unlogged; /* another handle on the session logs its states */
    /* The state of the last hf_state_listeners_notify(), whose callbacks may
     * not have run yet.  Written with the lock; any thread reads it. */
    _Atomic unsigned state;
};

/* Initialise ${listeners}, which are zeroed: the state is CONNECTING, and
 * ${on_state}, that of the handle's options, is the first listener.  Before
 * another thread knows the handle; ${monitor} need not be initialised yet. */
void hf_state_listeners_init(struct hf_state_listeners *listeners,
                             struct hf_monitor *monitor,
                             struct hf_on_state on_state);

/* The session is ${state} now: publish it, log it unless .unlogged, and queue
 * the callbacks.  With the lock. */
void hf_state_listeners_notify(struct hf_state_listeners *listeners,
                               enum hf_state state);

/* At the end of the handle: call .drop of each and free it.  With the lock,
 * which is released meanwhile. */
void hf_state_listeners_drop(struct hf_state_listeners *listeners);

/* The open has failed: the listener of the options is not notified any more.
 * Its .drop is not called, because it still belongs to the caller.  With the
 * lock. */
void hf_state_listeners_abandon(struct hf_state_listeners *listeners);

/* --------------------------------------------------------- public calls -- */

/* What the public calls of a handle consist of.  All without the lock. */

/* The last state that was published.  Any thread. */
enum hf_state
hf_state_listeners_state(const struct hf_state_listeners *listeners);

/* Add a listener, as hf_client_add_listener(), for the call ${api_name}. */
hf_status hf_state_listeners_add(struct hf_state_listeners *listeners,
                                 const char *api_name,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener);

/* Remove ${listener}, as hf_client_remove_listener(). */
void hf_state_listeners_remove(struct hf_state_listeners *listeners,
                               struct hf_listener *listener);

#endif
