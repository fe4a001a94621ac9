/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format, jute: byte by byte, and frames that are cut, too long, or
 * wrong. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/parent_nodes.h"
#include "heap/heap.h"
#include "zk_fixture.h"
#include "zookeeper/jute.h"

/* ------------------------------------------------------------------ jute -- */

TEST(each_type_has_its_bytes)
{
    static const uint8_t expected[] = {
        0x7f,                                           /* byte */
        0x01, 0x00,                                     /* bools */
        0x80, 0x00, 0x00, 0x01,                         /* int */
        0xff, 0xff, 0xff, 0xff,                         /* -1 */
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* long */
        0x00, 0x00, 0x00, 0x03, 'a',  0x00, 'b',        /* buffer */
        0x00, 0x00, 0x00, 0x02, 'o',  'k',              /* string */
        0x00, 0x00, 0x00, 0x00,                         /* "" */
        0xff, 0xff, 0xff, 0xff,                         /* null */
    };
    struct hf_jute_writer writer = {0};

    hf_jute_put_byte(&writer, 0x7f);
    hf_jute_put_bool(&writer, true);
    hf_jute_put_bool(&writer, false);
    hf_jute_put_int(&writer, INT32_MIN + 1);
    hf_jute_put_int(&writer, -1);
    hf_jute_put_long(&writer, 0x0102030405060708);
    hf_jute_put_buffer(&writer, "a\0b", 3);
    hf_jute_put_string(&writer, "ok");
    hf_jute_put_string(&writer, "");
    hf_jute_put_null(&writer);
    assert_int_equal(writer.used, sizeof expected);
    assert_memory_equal(writer.bytes, expected, sizeof expected);
    hf_jute_free(&writer);
    assert_null(writer.bytes);
}

TEST(frames_know_their_length)
{
    static const uint8_t expected[] = {0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 9};
    struct hf_jute_writer writer = {0};
    size_t first, second;

    first = hf_jute_begin_frame(&writer);
    hf_jute_end_frame(&writer, first);
    second = hf_jute_begin_frame(&writer);
    hf_jute_put_int(&writer, 7);
    hf_jute_end_frame(&writer, second);
    hf_jute_set_int(&writer, 8, 9);
    assert_int_equal(writer.used, sizeof expected);
    assert_memory_equal(writer.bytes, expected, sizeof expected);
    hf_jute_consume(&writer, 4);
    assert_int_equal(writer.used, 8);
    assert_memory_equal(writer.bytes, expected + 4, 8);
    hf_jute_consume(&writer, 8);
    assert_int_equal(writer.used, 0);
    hf_jute_free(&writer);
}

TEST(what_was_written_is_read)
{
    static const int64_t longs[] = {0, 1, -1, INT32_MAX, INT64_MIN, INT64_MAX};
    struct hf_jute_writer writer = {0};
    struct hf_jute_reader reader;

    for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
        hf_jute_put_long(&writer, longs[i]);
    hf_jute_put_int(&writer, INT32_MIN);
    hf_jute_put_int(&writer, INT32_MAX);
    hf_jute_put_byte(&writer, 0xfe);
    hf_jute_put_byte(&writer, 2);
    reader = (struct hf_jute_reader){writer.bytes, writer.used, false};
    for (size_t i = 0; i < sizeof longs / sizeof longs[0]; i++)
        assert_int_equal(hf_jute_get_long(&reader), longs[i]);
    assert_int_equal(hf_jute_get_int(&reader), INT32_MIN);
    assert_int_equal(hf_jute_get_int(&reader), INT32_MAX);
    assert_int_equal(hf_jute_get_byte(&reader), 0xfe);
    assert_true(hf_jute_get_bool(&reader)); /* as Java reads it */
    assert_false(reader.failed);
    assert_int_equal(reader.left, 0);
    hf_jute_free(&writer);
}

static struct hf_jute_reader reader_of(const char *bytes, size_t count)
{
    return (struct hf_jute_reader){(const uint8_t *)bytes, count, false};
}

