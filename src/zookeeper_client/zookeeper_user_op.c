/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes results on to users; begins an operation for a public call, and has
 * what it has begun sent.
 */
#include "zookeeper_client/zookeeper_user_op.h"

#include <assert.h>

#include "base/container_of.h"
#include "base/error.h"
#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_io/zk_io.h"

void hf_zookeeper_user_op_init(struct hf_zookeeper_user_op *user_op,
                               struct hf_zookeeper *zookeeper,
                               const struct hf_user_op_ops *ops,
                               unsigned references)
{
    *user_op = (struct hf_zookeeper_user_op){.zookeeper = zookeeper};
    hf_user_op_init(&user_op->op, ops, zookeeper->monitor, references);
}

/* The .fn of the callback, called without the lock: call the user's function,
 * which may read the result until it returns. */
static void report(void *arg, const struct hf_result *result)
{
    const struct hf_zookeeper_user_op *user_op = arg;
    const struct hf_zookeeper_done *done = &user_op->completion.done;

    (void)result;
    if (done->fn != NULL)
        done->fn(done->arg, user_op->result);
    if (done->drop != NULL)
        done->drop(done->arg);
}

void hf_zookeeper_user_op_begin(
    struct hf_zookeeper_user_op *user_op,
    const struct hf_zookeeper_completion *completion)
{
    const struct hf_zookeeper_done *done = &completion->done;
    struct hf_completion to = {.waiter = completion->waiter};

    if (done->fn != NULL || done->drop != NULL)
        to.done = (struct hf_done){.fn = report, .arg = user_op};
    user_op->completion = *completion;
    hf_user_op_begin(&user_op->op, &to);
}

void hf_zookeeper_user_op_end(struct hf_zookeeper_user_op *user_op,
                              hf_status status,
                              struct hf_zookeeper_result *result)
{
    assert(result != NULL && user_op->result == NULL);
    user_op->result = result;
    hf_user_op_end(&user_op->op, status);
}

/* If a call waits, it gets the result itself.  Otherwise report() reads the
 * result. */
void hf_zookeeper_user_op_take(struct hf_user_op *op, struct hf_result *result,
                               struct hf_error *why)
{
    struct hf_zookeeper_user_op *user_op =
        container_of(op, struct hf_zookeeper_user_op, op);

    (void)result;
    if (op->status != HF_OK)
        (void)hf_error_set(why, op->status, "%s", user_op->result->text);
    if (user_op->completion.result == NULL)
        return;
    *user_op->completion.result = user_op->result;
    user_op->result = NULL;
}

/* ---------------------------------------------------------------- calls -- */

/* A public call that begins an operation of a user. */
struct user_op_call {
    struct hf_user_call call;
    struct hf_zookeeper *zookeeper;
    hf_zookeeper_begin *begin;
    const void *request;
    uint64_t wait_ms;
    struct hf_zookeeper_completion completion;
    bool sends; /* what was begun must be sent before the call returns */
};

/* If the call waits, the operation is sent before it waits. */
static struct hf_user_op *begin_call(struct hf_user_call *user_call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    struct user_op_call *call =
        container_of(user_call, struct user_op_call, call);
    struct hf_zookeeper_user_op *user_op;

    call->completion.waiter = completion->waiter;
    user_op = call->begin(call->zookeeper, call->request, call->wait_ms,
                          &call->completion, error);
    call->sends = user_op == NULL || user_op->urgent;
    if (user_op == NULL)
        return NULL;
    if (completion->waiter != NULL)
        hf_zk_io_run_now(call->zookeeper->io);
    return &user_op->op;
}

/* Operations that are begun in callbacks are sent together, later, unless they
 * are urgent. */
static void leave_monitor(struct hf_user_call *user_call)
{
    const struct user_op_call *call =
        container_of(user_call, struct user_op_call, call);

    if (!call->sends && hf_monitor_leave_later(user_call->monitor))
        return;
    hf_zk_io_run_now(call->zookeeper->io);
    hf_monitor_leave(user_call->monitor);
}

static struct user_op_call call_of(struct hf_zookeeper *zookeeper,
                                   const char *api_name,
                                   hf_zookeeper_begin *begin,
                                   const void *request, uint64_t wait_ms)
{
    return (struct user_op_call){.call = {.api_name = api_name,
                                          .monitor = zookeeper->monitor,
                                          .begin = begin_call,
                                          .leave_monitor = leave_monitor},
                                 .zookeeper = zookeeper,
                                 .begin = begin,
                                 .request = request,
                                 .wait_ms = wait_ms};
}

hf_status hf_zookeeper_user_op_run(struct hf_zookeeper *zookeeper,
                                   const char *api_name,
                                   hf_zookeeper_begin *begin,
                                   const void *request, uint64_t wait_ms,
                                   struct hf_zookeeper_result **result)
{
    struct user_op_call call =
        call_of(zookeeper, api_name, begin, request, wait_ms);
    struct hf_result ignored;

    if (result != NULL)
        *result = NULL;
    call.completion.result = result;
    return hf_user_op_run(&call.call, &ignored);
}

hf_status hf_zookeeper_user_op_start(struct hf_zookeeper *zookeeper,
                                     const char *api_name,
                                     hf_zookeeper_begin *begin,
                                     const void *request, uint64_t wait_ms,
                                     struct hf_zookeeper_done done,
                                     struct hf_op **handle)
{
    const struct hf_done by_report = {.fn = NULL};
    struct user_op_call call =
        call_of(zookeeper, api_name, begin, request, wait_ms);
    hf_status status;

    call.completion.done = done;
    status = hf_user_op_start(&call.call, by_report, handle);
    if (status != HF_OK && done.drop != NULL)
        done.drop(done.arg);
    return status;
}
