/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of one call: messages that wait to be sent, and what has arrived.
 */
#ifndef HF_GRPC_STREAM_H
#define HF_GRPC_STREAM_H

#include "grpc/message_reader.h"
#include "grpc/response.h"

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
    /* The bytes of the connection before those that end the first message.  It
     * is sent once more than these were taken; UINT64_MAX: not written yet. */
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
