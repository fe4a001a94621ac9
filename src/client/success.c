/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The success of a lock: read and written for a grant, and read for people.
 * Each is started, or waited for, and is an operation on the queue
 * (queue_op.h).  A ${wait_ms} of 0 means one answer of the engine.
 */
#include <holdfast/grant.h>
#include <holdfast/lock.h>

#include "base/container_of.h"
#include "base/error.h"
#include "client/grant.h"
#include "client/queue_op.h"
#include "operation/done.h"

/* A call of the user. */
struct success_call {
    struct hf_user_call call;
    struct hf_lock *lock;
    struct hf_grant *grant; /* NULL: the success is read for people */
    struct hf_queue_op_args args;
};

static struct success_call *of_call(struct hf_user_call *call)
{
    return container_of(call, struct success_call, call);
}

/* Is the grant ours, and does it exclude all others? */
static hf_status check_grant(const struct hf_grant *grant,
                             struct hf_error *error)
{
    if (!hf_grant_is_valid(grant))
        return hf_grant_explain_loss(grant, error);
    if (grant->item_count == 1 && (grant->lock->kind == HF_TICKET_MUTEX ||
                                   grant->acquisition.kind == HF_TICKET_WRITE))
        return HF_OK;
    return hf_error_set(error, HF_ESTATE,
                        "only the grant of one mutex or of one writer has a "
                        "success, because others may hold the lock beside a "
                        "reader or a permit");
}

/* Set .ticket and .token of the arguments to those of the grant, if the grant
 * may have a success. */
static hf_status set_ticket(struct success_call *success_call,
                            struct hf_error *error)
{
    struct hf_grant *grant = success_call->grant;
    hf_status status = check_grant(grant, error);

    if (status != HF_OK)
        return status;
    success_call->args.ticket =
        hf_grant_items_find(grant, grant->lock)->ticket_id;
    success_call->args.token = hf_grant_token(grant);
    return HF_OK;
}

static hf_status check_arguments(struct success_call *success_call,
                                 const struct hf_completion *completion,
                                 struct hf_error *error)
{
    hf_status status = HF_OK;

    if (success_call->args.kind == HF_REQUEST_READ_SUCCESS &&
        completion->waiter == NULL)
        status = hf_done_check(&completion->done, "success", error);
    if (status == HF_OK && success_call->grant != NULL)
        status = set_ticket(success_call, error);
    else if (status == HF_OK && success_call->lock->kind == HF_TICKET_LEASE)
        status = hf_error_set(error, HF_ESTATE,
                              "a semaphore has no success, because several "
                              "hold it at a time");
    return status;
}

static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    struct success_call *success_call = of_call(call);
    struct hf_queue_op *queue_op;

    hf_monitor_run_ready(call->monitor);
    if (check_arguments(success_call, completion, error) != HF_OK ||
        hf_queue_op_begin(success_call->lock, &success_call->args, completion,
                          &queue_op, error) != HF_OK)
        return NULL;
    return &queue_op->user_op;
}

static struct success_call
make_call(struct hf_lock *lock, struct hf_grant *grant, const char *api_name,
          enum hf_request_kind kind, uint64_t wait_ms)
{
    return (struct success_call){
        .call = {.api_name = api_name,
                 .monitor = &lock->client->monitor,
                 .begin = begin_call},
        .lock = lock,
        .grant = grant,
        .args = {.kind = kind, .only_try = wait_ms == 0, .wait_ms = wait_ms},
    };
}

/* Wait for the end of a read. */
static hf_status run_read(struct success_call success_call,
                          struct hf_success *success)
{
    struct hf_result result;
    hf_status status = hf_user_op_run(&success_call.call, &result);

    *success = (struct hf_success){0};
    if (status == HF_OK)
        *success = result.success;
    return status;
}

hf_status hf_grant_last_success(struct hf_grant *grant, uint64_t wait_ms,
                                struct hf_success *success)
{
    return run_read(make_call(grant->lock, grant, "hf_grant_last_success",
                              HF_REQUEST_READ_SUCCESS, wait_ms),
                    success);
}

hf_status hf_grant_last_success_start(struct hf_grant *grant, uint64_t wait_ms,
                                      struct hf_done done)
{
    struct success_call success_call =
        make_call(grant->lock, grant, "hf_grant_last_success_start",
                  HF_REQUEST_READ_SUCCESS, wait_ms);

    return hf_user_op_start(&success_call.call, done, NULL);
}

hf_status hf_grant_write_success(struct hf_grant *grant, uint64_t wait_ms)
{
    struct success_call success_call =
        make_call(grant->lock, grant, "hf_grant_write_success",
                  HF_REQUEST_WRITE_SUCCESS, wait_ms);
    struct hf_result result;

    return hf_user_op_run(&success_call.call, &result);
}

hf_status hf_grant_write_success_start(struct hf_grant *grant, uint64_t wait_ms,
                                       struct hf_done done)
{
    struct success_call success_call =
        make_call(grant->lock, grant, "hf_grant_write_success_start",
                  HF_REQUEST_WRITE_SUCCESS, wait_ms);

    return hf_user_op_start(&success_call.call, done, NULL);
}

hf_status hf_lock_last_success(struct hf_lock *lock, uint64_t wait_ms,
                               struct hf_success *success)
{
    return run_read(make_call(lock, NULL, "hf_lock_last_success",
                              HF_REQUEST_READ_SUCCESS, wait_ms),
                    success);
}

hf_status hf_lock_last_success_start(struct hf_lock *lock, uint64_t wait_ms,
                                     struct hf_done done)
{
    struct success_call success_call =
        make_call(lock, NULL, "hf_lock_last_success_start",
                  HF_REQUEST_READ_SUCCESS, wait_ms);

    return hf_user_op_start(&success_call.call, done, NULL);
}