TEST(whoever_reads_past_the_end_gets_zeros)
{
    static const char bytes[] = "\xff\xff\xff\xff\xff\xff\xff\xff";
    struct hf_jute_reader reader;

    for (size_t count = 0; count < 8; count++) {
        reader = reader_of(bytes, count);
        assert_int_equal(hf_jute_get_long(&reader), 0);
        assert_true(reader.failed);
        assert_int_equal(hf_jute_get_byte(&reader), 0); /* and for good */
    }
    for (size_t count = 0; count < 4; count++) {
        reader = reader_of(bytes, count);
        assert_int_equal(hf_jute_get_int(&reader), 0);
        assert_true(reader.failed);
    }
    reader = reader_of(bytes, 0);
    assert_false(hf_jute_get_bool(&reader));
    assert_true(reader.failed);
}

TEST(buffers_have_honest_lengths)
{
    static const struct {
        const char *bytes;
        size_t count;
        bool failed;
        int length; /* of the piece; -1: none */
    } rows[] = {
        {"\0\0\0\0", 4, false, 0},
        {"\0\0\0\1x", 5, false, 1},
        {"\0\0\0\2x", 5, true, -1},
        {"\xff\xff\xff\xff", 4, false, -1},
        {"\xff\xff\xff\xfe", 4, true, -1},
        {"\x80\0\0\0", 4, true, -1},
        {"\x7f\xff\xff\xff", 4, true, -1},
        {"\0\0\0", 3, true, -1},
        {"", 0, true, -1},
    };
    struct hf_jute_reader reader;
    struct hf_jute_piece piece;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reader = reader_of(rows[i].bytes, rows[i].count);
        piece = hf_jute_get_buffer(&reader);
        assert_int_equal(reader.failed, rows[i].failed);
        assert_int_equal(piece.bytes == NULL, rows[i].length < 0);
        assert_int_equal(piece.count, rows[i].length < 0 ? 0 : rows[i].length);
    }
}

TEST(counts_cannot_lie)
{
    static const struct {
        const char *bytes;
        size_t count;
        size_t least;
        bool failed;
        size_t expected;
    } rows[] = {
        {"\0\0\0\0", 4, 4, false, 0},
        {"\xff\xff\xff\xff", 4, 4, false, 0},
        {"\0\0\0\1abcd", 8, 4, false, 1},
        {"\0\0\0\1abc", 7, 4, true, 0},
        {"\0\0\0\2abcdefg", 11, 4, true, 0},
        {"\x7f\xff\xff\xff....", 8, 4, true, 0},
        {"\x7f\xff\xff\xff....", 8, 1, true, 0},
        {"\xff\xff\xff\xfe....", 8, 1, true, 0},
        {"\0\0", 2, 1, true, 0},
    };
    struct hf_jute_reader reader;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reader = reader_of(rows[i].bytes, rows[i].count);
        assert_int_equal(hf_jute_get_count(&reader, rows[i].least),
                         rows[i].expected);
        assert_int_equal(reader.failed, rows[i].failed);
    }
}

TEST(a_writer_without_memory_says_so)
{
    struct hf_jute_writer writer = {0};
    size_t begin;

    heap_fail(2, false);
    hf_jute_put_int(&writer, 1);
    assert_false(writer.failed);
    begin = hf_jute_begin_frame(&writer);
    for (int i = 0; i < 100; i++)
        hf_jute_put_long(&writer, i);
    assert_true(writer.failed);
    hf_jute_put_string(&writer, "text"); /* nothing more is written */
    hf_jute_end_frame(&writer, begin);
    assert_true(writer.used <= writer.size);
    heap_fail(0, false);
    hf_jute_free(&writer);
}

