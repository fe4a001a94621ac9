/* SPDX-License-Identifier: Apache-2.0 */
#include "zk_op_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zk_server_frames.h"
#include "zookeeper/zk_op.h"

/* Append a text to ${to}, with "; " between two. */
static void append(char to[OP_FIXTURE_TEXT_BYTES], const char *format,
                   va_list args)
{
    size_t used = strlen(to);

    if (used > 0)
        used += (size_t)snprintf(to + used, OP_FIXTURE_TEXT_BYTES - used, "; ");
    (void)vsnprintf(to + used, OP_FIXTURE_TEXT_BYTES - used, format, args);
    assert_true(strlen(to) + 1 < OP_FIXTURE_TEXT_BYTES);
}

__attribute__((format(printf, 2, 3))) static void
note_sent(struct zk_op_fixture *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(f->sent, format, args);
    va_end(args);
}

void op_fixture_note(struct zk_op_fixture *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    append(f->events, format, args);
    va_end(args);
}

void op_fixture_expect_sent(struct zk_op_fixture *f, const char *expected)
{
    op_fixture_read(f);
    assert_string_equal(f->sent, expected);
    f->sent[0] = '\0';
}

void op_fixture_expect_events(struct zk_op_fixture *f, const char *expected)
{
    assert_string_equal(f->events, expected);
    f->events[0] = '\0';
}

/* ----------------------------------------------------------------- begin -- */

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    struct zk_op_fixture *f = user;
    va_list args;

    (void)level;
    va_start(args, format);
    (void)vsnprintf(f->logged, sizeof f->logged, format, args);
    va_end(args);
}

static void on_up(void *user, bool resumed)
{
    op_fixture_note(user, resumed ? "RESUMED" : "UP");
}

static void on_suspended(void *user)
{
    op_fixture_note(user, "SUSPENDED");
}

static void on_lost(void *user, const char *why)
{
    (void)why;
    op_fixture_note(user, "LOST");
}

static void on_closed(void *user)
{
    op_fixture_note(user, "CLOSED");
}

static void begin(struct zk_op_fixture *f,
                  const struct hf_zk_session_config *config)
{
    const struct hf_zk_log log = {f, on_log};

    *f = (struct zk_op_fixture){.now_ms = 1000, .zxid = 100, .config = *config};
    f->config.reconnect = hf_reconnect_default;
    f->config.timeout_ms = OP_FIXTURE_TIMEOUT_MS;
    hf_random_seed(&f->config.random, 1);
    f->context =
        (struct hf_zk_op_context){.chroot = "", .max_request_bytes = 1 << 20};
    hf_zk_session_begin(&f->session, &f->config, &log, f->now_ms);
    hf_zk_op_queue_init(&f->queue, &f->session, &f->context);
}

void op_fixture_begin(struct zk_op_fixture *f, size_t servers, unsigned window)
{
    begin(f,
          &(struct hf_zk_session_config){.servers = {{"h", 2181}, {"i", 2181}},
                                         .server_count = servers,
                                         .window = window});
}

void op_fixture_begin_among(struct zk_op_fixture *f, size_t count,
                            bool read_only)
{
    begin(f, &(struct hf_zk_session_config){
                 .servers = {{"a", 1}, {"b", 1}, {"c", 1}},
                 .server_count = count,
                 .read_only = read_only});
    f->listener = (struct hf_zk_listener){.user = f,
                                          .up = on_up,
                                          .suspended = on_suspended,
                                          .lost = on_lost,
                                          .closed = on_closed};
    hf_zk_listeners_add(&f->session.listeners, &f->listener);
}

void op_fixture_begin_connected(struct zk_op_fixture *f, unsigned window)
{
    op_fixture_begin(f, 1, window);
    op_fixture_connect(f);
}

