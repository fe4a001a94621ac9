/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of gRPC on a connection, with a server session of nghttp2 as the peer:
 * every way in which a call ends, and what the client refuses to take. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "cmocka/runner.h"
#include "grpc/grpc.h"
#include "grpc/grpc_connection.h"
#include "grpc_fake_server.h"
#include "heap/heap.h"

#define METHOD "/etcdserverpb.KV/Range"
#define MESSAGE_BYTES ((size_t)2 * 1024 * 1024)

/* A call of the client, and what came of it. */
struct caller {
    struct hf_grpc_call call;
    unsigned messages;
    size_t bytes; /* of all messages */
    char last[64];
    unsigned ends;
    struct hf_grpc_result result;
    char text[256];
    struct server *cancel; /* not NULL: cancel when a message comes */
};

static void on_message(struct hf_grpc_call *call, const void *bytes,
                       size_t count)
{
    struct caller *caller = call->user;
    size_t kept = count < sizeof caller->last ? count : sizeof caller->last - 1;

    assert_int_equal(caller->ends, 0);
    caller->messages++;
    caller->bytes += count;
    memcpy(caller->last, bytes, kept);
    caller->last[kept] = '\0';
    if (caller->cancel != NULL)
        hf_grpc_cancel(server_client(caller->cancel), call);
}

static void on_ended(struct hf_grpc_call *call,
                     const struct hf_grpc_result *result)
{
    struct caller *caller = call->user;

    assert_false(hf_grpc_running(call));
    caller->ends++;
    caller->result = *result;
    (void)snprintf(caller->text, sizeof caller->text, "%s", result->text);
}

static const struct hf_grpc_call_ops ops = {on_message, on_ended};

static struct server *server;
static struct caller callers[16];

static int set_up(void **state)
{
    (void)state;
    heap_install();
    server = server_open(100, MESSAGE_BYTES);
    assert_non_null(server_client(server));
    memset(callers, 0, sizeof callers);
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        callers[i].call.ops = &ops;
        callers[i].call.user = &callers[i];
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    server_close(server);
    server = NULL;
    assert_int_equal(heap_live(), 0);
    return 0;
}

#define GRPC_TEST(name) TEST_WITH(name, set_up, tear_down)

static struct hf_grpc *client(void)
{
    return server_client(server);
}

/* Begin a unary call with ${request}. */
static struct caller *begin(size_t index, const char *request)
{
    struct caller *caller = &callers[index];

    assert_int_equal(hf_grpc_start(client(), &caller->call, METHOD, NULL),
                     HF_OK);
    assert_int_equal(
        hf_grpc_send(client(), &caller->call, request, strlen(request), true),
        HF_OK);
    return caller;
}

/* Begin one, and bring it to the server. */
static struct server_stream *arrive(size_t index)
{
    (void)begin(index, "request");
    assert_true(server_pump(server));
    return server_stream(server, server_streams(server) - 1);
}

static void assert_ended(const struct caller *caller,
                         enum hf_grpc_status status, const char *text)
{
    assert_int_equal(caller->ends, 1);
    assert_int_equal(caller->result.status, status);
    if (strstr(caller->text, text) == NULL)
        fail_msg("the text is: %s", caller->text);
}

/* --------------------------------------------------------------- answers -- */

GRPC_TEST(unary)
{
    static const struct hf_grpc_metadata metadata = {"secret", true};
    struct caller *caller = &callers[0];
    struct server_stream *stream;

    assert_int_equal(hf_grpc_start(client(), &caller->call, METHOD, &metadata),
                     HF_OK);
    assert_false(hf_grpc_sent(&caller->call));
    assert_int_equal(hf_grpc_send(client(), &caller->call, "abc", 3, true),
                     HF_OK);
    assert_true(server_pump(server));
    assert_true(hf_grpc_sent(&caller->call));
    stream = server_stream(server, 0);
    assert_string_equal(stream->path, METHOD);
    assert_string_equal(stream->token, "secret");
    assert_string_equal(stream->hasleader, "true");
    assert_int_equal(stream->received_bytes, 8);
    assert_memory_equal(stream->received, "\0\0\0\0\3abc", 8);
    assert_true(stream->ended);
    server_headers(server, stream, "200", "application/grpc");
    server_message(server, stream, "answer", 6);
    server_trailers(server, stream, 0, "");
    assert_true(server_pump(server));
    assert_int_equal(caller->messages, 1);
    assert_string_equal(caller->last, "answer");
    assert_ended(caller, HF_GRPC_OK, "");
    assert_true(caller->result.answered);
    assert_false(caller->result.unprocessed);
    assert_true(stream->closed);
    assert_int_equal(hf_grpc_calls(client()), 0);
}

