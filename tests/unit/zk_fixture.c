/* SPDX-License-Identifier: Apache-2.0 */
/* The client with its link, its clock and its requests.  Frames, events and the
 * server are in the other zk_fixture_*.c. */
#include "zk_fixture.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/reconnect.h"
#include "base/time_math.h"
#include "engines/zookeeper/parent_nodes.h"
#include "engines/zookeeper/zk_queue.h"
#include "heap/heap.h"

/* ------------------------------------------------------------------ text -- */

void zk_text_append(struct zk_text *to, const char *between, const char *format,
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

static const char *take(struct zk_text *text)
{
    memcpy(text->taken, text->text, text->used);
    text->taken[text->used] = '\0';
    text->used = 0;
    return text->taken;
}

const char *zk_fixture_sent(struct zk_fixture *f)
{
    return take(&f->sent);
}

const char *zk_fixture_events(struct zk_fixture *f)
{
    return take(&f->events);
}

/* --------------------------------------------------------------- tickets -- */

#define NUMBERED 0xee

/* The bytes of A to O make UUIDs of version 4 once the variant is right. */
#define VARIANT(byte) (uint8_t)(((byte)&0x3f) | 0x80)

struct hf_ticket_id zk_fixture_id(const char *name)
{
    struct hf_ticket_id id;
    unsigned long number;

    ZK_FIXTURE_MUST(islower((unsigned char)name[0]) ||
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

void zk_fixture_id_name(const struct hf_ticket_id *id, char name[16])
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

/* ${ticket} is "[name](/r|/w|/l|/e|/m|/p)?(#sequence)?", or a name to copy. */
void zk_fixture_node(const struct zk_fixture *f, const char *ticket, char *node,
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
    id = zk_fixture_id(ticket);
    if (ticket[length] == '/' && ticket[length + 1] == 'p') {
        ZK_FIXTURE_MUST(bytes >= HF_ZK_NODE_BYTES && sequence != NULL);
        hf_zk_engine_permit_name(&id, (uint32_t)strtoul(sequence + 1, NULL, 10),
                                 node);
        return;
    }
    if (ticket[length] == '/' && ticket[length + 1] == 'm') {
        ZK_FIXTURE_MUST(bytes >= HF_TICKET_ID_TEXT_BYTES);
        hf_ticket_id_format(&id, node);
        return;
    }
    if (ticket[length] == '/')
        kind = ticket[length + 1] == 'r'   ? HF_TICKET_READ
               : ticket[length + 1] == 'l' ? HF_TICKET_LEASE
               : ticket[length + 1] == 'e' ? HF_TICKET_ELECTION
                                           : HF_TICKET_WRITE;
    ZK_FIXTURE_MUST(
        hf_zk_engine_node_prefix(f->config.layout, &id, kind, prefix));
    if (sequence == NULL)
        snprintf(node, bytes, "%s", prefix);
    else
        snprintf(node, bytes, "%s%010ld", prefix,
                 strtol(sequence + 1, NULL, 10));
}

/* -------------------------------------------------------------- requests -- */

static void free_ended(struct zk_fixture *f)
{
    struct zk_fixture_request **link = &f->requests, *r;

    while ((r = *link) != NULL) {
        if (r->state == ZK_FIXTURE_ENDED) {
            *link = r->next;
            free(r);
        } else {
            link = &r->next;
        }
    }
}

/* The right to delete in the queue was tried before, unless a test wants to see
 * the trial. */
static void note_right(const struct zk_fixture *f, enum hf_request_kind kind)
{
    char path[HF_ZK_QUEUE_PATH_BYTES];

    if (kind != HF_REQUEST_ENQUEUE || f->tries_rights)
        return;
    (void)hf_zk_engine_queue_path(f->config.layout, f->config.url.chroot,
                                  f->queue, path);
    hf_zk_engine_delete_right_note(f->zk, path);
}

struct hf_request *ask(struct zk_fixture *f, enum hf_request_kind kind,
                       const char *ticket)
{
    struct zk_fixture_request *r = calloc(1, sizeof *r);

    ZK_FIXTURE_MUST(r != NULL);
    r->next = f->requests;
    f->requests = r;
    r->request.kind = kind;
    r->request.queue = f->queue;
    r->request.ticket = zk_fixture_id(ticket[0] != '\0' ? ticket : "z");
    r->about = r->request.ticket;
    if (kind == HF_REQUEST_WATCH_QUEUE)
        memset(&r->request.ticket, 0, sizeof r->request.ticket);
    r->request.ticket_kind = f->kind;
    if (kind == HF_REQUEST_ENQUEUE || kind == HF_REQUEST_LIST)
        r->request.weight = f->kind == HF_TICKET_LEASE ? f->weight : 1;
    r->request.limit = f->limit;
    if (kind == HF_REQUEST_ENQUEUE && f->kind == HF_TICKET_LEASE &&
        f->entry_mutex != NULL)
        r->request.entry_mutex = zk_fixture_id(f->entry_mutex);
    r->request.detailed = f->detailed && kind == HF_REQUEST_LIST;
    if (kind == HF_REQUEST_NAMES)
        r->request.names = &f->names;
    else if (r->request.detailed)
        r->request.texts = &f->texts;
    r->request.payload = f->payload;
    f->under_way++;
    note_right(f, kind);
    hf_zk_engine_submit(f->zk, &r->request, f->now_ms);
    zk_fixture_process(f);
    return &r->request;
}

void forget(struct zk_fixture *f, struct hf_request *watch)
{
    struct zk_fixture_request *r = zk_fixture_request_of(watch);

    ZK_FIXTURE_MUST(r->state != ZK_FIXTURE_ENDED &&
                    (watch->kind == HF_REQUEST_WATCH ||
                     watch->kind == HF_REQUEST_WATCH_QUEUE));
    hf_zk_engine_forget(f->zk, watch);
    zk_fixture_end_request(f, r);
    zk_fixture_process(f);
}

/* ------------------------------------------------------------ the client -- */

void zk_fixture_process(struct zk_fixture *f)
{
    uint64_t number = f->connection_number;
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(hf_zk_engine_session(f->zk), &number);
    const uint8_t *bytes;
    size_t count;

    if (number != f->connection_number || server == NULL) {
        f->connection_number = number;
        f->up = false;
        zk_fixture_forget_calls(f);
    }
    f->server = server;
    bytes = hf_zk_session_output(hf_zk_engine_session(f->zk), &count);
    ZK_FIXTURE_MUST(count == 0 || f->up);
    if (count == 0)
        return;
    zk_fixture_read_frames(f, bytes, count);
    hf_zk_session_written(hf_zk_engine_session(f->zk), count);
}

void link_up(struct zk_fixture *f)
{
    ZK_FIXTURE_MUST(f->server != NULL);
    f->up = true;
    hf_zk_session_connection_up(hf_zk_engine_session(f->zk),
                                f->connection_number, f->now_ms);
    zk_fixture_process(f);
}

void link_down(struct zk_fixture *f, const char *why)
{
    hf_zk_session_connection_down(hf_zk_engine_session(f->zk),
                                  f->connection_number, f->now_ms,
                                  HF_EUNREACHABLE, why);
    zk_fixture_process(f);
    free_ended(f);
}

void zk_fixture_receive(struct zk_fixture *f, const void *bytes, size_t count)
{
    const uint8_t *from = bytes;
    uint64_t number = f->connection_number;
    size_t part;

    while (count > 0) {
        part = f->chunk > 0 && f->chunk < count ? f->chunk : count;
        hf_zk_session_receive(hf_zk_engine_session(f->zk), number, f->now_ms,
                              from, part);
        from += part;
        count -= part;
    }
    zk_fixture_process(f);
    free_ended(f);
}

void receive(struct zk_fixture *f, const void *bytes, size_t count)
{
    f->raw_bytes = true;
    zk_fixture_receive(f, bytes, count);
}

void set_time(struct zk_fixture *f, uint64_t now_ms)
{
    ZK_FIXTURE_MUST(now_ms >= f->now_ms);
    f->now_ms = now_ms;
}

void advance_to(struct zk_fixture *f, uint64_t now_ms)
{
    set_time(f, now_ms);
    hf_zk_session_tick(hf_zk_engine_session(f->zk), f->now_ms);
    zk_fixture_process(f);
    free_ended(f);
    /* Without memory nothing was done, and the TICK may be wanted at once. */
    ZK_FIXTURE_MUST(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) >
                        f->now_ms ||
                    heap_failed());
}

void wake(struct zk_fixture *f)
{
    advance_to(f,
               hf_max_ms(hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)),
                         f->now_ms));
}

