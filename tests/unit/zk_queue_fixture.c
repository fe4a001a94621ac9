/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of the servers are written and those of the client read by hand,
 * so that nothing here rests on what is tested. */
#include "zk_queue_fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"

void zk_queue_note(struct zk_queue_fixture *f, const char *format, ...)
{
    size_t used = strlen(f->events);
    va_list args;

    va_start(args, format);
    if (used > 0)
        used +=
            (size_t)snprintf(f->events + used, sizeof f->events - used, "; ");
    (void)vsnprintf(f->events + used, sizeof f->events - used, format, args);
    va_end(args);
}

void zk_queue_expect(struct zk_queue_fixture *f, const char *expected)
{
    assert_string_equal(f->events, expected);
    f->events[0] = '\0';
}

/* -------------------------------------------------------------- callbacks --
 */

static void on_log(void *user, enum hf_log_level level, const char *format, ...)
{
    (void)user;
    (void)level;
    (void)format;
}

static void on_up(void *user, bool resumed)
{
    zk_queue_note(user, resumed ? "RESUMED" : "UP");
}

static void on_suspended(void *user)
{
    zk_queue_note(user, "SUSPENDED");
}

static void on_lost(void *user, const char *why)
{
    (void)why;
    zk_queue_note(user, "LOST");
}

static void on_closed(void *user)
{
    zk_queue_note(user, "CLOSED");
}

static void on_ended(struct hf_zk_op *op, hf_status status,
                     struct hf_zookeeper_result *result)
{
    struct zk_queue_op *zk_queue_op = (struct zk_queue_op *)(void *)op;

    zk_queue_note(zk_queue_op->f, "%s %s", zk_queue_op->name,
                  hf_status_name(status));
    assert_int_equal(result->status, status);
    hf_zookeeper_result_free(result);
}

static void on_released(struct hf_zk_op *op)
{
    (void)op;
}

static const struct hf_zk_op_callbacks callbacks = {on_ended, on_released};

/* ------------------------------------------------------------- the server --
 */

void zk_queue_say(struct zk_queue_fixture *f)
{
    hf_zk_session_receive(&f->session, f->number, f->now_ms, f->server.bytes,
                          f->server.used);
    f->server.used = 0;
}

/* Accept the handshake with ${id}, as a server that is ${read_only}. */
void zk_queue_accept(struct zk_queue_fixture *f, int64_t id, bool read_only)
{
    static const uint8_t password[HF_ZK_PASSWORD_BYTES] = {7};
    size_t begin = hf_jute_begin_frame(&f->server);

    hf_jute_put_int(&f->server, 0);
    hf_jute_put_int(&f->server, ZK_QUEUE_TIMEOUT_MS);
    hf_jute_put_long(&f->server, id);
    hf_jute_put_buffer(&f->server, password, sizeof password);
    hf_jute_put_bool(&f->server, read_only);
    hf_jute_end_frame(&f->server, begin);
    f->xid = 1;
    zk_queue_say(f);
}

/* Answer the next call with ${error}; of an exists, with a Stat of zeros. */
void zk_queue_answer(struct zk_queue_fixture *f, enum hf_zk_error error)
{
    static const uint8_t stat[HF_ZK_STAT_BYTES];
    size_t begin = hf_jute_begin_frame(&f->server);

    hf_jute_put_int(&f->server, f->xid++);
    hf_jute_put_long(&f->server, ZK_QUEUE_ZXID);
    hf_jute_put_int(&f->server, (int32_t)error);
    if (error == HF_ZK_OK)
        hf_jute_put_bytes(&f->server, stat, sizeof stat);
    hf_jute_end_frame(&f->server, begin);
    zk_queue_say(f);
}

/* How many bytes the client sends; they are taken. */
size_t zk_queue_take_output(struct zk_queue_fixture *f)
{
    size_t count;

    (void)hf_zk_session_output(&f->session, &count);
    hf_zk_session_written(&f->session, count);
    return count;
}

/* Connect to the server that is wanted now, which is the one called ${host},
 * and read the ConnectRequest. */
