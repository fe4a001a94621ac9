/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc_fake_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "cmocka/runner.h"
#include "heap/heap.h"

/* More turns than any test needs. */
#define PUMP_TURNS 10000

struct server {
    nghttp2_session *http2;
    struct hf_grpc *client;
    struct server_stream streams[SERVER_STREAMS];
    size_t count;
};

/* ------------------------------------------------------------- callbacks -- */

static struct server_stream *find(struct server *server, int32_t id)
{
    for (size_t i = 0; i < server->count; i++) {
        if (server->streams[i].id == id)
            return &server->streams[i];
    }
    return NULL;
}

static int on_begin(nghttp2_session *http2, const nghttp2_frame *frame,
                    void *user)
{
    struct server *server = user;

    (void)http2;
    if (find(server, frame->hd.stream_id) != NULL)
        return 0;
    assert_true(server->count < SERVER_STREAMS);
    server->streams[server->count++] =
        (struct server_stream){.id = frame->hd.stream_id, .trailers = -1};
    return 0;
}

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_bytes,
                     const uint8_t *value, size_t value_bytes, uint8_t flags,
                     void *user)
{
    struct server_stream *stream = find(user, frame->hd.stream_id);
    char *to = NULL;

    (void)http2;
    (void)name_bytes;
    (void)flags;
    assert_true(value_bytes < sizeof stream->path);
    if (strcmp((const char *)name, ":path") == 0)
        to = stream->path;
    else if (strcmp((const char *)name, "token") == 0)
        to = stream->token;
    else if (strcmp((const char *)name, "hasleader") == 0)
        to = stream->hasleader;
    if (to != NULL)
        (void)strcpy(to, (const char *)value);
    return 0;
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t id,
                   const uint8_t *bytes, size_t count, void *user)
{
    struct server_stream *stream = find(user, id);

    (void)http2;
    (void)flags;
    if (stream->received_bytes + count > stream->received_room) {
        stream->received_room = 2 * (stream->received_bytes + count);
        stream->received = realloc(stream->received, stream->received_room);
        assert_non_null(stream->received);
    }
    memcpy(stream->received + stream->received_bytes, bytes, count);
    stream->received_bytes += count;
    return 0;
}

static int on_frame(nghttp2_session *http2, const nghttp2_frame *frame,
                    void *user)
{
    struct server_stream *stream = find(user, frame->hd.stream_id);

    (void)http2;
    if (stream == NULL)
        return 0;
    if (frame->hd.type == NGHTTP2_RST_STREAM)
        stream->reset = frame->rst_stream.error_code;
    else if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
             (frame->hd.type == NGHTTP2_DATA ||
              frame->hd.type == NGHTTP2_HEADERS))
        stream->ended = true;
    return 0;
}

static int on_close(nghttp2_session *http2, int32_t id, uint32_t error,
                    void *user)
{
    struct server_stream *stream = find(user, id);

    (void)http2;
    (void)error;
    if (stream != NULL)
        stream->closed = true;
    return 0;
}

/* --------------------------------------------------------------- session -- */

struct server *server_open(uint32_t streams, size_t message_bytes)
{
    const struct hf_grpc_config config = {
        .authority = "server:2379",
        .message_bytes = message_bytes,
        .waiting_bytes = (size_t)4 * 1024 * 1024,
        .calls = 8,
    };
    const nghttp2_settings_entry setting = {
        NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams};
    struct server *server = calloc(1, sizeof *server);
    nghttp2_session_callbacks *callbacks;

    assert_non_null(server);
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks,
                                                            on_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    assert_int_equal(
        nghttp2_session_server_new(&server->http2, callbacks, server), 0);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(
        nghttp2_submit_settings(server->http2, NGHTTP2_FLAG_NONE, &setting, 1),
        0);
    server->client = hf_grpc_new(&config);
    return server;
}

void server_free_client(struct server *server)
{
    hf_grpc_free(server->client);
    server->client = NULL;
}

void server_close(struct server *server)
{
    server_free_client(server);
    nghttp2_session_del(server->http2);
    for (size_t i = 0; i < server->count; i++) {
        free(server->streams[i].received);
        free(server->streams[i].output);
    }
    free(server);
}

struct hf_grpc *server_client(struct server *server)
{
    return server->client;
}

size_t server_streams(const struct server *server)
{
    return server->count;
}

struct server_stream *server_stream(struct server *server, size_t index)
{
    assert_true(index < server->count);
    return &server->streams[index];
}

/* ------------------------------------------------------------------ pump -- */

/* The bytes of the client to the server; 0: none. */
static size_t pass_requests(struct server *server)
{
    size_t count;
    const void *bytes = hf_grpc_output(server->client, &count);
    size_t part = count < 1000 ? count : 1000;

    if (part == 0)
        return 0;
    /* What the server makes of it is not what is tested. */
    (void)nghttp2_session_mem_recv(server->http2, bytes, part);
    hf_grpc_written(server->client, part);
    return part;
}

