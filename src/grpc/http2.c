/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/http2.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* How much the server may send on one stream, and on all together, before we
 * have taken it.  nghttp2 counts bytes as taken when it passes them to us, so
 * this only limits how much is in transit. */
#define STREAM_WINDOW (1024 * 1024)
#define CONNECTION_WINDOW (8 * 1024 * 1024)

/* The most bytes of the headers and trailers of one call.  etcd sends some
 * hundred. */
#define HEADER_BYTES ((size_t)16 * 1024)

/* ---------------------------------------------------------------- memory -- */

static void *http2_malloc(size_t bytes, void *user)
{
    (void)user;
    return hf_alloc(bytes > 0 ? bytes : 1);
}

static void http2_free(void *memory, void *user)
{
    (void)user;
    hf_free(memory);
}

static void *http2_calloc(size_t count, size_t bytes, void *user)
{
    size_t all;

    (void)user;
    if (__builtin_mul_overflow(count, bytes, &all))
        return NULL;
    return hf_alloc(all > 0 ? all : 1);
}

static void *http2_realloc(void *memory, size_t bytes, void *user)
{
    (void)user;
    return hf_realloc(memory, bytes > 0 ? bytes : 1);
}

/* -------------------------------------------------------------- failures -- */

void hf_grpc_http2_failed(struct hf_grpc *grpc, ssize_t error)
{
    if (error == NGHTTP2_ERR_NOMEM)
        hf_grpc_fail(grpc, "out of memory");
    else
        hf_grpc_fail(grpc, "HTTP/2 failed: %s", nghttp2_strerror((int)error));
}

/* A server that has not sent its settings does not speak HTTP/2. */
void hf_grpc_http2_check(struct hf_grpc *grpc)
{
    bool going_away = grpc->state == HF_GRPC_GOING_AWAY;

    if (nghttp2_session_want_read(grpc->http2) ||
        nghttp2_session_want_write(grpc->http2))
        return;
    if (grpc->state == HF_GRPC_NEW)
        hf_grpc_fail(grpc,
                     "the server does not speak HTTP/2; expected a "
                     "server of gRPC%s%.150s",
                     grpc->reason[0] != '\0' ? ": " : "", grpc->reason);
    else
        hf_grpc_fail(grpc, "%s%s%.200s",
                     going_away ? "the server ended the connection"
                                : "the server broke the rules of HTTP/2",
                     grpc->reason[0] != '\0' ? ": " : "", grpc->reason);
}

/* nghttp2 describes what is wrong with the bytes that the server sent. */
static int on_error(nghttp2_session *http2, int error, const char *text,
                    size_t bytes, void *user)
{
    struct hf_grpc *grpc = user;

    (void)http2;
    (void)error;
    if (grpc->reason[0] == '\0')
        (void)snprintf(grpc->reason, sizeof grpc->reason, "%.*s",
                       (int)(bytes < 200 ? bytes : 200), text);
    return 0;
}

/* ------------------------------------------------------------------ ends -- */

static struct hf_grpc_stream *stream_of(nghttp2_session *http2, int32_t id)
{
    return nghttp2_session_get_stream_user_data(http2, id);
}

void hf_grpc_http2_forget(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          uint32_t error)
{
    int rc;

    /* This fails if nghttp2 does not have the stream any more, for example
     * after a failure. */
    (void)nghttp2_session_set_stream_user_data(grpc->http2, stream->id, NULL);
    if (grpc->state == HF_GRPC_FAILED ||
        (error == NGHTTP2_NO_ERROR &&
         nghttp2_session_get_stream_local_close(grpc->http2, stream->id) == 1))
        return;
    rc = nghttp2_submit_rst_stream(grpc->http2, NGHTTP2_FLAG_NONE, stream->id,
                                   error);
    if (rc != 0)
        hf_grpc_http2_failed(grpc, rc);
}

/* End the call of ${stream}, which the server has ended, with ${error} unless
 * that is 0. */
static void end_stream(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                       uint32_t error)
{
    char text[HF_GRPC_TEXT_BYTES];
    struct hf_grpc_result result;

    hf_grpc_response_result(&stream->response, error, text, &result);
    if (result.answered && result.status == HF_GRPC_OK &&
        hf_grpc_reader_incomplete(&stream->reader))
        result = (struct hf_grpc_result){
            .status = HF_GRPC_INTERNAL,
            .text = "the server ended the call inside of a message"};
    hf_grpc_http2_forget(grpc, stream, NGHTTP2_NO_ERROR);
    hf_grpc_end_call(grpc, stream, &result);
}

