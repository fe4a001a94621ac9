/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, and the events that answer them. */
#include "conformance/engine_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include <cmocka.h>

#include "base/random.h"
#include "core/operation.h"

struct hf_ticket_id fresh_id(void)
{
    static struct hf_random random;
    static pid_t owner; /* the process that .random is of */

    if (owner != getpid()) {
        owner = getpid();
        hf_random_seed(&random, (uint64_t)owner);
    }
    return hf_ticket_id_random(&random);
}

/* ------------------------------------------------------------------ host -- */

/* Payloads are copied too: those of the event end with it. */
static void copy_snapshot(struct client_request *request,
                          const struct hf_snapshot *snapshot)
{
    assert_true(snapshot->count <= SNAPSHOT_MAX);
    request->count = snapshot->count;
    request->more = snapshot->more_ahead;
    for (size_t i = 0; i < snapshot->count; i++) {
        request->tickets[i] = snapshot->tickets[i];
        assert_non_null(snapshot->tickets[i].payload);
        assert_true(strlen(snapshot->tickets[i].payload) < HF_PAYLOAD_BYTES);
        (void)strcpy(request->payloads[i], snapshot->tickets[i].payload);
        request->tickets[i].payload = request->payloads[i];
    }
}

/* The request that an event answers; each is one of this client. */
static struct client_request *request_of(struct engine_client *client,
                                         const struct hf_request *asked)
{
    for (size_t i = 0; i < client->count; i++)
        if (&client->requests[i]->request == asked)
            return client->requests[i];
    fail_msg("an answer names a request that was never made");
    return NULL;
}

/* Keep an answer and check that the contract of core/engine.h allows it: one
 * answer, and after WATCHING or LISTED at most one GONE or QUEUE_CHANGED. */
static void take_answer(struct engine_client *client,
                        const struct hf_event *event)
{
    struct client_request *request =
        request_of(client, event->as.answer.request);

    assert_false(request->forgotten);
    if (event->kind == HF_EVENT_GONE && event->as.answer.text != NULL)
        (void)snprintf(request->text, sizeof(request->text), "%s",
                       event->as.answer.text);
    if ((event->kind == HF_EVENT_GONE && request->answers == 1 &&
         request->answer == HF_EVENT_WATCHING) ||
        (event->kind == HF_EVENT_QUEUE_CHANGED && request->answers == 1 &&
         request->answer == HF_EVENT_LISTED &&
         request->request.kind == HF_REQUEST_WATCH_QUEUE)) {
        request->gone++;
        return;
    }
    assert_int_not_equal(event->kind, HF_EVENT_QUEUE_CHANGED);
    if (event->kind == HF_EVENT_REVOKED) {
        assert_int_equal(request->answer, HF_EVENT_WATCHING);
        assert_int_equal(request->gone, 0);
        request->revoked++;
        return;
    }
    request->answers++;
    request->answer = event->kind;
    if (event->kind == HF_EVENT_GONE)
        request->gone++;
    if (event->kind == HF_EVENT_REMOVED ||
        event->kind == HF_EVENT_REVOKE_SENT ||
        event->kind == HF_EVENT_FLAG_UPDATED ||
        event->kind == HF_EVENT_DESCRIBED ||
        event->kind == HF_EVENT_SUCCESS_WRITTEN)
        request->found = event->as.answer.found;
    if (event->kind == HF_EVENT_ENQUEUED || event->kind == HF_EVENT_LISTED)
        copy_snapshot(request, &event->as.answer.snapshot);
    if (event->kind == HF_EVENT_SUCCESS_READ)
        request->success = event->as.answer.success;
    if (event->kind == HF_EVENT_LISTED)
        request->foreign = event->as.answer.unknown_count;
    if (event->kind == HF_EVENT_FAILED) {
        request->failure = event->as.answer.failure;
        request->status = event->as.answer.status;
        assert_int_not_equal(request->status, HF_OK);
        assert_non_null(event->as.answer.text);
        (void)snprintf(request->text, sizeof(request->text), "%s",
                       event->as.answer.text);
    }
}

static void on_event(void *arg, struct hf_event *event)
{
    struct engine_client *client = arg;

    assert_false(client->closed);
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        client->connected = true;
        break;
    case HF_EVENT_SUSPENDED:
    case HF_EVENT_RESUMING:
    case HF_EVENT_SESSION_LOST:
        client->connected = false;
        break;
    case HF_EVENT_CONNECTION_ERROR:
        break;
    case HF_EVENT_CLOSED:
        take_answer(client, event);
        client->closed = true;
        break;
    case HF_EVENT_PROVEN:
        if (event->as.answer.request != NULL) /* it answers a request */
            take_answer(client, event);
        break;
    default:
        take_answer(client, event);
        break;
    }
}

