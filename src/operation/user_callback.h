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
    HF_USER_CALLBACK_RETIRED_RUNNING, /* freed while it runs */
    HF_USER_CALLBACK_RETIRED,         /* freed: it is not called any more */
};

/* What the user wants to be called when the object is freed. */
struct hf_user_drop {
    void (*fn)(void *arg); /* NULL: nothing */
    void *arg;
};

/* All fields under the monitor's lock. */
struct hf_user_callback {
    enum hf_user_callback_state state; /* zeroed: IDLE */
    struct hf_user_drop drop;          /* until it was called, or handed out */
    struct hf_waiter *free_waiter;     /* the free that waits for the return */
};

/* Was the object freed?  With the lock. */
bool hf_user_callback_is_retired(const struct hf_user_callback *callback);

/* Is it being called, whether or not the object was freed?  With the lock. */
bool hf_user_callback_is_running(const struct hf_user_callback *callback);

/* Release the lock for a call of the function.  False: it must not be called,
 * and the lock is kept.  Only from the .run of a callback. */
bool hf_user_callback_enter(struct hf_user_callback *callback,
                            struct hf_monitor *monitor);

/* The function has returned: take the lock.  False in the child of a fork,
 * where the object must not be touched. */
bool hf_user_callback_leave(struct hf_user_callback *callback,
                            struct hf_monitor *monitor);

/* The object is freed: have the function not called any more.  With the
 * lock. */
void hf_user_callback_retire(struct hf_user_callback *callback);

/* After that: if the function runs on another thread, wait until it has
 * returned.  Returns the .drop that the caller has to call.  It is an empty one
 * if this thread may not wait (hf_monitor_may_block()), for instance because it
 * runs the function: then the thread that runs the function calls .drop when
 * the function has returned.  With the lock, as hf_monitor_wait(). */
struct hf_user_drop hf_user_callback_await(struct hf_user_callback *callback,
                                           struct hf_monitor *monitor);

/* Call ${drop} as a callback.  Without the lock. */
void hf_user_drop_call(const struct hf_user_drop *drop);

#endif