/* Each field has a byte that no other has, in the order of zookeeper.jute. */
TEST(a_stat_has_its_fields)
{
    static const char bytes[HF_ZK_STAT_BYTES + 1] =
        "\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3"
        "\0\0\0\0\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\7"
        "\x80\0\0\0\0\0\0\x08\0\0\0\x09\0\0\0\x0a"
        "\0\0\0\0\0\0\0\x0b";
    struct hf_jute_reader reader = reader_of(bytes, HF_ZK_STAT_BYTES);
    struct hf_zk_stat stat = hf_zk_get_stat(&reader);

    assert_false(reader.failed);
    assert_int_equal(reader.left, 0);
    assert_int_equal(stat.czxid, 1);
    assert_int_equal(stat.mzxid, 2);
    assert_int_equal(stat.ctime, 3);
    assert_int_equal(stat.mtime, 4);
    assert_int_equal(stat.version, 5);
    assert_int_equal(stat.cversion, 6);
    assert_int_equal(stat.aversion, 7);
    assert_int_equal(stat.owner, INT64_MIN + 8);
    assert_int_equal(stat.data_bytes, 9);
    assert_int_equal(stat.children, 10);
    assert_int_equal(stat.pzxid, 11);
}

/* ---------------------------------------------------------------- frames -- */

/* The bytes of a handshake, a create and a list, as servers want them.  All
 * other tests read frames with the reader that was tested above. */
ZK_TEST_FROM(requests_have_their_bytes, zk_fixture_init(f))
{
    static const uint8_t handshake[] = {
        0, 0, 0,    45,               /* length */
        0, 0, 0,    0,                /* version */
        0, 0, 0,    0,    0, 0, 0, 0, /* last zxid */
        0, 0, 0x27, 0x10,             /* timeout */
        0, 0, 0,    0,    0, 0, 0, 0, /* session */
        0, 0, 0,    16,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t list[] = {0, 0, 0, 15, /* length */
                                   0, 0, 0, 2,  /* xid */
                                   0, 0, 0, 8,  /* getChildren */
                                   0, 0, 0, 2,  '/', 'q', 0};
    static const uint8_t create[] = {0, 0, 0, 1, 0, 0, 0, 15, 0, 0, 0, 48};
    static const uint8_t acl[] = {0,   0,   0,   2,  'm', 'e', 0, 0,   0,   1,
                                  0,   0,   0,   31, 0,   0,   0, 5,   'w', 'o',
                                  'r', 'l', 'd', 0,  0,   0,   6, 'a', 'n', 'y',
                                  'o', 'n', 'e', 0,  0,   0,   3};
    static struct hf_request request = {.kind = HF_REQUEST_ENQUEUE,
                                        .queue = "q",
                                        .ticket_kind = HF_TICKET_MUTEX,
                                        .payload = "me"};
    const uint8_t *out;
    uint64_t number;
    size_t count;

    request.ticket = zk_fixture_id("a");
    assert_true(zk_fixture_open(f));
    (void)hf_zk_session_wanted_server(hf_zk_engine_session(f->zk), &number);
    hf_zk_session_connection_up(hf_zk_engine_session(f->zk), number, f->now_ms);
    out = hf_zk_session_output(hf_zk_engine_session(f->zk), &count);
    assert_int_equal(count, sizeof handshake);
    assert_memory_equal(out, handshake, sizeof handshake);
    hf_zk_session_written(hf_zk_engine_session(f->zk), count);
    f->up = true;
    f->raw_bytes = true; /* the fixture has not read the handshake */
    accept_session(f);
    hf_zk_engine_delete_right_note(f->zk, "/q");
    hf_zk_engine_submit(f->zk, &request, f->now_ms);
    out = hf_zk_session_output(hf_zk_engine_session(f->zk), &count);
    assert_int_equal(out[3] + 4 + sizeof list, count);
    assert_memory_equal(out + 4, create, sizeof create);
    assert_memory_equal(out + 16,
                        "/q/_c_61616161-6161-6161-6161-616161616161"
                        "-lock-",
                        48);
    assert_memory_equal(out + count - sizeof list - sizeof acl, acl,
                        sizeof acl);
    assert_memory_equal(out + count - sizeof list, list, sizeof list);
    hf_zk_session_written(hf_zk_engine_session(f->zk), 3); /* part by part */
    out = hf_zk_session_output(hf_zk_engine_session(f->zk), &count);
    assert_memory_equal(out + 1, create, sizeof create);
}

/* An enqueue, a wait and its end; answers come in pieces of ${chunk} bytes. */
static void answers_in_pieces(size_t chunk)
{
    struct zk_fixture f;

    zk_fixture_init(&f);
    assert_true(zk_fixture_open(&f));
    f.chunk = chunk;
    link_up(&f);
    accept_session(&f);
    assert_string_equal(zk_fixture_sent(&f), "HANDSHAKE 0x0 10000 0x0");
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    hold_answers(&f);
    created(&f, 5, 50);
    children(&f, "x#4 a#5");
    deliver_answers(&f);
    assert_string_equal(zk_fixture_sent(&f),
                        "CREATE2 q/a; LIST q | DATA q/x#4 w");
    data(&f, "him", 40, 7);
    ask(&f, HF_REQUEST_WATCH, "x");
    hold_answers(&f);
    event(&f, HF_ZK_NODE_DELETED, "q/x#4");
    header(&f, HF_ZK_XID_EVENT, 0); /* too short: ends the connection */
    deliver_answers(&f);
    assert_string_equal(zk_fixture_events(&f),
                        "CONNECTED 10000 1000; ENQUEUED a: x#4=him a#5@50; "
                        "WATCHING x; GONE x; SUSPENDED");
    zk_fixture_close(&f);
}

TEST(frames_come_in_pieces)
{
    for (size_t chunk = 0; chunk < 90; chunk++)
        answers_in_pieces(chunk);
}

TEST(impossible_lengths_end_the_connection)
{
    static const struct {
        const char *bytes;
        const char *text;
    } rows[] = {
        {"\xff\xff\xff\xff", "h1:2181: a frame of -1 bytes, expected at most "
                             "16777216"},
        {"\x80\0\0\0", "h1:2181: a frame of -2147483648 bytes, expected at "
                       "most 16777216"},
        {"\x40\0\0\x01", "h1:2181: a frame of 1073741825 bytes, expected at "
                         "most 16777216"},
        {"\x7f\xff\xff\xff", "h1:2181: a frame of 2147483647 bytes, expected "
                             "at most 16777216"},
        {"HTTP", "h1:2181: a frame of 1213486160 bytes, expected at most "
                 "16777216"},
    };
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t chunk = 0; chunk < 4; chunk++) {
            zk_fixture_connected(&f);
            f.chunk = chunk;
            receive(&f, rows[i].bytes, 4);
            assert_string_equal(zk_fixture_events(&f), "SUSPENDED");
            assert_string_equal(f.text, rows[i].text);
            assert_null(f.server); /* a pause, having tried all one of them */
            zk_fixture_close(&f);
        }
    }
}

