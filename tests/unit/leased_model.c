/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in the order of their arrival, the server, and the clients.  Nothing
 * happens but what the test, a message or a due TICK brings about. */
#include "leased_model.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/engine_host.h"
#include "simulator/model/lease_server.h"

#define EVENTS_BYTES 8192
#define REQUESTS_MAX 4096
#define QUEUE_BYTES 1200

enum message_kind { UP, DOWN, CALL, ANSWER, NOTICE };

/* Something that happens at .at_ms.  A message of an earlier link is dropped
 * when it arrives, but that a CALL takes effect. */
struct model_message {
    struct model_message *next;
    uint64_t at_ms;
    uint64_t link; /* hf_store.link when it was sent */
    struct hf_store *store;
    enum message_kind kind;
    struct hf_store_call *call;    /* CALL and ANSWER: of the client */
    struct lease_call copy;        /* CALL: what it was when it was sent */
    struct lease_answer answer;    /* ANSWER */
    struct hf_store_notice notice; /* NOTICE, its .queue being: */
    char queue[QUEUE_BYTES];
};

struct hf_store {
    struct leased_model *model;
    struct hf_store *next;
    struct hf_leased *leased; /* NULL: it has crashed or was closed */
    uint64_t link;            /* counts changes; odd while there is a link */
    bool lose_answers;
    char session[HF_STORE_SESSION_BYTES];
    char
        events[EVENTS_BYTES]; /* since model_events() was called, .used bytes */
    char taken[EVENTS_BYTES]; /* what that returned */
    size_t used;
    struct hf_own_ticket *owner; /* of the next requests */
    struct hf_request *requests[REQUESTS_MAX];
    size_t request_count;
};

struct leased_model {
    uint64_t now_ms;
    struct lease_server *server;
    int64_t stepped_ms; /* by which the clock of the server was set */
    struct hf_store *stores;
    struct model_message *messages; /* by .at_ms, then as sent */
    bool frozen, lose_notices, refused;
    size_t renewal_piece_max; /* of clients to come */
    uint64_t close_ms;        /* for each ticket of a CLOSE_SESSION */
    uint64_t busy_ms;         /* until then the server has calls to work on */
    bool fail;                /* calls of .fail_kind fail as .failure */
    enum hf_store_call_kind fail_kind;
    enum hf_failure failure;
    unsigned calls[HF_STORE_CLOSE_SESSION + 1]; /* that reached the server */
};

