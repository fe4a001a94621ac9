/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of one call: messages that wait to be sent, and bytes that have
 * arrived. */
#ifndef HF_GRPC_STREAM_H
#define HF_GRPC_STREAM_H

#include "grpc/response.h"

/* ----------------------------------------------------- what has arrived -- */

/* Each message begins with a prefix: one byte that says whether it is
 * compressed, and its length in four bytes ("Length-Prefixed-Message" of
 * https://github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md).
 *
 * A message that arrives as a whole is not copied.  A buffer grows with the
 * bytes that have arrived, and not with the length that was announced. */

/* The bytes of the prefix of each message. */
#define HF_GRPC_PREFIX_BYTES 5

/* What the readers of one connection share. */
struct hf_grpc_reader_limits {
    size_t message_bytes;  /* the most bytes of one message */
    size_t buffered_bytes; /* the most bytes of the buffers of all readers */
    size_t buffered;       /* bytes of buffers that are in use */
};

/* Reads the messages of one stream.  All bytes zero at first. */
struct hf_grpc_reader {
    uint8_t *bytes; /* a message that is not complete, with its prefix */
    size_t room;
    size_t count;
};

enum hf_grpc_reading {
    HF_GRPC_READING_MORE,    /* all input was taken, and more is needed */
    HF_GRPC_READING_MESSAGE, /* a message is complete */
    /* Failures, after which the stream must be ended. */
    HF_GRPC_READING_TOO_LONG,
    HF_GRPC_READING_TOO_MANY, /* the incomplete messages of all streams have
                                 too many bytes */
    HF_GRPC_READING_COMPRESSED,
    HF_GRPC_READING_NO_MEMORY,
};

/* A message.  Valid until the reader is used again, and only while the input
 * exists. */
struct hf_grpc_read_message {
    const void *bytes;
    size_t count;
};

/* Take bytes from ${input}, which has ${left} of them, up to the end of the
 * next message.  Both are moved on. */
enum hf_grpc_reading hf_grpc_reader_next(struct hf_grpc_reader *reader,
                                         struct hf_grpc_reader_limits *limits,
                                         const uint8_t **input, size_t *left,
                                         struct hf_grpc_read_message *message);

/* Has a part of a message arrived? */
bool hf_grpc_reader_incomplete(const struct hf_grpc_reader *reader);

/* Free the buffer. */
void hf_grpc_reader_end(struct hf_grpc_reader *reader,
                        struct hf_grpc_reader_limits *limits);

/* ---------------------------------------------------------- the stream -- */

/* The state of sending the messages of a call. */
enum hf_grpc_sending {
    HF_GRPC_SENDING_OPEN,   /* more messages may be queued */
    HF_GRPC_SENDING_QUEUED, /* the last one is queued */
    HF_GRPC_SENDING_DONE,   /* the last one is written */
};

struct hf_grpc_waiting_message;

struct hf_grpc_stream {
    struct hf_grpc_call *call;
    int32_t id;  /* number of the stream in HTTP/2 */
    bool opened; /* its headers are written */
    enum hf_grpc_sending sending;
    /* How many bytes of the connection were written before the part that ends
     * the first message.  The message counts as sent once more bytes than that
     * were taken.  UINT64_MAX: its end is not written yet. */
    uint64_t before_first_end;
    struct hf_grpc_waiting_message *first;
    struct hf_grpc_waiting_message *last;
    struct hf_grpc_response response;
    struct hf_grpc_reader reader;
};

/* Make the stream of ${call}, which has sent nothing.  Returns NULL for lack of
 * memory. */
struct hf_grpc_stream *hf_grpc_stream_new(struct hf_grpc_call *call);

/* Free ${stream}, and subtract the bytes of its waiting messages from
 * ${waiting}. */
void hf_grpc_stream_free(struct hf_grpc_stream *stream,
                         struct hf_grpc_reader_limits *limits, size_t *waiting);

/* Queue a message of ${count} bytes, and add its bytes to ${waiting}.  Returns
 * false for lack of memory. */
bool hf_grpc_stream_queue(struct hf_grpc_stream *stream, const void *bytes,
                          size_t count, bool last, size_t *waiting);

/* Copy up to ${room} > 0 waiting bytes to ${bytes}.  ${position} is where they
 * will be in the bytes of the connection.  Returns how many were copied; 0:
 * none wait. .sending is DONE once the last message was copied. */
size_t hf_grpc_stream_take(struct hf_grpc_stream *stream, void *bytes,
                           size_t room, uint64_t position, size_t *waiting);

#endif
