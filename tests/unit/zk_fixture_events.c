/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the client: each is checked against the request that it answers and
 * appended to .events as text. */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "base/utf8.h"
#include "zk_fixture.h"

/* -------------------------------------------------------------- requests -- */

static const char *const kinds[] = {
    "ENQUEUE",  "LIST",       "WATCH_QUEUE",    "WATCH",  "REMOVE",
    "PROVE",    "END",        "DOWNGRADE",      "REVOKE", "DESCRIBE",
    "SET_FLAG", "CLEAR_FLAG", "NEW_GENERATION", "NAMES"};

struct zk_fixture_request *zk_fixture_request_of(struct hf_request *request)
{
    return (
        struct zk_fixture_request *)(void *)((char *)request -
                                             offsetof(struct zk_fixture_request,
                                                      request));
}

void zk_fixture_end_request(struct zk_fixture *f, struct zk_fixture_request *r)
{
    ZK_FIXTURE_MUST(r->state != ZK_FIXTURE_ENDED);
    if (r->state == ZK_FIXTURE_ASKED)
        f->under_way--;
    r->state = ZK_FIXTURE_ENDED;
    r->request.engine_data = NULL;
    memset(&r->request.ticket, 0, sizeof r->request.ticket);
}

static void answered(struct zk_fixture *f, struct zk_fixture_request *r,
                     enum hf_event_kind kind)
{
    if (kind == HF_EVENT_REVOKED) {
        ZK_FIXTURE_MUST(r->state == ZK_FIXTURE_WATCHING);
        return;
    }
    f->answered++;
    ZK_FIXTURE_MUST(kind == HF_EVENT_QUEUE_CHANGED
                        ? r->state == ZK_FIXTURE_WATCHING
                        : r->state == ZK_FIXTURE_ASKED ||
                              kind == HF_EVENT_GONE);
    if (kind != HF_EVENT_WATCHING &&
        (kind != HF_EVENT_LISTED ||
         r->request.kind != HF_REQUEST_WATCH_QUEUE)) {
        zk_fixture_end_request(f, r);
        return;
    }
    f->under_way--;
    r->state = ZK_FIXTURE_WATCHING;
}

/* ---------------------------------------------------------------- events -- */

static void append_snapshot(struct zk_fixture *f,
                            const struct hf_snapshot *snapshot)
{
    static const char *const suffix[] = {"?", "", "/r", "/w", "/l", "/e", ""};
    const struct hf_ticket *ticket;
    char name[16];

    for (size_t i = 0; i < snapshot->count; i++) {
        ticket = &snapshot->tickets[i];
        /* The core relies on the order, whatever the server lists. */
        ZK_FIXTURE_MUST(i == 0 || hf_ticket_compare(ticket - 1, ticket) <= 0);
        if (ticket->kind == HF_TICKET_BARRIER) {
            zk_text_append(&f->events, "", " up@%llu",
                           (unsigned long long)ticket->token);
            continue;
        }
        if (ticket->kind == HF_TICKET_READY) {
            zk_text_append(&f->events, "", " ready@%llu",
                           (unsigned long long)ticket->token);
            continue;
        }
        zk_fixture_id_name(&ticket->id, name);
        if (ticket->kind == HF_TICKET_PARTICIPANT) {
            zk_text_append(&f->events, "", " %s/m@%llu", name,
                           (unsigned long long)ticket->token);
            continue;
        }
        zk_text_append(&f->events, "", " %s%s#%d", name, suffix[ticket->kind],
                       (int32_t)(uint32_t)ticket->sequence);
        ZK_FIXTURE_MUST(
            ticket->weight == 1 ||
            (ticket->weight > 1 && ticket->kind == HF_TICKET_LEASE));
        if (ticket->weight > 1)
            zk_text_append(&f->events, "", "*%u", ticket->weight);
        if (ticket->token != 0)
            zk_text_append(&f->events, "", "@%llu",
                           (unsigned long long)ticket->token);
        ZK_FIXTURE_MUST(ticket->payload != NULL);
        ZK_FIXTURE_MUST(strlen(ticket->payload) < HF_PAYLOAD_BYTES);
        ZK_FIXTURE_MUST(
            hf_utf8_valid(ticket->payload, strlen(ticket->payload)));
        if (ticket->payload[0] != '\0')
            zk_text_append(&f->events, "", "=%s", ticket->payload);
        if (i > 0)
            ZK_FIXTURE_MUST(ticket[-1].sequence <= ticket->sequence);
    }
}

static void keep_text(struct zk_fixture *f, const char *text)
{
    ZK_FIXTURE_MUST(text != NULL && text[0] != '\0');
    ZK_FIXTURE_MUST(strlen(text) < sizeof f->text);
    ZK_FIXTURE_MUST(hf_utf8_valid(text, strlen(text)));
    snprintf(f->text, sizeof f->text, "%s", text);
}

