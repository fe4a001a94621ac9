/* SPDX-License-Identifier: Apache-2.0 */
#include "conformance/seat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/random.h"

struct hf_ticket_id fresh_id(void)
{
    static struct hf_random random;
    static pid_t owner; /* a forked child must not repeat its parent's */

    if (owner != getpid()) {
        owner = getpid();
        hf_random_seed(&random, (uint64_t)owner);
    }
    return hf_ticket_id_random(&random);
}

/* ------------------------------------------------------------------ host -- */

static void copy_snapshot(struct call *call, const struct hf_snapshot *snapshot)
{
    assert_true(snapshot->count <= SNAPSHOT_MAX);
    call->count = snapshot->count;
    call->more = snapshot->more_ahead;
    for (size_t i = 0; i < snapshot->count; i++) {
        call->tickets[i] = snapshot->tickets[i];
        assert_non_null(snapshot->tickets[i].payload);
        assert_true(strlen(snapshot->tickets[i].payload) < HF_PAYLOAD_BYTES);
        (void)strcpy(call->payloads[i], snapshot->tickets[i].payload);
        call->tickets[i].payload = call->payloads[i];
    }
}

static struct call *call_of(struct seat *seat, const struct hf_request *request)
{
    for (size_t i = 0; i < seat->count; i++)
        if (&seat->calls[i]->request == request)
            return seat->calls[i];
    fail_msg("an answer names a request that was never made");
    return NULL;
}

static void take_answer(struct seat *seat, const struct hf_event *event)
{
    struct call *call = call_of(seat, event->as.answer.request);

    assert_false(call->forgotten);
    if ((event->kind == HF_EVENT_GONE && call->answers == 1 &&
         call->answer == HF_EVENT_WATCHING) ||
        (event->kind == HF_EVENT_QUEUE_CHANGED && call->answers == 1 &&
         call->answer == HF_EVENT_LISTED &&
         call->request.kind == HF_REQUEST_WATCH_QUEUE)) {
        call->gone++;
        return;
    }
    assert_int_not_equal(event->kind, HF_EVENT_QUEUE_CHANGED);
    if (event->kind == HF_EVENT_REVOKED) {
        assert_int_equal(call->answer, HF_EVENT_WATCHING);
        assert_int_equal(call->gone, 0);
        call->revoked++;
        return;
    }
    call->answers++;
    call->answer = event->kind;
    if (event->kind == HF_EVENT_GONE)
        call->gone++;
    if (event->kind == HF_EVENT_REMOVED ||
        event->kind == HF_EVENT_REVOKE_SENT ||
        event->kind == HF_EVENT_FLAG_UPDATED ||
        event->kind == HF_EVENT_DESCRIBED)
        call->found = event->as.answer.found;
    if (event->kind == HF_EVENT_ENQUEUED || event->kind == HF_EVENT_LISTED)
        copy_snapshot(call, &event->as.answer.snapshot);
    if (event->kind == HF_EVENT_LISTED)
        call->foreign = event->as.answer.unknown_count;
    if (event->kind == HF_EVENT_FAILED) {
        call->failure = event->as.answer.failure;
        call->status = event->as.answer.status;
        assert_int_not_equal(call->status, HF_OK);
        assert_non_null(event->as.answer.text);
        (void)snprintf(call->text, sizeof(call->text), "%s",
                       event->as.answer.text);
    }
}

static void on_event(void *arg, struct hf_event *event)
{
    struct seat *seat = arg;

    assert_false(seat->closed);
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        seat->connected = true;
        break;
    case HF_EVENT_SUSPENDED:
    case HF_EVENT_RESUMING:
    case HF_EVENT_SESSION_LOST:
        seat->connected = false;
        break;
    case HF_EVENT_CONNECTION_ERROR:
        break;
    case HF_EVENT_CLOSED:
        take_answer(seat, event);
        seat->closed = true;
        break;
    case HF_EVENT_PROVEN:
        if (event->as.answer.request != NULL) /* else unasked */
            take_answer(seat, event);
        break;
    default:
        take_answer(seat, event);
        break;
    }
}

/* --------------------------------------------------------------- waiting -- */

static bool is_connected(void *arg)
{
    return ((struct seat *)arg)->connected;
}

static bool is_suspended(void *arg)
{
    return !((struct seat *)arg)->connected;
}

static bool is_answered(void *arg)
{
    return ((struct call *)arg)->answers > 0;
}

static bool is_gone(void *arg)
{
    return ((struct call *)arg)->gone > 0;
}

struct seat *seat_open(struct bench *bench)
{
    struct seat *seat = calloc(1, sizeof(*seat));

