/* SPDX-License-Identifier: Apache-2.0 */
/* A session and its operations on servers without a quorum, which a test
 * scripts frame by frame: what is offered to which server, what is refused,
 * what is repeated, and how a server with a quorum is found. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper/op_queue.h"
#include "zookeeper/zk_calls.h"

#define TIMEOUT_MS 9000
#define ZXID 77

/* What a ConnectRequest says. */
struct offer {
    int64_t zxid;
    int64_t id;
    bool read_only;
};

struct read_only_fixture {
    struct hf_zk_session_config config;
    struct hf_zk_session session;
    struct hf_zk_op_context context;
    struct hf_zk_op_queue queue;
    struct hf_zk_listener listener;
    struct hf_jute_writer server; /* what it says next */
    uint64_t now_ms;
    uint64_t number; /* of the connection */
    int32_t xid;     /* of the next answer */
    char events[512];
};

/* An operation, which is noted by its name. */
struct test_op {
    struct hf_zk_op op; /* first */
    struct read_only_fixture *f;
    const char *name;
};

__attribute__((format(printf, 2, 3))) static void
note(struct read_only_fixture *f, const char *format, ...)
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

static void expect(struct read_only_fixture *f, const char *expected)
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
    note(user, resumed ? "RESUMED" : "UP");
}

static void on_suspended(void *user)
{
    note(user, "SUSPENDED");
}

static void on_lost(void *user, const char *why)
{
    (void)why;
    note(user, "LOST");
}

static void on_closed(void *user)
{
    note(user, "CLOSED");
}

static void on_ended(struct hf_zk_op *op, hf_status status,
                     struct hf_zookeeper_result *result)
{
    struct test_op *test_op = (struct test_op *)(void *)op;

