/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of a client, as the core uses it: requests go down to it, and its
 * events come up to the core.
 *
 * An engine answers everything before it reports the end of a session.  An
 * engine that cannot be used any more does not do that.  So functions that do
 * nothing take its place, and the requests that it left are answered here.
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
    /* Which function that is: docs/architecture.md, "Functions behind
     * pointers". */
    client->ops->request(client->engine, request);
}

void hf_client_engine_unwatch(struct hf_client *client,
                              struct hf_request *watch)
{
    take_out(watch);
    client->ops->unwatch(client->engine, watch);
}

/* --------------------------------------------------------------- events -- */

/* If ${event} answers a request, take that out of the list of unanswered
 * ones. */
static void note_answered(const struct hf_event *event)
{
    if (event->kind >= HF_EVENT_ENQUEUED &&
        event->kind <= HF_EVENT_SUCCESS_WRITTEN &&
        event->as.answer.request != NULL)
        take_out(event->as.answer.request);
}

/* From now on each line of the log names the session and the server that the
 * engine has now. */
static void set_origin(struct hf_client *client)
{
    struct hf_origin origin = {.session = ""};

    if (client->ops->origin != NULL && client->engine != NULL)
        client->ops->origin(client->engine, &origin);
    hf_log_set_origin(&client->monitor.log, origin.session, origin.server);
}

/* The lists that a user wants are copied first, because the event owns them. */
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

/* Does nothing in place of the engine: hf_client_engine_abandon() answers the
 * requests. */
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

/* Each request fails as unsure, because the server may still carry it out. */
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

/* The core keeps the traits of the engine.  SUSPENDED comes first: without a
 * connection the core makes no new request at once, so answer_all() ends. */
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
