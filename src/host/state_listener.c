/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listeners of a client: adding and removing them, and notifying them.
 *
 * A listener may be removed while its function runs, on another thread or in
 * that function itself.  The removal then waits for the function, or leaves the
 * rest to the thread that runs it.
 */
#include "host/state_listener.h"

#include <assert.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/client.h"

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
static void call_listener(struct hf_client *client,
                          struct hf_listener *listener, enum hf_state state)
{
    if (listener->removed || hf_fork_is_child(&client->monitor.fork))
        return;
    hf_monitor_unlock(&client->monitor);
    listener->on_state.fn(listener->on_state.arg, state);
    hf_monitor_lock(&client->monitor);
}

/* The .run of its callback.  If the listener was removed while .fn ran, the
 * thread that removes it is answered, or the listener is destroyed here because
 * that thread could not wait. */
static void run_listener(void *arg)
{
    struct hf_listener *listener = arg;
    struct hf_client *client = listener->client;
    enum hf_state state = client->state;
    bool lost = listener->lost_pending && state != HF_STATE_LOST;

    listener->lost_pending = false;
    listener->notifying = true;
    if (lost)
        call_listener(client, listener, HF_STATE_LOST);
    call_listener(client, listener, state);
    if (hf_fork_is_child(&client->monitor.fork))
        return;
    listener->notifying = false;
    if (listener->remove_waiter != NULL) {
        hf_waiter_answer(&client->monitor, listener->remove_waiter, HF_OK);
    } else if (listener->removed) {
        hf_monitor_unlock(&client->monitor);
        destroy_listener(listener);
        hf_monitor_lock(&client->monitor);
    }
}

/* A LOST is remembered for each listener, because a later state may replace it
 * before the callback runs. */
void hf_listeners_notify(struct hf_client *client)
{
    for (struct hf_listener *l = client->listeners; l != NULL; l = l->next) {
        if (client->state == HF_STATE_LOST) {
            l->lost_pending = true;
            /* queue it behind the callbacks of the grants that are lost with
             * the session */
            hf_callback_queue_remove(&client->monitor.callback_queue,
                                     &l->callback);
        }
        if (l->on_state.fn != NULL)
            hf_monitor_queue(&client->monitor, &l->callback);
    }
}

/* ------------------------------------------------------------- lifetime -- */

static void init_listener(struct hf_listener *listener,
                          struct hf_client *client, struct hf_on_state on_state)
{
    *listener = (struct hf_listener){.client = client, .on_state = on_state};
    listener->callback =
        (struct hf_callback){.run = run_listener, .arg = listener};
}

void hf_listeners_init(struct hf_client *client, struct hf_on_state on_state)
{
    init_listener(&client->first_listener, client, on_state);
    client->listeners = &client->first_listener;
}

/* No callback is queued any more; that of the options is part of the client and
 * not freed. */
void hf_listeners_drop(struct hf_client *client)
{
    struct hf_listener *listener;

    while ((listener = client->listeners) != NULL) {
        client->listeners = listener->next;
        assert(!listener->callback.queued && !listener->notifying);
        hf_monitor_unlock(&client->monitor);
        if (listener == &client->first_listener)
            drop_callback(&listener->on_state);
        else
            destroy_listener(listener);
        hf_monitor_lock(&client->monitor);
    }
}

/* The pointer in the client's list that points to ${listener}; to NULL: the one
 * at the end. */
static struct hf_listener **find_link(struct hf_client *client,
                                      const struct hf_listener *listener)
{
    struct hf_listener **link = &client->listeners;

    while (*link != listener)
        link = &(*link)->next;
    return link;
}

/* Add a listener at the end of the list.  With the lock. */
static hf_status add_listener(struct hf_client *client,
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
    if (client->monitor.closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    if ((made = hf_alloc(sizeof(*made))) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    init_listener(made, client, on_state);
    *find_link(client, NULL) = made;
    *listener = made;
    return HF_OK;
}

hf_status hf_client_add_listener(struct hf_client *client,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener)
{
    hf_status status = hf_monitor_enter(&client->monitor);
    struct hf_error error;

    *listener = NULL;
    if (status == HF_OK) {
        status = add_listener(client, on_state, listener, &error);
        if (status != HF_OK)
            hf_client_fail(client, "hf_client_add_listener", &error);
        hf_monitor_leave(&client->monitor);
    }
    if (status != HF_OK)
        drop_callback(&on_state);
    return status;
}

/* If .fn runs on another thread, wait until it has returned.  If it runs on
 * this one, the listener is destroyed when it has. */
void hf_client_remove_listener(struct hf_client *client,
                               struct hf_listener *listener)
{
    bool notifying;

    if (listener == NULL || hf_monitor_enter(&client->monitor) != HF_OK)
        return;
    *find_link(client, listener) = listener->next;
    hf_callback_queue_remove(&client->monitor.callback_queue,
                             &listener->callback);
    listener->removed = true;
    if (listener->notifying)
        hf_monitor_await_callback(&client->monitor, &listener->remove_waiter);
    notifying = listener->notifying;
    hf_monitor_leave(&client->monitor);
    if (!notifying)
        destroy_listener(
            listener); /* else run_listener() does it, or has done it */
}
