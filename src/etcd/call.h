/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a session: a request, and how it ended.  The end (enum
 * hf_etcd_end) says what the user may conclude about the store, which is more
 * than the status that the server sent.
 *
 * An expired token does not end a call: the session authenticates again and
 * repeats the call, at most twice.  Therefore the request is kept until the
 * answer has arrived.
 */
#ifndef HF_ETCD_CALL_H
#define HF_ETCD_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcd/proof.h"
#include "etcd/protobuf.h"
#include "grpc/grpc.h"

struct hf_etcd_session;

enum hf_etcd_method {
    HF_ETCD_RANGE,
    HF_ETCD_PUT,
    HF_ETCD_DELETE_RANGE,
    HF_ETCD_TXN,
    HF_ETCD_LEASE_GRANT,
    HF_ETCD_LEASE_REVOKE,
    HF_ETCD_LEASE_TIME_TO_LIVE,
    HF_ETCD_AUTHENTICATE,
    HF_ETCD_MEMBER_LIST,
    HF_ETCD_STATUS,
    HF_ETCD_ALARM,
    HF_ETCD_METHODS,
};

/* Return the path of ${method} for hf_grpc_start().  The two methods that are
 * streams in both directions have their paths below. */
const char *hf_etcd_method_path(enum hf_etcd_method method);
#define HF_ETCD_WATCH_PATH "/etcdserverpb.Watch/Watch"
#define HF_ETCD_KEEP_ALIVE_PATH "/etcdserverpb.Lease/LeaseKeepAlive"

enum hf_etcd_end {
    HF_ETCD_DONE,    /* answered */
    HF_ETCD_REFUSED, /* the server refuses the request, which was not carried
                        out */
    HF_ETCD_RETRY,   /* the request was not carried out, and may succeed if
                        it is repeated; or it only reads, and there was no
                        answer */
    HF_ETCD_UNSURE,  /* the request was sent; it is not known whether it was
                        carried out or still may be */
};

/* The end of a call; valid during .ended only. */
struct hf_etcd_result {
    enum hf_etcd_end end;
    struct hf_etcd_bytes answer; /* DONE: the message */
    enum hf_grpc_status status;  /* otherwise: the status from the server, or
                                    the one for the end of the connection */
    bool decided; /* UNSURE, but a read from now on shows whether the request
                     was carried out, because it cannot be carried out later:
                     the store is full, or the answer had begun and was too
                     long for us or for memory */
    const char *text; /* otherwise: a text for people with the name of
                         .status; never NULL */
    /* DONE, of a request that writes: the anchor that the answer proves, see
     * proof.h; 0: the answer proves nothing. */
    uint64_t proves_ms;
};

struct hf_etcd_call;

/* Called when the call is over; its memory then belongs to the user again.  The
 * function may start other calls, and this one again.  It must not free the
 * session. */
typedef void hf_etcd_call_ended(struct hf_etcd_call *call,
                                const struct hf_etcd_result *result);

/* The state of a call. */
enum hf_etcd_call_state {
    HF_ETCD_CALL_IDLE,
    HF_ETCD_CALL_RUNNING,  /* sent on the connection */
    HF_ETCD_CALL_ANSWERED, /* the answer has arrived, but not the end of the
                              call */
    HF_ETCD_CALL_WAITING,  /* waits for a new token */
    HF_ETCD_CALL_UNSENT,   /* the connection has ended; the server cannot
                              have seen the call, or the call only reads */
    HF_ETCD_CALL_CUT,      /* the connection has ended; the call writes, and
                              the server may have seen it */
};

/* A call, embedded in an object of its user.  Zero it, set the first two
 * fields, then start it. */
struct hf_etcd_call {
    hf_etcd_call_ended *ended;
    void *user;

    /* Written by session_calls.c only. */
    unsigned state; /* enum hf_etcd_call_state */
    struct hf_etcd_session *session;
    enum hf_etcd_method method;
    struct hf_grpc_call grpc;
    struct hf_etcd_buffer message; /* the request, then the answer */
    struct hf_etcd_renewal sent;   /* the keep-alive that the answer will
                                      prove, if the call writes */
    int64_t known_revision;        /* .revision of the session when the call
                                      was sent */
    unsigned repetitions;          /* how often the call was repeated because
                                      of its token */
    uint64_t token_number;         /* number of the token that the call was
                                      sent with */
    struct hf_etcd_call *next;     /* in the session's list of calls */
    struct hf_etcd_call *previous;
};

/* Start ${call}, which is idle, with ${request}.  ${request} is empty
 * afterwards: its memory goes to the call, or is freed.  Returns false if the
 * call cannot be started: the session has no connection that takes calls,
 * memory is lacking, the request was not written completely, or too many calls
 * or bytes wait.  Then nothing has been sent, and .ended is not called. */
bool hf_etcd_call_start(struct hf_etcd_session *session,
                        struct hf_etcd_call *call, enum hf_etcd_method method,
                        struct hf_etcd_buffer *request);

/* Forget ${call}, if it runs: .ended is not called, and the memory belongs to
 * the user again.  The server may still carry the call out.  If the server may
 * have seen the call and the call compares the epoch (epoch.h), the epoch is
 * moved. */
void hf_etcd_call_cancel(struct hf_etcd_call *call);

bool hf_etcd_call_is_idle(const struct hf_etcd_call *call);

#endif
