/* SPDX-License-Identifier: Apache-2.0 */
#include "host/listener.h"

#include <assert.h>

#include "core/error.h"
#include "core/memory.h"
#include "host/client.h"

static void drop(const struct hf_on_state *on_state)
{
    if (on_state->drop != NULL)
        on_state->drop(on_state->arg);
}

/* Without the lock. */
static void destroy(struct hf_listener *listener)
{
    hf_delivery_begin();
    drop(&listener->on_state);
    hf_delivery_end();
    hf_free(listener);
}

/* --------------------------------------------------------------- telling -- */

/* With the lock, which it gives up. */
static void call(struct hf_client *client, struct hf_listener *listener,
                 enum hf_state state)
{
    if (listener->removed || hf_fork_parted(client))
        return;
    hf_log_unlock(client);
    listener->on_state.fn(listener->on_state.arg, state);
    pthread_mutex_lock(&client->lock);
}

static void run(struct hf_client *client, void *arg)
{
    struct hf_listener *listener = arg;
    enum hf_state state = client->state;
    bool lost = listener->lost_unheard && state != HF_STATE_LOST;

    listener->lost_unheard = false;
    listener->telling = true;
    if (lost)
        call(client, listener, HF_STATE_LOST);
    call(client, listener, state);
    if (hf_fork_parted(client))
        return;
    listener->telling = false;
    if (listener->remove_slot != NULL) {
        hf_slot_answer(client, listener->remove_slot, HF_OK);
    } else if (listener->removed) {
        hf_log_unlock(client);
        destroy(listener);
        pthread_mutex_lock(&client->lock);
    }
}

void hf_listeners_tell(struct hf_client *client)
{
    for (struct hf_listener *l = client->listeners; l != NULL; l = l->next) {
        if (client->state == HF_STATE_LOST) {
            l->lost_unheard = true;
            /* Not ahead of what was lost with it. */
            hf_delivery_remove(client, &l->callback);
        }
        if (l->on_state.fn != NULL)
            hf_delivery_add(client, &l->callback);
    }
}

/* -------------------------------------------------------------- lifetime -- */

static void init(struct hf_listener *listener, struct hf_on_state on_state)
{
    *listener = (struct hf_listener){.on_state = on_state};
    listener->callback = (struct hf_callback){.run = run, .arg = listener};
}

void hf_listeners_init(struct hf_client *client, struct hf_on_state on_state)
{
    init(&client->first_listener, on_state);
    client->listeners = &client->first_listener;
}

void hf_listeners_drop(struct hf_client *client)
{
    struct hf_listener *listener;

    while ((listener = client->listeners) != NULL) {
        client->listeners = listener->next;
        assert(!listener->callback.queued && !listener->telling);
        hf_log_unlock(client);
        if (listener == &client->first_listener)
            drop(&listener->on_state);
        else
            destroy(listener);
        pthread_mutex_lock(&client->lock);
    }
}

static struct hf_listener **find(struct hf_client *client,
                                 const struct hf_listener *listener)
{
    struct hf_listener **link = &client->listeners;

    while (*link != listener)
        link = &(*link)->next;
    return link;
}

static hf_status add(struct hf_client *client, struct hf_on_state on_state,
                     struct hf_listener **listener, struct hf_error *error)
{
    struct hf_listener *made;

    if (on_state.fn == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the callback is NULL, and nobody would be told; "
                            "pass a function");
    if (client->closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    if ((made = hf_alloc(sizeof(*made))) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    init(made, on_state);
    *find(client, NULL) = made;
    *listener = made;
    return HF_OK;
}

hf_status hf_client_add_listener(struct hf_client *client,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener)
{
    hf_status status = hf_client_enter(client);
    struct hf_error error;

    *listener = NULL;
    if (status == HF_OK) {
        status = add(client, on_state, listener, &error);
        if (status != HF_OK)
            hf_client_fail(client, "hf_client_add_listener", &error);
        hf_client_leave(client);
    }
    if (status != HF_OK)
        drop(&on_state);
    return status;
}

void hf_client_remove_listener(struct hf_client *client,
                               struct hf_listener *listener)
{
    bool telling;

    if (listener == NULL || hf_client_enter(client) != HF_OK)
        return;
    *find(client, listener) = listener->next;
    hf_delivery_remove(client, &listener->callback);
    listener->removed = true;
    if (listener->telling)
        hf_client_await_callback(client, &listener->remove_slot);
    telling = listener->telling;
    hf_client_leave(client);
    if (!telling)
        destroy(listener); /* else by whoever calls it, or has by now */
}
