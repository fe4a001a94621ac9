/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners of a session's states: adding and removing them, and notifying
 * them.
 *
 * A listener may be removed while its function runs, on another thread or in
 * that function itself.  The removal then waits for the function, or leaves the
 * rest to the thread that runs it.
 */
#include "operation/state_listener.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/memory.h"

static void drop_callback(const struct hf_on_state *on_state)
{
    if (on_state->drop != NULL)
        on_state->drop(on_state->arg);
}

/* Call .drop and free ${listener}.  Without the lock. */
static void destroy_listener(struct hf_listener *listener)
{
    hf_callback_enter();
    drop_callback(&listener->on_state);
    hf_callback_leave();
    hf_free(listener);
}

/* ------------------------------------------------------------ notifying -- */

/* Call .fn of ${listener} with ${state}, unless it was removed.  Releases the
 * lock meanwhile. */
static void call_listener(struct hf_listener *listener, enum hf_state state)
{
    struct hf_monitor *monitor = listener->listeners->monitor;

    if (listener->removed || hf_fork_is_child(&monitor->fork))
        return;
    hf_monitor_unlock(monitor);
    listener->on_state.fn(listener->on_state.arg, state);
    hf_monitor_lock(monitor);
}

/* The .run of its callback.  If the listener was removed while .fn ran, the
 * thread that removes it is answered, or the listener is destroyed here because
 * that thread could not wait. */
static void run_listener(void *arg)
{
    struct hf_listener *listener = arg;
    struct hf_monitor *monitor = listener->listeners->monitor;
    enum hf_state state = hf_state_listeners_state(listener->listeners);
    bool lost = listener->lost_pending && state != HF_STATE_LOST;

    listener->lost_pending = false;
    listener->notifying = true;
    if (lost)
        call_listener(listener, HF_STATE_LOST);
    call_listener(listener, state);
    if (hf_fork_is_child(&monitor->fork))
        return;
    listener->notifying = false;
    if (listener->remove_waiter != NULL) {
        hf_waiter_answer(monitor, listener->remove_waiter, HF_OK);
    } else if (listener->removed) {
        hf_monitor_unlock(monitor);
        destroy_listener(listener);
        hf_monitor_lock(monitor);
    }
}

/* A LOST is remembered for each listener, because a later state may replace it
 * before the callback runs. */
static void queue_callbacks(struct hf_state_listeners *listeners,
                            enum hf_state state)
{
    struct hf_monitor *monitor = listeners->monitor;

    for (struct hf_listener *l = listeners->first; l != NULL; l = l->next) {
        if (state == HF_STATE_LOST) {
            l->lost_pending = true;
            /* queue it behind the callbacks of what is lost with the
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
}

void hf_state_listeners_init(struct hf_state_listeners *listeners,
                             struct hf_monitor *monitor,
                             struct hf_on_state on_state)
{
    listeners->monitor = monitor;
    init_listener(&listeners->of_options, listeners, on_state);
    listeners->first = &listeners->of_options;
}

/* No callback is queued any more; that of the options is part of the handle and
 * not freed. */
void hf_state_listeners_drop(struct hf_state_listeners *listeners)
{
    struct hf_listener *listener;

    while ((listener = listeners->first) != NULL) {
        listeners->first = listener->next;
        assert(!listener->callback.queued && !listener->notifying);
        hf_monitor_unlock(listeners->monitor);
        if (listener == &listeners->of_options)
            drop_callback(&listener->on_state);
        else
            destroy_listener(listener);
        hf_monitor_lock(listeners->monitor);
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

/* The pointer in the list that points to ${listener}; to NULL: the one at the
 * end. */
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
    if (listeners->monitor->closing)
        return hf_monitor_explain_closed(listeners->monitor, "client", error);
    if ((made = hf_alloc(sizeof(*made))) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    init_listener(made, listeners, on_state);
    *find_link(listeners, NULL) = made;
    *listener = made;
    return HF_OK;
}

/* On failure ${on_state} is only dropped. */
hf_status hf_state_listeners_add(struct hf_state_listeners *listeners,
                                 const char *call, struct hf_on_state on_state,
                                 struct hf_listener **listener,
                                 struct hf_error *last_error)
{
    hf_status status = hf_monitor_enter(listeners->monitor);

    *listener = NULL;
    if (status == HF_OK) {
        status = add_listener(listeners, on_state, listener, last_error);
        if (status != HF_OK)
            hf_error_prefix(last_error, call);
        hf_monitor_leave(listeners->monitor);
    }
    if (status != HF_OK)
        drop_callback(&on_state);
    return status;
}

/* If .fn runs on another thread, wait until it has returned.  If it runs on
 * this one, the listener is destroyed when it has. */
void hf_state_listeners_remove(struct hf_state_listeners *listeners,
                               struct hf_listener *listener)
{
    struct hf_monitor *monitor = listeners->monitor;
    bool notifying;

    if (listener == NULL || hf_monitor_enter(monitor) != HF_OK)
        return;
    *find_link(listeners, listener) = listener->next;
    hf_callback_queue_remove(&monitor->callback_queue, &listener->callback);
    listener->removed = true;
    if (listener->notifying)
        hf_monitor_await_callback(monitor, &listener->remove_waiter);
    notifying = listener->notifying;
    hf_monitor_leave(monitor);
    if (!notifying)
        destroy_listener(
            listener); /* else run_listener() does it, or has done it */
}
