/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted engine: a queue in an array, answers at once, and one
 * function for each command. */
#include "scripted_engine.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include <holdfast/holdfast.h>

#include "base/engine_host.h"
#include "base/url.h"
#include "core/deadlock.h"
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
    bool silent;
    bool proofs_fail;
    bool lazy;
    bool shows_too_many;
    bool no_memory;
    bool no_participants;
    unsigned replacements; /* holders to replace, see SCRIPTED_REPLACE_HOLDER */
    uint64_t sequence;
    struct hf_ticket tickets[TICKETS_MAX];
    char payloads[TICKETS_MAX][HF_PAYLOAD_BYTES];
    size_t ticket_count;
    struct hf_request
        *waiting[REQUESTS_MAX]; /* requests that are not answered yet */
    size_t waiting_count;
    struct hf_request *watches[REQUESTS_MAX];
    size_t watch_count;
    struct hf_request *queue_watches[REQUESTS_MAX];
    size_t queue_watch_count;
};

static const struct hf_ticket_id other_client = {{0xff}};
static const struct hf_ticket_id ready = {{0xfe}};
static const struct hf_ticket_id first_participant = {{0, 1}};
static const struct hf_ticket_id last_participant = {{0xff, 0xff, 0xff}};

/* Copy the tickets that ${request} shows: participants and READY only if it is
 * about them.  Returns how many there are. */
static size_t show(const struct hf_engine *engine,
                   const struct hf_request *request,
                   struct hf_ticket shown[TICKETS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < engine->ticket_count; i++)
        if (engine->tickets[i].kind < HF_TICKET_PARTICIPANT ||
            request->ticket_kind >= HF_TICKET_PARTICIPANT)
            shown[count++] = engine->tickets[i];
    return count;
}

static void answer_found(struct hf_engine *engine, enum hf_event_kind kind,
                         struct hf_request *request, bool found)
{
    struct hf_event event = {.kind = kind};
    struct hf_ticket shown[TICKETS_MAX];

    event.as.answer.request = request;
    event.as.answer.snapshot.tickets = shown;
    event.as.answer.snapshot.count = show(engine, request, shown);
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

static void fail_as(struct hf_engine *engine, struct hf_request *request,
                    enum hf_failure failure, hf_status status)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status = status;
    event.as.answer.text = "as the test wants it";
    engine->host.event(engine->host.host, &event);
}

static void fail(struct hf_engine *engine, struct hf_request *request,
                 enum hf_failure failure)
{
    fail_as(engine, request, failure, HF_EUNREACHABLE);
}

static size_t index_of(const struct hf_engine *engine,
                       const struct hf_ticket_id *id)
{
    size_t i;

    for (i = 0; i < engine->ticket_count; i++) {
        if (hf_ticket_id_equal(&engine->tickets[i].id, id))
            break;
    }
    return i;
}

static void insert_ticket(struct hf_engine *engine,
                          const struct hf_ticket_id *id,
                          enum hf_ticket_kind kind, const char *payload,
                          size_t position)
{
    size_t i;

    assert(engine->ticket_count < TICKETS_MAX);
    for (i = engine->ticket_count; i > position; i--) {
        engine->tickets[i] = engine->tickets[i - 1];
        memcpy(engine->payloads[i], engine->payloads[i - 1], HF_PAYLOAD_BYTES);
        engine->tickets[i].payload = engine->payloads[i];
    }
    engine->ticket_count++;
    engine->sequence++;
    strncpy(engine->payloads[position], payload, HF_PAYLOAD_BYTES - 1);
    engine->tickets[position] = (struct hf_ticket){
        .id = *id,
        .sequence = position == 0 ? 1 : engine->sequence + 1,
        .token = engine->sequence + 1,
        .kind = kind,
        .payload = engine->payloads[position],
    };
}

static bool remove_quietly(struct hf_engine *engine,
                           const struct hf_ticket_id *id)
{
    size_t index = index_of(engine, id);
    size_t i;

    if (index == engine->ticket_count)
        return false;
    engine->ticket_count--;
    for (i = index; i < engine->ticket_count; i++) {
        engine->tickets[i] = engine->tickets[i + 1];
        memcpy(engine->payloads[i], engine->payloads[i + 1], HF_PAYLOAD_BYTES);
        engine->tickets[i].payload = engine->payloads[i];
    }
    return true;
}