static uint64_t later(uint64_t a_ms, uint64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

/* -------------------------------------------------------------- messages -- */

/* Put a message of the current link among the others; the caller fills it. */
static struct model_message *send(struct hf_store *store,
                                  enum message_kind kind, uint64_t delay_ms)
{
    struct model_message *message = calloc(1, sizeof *message);
    struct model_message **at = &store->model->messages;

    assert(message != NULL);
    message->kind = kind;
    message->store = store;
    message->link = store->link;
    message->at_ms = store->model->now_ms + delay_ms;
    while (*at != NULL && (*at)->at_ms <= message->at_ms)
        at = &(*at)->next;
    message->next = *at;
    *at = message;
    return message;
}

static void message_free(struct model_message *message)
{
    lease_call_free(&message->copy);
    lease_answer_free(&message->answer);
    free(message);
}

/* ----------------------------------------------------------------- store -- */

static void store_connect(struct hf_store *store, const char *session)
{
    assert(store->link % 2 == 0);
    store->link++;
    (void)snprintf(store->session, sizeof store->session, "%s", session);
    (void)send(store, store->model->refused ? DOWN : UP, 2 * MODEL_DELAY_MS);
}

static void store_disconnect(struct hf_store *store)
{
    assert(store->link % 2 == 1);
    store->link++;
}

/* How long the server works on ${call}. */
static uint64_t work_ms(const struct leased_model *model,
                        const struct hf_store_call *call)
{
    size_t tickets = 0;

    if (call->kind != HF_STORE_CLOSE_SESSION)
        return 0;
    for (size_t i = 0; i < call->ticket_set_count; i++)
        tickets += call->ticket_sets[i].count;
    return tickets * model->close_ms;
}

/* The server does one thing after the other. */
static void store_call(struct hf_store *store, struct hf_store_call *call)
{
    struct leased_model *model = store->model;
    uint64_t at_ms = later(model->now_ms + MODEL_DELAY_MS, model->busy_ms) +
                     work_ms(model, call);
    struct model_message *message;

    assert(store->link % 2 == 1);
    model->busy_ms = at_ms;
    message = send(store, CALL, at_ms - model->now_ms);
    message->call = call;
    lease_call_copy(&message->copy, call);
}

static const struct hf_store_ops ops = {
    .connect = store_connect,
    .disconnect = store_disconnect,
    .call = store_call,
};

/* -------------------------------------------------------------- delivery -- */

static void on_notice(void *arg, const struct lease_notice *notice)
{
    struct leased_model *model = arg;

    for (struct hf_store *s = model->stores; s != NULL; s = s->next) {
        struct model_message *message;

        if (s->leased == NULL || s->link % 2 == 0 || model->lose_notices ||
            strcmp(s->session, notice->session) != 0)
            continue;
        message = send(s, NOTICE, MODEL_DELAY_MS);
        message->notice = notice->notice;
        (void)snprintf(message->queue, sizeof message->queue, "%s",
                       notice->notice.queue);
        message->notice.queue = message->queue;
    }
}

static uint64_t server_now_ms(const struct leased_model *model)
{
    return MODEL_SERVER_MS + model->now_ms + (uint64_t)model->stepped_ms;
}

/* A call has reached the server: change its table, and send the answer unless
 * the link has ended. */
static void carry_out(struct leased_model *model, struct model_message *message)
{
    struct model_message *back;
    struct lease_answer answer = {0};
    bool fails = model->fail && model->fail_kind == message->copy.call.kind;

    model->calls[message->copy.call.kind]++;
    if (!fails || model->failure == HF_FAILURE_UNSURE)
        lease_server_execute(model->server, server_now_ms(model),
                             &message->copy, &answer);
    if (fails) {
        lease_answer_free(&answer);
        answer = (struct lease_answer){0};
        lease_answer_fail(&answer, model->failure, HF_EPROTOCOL,
                          "the test makes it fail", server_now_ms(model));
    }
    if (message->link != message->store->link || message->store->lose_answers) {
        lease_answer_free(&answer);
        return;
    }
    back = send(message->store, ANSWER, MODEL_DELAY_MS);
    back->call = message->call;
    back->answer = answer;
}

static void arrive(struct leased_model *model, struct model_message *message)
{
    struct hf_store *store = message->store;
    uint64_t now_ms = model->now_ms;

    if (message->kind == CALL) {
        carry_out(model, message);
        return;
    }
    if (store->leased == NULL || message->link != store->link)
        return;
    switch (message->kind) {
    case UP:
        hf_leased_up(store->leased, server_now_ms(model), now_ms);
        break;
    case DOWN:
        store->link++;
        hf_leased_down(store->leased, HF_EUNREACHABLE, "refused", now_ms);
        break;
    case ANSWER:
        hf_leased_answered(store->leased, message->call,
                           &message->answer.answer, now_ms);
        break;
    case NOTICE:
        hf_leased_notice(store->leased, &message->notice, now_ms);
        break;
    case CALL:
        break;
    }
}

/* A frozen server reads no calls and accepts no links. */
static bool can_arrive(const struct leased_model *model,
                       const struct model_message *message)
{
    return !(model->frozen && (message->kind == CALL || message->kind == UP));
}

/* The first message that can arrive; points to NULL if there is none. */
static struct model_message **next_message(struct leased_model *model)
{
    struct model_message **at = &model->messages;

    while (*at != NULL && !can_arrive(model, *at))
        at = &(*at)->next;
    return at;
}

/* The client that wants the next TICK, and when; NULL: none does. */
static struct hf_store *next_waker(struct leased_model *model, uint64_t *at_ms)
{
    struct hf_store *first = NULL;

    *at_ms = HF_FOREVER;
    for (struct hf_store *s = model->stores; s != NULL; s = s->next) {
        uint64_t wake_ms =
            s->leased == NULL ? HF_FOREVER : hf_leased_wake_at_ms(s->leased);

        if (wake_ms < *at_ms) {
            *at_ms = wake_ms;
            first = s;
        }
    }
    return first;
}

/* Do the next thing that is due by ${until_ms}.  False if there is none. */
static bool step_until(struct leased_model *model, uint64_t until_ms)
{
    struct model_message **at = next_message(model);
    struct model_message *message = *at;
    uint64_t wake_ms;
    struct hf_store *waker = next_waker(model, &wake_ms);

    if (message != NULL && message->at_ms <= wake_ms) {
        if (message->at_ms > until_ms)
            return false;
        *at = message->next;
        model->now_ms = later(model->now_ms, message->at_ms);
        arrive(model, message);
        message_free(message);
        return true;
    }
    if (waker == NULL || wake_ms > until_ms)
        return false;
    model->now_ms = later(model->now_ms, wake_ms);
    hf_leased_tick(waker->leased, model->now_ms);
    return true;
}

bool model_step(struct leased_model *model)
{
    return step_until(model, HF_FOREVER - 1);
}

void model_run(struct leased_model *model, uint64_t ms)
{
    uint64_t until_ms = model->now_ms + ms;

    for (unsigned i = 0; step_until(model, until_ms); i++)
        assert(i < 1000000);
    model->now_ms = until_ms;
}

uint64_t model_now_ms(const struct leased_model *model)
{
    return model->now_ms;
}

/* ------------------------------------------------------------------ host -- */

static char ticket_letter(const struct hf_ticket_id *id)
{
    return (char)id->bytes[0];
}

static struct hf_ticket_id id_of(char ticket)
{
    struct hf_ticket_id id;

    memset(id.bytes, ticket, sizeof id.bytes);
    return id;
}

__attribute__((format(printf, 2, 3))) static void
append_event(struct hf_store *store, const char *format, ...)
{
    va_list args;

    if (store->used > 0)
        store->used += (size_t)snprintf(store->events + store->used,
                                        EVENTS_BYTES - store->used, "; ");
    va_start(args, format);
    store->used += (size_t)vsnprintf(store->events + store->used,
                                     EVENTS_BYTES - store->used, format, args);
    va_end(args);
    assert(store->used < EVENTS_BYTES);
}

static const char *request_name(enum hf_request_kind kind)
{
    static const char *const names[] = {
        "ENQUEUE",  "LIST",       "WATCH_QUEUE",   "WATCH",  "REMOVE",
        "PROVE",    "END",        "DOWNGRADE",     "REVOKE", "DESCRIBE",
        "SET_FLAG", "CLEAR_FLAG", "NEW_GENERATION"};

    return names[kind];
}

static void append_snapshot(struct hf_store *store, const char *what,
                            const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;
    char text[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < snapshot->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %c",
                                 snapshot->tickets[i].kind == HF_TICKET_READY
                                     ? '!'
                                     : ticket_letter(&snapshot->tickets[i].id));
    append_event(store, "%s %c:%s", what,
                 ticket_letter(&event->as.answer.request->ticket), text);
}

static void append_failed(struct hf_store *store, const struct hf_event *event)
{
    static const char *const failures[] = {"RETRY", "UNSURE", "FATAL"};
    const struct hf_request *request = event->as.answer.request;

    assert(event->as.answer.status != HF_OK);
    assert(event->as.answer.text != NULL && event->as.answer.text[0] != '\0');
    append_event(store, "FAILED %s %c %s", request_name(request->kind),
                 request->queue == NULL ? '-' : ticket_letter(&request->ticket),
                 failures[event->as.answer.failure]);
}

static void on_event(void *arg, struct hf_event *event)
{
    struct hf_store *store = arg;
    const struct hf_request *request = event->as.answer.request;

    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        append_event(store, "%s %" PRIu64,
                     event->as.connected.resumed ? "RESUMED" : "CONNECTED",
                     event->as.connected.anchor_ms);
        break;
    case HF_EVENT_SUSPENDED:
        append_event(store, "SUSPENDED");
        break;
    case HF_EVENT_CONNECTION_ERROR:
        assert(event->as.connection_error.text[0] != '\0');
        break;
    case HF_EVENT_GAVE_UP:
        append_event(store, "GAVE_UP %u", (unsigned)event->as.gave_up.retries);
        break;
    case HF_EVENT_SESSION_LOST:
        append_event(store, "LOST");
        break;
    case HF_EVENT_CLOSED:
        append_event(store, "CLOSED");
        break;
    case HF_EVENT_ENQUEUED:
        append_snapshot(store, "ENQUEUED", event);
        break;
    case HF_EVENT_LISTED:
        append_snapshot(store, "LISTED", event);
        break;
    case HF_EVENT_QUEUE_CHANGED:
        append_event(store, "QUEUE_CHANGED %c",
                     ticket_letter(&request->ticket));
        break;
    case HF_EVENT_WATCHING:
        append_event(store, "WATCHING %c", ticket_letter(&request->ticket));
        break;
    case HF_EVENT_GONE:
        append_event(store, "GONE %c", ticket_letter(&request->ticket));
        break;
    case HF_EVENT_REVOKED:
        append_event(store, "REVOKED %c", ticket_letter(&request->ticket));
        break;
    case HF_EVENT_REMOVED:
        append_event(store, "REMOVED %c%s", ticket_letter(&request->ticket),
                     event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_REVOKE_SENT:
        append_event(store, "REVOKE_SENT %c%s", ticket_letter(&request->ticket),
                     event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DESCRIBED:
        append_event(store, "DESCRIBED %c%s", ticket_letter(&request->ticket),
                     event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_FLAG_UPDATED:
        append_event(store, "FLAG_UPDATED %c%s",
                     ticket_letter(&request->ticket),
                     event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DOWNGRADED:
        append_event(store, "DOWNGRADED %c", ticket_letter(&request->ticket));
        break;
    case HF_EVENT_PROVEN:
        append_event(store, "%s %" PRIu64,
                     request != NULL ? "PROVEN" : "PROVED",
                     event->as.answer.anchor_ms);
        break;
    case HF_EVENT_FAILED:
        append_failed(store, event);
        break;
    default:
        assert(false);
    }
}

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    (void)host;
    (void)level;
    (void)format;
}

const char *model_events(struct hf_store *store)
{
    memcpy(store->taken, store->events, store->used);
    store->taken[store->used] = '\0';
    store->used = 0;
    return store->taken;
}

/* --------------------------------------------------------------- clients -- */

void model_renew_in_pieces(struct leased_model *model, size_t most)
{
    model->renewal_piece_max = most;
}

void model_slow_close(struct leased_model *model, uint64_t ms)
{
    model->close_ms = ms;
}

struct hf_store *model_open_with(struct leased_model *model,
                                 const struct hf_engine_host *host,
                                 uint64_t ttl_ms)
{
    struct hf_store *store = calloc(1, sizeof *store);
    struct hf_engine_host own = {
        .event = on_event, .log = on_log, .host = store};
    struct hf_leased_config config = {.ttl_ms = ttl_ms,
                                      .clock_drift = 1,
                                      .server_address = "model",
                                      .renewal_piece_max =
                                          model->renewal_piece_max};
    struct hf_store **at = &model->stores;
    static uint64_t seed;

    assert(store != NULL);
    hf_random_seed(&config.random, ++seed);
    store->model = model;
    if (host != NULL) {
        own = *host;
        own.log = on_log;
    }
    if (own.host == NULL) {
        own.event = on_event;
        own.host = store;
    }
    config.reconnect = own.reconnect;
    while (*at != NULL)
        at = &(*at)->next;
    *at = store;
    store->leased = hf_leased_new(&config, &own, &ops, store, model->now_ms);
    assert(store->leased != NULL);
    return store;
}

struct hf_store *model_open(struct leased_model *model,
                            const struct hf_engine_host *host)
{
    return model_open_with(model, host, MODEL_TTL_MS);
}

struct hf_leased *model_leased(struct hf_store *store)
{
    return store->leased;
}

void model_close(struct hf_store *store)
{
    hf_leased_free(store->leased);
    store->leased = NULL;
}

void model_crash(struct hf_store *store)
{
    model_close(store);
}

void model_set_owner(struct hf_store *store, struct hf_own_ticket *owner)
{
    store->owner = owner;
}

struct hf_request *model_ask(struct hf_store *store, enum hf_request_kind kind,
                             const char *queue, char ticket)
{
    struct hf_request *request = calloc(1, sizeof *request);

    assert(request != NULL && store->request_count < REQUESTS_MAX);
    store->requests[store->request_count++] = request;
    request->kind = kind;
    request->queue = queue;
    request->ticket = id_of(ticket);
    request->ticket_kind = HF_TICKET_MUTEX;
    request->weight = 1;
    request->payload = "";
    request->own_ticket = store->owner;
    hf_leased_request(store->leased, request, store->model->now_ms);
    return request;
}

static struct hf_request *ask_of(struct hf_store *store,
                                 enum hf_request_kind request_kind,
                                 const char *queue, char ticket,
                                 enum hf_ticket_kind kind, uint32_t limit)
{
    struct hf_request *request = calloc(1, sizeof *request);

    assert(request != NULL && store->request_count < REQUESTS_MAX);
    store->requests[store->request_count++] = request;
    *request = (struct hf_request){.kind = request_kind,
                                   .queue = queue,
                                   .ticket = id_of(ticket),
                                   .ticket_kind = kind,
                                   .weight = 1,
                                   .limit = limit,
                                   .payload = "",
                                   .own_ticket = store->owner};
    hf_leased_request(store->leased, request, store->model->now_ms);
    return request;
}

struct hf_request *model_enqueue(struct hf_store *store, const char *queue,
                                 char ticket, enum hf_ticket_kind kind)
{
    return ask_of(store, HF_REQUEST_ENQUEUE, queue, ticket, kind, 0);
}

struct hf_request *model_watch(struct hf_store *store, const char *queue,
                               char ticket, enum hf_ticket_kind kind)
{
    return ask_of(store, HF_REQUEST_WATCH, queue, ticket, kind, 0);
}

struct hf_request *model_participant(struct hf_store *store,
                                     enum hf_request_kind kind,
                                     const char *queue, char ticket,
                                     uint32_t limit)
{
    return ask_of(store, kind, queue, ticket,
                  kind == HF_REQUEST_CLEAR_FLAG ? HF_TICKET_READY
                                                : HF_TICKET_PARTICIPANT,
                  limit);
}

/* ----------------------------------------------------------------- model -- */

struct leased_model *model_new(void)
{
    struct leased_model *model = calloc(1, sizeof *model);
    struct lease_observer watcher = {.notice = on_notice, .arg = model};

    assert(model != NULL);
    model->now_ms = MODEL_START_MS;
    model->server = lease_server_new(&watcher);
    return model;
}

void model_free(struct leased_model *model)
{
    struct model_message *message;
    struct hf_store *store;

    while ((message = model->messages) != NULL) {
        model->messages = message->next;
        message_free(message);
    }
    while ((store = model->stores) != NULL) {
        model->stores = store->next;
        if (store->leased != NULL)
            model_close(store);
        for (size_t i = 0; i < store->request_count; i++)
            free(store->requests[i]);
        free(store);
    }
    lease_server_free(model->server);
    free(model);
}

unsigned model_calls(const struct leased_model *model,
                     enum hf_store_call_kind kind)
{
    return model->calls[kind];
}

size_t model_tickets(const struct leased_model *model, const char *queue)
{
    return lease_server_count(model->server, queue);
}

bool model_has(const struct leased_model *model, const char *queue, char ticket)
{
    struct hf_ticket_id id = id_of(ticket);

    return lease_server_expires_ms(model->server, queue, &id) != 0;
}

bool model_evict(struct leased_model *model, const char *queue, char ticket)
{
    struct hf_ticket_id id = id_of(ticket);

    return lease_server_evict(model->server, queue, &id);
}

/* ---------------------------------------------------------------- faults -- */

void model_freeze(struct leased_model *model, bool frozen)
{
    model->frozen = frozen;
}

void model_lose_notices(struct leased_model *model, bool lost)
{
    model->lose_notices = lost;
}

void model_lose_answers(struct hf_store *store, bool lost)
{
    store->lose_answers = lost;
}

void model_refuse(struct leased_model *model, bool refused)
{
    model->refused = refused;
}

void model_cut(struct hf_store *store, bool late)
{
    struct model_message **at = &store->model->messages;

    while (*at != NULL) {
        struct model_message *message = *at;

        if (late || message->store != store || message->kind != CALL) {
            at = &message->next;
            continue;
        }
        *at = message->next;
        message_free(message);
    }
    store->link++;
    hf_leased_down(store->leased, HF_EUNREACHABLE, "cut", store->model->now_ms);
}

void model_step_clock(struct leased_model *model, int64_t ms)
{
    model->stepped_ms += ms;
}

void model_fail(struct leased_model *model, bool fail,
                enum hf_store_call_kind kind, enum hf_failure failure)
{
    model->fail = fail;
    model->fail_kind = kind;
    model->failure = failure;
}
