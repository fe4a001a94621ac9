/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user has of something that was begun on a handle, whether it is one
 * operation or several steps: the caller that waits or the callback, the
 * handle, and the result.
 *
 * A call is embedded, as .call, in the object that carries it out.  The object
 * ends it once, and may ask the user something before.  It is kept alive by
 * references: those of the object, one of the caller that waits or of the
 * callback, and that of the user's handle.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_CALL_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_CALL_H

#include "operation/op_handle.h"
#include "zookeeper_client/zookeeper_handle.h"

struct hf_zookeeper_call;

/* What the object does for its call.  All with the lock. */
struct hf_zookeeper_call_ops {
    /* The user does not want it any more.  Also called after the end. */
    void (*cancel)(struct hf_zookeeper_call *call);
    /* Call the function of the user that hf_zookeeper_call_ask() is about, with
     * the lock released meanwhile.  NULL: there is none. */
    void (*ask)(struct hf_zookeeper_call *call);
    /* The last reference is gone: free the object. */
    void (*destroy)(struct hf_zookeeper_call *call);
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_call {
    struct hf_zookeeper *zookeeper;
    const struct hf_zookeeper_call_ops *ops;
    struct hf_op op; /* the user's handle */
    unsigned references;
    struct hf_zookeeper_result *result; /* until the user gets it */
    struct hf_waiter *waiter;           /* the caller that waits, or NULL */
    bool asks;   /* .waiter was answered because of a question */
    bool urgent; /* it is sent at once, also when callbacks begin others */
    struct hf_zookeeper_done done;
    struct hf_callback done_callback;
    struct hf_callback ask_callback;
};

/* Who gets the end of a call: one of them. */
struct hf_zookeeper_call_end {
    struct hf_waiter *waiter;
    struct hf_zookeeper_done done;
};

/* Make ${call} one of ${zookeeper}, with ${references}.  With the lock. */
void hf_zookeeper_call_init(struct hf_zookeeper_call *call,
                            struct hf_zookeeper *zookeeper,
                            const struct hf_zookeeper_call_ops *ops,
                            unsigned references);

/* Drop a reference; the last one destroys the object.  With the lock. */
void hf_zookeeper_call_dereference(struct hf_zookeeper_call *call);

/* ${call} has ended with ${result}, which becomes the user's: answer the caller
 * that waits, or queue the callback.  With the lock. */
void hf_zookeeper_call_end(struct hf_zookeeper_call *call, hf_status status,
                           struct hf_zookeeper_result *result);

/* Have .ask of ${call} called: on the thread of the caller that waits, or where
 * callbacks run.  With the lock. */
void hf_zookeeper_call_ask(struct hf_zookeeper_call *call);

/* Wait for the end of ${call}, whose .waiter ${waiter} is, and set ${result}
 * (may be NULL) to what it brought.  Drops the reference of the caller that
 * waits.  With the lock, as hf_monitor_wait(). */
hf_status hf_zookeeper_call_await(struct hf_zookeeper_call *call,
                                  struct hf_waiter *waiter,
                                  struct hf_zookeeper_result **result,
                                  struct hf_error *error);

/* Begins something for ${request}, and has its end go to ${end}.  The call,
 * with a reference of the caller besides; NULL, and why in ${error}, if it was
 * refused.  With the lock. */
typedef struct hf_zookeeper_call *
hf_zookeeper_begin(struct hf_zookeeper *zookeeper, const void *request,
                   uint64_t wait_ms, const struct hf_zookeeper_call_end *end,
                   struct hf_error *error);

/* ${begin} for the public call ${name}, which errors name, and wait for the
 * end; or have ${done} called.  As hf_zookeeper_run() and
 * hf_zookeeper_start(). */
hf_status hf_zookeeper_call_run(struct hf_zookeeper *zookeeper,
                                const char *name, hf_zookeeper_begin *begin,
                                const void *request, uint64_t wait_ms,
                                struct hf_zookeeper_result **result);
hf_status hf_zookeeper_call_start(struct hf_zookeeper *zookeeper,
                                  const char *name, hf_zookeeper_begin *begin,
                                  const void *request, uint64_t wait_ms,
                                  struct hf_zookeeper_done done,
                                  struct hf_op **handle);

#endif
