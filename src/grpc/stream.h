/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of one call: messages that wait to be sent, and what has arrived.
 */
#ifndef HF_GRPC_STREAM_H
#define HF_GRPC_STREAM_H

#include "grpc/response.h"

/* ----------------------------------------------------- what has arrived -- */

/* Each message begins with a byte that says whether it is compressed and its
 * length in four bytes ("Length-Prefixed-Message" of
 * https://github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md).
 *
 * A message that arrives as a whole is not copied.  A buffer grows with the
 * bytes that arrived and not with the length that was announced. */

/* The bytes in front of each message. */
#define HF_GRPC_PREFIX_BYTES 5

/* What the readers of one connection share. */
struct hf_grpc_reader_limits {
    size_t message_bytes;  /* of one message */
    size_t buffered_bytes; /* of the buffers of all readers */
    size_t buffered;       /* of those, in use */
};

/* Zeros at first. */
struct hf_grpc_reader {
    uint8_t *bytes; /* of a message that is not complete, prefix included */
    size_t room;
    size_t count;
};

enum hf_grpc_reading {
    HF_GRPC_READING_MORE,    /* the input is used up */
    HF_GRPC_READING_MESSAGE, /* there is one */
    /* Failures, after which the stream must be ended. */
    HF_GRPC_READING_TOO_LONG,
    HF_GRPC_READING_TOO_MANY, /* incomplete messages of all streams */
    HF_GRPC_READING_COMPRESSED,
    HF_GRPC_READING_NO_MEMORY,
};

/* A message; valid until the reader is used again, and while the input is. */
struct hf_grpc_read_message {
    const void *bytes;
    size_t count;
};

/* Take bytes from ${input}, of which there are ${left}, up to the end of the
 * next message; both are moved on. */
enum hf_grpc_reading hf_grpc_reader_next(struct hf_grpc_reader *reader,
                                         struct hf_grpc_reader_limits *limits,
                                         const uint8_t **input, size_t *left,
                                         struct hf_grpc_read_message *message);

/* Is a message not complete? */
bool hf_grpc_reader_incomplete(const struct hf_grpc_reader *reader);

/* Free the buffer. */
void hf_grpc_reader_end(struct hf_grpc_reader *reader,
                        struct hf_grpc_reader_limits *limits);

/* ---------------------------------------------------------- the stream -- */

/* How far the sending of a call is. */
enum hf_grpc_sending {
    HF_GRPC_SENDING_OPEN,   /* more messages may be queued */
    HF_GRPC_SENDING_QUEUED, /* the last one is queued */
    HF_GRPC_SENDING_DONE,   /* it is written */
};

struct hf_grpc_waiting_message;

struct hf_grpc_stream {
    struct hf_grpc_call *call;
    int32_t id;  /* HTTP/2's number of it */
    bool opened; /* its headers are written */
    enum hf_grpc_sending sending;
    /* How many bytes of the connection are in front of the part that ends the
     * first message.  The message counts as sent once more bytes than that were
     * taken.  UINT64_MAX: its end is not written yet. */
    uint64_t before_first_end;
    struct hf_grpc_waiting_message *first;
    struct hf_grpc_waiting_message *last;
    struct hf_grpc_response response;
    struct hf_grpc_reader reader;
};

/* A stream of ${call} that has sent nothing.  NULL for lack of memory. */
struct hf_grpc_stream *hf_grpc_stream_new(struct hf_grpc_call *call);

/* Free it, and subtract what waited from ${waiting}. */
void hf_grpc_stream_free(struct hf_grpc_stream *stream,
                         struct hf_grpc_reader_limits *limits, size_t *waiting);

/* Queue a message of ${count} bytes; ${waiting} grows by what waits then.
 * False for lack of memory. */
bool hf_grpc_stream_queue(struct hf_grpc_stream *stream, const void *bytes,
                          size_t count, bool last, size_t *waiting);

/* Copy up to ${room} > 0 bytes that wait into ${bytes}, which will be the bytes
 * of the connection from ${position} on.  Returns how many; 0: none wait.
 * .sending is DONE when the last message is in them. */
size_t hf_grpc_stream_take(struct hf_grpc_stream *stream, void *bytes,
                           size_t room, uint64_t position, size_t *waiting);

#endif
