/* SPDX-License-Identifier: Apache-2.0 */
/* Operations are numbered as they are started.  So those of one priority must
 * be sent in rising order on each connection, whatever was repeated, and a
 * write no more than once in all. */
#include "zk_op_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "heap/heap.h"
#include "zk_server_frames.h"
#include "zookeeper/watch_set.h"

uint8_t op_program_next(struct zk_op_program *p)
{
    if (p->left == 0)
        return 0;
    p->left--;
    return *p->bytes++;
}

/* ------------------------------------------------------------- callbacks -- */

/* An operation that was sent, and not answered now, must say so if it is a
 * write, and only then. */
static void check_end(const struct program_op *o, hf_status status)
{
    int answering = o->p->answering;
    bool answered = answering == OP_PROGRAM_ANY ||
                    (answering >= 0 && o->p->ops[answering] == o);
    bool sent = o->op.call.xid != 0;

    MUST(status != HF_OK || answered || o->op.kind == HF_ZOOKEEPER_ADD_AUTH);
    MUST(status != HF_EUNSURE || (o->writes && sent));
    if (o->writes && sent && !answered)
        MUST(status == HF_EUNSURE);
}

static void on_ended(struct hf_zk_op *op, hf_status status,
                     struct hf_zookeeper_result *result)
{
    struct program_op *o = (struct program_op *)(void *)op;

    MUST(o->started && o->ended == 0 && o->released == 0);
    o->ended++;
    op->watcher = NULL;
    check_end(o, status);
    if (result != NULL)
        MUST(result->status == status &&
             (status == HF_OK) == (result->text[0] == '\0'));
    hf_zookeeper_result_free(result);
}

static void on_released(struct hf_zk_op *op)
{
    struct program_op *o = (struct program_op *)(void *)op;

    MUST(o->ended == 1 && o->released == 0);
    o->released++;
}

static const struct hf_zk_op_callbacks callbacks = {on_ended, on_released};

static void on_fired(struct hf_zk_watcher *watcher,
                     const struct hf_zk_watch_event *event)
{
    struct zk_op_program *p = watcher->user;

    MUST(hf_zk_watcher_in_set(watcher));
    hf_zk_watcher_check(watcher);
    if (event->type != HF_ZK_RESYNC)
        hf_zk_op_queue_event(&p->queue);
}

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format;
}

/* ------------------------------------------------------------ operations -- */

/* A new operation, which is not encoded yet; NULL if there are enough. */
static struct program_op *new_op(struct zk_op_program *p)
{
    struct program_op *o;

    if (p->op_count == OP_PROGRAM_OPS || p->closed)
        return NULL;
    o = calloc(1, sizeof *o);
    MUST(o != NULL);
    o->p = p;
    (void)snprintf(o->path, sizeof o->path, "/%d", p->op_count);
    o->op = (struct hf_zk_op){.callbacks = &callbacks,
                              .path = o->path,
                              .deadline_at_ms = HF_FOREVER,
                              .connect_by_ms = HF_FOREVER};
    p->ops[p->op_count++] = o;
    return o;
}

/* A watcher that an operation of ${kind} sets, or NULL. */
static struct hf_zk_watcher *choose_watcher(struct zk_op_program *p,
                                            enum hf_zookeeper_op_kind kind,
                                            uint8_t which)
{
    struct hf_zk_watcher *watcher = &p->watchers[which % OP_PROGRAM_WATCHERS];
    bool one_shot = watcher->mode == HF_ZK_WATCH_DATA;

    if (kind == HF_ZOOKEEPER_ADD_WATCH)
        return one_shot ? watcher + 1 : watcher;
    if (kind != HF_ZOOKEEPER_GET && kind != HF_ZOOKEEPER_EXISTS)
        return NULL;
    return one_shot && which >= 128 ? watcher : NULL;
}

/* What ${options} says of deadlines, and of whether it is only tried. */
static void set_options(struct zk_op_program *p, struct hf_zk_op *op,
                        uint8_t options)
{
    op->priority = options % HF_ZK_PRIORITIES;
    op->only_try = (options & 0x18) == 0x18;
    if (options & 0x20)
        op->deadline_at_ms = p->now_ms + (options >> 6) * UINT64_C(100);
    if (options & 0x40)
        op->connect_by_ms = p->now_ms + 50;
}

