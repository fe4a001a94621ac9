/* SPDX-License-Identifier: Apache-2.0 */
/* The plain model's engine of one client.  It does what an engine for real
 * servers has to do and no more.  Its timeouts are fractions of the session
 * timeout: it sends a heartbeat every third, gives up a connection after two
 * thirds without a message, and gives up the session one whole timeout after
 * the last request that was answered had been sent. */
#include "simulator/model/sim_internal.h"

#include <assert.h>

#include "base/time_math.h"

static uint64_t now_ms(const struct hf_engine *engine)
{
    return hf_sim_client_now_ms(engine);
}

/* The timeout that all waits are fractions of: the negotiated one, or before
 * that the longest possible. */
static uint64_t lease_ms(const struct hf_engine *engine)
{
    if (sim_has_no_leases(engine->sim))
        return HF_FOREVER;
    return engine->timeout_ms != 0 ? engine->timeout_ms
                                   : engine->sim->config.timeout_ms;
}

/* ------------------------------------------------------------------ list -- */

/* Put the request into the engine's list, in the order of the requests. */
static struct plain_pending *pending_new(struct hf_engine *engine,
                                         struct hf_request *request)
{
    struct hf_sim *sim = engine->sim;
    struct plain_pending *pending = sim_alloc(sim, sizeof *pending);

    pending->request = request;
    pending->engine = engine;
    /* Requests that are about the session have no queue. */
    pending->queue =
        request->queue == NULL ? "" : sim_queue_find(sim, request->queue)->name;
    pending->ticket = request->ticket;
    pending->watches_queue = request->kind == HF_REQUEST_WATCH_QUEUE;
    pending->of_barrier =
        pending->watches_queue && request->ticket_kind == HF_TICKET_BARRIER;
    pending->of_participants =
        pending->watches_queue && request->ticket_kind == HF_TICKET_PARTICIPANT;
    request->engine_data = pending;
    pending->previous = engine->last;
    if (engine->last != NULL)
        engine->last->next = pending;
    else
        engine->first = pending;
    engine->last = pending;
    return pending;
}

/* Take it off the list.  Its .next stays valid, because callers may be walking
 * over the list. */
static void unlink_pending(struct plain_pending *pending)
{
    struct hf_engine *engine = pending->engine;

    assert(!pending->unlinked);
    if (pending->previous != NULL)
        pending->previous->next = pending->next;
    else
        engine->first = pending->next;
    if (pending->next != NULL)
        pending->next->previous = pending->previous;
    else
        engine->last = pending->previous;
    pending->unlinked = true;
    pending->is_set = false;
    pending->request = NULL;
}

/* ---------------------------------------------------------------- events -- */

static void emit(struct hf_engine *engine, struct hf_event *event)
{
    assert(!engine->frozen && !engine->gone);
    event->now_ms = now_ms(engine);
    engine->host.event(engine->host.host, event);
}

/* Take ${pending} off the list and hand its answer ${event} to the core. */
static void answer(struct plain_pending *pending, struct hf_event *event)
{
    struct hf_request *request = pending->request;

    assert(request != NULL);
    unlink_pending(pending);
    request->engine_data = NULL;
    event->as.answer.request = request;
    emit(pending->engine, event);
}

/* Hand FAILED to the core for a request that is not in the list. */
static void fail(struct hf_engine *engine, struct hf_request *request,
                 enum hf_failure failure, const char *text)
{
    struct hf_event event = {.kind = HF_EVENT_FAILED};

    event.as.answer.request = request;
    event.as.answer.failure = failure;
    event.as.answer.status =
        failure == HF_FAILURE_UNSURE ? HF_EUNSURE : HF_EUNREACHABLE;
    event.as.answer.text = text;
    emit(engine, &event);
}