/* End the call of ${stream}, because the server has sent something that we do
 * not accept. */
static void refuse(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                   enum hf_grpc_status status, const char *text)
{
    const struct hf_grpc_result result = {.status = status, .text = text};

    hf_grpc_http2_forget(grpc, stream, NGHTTP2_CANCEL);
    hf_grpc_end_call(grpc, stream, &result);
}

/* nghttp2 is about to forget a stream.  Everything was sent in both directions,
 * the stream was reset, GOAWAY excludes it, or it never began. */
static int on_stream_close(nghttp2_session *http2, int32_t id, uint32_t error,
                           void *user)
{
    struct hf_grpc_stream *stream = stream_of(http2, id);
    char text[HF_GRPC_TEXT_BYTES];
    struct hf_grpc_result result;

    if (stream == NULL)
        return 0;
    hf_grpc_response_result(&stream->response, error, text, &result);
    (void)nghttp2_session_set_stream_user_data(http2, id, NULL);
    hf_grpc_end_call(user, stream, &result);
    return 0;
}

/* ----------------------------------------------------------------- pings -- */

/* The ping by which a server in Go measures the connection, as in grpc-go's
 * internal/transport/bdp_estimator.go.  It comes with the answers to most
 * calls, and the server waits without limit for the acknowledgement. */
static const uint8_t measuring_ping[8] = {2, 4, 16, 16, 9, 14, 7, 7};

static void acknowledge(struct hf_grpc *grpc, const uint8_t *ping)
{
    int rc = nghttp2_submit_ping(grpc->http2, NGHTTP2_FLAG_ACK, ping);

    if (rc != 0)
        hf_grpc_http2_failed(grpc, rc);
}

/* If each measuring ping were acknowledged at once, there would be an extra
 * packet for each request.  So the acknowledgement of one measuring ping waits
 * for the next frame that is sent.  Any other ping is acknowledged at once,
 * because the server may end the connection without it. */
static void ping_received(struct hf_grpc *grpc, const nghttp2_ping *frame)
{
    bool measuring =
        memcmp(frame->opaque_data, measuring_ping, sizeof measuring_ping) == 0;

    if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
        return;
    if (!measuring || grpc->owes_ping_ack)
        acknowledge(grpc, frame->opaque_data);
    else
        grpc->owes_ping_ack = true;
}

void hf_grpc_http2_prepare_output(struct hf_grpc *grpc)
{
    if (!grpc->owes_ping_ack || !nghttp2_session_want_write(grpc->http2))
        return;
    grpc->owes_ping_ack = false;
    acknowledge(grpc, measuring_ping);
}

/* -------------------------------------------------------------- received -- */

static int on_header(nghttp2_session *http2, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_bytes,
                     const uint8_t *value, size_t value_bytes, uint8_t flags,
                     void *user)
{
    struct hf_grpc_stream *stream = stream_of(http2, frame->hd.stream_id);
    const struct hf_grpc_header header = {(const char *)name, name_bytes,
                                          (const char *)value, value_bytes};

    (void)flags;
    if (stream == NULL)
        return 0;
    hf_grpc_response_header(&stream->response, &header);
    if (stream->response.header_bytes <= HEADER_BYTES)
        return 0;
    refuse(user, stream, HF_GRPC_INTERNAL,
           "the server's headers are too long; expected at most 16 KiB");
    return 0;
}

/* End the call with the failure that ${reading} stands for. */
static void refuse_reading(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                           enum hf_grpc_reading reading)
{
    char text[HF_GRPC_TEXT_BYTES];

    switch (reading) {
    case HF_GRPC_READING_TOO_LONG:
        (void)snprintf(text, sizeof text,
                       "a message of the server is too long; expected at most "
                       "%zu bytes",
                       grpc->limits.message_bytes);
        refuse(grpc, stream, HF_GRPC_RESOURCE_EXHAUSTED, text);
        return;
    case HF_GRPC_READING_TOO_MANY:
        (void)snprintf(text, sizeof text,
                       "messages of the server that are not complete have too "
                       "many bytes; expected at most %zu",
                       grpc->limits.buffered_bytes);
        refuse(grpc, stream, HF_GRPC_RESOURCE_EXHAUSTED, text);
        return;
    case HF_GRPC_READING_COMPRESSED:
        refuse(grpc, stream, HF_GRPC_INTERNAL,
               "a message of the server is compressed; expected none, as "
               "nobody asked for it");
        return;
    default:
        refuse(grpc, stream, HF_GRPC_RESOURCE_EXHAUSTED,
               "out of memory for a message of the server");
    }
}

