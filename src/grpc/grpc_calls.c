/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of grpc.h: calls of http2.c, and the bytes that nghttp2 writes.
 */
#include "grpc/grpc.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "grpc/grpc_connection.h"
#include "grpc/http2.h"

/* nghttp2 writes until about this many bytes wait to be taken.  The rest waits
 * in the streams. */
#define OUTPUT_BYTES ((size_t)64 * 1024)

/* -------------------------------------------------------- the connection -- */

struct hf_grpc *hf_grpc_new(const struct hf_grpc_config *config)
{
    struct hf_grpc *grpc = hf_alloc(sizeof *grpc);

    assert(config->message_bytes > 0 && config->calls > 0);
    if (grpc == NULL)
        return NULL;
    grpc->scheme = config->tls ? "https" : "http";
    grpc->calls_limit = config->calls;
    grpc->waiting_limit = config->waiting_bytes;
    grpc->limits.message_bytes = config->message_bytes;
    grpc->limits.buffered_bytes =
        2 * (config->message_bytes + HF_GRPC_PREFIX_BYTES);
    grpc->authority = hf_strdup(config->authority);
    if (grpc->authority != NULL && hf_grpc_http2_new(grpc))
        return grpc;
    hf_grpc_free(grpc);
    return NULL;
}

void hf_grpc_free(struct hf_grpc *grpc)
{
    struct hf_grpc_result result = {.status = HF_GRPC_UNAVAILABLE};

    if (grpc == NULL)
        return;
    assert(grpc->entered == 0);
    hf_grpc_fail(grpc, "the connection was closed");
    result.text = grpc->failure;
    grpc->entered++;
    while (grpc->first != NULL)
        hf_grpc_end_call(grpc, grpc->first->stream, &result);
    assert(grpc->limits.buffered == 0 && grpc->waiting == 0);
    /* nghttp2_session_del() makes no callback. */
    nghttp2_session_del(grpc->http2);
    hf_free(grpc->authority);
    hf_free(grpc->bytes);
    hf_free(grpc);
}

const char *hf_grpc_failure(const struct hf_grpc *grpc)
{
    return grpc->state == HF_GRPC_FAILED ? grpc->failure : NULL;
}

bool hf_grpc_going_away(const struct hf_grpc *grpc)
{
    return grpc->state == HF_GRPC_GOING_AWAY;
}

size_t hf_grpc_calls(const struct hf_grpc *grpc)
{
    return grpc->calls;
}

/* ----------------------------------------------------------------- calls -- */

/* Do too many frames wait in nghttp2?  The frames of cancelled calls wait there
 * too, although such calls are not counted any more. */
static bool frames_wait(const struct hf_grpc *grpc)
{
    return nghttp2_session_get_outbound_queue_size(grpc->http2) >
           4 * grpc->calls_limit;
}

hf_status hf_grpc_start(struct hf_grpc *grpc, struct hf_grpc_call *call,
                        const char *method,
                        const struct hf_grpc_metadata *metadata)
{
    struct hf_grpc_stream *stream;

    assert(call->ops != NULL && call->grpc == NULL && method[0] == '/');
    if (grpc->state != HF_GRPC_NEW && grpc->state != HF_GRPC_OPEN)
        return HF_EUNREACHABLE;
    if (grpc->calls >= grpc->calls_limit || frames_wait(grpc))
        return HF_ELIMIT;
    if ((stream = hf_grpc_stream_new(call)) == NULL)
        return HF_ENOMEM;
    if (!hf_grpc_http2_submit(grpc, stream, method, metadata)) {
        hf_grpc_stream_free(stream, &grpc->limits, &grpc->waiting);
        return HF_ENOMEM;
    }
    hf_grpc_add_call(grpc, stream);
    return HF_OK;
}

