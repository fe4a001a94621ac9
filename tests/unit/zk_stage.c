/* SPDX-License-Identifier: Apache-2.0 */
#include "zk_stage.h"

#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "core/instant.h"
#include "core/utf8.h"
#include "engines/zookeeper/permit.h"

/* ------------------------------------------------------------------ text -- */

void stage_say(struct stage_text *to, const char *between, const char *format,
               ...)
{
    size_t left = sizeof to->text - to->used;
    va_list args;
    int bytes;

    if (to->used > 0)
        bytes = snprintf(to->text + to->used, left, "%s", between);
    else
        bytes = 0;
    to->used += (size_t)bytes < left ? (size_t)bytes : left - 1;
    left = sizeof to->text - to->used;
    va_start(args, format);
    bytes = vsnprintf(to->text + to->used, left, format, args);
    va_end(args);
    to->used += (size_t)bytes < left ? (size_t)bytes : left - 1;
}

static const char *take(struct stage_text *text)
{
    memcpy(text->taken, text->text, text->used);
    text->taken[text->used] = '\0';
    text->used = 0;
    return text->taken;
}

const char *stage_sent(struct stage *s)
{
    return take(&s->sent);
}

const char *stage_told(struct stage *s)
{
    return take(&s->told);
}

/* --------------------------------------------------------------- tickets -- */

#define NUMBERED 0xee

/* The id of a capital letter is a UUID of version 4, which A to O are by
 * themselves but for this. */
#define VARIANT(byte) (uint8_t)(((byte)&0x3f) | 0x80)

struct hf_ticket_id stage_id(const char *name)
{
    struct hf_ticket_id id;
    unsigned long number;

    STAGE_MUST(islower((unsigned char)name[0]) ||
               (name[0] >= 'A' && name[0] <= 'O'));
    memset(id.bytes, name[0], sizeof id.bytes);
    if (!islower((unsigned char)name[0]))
        id.bytes[8] = VARIANT(id.bytes[8]);
    if (name[0] != 'n' || !isdigit((unsigned char)name[1]))
        return id;
    number = strtoul(name + 1, NULL, 10);
    memset(id.bytes, NUMBERED, sizeof id.bytes);
    for (size_t i = 0; i < 4; i++)
        id.bytes[i] = (uint8_t)(number >> 8 * i);
    return id;
}

void stage_id_name(const struct hf_ticket_id *id, char name[16])
{
    unsigned long number = 0;
    struct hf_ticket_id same;

    memset(same.bytes, id->bytes[0], sizeof same.bytes);
    if (id->bytes[0] >= 'A' && id->bytes[0] <= 'O')
        same.bytes[8] = VARIANT(same.bytes[8]);
    if (hf_ticket_id_equal(id, &same)) {
        snprintf(name, 16, "%c", id->bytes[0]);
        return;
    }
    for (size_t i = 0; i < 4; i++)
        number |= (unsigned long)id->bytes[i] << 8 * i;
    snprintf(name, 16, id->bytes[15] == NUMBERED ? "n%lu" : "?", number);
}

/* "[name](/r|/w|/l|/e)?(#sequence)?" or what stays as it is. */
void stage_node(const struct stage *s, const char *ticket, char *node,
                size_t bytes)
{
    size_t length = strcspn(ticket, "/#");
    const char *sequence = strchr(ticket, '#');
    enum hf_ticket_kind kind = HF_TICKET_MUTEX;
    char prefix[HF_ZK_PREFIX_BYTES];
    struct hf_ticket_id id;

    if (sequence == NULL && length > 1) {
        snprintf(node, bytes, "%s", ticket);
        return;
    }
    id = stage_id(ticket);
    if (ticket[length] == '/' && ticket[length + 1] == 'p') {
        STAGE_MUST(bytes >= HF_ZK_NODE_BYTES && sequence != NULL);
        hf_zk_permit_name(&id, (uint32_t)strtoul(sequence + 1, NULL, 10), node);
        return;
    }
    if (ticket[length] == '/')
        kind = ticket[length + 1] == 'r'   ? HF_TICKET_READ
               : ticket[length + 1] == 'l' ? HF_TICKET_LEASE
               : ticket[length + 1] == 'e' ? HF_TICKET_ELECTION
                                           : HF_TICKET_WRITE;
    STAGE_MUST(hf_zk_node_prefix(s->config.layout, &id, kind, prefix));
    if (sequence == NULL)
        snprintf(node, bytes, "%s", prefix);
    else
        snprintf(node, bytes, "%s%010ld", prefix,
                 strtol(sequence + 1, NULL, 10));
}

/* -------------------------------------------------------------- requests -- */

static const char *const kinds[] = {"ENQUEUE",  "LIST",  "LOOK", "WATCH",
                                    "WITHDRAW", "PROVE", "END",  "DOWNGRADE",
                                    "REVOKE",   "RAISE", "LOWER"};

