/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine tells the stage: described, and held against what was asked.
 */
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "core/utf8.h"
#include "zk_stage.h"

/* -------------------------------------------------------------- requests -- */

static const char *const kinds[] = {
    "ENQUEUE",  "LIST",       "WATCH_QUEUE",   "WATCH",  "REMOVE",
    "PROVE",    "END",        "DOWNGRADE",     "REVOKE", "DESCRIBE",
    "SET_FLAG", "CLEAR_FLAG", "NEW_GENERATION"};

struct stage_request *stage_request_of(struct hf_request *request)
{
    return (struct stage_request *)(void *)((char *)request -
                                            offsetof(struct stage_request,
                                                     request));
}

/* The machine is done with it; kept for those who compare pointers. */
void stage_end_request(struct stage *s, struct stage_request *r)
{
    STAGE_MUST(r->state != STAGE_ENDED);
    if (r->state == STAGE_ASKED)
        s->under_way--;
    r->state = STAGE_ENDED;
    r->request.engine_data = NULL;
    memset(&r->request.ticket, 0, sizeof r->request.ticket);
}

static void answered(struct stage *s, struct stage_request *r,
                     enum hf_event_kind kind)
{
    if (kind == HF_EVENT_REVOKED) {
        STAGE_MUST(r->state == STAGE_WATCHING);
        return;
    }
    s->answered++;
    STAGE_MUST(kind == HF_EVENT_QUEUE_CHANGED
                   ? r->state == STAGE_WATCHING
                   : r->state == STAGE_ASKED || kind == HF_EVENT_GONE);
    if (kind != HF_EVENT_WATCHING &&
        (kind != HF_EVENT_LISTED ||
         r->request.kind != HF_REQUEST_WATCH_QUEUE)) {
        stage_end_request(s, r);
        return;
    }
    s->under_way--;
    r->state = STAGE_WATCHING;
}

/* ---------------------------------------------------------------- events -- */

static void say_snapshot(struct stage *s, const struct hf_snapshot *snapshot)
{
    static const char *const suffix[] = {"?", "", "/r", "/w", "/l", "/e", ""};
    const struct hf_ticket *ticket;
    char name[16];

    for (size_t i = 0; i < snapshot->count; i++) {
        ticket = &snapshot->tickets[i];
        /* The core relies on it, whatever the server lists. */
        STAGE_MUST(i == 0 || hf_ticket_compare(ticket - 1, ticket) <= 0);
        if (ticket->kind == HF_TICKET_BARRIER) {
            stage_say(&s->told, "", " up@%llu",
                      (unsigned long long)ticket->token);
            continue;
        }
        if (ticket->kind == HF_TICKET_READY) {
            stage_say(&s->told, "", " ready@%llu",
                      (unsigned long long)ticket->token);
            continue;
        }
        stage_id_name(&ticket->id, name);
        if (ticket->kind == HF_TICKET_PARTICIPANT) {
            stage_say(&s->told, "", " %s/m@%llu", name,
                      (unsigned long long)ticket->token);
            continue;
        }
        stage_say(&s->told, "", " %s%s#%d", name, suffix[ticket->kind],
                  (int32_t)(uint32_t)ticket->sequence);
        STAGE_MUST(ticket->weight == 1 ||
                   (ticket->weight > 1 && ticket->kind == HF_TICKET_LEASE));
        if (ticket->weight > 1)
            stage_say(&s->told, "", "*%u", ticket->weight);
        if (ticket->token != 0)
            stage_say(&s->told, "", "@%llu", (unsigned long long)ticket->token);
        STAGE_MUST(ticket->payload != NULL);
        STAGE_MUST(strlen(ticket->payload) < HF_PAYLOAD_BYTES);
        STAGE_MUST(hf_utf8_valid(ticket->payload, strlen(ticket->payload)));
        if (ticket->payload[0] != '\0')
            stage_say(&s->told, "", "=%s", ticket->payload);
        if (i > 0)
            STAGE_MUST(ticket[-1].sequence <= ticket->sequence);
    }
}

static void keep_text(struct stage *s, const char *text)
{
    STAGE_MUST(text != NULL && text[0] != '\0');
    STAGE_MUST(strlen(text) < sizeof s->text);
    STAGE_MUST(hf_utf8_valid(text, strlen(text)));
    snprintf(s->text, sizeof s->text, "%s", text);
}

static void say_failed(struct stage *s, const struct hf_event *event,
                       const char *name)
{
    static const char *const failures[] = {"RETRY", "UNSURE", "FATAL"};
    enum hf_request_kind kind = event->as.answer.request->kind;

    keep_text(s, event->as.answer.text);
    s->status = event->as.answer.status;
    STAGE_MUST(s->status != HF_OK);
    if (kind == HF_REQUEST_PROVE)
        stage_say(&s->told, "; ", "FAILED PROVE %s",
                  failures[event->as.answer.failure]);
    else
        stage_say(&s->told, "; ", "FAILED %s %s %s", kinds[kind], name,
                  failures[event->as.answer.failure]);
}