void op_fixture_end(struct zk_op_fixture *f)
{
    hf_zk_op_queue_close(&f->queue, f->now_ms);
    if (!hf_zk_session_close_requested(&f->session))
        hf_zk_session_close(&f->session);
    hf_zk_session_free(&f->session);
    hf_jute_free(&f->server);
    for (const struct test_op *o = f->ops; o != NULL; o = o->next) {
        assert_int_equal(o->ended, 1);
        assert_int_equal(o->released, 1);
    }
    assert_int_equal(f->queue.waiting.count, 0);
    assert_null(f->queue.wakes.first);
    assert_null(f->queue.alone);
    assert_int_equal(heap_live(), 0);
}

/* ------------------------------------------------------------ operations -- */

static void on_ended(struct hf_zk_op *op, hf_status status,
                     struct hf_zookeeper_result *result)
{
    struct test_op *o = (struct test_op *)(void *)op;

    assert_int_equal(o->ended, 0);
    assert_int_equal(o->released, 0);
    o->ended++;
    o->status = status;
    op->watcher = NULL; /* its owner may free it from now on */
    if (result != NULL) {
        assert_int_equal(result->status, status);
        assert_int_equal(status == HF_OK, result->text[0] == '\0');
        o->watching = result->watching;
        (void)snprintf(o->text, sizeof o->text, "%s", result->text);
    }
    hf_zookeeper_result_free(result);
    op_fixture_note(o->f, "%s %s", op->path, hf_status_name(status));
}

static void on_released(struct hf_zk_op *op)
{
    struct test_op *o = (struct test_op *)(void *)op;

    assert_int_equal(o->ended, 1);
    assert_int_equal(o->released, 0);
    o->released++;
}

static const struct hf_zk_op_callbacks callbacks = {on_ended, on_released};

void op_fixture_prepare_as(struct zk_op_fixture *f, struct test_op *o,
                           const struct hf_zookeeper_op *op)
{
    struct hf_error error;

    *o = (struct test_op){.f = f,
                          .op = {.callbacks = &callbacks,
                                 .kind = op->kind,
                                 .priority = op->priority,
                                 .opcode = hf_zk_op_opcode(op),
                                 .path = op->path != NULL ? op->path : "",
                                 .deadline_at_ms = HF_FOREVER,
                                 .connect_by_ms = HF_FOREVER,
                                 .reserved = hf_zk_op_reserve()},
                          .credential = {op->scheme, op->data, op->bytes}};
    o->op.credential = &o->credential;
    assert_non_null(o->op.reserved);
    assert_int_equal(hf_zk_op_check(op, &f->context, &error), HF_OK);
    assert_int_equal(hf_zk_op_encode(op, &f->context, &o->op.record, &error),
                     HF_OK);
}

void op_fixture_prepare(struct zk_op_fixture *f, struct test_op *o,
                        enum hf_zookeeper_op_kind kind, const char *path)
{
    static const struct hf_zookeeper_acl acl = {31, "world", "anyone"};
    const struct hf_zookeeper_op part = {.kind = HF_ZOOKEEPER_DELETE,
                                         .path = path};
    struct hf_zookeeper_op op = {.kind = kind, .path = path};

    if (kind == HF_ZOOKEEPER_SET_ACL) {
        op.acls = &acl;
        op.acl_count = 1;
    } else if (kind == HF_ZOOKEEPER_MULTI) {
        op.path = NULL;
        op.ops = &part;
        op.op_count = 1;
    } else if (kind == HF_ZOOKEEPER_RECONFIG) {
        op.leaving = "2";
    }
    op_fixture_prepare_as(f, o, &op);
    o->op.path = path;
}

hf_status op_fixture_add(struct zk_op_fixture *f, struct test_op *o,
                         struct hf_error *error)
{
    return hf_zk_op_queue_add(&f->queue, &o->op, f->now_ms, error);
}

void op_fixture_start_prepared(struct zk_op_fixture *f, struct test_op *o)
{
    struct hf_error error;

    o->next = f->ops;
    f->ops = o;
    assert_int_equal(op_fixture_add(f, o, &error), HF_OK);
}

void op_fixture_start(struct zk_op_fixture *f, struct test_op *o,
                      enum hf_zookeeper_op_kind kind, const char *path)
{
    op_fixture_prepare(f, o, kind, path);
    op_fixture_start_prepared(f, o);
}