/* Does the outcome stay unknown if no answer comes? */
static bool writes(enum hf_request_kind kind)
{
    return kind == HF_REQUEST_ENQUEUE || kind == HF_REQUEST_REMOVE ||
           kind == HF_REQUEST_DOWNGRADE || kind == HF_REQUEST_REVOKE ||
           kind == HF_REQUEST_SET_FLAG || kind == HF_REQUEST_CLEAR_FLAG ||
           kind == HF_REQUEST_NEW_GENERATION || kind == HF_REQUEST_DESCRIBE ||
           kind == HF_REQUEST_WRITE_SUCCESS;
}

/* Answer all requests under way, because their connection is gone.  A write is
 * UNSURE, a read is to be retried, an END is CLOSED.  Requests that the core
 * makes from inside an answer are refused at once, because there is no
 * connection. */
static void fail_all(struct hf_engine *engine, const char *text)
{
    struct plain_pending *pending = engine->first;
    bool ended = false;
    struct hf_request *end = NULL;

    while (pending != NULL) {
        struct hf_request *request = pending->request;

        if (!pending->watching) {
            unlink_pending(pending);
            request->engine_data = NULL;
            if (request->kind == HF_REQUEST_END) {
                ended = true;
                end = request;
            } else if (writes(request->kind)) {
                engine->must_sync = true;
                fail(engine, request, HF_FAILURE_UNSURE, text);
            } else {
                fail(engine, request, HF_FAILURE_RETRY, text);
            }
            /* The core may have dropped watches meanwhile: start at the
             * beginning. */
            pending = engine->first;
        } else {
            pending = pending->next;
        }
    }
    if (ended) {
        struct hf_event event = {.kind = HF_EVENT_CLOSED};

        event.as.answer.request = end;
        engine->phase = PLAIN_CLOSED;
        engine->session = NULL;
        emit(engine, &event);
    }
}

/* --------------------------------------------------------------- session -- */

/* Set the timer to the next timeout of this phase.  A timer that is set stays
 * in the heap; plain_client_tick() ignores all but the last. */
static void arm(struct hf_engine *engine)
{
    uint64_t at_ms = HF_FOREVER;

    switch (engine->phase) {
    case PLAIN_DISCONNECTED:
        at_ms = engine->connect_at_ms;
        break;
    case PLAIN_CONNECTING:
        at_ms = hf_after_ms(engine->connect_sent_ms, lease_ms(engine) / 3);
        break;
    case PLAIN_CONNECTED:
        at_ms = hf_min_ms(
            engine->ping_at_ms,
            hf_after_ms(engine->received_ms, lease_ms(engine) / 3 * 2));
        break;
    case PLAIN_CLOSED:
        break;
    }
    if (engine->session != NULL && engine->phase != PLAIN_CONNECTED &&
        engine->phase != PLAIN_CLOSED)
        at_ms =
            hf_min_ms(at_ms, hf_after_ms(engine->proven_ms, lease_ms(engine)));
    engine->armed_us = hf_sim_client_at_us(engine, at_ms);
    if (engine->armed_us != UINT64_MAX && !engine->frozen)
        hf_sim_call_at(engine->sim, engine->armed_us,
                       engine->phase == PLAIN_CONNECTED ||
                           engine->armed_us > engine->sim->now_us + 1000000,
                       plain_client_tick, engine);
}

static void close_connection(struct hf_engine *engine)
{
    struct plain_connection *connection = engine->connection;

    engine->connection = NULL;
    if (connection != NULL)
        plain_connection_end(connection);
}

/* Open a connection and ask for the session, or for a new one. */
static void send_connect(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct plain_message *message = plain_message_new(sim, PLAIN_CONNECT);

    engine->connection = plain_connection_new(engine);
    engine->phase = PLAIN_CONNECTING;
    engine->connect_sent_ms = now_ms(engine);
    message->session = engine->session;
    message->sent_ms = engine->connect_sent_ms;
    plain_send(engine->connection, PLAIN_TO_SERVER, message);
    if (engine->session != NULL) {
        struct hf_event event = {.kind = HF_EVENT_RESUMING};

        event.as.resuming.sent_at_ms = engine->connect_sent_ms;
        event.as.resuming.least_timeout_ms = sim->config.least_timeout_ms;
        emit(engine, &event);
    }
}

