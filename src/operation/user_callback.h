/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function of the user that is called for the events of an object, such as a
 * watch.  The user may free the object while the function runs: on another
 * thread, or in the function itself.  The free then waits until the function
 * has returned, or leaves the .drop to the thread that runs it.
 *
 * The object calls its function between hf_user_callback_enter() and _leave().
 * Its free calls hf_user_callback_retire(), then _await(), and the .drop that
 * this returns without the lock.
 */
#ifndef HF_OPERATION_USER_CALLBACK_H
#define HF_OPERATION_USER_CALLBACK_H

#include "monitor/monitor.h"

enum hf_user_callback_state {
    HF_USER_CALLBACK_IDLE,
    HF_USER_CALLBACK_RUNNING,
    /* the object was freed while the function runs */
    HF_USER_CALLBACK_RETIRED_RUNNING,
    /* the object was freed; the function is not called any more */
    HF_USER_CALLBACK_RETIRED,
};

/* A function that the user wants to be called when the object is freed. */
struct hf_user_drop {
    void (*fn)(void *arg); /* NULL: nothing */
    void *arg;
};

/* The state of a function of the user.  All members are used with the monitor's
 * lock. */
struct hf_user_callback {
    enum hf_user_callback_state state; /* if zeroed, IDLE */
    /* empty when it was called or given to a caller */
    struct hf_user_drop drop;
    /* the free that waits until the function has returned */
    struct hf_waiter *free_waiter;
};

/* Returns whether the object was freed.  Call this with the lock. */
bool hf_user_callback_is_retired(const struct hf_user_callback *callback);

/* Returns whether the function is running, even if the object was freed.  Call
 * this with the lock. */
bool hf_user_callback_is_running(const struct hf_user_callback *callback);

/* Release the lock, so that the function can be called.  Returns false and
 * keeps the lock if it must not be called.  May be called only from .run of a
 * callback. */
bool hf_user_callback_enter(struct hf_user_callback *callback,
                            struct hf_monitor *monitor);

/* Take the lock, because the function has returned.  Returns false in the child
 * of a fork, where the object must not be touched. */
bool hf_user_callback_leave(struct hf_user_callback *callback,
                            struct hf_monitor *monitor);

/* Have the function not called any more, because the object is being freed.
 * Call this with the lock. */
void hf_user_callback_retire(struct hf_user_callback *callback);

/* Call this after hf_user_callback_retire(), with the lock, as for
 * hf_monitor_wait().  If the function runs on another thread, waits until it
 * has returned.  Returns the .drop that the caller must call.
 *
 * This .drop is empty if this thread may not wait (hf_monitor_may_block()), for
 * instance because it runs the function itself.  Then the thread that runs the
 * function calls .drop when the function has returned. */
struct hf_user_drop hf_user_callback_await(struct hf_user_callback *callback,
                                           struct hf_monitor *monitor);

/* Call ${drop} as a callback.  Call this without the lock. */
void hf_user_drop_call(const struct hf_user_drop *drop);

#endif