GRPC_TEST(empty_messages)
{
    struct caller *caller = begin(0, "");
    struct server_stream *stream;

    assert_true(server_pump(server));
    stream = server_stream(server, 0);
    assert_int_equal(stream->received_bytes, 5);
    assert_string_equal(stream->token, "");
    server_headers(server, stream, "200", "application/grpc+proto");
    server_message(server, stream, "", 0);
    server_trailers(server, stream, 0, "");
    assert_true(server_pump(server));
    assert_int_equal(caller->messages, 1);
    assert_ended(caller, HF_GRPC_OK, "");
}

GRPC_TEST(a_call_can_be_started_again)
{
    for (int i = 0; i < 3; i++) {
        struct server_stream *stream;

        callers[0].ends = 0;
        stream = arrive(0);
        server_trailers_only(server, stream, "14", "etcdserver: no leader");
        assert_true(server_pump(server));
        assert_ended(&callers[0], HF_GRPC_UNAVAILABLE, "no leader");
        assert_true(callers[0].result.answered);
    }
}

GRPC_TEST(stream_in_both_directions)
{
    struct caller *caller = &callers[0];
    struct server_stream *stream;

    assert_int_equal(hf_grpc_start(client(), &caller->call, METHOD, NULL),
                     HF_OK);
    assert_true(server_pump(server));
    stream = server_stream(server, 0);
    server_headers(server, stream, "200", "application/grpc");
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(hf_grpc_send(client(), &caller->call, "ask", 3, false),
                         HF_OK);
        assert_true(server_pump(server));
        assert_int_equal(stream->received_bytes, i * 8);
        server_message(server, stream, "one", 3);
        server_message(server, stream, "two", 3);
        assert_true(server_pump(server));
        assert_int_equal(caller->messages, 2 * i);
    }
    assert_false(stream->ended);
    /* The server ends it, and the client then has nothing to say either. */
    server_trailers(server, stream, 0, "");
    assert_true(server_pump(server));
    assert_ended(caller, HF_GRPC_OK, "");
    assert_true(stream->closed);
    assert_int_equal(stream->reset, NGHTTP2_NO_ERROR);
}

/* More than any window, in both directions, and in messages that do not end
 * where frames end. */
GRPC_TEST(windows_are_opened)
{
    struct caller *caller = &callers[0];
    size_t bytes = MESSAGE_BYTES - 7;
    uint8_t *big = calloc(1, bytes);
    struct server_stream *stream;

    assert_non_null(big);
    assert_int_equal(hf_grpc_start(client(), &caller->call, METHOD, NULL),
                     HF_OK);
    assert_int_equal(hf_grpc_send(client(), &caller->call, big, bytes, false),
                     HF_OK);
    assert_int_equal(hf_grpc_send(client(), &caller->call, "x", 1, true),
                     HF_OK);
    assert_false(hf_grpc_sent(&caller->call));
    assert_true(server_pump(server));
    assert_true(hf_grpc_sent(&caller->call));
    stream = server_stream(server, 0);
    assert_int_equal(stream->received_bytes, bytes + 5 + 6);
    server_headers(server, stream, "200", "application/grpc");
    for (int i = 0; i < 10; i++) {
        server_message(server, stream, big, bytes);
        server_message(server, stream, "small", 5);
        assert_true(server_pump(server));
    }
    assert_int_equal(caller->messages, 20);
    assert_int_equal(caller->bytes, 10 * (bytes + 5));
    assert_string_equal(caller->last, "small");
    free(big);
}

/* ---------------------------------------------------------------- errors -- */

