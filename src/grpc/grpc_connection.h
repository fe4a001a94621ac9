/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a connection and of the calls that run on it, shared by the
 * files of this folder. */
#ifndef HF_GRPC_GRPC_CONNECTION_H
#define HF_GRPC_GRPC_CONNECTION_H

#include <nghttp2/nghttp2.h>

#include "grpc/grpc.h"
#include "grpc/stream.h"

#define HF_GRPC_FAILURE_BYTES 320

enum hf_grpc_state {
    HF_GRPC_NEW,        /* the server has sent nothing yet */
    HF_GRPC_OPEN,       /* the server speaks HTTP/2 */
    HF_GRPC_GOING_AWAY, /* the server takes no more calls, or there are no
                           more numbers for streams */
    HF_GRPC_FAILED,     /* .failure has the reason */
};

struct hf_grpc {
    enum hf_grpc_state state;
    char failure[HF_GRPC_FAILURE_BYTES];
    char reason[HF_GRPC_FAILURE_BYTES]; /* what the server or nghttp2 said, for
                                           .failure; "": nothing */
    nghttp2_session *http2;
    char *authority;
    const char *scheme;
    size_t calls_limit;
    size_t waiting_limit;

    /* The running calls, in the order in which they were started. */
    struct hf_grpc_call *first;
    struct hf_grpc_call *last;
    size_t calls;

    size_t waiting; /* bytes of messages, with their prefixes, that nghttp2
                       has not taken completely */
    struct hf_grpc_reader_limits limits;

    /* Bytes that nghttp2 has written: .bytes from .begin to .end wait to be
     * taken. */
    uint8_t *bytes;
    size_t room;
    size_t begin;
    size_t end;
    bool owes_ping_ack; /* a measuring ping waits for its acknowledgement;
                           http2.c only */
    uint64_t written;   /* bytes that nghttp2 has written, since the
                           beginning */
    uint64_t taken;

    unsigned entered; /* how many functions are running that may call back */
};

/* Mark the connection as failed, because of the formatted text.  Only the first
 * reason counts. */
void hf_grpc_fail(struct hf_grpc *grpc, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Add the call of ${stream}, which is being started, to the list. */
void hf_grpc_add_call(struct hf_grpc *grpc, struct hf_grpc_stream *stream);

/* Remove the call of ${stream} from the list, and free ${stream}.  nghttp2 must
 * not know the stream any more. */
void hf_grpc_remove_call(struct hf_grpc *grpc, struct hf_grpc_stream *stream);

/* Were bytes of the part that ends the first message of ${stream} taken to be
 * sent?  Only then may the server act on the call. */
bool hf_grpc_first_message_left(const struct hf_grpc *grpc,
                                const struct hf_grpc_stream *stream);

/* Remove the call, and call .ended with ${result}.  If there was no answer and
 * the first message was not sent, .unprocessed is set in the result. */
void hf_grpc_end_call(struct hf_grpc *grpc, struct hf_grpc_stream *stream,
                      const struct hf_grpc_result *result);

#endif