void op_fixture_start_at(struct zk_op_fixture *f, struct test_op *o,
                         enum hf_zookeeper_priority priority, const char *path)
{
    op_fixture_prepare(f, o, HF_ZOOKEEPER_GET, path);
    o->op.priority = priority;
    op_fixture_start_prepared(f, o);
}

void op_fixture_start_until(struct zk_op_fixture *f, struct test_op *o,
                            enum hf_zookeeper_op_kind kind, const char *path,
                            uint64_t ms)
{
    op_fixture_prepare(f, o, kind, path);
    o->op.deadline_at_ms = f->now_ms + ms;
    op_fixture_start_prepared(f, o);
}

void op_fixture_cancel(struct zk_op_fixture *f, struct test_op *o)
{
    hf_zk_op_queue_cancel(&f->queue, &o->op, f->now_ms);
}

/* --------------------------------------------------------------- watches -- */

static void on_fired(struct hf_zk_watcher *watcher,
                     const struct hf_zk_watch_event *event)
{
    struct zk_op_fixture *f = watcher->user;

    if (event->type != HF_ZK_RESYNC)
        hf_zk_op_queue_event(&f->queue);
    op_fixture_note(f, "event %d", (int)event->type);
}

struct hf_zk_watcher op_fixture_watcher(struct zk_op_fixture *f,
                                        enum hf_zk_watch_mode mode)
{
    return (struct hf_zk_watcher){
        .user = f, .fired = on_fired, .path = "/w", .mode = mode};
}

void op_fixture_start_watch(struct zk_op_fixture *f, struct test_op *o,
                            enum hf_zookeeper_op_kind kind,
                            struct hf_zk_watcher *watcher)
{
    op_fixture_prepare(f, o, kind, "/w");
    o->op.watcher = watcher;
    op_fixture_start_prepared(f, o);
}

/* --------------------------------------------------------- what was sent -- */

static const char *name_of(int32_t opcode)
{
    switch (opcode) {
    case HF_ZK_CREATE2:
        return "create";
    case HF_ZK_DELETE:
        return "delete";
    case HF_ZK_EXISTS:
        return "exists";
    case HF_ZK_GET_DATA:
        return "get";
    case HF_ZK_SET_DATA:
        return "set";
    case HF_ZK_SET_ACL:
        return "setacl";
    case HF_ZK_GET_CHILDREN2:
        return "children";
    case HF_ZK_SYNC:
        return "sync";
    case HF_ZK_MULTI:
        return "multi";
    case HF_ZK_REMOVE_WATCHES:
        return "unwatch";
    case HF_ZK_CREATE_CONTAINER:
        return "container";
    case HF_ZK_GET_ALL_CHILDREN_NUMBER:
        return "count";
    case HF_ZK_GET_EPHEMERALS:
        return "ephemerals";
    case HF_ZK_ADD_WATCH:
        return "addwatch";
    case HF_ZK_WHO_AM_I:
        return "whoami";
    case HF_ZK_RECONFIG:
        return "reconfig";
    case HF_ZK_SASL: /* its token is where others have a path */
        return "sasl";
    case HF_ZK_CLOSE_SESSION:
        return "close";
    default:
        return "unknown";
    }
}

/* What the last byte of the record of a read says, or the mode of an
 * AddWatch. */
static const char *watch_text(int32_t opcode, const struct hf_jute_reader *end)
{
    uint8_t last = end->left > 0 ? end->bytes[end->left - 1] : 0;

    if (opcode == HF_ZK_ADD_WATCH)
        return last == 1 ? " recursive" : " persistent";
    if (opcode != HF_ZK_EXISTS && opcode != HF_ZK_GET_DATA &&
        opcode != HF_ZK_GET_CHILDREN2)
        return "";
    return last == 1 ? " watch" : "";
}