static void notify_gone(struct hf_engine *engine, const struct hf_ticket_id *id)
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

/* ---------------------------------------------------------- participants -- */

static struct hf_request *next_to_notify(const struct hf_engine *engine)
{
    for (size_t i = 0; i < engine->queue_watch_count; i++) {
        if (engine->queue_watches[i]->engine_data != NULL)
            return engine->queue_watches[i];
    }
    return NULL;
}

/* Something of ${kind} has changed: PARTICIPANT, or 0 for tickets.  A notified
 * core may watch again or cancel other watches, so the list is searched anew
 * after each notice. */
static void notify_of(struct hf_engine *engine, enum hf_ticket_kind kind)
{
    struct hf_request *watch_queue;

    for (size_t i = 0; i < engine->queue_watch_count; i++)
        if (engine->queue_watches[i]->ticket_kind == kind)
            engine->queue_watches[i]->engine_data = engine;
    while ((watch_queue = next_to_notify(engine)) != NULL) {
        watch_queue->engine_data = NULL;
        remove_from(engine->queue_watches, &engine->queue_watch_count,
                    watch_queue);
        answer(engine, HF_EVENT_QUEUE_CHANGED, watch_queue);
    }
}

static void notify_changed(struct hf_engine *engine)
{
    notify_of(engine, HF_TICKET_PARTICIPANT);
    notify_of(engine, 0);
}

static size_t count_participants(const struct hf_engine *engine)
{
    size_t count = 0;

    for (size_t i = 0; i < engine->ticket_count; i++)
        count += engine->tickets[i].kind == HF_TICKET_PARTICIPANT;
    return count;
}

static void watch_queue(struct hf_engine *engine, struct hf_request *request)
{
    assert(request->ticket_kind != HF_TICKET_BARRIER &&
           "nobody wants a single barrier here");
    assert(engine->queue_watch_count < REQUESTS_MAX);
    engine->queue_watches[engine->queue_watch_count++] = request;
    answer(engine, HF_EVENT_LISTED, request);
}

static void new_generation(struct hf_engine *engine, struct hf_request *request)
{
    if (index_of(engine, &request->ticket) == engine->ticket_count ||
        count_participants(engine) < request->limit) {
        fail(engine, request, HF_FAILURE_RETRY);
        return;
    }
    (void)remove_quietly(engine, &ready);
    insert_ticket(engine, &ready, HF_TICKET_READY, "", engine->ticket_count);
    answer(engine, HF_EVENT_FLAG_UPDATED, request);
    notify_changed(engine);
}

static void clear_flag(struct hf_engine *engine, struct hf_request *request)
{
    bool cleared =
        count_participants(engine) == 0 && remove_quietly(engine, &ready);

    assert(request->ticket_kind == HF_TICKET_READY);
    answer(engine, HF_EVENT_FLAG_UPDATED, request);
    if (cleared)
        notify_changed(engine);
}

/* A participant that belongs to another client. */
static void add_participant(struct hf_engine *engine,
                            const struct hf_ticket_id *id)
{
    insert_ticket(engine, id, HF_TICKET_PARTICIPANT, "other",
                  engine->ticket_count);
    notify_changed(engine);
}

static void remove_ticket(struct hf_engine *engine,
                          const struct hf_ticket_id *id)
{
    if (!remove_quietly(engine, id))
        return;
    notify_gone(engine, id);
    notify_changed(engine);
}

/* -------------------------------------------------------------- requests -- */

static void enqueue(struct hf_engine *engine, struct hf_request *request)
{
    bool is_new = index_of(engine, &request->ticket) == engine->ticket_count;

    if (is_new)
        insert_ticket(engine, &request->ticket, request->ticket_kind,
                      request->payload, engine->ticket_count);
    answer(engine, HF_EVENT_ENQUEUED, request);
    if (is_new)
        notify_of(engine, request->ticket_kind == HF_TICKET_PARTICIPANT
                              ? HF_TICKET_PARTICIPANT
                              : 0);
}

static void remove_request(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_ticket_id id = request->ticket;
    bool found = remove_quietly(engine, &id);

    answer_found(engine, HF_EVENT_REMOVED, request, found);
    if (!found)
        return;
    notify_gone(engine, &id);
    notify_changed(engine);
}

