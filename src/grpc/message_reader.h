/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages out of the bytes of a stream.  Each begins with a byte that says
 * whether it is compressed and its length in four bytes ("Length-Prefixed-
 * Message" of https://github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md).
 *
 * A message that arrives as a whole is not copied.  A buffer grows with the
 * bytes that arrived and not with the length that was announced.
 */
#ifndef HF_GRPC_MESSAGE_READER_H
#define HF_GRPC_MESSAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