static void append_failed(struct zk_fixture *f, const struct hf_event *event,
                          const char *name)
{
    static const char *const failures[] = {"RETRY", "UNSURE", "FATAL"};
    enum hf_request_kind kind = event->as.answer.request->kind;

    keep_text(f, event->as.answer.text);
    f->status = event->as.answer.status;
    ZK_FIXTURE_MUST(f->status != HF_OK);
    if (kind == HF_REQUEST_PROVE)
        zk_text_append(&f->events, "; ", "FAILED PROVE %s",
                       failures[event->as.answer.failure]);
    else
        zk_text_append(&f->events, "; ", "FAILED %s %s %s", kinds[kind], name,
                       failures[event->as.answer.failure]);
}

static void append_names(struct zk_fixture *f,
                         const struct hf_names_answer *names)
{
    for (size_t i = 0; i < names->count; i++)
        zk_text_append(&f->events, " ", "%s%s", names->queues[i].queue,
                       names->queues[i].participants ? "*" : "");
    if (names->cursor_bytes > 0)
        zk_text_append(&f->events, " ", "more");
}

static void append_answer(struct zk_fixture *f, const struct hf_event *event)
{
    char name[16];

    zk_fixture_id_name(&zk_fixture_request_of(event->as.answer.request)->about,
                       name);
    switch (event->kind) {
    case HF_EVENT_QUEUE_CHANGED:
        zk_text_append(&f->events, "; ", "QUEUE_CHANGED %s", name);
        break;
    case HF_EVENT_ENQUEUED:
    case HF_EVENT_LISTED:
        zk_text_append(&f->events, "; ", "%s %s:",
                       event->kind == HF_EVENT_LISTED ? "LISTED" : "ENQUEUED",
                       name);
        append_snapshot(f, &event->as.answer.snapshot);
        break;
    case HF_EVENT_NAMED:
        zk_text_append(&f->events, "; ", "NAMED %s:", name);
        append_names(f, event->as.answer.names);
        break;
    case HF_EVENT_WATCHING:
        zk_text_append(&f->events, "; ", "WATCHING %s", name);
        break;
    case HF_EVENT_GONE:
        zk_text_append(&f->events, "; ", "GONE %s", name);
        break;
    case HF_EVENT_REMOVED:
        zk_text_append(&f->events, "; ", "REMOVED %s%s", name,
                       event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DOWNGRADED:
        zk_text_append(&f->events, "; ", "DOWNGRADED %s", name);
        break;
    case HF_EVENT_REVOKE_SENT:
        zk_text_append(&f->events, "; ", "REVOKE_SENT %s%s", name,
                       event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DESCRIBED:
        zk_text_append(&f->events, "; ", "DESCRIBED %s%s", name,
                       event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_REVOKED:
        zk_text_append(&f->events, "; ", "REVOKED %s", name);
        break;
    case HF_EVENT_FLAG_UPDATED:
        zk_text_append(&f->events, "; ", "FLAG_UPDATED%s",
                       event->as.answer.found ? " found" : "");
        break;
    default:
        ZK_FIXTURE_MUST(event->kind == HF_EVENT_FAILED);
        append_failed(f, event, name);
    }
}

/* True if an event of ${kind} may answer a request of the kind ${asked}. */
static bool fits(enum hf_request_kind asked, enum hf_event_kind kind)
{
    switch (kind) {
    case HF_EVENT_ENQUEUED:
        return asked == HF_REQUEST_ENQUEUE;
    case HF_EVENT_LISTED:
        return asked == HF_REQUEST_LIST || asked == HF_REQUEST_WATCH_QUEUE;
    case HF_EVENT_NAMED:
        return asked == HF_REQUEST_NAMES;
    case HF_EVENT_QUEUE_CHANGED:
        return asked == HF_REQUEST_WATCH_QUEUE;
    case HF_EVENT_WATCHING:
    case HF_EVENT_GONE:
    case HF_EVENT_REVOKED:
        return asked == HF_REQUEST_WATCH;
    case HF_EVENT_REVOKE_SENT:
        return asked == HF_REQUEST_REVOKE;
    case HF_EVENT_DESCRIBED:
        return asked == HF_REQUEST_DESCRIBE;
    case HF_EVENT_FLAG_UPDATED:
        return asked == HF_REQUEST_SET_FLAG || asked == HF_REQUEST_CLEAR_FLAG ||
               asked == HF_REQUEST_NEW_GENERATION;
    case HF_EVENT_REMOVED:
        return asked == HF_REQUEST_REMOVE;
    case HF_EVENT_PROVEN:
        return asked == HF_REQUEST_PROVE;
    case HF_EVENT_DOWNGRADED:
        return asked == HF_REQUEST_DOWNGRADE;
    case HF_EVENT_CLOSED:
        return asked == HF_REQUEST_END;
    default:
        return kind == HF_EVENT_FAILED && asked != HF_REQUEST_END;
    }
}

/* The latest anchor that a proof may have: when the last write that was
 * answered with success was sent. */
static uint64_t latest_proof_ms(const struct zk_fixture *f)
{
    return f->raw_bytes ? f->now_ms : f->committed_ms;
}

static void take_proven(struct zk_fixture *f, const struct hf_event *event)
{
    ZK_FIXTURE_MUST(event->as.answer.anchor_ms <= latest_proof_ms(f));
    zk_text_append(&f->events, "; ", "%s %llu",
                   event->as.answer.request != NULL ? "PROVEN" : "PROVED",
                   (unsigned long long)event->as.answer.anchor_ms);
}

/* The session has ended: watches end with it, and each request must have been
 * answered before. */
static void take_end(struct zk_fixture *f)
{
    for (struct zk_fixture_request *r = f->requests; r != NULL; r = r->next) {
        if (r->state == ZK_FIXTURE_WATCHING)
            zk_fixture_end_request(f, r);
        ZK_FIXTURE_MUST(r->state == ZK_FIXTURE_ENDED ||
                        r->request.kind == HF_REQUEST_END);
    }
}

static void take_session(struct zk_fixture *f, const struct hf_event *event)
{
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        ZK_FIXTURE_MUST(!f->connected);
        ZK_FIXTURE_MUST(event->as.connected.anchor_ms <= latest_proof_ms(f));
        f->connected = true;
        zk_text_append(&f->events, "; ", "%s %llu %llu",
                       event->as.connected.resumed ? "RESUMED" : "CONNECTED",
                       (unsigned long long)event->as.connected.timeout_ms,
                       (unsigned long long)event->as.connected.anchor_ms);
        break;
    case HF_EVENT_RESUMING:
        zk_text_append(&f->events, "; ", "RESUMING %llu %llu",
                       (unsigned long long)event->as.resuming.sent_at_ms,
                       (unsigned long long)event->as.resuming.least_timeout_ms);
        break;
    case HF_EVENT_SUSPENDED:
        ZK_FIXTURE_MUST(f->connected);
        f->connected = false;
        zk_text_append(&f->events, "; ", "SUSPENDED");
        break;
    case HF_EVENT_CONNECTION_ERROR:
        keep_text(f, event->as.connection_error.text);
        f->error_status = event->as.connection_error.status;
        f->error_final = event->as.connection_error.final;
        break;
    case HF_EVENT_GAVE_UP:
        ZK_FIXTURE_MUST(!f->connected);
        zk_text_append(&f->events, "; ", "GAVE_UP %u %llu",
                       (unsigned)event->as.gave_up.retries,
                       (unsigned long long)event->as.gave_up.elapsed_ms);
        break;
    default:
        ZK_FIXTURE_MUST(event->kind == HF_EVENT_SESSION_LOST);
        keep_text(f, event->as.answer.text);
        f->status = event->as.answer.status;
        f->connected = false;
        take_end(f);
        zk_text_append(&f->events, "; ", "LOST");
    }
}

void zk_fixture_on_event(void *host, struct hf_event *event)
{
    struct zk_fixture *f = host;
    struct zk_fixture_request *r = NULL;

    ZK_FIXTURE_MUST(!f->closed);
    if (event->kind >= HF_EVENT_ENQUEUED || event->kind == HF_EVENT_CLOSED) {
        if (event->as.answer.request != NULL) {
            r = zk_fixture_request_of(event->as.answer.request);
            ZK_FIXTURE_MUST(fits(r->request.kind, event->kind));
        } else {
            ZK_FIXTURE_MUST(event->kind == HF_EVENT_PROVEN);
        }
    }
    if (event->kind == HF_EVENT_CLOSED) {
        take_end(f);
        f->closed = true;
        zk_text_append(&f->events, "; ", "CLOSED");
    } else if (event->kind == HF_EVENT_PROVEN) {
        take_proven(f, event);
    } else if (r != NULL) {
        append_answer(f, event);
    } else {
        take_session(f, event);
    }
    if (r != NULL)
        answered(f, r, event->kind);
    if (f->event_hook != NULL)
        f->event_hook(f, event);
}

void zk_fixture_on_log(void *host, enum hf_log_level level, const char *format,
                       ...)
{
    struct zk_fixture *f = host;
    va_list args;

    (void)level;
    va_start(args, format);
    (void)vsnprintf(f->logged_digests, sizeof f->logged_digests, format, args);
    va_end(args);
    ZK_FIXTURE_MUST(
        hf_utf8_valid(f->logged_digests, strlen(f->logged_digests)));
    f->log_lines++;
}