static void say_answer(struct stage *s, const struct hf_event *event)
{
    char name[16];

    stage_id_name(&stage_request_of(event->as.answer.request)->about, name);
    switch (event->kind) {
    case HF_EVENT_QUEUE_CHANGED:
        stage_say(&s->told, "; ", "QUEUE_CHANGED %s", name);
        break;
    case HF_EVENT_ENQUEUED:
    case HF_EVENT_LISTED:
        stage_say(&s->told, "; ", "%s %s:",
                  event->kind == HF_EVENT_LISTED ? "LISTED" : "ENQUEUED", name);
        say_snapshot(s, &event->as.answer.snapshot);
        break;
    case HF_EVENT_WATCHING:
        stage_say(&s->told, "; ", "WATCHING %s", name);
        break;
    case HF_EVENT_GONE:
        stage_say(&s->told, "; ", "GONE %s", name);
        break;
    case HF_EVENT_REMOVED:
        stage_say(&s->told, "; ", "REMOVED %s%s", name,
                  event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DOWNGRADED:
        stage_say(&s->told, "; ", "DOWNGRADED %s", name);
        break;
    case HF_EVENT_REVOKE_SENT:
        stage_say(&s->told, "; ", "REVOKE_SENT %s%s", name,
                  event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DESCRIBED:
        stage_say(&s->told, "; ", "DESCRIBED %s%s", name,
                  event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_REVOKED:
        stage_say(&s->told, "; ", "REVOKED %s", name);
        break;
    case HF_EVENT_FLAG_UPDATED:
        stage_say(&s->told, "; ", "FLAG_UPDATED%s",
                  event->as.answer.found ? " found" : "");
        break;
    default:
        STAGE_MUST(event->kind == HF_EVENT_FAILED);
        say_failed(s, event, name);
    }
}

/* Is the answer of the kind that is due to the request? */
static bool fits(enum hf_request_kind asked, enum hf_event_kind kind)
{
    switch (kind) {
    case HF_EVENT_ENQUEUED:
        return asked == HF_REQUEST_ENQUEUE;
    case HF_EVENT_LISTED:
        return asked == HF_REQUEST_LIST || asked == HF_REQUEST_WATCH_QUEUE;
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

/* No proof is of later than the last write that was sent before a success was
 * answered. */
static uint64_t latest_proof_ms(const struct stage *s)
{
    return s->strange ? s->now_ms : s->committed_ms;
}

static void take_proven(struct stage *s, const struct hf_event *event)
{
    STAGE_MUST(event->as.answer.anchor_ms <= latest_proof_ms(s));
    stage_say(&s->told, "; ", "%s %llu",
              event->as.answer.request != NULL ? "PROVEN" : "PROVED",
              (unsigned long long)event->as.answer.anchor_ms);
}

/* Tickets and watches are gone, and whatever was asked has been answered. */
static void take_end(struct stage *s)
{
    for (struct stage_request *r = s->requests; r != NULL; r = r->next) {
        if (r->state == STAGE_WATCHING)
            stage_end_request(s, r);
        STAGE_MUST(r->state == STAGE_ENDED ||
                   r->request.kind == HF_REQUEST_END);
    }
}

static void take_session(struct stage *s, const struct hf_event *event)
{
    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        STAGE_MUST(!s->connected);
        STAGE_MUST(event->as.connected.anchor_ms <= latest_proof_ms(s));
        s->connected = true;
        stage_say(&s->told, "; ", "%s %llu %llu",
                  event->as.connected.resumed ? "RESUMED" : "CONNECTED",
                  (unsigned long long)event->as.connected.timeout_ms,
                  (unsigned long long)event->as.connected.anchor_ms);
        break;
    case HF_EVENT_RESUMING:
        stage_say(&s->told, "; ", "RESUMING %llu %llu",
                  (unsigned long long)event->as.resuming.sent_at_ms,
                  (unsigned long long)event->as.resuming.least_timeout_ms);
        break;
    case HF_EVENT_SUSPENDED:
        STAGE_MUST(s->connected);
        s->connected = false;
        stage_say(&s->told, "; ", "SUSPENDED");
        break;
    case HF_EVENT_CONNECTION_ERROR:
        keep_text(s, event->as.connection_error.text);
        s->trouble_status = event->as.connection_error.status;
        s->trouble_final = event->as.connection_error.final;
        break;
    case HF_EVENT_GAVE_UP:
        STAGE_MUST(!s->connected);
        stage_say(&s->told, "; ", "GAVE_UP %u %llu",
                  (unsigned)event->as.gave_up.retries,
                  (unsigned long long)event->as.gave_up.elapsed_ms);
        break;
    default:
        STAGE_MUST(event->kind == HF_EVENT_SESSION_LOST);
        keep_text(s, event->as.answer.text);
        s->status = event->as.answer.status;
        s->connected = false;
        take_end(s);
        stage_say(&s->told, "; ", "LOST");
    }
}

void stage_on_event(void *host, struct hf_event *event)
{
    struct stage *s = host;
    struct stage_request *r = NULL;

    STAGE_MUST(!s->closed);
    if (event->kind >= HF_EVENT_ENQUEUED || event->kind == HF_EVENT_CLOSED) {
        if (event->as.answer.request != NULL) {
            r = stage_request_of(event->as.answer.request);
            STAGE_MUST(fits(r->request.kind, event->kind));
        } else {
            STAGE_MUST(event->kind == HF_EVENT_PROVEN);
        }
    }
    if (event->kind == HF_EVENT_CLOSED) {
        take_end(s);
        s->closed = true;
        stage_say(&s->told, "; ", "CLOSED");
    } else if (event->kind == HF_EVENT_PROVEN) {
        take_proven(s, event);
    } else if (r != NULL) {
        say_answer(s, event);
    } else {
        take_session(s, event);
    }
    if (r != NULL)
        answered(s, r, event->kind);
    if (s->then != NULL)
        s->then(s, event);
}

void stage_on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    struct stage *s = host;
    va_list args;

    (void)level;
    va_start(args, format);
    (void)vsnprintf(s->logged_digests, sizeof s->logged_digests, format, args);
    va_end(args);
    STAGE_MUST(hf_utf8_valid(s->logged_digests, strlen(s->logged_digests)));
    s->lines++;
}
