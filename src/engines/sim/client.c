/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of one client: what an engine for a real ensemble does, and no
 * more.  Its clocks: a heartbeat every third of the timeout, a link given up
 * after two thirds of silence, a session given up a whole one after the last
 * request that was answered had been sent.
 */
#include "engines/sim/model.h"

#include <assert.h>

#include "core/time_math.h"

static uint64_t now_ms(const struct hf_engine *engine)
{
    return hf_sim_client_now_ms(engine);
}

/* How long anything is waited for: what was negotiated, or could be. */
static uint64_t lease_ms(const struct hf_engine *engine)
{
    if (sim_leaseless(engine->sim))
        return HF_FOREVER;
    return engine->timeout_ms != 0 ? engine->timeout_ms
                                   : engine->sim->config.timeout_ms;
}

/* ----------------------------------------------------------------- list -- */

static struct sim_pending *pending_new(struct hf_engine *engine,
                                       struct hf_request *request)
{
    struct hf_sim *sim = engine->sim;
    struct sim_pending *pending = sim_alloc(sim, sizeof *pending);

    pending->request = request;
    pending->engine = engine;
    /* Some requests are the session's and have no queue. */
    pending->queue =
        request->queue == NULL ? "" : sim_queue_find(sim, request->queue)->name;
    pending->ticket = request->ticket;
    pending->looks = request->kind == HF_REQUEST_WATCH_QUEUE;
    pending->of_mark =
        pending->looks && request->ticket_kind == HF_TICKET_BARRIER;
    pending->of_members =
        pending->looks && request->ticket_kind == HF_TICKET_PARTICIPANT;
    request->engine_data = pending;
    pending->previous = engine->last;
    if (engine->last != NULL)
        engine->last->next = pending;
    else
        engine->first = pending;
    engine->last = pending;
    return pending;
}

/* Take it off the list; its .next stays, for whoever walks there. */
static void drop(struct sim_pending *pending)
{
    struct hf_engine *engine = pending->engine;

    assert(!pending->withdrawn);
    if (pending->previous != NULL)
        pending->previous->next = pending->next;
    else
        engine->first = pending->next;
    if (pending->next != NULL)
        pending->next->previous = pending->previous;
    else
        engine->last = pending->previous;
    pending->withdrawn = true;
    pending->placed = false;
    pending->request = NULL;
}

/* --------------------------------------------------------------- events -- */

static void emit(struct hf_engine *engine, struct hf_event *event)
{
    assert(!engine->frozen && !engine->gone);
    event->now_ms = now_ms(engine);
    engine->host.event(engine->host.host, event);
}

/* Answer ${pending}'s request and be done with it. */
static void answer(struct sim_pending *pending, struct hf_event *event)
{
    struct hf_request *request = pending->request;

    assert(request != NULL);
    drop(pending);
    request->engine_data = NULL;
    event->as.answer.request = request;
    emit(pending->engine, event);
}

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

static bool writes(enum hf_request_kind kind)
{
    return kind == HF_REQUEST_ENQUEUE || kind == HF_REQUEST_REMOVE ||
           kind == HF_REQUEST_DOWNGRADE || kind == HF_REQUEST_REVOKE ||
           kind == HF_REQUEST_SET_FLAG || kind == HF_REQUEST_CLEAR_FLAG ||
           kind == HF_REQUEST_NEW_GENERATION || kind == HF_REQUEST_DESCRIBE;
}

/* Answer whatever is under way, now that no answer will come.  An answer may
 * bring new requests; those are refused at once, being made without a link. */
static void fail_all(struct hf_engine *engine, const char *text)
{
    struct sim_pending *pending = engine->first;
    bool ended = false;
    struct hf_request *end = NULL;

    while (pending != NULL) {
        struct hf_request *request = pending->request;

        if (!pending->watching) {
            drop(pending);
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
            /* The core may have forgotten watches: start over. */
            pending = engine->first;
        } else {
            pending = pending->next;
        }
    }
    if (ended) {
        struct hf_event event = {.kind = HF_EVENT_CLOSED};

        event.as.answer.request = end;
        engine->phase = SIM_CLOSED;
        engine->session = NULL;
        emit(engine, &event);
    }
}