GRPC_TEST(trailers_only)
{
    struct server_stream *stream = arrive(0);

    server_trailers_only(server, stream, "8",
                         "etcdserver: %C3%BC %zz 100% done%00%4");
    assert_true(server_pump(server));
    assert_ended(&callers[0], HF_GRPC_RESOURCE_EXHAUSTED,
                 "etcdserver: \xc3\xbc %zz 100% done?%4");
    assert_int_equal(callers[0].messages, 0);
    assert_true(callers[0].result.answered);
    assert_false(callers[0].result.unprocessed);
}

GRPC_TEST(unknown_status)
{
    server_trailers_only(server, arrive(0), "17", "");
    server_trailers_only(server, arrive(1), "many", "");
    server_trailers_only(server, arrive(2), "", "");
    assert_true(server_pump(server));
    for (size_t i = 0; i < 3; i++)
        assert_ended(&callers[i], HF_GRPC_UNKNOWN, "");
}

GRPC_TEST(no_grpc)
{
    static const struct {
        const char *http_status;
        const char *content_type;
        enum hf_grpc_status status;
        const char *text;
    } answers[] = {
        {"503", "text/html", HF_GRPC_UNAVAILABLE, "HTTP status 503"},
        {"404", "text/html", HF_GRPC_UNIMPLEMENTED, "HTTP status 404"},
        {"401", "text/html", HF_GRPC_UNAUTHENTICATED, "HTTP status 401"},
        {"403", "text/html", HF_GRPC_PERMISSION_DENIED, "HTTP status 403"},
        {"400", "text/html", HF_GRPC_INTERNAL, "HTTP status 400"},
        {"500", "text/html", HF_GRPC_UNKNOWN, "HTTP status 500"},
        {"200", "text/html", HF_GRPC_UNKNOWN, "content-type application/grpc"},
    };
    struct server_stream *stream;

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        stream = arrive(i);
        server_headers(server, stream, answers[i].http_status,
                       answers[i].content_type);
        server_bytes(server, stream, "<html>is no message", 19);
        assert_true(server_pump(server));
        server_reset(server, stream, NGHTTP2_NO_ERROR);
        assert_true(server_pump(server));
        assert_ended(&callers[i], answers[i].status, answers[i].text);
        assert_false(callers[i].result.answered);
        assert_int_equal(callers[i].messages, 0);
    }
}

GRPC_TEST(resets)
{
    static const struct {
        uint32_t error;
        enum hf_grpc_status status;
        bool unprocessed;
    } resets[] = {
        {NGHTTP2_REFUSED_STREAM, HF_GRPC_UNAVAILABLE, true},
        {NGHTTP2_CANCEL, HF_GRPC_CANCELLED, false},
        {NGHTTP2_ENHANCE_YOUR_CALM, HF_GRPC_UNAVAILABLE, false},
        {NGHTTP2_INADEQUATE_SECURITY, HF_GRPC_PERMISSION_DENIED, false},
        {NGHTTP2_INTERNAL_ERROR, HF_GRPC_INTERNAL, false},
        {NGHTTP2_NO_ERROR, HF_GRPC_UNKNOWN, false},
    };

    for (size_t i = 0; i < sizeof resets / sizeof *resets; i++) {
        server_reset(server, arrive(i), resets[i].error);
        assert_true(server_pump(server));
        assert_ended(&callers[i], resets[i].status, "");
        assert_int_equal(callers[i].result.unprocessed, resets[i].unprocessed);
        assert_false(callers[i].result.answered);
    }
}

/* OK is no answer if half a message is in front of it. */
GRPC_TEST(ends_inside_a_message)
{
    struct server_stream *stream = arrive(0);

    server_headers(server, stream, "200", "application/grpc");
    server_bytes(server, stream, "\0\0\0\0\7half", 9);
    server_trailers(server, stream, 0, "");
    assert_true(server_pump(server));
    assert_ended(&callers[0], HF_GRPC_INTERNAL, "inside of a message");
    assert_false(callers[0].result.answered);
}

GRPC_TEST(compressed_message)
{
    struct server_stream *stream = arrive(0);

    server_headers(server, stream, "200", "application/grpc");
    server_bytes(server, stream, "\1\0\0\0\1x", 6);
    assert_true(server_pump(server));
    assert_ended(&callers[0], HF_GRPC_INTERNAL, "compressed");
    assert_int_equal(stream->reset, NGHTTP2_CANCEL);
}

