/* SPDX-License-Identifier: Apache-2.0 */
#include "scripted.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "core/engine.h"

#define TICKETS_MAX 64
#define REQUESTS_MAX 64

struct hf_engine {
    struct hf_engine_host host;
    uint64_t timeout_ms;
    int fd;
    uv_poll_t poll;
    bool connected;
    bool has_session;
    bool mute;
    bool doubt;
    bool lazy;
    unsigned successions; /* before as many holders can be asked to let go */
    uint64_t sequence;
    struct hf_ticket tickets[TICKETS_MAX];
    char payloads[TICKETS_MAX][HF_PAYLOAD_BYTES];
    size_t ticket_count;
    struct hf_request *waiting[REQUESTS_MAX]; /* not answered yet */
    size_t waiting_count;
    struct hf_request *watches[REQUESTS_MAX];
    size_t watch_count;
    struct hf_request *looks[REQUESTS_MAX]; /* at members */
    size_t look_count;
};

static const struct hf_ticket_id stranger = {{0xff}};
static const struct hf_ticket_id ready = {{0xfe}};
static const struct hf_ticket_id first_member = {{0, 1}};
static const struct hf_ticket_id last_member = {{0xff, 0xff, 0xff}};

static void answer_found(struct hf_engine *engine, enum hf_event_kind kind,
                         struct hf_request *request, bool found)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = request;
    event.as.answer.snapshot.tickets = engine->tickets;
    event.as.answer.snapshot.count = engine->ticket_count;
    event.as.answer.anchor_ms = engine->host.now_ms(engine->host.host);
    event.as.answer.found = found;
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

static void answer(struct hf_engine *engine, enum hf_event_kind kind,
                   struct hf_request *request)
{
    answer_found(engine, kind, request, true);
}

static void fail(struct hf_engine *engine, struct hf_request *request,
                 enum hf_failure failure)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = HF_EUNREACHABLE;
    event.as.answer.text = "as the test wants it";
    engine->host.event(engine->host.host, &event);
}

static size_t find(const struct hf_engine *engine,
                   const struct hf_ticket_id *id)
{
    size_t i;

    for (i = 0; i < engine->ticket_count; i++) {
        if (hf_ticket_id_equal(&engine->tickets[i].id, id))
            break;
    }
    return i;
}

static void add(struct hf_engine *engine, const struct hf_ticket_id *id,
                enum hf_ticket_kind kind, const char *payload, size_t place)
{
    size_t i;

    assert(engine->ticket_count < TICKETS_MAX);
    for (i = engine->ticket_count; i > place; i--) {
        engine->tickets[i] = engine->tickets[i - 1];
        memcpy(engine->payloads[i], engine->payloads[i - 1], HF_PAYLOAD_BYTES);
        engine->tickets[i].payload = engine->payloads[i];
    }
    engine->ticket_count++;
    engine->sequence++;
    strncpy(engine->payloads[place], payload, HF_PAYLOAD_BYTES - 1);
    engine->tickets[place] = (struct hf_ticket){
        .id = *id,
        .sequence = place == 0 ? 1 : engine->sequence + 1,
        .token = engine->sequence + 1,
        .kind = kind,
        .payload = engine->payloads[place],
    };
}

static bool drop(struct hf_engine *engine, const struct hf_ticket_id *id)
{
    size_t at = find(engine, id);
    size_t i;

    if (at == engine->ticket_count)
        return false;
    engine->ticket_count--;
    for (i = at; i < engine->ticket_count; i++) {
        engine->tickets[i] = engine->tickets[i + 1];
        memcpy(engine->payloads[i], engine->payloads[i + 1], HF_PAYLOAD_BYTES);
        engine->tickets[i].payload = engine->payloads[i];
    }
    return true;
}