struct zk_queue_offer zk_queue_connect(struct zk_queue_fixture *f,
                                       const char *host)
{
    struct hf_jute_reader out = {0};
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(&f->session, &f->number);
    struct zk_queue_offer offer;

    assert_non_null(server);
    assert_string_equal(server->host, host);
    hf_zk_session_connection_up(&f->session, f->number, f->now_ms);
    out.bytes = hf_zk_session_output(&f->session, &out.left);
    (void)hf_jute_get_long(&out); /* length and version */
    offer.zxid = hf_jute_get_long(&out);
    (void)hf_jute_get_int(&out); /* timeout */
    offer.id = hf_jute_get_long(&out);
    (void)hf_jute_get_buffer(&out);
    offer.read_only = hf_jute_get_bool(&out);
    assert_false(out.failed);
    (void)zk_queue_take_output(f);
    return offer;
}

void zk_queue_wait(struct zk_queue_fixture *f, uint64_t ms)
{
    f->now_ms += ms;
    hf_zk_session_tick(&f->session, f->now_ms);
}

/* The connection ends, and the next attempt is due. */
void zk_queue_cut(struct zk_queue_fixture *f)
{
    hf_zk_session_connection_down(&f->session, f->number, f->now_ms,
                                  HF_EUNREACHABLE, "reset");
    while (hf_zk_session_wanted_server(&f->session, &f->number) == NULL) {
        f->now_ms = hf_zk_session_wake_at_ms(&f->session);
        hf_zk_session_tick(&f->session, f->now_ms);
    }
}

/* -------------------------------------------------------------- beginning --
 */

/* A session that wants its first connection, to "a" of ${count} servers. */
void zk_queue_begin(struct zk_queue_fixture *f, size_t count, bool read_only)
{
    const struct hf_zk_log log = {f, on_log};

    *f = (struct zk_queue_fixture){
        .now_ms = 1000,
        .context = {.chroot = "", .max_request_bytes = 1000},
        .config = {.servers = {{"a", 1}, {"b", 1}, {"c", 1}},
                   .server_count = count,
                   .reconnect = hf_reconnect_default,
                   .timeout_ms = ZK_QUEUE_TIMEOUT_MS,
                   .read_only = read_only}};
    hf_random_seed(&f->config.random, 1);
    hf_zk_session_begin(&f->session, &f->config, &log, f->now_ms);
    hf_zk_op_queue_init(&f->queue, &f->session, &f->context);
    f->listener = (struct hf_zk_listener){.user = f,
                                          .up = on_up,
                                          .suspended = on_suspended,
                                          .lost = on_lost,
                                          .closed = on_closed};
    hf_zk_listeners_add(&f->session.listeners, &f->listener);
}

void zk_queue_end(struct zk_queue_fixture *f)
{
    hf_zk_op_queue_close(&f->queue, f->now_ms); /* ends what is left */
    hf_zk_session_free(&f->session);
    hf_jute_free(&f->server);
}

/* Start ${kind} as ${op}. */
void zk_queue_start(struct zk_queue_fixture *f, struct zk_queue_op *op,
                    enum hf_zookeeper_op_kind kind, const char *name)
{
    const struct hf_zookeeper_op given = {.kind = kind, .path = "/a"};
    struct hf_error error;

    *op = (struct zk_queue_op){.f = f,
                               .name = name,
                               .op = {.callbacks = &callbacks,
                                      .kind = kind,
                                      .opcode = hf_zk_op_opcode(&given),
                                      .path = "/a",
                                      .deadline_at_ms = HF_FOREVER,
                                      .connect_by_ms = HF_FOREVER,
                                      .reserved = hf_zk_op_reserve()}};
    assert_non_null(op->op.reserved);
    assert_int_equal(
        hf_zk_op_encode(&given, &f->context, &op->op.record, &error), HF_OK);
    assert_int_equal(hf_zk_op_queue_add(&f->queue, &op->op, f->now_ms, &error),
                     HF_OK);
}
