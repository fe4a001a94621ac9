/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of gRPC on one HTTP/2 connection, without I/O: received bytes go in,
 * bytes to send come out.  HTTP/2 is done by nghttp2, in the library's own
 * memory.  What the messages mean is the user's matter.
 *
 *     grpc = hf_grpc_new(config)
 *     hf_grpc_start(grpc, call, "/package.Service/Method", metadata)
 *     hf_grpc_send(grpc, call, message, count, last)      for each message
 *     until all calls have ended:
 *         hf_grpc_output(grpc, &count)       bytes to send, and
 *         hf_grpc_written(grpc, taken)       how many of them were taken
 *         hf_grpc_receive(grpc, bytes, count)
 *     hf_grpc_free(grpc)
 *
 * Every call runs on a stream of its own: the server may carry out the calls of
 * one connection in any order.  Messages of one call keep their order.
 *
 * The connection never sends a PING, because servers of gRPC end connections
 * that send them too often.  Whether the server is alive shows in its answers.
 *
 * What the server sends is bounded: the bytes of a message, those of all
 * messages that are not complete yet, those of headers.  So is what waits to
 * be sent, and the number of calls.
 *
 * Everything here is used by one thread at a time.
 */
#ifndef HF_GRPC_GRPC_H
#define HF_GRPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

/* How a call ended, as the server says: the codes of gRPC. */
enum hf_grpc_status {
    HF_GRPC_OK = 0,
    HF_GRPC_CANCELLED = 1,
    HF_GRPC_UNKNOWN = 2,
    HF_GRPC_INVALID_ARGUMENT = 3,
    HF_GRPC_DEADLINE_EXCEEDED = 4,
    HF_GRPC_NOT_FOUND = 5,
    HF_GRPC_ALREADY_EXISTS = 6,
    HF_GRPC_PERMISSION_DENIED = 7,
    HF_GRPC_RESOURCE_EXHAUSTED = 8,
    HF_GRPC_FAILED_PRECONDITION = 9,
    HF_GRPC_ABORTED = 10,
    HF_GRPC_OUT_OF_RANGE = 11,
    HF_GRPC_UNIMPLEMENTED = 12,
    HF_GRPC_INTERNAL = 13,
    HF_GRPC_UNAVAILABLE = 14,
    HF_GRPC_DATA_LOSS = 15,
    HF_GRPC_UNAUTHENTICATED = 16,
};

/* The end of a call. */
struct hf_grpc_result {
    enum hf_grpc_status status; /* UNKNOWN for a number that is none of them */
    /* The server's text, or ours if the call ended without one.  Another
     * program wrote the former: it may have any bytes but zeros.  Never NULL;
     * valid during .ended only. */
    const char *text;
    /* The server has not acted on the call and will not: not all of its first
     * message was taken to be sent, or the server says so (REFUSED_STREAM,
     * GOAWAY with a lower number).  If false, and .status is not the server's
     * own answer, it may have acted. */
    bool unprocessed;
    /* .status is what the server answered in this call.  If false, the
     * connection or the stream ended without such an answer, and .status
     * describes that: RESOURCE_EXHAUSTED if the server has answered with
     * messages that are too long for us. */
    bool answered;
};

struct hf_grpc;
struct hf_grpc_call;

/* Called from within hf_grpc_receive(), hf_grpc_output() and hf_grpc_free(),
 * never from within another function.  They may start, send and cancel any
 * call, but not free the connection nor pass bytes. */
struct hf_grpc_call_ops {
    /* A message of ${count} bytes, which may be 0, has arrived; valid during
     * the callback only. */
    void (*message)(struct hf_grpc_call *call, const void *bytes, size_t count);
    /* The call has ended: its memory is the user's again, and it may be
     * started again at once.  Once for each call that was started and not
     * cancelled. */
    void (*ended)(struct hf_grpc_call *call,
                  const struct hf_grpc_result *result);
};

/* One call, embedded in its owner. */
struct hf_grpc_call {
    /* Set by the owner before hf_grpc_start(). */
    const struct hf_grpc_call_ops *ops;
    void *user;