static void tell_gone(struct hf_engine *engine, const struct hf_ticket_id *id)
{
    struct hf_request *gone[REQUESTS_MAX];
    size_t gone_count = 0;
    size_t kept = 0;
    size_t i;

    for (i = 0; i < engine->watch_count; i++) {
        if (hf_ticket_id_equal(&engine->watches[i]->ticket, id))
            gone[gone_count++] = engine->watches[i];
        else
            engine->watches[kept++] = engine->watches[i];
    }
    engine->watch_count = kept;
    for (i = 0; i < gone_count; i++)
        answer(engine, HF_EVENT_GONE, gone[i]);
}

static void remove_from(struct hf_request **list, size_t *count,
                        const struct hf_request *request)
{
    size_t kept = 0;
    size_t i;

    for (i = 0; i < *count; i++) {
        if (list[i] != request)
            list[kept++] = list[i];
    }
    *count = kept;
}

/* ------------------------------------------------------------- members -- */

static struct hf_request *next_to_tell(const struct hf_engine *engine)
{
    for (size_t i = 0; i < engine->look_count; i++) {
        if (engine->looks[i]->engine_data != NULL)
            return engine->looks[i];
    }
    return NULL;
}

/* Who is told may look again, or take back what he is to be told. */
static void tell_changed(struct hf_engine *engine)
{
    struct hf_request *look;

    for (size_t i = 0; i < engine->look_count; i++)
        engine->looks[i]->engine_data = engine;
    while ((look = next_to_tell(engine)) != NULL) {
        look->engine_data = NULL;
        remove_from(engine->looks, &engine->look_count, look);
        answer(engine, HF_EVENT_QUEUE_CHANGED, look);
    }
}

static size_t count_members(const struct hf_engine *engine)
{
    size_t count = 0;

    for (size_t i = 0; i < engine->ticket_count; i++)
        count += engine->tickets[i].kind == HF_TICKET_PARTICIPANT;
    return count;
}

static void look(struct hf_engine *engine, struct hf_request *request)
{
    assert(request->ticket_kind == HF_TICKET_PARTICIPANT &&
           "nobody wants permits here, nor a single barrier");
    assert(engine->look_count < REQUESTS_MAX);
    engine->looks[engine->look_count++] = request;
    answer(engine, HF_EVENT_LISTED, request);
}

static void stamp(struct hf_engine *engine, struct hf_request *request)
{
    if (find(engine, &request->ticket) == engine->ticket_count ||
        count_members(engine) < request->limit) {
        fail(engine, request, HF_FAILURE_RETRY);
        return;
    }
    (void)drop(engine, &ready);
    add(engine, &ready, HF_TICKET_READY, "", engine->ticket_count);
    answer(engine, HF_EVENT_FLAG_UPDATED, request);
    tell_changed(engine);
}

static void lower(struct hf_engine *engine, struct hf_request *request)
{
    bool lowered = count_members(engine) == 0 && drop(engine, &ready);

    assert(request->ticket_kind == HF_TICKET_READY);
    answer(engine, HF_EVENT_FLAG_UPDATED, request);
    if (lowered)
        tell_changed(engine);
}

/* A strange member. */
static void come(struct hf_engine *engine, const struct hf_ticket_id *id)
{
    add(engine, id, HF_TICKET_PARTICIPANT, "stranger", engine->ticket_count);
    tell_changed(engine);
}

static void go(struct hf_engine *engine, const struct hf_ticket_id *id)
{
    if (!drop(engine, id))
        return;
    tell_gone(engine, id);
    tell_changed(engine);
}

/* -------------------------------------------------------------- requests -- */

static void enqueue(struct hf_engine *engine, struct hf_request *request)
{
    bool comes = find(engine, &request->ticket) == engine->ticket_count;

    if (comes)
        add(engine, &request->ticket, request->ticket_kind, request->payload,
            engine->ticket_count);
    answer(engine, HF_EVENT_ENQUEUED, request);
    if (comes && request->ticket_kind == HF_TICKET_PARTICIPANT)
        tell_changed(engine);
}

static void withdraw(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_ticket_id id = request->ticket;
    bool found = drop(engine, &id);

    answer_found(engine, HF_EVENT_REMOVED, request, found);
    if (!found)
        return;
    tell_gone(engine, &id);
    tell_changed(engine);
}