__attribute__((format(printf, 3, 4))) static void
on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    struct engine_client *client = arg;
    va_list args;

    if (level > HF_LOG_WARNING)
        return;
    va_start(args, format);
    (void)vsnprintf(client->warning, sizeof(client->warning), format, args);
    va_end(args);
    (void)fprintf(stderr, "%s\n", client->warning);
}

/* --------------------------------------------------------------- waiting -- */

static bool is_connected(void *arg)
{
    return ((struct engine_client *)arg)->connected;
}

static bool is_suspended(void *arg)
{
    return !((struct engine_client *)arg)->connected;
}

static bool is_answered(void *arg)
{
    return ((struct client_request *)arg)->answers > 0;
}

static bool is_gone(void *arg)
{
    return ((struct client_request *)arg)->gone > 0;
}

struct engine_client *client_open(struct conformance_fixture *fixture)
{
    struct engine_client *client = calloc(1, sizeof(*client));

    assert_non_null(client);
    client->fixture = fixture;
    client->host.event = on_event;
    client->host.log = on_log;
    client->host.host = client;
    client->engine = fixture->open(fixture, &client->host);
    assert_non_null(client->engine);
    fixture->pump(fixture, is_connected, client);
    assert_true(client->connected);
    return client;
}

static struct client_request *new_call(struct engine_client *client,
                                       enum hf_request_kind kind,
                                       const char *queue,
                                       struct hf_ticket_id id)
{
    struct client_request *request = calloc(1, sizeof(*request));

    assert_non_null(request);
    assert_true(client->count < CLIENT_REQUESTS_MAX);
    client->requests[client->count++] = request;
    request->request.kind = kind;
    request->request.queue = queue;
    request->request.ticket = id;
    request->request.ticket_kind = HF_TICKET_MUTEX;
    request->request.payload = "it is me";
    return request;
}

struct client_request *client_wait(struct engine_client *client,
                                   struct client_request *request)
{
    client->fixture->pump(client->fixture, is_answered, request);
    assert_int_equal(request->answers, 1);
    return request;
}

static struct client_request *ask_enqueue(struct engine_client *client,
                                          const char *queue,
                                          struct hf_ticket_id id,
                                          enum hf_ticket_kind kind,
                                          uint32_t weight, const char *payload)
{
    struct client_request *request =
        new_call(client, HF_REQUEST_ENQUEUE, queue, id);

    request->request.ticket_kind = kind;
    request->request.weight = weight;
    request->request.payload = payload;
    client->fixture->ops->request(client->engine, &request->request);
    return request;
}

struct client_request *client_start_enqueue(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id)
{
    return ask_enqueue(client, queue, id, HF_TICKET_MUTEX, 1, "");
}

struct client_request *client_enqueue(struct engine_client *client,
                                      const char *queue, struct hf_ticket_id id,
                                      enum hf_ticket_kind kind,
                                      const char *payload)
{
    return client_wait(client,
                       ask_enqueue(client, queue, id, kind, 1, payload));
}

struct client_request *client_lease(struct engine_client *client,
                                    const char *queue, struct hf_ticket_id id,
                                    uint32_t weight)
{
    return client_wait(client, ask_enqueue(client, queue, id, HF_TICKET_LEASE,
                                           weight, "lease"));
}

struct client_request *client_watch(struct engine_client *client,
                                    const char *queue,
                                    const struct hf_ticket *ticket)
{
    struct client_request *request =
        new_call(client, HF_REQUEST_WATCH, queue, ticket->id);

    request->request.ticket_kind = ticket->kind;
    client->fixture->ops->request(client->engine, &request->request);
    return client_wait(client, request);
}

/* A request of the user, and not of the owner of the ticket: engines only look
 * whether there is one. */
static struct hf_operation administrator;

struct client_request *client_evict(struct engine_client *client,
                                    const char *queue, struct hf_ticket_id id,
                                    const char *evicted_by)
{
    struct client_request *request =
        new_call(client, HF_REQUEST_REMOVE, queue, id);

    request->request.operation = &administrator;
    request->request.evicted_by = evicted_by;
    client->fixture->ops->request(client->engine, &request->request);
    return client_wait(client, request);
}

struct saying {
    const struct engine_client *client;
    const struct client_request *watch;
    const char *text;
};

