/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: stepping its core, remembering failures, and the public calls that
 * only read it, or that its listeners and its monitor carry out.
 */
#include "client/client.h"

#include <stdio.h>

#include "base/error.h"

/* Carry out the effects of the core until there are none left.  An engine may
 * answer from inside its request, which steps the core again; the new effects
 * are then left to the call that is already in this loop, so that effects are
 * carried out in their order. */
static void carry_out_effects(struct hf_client *client)
{
    struct hf_effect *effect;

    if (client->pumping)
        return;
    client->pumping = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL)
        client->carry_out(client, effect);
    client->pumping = false;
}

/* Each step counts as an event of the monitor, so that the loop is run once
 * more and sends what the step asked for. */
void hf_client_step(struct hf_client *client, struct hf_event *event)
{
    event->now_ms = hf_now_ms();
    client->monitor.events++;
    hf_core_step(&client->core, event);
    carry_out_effects(client);
}

hf_status hf_client_fail(struct hf_client *client, const char *call,
                         struct hf_error *error)
{
    hf_error_prefix(error, call);
    client->error = *error;
    return error->status;
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

/* It reads under the lock but does nothing that is due, because it must not
 * change what it reports. */
void hf_client_error(const struct hf_client *client, struct hf_error *error)
{
    struct hf_client *locked = (struct hf_client *)client;

    if (hf_fork_check(&client->monitor.fork, error) != HF_OK)
        return;
    hf_monitor_lock(&locked->monitor);
    *error = client->error;
    pthread_mutex_unlock(&locked->monitor.lock);
}

/* ------------------------------------------------------------ callbacks -- */

hf_status hf_client_add_listener(struct hf_client *client,
                                 struct hf_on_state on_state,
                                 struct hf_listener **listener)
{
    return hf_state_listeners_add(&client->listeners, "hf_client_add_listener",
                                  on_state, listener, &client->error);
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
    return hf_monitor_dispatch(&client->monitor, "hf_client_dispatch",
                               &client->error);
}