static void downgrade(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_ticket_id id = request->ticket;
    size_t at = find(engine, &id);

    if (at == engine->ticket_count) {
        fail(engine, request, HF_FAILURE_FATAL);
        return;
    }
    engine->tickets[at].kind = HF_TICKET_READ;
    answer(engine, HF_EVENT_DOWNGRADED, request);
    tell_gone(engine, &id);
}

static void ask(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_ticket_id other = engine->tickets[0].id;

    if (engine->successions > 0) {
        engine->successions--;
        (void)drop(engine, &request->ticket);
        other.bytes[sizeof(other.bytes) - 1]++;
        add(engine, &other, HF_TICKET_MUTEX, "successor", 0);
    }
    if (find(engine, &request->ticket) == engine->ticket_count)
        answer_found(engine, HF_EVENT_REVOKE_SENT, request, false);
    else
        answer(engine, HF_EVENT_REVOKE_SENT, request);
}

static void serve(struct hf_engine *engine, struct hf_request *request)
{
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        enqueue(engine, request);
        break;
    case HF_REQUEST_LIST:
        answer(engine, HF_EVENT_LISTED, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        look(engine, request);
        break;
    case HF_REQUEST_WATCH:
        if (find(engine, &request->ticket) == engine->ticket_count) {
            answer(engine, HF_EVENT_GONE, request);
            break;
        }
        assert(engine->watch_count < REQUESTS_MAX);
        engine->watches[engine->watch_count++] = request;
        answer(engine, HF_EVENT_WATCHING, request);
        break;
    case HF_REQUEST_REVOKE:
        ask(engine, request);
        break;
    case HF_REQUEST_DESCRIBE:
        answer(engine, HF_EVENT_DESCRIBED, request);
        break;
    case HF_REQUEST_SET_FLAG:
        assert(false && "nobody has a single barrier here");
        break;
    case HF_REQUEST_CLEAR_FLAG:
        lower(engine, request);
        break;
    case HF_REQUEST_NEW_GENERATION:
        stamp(engine, request);
        break;
    case HF_REQUEST_REMOVE:
        withdraw(engine, request);
        break;
    case HF_REQUEST_PROVE:
        if (engine->doubt)
            fail(engine, request, HF_FAILURE_RETRY);
        else
            answer(engine, HF_EVENT_PROVEN, request);
        break;
    case HF_REQUEST_DOWNGRADE:
        downgrade(engine, request);
        break;
    case HF_REQUEST_END:
        answer(engine, HF_EVENT_CLOSED, request);
        break;
    }
}

static void fail_waiting(struct hf_engine *engine)
{
    struct hf_request *waiting[REQUESTS_MAX];
    size_t count = engine->waiting_count;
    size_t i;

    memcpy(waiting, engine->waiting, sizeof(waiting));
    engine->waiting_count = 0;
    for (i = 0; i < count; i++)
        fail(engine, waiting[i], HF_FAILURE_UNSURE);
}

static void request_(struct hf_engine *engine, struct hf_request *request)
{
    if (request->kind == HF_REQUEST_END) {
        fail_waiting(engine);
        serve(engine, request);
    } else if (!engine->connected) {
        fail(engine, request, HF_FAILURE_RETRY);
    } else if (engine->mute) {
        assert(engine->waiting_count < REQUESTS_MAX);
        engine->waiting[engine->waiting_count++] = request;
    } else {
        serve(engine, request);
    }
}

static void forget(struct hf_engine *engine, struct hf_request *watch)
{
    remove_from(engine->watches, &engine->watch_count, watch);
    remove_from(engine->looks, &engine->look_count, watch);
    remove_from(engine->waiting, &engine->waiting_count, watch);
}

static void session(struct hf_engine *engine, enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    if (kind == HF_EVENT_CONNECTED) {
        event.as.connected.timeout_ms = engine->timeout_ms;
        event.as.connected.anchor_ms = engine->host.now_ms(engine->host.host);
        event.as.connected.resumed = engine->has_session;
        event.as.connected.lazy = engine->lazy;
        engine->has_session = true;
    }
    engine->connected = kind == HF_EVENT_CONNECTED;
    engine->host.event(engine->host.host, &event);
}