/* Behind a correct frame, before the handshake is answered. */
TEST(a_bad_length_behind_a_good_frame)
{
    struct zk_fixture f;

    zk_fixture_connected(&f);
    run_until(&f, 4400);
    assert_string_equal(zk_fixture_sent(&f), "PING");
    receive(&f,
            "\0\0\0\x10\xff\xff\xff\xfe\0\0\0\0\0\0\0\0\0\0\0\0"
            "\xff\xff\xff\xf0",
            24);
    assert_string_equal(zk_fixture_events(&f), "SUSPENDED");
    zk_fixture_close(&f);

    zk_fixture_init(&f);
    assert_true(zk_fixture_open(&f));
    link_up(&f);
    receive(&f, "HTTP/1.1 400", 12);
    assert_string_equal(zk_fixture_events(&f), "");
    assert_null(f.server);
    zk_fixture_close(&f);
}

TEST(truncated_records_end_the_connection)
{
    static const uint8_t event_bytes[] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0,    0,    0,    0,    0,    0,    0,    2,    0,    0,
        0,    3,    0,    0,    0,    4,    '/',  'q',  '/',  'x'};
    uint8_t frame[4 + sizeof event_bytes];
    struct zk_fixture f;

    for (size_t count = 0; count < sizeof event_bytes; count++) {
        memset(frame, 0, 4);
        frame[3] = (uint8_t)count;
        memcpy(frame + 4, event_bytes, count);
        zk_fixture_connected(&f);
        receive(&f, frame, 4 + count);
        assert_string_equal(zk_fixture_events(&f), "SUSPENDED");
        zk_fixture_close(&f);
    }
    zk_fixture_connected(&f);
    frame[3] = sizeof event_bytes;
    memcpy(frame + 4, event_bytes, sizeof event_bytes);
    receive(&f, frame, sizeof frame);
    assert_string_equal(zk_fixture_events(&f), "");
    zk_fixture_close(&f);
}