GRPC_TEST(too_long_message)
{
    struct server_stream *stream = arrive(0);

    server_headers(server, stream, "200", "application/grpc");
    server_bytes(server, stream, "\0\x7f\xff\xff\xff", 5);
    assert_true(server_pump(server));
    assert_ended(&callers[0], HF_GRPC_RESOURCE_EXHAUSTED,
                 "too long; expected at most 2097152 bytes");
    assert_int_equal(stream->reset, NGHTTP2_CANCEL);
    /* The connection goes on. */
    server_trailers_only(server, arrive(1), "0", "");
    assert_true(server_pump(server));
    assert_ended(&callers[1], HF_GRPC_OK, "");
}

/* Each may be long, but not all at once.  A buffer grows with the bytes that
 * came, and never beyond what was announced. */
GRPC_TEST(too_many_incomplete_messages)
{
    uint8_t *big = calloc(1, MESSAGE_BYTES);
    unsigned refused = 0;

    assert_non_null(big);
    for (size_t i = 0; i < 4; i++) {
        struct server_stream *stream = arrive(i);

        server_headers(server, stream, "200", "application/grpc");
        server_bytes(server, stream, "\0\0\x20\0\0", 5);
        server_bytes(server, stream, big, MESSAGE_BYTES - 1);
        assert_true(server_pump(server));
        assert_true(heap_bytes() < (long)(2 * MESSAGE_BYTES) + 1024L * 1024);
    }
    for (size_t i = 0; i < 4; i++) {
        refused += callers[i].ends;
        if (callers[i].ends > 0)
            assert_ended(&callers[i], HF_GRPC_RESOURCE_EXHAUSTED,
                         "not complete have too many bytes");
    }
    assert_int_equal(refused, 2);
    free(big);
}

/* A long text is cut, and more than that is refused. */
GRPC_TEST(long_headers)
{
    static char message[20000];

    memset(message, 'x', sizeof message - 1);
    server_trailers_only(server, arrive(0), "0", message + 15000);
    assert_true(server_pump(server));
    assert_int_equal(strlen(callers[0].text), 255);
    assert_ended(&callers[0], HF_GRPC_OK, "xxx");
    server_trailers_only(server, arrive(1), "0", message);
    assert_true(server_pump(server));
    assert_ended(&callers[1], HF_GRPC_INTERNAL, "headers are too long");
}

/* ------------------------------------------------------------ the limits -- */

GRPC_TEST(too_many_calls)
{
    for (size_t i = 0; i < 8; i++)
        (void)begin(i, "x");
    assert_int_equal(hf_grpc_start(client(), &callers[8].call, METHOD, NULL),
                     HF_ELIMIT);
    assert_false(hf_grpc_running(&callers[8].call));
    hf_grpc_cancel(client(), &callers[3].call);
    (void)begin(8, "x");
    assert_int_equal(hf_grpc_calls(client()), 8);
}

GRPC_TEST(too_many_waiting_bytes)
{
    struct caller *caller = &callers[0];
    uint8_t *big = calloc(1, MESSAGE_BYTES);

    assert_non_null(big);
    assert_int_equal(hf_grpc_start(client(), &caller->call, METHOD, NULL),
                     HF_OK);
    assert_int_equal(
        hf_grpc_send(client(), &caller->call, big, MESSAGE_BYTES, false),
        HF_OK);
    assert_int_equal(
        hf_grpc_send(client(), &caller->call, big, MESSAGE_BYTES, false),
        HF_ELIMIT);
    assert_true(server_pump(server));
    assert_int_equal(
        hf_grpc_send(client(), &caller->call, big, MESSAGE_BYTES, true), HF_OK);
    free(big);
}

/* Calls above the number of streams wait, and begin in their order. */
GRPC_TEST(more_calls_than_streams)
{
    server_close(server);
    server = server_open(2, MESSAGE_BYTES);
    assert_true(server_pump(server));
    for (size_t i = 0; i < 6; i++)
        (void)begin(i, "x");
    for (size_t i = 0; i < 6; i++) {
        assert_true(server_pump(server));
        assert_int_equal(server_streams(server), i + 2 < 6 ? i + 2 : 6);
        server_trailers_only(server, server_stream(server, i), "0", "");
        assert_true(server_pump(server));
        assert_ended(&callers[i], HF_GRPC_OK, "");
    }
}