static void lose(struct hf_engine *engine)
{
    engine->connected = false;
    engine->has_session = false;
    engine->ticket_count = 0;
    engine->watch_count = 0;
    engine->look_count = 0;
    fail_waiting(engine);
    session(engine, HF_EVENT_SESSION_LOST);
}

static void speak(struct hf_engine *engine)
{
    struct hf_request *waiting[REQUESTS_MAX];
    size_t count = engine->waiting_count;
    size_t i;

    engine->mute = false;
    memcpy(waiting, engine->waiting, sizeof(waiting));
    engine->waiting_count = 0;
    for (i = 0; i < count; i++)
        serve(engine, waiting[i]);
}

static void obey(struct hf_engine *engine, char command)
{
    switch (command) {
    case SCRIPTED_CONNECT:
        session(engine, HF_EVENT_CONNECTED);
        break;
    case SCRIPTED_SUSPEND:
        engine->connected = false;
        fail_waiting(engine);
        session(engine, HF_EVENT_SUSPENDED);
        break;
    case SCRIPTED_LOSE:
        lose(engine);
        break;
    case SCRIPTED_MUTE:
        engine->mute = true;
        break;
    case SCRIPTED_SPEAK:
        speak(engine);
        break;
    case SCRIPTED_DOUBT:
        engine->doubt = true;
        break;
    case SCRIPTED_LAZY:
        engine->lazy = true;
        break;
    case SCRIPTED_BLOCK:
        add(engine, &stranger, HF_TICKET_MUTEX, "stranger", 0);
        break;
    case SCRIPTED_UNBLOCK:
        go(engine, &stranger);
        break;
    case SCRIPTED_SUCCEED:
        engine->successions++;
        break;
    case SCRIPTED_FIRST_COMES:
        come(engine, &first_member);
        break;
    case SCRIPTED_FIRST_GOES:
        go(engine, &first_member);
        break;
    case SCRIPTED_LAST_COMES:
        come(engine, &last_member);
        break;
    case SCRIPTED_LAST_GOES:
        go(engine, &last_member);
        break;
    }
}

static void on_command(uv_poll_t *poll, int status, int events)
{
    struct hf_engine *engine = poll->data;
    char command;

    (void)status;
    (void)events;
    if (read(engine->fd, &command, 1) == 1)
        obey(engine, command);
}

static hf_status open_(const struct hf_url *url,
                       const struct hf_engine_host *host,
                       struct hf_engine **engine, struct hf_error *error)
{
    struct hf_engine *made = calloc(1, sizeof(*made));
    uv_loop_t *loop = host->loop(host->host);

    (void)error;
    assert(made != NULL && loop != NULL);
    made->host = *host;
    made->fd = atoi(hf_url_option(url, "fd"));
    made->timeout_ms = strtoull(hf_url_option(url, "timeout"), NULL, 10);
    if (made->timeout_ms == 0)
        made->timeout_ms = HF_FOREVER;
    (void)uv_poll_init(loop, &made->poll, made->fd);
    made->poll.data = made;
    (void)uv_poll_start(&made->poll, UV_READABLE, on_command);
    *engine = made;
    return HF_OK;
}

static const char *describe(const struct hf_engine *engine)
{
    (void)engine;
    return "scripted:";
}

static void after_fork(struct hf_engine *engine)
{
    close(engine->fd);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void free_(struct hf_engine *engine)
{
    uv_close((uv_handle_t *)&engine->poll, on_closed);
}

__attribute__((visibility("default")))
const struct hf_engine_ops hf_engine_module = {
    .abi = HF_ENGINE_ABI,
    .scheme = "scripted",
    .traits = HF_ENGINE_GONE_ADMITS,
    .open = open_,
    .request = request_,
    .unwatch = forget,
    .describe = describe,
    .after_fork = after_fork,
    .free = free_,
};