/* A request that is a call: keep it, and note it as text. */
static void read_call(struct zk_op_fixture *f, int32_t xid, int32_t opcode,
                      struct hf_jute_reader *record)
{
    bool has_path = opcode != HF_ZK_MULTI && opcode != HF_ZK_WHO_AM_I &&
                    opcode != HF_ZK_RECONFIG && opcode != HF_ZK_CLOSE_SESSION;
    size_t at = (f->first_call + f->call_count++) % OP_FIXTURE_CALLS_MAX;
    struct test_call *call = &f->calls[at];
    struct hf_jute_reader end = *record;
    struct hf_jute_piece path = {"", 0};

    assert_true(f->call_count <= OP_FIXTURE_CALLS_MAX);
    if (has_path)
        path = hf_jute_get_buffer(record);
    assert_false(record->failed);
    *call = (struct test_call){.xid = xid, .opcode = opcode};
    (void)snprintf(call->path, sizeof call->path, "%.*s", (int)path.count,
                   path.bytes);
    note_sent(f, "%s%s%s%s", name_of(opcode), has_path ? " " : "", call->path,
              watch_text(opcode, &end));
}

static void read_frame(struct zk_op_fixture *f, struct hf_jute_reader *frame)
{
    int32_t xid = hf_jute_get_int(frame);
    int32_t opcode = hf_jute_get_int(frame);
    struct hf_jute_piece scheme;

    if (xid == HF_ZK_XID_AUTH) {
        (void)hf_jute_get_int(frame);
        scheme = hf_jute_get_buffer(frame);
        note_sent(f, "auth %.*s", (int)scheme.count, scheme.bytes);
    } else if (xid == HF_ZK_XID_SET_WATCHES) {
        note_sent(f, "setwatches %lld", (long long)hf_jute_get_long(frame));
    } else if (xid != HF_ZK_XID_PING) {
        read_call(f, xid, opcode, frame);
    }
}

void op_fixture_read(struct zk_op_fixture *f)
{
    struct hf_jute_reader out = {0}, frame;
    size_t count;

    out.bytes = hf_zk_session_output(&f->session, &count);
    out.left = count;
    while (zk_server_read_frame(&out, &frame))
        read_frame(f, &frame);
    hf_zk_session_written(&f->session, count);
}

/* ---------------------------------------------------------------- server -- */

void op_fixture_say(struct zk_op_fixture *f)
{
    hf_zk_session_receive(&f->session, f->connection_number, f->now_ms,
                          f->server.bytes, f->server.used);
    f->server.used = 0;
}

void op_fixture_pass(struct zk_op_fixture *f, uint64_t ms)
{
    f->now_ms += ms;
    hf_zk_session_tick(&f->session, f->now_ms);
    hf_zk_op_queue_tick(&f->queue, f->now_ms);
}

/* The time passes until a server is wanted. */
static void await_attempt(struct zk_op_fixture *f)
{
    uint64_t number, wake_at_ms;

    while (hf_zk_session_wanted_server(&f->session, &number) == NULL) {
        wake_at_ms = hf_zk_session_wake_at_ms(&f->session);
        assert_true(wake_at_ms != HF_FOREVER);
        op_fixture_pass(f, wake_at_ms > f->now_ms ? wake_at_ms - f->now_ms : 0);
    }
}

int64_t op_fixture_link_up_to(struct zk_op_fixture *f, const char *host)
{
    struct hf_jute_reader out = {0}, frame;
    struct zk_server_handshake handshake;
    size_t count;
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(&f->session, &f->connection_number);

    assert_non_null(server);
    if (host != NULL)
        assert_string_equal(server->host, host);
    f->first_call = f->call_count = 0;
    hf_zk_session_connection_up(&f->session, f->connection_number, f->now_ms);
    out.bytes = hf_zk_session_output(&f->session, &count);
    out.left = count;
    assert_true(zk_server_read_frame(&out, &frame));
    handshake = zk_server_read_handshake(&frame);
    f->handshake_zxid = handshake.zxid;
    f->handshake_id = handshake.id;
    f->handshake_read_only = handshake.read_only;
    hf_zk_session_written(&f->session, count);
    return f->handshake_id;
}

void op_fixture_link_up(struct zk_op_fixture *f)
{
    await_attempt(f);
    (void)op_fixture_link_up_to(f, NULL);
}

