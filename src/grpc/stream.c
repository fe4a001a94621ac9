/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/stream.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

struct hf_grpc_waiting_message {
    struct hf_grpc_waiting_message *next;
    size_t count; /* with the prefix */
    size_t taken;
    uint8_t bytes[];
};

struct hf_grpc_stream *hf_grpc_stream_new(struct hf_grpc_call *call)
{
    struct hf_grpc_stream *stream = hf_alloc(sizeof *stream);

    if (stream == NULL)
        return NULL;
    stream->call = call;
    stream->before_first_end = UINT64_MAX;
    return stream;
}

/* Free the first message that waits. */
static void drop_first(struct hf_grpc_stream *stream, size_t *waiting)
{
    struct hf_grpc_waiting_message *message = stream->first;

    assert(*waiting >= message->count);
    *waiting -= message->count;
    stream->first = message->next;
    if (stream->first == NULL)
        stream->last = NULL;
    hf_free(message);
}

void hf_grpc_stream_free(struct hf_grpc_stream *stream,
                         struct hf_grpc_reader_limits *limits, size_t *waiting)
{
    while (stream->first != NULL)
        drop_first(stream, waiting);
    hf_grpc_reader_end(&stream->reader, limits);
    hf_free(stream);
}

/* The prefix: not compressed, and the length. */
static void put_prefix(uint8_t *bytes, size_t count)
{
    bytes[0] = 0;
    bytes[1] = (uint8_t)(count >> 24);
    bytes[2] = (uint8_t)(count >> 16);
    bytes[3] = (uint8_t)(count >> 8);
    bytes[4] = (uint8_t)count;
}

bool hf_grpc_stream_queue(struct hf_grpc_stream *stream, const void *bytes,
                          size_t count, bool last, size_t *waiting)
{
    size_t framed = HF_GRPC_PREFIX_BYTES + count;
    struct hf_grpc_waiting_message *message;

    assert(stream->sending == HF_GRPC_SENDING_OPEN);
    if ((message = hf_alloc(sizeof *message + framed)) == NULL)
        return false;
    message->count = framed;
    put_prefix(message->bytes, count);
    if (count > 0)
        memcpy(message->bytes + HF_GRPC_PREFIX_BYTES, bytes, count);
    if (stream->last != NULL)
        stream->last->next = message;
    else
        stream->first = message;
    stream->last = message;
    *waiting += framed;
    if (last)
        stream->sending = HF_GRPC_SENDING_QUEUED;
    return true;
}

size_t hf_grpc_stream_take(struct hf_grpc_stream *stream, void *bytes,
                           size_t room, uint64_t position, size_t *waiting)
{
    uint8_t *to = bytes;
    size_t used = 0;

    while (stream->first != NULL && used < room) {
        struct hf_grpc_waiting_message *message = stream->first;
        size_t part = message->count - message->taken;

        if (part > room - used)
            part = room - used;
        memcpy(to + used, message->bytes + message->taken, part);
        used += part;
        message->taken += part;
        if (message->taken < message->count)
            break;
        if (stream->before_first_end == UINT64_MAX)
            stream->before_first_end = position;
        drop_first(stream, waiting);
    }
    if (stream->first == NULL && stream->sending == HF_GRPC_SENDING_QUEUED)
        stream->sending = HF_GRPC_SENDING_DONE;
    return used;
}