/* The bytes of the server to the client, in two parts. */
static size_t pass_answers(struct server *server, bool *failed)
{
    const uint8_t *bytes;
    ssize_t count = nghttp2_session_mem_send(server->http2, &bytes);
    size_t first;

    assert_true(count >= 0);
    if (count == 0)
        return 0;
    first = (size_t)count / 3;
    *failed =
        !hf_grpc_receive(server->client, bytes, first) ||
        !hf_grpc_receive(server->client, bytes + first, (size_t)count - first);
    return (size_t)count;
}

void server_pump_requests(struct server *server)
{
    while (pass_requests(server) > 0)
        continue;
}

bool server_pump(struct server *server)
{
    bool failed = false;

    for (int i = 0; i < PUMP_TURNS; i++) {
        size_t passed = pass_requests(server);

        passed += pass_answers(server, &failed);
        if (failed || hf_grpc_failure(server->client) != NULL)
            return false;
        if (passed == 0)
            return true;
    }
    fail_msg("bytes pass for ever");
    return false;
}

/* --------------------------------------------------------------- answers -- */

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value,
                        strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static void submit_trailers(nghttp2_session *http2,
                            struct server_stream *stream, const char *status)
{
    const nghttp2_nv trailers[] = {header("grpc-status", status),
                                   header("grpc-message", stream->message)};

    assert_int_equal(nghttp2_submit_trailer(http2, stream->id, trailers, 2), 0);
}

static ssize_t on_read(nghttp2_session *http2, int32_t id, uint8_t *bytes,
                       size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *user)
{
    struct server_stream *stream = find(user, id);
    size_t count = stream->output_bytes - stream->output_sent;
    char status[16];

    (void)source;
    if (count > room)
        count = room;
    if (count > 0)
        memcpy(bytes, stream->output + stream->output_sent, count);
    stream->output_sent += count;
    if (stream->output_sent < stream->output_bytes)
        return (ssize_t)count;
    if (stream->trailers < 0)
        return count > 0 ? (ssize_t)count : NGHTTP2_ERR_DEFERRED;
    (void)snprintf(status, sizeof status, "%d", stream->trailers);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    submit_trailers(http2, stream, status);
    return (ssize_t)count;
}

void server_headers(struct server *server, struct server_stream *stream,
                    const char *http_status, const char *content_type)
{
    const nghttp2_nv headers[] = {header(":status", http_status),
                                  header("content-type", content_type)};
    const nghttp2_data_provider provider = {{.ptr = NULL}, on_read};

    assert_int_equal(nghttp2_submit_response(server->http2, stream->id, headers,
                                             2, &provider),
                     0);
}

static void append(struct server_stream *stream, const void *bytes,
                   size_t count)
{
    if (count == 0)
        return;
    stream->output = realloc(stream->output, stream->output_bytes + count);
    assert_non_null(stream->output);
    memcpy(stream->output + stream->output_bytes, bytes, count);
    stream->output_bytes += count;
}

void server_bytes(struct server *server, struct server_stream *stream,
                  const void *bytes, size_t count)
{
    append(stream, bytes, count);
    (void)nghttp2_session_resume_data(server->http2, stream->id);
}

void server_message(struct server *server, struct server_stream *stream,
                    const void *bytes, size_t count)
{
    const uint8_t prefix[5] = {0, (uint8_t)(count >> 24),
                               (uint8_t)(count >> 16), (uint8_t)(count >> 8),
                               (uint8_t)count};

    append(stream, prefix, sizeof prefix);
    server_bytes(server, stream, bytes, count);
}

void server_trailers(struct server *server, struct server_stream *stream,
                     int status, const char *message)
{
    stream->trailers = status;
    (void)snprintf(stream->message, sizeof stream->message, "%s", message);
    (void)nghttp2_session_resume_data(server->http2, stream->id);
}

void server_trailers_only(struct server *server, struct server_stream *stream,
                          const char *status, const char *message)
{
    const nghttp2_nv headers[] = {
        header(":status", "200"), header("content-type", "application/grpc"),
        header("grpc-status", status), header("grpc-message", message)};

    assert_int_equal(
        nghttp2_submit_response(server->http2, stream->id, headers, 4, NULL),
        0);
}

void server_reset(struct server *server, struct server_stream *stream,
                  uint32_t error)
{
    assert_int_equal(nghttp2_submit_rst_stream(server->http2, NGHTTP2_FLAG_NONE,
                                               stream->id, error),
                     0);
}

void server_goaway(struct server *server, int32_t last_id, uint32_t error,
                   const char *text)
{
    assert_int_equal(nghttp2_submit_goaway(server->http2, NGHTTP2_FLAG_NONE,
                                           last_id, error,
                                           (const uint8_t *)text, strlen(text)),
                     0);
}