/* Lists whose counts are greater than what follows, in every way, and a frame
 * of the greatest length. */
TEST(lists_that_lie)
{
    static const struct {
        const char *bytes;
        size_t count;
    } rows[] = {
        {"", 0},
        {"\0\0\0", 3},
        {"\0\0\0\1", 4},
        {"\0\0\0\2\0\0\0\1x", 9},
        {"\0\0\0\1\0\0\0\2x", 9},
        {"\xff\xff\xff\xfe", 4},
        {"\x7f\xff\xff\xff\0\0\0\0", 8},
        {"\0\0\0\1\xff\xff\xff\xfe", 8},
    };
    uint8_t frame[64] = {0};
    struct zk_fixture f;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zk_fixture_connected(&f);
        ask(&f, HF_REQUEST_LIST, "a");
        done(&f); /* the sync */
        frame[3] = (uint8_t)(16 + rows[i].count);
        frame[7] = (uint8_t)f.first->xid;
        memcpy(frame + 20, rows[i].bytes, rows[i].count);
        receive(&f, frame, 20 + rows[i].count);
        assert_string_equal(zk_fixture_events(&f), "FAILED LIST a RETRY");
        assert_string_equal(f.text, "cannot list /q: the answer makes no "
                                    "sense");
        assert_true(f.up);
        zk_fixture_close(&f);
    }
}

ZK_TEST(the_greatest_frame_is_taken)
{
    static uint8_t frame[4 + HF_ZK_FRAME_MAX] = {1, 0, 0, 0};

    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    frame[7] = (uint8_t)f->first->xid;
    f->chunk = 65536;
    receive(f, frame, sizeof frame);
    assert_string_equal(zk_fixture_events(f), "LISTED a:");
}

/* ------------------------------------------------ answers that are long -- */

#define ANSWER_MAX 60

