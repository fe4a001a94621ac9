/* SPDX-License-Identifier: Apache-2.0 */
/* See user_callback.h. */
#include "operation/user_callback.h"

#include <assert.h>

bool hf_user_callback_is_retired(const struct hf_user_callback *callback)
{
    return callback->state == HF_USER_CALLBACK_RETIRED_RUNNING ||
           callback->state == HF_USER_CALLBACK_RETIRED;
}

bool hf_user_callback_is_running(const struct hf_user_callback *callback)
{
    return callback->state == HF_USER_CALLBACK_RUNNING ||
           callback->state == HF_USER_CALLBACK_RETIRED_RUNNING;
}

/* Take .drop out of ${callback}, so that it is called at most once. */
static struct hf_user_drop take_drop(struct hf_user_callback *callback)
{
    const struct hf_user_drop drop = callback->drop;

    callback->drop = (struct hf_user_drop){NULL, NULL};
    return drop;
}

bool hf_user_callback_enter(struct hf_user_callback *callback,
                            struct hf_monitor *monitor)
{
    if (hf_user_callback_is_retired(callback))
        return false;
    assert(callback->state == HF_USER_CALLBACK_IDLE);
    callback->state = HF_USER_CALLBACK_RUNNING;
    hf_monitor_unlock(monitor);
    return true;
}

/* Call .drop, because the thread that freed the object has left that to this
 * one.  The function still counts as running, so if another free begins to wait
 * now, it waits for .drop, too. */
static void drop_after_call(struct hf_user_callback *callback,
                            struct hf_monitor *monitor)
{
    const struct hf_user_drop drop = take_drop(callback);

    if (drop.fn == NULL)
        return;
    hf_monitor_unlock(monitor);
    drop.fn(drop.arg);
    hf_monitor_lock(monitor);
}

bool hf_user_callback_leave(struct hf_user_callback *callback,
                            struct hf_monitor *monitor)
{
    hf_monitor_lock(monitor);
    if (hf_fork_is_child(&monitor->fork))
        return false;
    if (callback->state == HF_USER_CALLBACK_RUNNING) {
        callback->state = HF_USER_CALLBACK_IDLE;
        return true;
    }
    assert(callback->state == HF_USER_CALLBACK_RETIRED_RUNNING);
    if (callback->free_waiter == NULL)
        drop_after_call(callback, monitor);
    callback->state = HF_USER_CALLBACK_RETIRED;
    if (callback->free_waiter != NULL)
        hf_waiter_answer(monitor, callback->free_waiter, HF_OK);
    return true;
}

void hf_user_callback_retire(struct hf_user_callback *callback)
{
    if (callback->state == HF_USER_CALLBACK_RUNNING)
        callback->state = HF_USER_CALLBACK_RETIRED_RUNNING;
    else if (callback->state == HF_USER_CALLBACK_IDLE)
        callback->state = HF_USER_CALLBACK_RETIRED;
}

struct hf_user_drop hf_user_callback_await(struct hf_user_callback *callback,
                                           struct hf_monitor *monitor)
{
    assert(hf_user_callback_is_retired(callback));
    if (callback->state == HF_USER_CALLBACK_RETIRED_RUNNING)
        hf_monitor_await_callback(monitor, &callback->free_waiter);
    if (callback->state == HF_USER_CALLBACK_RETIRED_RUNNING)
        return (struct hf_user_drop){NULL, NULL};
    return take_drop(callback);
}

void hf_user_drop_call(const struct hf_user_drop *drop)
{
    hf_callback_enter();
    if (drop->fn != NULL)
        drop->fn(drop->arg);
    hf_callback_leave();
}