/* Encode ${op}, without faults: they are for the queue. */
static void encode(struct program_op *o, struct hf_zookeeper_op *op)
{
    struct hf_error error;

    op->path = o->path;
    heap_exempt(true);
    o->op.kind = op->kind;
    o->op.opcode = hf_zk_op_opcode(op);
    o->op.reserved = hf_zk_op_reserve();
    MUST(o->op.reserved != NULL);
    MUST(hf_zk_op_encode(op, &o->p->context, &o->op.record, &error) == HF_OK);
    heap_exempt(false);
}

void op_program_start(struct zk_op_program *p, enum hf_zookeeper_op_kind kind)
{
    static const struct hf_zookeeper_credential credential = {"digest", "u:p",
                                                              3};
    struct hf_zookeeper_op op = {.kind = kind, .scheme = "digest"};
    struct program_op *o = new_op(p);
    uint8_t options = op_program_next(p);
    struct hf_error error;

    if (o == NULL)
        return;
    if (kind == HF_ZOOKEEPER_CREATE && (options & 0x80))
        op.mode = HF_ZOOKEEPER_CONTAINER;
    encode(o, &op);
    o->writes = kind == HF_ZOOKEEPER_CREATE || kind == HF_ZOOKEEPER_SET;
    o->op.credential = &credential;
    o->op.watcher = choose_watcher(p, kind, op_program_next(p));
    set_options(p, &o->op, options);
    o->started = true;
    if (hf_zk_op_queue_add(&p->queue, &o->op, p->now_ms, &error) == HF_OK)
        return;
    MUST(o->ended == 0 && o->op.reserved != NULL && o->op.wake.heap == NULL);
    o->started = false;
    hf_zookeeper_result_free(o->op.reserved);
    hf_jute_free(&o->op.record);
}

void op_program_cancel(struct zk_op_program *p, uint8_t which)
{
    struct program_op *o;

    if (p->op_count == 0)
        return;
    o = p->ops[p->op_count - 1 - which % p->op_count];
    if (!o->started || o->released > 0)
        return;
    hf_zk_op_queue_cancel(&p->queue, &o->op, p->now_ms);
    MUST(o->ended == 1);
}

/* Ask the server, ahead of what waits, for ${what} at the path of a watcher. */
static void ask_to_forget(struct zk_op_program *p, enum hf_zk_unwatch what)
{
    bool lowers = what == HF_ZK_UNWATCH_LOWER;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    struct program_op *o = new_op(p);

    if (o == NULL)
        return;
    encode(o, &op);
    o->op.kind = HF_ZOOKEEPER_SYNC;
    o->op.opcode = lowers ? HF_ZK_ADD_WATCH : HF_ZK_REMOVE_WATCHES;
    o->op.only_try = true;
    o->started = o->direct = true;
    heap_exempt(true);
    hf_zookeeper_result_free(o->op.reserved);
    heap_exempt(false);
    o->op.reserved = NULL;
    hf_zk_op_queue_send(&p->queue, &o->op, p->now_ms);
}

void op_program_unwatch(struct zk_op_program *p, uint8_t which)
{
    struct hf_zk_watcher *watcher = &p->watchers[which % OP_PROGRAM_WATCHERS];
    enum hf_zk_unwatch what;

    for (int i = 0; i < p->op_count; i++) {
        if (p->ops[i]->op.watcher == watcher)
            p->ops[i]->op.watcher = NULL;
    }
    if (!hf_zk_watcher_in_set(watcher))
        return;
    if (!hf_zk_session_usable(&p->session)) {
        hf_zk_watch_set_remove(&p->session.watches, watcher);
        return;
    }
    what = hf_zk_watch_set_unwatch(&p->session.watches, watcher);
    if (what != HF_ZK_UNWATCH_NOTHING)
        ask_to_forget(p, what);
    hf_zk_watch_set_check(&p->session.watches);
}

/* --------------------------------------------------------- what was sent -- */

/* The bytes of ${o} were sent on this connection. */
static void check_sent(struct zk_op_program *p, struct program_op *o)
{
    int number = atoi(o->path + 1);

    MUST(o->started && o->released == 0);
    MUST(o->sent == 0 || !o->writes);
    MUST(o->sent == 0 || o->sent_number != p->number);
    o->sent++;
    o->sent_number = p->number;
    if (o->direct)
        return;
    MUST(p->last_sent[o->op.priority] < number);
    p->last_sent[o->op.priority] = number;
}

