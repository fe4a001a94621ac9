/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of gRPC on one HTTP/2 connection, without I/O: received bytes go in,
 * bytes to send come out.  nghttp2 does the HTTP/2, in the library's own
 * memory.  The user gives the messages their meaning.
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
 * that send them too often.  Its user sees by the answers whether the server is
 * alive.
 *
 * What the server sends is limited: the bytes of a message, those of all
 * messages that are not complete yet, and those of headers.  What waits to be
 * sent is limited, too, and so is the number of calls.
 *
 * Everything here is used by one thread at a time.
 */
#ifndef HF_GRPC_GRPC_H
#define HF_GRPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

/* How a call has ended: the status codes of gRPC. */
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
    enum hf_grpc_status status; /* UNKNOWN if the server's number is none of
                                   enum hf_grpc_status */
    /* The server's text, or ours if the call ended without one.  The server's
     * text may contain any bytes but zeros.  Never NULL; valid during .ended
     * only. */
    const char *text;
    /* The server has not acted on the call and will not: its first message was
     * not sent completely, or the server says so (REFUSED_STREAM, or GOAWAY
     * with a lower number).  If this is false and .answered is false too, the
     * server may have acted. */
    bool unprocessed;
    /* .status is what the server answered in this call.  If false, the
     * connection or the stream ended without an answer, and .status describes
     * that: RESOURCE_EXHAUSTED if messages of the server were too long for us.
     */
    bool answered;
};

struct hf_grpc;
struct hf_grpc_call;

/* Callbacks.  They are called from within hf_grpc_receive(), hf_grpc_output()
 * and hf_grpc_free(), and from no other function.  They may start, send and
 * cancel any call.  They must not free the connection or pass bytes. */
struct hf_grpc_call_ops {
    /* A message of ${count} bytes, which may be 0, has arrived; valid during
     * the callback only. */
    void (*message)(struct hf_grpc_call *call, const void *bytes, size_t count);
    /* The call has ended.  Its memory belongs to the user again, and it may be
     * started again at once.  Called once for each call that was started and
     * not cancelled. */
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
    void *stream; /* its struct hf_grpc_stream */
};

/* The metadata of a call. */
struct hf_grpc_metadata {
    const char *token; /* NULL: none */
    bool hasleader;    /* the server must refuse the call if it has no leader
                          (etcd's "hasleader") */
};

/* Settings and limits of a connection. */
struct hf_grpc_config {
    const char *authority; /* "host:port"; copied */
    bool tls;              /* the transport uses TLS; only used for the
                              :scheme of calls */
    size_t message_bytes;  /* the longest message of the server; all
                              incomplete messages together may have twice as
                              many bytes */
    size_t waiting_bytes;  /* the most bytes of messages that wait to be sent */
    size_t calls;          /* the most calls that run at the same time */
};

/* Make a connection, which has sent nothing yet.  Returns NULL for lack of
 * memory. */
struct hf_grpc *hf_grpc_new(const struct hf_grpc_config *config);

/* Free the connection; NULL is allowed.  Calls that run end with UNAVAILABLE
 * and the text of hf_grpc_failure().  No call can be started any more. */
void hf_grpc_free(struct hf_grpc *grpc);

/* Begin ${call} of ${method}, "/package.Service/Method", with ${metadata};
 * NULL: none.  Both are copied.  ${call} must not be running.  If the server
 * allows fewer streams, the call waits for others to end.  Fails with
 * HF_ENOMEM; HF_ELIMIT if there are too many calls; HF_EUNREACHABLE if the
 * connection has failed or is going away.  Then nothing has begun, and no
 * callback follows. */
hf_status hf_grpc_start(struct hf_grpc *grpc, struct hf_grpc_call *call,
                        const char *method,
                        const struct hf_grpc_metadata *metadata);

/* Send a message of ${count} bytes, which may be 0, in ${call}, which must be
 * running.  The message is copied.  ${last}: no other message follows.  Fails
 * with HF_ENOMEM, or HF_ELIMIT if too many bytes wait to be sent; then the call
 * goes on without the message. */
hf_status hf_grpc_send(struct hf_grpc *grpc, struct hf_grpc_call *call,
                       const void *bytes, size_t count, bool last);

/* End ${call}, which must be running, without a callback.  Its memory belongs
 * to the user again.  The server may have acted on the call. */
void hf_grpc_cancel(struct hf_grpc *grpc, struct hf_grpc_call *call);

/* Is ${call} running? */
bool hf_grpc_running(const struct hf_grpc_call *call);

/* Could the server have acted on ${call}, which is running?  It cannot until
 * bytes of the part that ends the first message have been taken. */
bool hf_grpc_sent(const struct hf_grpc_call *call);

/* ${count} bytes have arrived.  Returns false if the connection cannot be used
 * any more: hf_grpc_failure() has the reason; close the connection, and free
 * ${grpc}. */
bool hf_grpc_receive(struct hf_grpc *grpc, const void *bytes, size_t count);

/* Return the bytes to send and set ${count} to their number; 0: there are none
 * now.  They are valid until the next call of a function with ${grpc}. */
const void *hf_grpc_output(struct hf_grpc *grpc, size_t *count);

/* ${count} bytes of the output were taken.  There may be more output. */
void hf_grpc_written(struct hf_grpc *grpc, size_t count);

/* Return why the connection cannot be used any more; NULL: it can be used.
 * Check this after hf_grpc_receive() and hf_grpc_output(). */
const char *hf_grpc_failure(const struct hf_grpc *grpc);

/* Does the connection take no more calls, because the server has said that it
 * ends the connection, or because its 2^30 numbers of streams are used up?  No
 * call can be started then, but running calls may go on.  Returns false once
 * the connection has failed. */
bool hf_grpc_going_away(const struct hf_grpc *grpc);

/* Return the number of running calls. */
size_t hf_grpc_calls(const struct hf_grpc *grpc);

/* Return the name of ${status} in gRPC's specification, such as "UNAVAILABLE".
 * It is in grpc_status.c, which needs no nghttp2. */
const char *hf_grpc_status_name(enum hf_grpc_status status);

#endif
