/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of a client, as the core uses it: requests go down to it, and its
 * events come up to the core.
 *
 * An engine answers everything before it reports the end of a session.  One
 * that cannot be used any more does not, so its place is taken by one that does
 * nothing, and what is unanswered is answered here.
 */
#include "client/client.h"
#include "client/examination.h"
#include "client/grant.h"
#include "client/names.h"
#include "client/queue_op.h"
#include "core/core.h"

/* ------------------------------------------------------------- requests -- */

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
    /* docs/architecture.md, "Functions behind pointers", says which it is. */
    client->ops->request(client->engine, request);
}

void hf_client_engine_unwatch(struct hf_client *client,
                              struct hf_request *watch)
{
    take_out(watch);
    client->ops->unwatch(client->engine, watch);
}

/* --------------------------------------------------------------- events -- */

/* An answer takes its request out of what is unanswered. */
static void note_answered(const struct hf_event *event)
{
    if (event->kind >= HF_EVENT_ENQUEUED &&
        event->kind <= HF_EVENT_SUCCESS_WRITTEN &&
        event->as.answer.request != NULL)
        take_out(event->as.answer.request);
}

/* Have the lines of the log say where the client is from now on. */
static void set_origin(struct hf_client *client)
{
    struct hf_origin origin = {.session = ""};

    if (client->ops->origin != NULL && client->engine != NULL)
        client->ops->origin(client->engine, &origin);
    hf_log_set_origin(&client->monitor.log, origin.session, origin.server);
}

/* What a user wants of an event is copied first, because the event owns it. */
void hf_client_engine_event(void *host, struct hf_event *event)
{
    struct hf_monitor *monitor = host;
    struct hf_client *client = monitor->owner;

    note_answered(event);
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        set_origin(client);
        break;
    case HF_EVENT_LISTED:
        hf_queue_op_save_list(event);
        break;
    case HF_EVENT_NAMED:
        hf_names_save(event);
        break;
    case HF_EVENT_EXAMINED:
        hf_examination_save(event);
        break;
    default: /* brings nothing that a user keeps */
        break;
    }
    if (hf_client_metrics_on(client)) {
        hf_client_metrics_event(client, event);
        hf_grant_metrics_event(event);
    }
    hf_client_step(client, event);
    hf_client_metrics_cut_searches(client);
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