    note(test_op->f, "%s %s", test_op->name, hf_status_name(status));
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

static void say(struct read_only_fixture *f)
{
    hf_zk_session_receive(&f->session, f->number, f->now_ms, f->server.bytes,
                          f->server.used);
    f->server.used = 0;
}

/* Accept the handshake with ${id}, as a server that is ${read_only}. */
static void accept_as(struct read_only_fixture *f, int64_t id, bool read_only)
{
    static const uint8_t password[HF_ZK_PASSWORD_BYTES] = {7};
    size_t begin = hf_jute_begin_frame(&f->server);

    hf_jute_put_int(&f->server, 0);
    hf_jute_put_int(&f->server, TIMEOUT_MS);
    hf_jute_put_long(&f->server, id);
    hf_jute_put_buffer(&f->server, password, sizeof password);
    hf_jute_put_bool(&f->server, read_only);
    hf_jute_end_frame(&f->server, begin);
    f->xid = 1;
    say(f);
}

/* Answer the next call with ${error}; of an exists, with a Stat of zeros. */
static void answer(struct read_only_fixture *f, enum hf_zk_error error)
{
    static const uint8_t stat[HF_ZK_STAT_BYTES];
    size_t begin = hf_jute_begin_frame(&f->server);

    hf_jute_put_int(&f->server, f->xid++);
    hf_jute_put_long(&f->server, ZXID);
    hf_jute_put_int(&f->server, (int32_t)error);
    if (error == HF_ZK_OK)
        hf_jute_put_bytes(&f->server, stat, sizeof stat);
    hf_jute_end_frame(&f->server, begin);
    say(f);
}

/* How many bytes the client sends; they are taken. */
static size_t take_output(struct read_only_fixture *f)
{
    size_t count;

    (void)hf_zk_session_output(&f->session, &count);
    hf_zk_session_written(&f->session, count);
    return count;
}

/* Connect to the server that is wanted now, which is the one called ${host},
 * and read the ConnectRequest. */
static struct offer connect_to(struct read_only_fixture *f, const char *host)
{
    struct hf_jute_reader out = {0};
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(&f->session, &f->number);
    struct offer offer;

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
    (void)take_output(f);
    return offer;
}

static void wait_ms(struct read_only_fixture *f, uint64_t ms)
{
    f->now_ms += ms;
    hf_zk_session_tick(&f->session, f->now_ms);
}

/* The connection ends, and the next attempt is due. */
static void cut(struct read_only_fixture *f)
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
static void begin(struct read_only_fixture *f, size_t count, bool read_only)
{
    const struct hf_zk_log log = {f, on_log};

    *f = (struct read_only_fixture){
        .now_ms = 1000,
        .context = {.chroot = "", .max_request_bytes = 1000},
        .config = {.servers = {{"a", 1}, {"b", 1}, {"c", 1}},
                   .server_count = count,
                   .reconnect = hf_reconnect_default,
                   .timeout_ms = TIMEOUT_MS,
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

/* The same, connected to "a", which is read-only and has begun the session
 * 1. */
static void begin_local(struct read_only_fixture *f, size_t count)
{
    begin(f, count, true);
    (void)connect_to(f, "a");
    accept_as(f, 1, true);
    expect(f, "UP");
}

/* The same with the session 9, which "a" has begun with a quorum; now connected
 * to "b", which is read-only. */
static void begin_resumed(struct read_only_fixture *f)
{
    begin(f, 3, true);
    (void)connect_to(f, "a");
    accept_as(f, 9, false);
    cut(f);
    assert_int_equal(connect_to(f, "b").id, 9);
    accept_as(f, 9, true);
    expect(f, "UP; SUSPENDED; RESUMED");
}

static void end(struct read_only_fixture *f)
{
    hf_zk_session_free(&f->session);
    hf_jute_free(&f->server);
}

/* Start ${kind} as ${op}. */
static void start(struct read_only_fixture *f, struct test_op *op,
                  enum hf_zookeeper_op_kind kind, const char *name)
{
    const struct hf_zookeeper_op given = {.kind = kind, .path = "/a"};
    struct hf_error error;

    *op = (struct test_op){.f = f,
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

/* -------------------------------------------------------------- handshake --
 */

static void read_only_is_asked_for_if_wanted(void **state)
{
    struct read_only_fixture f;

    (void)state;
    begin(&f, 1, true);
    assert_true(connect_to(&f, "a").read_only);
    end(&f);
    begin(&f, 1, false);
    assert_false(connect_to(&f, "a").read_only);
    accept_as(&f, 1, true);
    assert_false(hf_zk_session_usable(&f.session));
    assert_non_null(strstr(f.session.connectivity.error, "read-only"));
    expect(&f, "");
    end(&f);
}

static void the_byte_for_read_only_may_be_missing(void **state)
{
    size_t begin_at;
    struct read_only_fixture f;

    (void)state;
    begin(&f, 1, true);
    (void)connect_to(&f, "a");
    begin_at = hf_jute_begin_frame(&f.server);
    hf_jute_put_int(&f.server, 0);
    hf_jute_put_int(&f.server, TIMEOUT_MS);
    hf_jute_put_long(&f.server, 1);
    hf_jute_put_buffer(&f.server, "0123456789abcdef", HF_ZK_PASSWORD_BYTES);
    hf_jute_end_frame(&f.server, begin_at);
    say(&f);
    expect(&f, "UP");
    assert_false(hf_zk_session_read_only(&f.session));
    end(&f);
}

/* As ZooKeeper 3.8 does without localSessionsEnabled. */
static void a_server_may_begin_no_session(void **state)
{
    struct read_only_fixture f;

    (void)state;
    begin(&f, 1, true);
    (void)connect_to(&f, "a");
    f.xid = 0;
    answer(&f, HF_ZK_NOT_READ_ONLY);
    assert_non_null(
        strstr(f.session.connectivity.error, "localSessionsEnabled"));
    assert_false(hf_connectivity_is_final(&f.session.connectivity));
    end(&f);
}

/* ------------------------------------------------------------- operations --
 */

static void writes_are_refused_and_reads_are_sent(void **state)
{
    struct test_op ops[4];
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 1);
    assert_true(hf_zk_session_read_only(&f.session));
    start(&f, &ops[0], HF_ZOOKEEPER_CREATE, "create");
    start(&f, &ops[1], HF_ZOOKEEPER_DELETE, "delete");
    start(&f, &ops[2], HF_ZOOKEEPER_SYNC, "sync");
    expect(&f, "create HF_EREADONLY; delete HF_EREADONLY; sync HF_EREADONLY");
    assert_int_equal(take_output(&f), 0);
    start(&f, &ops[3], HF_ZOOKEEPER_EXISTS, "exists");
    assert_true(take_output(&f) > 0);
    answer(&f, HF_ZK_OK);
    expect(&f, "exists HF_OK");
    end(&f);
}

static void a_write_that_waits_is_refused_when_connected(void **state)
{
    struct test_op ops[2];
    struct read_only_fixture f;

    (void)state;
    begin(&f, 1, true);
    start(&f, &ops[0], HF_ZOOKEEPER_DELETE, "delete");
    start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "exists");
    (void)connect_to(&f, "a");
    accept_as(&f, 1, true);
    answer(&f, HF_ZK_OK);
    expect(&f, "delete HF_EREADONLY; UP; exists HF_OK");
    end(&f);
}

static void on_answered(void *user, struct hf_zk_call *call,
                        const struct hf_zk_reply *reply)
{
    (void)call;
    note(user, "ANSWER %d", (int)reply->error);
}

/* A server that refuses a write can be read from; another one that does so is
 * left. */
static void a_refusal_of_the_server_does_not_end_the_connection(void **state)
{
    struct read_only_fixture f;
    struct hf_zk_call call = {.answered = on_answered, .user = &f};

    (void)state;
    begin_local(&f, 1);
    hf_zk_send_delete(&f.session, &call, "/a");
    answer(&f, HF_ZK_NOT_READ_ONLY);
    expect(&f, "ANSWER -119");
    assert_true(hf_zk_session_usable(&f.session));
    end(&f);
    begin(&f, 1, true);
    (void)connect_to(&f, "a");
    accept_as(&f, 1, false);
    hf_zk_send_delete(&f.session, &call, "/a");
    answer(&f, HF_ZK_NOT_READ_ONLY);
    expect(&f, "UP; ANSWER -119; SUSPENDED");
    end(&f);
}

/* --------------------------------------------------------------- sessions --
 */

/* Not even to the server that has begun it, which may have a quorum now. */
static void a_local_session_is_offered_to_no_server(void **state)
{
    struct test_op ops[2];
    struct read_only_fixture f;
    struct offer offer;

    (void)state;
    begin_local(&f, 2);
    start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "1");
    answer(&f, HF_ZK_OK);
    expect(&f, "1 HF_OK");
    cut(&f);
    expect(&f, "SUSPENDED; LOST");
    offer = connect_to(&f, "b");
    assert_int_equal(offer.id, 0);
    assert_int_equal(offer.zxid, ZXID); /* what is read does not grow older */
    accept_as(&f, 2, true);
    cut(&f);
    assert_int_equal(connect_to(&f, "a").id, 0);
    accept_as(&f, 3, false);
    expect(&f, "UP; SUSPENDED; LOST; UP");
    cut(&f); /* the session 3 is known to all servers */
    assert_int_equal(connect_to(&f, "b").id, 3);
    accept_as(&f, 3, false);
    expect(&f, "SUSPENDED; RESUMED");
    end(&f);
}

static void reads_go_on_in_the_session_after_a_local_one(void **state)
{
    struct test_op ops[2];
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 2);
    start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "sent");
    (void)take_output(&f);
    cut(&f);
    start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "waiting");
    (void)connect_to(&f, "b");
    accept_as(&f, 2, false);
    answer(&f, HF_ZK_OK);
    answer(&f, HF_ZK_OK);
    expect(&f, "SUSPENDED; LOST; UP; sent HF_OK; waiting HF_OK");
    end(&f);
}