static void downgrade(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_ticket_id id = request->ticket;
    size_t index = index_of(engine, &id);

    if (index == engine->ticket_count) {
        fail(engine, request, HF_FAILURE_FATAL);
        return;
    }
    engine->tickets[index].kind = HF_TICKET_READ;
    answer(engine, HF_EVENT_DOWNGRADED, request);
    notify_gone(engine, &id);
}

static void send_revoke(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_ticket_id other = engine->tickets[0].id;

    if (engine->replacements > 0) {
        engine->replacements--;
        (void)remove_quietly(engine, &request->ticket);
        other.bytes[sizeof(other.bytes) - 1]++;
        insert_ticket(engine, &other, HF_TICKET_MUTEX, "successor", 0);
    }
    if (index_of(engine, &request->ticket) == engine->ticket_count)
        answer_found(engine, HF_EVENT_REVOKE_SENT, request, false);
    else
        answer(engine, HF_EVENT_REVOKE_SENT, request);
}

/* Answer a list with more tickets than a search for a deadlock may read. */
static void answer_too_many(struct hf_engine *engine,
                            struct hf_request *request)
{
    static struct hf_ticket shown[HF_DEADLOCK_TICKETS_MAX + 1];
    struct hf_event event = {.kind = HF_EVENT_LISTED};

    for (size_t i = 0; i <= HF_DEADLOCK_TICKETS_MAX; i++)
        shown[i] = (struct hf_ticket){.sequence = i + 1,
                                      .kind = HF_TICKET_MUTEX,
                                      .weight = 1,
                                      .payload = ""};
    event.as.answer.request = request;
    event.as.answer.snapshot =
        (struct hf_snapshot){shown, HF_DEADLOCK_TICKETS_MAX + 1, 0};
    event.as.answer.text = "";
    engine->host.event(engine->host.host, &event);
}

/* Answer a list or a queue watch that is to fail for good.  False: it is to be
 * carried out. */
static bool fails_for_good(struct hf_engine *engine, struct hf_request *request)
{
    bool lists = request->kind == HF_REQUEST_LIST && request->detailed;

    if (lists && engine->no_memory)
        fail_as(engine, request, HF_FAILURE_FATAL, HF_ENOMEM);
    else if ((lists || request->kind == HF_REQUEST_WATCH_QUEUE) &&
             request->ticket_kind == HF_TICKET_PARTICIPANT &&
             engine->no_participants)
        fail_as(engine, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED);
    else
        return false;
    return true;
}

static void execute(struct hf_engine *engine, struct hf_request *request)
{
    if (fails_for_good(engine, request))
        return;
    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        enqueue(engine, request);
        break;
    case HF_REQUEST_LIST:
        if (engine->shows_too_many && request->detailed)
            answer_too_many(engine, request);
        else
            answer(engine, HF_EVENT_LISTED, request);
        break;
    case HF_REQUEST_WATCH_QUEUE:
        watch_queue(engine, request);
        break;
    case HF_REQUEST_WATCH:
        if (index_of(engine, &request->ticket) == engine->ticket_count) {
            answer(engine, HF_EVENT_GONE, request);
            break;
        }
        assert(engine->watch_count < REQUESTS_MAX);
        engine->watches[engine->watch_count++] = request;
        answer(engine, HF_EVENT_WATCHING, request);
        break;
    case HF_REQUEST_REVOKE:
        send_revoke(engine, request);
        break;
    case HF_REQUEST_DESCRIBE:
        answer(engine, HF_EVENT_DESCRIBED, request);
        break;
    case HF_REQUEST_SET_FLAG:
        assert(false && "nobody has a single barrier here");
        break;
    case HF_REQUEST_CLEAR_FLAG:
        clear_flag(engine, request);
        break;
    case HF_REQUEST_NEW_GENERATION:
        new_generation(engine, request);
        break;
    case HF_REQUEST_NAMES:
    case HF_REQUEST_EXAMINE:
    case HF_REQUEST_READ_SUCCESS:
    case HF_REQUEST_WRITE_SUCCESS:
        assert(false && "nobody asks for more than tickets here");
        break;
    case HF_REQUEST_REMOVE:
        remove_request(engine, request);
        break;
    case HF_REQUEST_PROVE:
        if (engine->proofs_fail)
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
        execute(engine, request);
    } else if (!engine->connected) {
        fail(engine, request, HF_FAILURE_RETRY);
    } else if (engine->silent) {
        assert(engine->waiting_count < REQUESTS_MAX);
        engine->waiting[engine->waiting_count++] = request;
    } else {
        execute(engine, request);
    }
}

