/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client: stepping its core, remembering failures, and the public calls that
 * only read it, or that its listeners and its monitor carry out; what all calls
 * share that open a handle of it; and the requests between the core and the
 * engine.
 *
 * An engine answers everything before it reports the end of a session.  One
 * that cannot be used any more does not, so its place is taken by one that does
 * nothing, and what is unanswered is answered here.
 */
#include "client/client.h"

#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "client/owner_text.h"

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

/* ------------------------------------------------------ calls that open -- */

/* In a child of a fork nothing is remembered. */
hf_status hf_client_fail_unlocked(struct hf_client *client, const char *call,
                                  struct hf_error *error)
{
    hf_status status = hf_monitor_enter(&client->monitor);

    if (status != HF_OK)
        return status;
    status = hf_client_fail(client, call, error);
    hf_monitor_leave(&client->monitor);
    return status;
}

hf_status hf_open_copy_opts(struct hf_client *client, const char *call,
                            const struct hf_opts_type *type, const void *given,
                            void *opts)
{
    struct hf_error error;

    if (hf_opts_copy(type, given, opts, &error) == HF_OK)
        return HF_OK;
    return hf_client_fail_unlocked(client, call, &error);
}

hf_status hf_open_check_text(struct hf_client *client, const char *call,
                             const char *text)
{
    struct hf_error error;

    if (text == NULL || hf_owner_text_check(text, &error) == HF_OK)
        return HF_OK;
    return hf_client_fail_unlocked(client, call, &error);
}

/* Zeroed, so that a handle begins in its first state. */
void *hf_open_alloc(struct hf_client *client, const char *call, size_t bytes)
{
    void *memory = hf_alloc(bytes);
    struct hf_error error;

    if (memory != NULL)
        return memory;
    hf_error_set(&error, HF_ENOMEM, "out of memory");
    (void)hf_client_fail_unlocked(client, call, &error);
    return NULL;
}

/* ---------------------------------------------------- what it was asked -- */

static void take_out(struct hf_request *request)
{
    if (request->host.link == NULL)
        return;
    *request->host.link = request->host.next;
    if (request->host.next != NULL)
        request->host.next->host.link = request->host.link;
    request->host.link = NULL;
}

void hf_client_engine_request(struct hf_client *client,
                              struct hf_request *request)
{
    request->host.next = client->unanswered;
    request->host.link = &client->unanswered;
    if (request->host.next != NULL)
        request->host.next->host.link = &request->host.next;
    client->unanswered = request;
    client->ops->request(client->engine, request);
}

void hf_client_engine_unwatch(struct hf_client *client,
                              struct hf_request *watch)
{
    take_out(watch);
    client->ops->unwatch(client->engine, watch);
}

void hf_client_engine_sent(const struct hf_event *event)
{
    if (event->kind >= HF_EVENT_ENQUEUED && event->kind <= HF_EVENT_EXAMINED &&
        event->as.answer.request != NULL)
        take_out(event->as.answer.request);
}

/* -------------------------------------------------------------- its end -- */

/* The engine in its place does nothing; hf_client_engine_abandon() answers. */
static void ignore(struct hf_engine *engine, struct hf_request *request)
{
    (void)engine;
    (void)request;
}

static void ignore_connect(struct hf_engine *engine)
{
    (void)engine;
}

static const struct hf_engine_ops abandoned_ops = {
    .abi = HF_ENGINE_ABI,
    .scheme = "",
    .request = ignore,
    .unwatch = ignore,
    .connect = ignore_connect,
};

/* A request that is under way may yet be carried out. */
static void answer_all(struct hf_client *client)
{
    struct hf_request *request;

    while ((request = client->unanswered) != NULL) {
        struct hf_event event = {
            .kind = HF_EVENT_FAILED,
            .as.answer = {.request = request,
                          .failure = HF_FAILURE_UNSURE,
                          .status = HF_EUNREACHABLE,
                          .text = HF_DESCRIPTORS_GONE_TEXT}};

        take_out(request);
        hf_client_step(client, &event);
    }
}

/* The traits of an engine are the core's already.  Without a connection the
 * core asks nothing at once, so there is an end of answers. */
void hf_client_engine_abandon(struct hf_client *client)
{
    struct hf_event suspended = {.kind = HF_EVENT_SUSPENDED};
    struct hf_event lost = {
        .kind = HF_EVENT_SESSION_LOST,
        .as.answer = {.status = HF_ECLOSED, .text = HF_DESCRIPTORS_GONE_TEXT}};
    struct hf_event closed = {.kind = HF_EVENT_CLOSED};

    client->ops = &abandoned_ops;
    client->engine = NULL;
    if (client->core.session.state == HF_STATE_CLOSED)
        return;
    hf_client_step(client, &suspended);
    answer_all(client);
    hf_client_step(client, &lost);
    answer_all(client);
    if (client->core.session.state != HF_STATE_CLOSED)
        hf_client_step(client, &closed);
}