/* A session whose answers may have ANSWER_MAX bytes. */
static void connected_with_a_limit(struct zk_fixture *f)
{
    zk_fixture_init(f);
    f->config.url.session.max_answer_bytes = ANSWER_MAX;
    assert_true(zk_fixture_open(f));
    link_up(f);
    accept_session(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

/* Write a frame with ${count} bytes behind its length, whose record is zeros,
 * and return its length. */
static size_t put_frame(uint8_t *bytes, int32_t xid, int32_t error,
                        size_t count)
{
    struct hf_jute_writer writer = {0};

    hf_jute_put_int(&writer, (int32_t)count);
    hf_jute_put_int(&writer, xid);
    hf_jute_put_long(&writer, 9);
    hf_jute_put_int(&writer, error);
    memset(bytes, 0, 4 + count);
    memcpy(bytes, writer.bytes, writer.used);
    hf_jute_free(&writer);
    return 4 + count;
}

/* The first answer is too long, the others are as long as they may be.  They
 * arrive in pieces of ${chunk} bytes. */
static void a_long_answer_in_pieces(size_t chunk)
{
    uint8_t bytes[4 * ANSWER_MAX];
    struct zk_fixture f;
    size_t used = 0;

    connected_with_a_limit(&f);
    ask(&f, HF_REQUEST_LIST, "a");
    f.queue = "r";
    ask(&f, HF_REQUEST_LIST, "b");
    assert_string_equal(zk_fixture_sent(&f), "SYNC q; LIST q | SYNC r; LIST r");
    done(&f);
    for (size_t i = 0; i < 3; i++) {
        used += put_frame(bytes + used, f.first->xid, 0,
                          i == 0 ? ANSWER_MAX + 1 : ANSWER_MAX);
        zk_fixture_drop_call(&f);
    }
    f.chunk = chunk;
    receive(&f, bytes, used);
    assert_string_equal(zk_fixture_events(&f),
                        "FAILED LIST a RETRY; LISTED b:");
    assert_int_equal(f.status, HF_ELIMIT);
    assert_string_equal(f.text,
                        "cannot list /q: the answer is too long, expected at "
                        "most 60 bytes; see how many nodes are there");
    f.chunk = 0;
    ask(&f, HF_REQUEST_LIST, "c");
    done(&f);
    children(&f, "");
    assert_string_equal(zk_fixture_events(&f), "LISTED c:");
    zk_fixture_close(&f);
}

TEST(a_long_answer_fails_its_call_alone)
{
    for (size_t chunk = 0; chunk < (size_t)4 * ANSWER_MAX; chunk++)
        a_long_answer_in_pieces(chunk);
}

/* What the server refused did not happen, however long the answer is. */
ZK_TEST_FROM(a_long_answer_keeps_its_error, connected_with_a_limit(f))
{
    uint8_t bytes[2 * ANSWER_MAX];

    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    receive(f, bytes,
            put_frame(bytes, f->first->xid, HF_ZK_NO_AUTH, ANSWER_MAX + 1));
    assert_string_equal(zk_fixture_events(f), "FAILED LIST a FATAL");
    assert_true(f->up);
}

ZK_TEST_FROM(a_long_answer_to_no_call_ends_the_connection,
             connected_with_a_limit(f))
{
    uint8_t bytes[2 * ANSWER_MAX];

    receive(f, bytes, put_frame(bytes, 17, 0, ANSWER_MAX + 1));
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
    assert_string_equal(f->text, "h1:2181: an answer to request 17, which is "
                                 "not the next one");
}

/* The limit is one of answers; the path of a node may be longer. */
ZK_TEST_FROM(an_event_may_be_longer_than_an_answer, connected_with_a_limit(f))
{
    char path[2 * ANSWER_MAX];
    uint8_t bytes[20];

    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    event_at(f, HF_ZK_NODE_DELETED, path);
    assert_true(f->up);
    put_frame(bytes, HF_ZK_XID_EVENT, 0, 16);
    bytes[0] = 1; /* the length of a frame that is too long for an event, too */
    receive(f, bytes, sizeof bytes);
    assert_string_equal(zk_fixture_events(f), "SUSPENDED");
    assert_string_equal(f->text, "h1:2181: a frame of 16777232 bytes, expected "
                                 "at most 16777216");
}

/* An answer of 64 MiB takes no more memory than a piece of it. */
ZK_TEST(a_long_answer_is_not_collected)
{
    static uint8_t piece[65536];

    ask(f, HF_REQUEST_LIST, "a");
    done(f);
    (void)put_frame(piece, f->first->xid, 0, sizeof piece - 4);
    piece[0] = 4; /* 64 MiB, and almost a piece */
    receive(f, piece, sizeof piece);
    zk_fixture_drop_call(f);
    assert_string_equal(zk_fixture_events(f), "FAILED LIST a RETRY");
    for (size_t i = 0; i < (64 << 20) / sizeof piece; i++)
        receive(f, piece, sizeof piece);
    assert_true(hf_zk_engine_session(f->zk)->wire.in_size <= sizeof piece);
    ask(f, HF_REQUEST_LIST, "b");
    done(f);
    children(f, "");
    assert_string_equal(zk_fixture_events(f), "LISTED b:");
}

TEST_FILE(zk_wire)
{
    struct zk_fixture f;

    zk_fixture_init(&f); /* the allocator, before anything is allocated */
    return RUN_TESTS(NULL, NULL);
}