static bool is_said(void *arg)
{
    const struct saying *saying = arg;

    return strstr(saying->watch->text, saying->text) != NULL ||
           strstr(saying->client->warning, saying->text) != NULL;
}

bool client_wait_says(struct engine_client *client,
                      struct client_request *watch, const char *text)
{
    struct saying saying = {client, watch, text};

    client->fixture->pump(client->fixture, is_said, &saying);
    return is_said(&saying);
}

struct client_request *client_start(struct engine_client *client,
                                    enum hf_request_kind kind,
                                    const char *queue, struct hf_ticket_id id)
{
    struct client_request *request = new_call(client, kind, queue, id);

    client->fixture->ops->request(client->engine, &request->request);
    return request;
}

struct client_request *client_ask(struct engine_client *client,
                                  enum hf_request_kind kind, const char *queue,
                                  struct hf_ticket_id id)
{
    return client_wait(client, client_start(client, kind, queue, id));
}

struct client_request *client_start_barrier(struct engine_client *client,
                                            enum hf_request_kind kind,
                                            const char *queue)
{
    struct client_request *request = new_call(client, kind, queue, fresh_id());

    request->request.ticket_kind = HF_TICKET_BARRIER;
    client->fixture->ops->request(client->engine, &request->request);
    return request;
}

struct client_request *client_barrier(struct engine_client *client,
                                      enum hf_request_kind kind,
                                      const char *queue)
{
    return client_wait(client, client_start_barrier(client, kind, queue));
}

struct client_request *client_start_double_barrier(struct engine_client *client,
                                                   enum hf_request_kind kind,
                                                   const char *queue,
                                                   struct hf_ticket_id id,
                                                   uint32_t limit)
{
    struct client_request *request = new_call(client, kind, queue, id);

    request->request.ticket_kind =
        kind == HF_REQUEST_CLEAR_FLAG ? HF_TICKET_READY : HF_TICKET_PARTICIPANT;
    request->request.limit = limit;
    client->fixture->ops->request(client->engine, &request->request);
    return request;
}

struct client_request *
client_double_barrier(struct engine_client *client, enum hf_request_kind kind,
                      const char *queue, struct hf_ticket_id id, uint32_t limit)
{
    return client_wait(
        client, client_start_double_barrier(client, kind, queue, id, limit));
}

static struct client_request *look_at(struct engine_client *client,
                                      const char *queue,
                                      enum hf_ticket_kind kind,
                                      struct hf_text_range texts)
{
    struct client_request *request =
        new_call(client, HF_REQUEST_LIST, queue, (struct hf_ticket_id){{0}});

    request->request.ticket_kind = kind;
    request->request.detailed = true;
    request->request.texts = &texts;
    client->fixture->ops->request(client->engine, &request->request);
    return client_wait(client, request);
}

struct client_request *client_list_participants(struct engine_client *client,
                                                const char *queue)
{
    return look_at(client, queue, HF_TICKET_PARTICIPANT,
                   (struct hf_text_range){0});
}

struct client_request *client_list_texts(struct engine_client *client,
                                         const char *queue,
                                         struct hf_text_range texts)
{
    return look_at(client, queue, 0, texts);
}

struct client_request *client_detailed_list(struct engine_client *client,
                                            const char *queue)
{
    return look_at(client, queue, 0, (struct hf_text_range){0});
}

struct client_request *client_ask_until_done(struct engine_client *client,
                                             enum hf_request_kind kind,
                                             const char *queue,
                                             struct hf_ticket_id id)
{
    struct client_request *request = client_ask(client, kind, queue, id);

    while (request->answer == HF_EVENT_FAILED) {
        assert_int_equal(request->failure, HF_FAILURE_RETRY);
        client->count--; /* its place is for the next one */
        free(request);
        request = client_ask(client, kind, queue, id);
    }
    return request;
}

static struct client_request *describe(struct engine_client *client,
                                       const char *queue,
                                       const struct hf_ticket *ticket,
                                       const char *payload)
{
    struct client_request *request =
        new_call(client, HF_REQUEST_DESCRIBE, queue, ticket->id);

    request->request.ticket_kind = ticket->kind;
    request->request.payload = payload;
    client->fixture->ops->request(client->engine, &request->request);
    return client_wait(client, request);
}

struct client_request *client_describe(struct engine_client *client,
                                       const char *queue,
                                       const struct hf_ticket *ticket,
                                       const char *payload)
{
    struct client_request *request = describe(client, queue, ticket, payload);

    while (request->answer == HF_EVENT_FAILED) {
        assert_int_equal(request->failure, HF_FAILURE_RETRY);
        client->count--; /* its place is for the next one */
        free(request);
        client_drain(client);
        request = describe(client, queue, ticket, payload);
    }
    return request;
}