static int on_data(nghttp2_session *http2, uint8_t flags, int32_t id,
                   const uint8_t *bytes, size_t count, void *user)
{
    struct hf_grpc *grpc = user;
    struct hf_grpc_stream *stream = stream_of(http2, id);
    struct hf_grpc_read_message message;
    enum hf_grpc_reading reading;

    (void)flags;
    /* The callback for a message may end the call. */
    while (stream != NULL && stream == stream_of(http2, id)) {
        if (!hf_grpc_response_has_messages(&stream->response))
            return 0;
        reading = hf_grpc_reader_next(&stream->reader, &grpc->limits, &bytes,
                                      &count, &message);
        if (reading == HF_GRPC_READING_MORE)
            return 0;
        if (reading != HF_GRPC_READING_MESSAGE) {
            refuse_reading(grpc, stream, reading);
            return 0;
        }
        stream->call->ops->message(stream->call, message.bytes, message.count);
    }
    return 0;
}

/* The server takes no more calls.  Calls whose headers were not written end.
 * The others go on, except for those that the server says it has not handled:
 * nghttp2 ends them. */
static void going_away(struct hf_grpc *grpc, const nghttp2_goaway *frame)
{
    static const struct hf_grpc_result result = {
        .status = HF_GRPC_UNAVAILABLE,
        .text = "the server ends the connection",
        .unprocessed = true,
    };
    struct hf_grpc_call *call;
    struct hf_grpc_stream *stream;

    if (grpc->state != HF_GRPC_FAILED)
        grpc->state = HF_GRPC_GOING_AWAY;
    if (frame->error_code != NGHTTP2_NO_ERROR)
        (void)snprintf(
            grpc->reason, sizeof grpc->reason, "%s %.*s",
            nghttp2_http2_strerror(frame->error_code),
            (int)(frame->opaque_data_len < 100 ? frame->opaque_data_len : 100),
            frame->opaque_data_len > 0 ? (const char *)frame->opaque_data : "");
    /* No call can be added any more, so the loop ends. */
    call = grpc->first;
    while (call != NULL) {
        stream = call->stream;
        if (stream->opened) {
            call = call->next;
            continue;
        }
        hf_grpc_http2_forget(grpc, stream, NGHTTP2_CANCEL);
        hf_grpc_end_call(grpc, stream, &result);
        call = grpc->first;
    }
}

static int on_frame_received(nghttp2_session *http2, const nghttp2_frame *frame,
                             void *user)
{
    struct hf_grpc *grpc = user;
    struct hf_grpc_stream *stream;

    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        if (grpc->state == HF_GRPC_NEW)
            grpc->state = HF_GRPC_OPEN;
        return 0;
    case NGHTTP2_GOAWAY:
        going_away(grpc, &frame->goaway);
        return 0;
    case NGHTTP2_PING:
        ping_received(grpc, &frame->ping);
        return 0;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
            return 0;
        stream = stream_of(http2, frame->hd.stream_id);
        if (stream != NULL)
            end_stream(grpc, stream, NGHTTP2_NO_ERROR);
        return 0;
    default:
        return 0;
    }
}

/* ------------------------------------------------------------------ sent -- */

static int on_frame_sent(nghttp2_session *http2, const nghttp2_frame *frame,
                         void *user)
{
    struct hf_grpc_stream *stream;

    (void)user;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    stream = stream_of(http2, frame->hd.stream_id);
    if (stream != NULL)
        stream->opened = true;
    return 0;
}

/* nghttp2 asks for bytes of messages.  After DEFERRED it asks again when
 * hf_grpc_http2_resume() was called. */
