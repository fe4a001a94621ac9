/* SPDX-License-Identifier: Apache-2.0 */
/* One operation on a handle that is neither an acquire nor a release, in
 * each way to use a client. */
#ifndef HF_TESTS_HOST_OPERATION_H
#define HF_TESTS_HOST_OPERATION_H

#include "process.h"

struct client_operation;

/* How to make the call that .call of the operation names: by a call that waits,
 * and by one that starts. */
struct client_operation_calls {
    hf_status (*wait_for)(struct client_operation *operation);
    hf_status (*start)(struct client_operation *operation, struct hf_done done);
};

/* Set .host, .calls, .subject, .call and what that call needs, the others to
 * zero. */
struct client_operation {
    struct client_fixture *fixture;
    const struct client_operation_calls *calls;
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
struct hf_done client_operation_done(struct client_operation *operation);

void client_operation_begin(struct client_operation *operation);

/* Run callbacks until the operation has ended; fails the test after ten
 * seconds, if it ends twice, or if a failure has no text.  The status. */
hf_status client_operation_await(struct client_operation *operation);

#endif
