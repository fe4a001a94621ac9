/* SPDX-License-Identifier: Apache-2.0 */
/* One operation on a handle that is neither an acquire nor a release, in
 * each way to use a client. */
#ifndef HF_TESTS_HOST_OPERATION_H
#define HF_TESTS_HOST_OPERATION_H

#include "process.h"

struct host_operation;

/* How to make the call that .call of the operation names: by a call that
 * waits, by one that starts, and how to get the error text of the first. */
struct host_operation_calls {
    hf_status (*wait_for)(struct host_operation *operation);
    hf_status (*start)(struct host_operation *operation, struct hf_done done);
    void (*error)(const struct host_operation *operation,
                  struct hf_error *error);
};

/* Set .host, .calls, .subject, .call and what that call needs, the others to
 * zero. */
struct host_operation {
    struct host_fixture *host;
    const struct host_operation_calls *calls;
    void *subject;
    int call;
    const char *id;
    uint64_t wait_ms;
    struct hf_op *op; /* NULL in WAY_BLOCKING */
    pthread_t thread;
    _Atomic int ended;
    _Atomic int dropped;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_tickets *tickets; /* the result; the caller frees it */
};

/* The callback to pass to the starting call. */
struct hf_done host_operation_done(struct host_operation *operation);

void host_operation_begin(struct host_operation *operation);

/* Run callbacks until the operation has ended; fails the test after ten
 * seconds, if it ends twice, or if a failure has no text.  The status. */
hf_status host_operation_await(struct host_operation *operation);

#endif
