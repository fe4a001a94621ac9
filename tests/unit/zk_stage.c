/* SPDX-License-Identifier: Apache-2.0 */
#include "zk_stage.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "core/reconnect_policy.h"
#include "core/time_math.h"
#include "engines/zookeeper/permit.h"
#include "heap/heap.h"

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
    if (ticket[length] == '/' && ticket[length + 1] == 'm') {
        STAGE_MUST(bytes >= HF_TICKET_ID_TEXT_BYTES);
        hf_ticket_id_format(&id, node);
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
    if (kind == HF_REQUEST_WATCH_QUEUE)
        memset(&r->request.ticket, 0, sizeof r->request.ticket);
    r->request.ticket_kind = s->kind;
    if (kind == HF_REQUEST_ENQUEUE || kind == HF_REQUEST_LIST)
        r->request.weight = s->kind == HF_TICKET_LEASE ? s->weight : 1;
    r->request.limit = s->limit;
    r->request.detailed = s->whole && kind == HF_REQUEST_LIST;
    r->request.payload = s->payload;
    s->under_way++;
    hf_zk_submit(s->zk, &r->request, s->now_ms);
    stage_settle(s);
    return &r->request;
}

void forget(struct stage *s, struct hf_request *watch)
{
    struct stage_request *r = stage_request_of(watch);

    STAGE_MUST(r->state != STAGE_ENDED &&
               (watch->kind == HF_REQUEST_WATCH ||
                watch->kind == HF_REQUEST_WATCH_QUEUE));
    hf_zk_forget(s->zk, watch);
    stage_end_request(s, r);
    stage_settle(s);
}

/* ----------------------------------------------------------- the machine -- */

/* Take what it wants to send, and have the link it wants. */
void stage_settle(struct stage *s)
{
    uint64_t number = s->connection_number;
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(hf_zk_session(s->zk), &number);
    const uint8_t *bytes;
    size_t count;

    if (number != s->connection_number || server == NULL) {
        s->connection_number = number;
        s->up = false;
        stage_forget_calls(s);
    }
    s->server = server;
    bytes = hf_zk_session_output(hf_zk_session(s->zk), &count);
    STAGE_MUST(count == 0 || s->up);
    if (count == 0)
        return;
    stage_read_frames(s, bytes, count);
    hf_zk_session_written(hf_zk_session(s->zk), count);
}

void link_up(struct stage *s)
{
    STAGE_MUST(s->server != NULL);
    s->up = true;
    hf_zk_session_connection_up(hf_zk_session(s->zk), s->connection_number,
                                s->now_ms);
    stage_settle(s);
}

void link_down(struct stage *s, const char *why)
{
    hf_zk_session_connection_down(hf_zk_session(s->zk), s->connection_number,
                                  s->now_ms, HF_EUNREACHABLE, why);
    stage_settle(s);
    free_ended(s);
}

void stage_receive(struct stage *s, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    uint64_t number = s->connection_number;
    size_t part;

    while (count > 0) {
        part = s->chunk > 0 && s->chunk < count ? s->chunk : count;
        hf_zk_session_receive(hf_zk_session(s->zk), number, s->now_ms, from,
                              part);
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
    hf_zk_session_tick(hf_zk_session(s->zk), s->now_ms);
    stage_settle(s);
    free_ended(s);
    /* Out of memory it may be at once, since nothing has come of it. */
    STAGE_MUST(hf_zk_session_wake_at_ms(hf_zk_session(s->zk)) > s->now_ms ||
               heap_failed());
}

void ring(struct stage *s)
{
    later(s,
          hf_max_ms(hf_zk_session_wake_at_ms(hf_zk_session(s->zk)), s->now_ms));
}

void until(struct stage *s, uint64_t now_ms)
{
    while (hf_zk_session_wake_at_ms(hf_zk_session(s->zk)) <= now_ms)
        ring(s);
    at(s, now_ms);
}

/* --------------------------------------------------------------- the set -- */

enum hf_zk_dialect stage_layout;

void stage_init(struct stage *s)
{
    heap_own();
    memset(s, 0, sizeof *s);
    strcpy(s->config.session.servers[0].host, "h1");
    s->config.session.servers[0].port = 2181;
    s->config.session.server_count = 1;
    s->config.session.timeout_ms = STAGE_TIMEOUT_MS;
    s->config.session.reconnect = hf_reconnect_default;
    s->config.layout = stage_layout;
    hf_random_seed(&s->config.session.random, 1);
    s->now_ms = STAGE_START_MS;
    s->queue = "q";
    s->payload = "me";
    s->kind = HF_TICKET_MUTEX;
    s->weight = 1;
    s->session = STAGE_SESSION;
    s->zxid = 1;
    s->version = 2;
    s->last = &s->first;
}

bool stage_open(struct stage *s)
{
    struct hf_engine_host host = {
        .event = stage_on_event, .log = stage_on_log, .host = s};

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
    STAGE_MUST(heap_live() == 0);
}