/* The order of what was sent and what was not is kept, too. */
static void a_local_session_may_be_ended_by_its_server(void **state)
{
    struct test_op ops[3];
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 2);
    f.session.window.size = 2;
    start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "1");
    start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "2");
    start(&f, &ops[2], HF_ZOOKEEPER_EXISTS, "3");
    answer(&f, HF_ZK_SESSION_EXPIRED);
    expect(&f, "SUSPENDED; LOST");
    wait_ms(&f, 1000);
    assert_int_equal(connect_to(&f, "b").id, 0);
    accept_as(&f, 2, false);
    for (size_t i = 0; i < 3; i++)
        answer(&f, HF_ZK_OK);
    expect(&f, "UP; 1 HF_OK; 2 HF_OK; 3 HF_OK");
    end(&f);
}

/* Whether it still lives, only servers with a quorum know. */
static void answers_do_not_keep_a_resumed_session(void **state)
{
    struct test_op op;
    struct read_only_fixture f;
    uint64_t until_ms;

    (void)state;
    begin_resumed(&f);
    until_ms = f.session.alive_until_ms;
    assert_int_equal(until_ms, 1000 + TIMEOUT_MS);
    wait_ms(&f, 1000);
    start(&f, &op, HF_ZOOKEEPER_EXISTS, "exists");
    answer(&f, HF_ZK_OK);
    expect(&f, "exists HF_OK");
    assert_int_equal(f.session.alive_until_ms, until_ms);
    assert_int_equal(f.session.proven_anchor_ms, 1000);
    f.session.wire.received_at_ms = until_ms; /* pings were answered */
    f.now_ms = until_ms;
    hf_zk_session_tick(&f.session, f.now_ms);
    expect(&f, "LOST");
    assert_int_equal(connect_to(&f, "c").id, 0);
    end(&f);
}