/* Connect again in 1 to 50 ms. */
static void retry_later(struct hf_engine *engine)
{
    engine->phase = PLAIN_DISCONNECTED;
    engine->connect_at_ms =
        hf_after_ms(now_ms(engine), sim_random_between(engine->sim, 1, 50));
}

/* The session is over: fail all requests and watches, and notify the core. */
static void end_session(struct hf_engine *engine)
{
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};
    struct plain_pending *watch;

    engine->phase = PLAIN_DISCONNECTED;
    close_connection(engine);
    fail_all(engine, "the session is over");
    if (engine->phase == PLAIN_CLOSED)
        return;
    while ((watch = engine->first) != NULL) {
        watch->request->engine_data = NULL;
        unlink_pending(watch);
    }
    engine->session = NULL;
    engine->timeout_ms = 0;
    retry_later(engine);
    event.as.answer.status = HF_ELOST;
    sim_trace(engine->sim, engine, "engine session lost");
    emit(engine, &event);
}

/* The connection is gone, which says nothing about the session.  Fail the
 * requests under way, and connect again. */
static void suspend(struct hf_engine *engine)
{
    bool was_up = engine->phase == PLAIN_CONNECTED;
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};

    retry_later(engine);
    close_connection(engine);
    if (!was_up)
        return;
    fail_all(engine, "the connection broke before the answer");
    if (engine->phase == PLAIN_CLOSED)
        return;
    sim_trace(engine->sim, engine, "engine suspended");
    emit(engine, &event);
}

/* A stopped process does not notice the reset before it continues. */
void plain_client_reset(struct hf_engine *engine)
{
    if (engine->gone || engine->phase == PLAIN_CLOSED)
        return;
    if (engine->frozen) {
        engine->reset_unread = true;
        return;
    }
    if (engine->phase == PLAIN_DISCONNECTED)
        return;
    suspend(engine);
    arm(engine);
}

/* The process reads what has arrived meanwhile, and then looks at its clock. */
void plain_client_thaw(struct hf_engine *engine)
{
    if (engine->reset_unread) {
        engine->reset_unread = false;
        plain_client_reset(engine);
    } else if (engine->connection != NULL) {
        plain_flush(engine->connection, PLAIN_TO_CLIENT);
        plain_flush(engine->connection, PLAIN_NOTICES);
    }
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, plain_client_tick,
                   engine);
}

static void send_ping(struct hf_engine *engine)
{
    struct plain_message *ping = plain_message_new(engine->sim, PLAIN_PING);

    ping->sent_ms = now_ms(engine);
    engine->ping_at_ms = hf_after_ms(ping->sent_ms, lease_ms(engine) / 3);
    plain_send(engine->connection, PLAIN_TO_SERVER, ping);
}

/* One timeout is handled for each call; arm() sets the timer for the next. */
static void check_timers(struct hf_engine *engine)
{
    uint64_t now = now_ms(engine);
    uint64_t lease = lease_ms(engine);

    if (engine->phase != PLAIN_CONNECTED && engine->session != NULL &&
        now >= hf_after_ms(engine->proven_ms, lease))
        end_session(engine);
    else if (engine->phase == PLAIN_DISCONNECTED &&
             now >= engine->connect_at_ms)
        send_connect(engine);
    else if (engine->phase == PLAIN_CONNECTING &&
             now >= hf_after_ms(engine->connect_sent_ms, lease / 3))
        suspend(engine);
    else if (engine->phase == PLAIN_CONNECTED &&
             now >= hf_after_ms(engine->received_ms, lease / 3 * 2))
        suspend(engine);
    else if (engine->phase == PLAIN_CONNECTED && now >= engine->ping_at_ms)
        send_ping(engine);
}