struct client_request *client_read_success(struct engine_client *client,
                                           const char *queue,
                                           struct hf_ticket_id id)
{
    return client_ask_until_done(client, HF_REQUEST_READ_SUCCESS, queue, id);
}

static struct client_request *write_success(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id,
                                            uint64_t token)
{
    struct client_request *request =
        new_call(client, HF_REQUEST_WRITE_SUCCESS, queue, id);

    request->request.success_token = token;
    client->fixture->ops->request(client->engine, &request->request);
    return client_wait(client, request);
}

/* A write whose answer was lost may be repeated too. */
struct client_request *client_write_success(struct engine_client *client,
                                            const char *queue,
                                            struct hf_ticket_id id,
                                            uint64_t token)
{
    struct client_request *request = write_success(client, queue, id, token);

    while (request->answer == HF_EVENT_FAILED) {
        assert_int_not_equal(request->failure, HF_FAILURE_FATAL);
        client->count--; /* its place is for the next one */
        free(request);
        request = write_success(client, queue, id, token);
    }
    return request;
}

/* How often a server may show an earlier state before it shows the current
 * one. */
#define LOOKS_MAX 100

bool client_wait_text(struct engine_client *client, const char *queue,
                      struct hf_ticket_id id, const char *payload)
{
    for (unsigned i = 0; i < LOOKS_MAX; i++) {
        struct client_request *list = client_detailed_list(client, queue);
        const struct hf_ticket *ticket = client_request_find(list, id);
        bool seen = ticket != NULL && strcmp(ticket->payload, payload) == 0;

        client->count--; /* its place is for the next one */
        free(list);
        if (seen)
            return true;
        client_drain(client);
    }
    return false;
}

struct revoked {
    const struct client_request *watch;
    unsigned before;
};

static bool is_revoked(void *arg)
{
    const struct revoked *revoked = arg;

    return revoked->watch->revoked > revoked->before;
}

bool client_wait_revoked(struct engine_client *client,
                         struct client_request *watch, unsigned before)
{
    struct revoked revoked = {watch, before};

    client->fixture->pump(client->fixture, is_revoked, &revoked);
    return watch->revoked > before;
}

void client_forget(struct engine_client *client, struct client_request *watch)
{
    client->fixture->ops->unwatch(client->engine, &watch->request);
    watch->forgotten = true;
}

void client_wait_suspended(struct engine_client *client)
{
    client->fixture->pump(client->fixture, is_suspended, client);
    assert_false(client->connected);
}

void client_wait_connected(struct engine_client *client)
{
    client->fixture->pump(client->fixture, is_connected, client);
    assert_true(client->connected);
}

bool client_wait_gone(struct engine_client *client,
                      struct client_request *watch)
{
    client->fixture->pump(client->fixture, is_gone, watch);
    return watch->gone == 1;
}

/* When a later request has its answer, everything before it has come too. */
void client_drain(struct engine_client *client)
{
    struct hf_ticket_id nobody = {{0}};

    for (unsigned i = 0; i < 3; i++)
        (void)client_ask(client, HF_REQUEST_LIST, "settle", nobody);
}

static void check_calls(const struct engine_client *client)
{
    for (size_t i = 0; i < client->count; i++) {
        const struct client_request *request = client->requests[i];

        assert_true(request->answers == 1 ||
                    (request->forgotten && request->answers == 0));
        assert_true(request->gone <= 1);
    }
}

void client_free_crashed(struct engine_client *client)
{
    for (size_t i = 0; i < client->count; i++)
        free(client->requests[i]);
    free(client);
}

void client_end(struct engine_client *client)
{
    struct hf_ticket_id nobody = {{0}};
    struct client_request *end =
        client_ask(client, HF_REQUEST_END, NULL, nobody);

    assert_int_equal(end->answer, HF_EVENT_CLOSED);
    check_calls(client);
}

void client_free(struct engine_client *client)
{
    client->fixture->ops->free(client->engine);
    client_free_crashed(client);
}

void client_close(struct engine_client *client)
{
    client_end(client);
    client_free(client);
}

void client_close_at(struct engine_client **client)
{
    client_close(*client);
}

const struct hf_ticket *
client_request_find(const struct client_request *request,
                    struct hf_ticket_id id)
{
    struct hf_snapshot snapshot = {request->tickets, request->count,
                                   request->more};
    size_t at = hf_snapshot_find(&snapshot, &id);

    return at == request->count ? NULL : &request->tickets[at];
}
