/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners of a session's states: adding and removing them, and notifying
 * them.
 */
#include "operation/state_listener.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"

/* ------------------------------------------------------------ notifying -- */

/* Call .fn of ${listener} with ${state}, unless the listener was removed.
 * Releases the lock meanwhile.  Returns false in the child of a fork. */
static bool call_listener(struct hf_listener *listener, enum hf_state state)
{
    struct hf_monitor *monitor = listener->listeners->monitor;

    if (!hf_user_callback_enter(&listener->user, monitor))
        return true;
    listener->on_state.fn(listener->on_state.arg, state);
    return hf_user_callback_leave(&listener->user, monitor);
}

/* The .run of a listener's callback.  If the listener was removed while its
 * function ran, the thread that removed it waits and frees it.  If that thread
 * may not wait, because it is in a callback or runs a borrowed loop, the
 * listener is freed here. */
static void run_listener(void *arg)
{
    struct hf_listener *listener = arg;
    enum hf_state state = hf_state_listeners_state(listener->listeners);
    bool lost = listener->lost_pending && state != HF_STATE_LOST;

    listener->lost_pending = false;
    if ((lost && !call_listener(listener, HF_STATE_LOST)) ||
        !call_listener(listener, state))
        return;
    if (hf_user_callback_is_retired(&listener->user) &&
        listener->user.free_waiter == NULL)
        hf_free(listener);
}

/* Queue the callbacks of all listeners.  Each listener remembers a LOST,
 * because a later state may replace it before the callback runs. */
static void queue_callbacks(struct hf_state_listeners *listeners,
                            enum hf_state state)
{
    struct hf_monitor *monitor = listeners->monitor;

    for (struct hf_listener *l = listeners->first; l != NULL; l = l->next) {
        if (state == HF_STATE_LOST) {
            l->lost_pending = true;
            /* queued again, behind the callbacks of what is lost with the
             * session */
            hf_callback_queue_remove(&monitor->callback_queue, &l->callback);
        }
        if (l->on_state.fn != NULL)
            hf_monitor_queue(monitor, &l->callback);
    }
}

void hf_state_listeners_notify(struct hf_state_listeners *listeners,
                               enum hf_state state)
{
    atomic_store(&listeners->state, (unsigned)state);
    if (!listeners->unlogged)
        hf_log_write(&listeners->monitor->log, HF_LOG_INFO, "the session is %s",
                     hf_state_name(state));
    queue_callbacks(listeners, state);
}

enum hf_state
hf_state_listeners_state(const struct hf_state_listeners *listeners)
{
    return (enum hf_state)atomic_load(&listeners->state);
}

/* ------------------------------------------------------------- lifetime -- */

static void init_listener(struct hf_listener *listener,
                          struct hf_state_listeners *listeners,
                          struct hf_on_state on_state)
{
    *listener =
        (struct hf_listener){.listeners = listeners, .on_state = on_state};
    listener->callback =
        (struct hf_callback){.run = run_listener, .arg = listener};
    listener->user.drop = (struct hf_user_drop){on_state.drop, on_state.arg};
}

void hf_state_listeners_init(struct hf_state_listeners *listeners,
                             struct hf_monitor *monitor,
                             struct hf_on_state on_state)
{
    listeners->monitor = monitor;
    init_listener(&listeners->of_options, listeners, on_state);
    listeners->first = &listeners->of_options;
}

/* No callback is queued any more.  The listener of the options is a part of the
 * handle, so it is not freed. */
void hf_state_listeners_drop(struct hf_state_listeners *listeners)
{
    struct hf_listener *listener;
    struct hf_user_drop drop;

    while ((listener = listeners->first) != NULL) {
        listeners->first = listener->next;
        assert(!listener->callback.queued);
        hf_user_callback_retire(&listener->user);
        drop = hf_user_callback_await(&listener->user, listeners->monitor);
        hf_monitor_unlock(listeners->monitor);
        hf_user_drop_call(&drop);
        hf_monitor_lock(listeners->monitor);
        if (listener != &listeners->of_options)
            hf_free(listener);
    }
}

/* The user never got the handle, so there is no other listener. */
void hf_state_listeners_abandon(struct hf_state_listeners *listeners)
{
    assert(listeners->first == &listeners->of_options);
    assert(listeners->of_options.next == NULL);
    hf_callback_queue_remove(&listeners->monitor->callback_queue,
                             &listeners->of_options.callback);
    listeners->first = NULL;
}

/* Returns the pointer in the list that points to ${listener}; for NULL, the
 * last one. */
static struct hf_listener **find_link(struct hf_state_listeners *listeners,
                                      const struct hf_listener *listener)
{
    struct hf_listener **link = &listeners->first;

    while (*link != listener)
        link = &(*link)->next;
    return link;
}

/* Add a listener at the end of the list.  With the lock. */
static hf_status add_listener(struct hf_state_listeners *listeners,
                              struct hf_on_state on_state,
                              struct hf_listener **listener,
                              struct hf_error *error)
{
    struct hf_listener *made;

    if (on_state.fn == NULL)
        return hf_error_set(
            error, HF_EINVAL,
            "the callback is NULL, and nobody would be notified; "
            "pass a function");
    if (listeners->monitor->state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(listeners->monitor, "client", error);
    if ((made = hf_alloc(sizeof(*made))) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    init_listener(made, listeners, on_state);
    *find_link(listeners, NULL) = made;
    *listener = made;
    return HF_OK;
}

/* On failure only .drop of ${on_state} is called. */
hf_status hf_state_listeners_add(struct hf_state_listeners *listeners,
                                 const char *api_name,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener)
{
    hf_status status = hf_monitor_enter(listeners->monitor, api_name);
    struct hf_error error;

    *listener = NULL;
    if (status == HF_OK) {
        status = add_listener(listeners, on_state, listener, &error);
        if (status != HF_OK)
            (void)hf_fail(api_name, &error);
        hf_monitor_leave(listeners->monitor);
    }
    if (status != HF_OK && on_state.drop != NULL)
        on_state.drop(on_state.arg);
    return status;
}

void hf_state_listeners_remove(struct hf_state_listeners *listeners,
                               struct hf_listener *listener)
{
    struct hf_monitor *monitor = listeners->monitor;
    struct hf_user_drop drop;
    bool runs_here;

    if (listener == NULL || hf_monitor_enter(monitor, NULL) != HF_OK)
        return; /* in the child of a fork, where the listener stays allocated */
    *find_link(listeners, listener) = listener->next;
    hf_callback_queue_remove(&monitor->callback_queue, &listener->callback);
    hf_user_callback_retire(&listener->user);
    drop = hf_user_callback_await(&listener->user, monitor);
    runs_here = listener->user.state == HF_USER_CALLBACK_RETIRED_RUNNING;
    hf_monitor_leave(monitor);
    if (runs_here)
        return; /* run_listener() frees the listener and calls .drop */
    hf_user_drop_call(&drop);
    hf_free(listener);
}
