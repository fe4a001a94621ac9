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

/* Write the prefix: not compressed, and the length. */
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

/* ----------------------------------------------------- what has arrived -- */

/* Return the length of the message that begins at ${prefix}, with its prefix.
 */
static size_t framed_bytes(const uint8_t *prefix)
{
    return HF_GRPC_PREFIX_BYTES + ((size_t)prefix[1] << 24 |
                                   (size_t)prefix[2] << 16 |
                                   (size_t)prefix[3] << 8 | (size_t)prefix[4]);
}

/* Return MORE if a message may have this prefix; otherwise the failure. */
static enum hf_grpc_reading
check_prefix(const uint8_t *prefix, const struct hf_grpc_reader_limits *limits)
{
    /* Nobody asked for compression, so the server must not use it. */
    if (prefix[0] != 0)
        return HF_GRPC_READING_COMPRESSED;
    if (framed_bytes(prefix) - HF_GRPC_PREFIX_BYTES > limits->message_bytes)
        return HF_GRPC_READING_TOO_LONG;
    return HF_GRPC_READING_MORE;
}

/* Make room for the first ${needed} bytes of a message of ${framed} bytes.  The
 * first buffer is as large as needed, each further one twice as large as the
 * last. */
static enum hf_grpc_reading make_room(struct hf_grpc_reader *reader,
                                      struct hf_grpc_reader_limits *limits,
                                      size_t needed, size_t framed)
{
    size_t room = reader->room * 2;
    uint8_t *bytes;

    if (needed <= reader->room)
        return HF_GRPC_READING_MORE;
    if (room > framed)
        room = framed;
    if (room < needed)
        room = needed;
    if (limits->buffered - reader->room + room > limits->buffered_bytes)
        return HF_GRPC_READING_TOO_MANY;
    if ((bytes = hf_realloc(reader->bytes, room)) == NULL)
        return HF_GRPC_READING_NO_MEMORY;
    limits->buffered += room - reader->room;
    reader->bytes = bytes;
    reader->room = room;
    return HF_GRPC_READING_MORE;
}

/* Move bytes of the input behind those in the buffer, until the buffer has
 * ${framed} bytes or the input is used up. */
static enum hf_grpc_reading append(struct hf_grpc_reader *reader,
                                   struct hf_grpc_reader_limits *limits,
                                   const uint8_t **input, size_t *left,
                                   size_t framed)
{
    size_t taken = framed - reader->count;
    enum hf_grpc_reading reading;

    if (taken > *left)
        taken = *left;
    if (taken == 0)
        return HF_GRPC_READING_MORE;
    reading = make_room(reader, limits, reader->count + taken, framed);
    if (reading != HF_GRPC_READING_MORE)
        return reading;
    memcpy(reader->bytes + reader->count, *input, taken);
    reader->count += taken;
    *input += taken;
    *left -= taken;
    return HF_GRPC_READING_MORE;
}

/* Return in ${message} the complete message at the beginning of the input,
 * without copying it. */
static void take_from_input(const uint8_t **input, size_t *left,
                            struct hf_grpc_read_message *message)
{
    size_t framed = framed_bytes(*input);

    message->bytes = *input + HF_GRPC_PREFIX_BYTES;
    message->count = framed - HF_GRPC_PREFIX_BYTES;
    *input += framed;
    *left -= framed;
}

enum hf_grpc_reading hf_grpc_reader_next(struct hf_grpc_reader *reader,
                                         struct hf_grpc_reader_limits *limits,
                                         const uint8_t **input, size_t *left,
                                         struct hf_grpc_read_message *message)
{
    enum hf_grpc_reading reading;
    size_t framed;

    /* The message that was returned last is not needed any more. */
    if (!hf_grpc_reader_incomplete(reader))
        hf_grpc_reader_end(reader, limits);
    if (reader->count == 0 && *left >= HF_GRPC_PREFIX_BYTES) {
        reading = check_prefix(*input, limits);
        if (reading != HF_GRPC_READING_MORE)
            return reading;
        if (*left >= framed_bytes(*input)) {
            take_from_input(input, left, message);
            return HF_GRPC_READING_MESSAGE;
        }
    }
    if (reader->count < HF_GRPC_PREFIX_BYTES) {
        reading = append(reader, limits, input, left, HF_GRPC_PREFIX_BYTES);
        if (reading != HF_GRPC_READING_MORE ||
            reader->count < HF_GRPC_PREFIX_BYTES)
            return reading;
        if ((reading = check_prefix(reader->bytes, limits)) !=
            HF_GRPC_READING_MORE)
            return reading;
    }
    framed = framed_bytes(reader->bytes);
    reading = append(reader, limits, input, left, framed);
    if (reading != HF_GRPC_READING_MORE || reader->count < framed)
        return reading;
    message->bytes = reader->bytes + HF_GRPC_PREFIX_BYTES;
    message->count = framed - HF_GRPC_PREFIX_BYTES;
    return HF_GRPC_READING_MESSAGE;
}

bool hf_grpc_reader_incomplete(const struct hf_grpc_reader *reader)
{
    return reader->count > 0 && (reader->count < HF_GRPC_PREFIX_BYTES ||
                                 reader->count < framed_bytes(reader->bytes));
}

void hf_grpc_reader_end(struct hf_grpc_reader *reader,
                        struct hf_grpc_reader_limits *limits)
{
    assert(limits->buffered >= reader->room);
    limits->buffered -= reader->room;
    hf_free(reader->bytes);
    *reader = (struct hf_grpc_reader){0};
}
