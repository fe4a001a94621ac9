/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a session: a request, and one end.  What the end says is what the
 * user may conclude about the store, and not only what the server wrote.
 *
 * An expired token does not end a call: the session authenticates again and
 * repeats the call, at most twice.  So the request is kept until the answer
 * has come.
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

/* The path of ${method} for hf_grpc_start(), and of the two methods that are
 * streams in both directions. */
const char *hf_etcd_method_path(enum hf_etcd_method method);
#define HF_ETCD_WATCH_PATH "/etcdserverpb.Watch/Watch"
#define HF_ETCD_KEEP_ALIVE_PATH "/etcdserverpb.Lease/LeaseKeepAlive"

enum hf_etcd_end {
    HF_ETCD_DONE,    /* answered */
    HF_ETCD_REFUSED, /* the server refuses it, and it did not happen */
    HF_ETCD_RETRY,   /* it did not happen, and a repetition may succeed; of a
                        request that only reads: there was no answer */
    HF_ETCD_UNSURE,  /* it was sent, and it is not known whether it has happened
                        or may happen yet */
};

/* The end of a call; valid during .ended only. */
struct hf_etcd_result {
    enum hf_etcd_end end;
    struct hf_etcd_bytes answer; /* DONE: the message */
    enum hf_grpc_status status;  /* else: what the server, or the end of the
                                    connection, says */
    bool decided; /* UNSURE: it will not happen any more, because there is no
                     space left, or the answer had begun and was too long for us
                     or for memory: what is read from now on shows whether it
                     has happened */
    const char *text; /* else: a text for people, with the name of .status;
                         never NULL */
    /* DONE of a request that writes: the anchor that this proves, see proof.h;
     * 0: it proves nothing. */
    uint64_t proves_ms;
};

struct hf_etcd_call;

/* The call is over, and its memory is the user's again.  May start other calls,
 * and the same one again.  Must not free the session. */
typedef void hf_etcd_call_ended(struct hf_etcd_call *call,
                                const struct hf_etcd_result *result);

/* Where a call is. */
enum hf_etcd_call_state {
    HF_ETCD_CALL_IDLE,
    HF_ETCD_CALL_RUNNING,  /* on the connection */
    HF_ETCD_CALL_ANSWERED, /* its message has come, but not its end */
    HF_ETCD_CALL_WAITING,  /* for a new token */
    HF_ETCD_CALL_UNSENT,   /* the connection has ended, and the server cannot
                              have seen the call, or the call only reads */
    HF_ETCD_CALL_CUT,      /* the connection has ended, and the server may have
                              seen the call, which writes */
};

/* Embedded in its user.  Zero it, set the first two fields, then start it. */
struct hf_etcd_call {
    hf_etcd_call_ended *ended;
    void *user;

    /* Written by session_calls.c only. */
    unsigned state; /* enum hf_etcd_call_state */
    struct hf_etcd_session *session;
    enum hf_etcd_method method;
    struct hf_grpc_call grpc;
    struct hf_etcd_buffer message; /* the request, then the answer */
    struct hf_etcd_renewal sent;   /* what it proves if it is a write */
    int64_t known_revision;        /* the session's when it was sent */
    unsigned repetitions;          /* because of a token */
    uint64_t token_number;         /* of the token that it was sent with */
    struct hf_etcd_call *next;     /* in the session's list of calls */
    struct hf_etcd_call *previous;
};

/* Start ${call}, which is idle, with ${request}, which is empty afterwards: its
 * memory goes to the call, or is freed.  False if that is not possible: the
 * session has no connection that takes calls, memory is lacking, the request
 * was not written completely, or too many calls or bytes wait.  Nothing has
 * been sent then, and .ended is not called. */
bool hf_etcd_call_start(struct hf_etcd_session *session,
                        struct hf_etcd_call *call, enum hf_etcd_method method,
                        struct hf_etcd_buffer *request);

/* Forget ${call}, which need not run: .ended is not called, and the memory is
 * the user's.  The server may still carry it out.  If the server may have seen
 * it and it compares the epoch, the epoch is moved. */
void hf_etcd_call_cancel(struct hf_etcd_call *call);

bool hf_etcd_call_is_idle(const struct hf_etcd_call *call);

#endif
