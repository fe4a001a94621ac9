/* SPDX-License-Identifier: Apache-2.0 */
/* The socket side of a TLS filter: pulls ciphertext and sends it. */
#include "transport/tls_stream.h"

#include <assert.h>

#include "base/memory.h"
#include "transport/socket.h"

struct hf_tls_stream *hf_tls_stream_new(const struct hf_tls_ops *ops,
                                        struct hf_tls_context *context,
                                        const char *host, const char *protocol)
{
    struct hf_tls_stream *stream = hf_alloc(sizeof(*stream));

    if (stream == NULL)
        return NULL;
    stream->ops = ops;
    stream->tls = ops->open(context, host, protocol);
    if (stream->tls == NULL) {
        hf_free(stream);
        return NULL;
    }
    return stream;
}

void hf_tls_stream_free(struct hf_tls_stream *stream)
{
    if (stream == NULL)
        return;
    stream->ops->close(stream->tls);
    hf_free(stream);
}

bool hf_tls_stream_blocked(const struct hf_tls_stream *stream)
{
    return stream->out_sent < stream->out_count;
}

/* The loop ends, because the filter produces a limited amount of output. */
bool hf_tls_stream_flush(struct hf_tls_stream *stream, int fd)
{
    bool alive = true;
    size_t sent;

    do {
        if (!hf_tls_stream_blocked(stream)) {
            stream->out_sent = 0;
            stream->out_count = stream->ops->pull(stream->tls, stream->out,
                                                  sizeof(stream->out));
        }
        alive = hf_socket_send(fd, stream->out + stream->out_sent,
                               stream->out_count - stream->out_sent, &sent);
        stream->out_sent += sent;
    } while (alive && stream->out_count > 0 && !hf_tls_stream_blocked(stream));
    return alive;
}

enum hf_tls_result hf_tls_stream_send(struct hf_tls_stream *stream, int fd,
                                      const char *bytes, size_t count,
                                      size_t *taken)
{
    size_t part;

    *taken = 0;
    if (!hf_tls_stream_flush(stream, fd))
        return HF_TLS_MORE;
    while (*taken < count && !hf_tls_stream_blocked(stream)) {
        part = count - *taken;
        if (part > HF_TLS_RECORD_BYTES)
            part = HF_TLS_RECORD_BYTES;
        if (stream->ops->write(stream->tls, bytes + *taken, part) !=
            HF_TLS_DONE)
            return HF_TLS_FAILED;
        *taken += part;
        if (!hf_tls_stream_flush(stream, fd))
            return HF_TLS_MORE;
    }
    return HF_TLS_DONE;
}