void plain_client_tick(void *arg)
{
    struct hf_engine *engine = arg;

    /* Several timers may be in the heap; only the one that was set last
     * counts. */
    if (engine->gone || engine->frozen || engine->phase == PLAIN_CLOSED ||
        engine->armed_us > engine->sim->now_us)
        return;
    check_timers(engine);
    arm(engine);
}

void plain_client_start(struct hf_engine *engine)
{
    engine->phase = PLAIN_DISCONNECTED;
    engine->connect_at_ms = now_ms(engine);
    arm(engine);
}

/* --------------------------------------------------------------- answers -- */

/* The new connection knows no watches: set each of them again. */
static void rewatch_all(struct hf_engine *engine)
{
    for (struct plain_pending *p = engine->first; p != NULL; p = p->next) {
        struct plain_message *message =
            plain_message_new(engine->sim, PLAIN_REWATCH);

        assert(p->watching);
        message->pending = p;
        plain_send(engine->connection, PLAIN_TO_SERVER, message);
    }
}

/* The server accepted the connection; its session is new or resumed. */
static void receive_accept(struct hf_engine *engine,
                           const struct plain_message *message)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};

    engine->phase = PLAIN_CONNECTED;
    engine->session = message->session;
    engine->timeout_ms = message->timeout_ms;
    engine->ping_at_ms = hf_after_ms(engine->received_ms, lease_ms(engine) / 3);
    rewatch_all(engine);
    event.as.connected.timeout_ms = message->timeout_ms;
    event.as.connected.clock_drift = engine->sim->config.clock_drift;
    event.as.connected.anchor_ms = message->sent_ms;
    event.as.connected.resumed = message->resumed;
    sim_trace(engine->sim, engine, "engine %s",
              message->resumed ? "resumed" : "connected");
    emit(engine, &event);
}

/* A notice is the last answer to a watch. */
static void receive_notice(struct hf_engine *engine,
                           struct plain_pending *watch)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    (void)engine;
    if (watch->watches_queue)
        event.kind = HF_EVENT_QUEUE_CHANGED;
    if (!watch->unlinked) /* else the core has dropped it meanwhile */
        answer(watch, &event);
}

/* Notify the core that a revocation, the number ${revocations}, reached the
 * owner of the watched ticket.  A notice may overtake the answer WATCHING; then
 * it waits for that. */
static void receive_revoke(struct hf_engine *engine,
                           struct plain_pending *watch, unsigned revocations)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKED};

    if (watch->unlinked)
        return;
    if (revocations > watch->revocations)
        watch->revocations = revocations;
    if (!watch->watching || watch->notified_revocations == watch->revocations)
        return;
    watch->notified_revocations = watch->revocations;
    event.as.answer.request = watch->request;
    emit(engine, &event);
}

/* WATCHING, and LISTED of a WATCH_QUEUE, leave the request in the list, because
 * a notice follows. */
static void receive_answer(struct hf_engine *engine,
                           struct plain_message *message)
{
    struct plain_pending *pending = message->pending;

    if (pending->unlinked) /* a WATCH that the core has dropped */
        return;
    if (message->sync)
        engine->must_sync = false;
    if (message->answer.kind == HF_EVENT_CLOSED) {
        engine->phase = PLAIN_CLOSED;
        engine->session = NULL;
        close_connection(engine);
    }
    if (message->answer.kind == HF_EVENT_WATCHING ||
        (pending->watches_queue && message->answer.kind == HF_EVENT_LISTED)) {
        pending->watching = true;
        message->answer.as.answer.request = pending->request;
        emit(engine, &message->answer);
        receive_revoke(engine, pending, message->revocations);
        return;
    }
    answer(pending, &message->answer);
}

/* All but notices prove that the session was alive when the request was
 * sent. */