/* -------------------------------------------------------------- session -- */

static void arm(struct hf_engine *engine)
{
    uint64_t at_ms = HF_FOREVER;

    switch (engine->phase) {
    case SIM_APART:
        at_ms = engine->connect_at_ms;
        break;
    case SIM_ASKING:
        at_ms = hf_after_ms(engine->asked_ms, lease_ms(engine) / 3);
        break;
    case SIM_UP:
        at_ms =
            hf_min_ms(engine->ping_at_ms,
                      hf_after_ms(engine->heard_ms, lease_ms(engine) / 3 * 2));
        break;
    case SIM_CLOSED:
        break;
    }
    if (engine->session != NULL && engine->phase != SIM_UP &&
        engine->phase != SIM_CLOSED)
        at_ms =
            hf_min_ms(at_ms, hf_after_ms(engine->proven_ms, lease_ms(engine)));
    engine->armed_us = hf_sim_client_at_us(engine, at_ms);
    if (engine->armed_us != UINT64_MAX && !engine->frozen)
        hf_sim_call_at(engine->sim, engine->armed_us,
                       engine->phase == SIM_UP ||
                           engine->armed_us > engine->sim->now_us + 1000000,
                       sim_client_tick, engine);
}

static void cut(struct hf_engine *engine)
{
    struct sim_connection *connection = engine->connection;

    engine->connection = NULL;
    if (connection != NULL)
        sim_connection_end(connection);
}

static void ask(struct hf_engine *engine)
{
    struct hf_sim *sim = engine->sim;
    struct sim_message *message = sim_message_new(sim, SIM_CONNECT);

    engine->connection = sim_connection_new(engine);
    engine->phase = SIM_ASKING;
    engine->asked_ms = now_ms(engine);
    message->session = engine->session;
    message->sent_ms = engine->asked_ms;
    sim_send(engine->connection, SIM_OUT, message);
    if (engine->session != NULL) {
        struct hf_event event = {.kind = HF_EVENT_RESUMING};

        event.as.resuming.sent_at_ms = engine->asked_ms;
        event.as.resuming.least_timeout_ms = sim->config.least_timeout_ms;
        emit(engine, &event);
    }
}

/* Try again before long. */
static void retry_later(struct hf_engine *engine)
{
    engine->phase = SIM_APART;
    engine->connect_at_ms =
        hf_after_ms(now_ms(engine), sim_between(engine->sim, 1, 50));
}

static void lose_session(struct hf_engine *engine)
{
    struct hf_event event = {.kind = HF_EVENT_SESSION_LOST};
    struct sim_pending *watch;

    engine->phase = SIM_APART;
    cut(engine);
    fail_all(engine, "the session is over");
    if (engine->phase == SIM_CLOSED)
        return;
    while ((watch = engine->first) != NULL) {
        watch->request->engine_data = NULL;
        drop(watch);
    }
    engine->session = NULL;
    engine->timeout_ms = 0;
    retry_later(engine);
    event.as.answer.status = HF_ELOST;
    sim_line(engine->sim, engine, "engine session lost");
    emit(engine, &event);
}

/* The link is gone, which says nothing about the session. */
static void suspend(struct hf_engine *engine)
{
    bool was_up = engine->phase == SIM_UP;
    struct hf_event event = {.kind = HF_EVENT_SUSPENDED};

    retry_later(engine);
    cut(engine);
    if (!was_up)
        return;
    fail_all(engine, "the connection broke before the answer");
    if (engine->phase == SIM_CLOSED)
        return;
    sim_line(engine->sim, engine, "engine suspended");
    emit(engine, &event);
}

void sim_client_reset(struct hf_engine *engine)
{
    if (engine->gone || engine->phase == SIM_CLOSED)
        return;
    if (engine->frozen) {
        engine->reset_unread = true;
        return;
    }
    if (engine->phase == SIM_APART)
        return;
    suspend(engine);
    arm(engine);
}