static struct stage_request *of(struct hf_request *request)
{
    return (struct stage_request *)(void *)((char *)request -
                                            offsetof(struct stage_request,
                                                     request));
}

/* The machine is done with it; kept for those who compare pointers. */
static void end_request(struct stage *s, struct stage_request *r)
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
    STAGE_MUST(kind == HF_EVENT_CHANGED
                   ? r->state == STAGE_WATCHING
                   : r->state == STAGE_ASKED || kind == HF_EVENT_GONE);
    if (kind != HF_EVENT_WATCHING &&
        (kind != HF_EVENT_LISTED || r->request.kind != HF_REQUEST_LOOK)) {
        end_request(s, r);
        return;
    }
    s->under_way--;
    r->state = STAGE_WATCHING;
}

static void free_ended(struct stage *s)
{
    struct stage_request **link = &s->requests, *r;

    while ((r = *link) != NULL) {
        if (r->state == STAGE_ENDED) {
            *link = r->next;
            free(r);
        } else {
            link = &r->next;
        }
    }
}

struct hf_request *ask(struct stage *s, enum hf_request_kind kind,
                       const char *ticket)
{
    struct stage_request *r = calloc(1, sizeof *r);

    STAGE_MUST(r != NULL);
    r->next = s->requests;
    s->requests = r;
    r->request.kind = kind;
    r->request.queue = s->queue;
    r->request.ticket = stage_id(ticket[0] != '\0' ? ticket : "z");
    r->about = r->request.ticket;
    if (kind == HF_REQUEST_LOOK)
        memset(&r->request.ticket, 0, sizeof r->request.ticket);
    r->request.ticket_kind = s->kind;
    if (kind == HF_REQUEST_ENQUEUE || kind == HF_REQUEST_LIST)
        r->request.weight = s->kind == HF_TICKET_LEASE ? s->weight : 1;
    r->request.limit = s->limit;
    r->request.payload = s->payload;
    s->under_way++;
    hf_zk_request(s->zk, &r->request, s->now_ms);
    stage_settle(s);
    return &r->request;
}

void forget(struct stage *s, struct hf_request *watch)
{
    struct stage_request *r = of(watch);

    STAGE_MUST(r->state != STAGE_ENDED && (watch->kind == HF_REQUEST_WATCH ||
                                           watch->kind == HF_REQUEST_LOOK));
    hf_zk_forget(s->zk, watch);
    end_request(s, r);
    stage_settle(s);
}

/* ---------------------------------------------------------------- events -- */