/* One that waits is cancelled: it never comes to the server. */
GRPC_TEST(cancel_before_there_is_a_stream)
{
    server_close(server);
    server = server_open(1, MESSAGE_BYTES);
    assert_true(server_pump(server));
    for (size_t i = 0; i < 3; i++)
        (void)begin(i, "x");
    assert_true(server_pump(server));
    hf_grpc_cancel(client(), &callers[1].call);
    server_trailers_only(server, server_stream(server, 0), "0", "");
    assert_true(server_pump(server));
    assert_int_equal(server_streams(server), 2);
    server_trailers_only(server, server_stream(server, 1), "0", "");
    assert_true(server_pump(server));
    assert_int_equal(callers[1].ends, 0);
    assert_ended(&callers[2], HF_GRPC_OK, "");
}

/* What is cancelled and waits is bounded too. */
GRPC_TEST(cancelled_calls_do_not_pile_up)
{
    unsigned begun = 0;
    long bytes;

    server_close(server);
    server = server_open(1, MESSAGE_BYTES);
    assert_true(server_pump(server));
    (void)begin(0, "x");
    assert_true(server_pump(server));
    bytes = heap_bytes();
    for (int i = 0; i < 10000; i++) {
        if (hf_grpc_start(client(), &callers[1].call, METHOD, NULL) != HF_OK)
            continue;
        begun++;
        hf_grpc_cancel(client(), &callers[1].call);
    }
    assert_true(begun >= 8 && begun < 100);
    assert_true(heap_bytes() < bytes + 256L * 1024);
}

/* ---------------------------------------------------------------- cancel -- */

GRPC_TEST(cancel)
{
    struct server_stream *stream = arrive(0);

    hf_grpc_cancel(client(), &callers[0].call);
    assert_false(hf_grpc_running(&callers[0].call));
    server_headers(server, stream, "200", "application/grpc");
    server_message(server, stream, "late", 4);
    assert_true(server_pump(server));
    assert_int_equal(stream->reset, NGHTTP2_CANCEL);
    assert_int_equal(callers[0].messages, 0);
    assert_int_equal(callers[0].ends, 0);
}

GRPC_TEST(cancel_from_a_message)
{
    struct server_stream *stream = arrive(0);

    callers[0].cancel = server;
    server_headers(server, stream, "200", "application/grpc");
    server_message(server, stream, "one", 3);
    server_message(server, stream, "two", 3);
    assert_true(server_pump(server));
    assert_string_equal(callers[0].last, "one");
    assert_int_equal(callers[0].ends, 0);
}

/* ----------------------------------------------------------------- ends -- */

GRPC_TEST(goaway)
{
    struct server_stream *first = arrive(0);

    (void)arrive(1);
    (void)begin(2, "x"); /* not sent yet */
    server_goaway(server, first->id, NGHTTP2_NO_ERROR, "");
    /* The third call is on its way when GOAWAY arrives, and is not counted. */
    (void)server_pump(server);
    assert_true(hf_grpc_going_away(client()));
    for (size_t i = 1; i < 3; i++) {
        assert_ended(&callers[i], HF_GRPC_UNAVAILABLE, "");
        assert_true(callers[i].result.unprocessed);
    }
    assert_int_equal(hf_grpc_start(client(), &callers[3].call, METHOD, NULL),
                     HF_EUNREACHABLE);
    assert_int_equal(callers[0].ends, 0);
    server_trailers_only(server, first, "0", "");
    assert_false(server_pump(server));
    assert_ended(&callers[0], HF_GRPC_OK, "");
    assert_string_equal(hf_grpc_failure(client()),
                        "the server ended the connection");
}