void run_until(struct zk_fixture *f, uint64_t now_ms)
{
    while (hf_zk_session_wake_at_ms(hf_zk_engine_session(f->zk)) <= now_ms)
        wake(f);
    set_time(f, now_ms);
}

/* ----------------------------------------------------- begin and end -- */

enum hf_zk_engine_dialect zk_fixture_layout;

void zk_fixture_init(struct zk_fixture *f)
{
    heap_install();
    memset(f, 0, sizeof *f);
    strcpy(f->config.url.session.servers[0].host, "h1");
    f->config.url.session.servers[0].port = 2181;
    f->config.url.session.server_count = 1;
    f->config.url.session.timeout_ms = ZK_FIXTURE_TIMEOUT_MS;
    f->config.url.session.clock_drift = 1;
    f->config.url.session.reconnect = hf_reconnect_default;
    f->config.layout = zk_fixture_layout;
    hf_random_seed(&f->config.url.session.random, 1);
    f->now_ms = ZK_FIXTURE_START_MS;
    f->queue = "q";
    f->payload = "me";
    f->kind = HF_TICKET_MUTEX;
    f->weight = 1;
    f->session = ZK_FIXTURE_SESSION;
    f->zxid = 1;
    f->version = 2;
    f->last = &f->first;
}

bool zk_fixture_open(struct zk_fixture *f)
{
    struct hf_engine_host host = {
        .event = zk_fixture_on_event, .log = zk_fixture_on_log, .host = f};

    f->zk = hf_zk_engine_new(&f->config, &host, f->now_ms);
    if (f->zk == NULL)
        return false;
    zk_fixture_process(f);
    return true;
}

void zk_fixture_connected(struct zk_fixture *f)
{
    zk_fixture_init(f);
    ZK_FIXTURE_MUST(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

void zk_fixture_close(struct zk_fixture *f)
{
    struct zk_fixture_request *r, *next;

    hf_zk_engine_free(f->zk);
    zk_fixture_forget_calls(f);
    hf_jute_free(&f->out);
    for (r = f->requests; r != NULL; r = next) {
        next = r->next;
        free(r);
    }
    ZK_FIXTURE_MUST(heap_live() == 0);
}