static void read_frame(struct zk_op_program *p, struct hf_jute_reader *frame)
{
    int32_t xid = hf_jute_get_int(frame);
    int32_t opcode = hf_jute_get_int(frame);
    struct program_call *call = &p->calls[p->call_count];
    struct hf_jute_piece path;
    char text[16] = "";

    MUST(!frame->failed);
    if (xid <= 0)
        return; /* SetWatches, a credential or a ping */
    MUST(p->call_count < OP_PROGRAM_CALLS);
    p->call_count++;
    *call = (struct program_call){xid, opcode, OP_PROGRAM_NONE};
    if (opcode == HF_ZK_CLOSE_SESSION)
        return;
    path = hf_jute_get_buffer(frame);
    MUST(!frame->failed && path.count > 0 && path.count < sizeof text);
    memcpy(text, path.bytes, path.count);
    if (path.count == 1)
        return; /* the sync of the queue */
    call->number = atoi(text + 1);
    MUST(call->number < p->op_count);
    check_sent(p, p->ops[call->number]);
}

void op_program_read(struct zk_op_program *p)
{
    struct hf_jute_reader out = {0}, frame;
    size_t count;

    out.bytes = hf_zk_session_output(&p->session, &count);
    out.left = count;
    while (zk_server_read_frame(&out, &frame)) {
        if (p->handshake_read) {
            read_frame(p, &frame);
        } else {
            p->handshake_id = zk_server_read_handshake(&frame).id;
            p->handshake_read = true;
        }
    }
    hf_zk_session_written(&p->session, count);
}

/* --------------------------------------------------------- begin and end -- */

static void set_watchers(struct zk_op_program *p)
{
    static const char *const paths[] = {"/0", "/1"};
    static const enum hf_zk_watch_mode modes[] = {
        HF_ZK_WATCH_DATA, HF_ZK_WATCH_PERSISTENT, HF_ZK_WATCH_RECURSIVE};

    for (size_t i = 0; i < OP_PROGRAM_WATCHERS; i++)
        p->watchers[i] = (struct hf_zk_watcher){.user = p,
                                                .fired = on_fired,
                                                .path = paths[i / 3],
                                                .mode = modes[i % 3]};
}

void op_program_begin(struct zk_op_program *p, const uint8_t *bytes,
                      size_t count)
{
    const struct hf_zk_log log = {p, on_log};

    memset(p, 0, sizeof *p);
    p->bytes = bytes;
    p->left = count;
    p->now_ms = 1000;
    p->zxid = 100;
    p->answering = OP_PROGRAM_NONE;
    p->config = (struct hf_zk_session_config){
        .servers = {{"h", 2181}, {"i", 2181}},
        .server_count = 1 + count % 2,
        .reconnect = {1, 1, op_program_next(p) % 8, HF_FOREVER, NULL, NULL},
        .timeout_ms = 10000,
        .read_only = count % 3 == 0,
        .window = 1 + (unsigned)(count % 5)};
    p->context =
        (struct hf_zk_op_context){.chroot = "", .max_request_bytes = 1 << 20};
    hf_random_seed(&p->config.random, 1);
    set_watchers(p);
    hf_zk_session_begin(&p->session, &p->config, &log, p->now_ms);
    hf_zk_op_queue_init(&p->queue, &p->session, &p->context);
}

void op_program_close(struct zk_op_program *p)
{
    if (p->closed)
        return;
    p->closed = true;
    hf_zk_op_queue_close(&p->queue, p->now_ms);
    hf_zk_session_close(&p->session);
}

void op_program_end(struct zk_op_program *p)
{
    heap_fail(0, false);
    op_program_close(p);
    hf_zk_session_free(&p->session);
    hf_jute_free(&p->server);
    for (int i = 0; i < p->op_count; i++) {
        MUST(p->ops[i]->ended == p->ops[i]->started);
        MUST(p->ops[i]->released == p->ops[i]->started);
        free(p->ops[i]);
    }
    MUST(p->queue.waiting.count == 0 && p->queue.alone == NULL);
    MUST(p->queue.wakes.first == NULL);
    MUST(heap_live() == 0);
}