static void a_resumed_session_is_offered_again(void **state)
{
    struct read_only_fixture f;

    (void)state;
    begin_resumed(&f);
    cut(&f);
    assert_int_equal(connect_to(&f, "c").id, 9);
    accept_as(&f, 9, false);
    expect(&f, "SUSPENDED; RESUMED");
    assert_false(hf_zk_session_read_only(&f.session));
    end(&f);
}

static void a_local_session_proves_nothing(void **state)
{
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 1);
    assert_int_equal(f.session.proven_anchor_ms, 0);
    end(&f);
}

static void a_local_session_is_closed(void **state)
{
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 2);
    hf_zk_session_close(&f.session);
    answer(&f, HF_ZK_OK);
    expect(&f, "CLOSED");
    end(&f);
}

/* A server without a quorum cannot sync; the next one has to. */
static void a_sync_waits_for_a_quorum(void **state)
{
    struct test_op op;
    struct read_only_fixture f;

    (void)state;
    begin(&f, 3, true);
    (void)connect_to(&f, "a");
    accept_as(&f, 9, false);
    hf_zk_op_queue_event(&f.queue);
    cut(&f);
    (void)connect_to(&f, "b");
    accept_as(&f, 9, true);
    assert_int_equal(take_output(&f), 0);
    cut(&f);
    (void)connect_to(&f, "c");
    accept_as(&f, 9, false);
    assert_true(take_output(&f) > 0); /* the sync */
    f.events[0] = '\0';
    start(&f, &op, HF_ZOOKEEPER_EXISTS, "exists");
    answer(&f, HF_ZK_OK);
    expect(&f, "");
    answer(&f, HF_ZK_OK);
    expect(&f, "exists HF_OK");
    end(&f);
}

/* ----------------------------------------------------------------- search --
 */

/* The server that is asked now; "" for none. */
static const char *asked(struct read_only_fixture *f, uint64_t *number)
{
    const struct hf_zk_server *server =
        hf_zk_session_asked_server(&f->session, number);

    return server != NULL ? server->host : "";
}

static void say_asked(struct read_only_fixture *f, const char *text)
{
    uint64_t number;

    (void)asked(f, &number);
    hf_zk_session_asked_received(&f->session, number, f->now_ms, text,
                                 strlen(text));
}

/* Keep the connection alive until the search has something to do, and do
 * that. */
static void wait_for_search(struct read_only_fixture *f)
{
    f->now_ms = f->session.search.at_ms;
    f->session.wire.received_at_ms = f->now_ms;
    f->session.wire.written_at_ms = f->now_ms;
    f->session.alive_until_ms = f->now_ms + TIMEOUT_MS;
    assert_true(hf_zk_session_wake_at_ms(&f->session) <= f->now_ms);
    hf_zk_session_tick(&f->session, f->now_ms);
}

static void the_others_are_asked_in_order_and_less_and_less_often(void **state)
{
    static const uint64_t pauses_ms[] = {1000,  2000,  4000,  8000,
                                         16000, 32000, 60000, 60000};
    struct read_only_fixture f;
    uint64_t number, before;

    (void)state;
    begin_local(&f, 3);
    for (size_t i = 0; i < sizeof pauses_ms / sizeof *pauses_ms; i++) {
        assert_string_equal(asked(&f, &before), "");
        assert_int_equal(f.session.search.at_ms, f.now_ms + pauses_ms[i]);
        wait_for_search(&f);
        assert_string_equal(asked(&f, &before), "b");
        say_asked(&f, "n"); /* of "null" */
        assert_string_equal(asked(&f, &number), "b");
        say_asked(&f, "ull");
        assert_string_equal(asked(&f, &number), "c");
        assert_true(number > before);
        hf_zk_session_asked_down(&f.session, before, f.now_ms); /* late */
        assert_string_equal(asked(&f, &number), "c");
        if (i % 2 == 0)
            hf_zk_session_asked_down(&f.session, number, f.now_ms);
        else
            say_asked(&f, "ro");
    }
    expect(&f, "");
    end(&f);
}

static void a_server_that_does_not_answer_is_given_up(void **state)
{
    struct read_only_fixture f;
    uint64_t number;

    (void)state;
    begin_local(&f, 2);
    wait_for_search(&f);
    assert_int_equal(f.session.search.at_ms,
                     f.now_ms + HF_ZK_SEARCH_ATTEMPT_MS);
    wait_for_search(&f);
    assert_string_equal(asked(&f, &number), "");
    hf_zk_session_asked_received(&f.session, number, f.now_ms, "rw", 2);
    assert_true(hf_zk_session_usable(&f.session));
    end(&f);
}