    /* The rest is used by the implementation only.  Zeros before the first
     * start. */
    struct hf_grpc *grpc; /* NULL: not running */
    struct hf_grpc_call *previous;
    struct hf_grpc_call *next;
    void *stream; /* what the implementation knows of it */
};

/* What a call says about itself. */
struct hf_grpc_metadata {
    const char *token; /* NULL: none */
    bool hasleader;    /* refuse it without a leader (etcd's "hasleader") */
};

/* Limits, and what a connection says about itself. */
struct hf_grpc_config {
    const char *authority; /* "host:port"; copied */
    bool tls;              /* only for the scheme that the calls name */
    size_t message_bytes;  /* the longest message of the server; all incomplete
                              ones together may have twice as many */
    size_t waiting_bytes;  /* of messages that wait to be sent */
    size_t calls;          /* that run at the same time */
};

/* A connection that has sent nothing yet.  NULL for lack of memory. */
struct hf_grpc *hf_grpc_new(const struct hf_grpc_config *config);

/* Free the connection, NULL is allowed.  Calls that run end: UNAVAILABLE, with
 * the text of hf_grpc_failure().  No call can be started any more. */
void hf_grpc_free(struct hf_grpc *grpc);

/* Begin ${call} of ${method}, "/package.Service/Method", with ${metadata}
 * (NULL: none); both are copied.  ${call} must not run.  Calls above the number
 * of streams that the server allows wait for others to end.
 *   Fails     HF_ENOMEM; HF_ELIMIT, too many calls; HF_EUNREACHABLE, the
 *             connection has failed or is going away.  Nothing has begun then,
 *             and no callback follows. */
hf_status hf_grpc_start(struct hf_grpc *grpc, struct hf_grpc_call *call,
                        const char *method,
                        const struct hf_grpc_metadata *metadata);

/* Send a message of ${count} bytes, which may be 0, in ${call}, which runs; it
 * is copied.  ${last}: no other message follows.
 *   Fails     HF_ENOMEM; HF_ELIMIT, too many bytes wait to be sent.  The call
 *             runs on without the message. */
hf_status hf_grpc_send(struct hf_grpc *grpc, struct hf_grpc_call *call,
                       const void *bytes, size_t count, bool last);

/* End ${call}, which runs, without a callback.  Its memory is the user's again.
 * The server may have acted on it. */
void hf_grpc_cancel(struct hf_grpc *grpc, struct hf_grpc_call *call);

/* Does ${call} run? */
bool hf_grpc_running(const struct hf_grpc_call *call);

/* Could the server have acted on ${call}, which runs?  False until the part
 * that ends its first message begins to be taken. */
bool hf_grpc_sent(const struct hf_grpc_call *call);

/* ${count} bytes have arrived.  False if the connection cannot be used any
 * more: hf_grpc_failure() says why; close it, and free ${grpc}. */
bool hf_grpc_receive(struct hf_grpc *grpc, const void *bytes, size_t count);

/* Bytes to send, ${count} of them; 0 if there is nothing now.  Valid until the
 * next call of a function with ${grpc}. */
const void *hf_grpc_output(struct hf_grpc *grpc, size_t *count);

/* ${count} bytes of that output were taken.  More may follow. */
void hf_grpc_written(struct hf_grpc *grpc, size_t count);

/* Why the connection cannot be used any more; NULL: it can.  To be looked at
 * after hf_grpc_receive() and after hf_grpc_output(). */
const char *hf_grpc_failure(const struct hf_grpc *grpc);

/* Does the connection take no more calls, because the server has said that it
 * ends it, or because its 2^30 numbers for streams are used up?  Calls that run
 * may go on, and none can be started.  False once the connection has failed. */
bool hf_grpc_going_away(const struct hf_grpc *grpc);

/* The number of calls that run. */
size_t hf_grpc_calls(const struct hf_grpc *grpc);

/* The name of ${status} as the specification of gRPC writes it, "UNAVAILABLE".
 * In grpc_status.c, which needs no nghttp2. */
const char *hf_grpc_status_name(enum hf_grpc_status status);

#endif