/* It reads what has come in meanwhile, and looks at the clock. */
void sim_client_thaw(struct hf_engine *engine)
{
    if (engine->reset_unread) {
        engine->reset_unread = false;
        sim_client_reset(engine);
    } else if (engine->connection != NULL) {
        sim_pump(engine->connection, SIM_IN);
        sim_pump(engine->connection, SIM_ASIDE);
    }
    engine->armed_us = engine->sim->now_us;
    hf_sim_call_at(engine->sim, engine->sim->now_us, false, sim_client_tick,
                   engine);
}

static void beat(struct hf_engine *engine)
{
    struct sim_message *ping = sim_message_new(engine->sim, SIM_PING);

    ping->sent_ms = now_ms(engine);
    engine->ping_at_ms = hf_after_ms(ping->sent_ms, lease_ms(engine) / 3);
    sim_send(engine->connection, SIM_OUT, ping);
}

static void look_at_clock(struct hf_engine *engine)
{
    uint64_t now = now_ms(engine);
    uint64_t lease = lease_ms(engine);

    if (engine->phase != SIM_UP && engine->session != NULL &&
        now >= hf_after_ms(engine->proven_ms, lease))
        lose_session(engine);
    else if (engine->phase == SIM_APART && now >= engine->connect_at_ms)
        ask(engine);
    else if (engine->phase == SIM_ASKING &&
             now >= hf_after_ms(engine->asked_ms, lease / 3))
        suspend(engine);
    else if (engine->phase == SIM_UP &&
             now >= hf_after_ms(engine->heard_ms, lease / 3 * 2))
        suspend(engine);
    else if (engine->phase == SIM_UP && now >= engine->ping_at_ms)
        beat(engine);
}

void sim_client_tick(void *arg)
{
    struct hf_engine *engine = arg;

    /* Of several in the calendar only the one last set counts. */
    if (engine->gone || engine->frozen || engine->phase == SIM_CLOSED ||
        engine->armed_us > engine->sim->now_us)
        return;
    look_at_clock(engine);
    arm(engine);
}

void sim_client_init(struct hf_engine *engine)
{
    engine->phase = SIM_APART;
    engine->connect_at_ms = now_ms(engine);
    arm(engine);
}

/* -------------------------------------------------------------- answers -- */

static void rewatch_all(struct hf_engine *engine)
{
    for (struct sim_pending *p = engine->first; p != NULL; p = p->next) {
        struct sim_message *message = sim_message_new(engine->sim, SIM_REWATCH);

        assert(p->watching);
        message->pending = p;
        sim_send(engine->connection, SIM_OUT, message);
    }
}

static void accepted(struct hf_engine *engine,
                     const struct sim_message *message)
{
    struct hf_event event = {.kind = HF_EVENT_CONNECTED};

    engine->phase = SIM_UP;
    engine->session = message->session;
    engine->timeout_ms = message->timeout_ms;
    engine->ping_at_ms = hf_after_ms(engine->heard_ms, lease_ms(engine) / 3);
    rewatch_all(engine);
    event.as.connected.timeout_ms = message->timeout_ms;
    event.as.connected.anchor_ms = message->sent_ms;
    event.as.connected.resumed = message->resumed;
    sim_line(engine->sim, engine, "engine %s",
             message->resumed ? "resumed" : "connected");
    emit(engine, &event);
}

static void notice(struct hf_engine *engine, struct sim_pending *watch)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    (void)engine;
    if (watch->looks)
        event.kind = HF_EVENT_QUEUE_CHANGED;
    if (!watch->withdrawn) /* else forgotten meanwhile */
        answer(watch, &event);
}

/* ${watch} is to hear of the ${asked}th request to let go; not before its
 * WATCHING, which such a notice may overtake. */
static void revoke(struct hf_engine *engine, struct sim_pending *watch,
                   unsigned asked)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKED};

    if (watch->withdrawn)
        return;
    if (asked > watch->asked)
        watch->asked = asked;
    if (!watch->watching || watch->heard == watch->asked)
        return;
    watch->heard = watch->asked;
    event.as.answer.request = watch->request;
    emit(engine, &event);
}