    assert_non_null(seat);
    seat->bench = bench;
    seat->host.event = on_event;
    seat->host.host = seat;
    seat->engine = bench->open(bench, &seat->host);
    assert_non_null(seat->engine);
    bench->pump(bench, is_connected, seat);
    assert_true(seat->connected);
    return seat;
}

static struct call *new_call(struct seat *seat, enum hf_request_kind kind,
                             const char *queue, struct hf_ticket_id id)
{
    struct call *call = calloc(1, sizeof(*call));

    assert_non_null(call);
    assert_true(seat->count < CALLS_MAX);
    seat->calls[seat->count++] = call;
    call->request.kind = kind;
    call->request.queue = queue;
    call->request.ticket = id;
    call->request.ticket_kind = HF_TICKET_MUTEX;
    call->request.payload = "it is me";
    return call;
}

struct call *seat_wait(struct seat *seat, struct call *call)
{
    seat->bench->pump(seat->bench, is_answered, call);
    assert_int_equal(call->answers, 1);
    return call;
}

static struct call *ask_enqueue(struct seat *seat, const char *queue,
                                struct hf_ticket_id id,
                                enum hf_ticket_kind kind, uint32_t weight,
                                const char *payload)
{
    struct call *call = new_call(seat, HF_REQUEST_ENQUEUE, queue, id);

    call->request.ticket_kind = kind;
    call->request.weight = weight;
    call->request.payload = payload;
    seat->bench->ops->request(seat->engine, &call->request);
    return call;
}

struct call *seat_enqueue_only(struct seat *seat, const char *queue,
                               struct hf_ticket_id id)
{
    return ask_enqueue(seat, queue, id, HF_TICKET_MUTEX, 1, "");
}

struct call *seat_enqueue(struct seat *seat, const char *queue,
                          struct hf_ticket_id id, enum hf_ticket_kind kind,
                          const char *payload)
{
    return seat_wait(seat, ask_enqueue(seat, queue, id, kind, 1, payload));
}

struct call *seat_lease(struct seat *seat, const char *queue,
                        struct hf_ticket_id id, uint32_t weight)
{
    return seat_wait(
        seat, ask_enqueue(seat, queue, id, HF_TICKET_LEASE, weight, "lease"));
}

struct call *seat_watch(struct seat *seat, const char *queue,
                        const struct hf_ticket *ticket)
{
    struct call *call = new_call(seat, HF_REQUEST_WATCH, queue, ticket->id);

    call->request.ticket_kind = ticket->kind;
    seat->bench->ops->request(seat->engine, &call->request);
    return seat_wait(seat, call);
}

struct call *seat_ask_only(struct seat *seat, enum hf_request_kind kind,
                           const char *queue, struct hf_ticket_id id)
{
    struct call *call = new_call(seat, kind, queue, id);

    seat->bench->ops->request(seat->engine, &call->request);
    return call;
}

struct call *seat_ask(struct seat *seat, enum hf_request_kind kind,
                      const char *queue, struct hf_ticket_id id)
{
    return seat_wait(seat, seat_ask_only(seat, kind, queue, id));
}

struct call *seat_mark_only(struct seat *seat, enum hf_request_kind kind,
                            const char *queue)
{
    struct call *call = new_call(seat, kind, queue, fresh_id());

    call->request.ticket_kind = HF_TICKET_BARRIER;
    seat->bench->ops->request(seat->engine, &call->request);
    return call;
}

struct call *seat_mark(struct seat *seat, enum hf_request_kind kind,
                       const char *queue)
{
    return seat_wait(seat, seat_mark_only(seat, kind, queue));
}

struct call *seat_members_only(struct seat *seat, enum hf_request_kind kind,
                               const char *queue, struct hf_ticket_id id,
                               uint32_t limit)
{
    struct call *call = new_call(seat, kind, queue, id);

    call->request.ticket_kind =
        kind == HF_REQUEST_CLEAR_FLAG ? HF_TICKET_READY : HF_TICKET_PARTICIPANT;
    call->request.limit = limit;
    seat->bench->ops->request(seat->engine, &call->request);
    return call;
}

struct call *seat_members(struct seat *seat, enum hf_request_kind kind,
                          const char *queue, struct hf_ticket_id id,
                          uint32_t limit)
{
    return seat_wait(seat, seat_members_only(seat, kind, queue, id, limit));
}

static struct call *look_at(struct seat *seat, const char *queue,
                            enum hf_ticket_kind kind)
{
    struct call *call =
        new_call(seat, HF_REQUEST_LIST, queue, (struct hf_ticket_id){{0}});

    call->request.ticket_kind = kind;
    call->request.detailed = true;
    seat->bench->ops->request(seat->engine, &call->request);
    return seat_wait(seat, call);
}

struct call *seat_look_at_members(struct seat *seat, const char *queue)
{
    return look_at(seat, queue, HF_TICKET_PARTICIPANT);
}