static void a_server_with_a_quorum_is_moved_to(void **state)
{
    struct read_only_fixture f;
    uint64_t number;

    (void)state;
    begin_local(&f, 3);
    wait_for_search(&f);
    say_asked(&f, "ro");
    say_asked(&f, "rw");
    expect(&f, "SUSPENDED; LOST");
    assert_int_equal(connect_to(&f, "c").id, 0);
    accept_as(&f, 2, false);
    expect(&f, "UP");
    assert_string_equal(asked(&f, &number), "");
    assert_int_equal(f.session.search.state, HF_ZK_SEARCH_ENDED);
    end(&f);
}

static void a_resumed_session_moves_too(void **state)
{
    struct read_only_fixture f;
    uint64_t number;

    (void)state;
    begin_resumed(&f);
    wait_for_search(&f);
    assert_string_equal(asked(&f, &number), "c");
    say_asked(&f, "rw");
    assert_int_equal(connect_to(&f, "c").id, 9);
    accept_as(&f, 9, false);
    expect(&f, "SUSPENDED; RESUMED");
    end(&f);
}

static void a_move_waits_for_what_is_in_flight(void **state)
{
    struct test_op ops[2];
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 2);
    start(&f, &ops[0], HF_ZOOKEEPER_EXISTS, "sent");
    (void)take_output(&f);
    wait_for_search(&f);
    say_asked(&f, "rw");
    start(&f, &ops[1], HF_ZOOKEEPER_EXISTS, "waiting");
    assert_int_equal(take_output(&f), 0);
    expect(&f, "");
    answer(&f, HF_ZK_OK);
    expect(&f, "sent HF_OK; SUSPENDED; LOST");
    (void)connect_to(&f, "b");
    accept_as(&f, 2, false);
    answer(&f, HF_ZK_OK);
    expect(&f, "UP; waiting HF_OK");
    end(&f);
}

/* A cut ends a move, too: the server that was found is the next one. */
static void a_cut_connection_goes_to_the_server_that_was_found(void **state)
{
    struct test_op op;
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 3);
    start(&f, &op, HF_ZOOKEEPER_EXISTS, "sent");
    wait_for_search(&f);
    say_asked(&f, "ro");
    say_asked(&f, "rw");
    cut(&f);
    (void)connect_to(&f, "c");
    accept_as(&f, 2, false);
    answer(&f, HF_ZK_OK);
    expect(&f, "SUSPENDED; LOST; UP; sent HF_OK");
    end(&f);
}

static void one_server_is_never_asked(void **state)
{
    struct read_only_fixture f;

    (void)state;
    begin_local(&f, 1);
    assert_int_equal(f.session.search.state, HF_ZK_SEARCH_ENDED);
    end(&f);
}

TEST_FILE(zk_read_only)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_only_is_asked_for_if_wanted),
        cmocka_unit_test(the_byte_for_read_only_may_be_missing),
        cmocka_unit_test(a_server_may_begin_no_session),
        cmocka_unit_test(writes_are_refused_and_reads_are_sent),
        cmocka_unit_test(a_write_that_waits_is_refused_when_connected),
        cmocka_unit_test(a_refusal_of_the_server_does_not_end_the_connection),
        cmocka_unit_test(a_local_session_is_offered_to_no_server),
        cmocka_unit_test(reads_go_on_in_the_session_after_a_local_one),
        cmocka_unit_test(a_local_session_may_be_ended_by_its_server),
        cmocka_unit_test(answers_do_not_keep_a_resumed_session),
        cmocka_unit_test(a_resumed_session_is_offered_again),
        cmocka_unit_test(a_local_session_proves_nothing),
        cmocka_unit_test(a_local_session_is_closed),
        cmocka_unit_test(a_sync_waits_for_a_quorum),
        cmocka_unit_test(the_others_are_asked_in_order_and_less_and_less_often),
        cmocka_unit_test(a_server_that_does_not_answer_is_given_up),
        cmocka_unit_test(a_server_with_a_quorum_is_moved_to),
        cmocka_unit_test(a_resumed_session_moves_too),
        cmocka_unit_test(a_move_waits_for_what_is_in_flight),
        cmocka_unit_test(a_cut_connection_goes_to_the_server_that_was_found),
        cmocka_unit_test(one_server_is_never_asked),
    };

    return RUN_TESTS(tests, NULL, NULL);
}