hf_status hf_grpc_send(struct hf_grpc *grpc, struct hf_grpc_call *call,
                       const void *bytes, size_t count, bool last)
{
    struct hf_grpc_stream *stream = call->stream;

    assert(call->grpc == grpc && stream != NULL);
    if (count > grpc->waiting_limit ||
        grpc->waiting > grpc->waiting_limit - count)
        return HF_ELIMIT;
    if (!hf_grpc_stream_queue(stream, bytes, count, last, &grpc->waiting))
        return HF_ENOMEM;
    hf_grpc_http2_resume(grpc, stream);
    return HF_OK;
}

void hf_grpc_cancel(struct hf_grpc *grpc, struct hf_grpc_call *call)
{
    struct hf_grpc_stream *stream = call->stream;

    assert(call->grpc == grpc && stream != NULL);
    hf_grpc_http2_forget(grpc, stream, NGHTTP2_CANCEL);
    hf_grpc_remove_call(grpc, stream);
}

bool hf_grpc_running(const struct hf_grpc_call *call)
{
    return call->grpc != NULL;
}

bool hf_grpc_sent(const struct hf_grpc_call *call)
{
    return hf_grpc_first_message_left(call->grpc, call->stream);
}

/* ----------------------------------------------------------------- bytes -- */

/* Do ${bytes} begin with a TLS alert?  A server that expects TLS answers so. */
static bool is_tls(const uint8_t *bytes, size_t count)
{
    return count >= 2 && bytes[0] == 0x15 && bytes[1] == 0x03;
}

bool hf_grpc_receive(struct hf_grpc *grpc, const void *bytes, size_t count)
{
    ssize_t rc;

    assert(grpc->entered == 0);
    if (grpc->state == HF_GRPC_FAILED)
        return false;
    if (grpc->state == HF_GRPC_NEW && is_tls(bytes, count)) {
        hf_grpc_fail(grpc, "the server answers with TLS; expected none, "
                           "because the URL asks for none");
        return false;
    }
    grpc->entered++;
    rc = nghttp2_session_mem_recv(grpc->http2, bytes, count);
    grpc->entered--;
    if (rc < 0)
        hf_grpc_http2_failed(grpc, rc);
    else
        hf_grpc_http2_check(grpc);
    return grpc->state != HF_GRPC_FAILED;
}

/* Append ${count} bytes that nghttp2 wrote.  Returns false for lack of memory.
 */
static bool append(struct hf_grpc *grpc, const uint8_t *bytes, size_t count)
{
    if (!HF_ARRAY_ROOM(&grpc->bytes, &grpc->room, grpc->end + count))
        return false;
    memcpy(grpc->bytes + grpc->end, bytes, count);
    grpc->end += count;
    grpc->written += count;
    return true;
}

/* Let nghttp2 write until OUTPUT_BYTES wait or nothing is left to write. */
static void write_output(struct hf_grpc *grpc)
{
    const uint8_t *bytes;
    ssize_t count;

    while (grpc->end - grpc->begin < OUTPUT_BYTES) {
        count = nghttp2_session_mem_send(grpc->http2, &bytes);
        if (count < 0) {
            hf_grpc_http2_failed(grpc, count);
            return;
        }
        if (count == 0)
            return;
        if (!append(grpc, bytes, (size_t)count)) {
            hf_grpc_http2_failed(grpc, NGHTTP2_ERR_NOMEM);
            return;
        }
    }
}

const void *hf_grpc_output(struct hf_grpc *grpc, size_t *count)
{
    assert(grpc->entered == 0);
    if (grpc->begin > 0) {
        memmove(grpc->bytes, grpc->bytes + grpc->begin,
                grpc->end - grpc->begin);
        grpc->end -= grpc->begin;
        grpc->begin = 0;
    }
    if (grpc->state != HF_GRPC_FAILED) {
        grpc->entered++;
        hf_grpc_http2_prepare_output(grpc);
        write_output(grpc);
        grpc->entered--;
        hf_grpc_http2_check(grpc);
    }
    *count = grpc->end;
    return grpc->bytes;
}

void hf_grpc_written(struct hf_grpc *grpc, size_t count)
{
    assert(count <= grpc->end - grpc->begin);
    grpc->begin += count;
    grpc->taken += count;
}