static void unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    remove_from(engine->watches, &engine->watch_count, watch);
    remove_from(engine->queue_watches, &engine->queue_watch_count, watch);
    remove_from(engine->waiting, &engine->waiting_count, watch);
}

static void send_session_event(struct hf_engine *engine,
                               enum hf_event_kind kind)
{
    struct hf_event event = {.kind = kind};

    if (kind == HF_EVENT_CONNECTED) {
        event.as.connected.timeout_ms = engine->timeout_ms;
        event.as.connected.clock_drift = 1;
        event.as.connected.anchor_ms = engine->host.now_ms(engine->host.host);
        event.as.connected.resumed = engine->has_session;
        event.as.connected.lazy = engine->lazy;
        engine->has_session = true;
    }
    engine->connected = kind == HF_EVENT_CONNECTED;
    engine->host.event(engine->host.host, &event);
}

static void lose_session(struct hf_engine *engine)
{
    engine->connected = false;
    engine->has_session = false;
    engine->ticket_count = 0;
    engine->watch_count = 0;
    engine->queue_watch_count = 0;
    fail_waiting(engine);
    send_session_event(engine, HF_EVENT_SESSION_LOST);
}

static void give_up(struct hf_engine *engine)
{
    struct hf_event refused = {.kind = HF_EVENT_CONNECTION_ERROR};

    refused.as.connection_error.text = "an old server";
    refused.as.connection_error.status = HF_EUNSUPPORTED;
    refused.as.connection_error.final = true;
    engine->host.event(engine->host.host, &refused);
    send_session_event(engine, HF_EVENT_GAVE_UP);
}

static void answer_waiting(struct hf_engine *engine)
{
    struct hf_request *waiting[REQUESTS_MAX];
    size_t count = engine->waiting_count;
    size_t i;

    engine->silent = false;
    memcpy(waiting, engine->waiting, sizeof(waiting));
    engine->waiting_count = 0;
    for (i = 0; i < count; i++)
        execute(engine, waiting[i]);
}

static void execute_command(struct hf_engine *engine, char command)
{
    switch (command) {
    case SCRIPTED_CONNECT:
        send_session_event(engine, HF_EVENT_CONNECTED);
        break;
    case SCRIPTED_SUSPEND:
        engine->connected = false;
        fail_waiting(engine);
        send_session_event(engine, HF_EVENT_SUSPENDED);
        break;
    case SCRIPTED_LOSE:
        lose_session(engine);
        break;
    case SCRIPTED_GIVE_UP:
        give_up(engine);
        break;
    case SCRIPTED_MUTE:
        engine->silent = true;
        break;
    case SCRIPTED_ANSWER:
        answer_waiting(engine);
        break;
    case SCRIPTED_PROOFS_FAIL:
        engine->proofs_fail = true;
        break;
    case SCRIPTED_LAZY:
        engine->lazy = true;
        break;
    case SCRIPTED_TOO_MANY:
        engine->shows_too_many = true;
        break;
    case SCRIPTED_NO_MEMORY:
    case SCRIPTED_MEMORY:
        engine->no_memory = command == SCRIPTED_NO_MEMORY;
        break;
    case SCRIPTED_NO_PARTICIPANTS:
        engine->no_participants = true;
        break;
    case SCRIPTED_BLOCK:
        insert_ticket(engine, &other_client, HF_TICKET_MUTEX, "other", 0);
        notify_of(engine, 0);
        break;
    case SCRIPTED_UNBLOCK:
        remove_ticket(engine, &other_client);
        break;
    case SCRIPTED_REPLACE_HOLDER:
        engine->replacements++;
        break;
    case SCRIPTED_FIRST_ENTERS:
        add_participant(engine, &first_participant);
        break;
    case SCRIPTED_FIRST_LEAVES:
        remove_ticket(engine, &first_participant);
        break;
    case SCRIPTED_LAST_ENTERS:
        add_participant(engine, &last_participant);
        break;
    case SCRIPTED_LAST_LEAVES:
        remove_ticket(engine, &last_participant);
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
        execute_command(engine, command);
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
    .unwatch = unwatch,
    .describe = describe,
    .after_fork = after_fork,
    .free = free_,
};