/* Calls for which there was no stream yet end at once. */
GRPC_TEST(goaway_with_calls_that_wait)
{
    server_close(server);
    server = server_open(1, MESSAGE_BYTES);
    assert_true(server_pump(server));
    for (size_t i = 0; i < 4; i++)
        (void)begin(i, "x");
    assert_true(server_pump(server));
    server_goaway(server, 0x7fffffff, NGHTTP2_ENHANCE_YOUR_CALM,
                  "too_many_pings");
    assert_true(server_pump(server));
    for (size_t i = 1; i < 4; i++) {
        assert_ended(&callers[i], HF_GRPC_UNAVAILABLE, "ends the connection");
        assert_true(callers[i].result.unprocessed);
    }
    assert_int_equal(callers[0].ends, 0);
    server_trailers_only(server, server_stream(server, 0), "0", "");
    assert_false(server_pump(server));
    assert_non_null(strstr(hf_grpc_failure(client()), "too_many_pings"));
}

/* The last number of a stream ends the connection as GOAWAY does: what runs
 * goes on, and nothing begins. */
GRPC_TEST(the_numbers_of_streams_are_used_up)
{
    const int32_t last_but_one = 0x7ffffffd;

    assert_int_equal(
        nghttp2_session_set_next_stream_id(client()->http2, last_but_one), 0);
    (void)arrive(0);
    assert_false(hf_grpc_going_away(client()));
    (void)arrive(1);
    assert_int_equal(server_stream(server, 1)->id, 0x7fffffff);
    assert_true(hf_grpc_going_away(client()));
    assert_int_equal(hf_grpc_start(client(), &callers[2].call, METHOD, NULL),
                     HF_EUNREACHABLE);
    for (size_t i = 0; i < 2; i++) {
        server_trailers_only(server, server_stream(server, i), "0", "");
        assert_true(server_pump(server));
        assert_ended(&callers[i], HF_GRPC_OK, "");
    }
}

GRPC_TEST(free_ends_the_calls)
{
    struct caller *sent = &callers[0];
    struct caller *half = &callers[1];
    struct caller *unsent = &callers[2];
    size_t count;

    (void)arrive(0);
    (void)begin(1, "request");
    (void)hf_grpc_output(client(), &count);
    hf_grpc_written(client(), 1);
    assert_false(hf_grpc_sent(&half->call));
    (void)begin(2, "request");
    server_free_client(server);
    assert_ended(sent, HF_GRPC_UNAVAILABLE, "the connection was closed");
    assert_false(sent->result.unprocessed);
    assert_false(sent->result.answered);
    assert_ended(half, HF_GRPC_UNAVAILABLE, "the connection was closed");
    assert_true(half->result.unprocessed);
    assert_ended(unsent, HF_GRPC_UNAVAILABLE, "the connection was closed");
    assert_true(unsent->result.unprocessed);
}

/* --------------------------------------------------------------- garbage -- */