static void say_snapshot(struct stage *s, const struct hf_snapshot *snapshot)
{
    static const char *const suffix[] = {"?", "", "/r", "/w", "/l", "/e", ""};
    const struct hf_ticket *ticket;
    char name[16];

    for (size_t i = 0; i < snapshot->count; i++) {
        ticket = &snapshot->tickets[i];
        if (ticket->kind == HF_TICKET_BARRIER) {
            stage_say(&s->told, "", " up@%llu",
                      (unsigned long long)ticket->token);
            continue;
        }
        stage_id_name(&ticket->id, name);
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

    stage_id_name(&of(event->as.answer.request)->about, name);
    switch (event->kind) {
    case HF_EVENT_CHANGED:
        stage_say(&s->told, "; ", "CHANGED %s", name);
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
    case HF_EVENT_WITHDRAWN:
        stage_say(&s->told, "; ", "WITHDRAWN %s%s", name,
                  event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_DOWNGRADED:
        stage_say(&s->told, "; ", "DOWNGRADED %s", name);
        break;
    case HF_EVENT_ASKED:
        stage_say(&s->told, "; ", "ASKED %s%s", name,
                  event->as.answer.found ? " found" : "");
        break;
    case HF_EVENT_REVOKED:
        stage_say(&s->told, "; ", "REVOKED %s", name);
        break;
    case HF_EVENT_MARKED:
        stage_say(&s->told, "; ", "MARKED%s",
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
        return asked == HF_REQUEST_LIST || asked == HF_REQUEST_LOOK;
    case HF_EVENT_CHANGED:
        return asked == HF_REQUEST_LOOK;
    case HF_EVENT_WATCHING:
    case HF_EVENT_GONE:
    case HF_EVENT_REVOKED:
        return asked == HF_REQUEST_WATCH;
    case HF_EVENT_ASKED:
        return asked == HF_REQUEST_REVOKE;
    case HF_EVENT_MARKED:
        return asked == HF_REQUEST_RAISE || asked == HF_REQUEST_LOWER;
    case HF_EVENT_WITHDRAWN:
        return asked == HF_REQUEST_WITHDRAW;
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
            end_request(s, r);
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
    case HF_EVENT_TROUBLE:
        keep_text(s, event->as.trouble.text);
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

static void on_event(void *host, struct hf_event *event)
{
    struct stage *s = host;
    struct stage_request *r = NULL;

    STAGE_MUST(!s->closed);
    if (event->kind >= HF_EVENT_ENQUEUED || event->kind == HF_EVENT_CLOSED) {
        if (event->as.answer.request != NULL) {
            r = of(event->as.answer.request);
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

static void on_log(void *host, enum hf_log_level level, const char *format, ...)
{
    struct stage *s = host;
    va_list args;

    (void)level;
    va_start(args, format);
    (void)vsnprintf(s->logged, sizeof s->logged, format, args);
    va_end(args);
    STAGE_MUST(hf_utf8_valid(s->logged, strlen(s->logged)));
    s->lines++;
}

/* ------------------------------------------------------- the machine -- */

/* Take what it wants to send, and have the link it wants. */
void stage_settle(struct stage *s)
{
    uint64_t number = s->number;
    const struct hf_zk_server *server = hf_zk_link(s->zk, &number);
    const uint8_t *bytes;
    size_t count;

    if (number != s->number || server == NULL) {
        s->number = number;
        s->up = false;
        stage_forget_calls(s);
    }
    s->server = server;
    bytes = hf_zk_output(s->zk, &count);
    STAGE_MUST(count == 0 || s->up);
    if (count == 0)
        return;
    stage_read_frames(s, bytes, count);
    hf_zk_written(s->zk, count);
}

void link_up(struct stage *s)
{
    STAGE_MUST(s->server != NULL);
    s->up = true;
    hf_zk_link_up(s->zk, s->number, s->now_ms);
    stage_settle(s);
}

void link_down(struct stage *s, const char *why)
{
    hf_zk_link_down(s->zk, s->number, s->now_ms, why);
    stage_settle(s);
    free_ended(s);
}

void stage_receive(struct stage *s, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    uint64_t number = s->number;
    size_t part;

    while (count > 0) {
        part = s->chunk > 0 && s->chunk < count ? s->chunk : count;
        hf_zk_receive(s->zk, number, s->now_ms, from, part);
        from += part;
        count -= part;
    }
    stage_settle(s);
    free_ended(s);
}

void receive(struct stage *s, const void *bytes, size_t count)
{
    s->strange = true;
    stage_receive(s, bytes, count);
}

void at(struct stage *s, uint64_t now_ms)
{
    STAGE_MUST(now_ms >= s->now_ms);
    s->now_ms = now_ms;
}

void later(struct stage *s, uint64_t now_ms)
{
    at(s, now_ms);
    hf_zk_tick(s->zk, s->now_ms);
    stage_settle(s);
    free_ended(s);
    /* Out of memory it may be at once, since nothing has come of it. */
    STAGE_MUST(hf_zk_wake_at_ms(s->zk) > s->now_ms ||
               stage_allocation_failed());
}

void ring(struct stage *s)
{
    later(s, hf_later_ms(hf_zk_wake_at_ms(s->zk), s->now_ms));
}

void until(struct stage *s, uint64_t now_ms)
{
    while (hf_zk_wake_at_ms(s->zk) <= now_ms)
        ring(s);
    at(s, now_ms);
}

/* --------------------------------------------------------------- the set -- */

enum hf_zk_dialect stage_layout;

void stage_init(struct stage *s)
{
    stage_own_the_heap();
    memset(s, 0, sizeof *s);
    strcpy(s->config.servers[0].host, "h1");
    s->config.servers[0].port = 2181;
    s->config.server_count = 1;
    s->config.timeout_ms = STAGE_TIMEOUT_MS;
    s->config.layout = stage_layout;
    hf_random_seed(&s->config.random, 1);
    s->now_ms = STAGE_START_MS;
    s->queue = "q";
    s->payload = "me";
    s->kind = HF_TICKET_MUTEX;
    s->weight = 1;
    s->session = STAGE_SESSION;
    s->zxid = 1;
    s->last = &s->first;
}

bool stage_open(struct stage *s)
{
    struct hf_engine_host host = {.event = on_event, .log = on_log, .host = s};

    s->zk = hf_zk_new(&s->config, &host, s->now_ms);
    if (s->zk == NULL)
        return false;
    stage_settle(s);
    return true;
}

void stage_connected(struct stage *s)
{
    stage_init(s);
    STAGE_MUST(stage_open(s));
    link_up(s);
    accept_session(s);
    (void)stage_sent(s);
    (void)stage_told(s);
}

void stage_close(struct stage *s)
{
    struct stage_request *r, *next;

    hf_zk_free(s->zk);
    stage_forget_calls(s);
    hf_jute_free(&s->out);
    for (r = s->requests; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    STAGE_MUST(stage_allocations() == 0);
}
