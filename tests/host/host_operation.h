/* SPDX-License-Identifier: Apache-2.0 */
/* One call about a handle that is neither an acquire nor a release, in each way
 * to use a client. */
#ifndef HF_TESTS_HOST_OPERATION_H
#define HF_TESTS_HOST_OPERATION_H

#include "process.h"

struct host_operation;

/* What is called for .call of an errand, about .subject: the one that waits,
 * the one that starts, and whoever tells why the first has failed. */
struct host_operation_calls {
    hf_status (*wait_for)(struct host_operation *operation);
    hf_status (*start)(struct host_operation *operation, struct hf_done done);
    void (*error)(const struct host_operation *operation,
                  struct hf_error *error);
};

/* To be set: .front, .calls, .subject, .call and what that needs. */
struct host_operation {
    struct host_fixture *host;
    const struct host_operation_calls *calls;
    void *subject;
    int call;
    const char *id;
    uint64_t wait_ms;
    struct hf_op *op; /* NULL in the blocking way */
    pthread_t thread;
    _Atomic int ended;
    _Atomic int dropped;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_tickets *tickets; /* what was listed, for whoever ends it */
};

/* What tells it of the end. */
struct hf_done host_operation_done(struct host_operation *operation);

void host_operation_begin(struct host_operation *operation);

/* Let callbacks come until it has ended, within ten seconds: once, with a text
 * if it failed. */
hf_status host_operation_await(struct host_operation *operation);

#endif