GRPC_TEST(a_server_of_http_1)
{
    static const char answer[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    size_t count;

    (void)begin(0, "x");
    (void)hf_grpc_receive(client(), answer, sizeof answer - 1);
    (void)hf_grpc_output(client(), &count);
    assert_non_null(strstr(hf_grpc_failure(client()),
                           "does not speak HTTP/2; expected a server of gRPC"));
    assert_false(hf_grpc_receive(client(), answer, 1));
    assert_int_equal(hf_grpc_start(client(), &callers[1].call, METHOD, NULL),
                     HF_EUNREACHABLE);
}

GRPC_TEST(a_server_of_tls)
{
    assert_false(hf_grpc_receive(client(), "\x15\x03\x01\0\2\2\x16", 7));
    assert_non_null(strstr(hf_grpc_failure(client()), "answers with TLS"));
}

GRPC_TEST(a_broken_frame)
{
    size_t count;

    (void)arrive(0);
    /* SETTINGS with a length that is no multiple of six. */
    (void)hf_grpc_receive(client(), "\0\0\1\4\0\0\0\0\0x", 10);
    (void)hf_grpc_output(client(), &count);
    assert_non_null(strstr(hf_grpc_failure(client()), "rules of HTTP/2"));
    assert_int_equal(callers[0].ends, 0);
    server_free_client(server);
    assert_ended(&callers[0], HF_GRPC_UNAVAILABLE, "rules of HTTP/2");
    assert_false(callers[0].result.unprocessed);
}

/* A server that wants answers to what it sends for ever. */
/* Frames of 17 bytes. */
#define PING_BYTES 17

static void receive_ping(const char *data)
{
    uint8_t ping[PING_BYTES] = {0, 0, 8, 6};

    memcpy(ping + 9, data, 8);
    assert_true(hf_grpc_receive(client(), ping, sizeof ping));
}

/* How many acknowledgements of a ping with ${data} the client sends now. */
static unsigned acknowledged(const char *data)
{
    uint8_t ack[PING_BYTES] = {0, 0, 8, 6, 1};
    size_t count;
    const uint8_t *output = hf_grpc_output(client(), &count);
    unsigned found = 0;

    memcpy(ack + 9, data, 8);
    for (size_t i = 0; i + PING_BYTES <= count; i++)
        found += memcmp(output + i, ack, PING_BYTES) == 0;
    hf_grpc_written(client(), count);
    return found;
}

/* That of a server in Go, with the answers to most calls. */
GRPC_TEST(a_ping_that_measures_is_acknowledged_with_the_next_request)
{
    static const char measuring[] = {2, 4, 16, 16, 9, 14, 7, 7};

    (void)arrive(0);
    receive_ping(measuring);
    assert_int_equal(acknowledged(measuring), 0);
    (void)begin(1, "request");
    assert_int_equal(acknowledged(measuring), 1);
    receive_ping(measuring);
    receive_ping(measuring);
    assert_int_equal(acknowledged(measuring), 2);
    (void)begin(2, "request");
    assert_int_equal(acknowledged(measuring), 0);
}

/* A server ends the connection if the answer does not come. */
GRPC_TEST(any_other_ping_is_acknowledged_at_once)
{
    (void)arrive(0);
    receive_ping("\0\0\0\0\0\0\0");
    assert_int_equal(acknowledged("\0\0\0\0\0\0\0"), 1);
    receive_ping("\1\6\1\10\0\3\3\11");
    assert_int_equal(acknowledged("\1\6\1\10\0\3\3\11"), 1);
}

GRPC_TEST(a_flood_of_pings)
{
    static const uint8_t ping[17] = {0, 0, 8, 6};
    bool good = true;

    assert_true(server_pump(server));
    for (int i = 0; i < 100000 && good; i++)
        good = hf_grpc_receive(client(), ping, sizeof ping);
    assert_false(good);
    assert_true(heap_bytes() < 1024L * 1024);
}

/* ---------------------------------------------------------------- memory -- */

/* All of a conversation, with a large answer in parts. */
static void converse(void)
{
    static const struct hf_grpc_metadata metadata = {"secret", true};
    static uint8_t big[100000];
    struct caller *caller = &callers[0];
    struct server_stream *stream;

    if (client() == NULL ||
        hf_grpc_start(client(), &caller->call, METHOD, &metadata) != HF_OK)
        return;
    (void)hf_grpc_send(client(), &caller->call, big, sizeof big, true);
    if (!server_pump(server) || server_streams(server) == 0)
        return;
    stream = server_stream(server, 0);
    server_headers(server, stream, "200", "application/grpc");
    server_message(server, stream, big, sizeof big);
    server_trailers(server, stream, 0, "");
    (void)server_pump(server);
}

TEST(no_memory)
{
    unsigned long nth = 0;

    do {
        heap_install();
        nth++;
        heap_fail(nth, nth % 2 == 0);
        memset(callers, 0, sizeof callers);
        callers[0].call.ops = &ops;
        callers[0].call.user = &callers[0];
        server = server_open(100, MESSAGE_BYTES);
        converse();
        server_close(server);
        assert_int_equal(heap_live(), 0);
        assert_false(hf_grpc_running(&callers[0].call));
        assert_true(callers[0].ends <= 1);
    } while (heap_failed());
    assert_ended(&callers[0], HF_GRPC_OK, "");
    assert_true(nth > 20);
}

TEST(names_of_statuses)
{
    assert_string_equal(hf_grpc_status_name(HF_GRPC_OK), "OK");
    assert_string_equal(hf_grpc_status_name(HF_GRPC_UNAUTHENTICATED),
                        "UNAUTHENTICATED");
    assert_string_equal(hf_grpc_status_name((enum hf_grpc_status)99),
                        "UNKNOWN");
}
