/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a session as its user sees it: the last state, and the listeners
 * that are notified of each state.  A handle that has a session embeds a struct
 * hf_state_listeners, which knows only the handle's monitor.
 *
 * Each listener has a callback of its own, so a slow listener delays the others
 * only while it runs.  The callback reports the state at the time when it runs,
 * and before that a LOST that was not reported yet.
 */
#ifndef HF_OPERATION_STATE_LISTENER_H
#define HF_OPERATION_STATE_LISTENER_H

#include <holdfast/client.h>

#include "monitor/monitor.h"
#include "operation/user_callback.h"

struct hf_state_listeners;

/* A listener.  All members are used with the monitor's lock. */
struct hf_listener {
    struct hf_state_listeners *listeners; /* set once */
    /* .fn may be NULL; then only .drop is called */
    struct hf_on_state on_state;
    struct hf_callback callback;
    struct hf_user_callback user; /* guards the calls of .on_state.fn */
    bool lost_pending;            /* a LOST was not reported yet */
    struct hf_listener *next;     /* in the list, until it is removed */
};

/* The state and listeners of a session.  Members are used with the monitor's
 * lock, unless noted otherwise. */
struct hf_state_listeners {
    struct hf_monitor *monitor; /* set once */
    /* All listeners, in the order in which they were added. */
    struct hf_listener *first;
    /* the listener in the options of the handle */
    struct hf_listener of_options;
    /* the states are not logged, because another handle on the session logs
     * them */
    bool unlogged;
    /* The state of the last hf_state_listeners_notify(), whose callbacks may
     * not have run yet.  Written with the lock, read by any thread. */
    _Atomic unsigned state;
};

/* Initialise ${listeners}, which are zeroed: the state is CONNECTING, and the
 * first listener is ${on_state} of the handle's options.  Call this before
 * another thread knows the handle; ${monitor} need not be initialised yet. */
void hf_state_listeners_init(struct hf_state_listeners *listeners,
                             struct hf_monitor *monitor,
                             struct hf_on_state on_state);

/* Publish the new state of the session, log it unless .unlogged is set, and
 * queue the callbacks.  Call this with the lock. */
void hf_state_listeners_notify(struct hf_state_listeners *listeners,
                               enum hf_state state);

/* Call .drop of each listener and free the listeners, at the end of the handle.
 * Call this with the lock, which is released meanwhile. */
void hf_state_listeners_drop(struct hf_state_listeners *listeners);

/* Forget the listener of the options without a call of its .drop, because the
 * open has failed and the listener still belongs to the caller.  Call this with
 * the lock. */
void hf_state_listeners_abandon(struct hf_state_listeners *listeners);

/* --------------------------------------------------------- public calls -- */

/* The functions behind the public functions of a handle.  All are called
 * without the lock. */

/* Returns the last state that was published.  May be called by any thread. */
enum hf_state
hf_state_listeners_state(const struct hf_state_listeners *listeners);

/* Add a listener, as for hf_client_add_listener().  ${api_name} is the name of
 * the public function. */
hf_status hf_state_listeners_add(struct hf_state_listeners *listeners,
                                 const char *api_name,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener);

/* Remove ${listener}, as for hf_client_remove_listener(). */
void hf_state_listeners_remove(struct hf_state_listeners *listeners,
                               struct hf_listener *listener);

#endif
