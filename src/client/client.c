/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: stepping its core, the public calls that only read it, its
 * listeners and its monitor; and what the calls have in common that open a
 * handle of a client.
 */
#include "client/client.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/owner_text.h"
#include "core/core.h"

/* Is ${effect} one that the engine carries out? */
static bool is_for_engine(const struct hf_effect *effect)
{
    return effect->kind == HF_EFFECT_REQUEST ||
           effect->kind == HF_EFFECT_UNWATCH ||
           effect->kind == HF_EFFECT_CONNECT;
}

/* What the engine reports, and what it is asked for, count as events of the
 * monitor, so that the loop is run once more and sends it.  A step that needs
 * no engine, as the grant of a ticket that is kept, does not.  An engine may
 * answer from inside its request, which steps the core again; the new effects
 * are then left to the call that is already in the loop below, so that effects
 * are carried out in their order. */
void hf_client_step(struct hf_client *client, struct hf_event *event)
{
    struct hf_effect *effect;

    event->now_ms = hf_now_ms();
    client->monitor.events += event->kind < HF_EVENT_ACQUIRE;
    hf_core_step(&client->core, event);
    if (client->pumping)
        return;
    client->pumping = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL) {
        client->monitor.events += is_for_engine(effect);
        client->carry_out(client, effect); /* hf_effects_carry_out() */
    }
    client->pumping = false;
}

void hf_client_add_session_user(struct hf_client *client,
                                struct hf_session_user *user)
{
    user->next = client->session_users;
    client->session_users = user;
}

void hf_client_remove_session_user(struct hf_client *client,
                                   const struct hf_session_user *user)
{
    struct hf_session_user **link = &client->session_users;

    while (*link != user)
        link = &(*link)->next;
    *link = user->next;
}

/* -------------------------------------------------------------- queries -- */

enum hf_state hf_client_state(const struct hf_client *client)
{
    return hf_state_listeners_state(&client->listeners);
}

void hf_client_describe(const struct hf_client *client, char *buffer,
                        size_t bytes)
{
    if (bytes > 0)
        (void)snprintf(buffer, bytes, "%s", client->description);
}

/* ------------------------------------------------------------ callbacks -- */

hf_status hf_client_add_listener(struct hf_client *client,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener)
{
    return hf_state_listeners_add(&client->listeners, "hf_client_add_listener",
                                  on_state, listener);
}

void hf_client_remove_listener(struct hf_client *client,
                               struct hf_listener *listener)
{
    hf_state_listeners_remove(&client->listeners, listener);
}

int hf_client_fd(const struct hf_client *client)
{
    return hf_monitor_dispatch_fd(&client->monitor);
}

hf_status hf_client_dispatch(struct hf_client *client)
{
    return hf_monitor_dispatch(&client->monitor, "hf_client_dispatch");
}

/* ------------------------------------------------------ calls that open -- */

hf_status hf_open_fail(const struct hf_client *client, const char *api_name,
                       const struct hf_error *error)
{
    return hf_fork_is_child(&client->monitor.fork) ? hf_fork_fail(api_name)
                                                   : hf_fail(api_name, error);
}

hf_status hf_open_copy_opts(const struct hf_client *client,
                            const char *api_name,
                            const struct hf_opts_type *type, const void *given,
                            void *opts)
{
    struct hf_error error;

    if (hf_opts_copy(type, given, opts, &error) == HF_OK)
        return HF_OK;
    return hf_open_fail(client, api_name, &error);
}

hf_status hf_open_check_text(const struct hf_client *client,
                             const char *api_name, const char *text)
{
    struct hf_error error;

    if (text == NULL || hf_owner_text_check(text, &error) == HF_OK)
        return HF_OK;
    return hf_open_fail(client, api_name, &error);
}

/* Zeroed, so that a handle begins in its first state. */
void *hf_open_alloc(const char *api_name, size_t bytes)
{
    void *memory = hf_alloc(bytes);
    struct hf_error error;

    if (memory != NULL)
        return memory;
    hf_error_set(&error, HF_ENOMEM, "out of memory");
    (void)hf_fail(api_name, &error);
    return NULL;
}