struct call *seat_look(struct seat *seat, const char *queue)
{
    return look_at(seat, queue, 0);
}

struct call *seat_insist(struct seat *seat, enum hf_request_kind kind,
                         const char *queue, struct hf_ticket_id id)
{
    struct call *call = seat_ask(seat, kind, queue, id);

    while (call->answer == HF_EVENT_FAILED) {
        assert_int_equal(call->failure, HF_FAILURE_RETRY);
        seat->count--; /* its place is for the next one */
        free(call);
        call = seat_ask(seat, kind, queue, id);
    }
    return call;
}

static struct call *describe(struct seat *seat, const char *queue,
                             const struct hf_ticket *ticket,
                             const char *payload)
{
    struct call *call = new_call(seat, HF_REQUEST_DESCRIBE, queue, ticket->id);

    call->request.ticket_kind = ticket->kind;
    call->request.payload = payload;
    seat->bench->ops->request(seat->engine, &call->request);
    return seat_wait(seat, call);
}

struct call *seat_describe(struct seat *seat, const char *queue,
                           const struct hf_ticket *ticket, const char *payload)
{
    struct call *call = describe(seat, queue, ticket, payload);

    while (call->answer == HF_EVENT_FAILED) {
        assert_int_equal(call->failure, HF_FAILURE_RETRY);
        seat->count--; /* its place is for the next one */
        free(call);
        seat_settle(seat);
        call = describe(seat, queue, ticket, payload);
    }
    return call;
}

/* A server may show an earlier state this often before it shows the present. */
#define LOOKS_MAX 100

bool seat_sees_text(struct seat *seat, const char *queue,
                    struct hf_ticket_id id, const char *payload)
{
    for (unsigned i = 0; i < LOOKS_MAX; i++) {
        struct call *list = seat_look(seat, queue);
        const struct hf_ticket *ticket = call_find(list, id);
        bool seen = ticket != NULL && strcmp(ticket->payload, payload) == 0;

        seat->count--; /* its place is for the next one */
        free(list);
        if (seen)
            return true;
        seat_settle(seat);
    }
    return false;
}

struct revoked {
    const struct call *watch;
    unsigned before;
};

static bool is_revoked(void *arg)
{
    const struct revoked *revoked = arg;

    return revoked->watch->revoked > revoked->before;
}

bool seat_sees_revoked(struct seat *seat, struct call *watch, unsigned before)
{
    struct revoked revoked = {watch, before};

    seat->bench->pump(seat->bench, is_revoked, &revoked);
    return watch->revoked > before;
}

void seat_forget(struct seat *seat, struct call *watch)
{
    seat->bench->ops->unwatch(seat->engine, &watch->request);
    watch->forgotten = true;
}

void seat_wait_suspended(struct seat *seat)
{
    seat->bench->pump(seat->bench, is_suspended, seat);
    assert_false(seat->connected);
}

void seat_wait_connected(struct seat *seat)
{
    seat->bench->pump(seat->bench, is_connected, seat);
    assert_true(seat->connected);
}

bool seat_sees_gone(struct seat *seat, struct call *watch)
{
    seat->bench->pump(seat->bench, is_gone, watch);
    return watch->gone == 1;
}

/* Whatever was on its way when a later request was answered has come too. */
void seat_settle(struct seat *seat)
{
    struct hf_ticket_id nobody = {{0}};

    for (unsigned i = 0; i < 3; i++)
        (void)seat_ask(seat, HF_REQUEST_LIST, "settle", nobody);
}

static void check_calls(const struct seat *seat)
{
    for (size_t i = 0; i < seat->count; i++) {
        const struct call *call = seat->calls[i];

        assert_true(call->answers == 1 ||
                    (call->forgotten && call->answers == 0));
        assert_true(call->gone <= 1);
    }
}

void seat_bury(struct seat *seat)
{
    for (size_t i = 0; i < seat->count; i++)
        free(seat->calls[i]);
    free(seat);
}

void seat_end(struct seat *seat)
{
    struct hf_ticket_id nobody = {{0}};
    struct call *end = seat_ask(seat, HF_REQUEST_END, NULL, nobody);

    assert_int_equal(end->answer, HF_EVENT_CLOSED);
    check_calls(seat);
}

void seat_free(struct seat *seat)
{
    seat->bench->ops->free(seat->engine);
    seat_bury(seat);
}

void seat_close(struct seat *seat)
{
    seat_end(seat);
    seat_free(seat);
}

const struct hf_ticket *call_find(const struct call *call,
                                  struct hf_ticket_id id)
{
    struct hf_snapshot snapshot = {call->tickets, call->count, call->more};
    size_t at = hf_snapshot_find(&snapshot, &id);

    return at == call->count ? NULL : &call->tickets[at];
}