static void answered(struct hf_engine *engine, struct sim_message *message)
{
    struct sim_pending *pending = message->pending;

    if (pending->withdrawn) /* a WATCH that was forgotten */
        return;
    if (message->sync)
        engine->must_sync = false;
    if (message->answer.kind == HF_EVENT_CLOSED) {
        engine->phase = SIM_CLOSED;
        engine->session = NULL;
        cut(engine);
    }
    if (message->answer.kind == HF_EVENT_WATCHING ||
        (pending->looks && message->answer.kind == HF_EVENT_LISTED)) {
        pending->watching = true;
        message->answer.as.answer.request = pending->request;
        emit(engine, &message->answer);
        revoke(engine, pending, message->asked);
        return;
    }
    answer(pending, &message->answer);
}

void sim_client_receive(struct hf_engine *engine, struct sim_message *message)
{
    engine->heard_ms = now_ms(engine);
    if (message->kind != SIM_NOTICE && message->kind != SIM_REVOKE &&
        message->kind != SIM_EXPIRED)
        engine->proven_ms = hf_max_ms(engine->proven_ms, message->sent_ms);
    switch (message->kind) {
    case SIM_ACCEPT:
        accepted(engine, message);
        break;
    case SIM_EXPIRED:
        lose_session(engine);
        break;
    case SIM_NOTICE:
        notice(engine, message->pending);
        break;
    case SIM_REVOKE:
        revoke(engine, message->pending, message->asked);
        break;
    case SIM_ANSWER:
        answered(engine, message);
        break;
    default:
        assert(message->kind == SIM_PONG);
    }
    arm(engine);
}

/* ------------------------------------------------------------- requests -- */

/* Without a network in between a request is answered in the call. */
static void answer_at_once(struct hf_engine *engine,
                           struct sim_message *message)
{
    if (!sim_carry_out(engine->sim, NULL, engine->session, message)) {
        struct hf_request *request = message->pending->request;

        drop(message->pending);
        request->engine_data = NULL;
        fail(engine, request, HF_FAILURE_RETRY, "the session is over");
        return;
    }
    answered(engine, message);
}

static void refuse(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_CLOSED};

    if (request->kind != HF_REQUEST_END) {
        fail(engine, request, HF_FAILURE_RETRY, "there is no connection");
        return;
    }
    engine->phase = SIM_CLOSED;
    engine->session = NULL;
    cut(engine);
    event.as.answer.request = request;
    emit(engine, &event);
}

void sim_client_request(struct hf_engine *engine, struct hf_request *request)
{
    struct hf_sim *sim = engine->sim;
    struct sim_message *message;

    assert(!engine->frozen && !engine->gone);
    if (engine->phase != SIM_UP) {
        refuse(engine, request);
        return;
    }
    message = sim_message_new(sim, SIM_REQUEST);
    message->pending = pending_new(engine, request);
    message->sent_ms = now_ms(engine);
    message->request = request->kind;
    message->ticket_kind = request->ticket_kind;
    message->weight = request->weight;
    message->limit = request->limit;
    message->whole = request->detailed;
    message->sync = message->pending->of_mark || message->pending->of_members;
    message->sync |=
        engine->must_sync && (request->kind == HF_REQUEST_LIST ||
                              request->kind == HF_REQUEST_WATCH_QUEUE);
    if (request->kind == HF_REQUEST_ENQUEUE ||
        request->kind == HF_REQUEST_DESCRIBE)
        message->payload = sim_text(sim, request->payload);
    if (sim->config.delay_most_us == 0)
        answer_at_once(engine, message);
    else
        sim_send(engine->connection, SIM_OUT, message);
}

void sim_client_forget(struct hf_engine *engine, struct hf_request *watch)
{
    struct sim_pending *pending = watch->engine_data;

    (void)engine;
    /* Gone with its session. */
    if (pending == NULL)
        return;
    watch->engine_data = NULL;
    drop(pending);
}

void sim_client_free(struct hf_engine *engine)
{
    engine->gone = true;
    cut(engine);
}