static ssize_t on_read(nghttp2_session *http2, int32_t id, uint8_t *bytes,
                       size_t room, uint32_t *flags,
                       nghttp2_data_source *source, void *user)
{
    struct hf_grpc *grpc = user;
    struct hf_grpc_stream *stream = stream_of(http2, id);
    size_t count;

    (void)source;
    if (stream == NULL || room == 0)
        return NGHTTP2_ERR_DEFERRED;
    count =
        hf_grpc_stream_take(stream, bytes, room, grpc->written, &grpc->waiting);
    if (stream->sending == HF_GRPC_SENDING_DONE)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    else if (count == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)count;
}

/* ----------------------------------------------------------------- calls -- */

static nghttp2_nv header(const char *name, const char *value, uint8_t flags)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value,
                        strlen(name), strlen(value), flags};
}

bool hf_grpc_http2_submit(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                          const char *method,
                          const struct hf_grpc_metadata *metadata)
{
    nghttp2_nv headers[] = {
        header(":method", "POST", NGHTTP2_NV_FLAG_NONE),
        header(":scheme", grpc->scheme, NGHTTP2_NV_FLAG_NONE),
        header(":path", method, NGHTTP2_NV_FLAG_NONE),
        header(":authority", grpc->authority, NGHTTP2_NV_FLAG_NONE),
        header("te", "trailers", NGHTTP2_NV_FLAG_NONE),
        header("content-type", "application/grpc", NGHTTP2_NV_FLAG_NONE),
        header("user-agent", "holdfast", NGHTTP2_NV_FLAG_NONE),
        {0},
        {0},
    };
    size_t count = 7;
    const nghttp2_data_provider provider = {{.ptr = NULL}, on_read};

    if (metadata != NULL && metadata->hasleader)
        headers[count++] = header("hasleader", "true", NGHTTP2_NV_FLAG_NONE);
    /* A token is like a password, so it must not go into tables of headers. */
    if (metadata != NULL && metadata->token != NULL)
        headers[count++] =
            header("token", metadata->token, NGHTTP2_NV_FLAG_NO_INDEX);
    stream->id = nghttp2_submit_request(grpc->http2, NULL, headers, count,
                                        &provider, stream);
    if (stream->id <= 0)
        return false;
    /* A connection has numbers for 2^30 streams.  This was the last one. */
    if (nghttp2_session_get_next_stream_id(grpc->http2) > INT32_MAX)
        grpc->state = HF_GRPC_GOING_AWAY;
    return true;
}

/* If nghttp2 does not wait for bytes it refuses, because it will ask anyway. */
void hf_grpc_http2_resume(struct hf_grpc *grpc, struct hf_grpc_stream *stream)
{
    int rc = nghttp2_session_resume_data(grpc->http2, stream->id);

    if (rc == NGHTTP2_ERR_NOMEM)
        hf_grpc_http2_failed(grpc, rc);
}

/* -------------------------------------------------------------- creation -- */

static void set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_error_callback2(callbacks, on_error);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks,
                                                           on_stream_close);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks,
                                                              on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
                                                         on_frame_received);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks,
                                                         on_frame_sent);
}

/* Write the first frames: they forbid pushes, and make windows so large that an
 * answer need not wait. */
static bool submit_settings(nghttp2_session *http2)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_BYTES},
    };

    return nghttp2_submit_settings(http2, NGHTTP2_FLAG_NONE, settings,
                                   sizeof settings / sizeof *settings) == 0 &&
           nghttp2_session_set_local_window_size(http2, NGHTTP2_FLAG_NONE, 0,
                                                 CONNECTION_WINDOW) == 0;
}

bool hf_grpc_http2_new(struct hf_grpc *grpc)
{
    nghttp2_mem memory = {NULL, http2_malloc, http2_free, http2_calloc,
                          http2_realloc};
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;
    int rc;

    /* nghttp2 allocates options and callbacks by malloc() in any case.  They
     * are freed below. */
    if (nghttp2_option_new(&options) != 0)
        return false;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        nghttp2_option_del(options);
        return false;
    }
    set_callbacks(callbacks);
    nghttp2_option_set_no_auto_ping_ack(options, 1);
    rc = nghttp2_session_client_new3(&grpc->http2, callbacks, grpc, options,
                                     &memory);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(options);
    if (rc != 0)
        return false;
    return submit_settings(grpc->http2);
}