void op_fixture_accept(struct zk_op_fixture *f, int64_t id)
{
    zk_server_session(&f->server, OP_FIXTURE_TIMEOUT_MS, id, f->read_only);
    op_fixture_say(f);
}

void op_fixture_accept_as(struct zk_op_fixture *f, int64_t id, bool read_only)
{
    f->read_only = read_only;
    op_fixture_accept(f, id);
}

void op_fixture_connect(struct zk_op_fixture *f)
{
    op_fixture_link_up(f);
    op_fixture_accept(f, f->handshake_id != 0 ? f->handshake_id
                                              : OP_FIXTURE_SESSION);
}

void op_fixture_cut(struct zk_op_fixture *f)
{
    op_fixture_read(f);
    hf_zk_session_connection_down(&f->session, f->connection_number, f->now_ms,
                                  HF_EUNREACHABLE, "reset");
}

void op_fixture_cut_until_next(struct zk_op_fixture *f)
{
    op_fixture_cut(f);
    await_attempt(f);
}

void op_fixture_reconnect(struct zk_op_fixture *f)
{
    op_fixture_cut(f);
    f->sent[0] = '\0';
    op_fixture_connect(f);
}

/* The record of a success. */
static void put_record(struct zk_op_fixture *f, const struct test_call *call)
{
    static const struct hf_zookeeper_stat stat;
    struct hf_jute_writer *to = &f->server;

    switch (call->opcode) {
    case HF_ZK_GET_DATA:
        hf_jute_put_null(to);
        zk_server_put_stat(to, &stat);
        break;
    case HF_ZK_GET_CHILDREN2:
        hf_jute_put_int(to, 0);
        zk_server_put_stat(to, &stat);
        break;
    case HF_ZK_GET_ALL_CHILDREN_NUMBER:
    case HF_ZK_GET_EPHEMERALS:
    case HF_ZK_WHO_AM_I:
        hf_jute_put_int(to, 0);
        break;
    case HF_ZK_SASL:
        if (f->sasl_token != NULL)
            hf_jute_put_string(to, f->sasl_token);
        else
            hf_jute_put_null(to);
        break;
    default:
        zk_server_put_record(to, call->opcode, call->path, &stat);
    }
}

void op_fixture_answer(struct zk_op_fixture *f, enum hf_zk_error error)
{
    const struct test_call *call;
    size_t begin;

    op_fixture_read(f);
    assert_true(f->call_count > 0);
    call = &f->calls[f->first_call];
    f->first_call = (f->first_call + 1) % OP_FIXTURE_CALLS_MAX;
    f->call_count--;
    begin = zk_server_begin(&f->server, call->xid, f->zxid++, (int32_t)error);
    if (error == HF_ZK_OK)
        put_record(f, call);
    hf_jute_end_frame(&f->server, begin);
    op_fixture_say(f);
}

void op_fixture_answer_all(struct zk_op_fixture *f)
{
    op_fixture_read(f);
    while (f->call_count > 0) {
        op_fixture_answer(f, HF_ZK_OK);
        op_fixture_read(f);
    }
}

void op_fixture_say_header(struct zk_op_fixture *f, int32_t xid,
                           enum hf_zk_error error)
{
    zk_server_header(&f->server, xid, f->zxid++, (int32_t)error);
    op_fixture_say(f);
}

void op_fixture_answer_auth(struct zk_op_fixture *f, enum hf_zk_error error)
{
    op_fixture_read(f);
    op_fixture_say_header(f, HF_ZK_XID_AUTH, error);
}

void op_fixture_answer_set_watches(struct zk_op_fixture *f)
{
    op_fixture_read(f);
    op_fixture_say_header(f, HF_ZK_XID_SET_WATCHES, HF_ZK_OK);
}

void op_fixture_fire(struct zk_op_fixture *f, enum hf_zk_event_type type,
                     const char *path)
{
    /* With the transaction, as servers from 3.9 on. */
    zk_server_event(&f->server, f->zxid++, (int32_t)type, path);
    op_fixture_say(f);
}
