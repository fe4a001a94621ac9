/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls that create and delete with retries.
 */
#include "zookeeper_client/zookeeper_retry.h"

#include "base/error.h"
#include "base/memory.h"
#include "zookeeper_client/zookeeper_watch.h"
#include "zookeeper_retry/retry_create.h"
#include "zookeeper_retry/retry_delete.h"

/* Begin a retry by ${plan}; as hf_zookeeper_begin. */
static struct hf_zookeeper_call *
begin_plan(struct hf_zookeeper *zookeeper,
           const struct hf_zookeeper_retry_plan *plan, uint64_t wait_ms,
           const struct hf_zookeeper_call_end *end, struct hf_error *error)
{
    struct hf_zookeeper_retry *retry = hf_alloc(sizeof *retry);

    if (retry == NULL) {
        if (plan->machine != NULL)
            plan->ops->free(plan->machine);
        (void)hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    return hf_zookeeper_retry_begin(zookeeper, retry, plan, wait_ms, end, error)
               ? &retry->call
               : NULL;
}

/* ---------------------------------------------------------------- create -- */

struct create_request {
    const struct hf_zookeeper_op *op;
    unsigned flags;
};

/* Can ${request} be carried out? */
static hf_status check_create(const struct hf_zookeeper *zookeeper,
                              const struct create_request *request,
                              struct hf_error *error)
{
    hf_status status =
        hf_zookeeper_operation_check(zookeeper, request->op, error);

    return status != HF_OK
               ? status
               : hf_zk_retry_create_check(request->op, request->flags, error);
}

/* A hf_zookeeper_begin of a create. */
static struct hf_zookeeper_call *
begin_create(struct hf_zookeeper *zookeeper, const void *given,
             uint64_t wait_ms, const struct hf_zookeeper_call_end *end,
             struct hf_error *error)
{
    const struct create_request *request = given;
    struct hf_zookeeper_retry_plan plan = {.call_ops =
                                               &hf_zookeeper_retry_call_ops,
                                           .ops = &hf_zk_retry_create_ops,
                                           .priority = request->op->priority};
    struct hf_random random;

    if (check_create(zookeeper, request, error) != HF_OK ||
        hf_zookeeper_retry_random(&random, error) != HF_OK)
        return NULL;
    plan.machine = hf_zk_retry_create_new(request->op, request->flags, &random);
    return begin_plan(zookeeper, &plan, wait_ms, end, error);
}

hf_status hf_zookeeper_create_protected(struct hf_zookeeper *zookeeper,
                                        const struct hf_zookeeper_op *op,
                                        unsigned flags, uint64_t wait_ms,
                                        struct hf_zookeeper_result **result)
{
    const struct create_request request = {op, flags};

    return hf_zookeeper_call_run(zookeeper, "hf_zookeeper_create_protected",
                                 begin_create, &request, wait_ms, result);
}

hf_status hf_zookeeper_create_protected_start(struct hf_zookeeper *zookeeper,
                                              const struct hf_zookeeper_op *op,
                                              unsigned flags, uint64_t wait_ms,
                                              struct hf_zookeeper_done done,
                                              struct hf_op **handle)
{
    const struct create_request request = {op, flags};

    return hf_zookeeper_call_start(
        zookeeper, "hf_zookeeper_create_protected_start", begin_create,
        &request, wait_ms, done, handle);
}

/* ---------------------------------------------------------------- delete -- */

/* A hf_zookeeper_begin of a guaranteed delete. */
static struct hf_zookeeper_call *
begin_delete(struct hf_zookeeper *zookeeper, const void *request,
             uint64_t wait_ms, const struct hf_zookeeper_call_end *end,
             struct hf_error *error)
{
    const struct hf_zookeeper_op *op = request;
    struct hf_zookeeper_retry_plan plan = {.call_ops =
                                               &hf_zookeeper_retry_call_ops,
                                           .ops = &hf_zk_retry_delete_ops,
                                           .goes_on = true};
    struct hf_random random;

    if (hf_zookeeper_operation_check(zookeeper, op, error) != HF_OK ||
        hf_zookeeper_retry_random(&random, error) != HF_OK)
        return NULL;
    plan.machine = hf_zk_retry_delete_new(op->path, op->version, &random);
    return begin_plan(zookeeper, &plan, wait_ms, end, error);
}

hf_status hf_zookeeper_delete_guaranteed(struct hf_zookeeper *zookeeper,
                                         const char *path, int32_t version,
                                         uint64_t wait_ms)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_DELETE, .path = path, .version = version};

    return hf_zookeeper_call_run(zookeeper, "hf_zookeeper_delete_guaranteed",
                                 begin_delete, &op, wait_ms, NULL);
}

hf_status hf_zookeeper_delete_guaranteed_start(
    struct hf_zookeeper *zookeeper, const char *path, int32_t version,
    uint64_t wait_ms, struct hf_zookeeper_done done, struct hf_op **handle)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_DELETE, .path = path, .version = version};

    return hf_zookeeper_call_start(zookeeper,
                                   "hf_zookeeper_delete_guaranteed_start",
                                   begin_delete, &op, wait_ms, done, handle);
}