void plain_client_receive(struct hf_engine *engine,
                          struct plain_message *message)
{
    engine->received_ms = now_ms(engine);
    if (message->kind != PLAIN_NOTICE && message->kind != PLAIN_REVOKE &&
        message->kind != PLAIN_EXPIRED)
        engine->proven_ms = hf_max_ms(engine->proven_ms, message->sent_ms);
    switch (message->kind) {
    case PLAIN_ACCEPT:
        receive_accept(engine, message);
        break;
    case PLAIN_EXPIRED:
        end_session(engine);
        break;
    case PLAIN_NOTICE:
        receive_notice(engine, message->pending);
        break;
    case PLAIN_REVOKE:
        receive_revoke(engine, message->pending, message->revocations);
        break;
    case PLAIN_ANSWER:
        receive_answer(engine, message);
        break;
    default:
        assert(message->kind == PLAIN_PONG);
    }
    arm(engine);
}

/* -------------------------------------------------------------- requests -- */

/* Without delays there is no network: a request is answered from inside the
 * call. */
static void answer_at_once(struct hf_engine *engine,
                           struct plain_message *message)
{
    if (!plain_execute(engine->sim, NULL, engine->session, message)) {
        struct hf_request *request = message->pending->request;

        unlink_pending(message->pending);
        request->engine_data = NULL;
        fail(engine, request, HF_FAILURE_RETRY, "the session is over");
        return;
    }
    receive_answer(engine, message);
}

/* Without a connection a request fails at once; an END needs none. */
static void refuse(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};

    if (request->kind != HF_REQUEST_END) {
        fail(engine, request, HF_FAILURE_RETRY, "there is no connection");
        return;
    }
    engine->phase = PLAIN_CLOSED;
    engine->session = NULL;
    close_connection(engine);
    event.as.answer.request = request;
    emit(engine, &event);
}

/* The request may be answered when the core has forgotten it. */
static void copy_names(struct hf_sim *sim, struct plain_message *message,
                       const struct hf_names_request *names)
{
    message->names = *names;
    if (names->cursor_bytes > 0)
        message->names.cursor = sim_strdup(sim, names->cursor);
}

/* A LIST after a write without an answer, and a WATCH_QUEUE that must not miss
 * anything, go through the leader. */
void plain_client_request(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_sim *sim = engine->sim;
    struct plain_message *message;

    assert(!engine->frozen && !engine->gone);
    if (engine->phase != PLAIN_CONNECTED) {
        refuse(engine, request);
        return;
    }
    message = plain_message_new(sim, PLAIN_REQUEST);
    message->pending = pending_new(engine, request);
    message->sent_ms = now_ms(engine);
    message->request = request->kind;
    message->ticket_kind = request->ticket_kind;
    message->weight = request->weight;
    message->limit = request->limit;
    message->whole = request->detailed;
    if (request->kind == HF_REQUEST_WRITE_SUCCESS)
        message->success_token = request->success_token;
    /* What people, and searches for deadlocks, are shown is not older than the
     * request. */
    message->sync = message->pending->of_barrier ||
                    message->pending->of_participants || request->detailed ||
                    request->kind == HF_REQUEST_READ_SUCCESS;
    message->sync |=
        engine->must_sync && (request->kind == HF_REQUEST_LIST ||
                              request->kind == HF_REQUEST_WATCH_QUEUE);
    if (request->kind == HF_REQUEST_ENQUEUE ||
        request->kind == HF_REQUEST_DESCRIBE)
        message->payload = sim_strdup(sim, request->payload);
    if (request->kind == HF_REQUEST_NAMES)
        copy_names(sim, message, request->names);
    if (sim->config.delay_max_us == 0)
        answer_at_once(engine, message);
    else
        plain_send(engine->connection, PLAIN_TO_SERVER, message);
}

/* The core does not wait for the watch any more; the server gets no request. */
void plain_client_unwatch(struct hf_engine *engine, struct hf_request *watch)
{
    struct plain_pending *pending = watch->engine_data;

    (void)engine;
    /* It has ended with its session. */
    if (pending == NULL)
        return;
    watch->engine_data = NULL;
    unlink_pending(pending);
}

void plain_client_free(struct hf_engine *engine)
{
    engine->gone = true;
    close_connection(engine);
}
