/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls that create, delete and update with retries.
 */
#include "zookeeper_client/zookeeper_retry.h"

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "zookeeper_client/zookeeper_watch.h"
#include "zookeeper_retry/retry_create.h"
#include "zookeeper_retry/retry_delete.h"
#include "zookeeper_retry/retry_update.h"

/* Begin a retry by ${plan}; as hf_zookeeper_begin. */
static struct hf_zookeeper_user_op *
begin_plan(struct hf_zookeeper *zookeeper,
           const struct hf_zookeeper_retry_plan *plan, uint64_t wait_ms,
           const struct hf_zookeeper_completion *completion,
           struct hf_error *error)
{
    struct hf_zookeeper_retry *retry = hf_alloc(sizeof *retry);

    if (retry == NULL) {
        if (plan->machine != NULL)
            plan->ops->free(plan->machine);
        (void)hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    return hf_zookeeper_retry_begin(zookeeper, retry, plan, wait_ms, completion,
                                    error)
               ? &retry->user_op
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

/* The function of type hf_zookeeper_begin that begins a create. */
static struct hf_zookeeper_user_op *
begin_create(struct hf_zookeeper *zookeeper, const void *given,
             uint64_t wait_ms, const struct hf_zookeeper_completion *completion,
             struct hf_error *error)
{
    const struct create_request *request = given;
    struct hf_zookeeper_retry_plan plan = {.user_ops =
                                               &hf_zookeeper_retry_user_ops,
                                           .ops = &hf_zk_retry_create_ops,
                                           .priority = request->op->priority};
    struct hf_random random;

    if (check_create(zookeeper, request, error) != HF_OK ||
        hf_zookeeper_retry_random(&random, error) != HF_OK)
        return NULL;
    plan.machine = hf_zk_retry_create_new(request->op, request->flags, &random);
    return begin_plan(zookeeper, &plan, wait_ms, completion, error);
}

hf_status hf_zookeeper_create_protected(struct hf_zookeeper *zookeeper,
                                        const struct hf_zookeeper_op *op,
                                        unsigned flags, uint64_t wait_ms,
                                        struct hf_zookeeper_result **result)
{
    const struct create_request request = {op, flags};

    return hf_zookeeper_user_op_run(zookeeper, "hf_zookeeper_create_protected",
                                    begin_create, &request, wait_ms, result);
}

hf_status hf_zookeeper_create_protected_start(struct hf_zookeeper *zookeeper,
                                              const struct hf_zookeeper_op *op,
                                              unsigned flags, uint64_t wait_ms,
                                              struct hf_zookeeper_done done,
                                              struct hf_op **handle)
{
    const struct create_request request = {op, flags};

    return hf_zookeeper_user_op_start(
        zookeeper, "hf_zookeeper_create_protected_start", begin_create,
        &request, wait_ms, done, handle);
}

/* ---------------------------------------------------------------- delete -- */

/* The function of type hf_zookeeper_begin that begins a guaranteed delete. */
static struct hf_zookeeper_user_op *
begin_delete(struct hf_zookeeper *zookeeper, const void *request,
             uint64_t wait_ms, const struct hf_zookeeper_completion *completion,
             struct hf_error *error)
{
    const struct hf_zookeeper_op *op = request;
    struct hf_zookeeper_retry_plan plan = {.user_ops =
                                               &hf_zookeeper_retry_user_ops,
                                           .ops = &hf_zk_retry_delete_ops,
                                           .goes_on = true};
    struct hf_random random;

    if (hf_zookeeper_operation_check(zookeeper, op, error) != HF_OK ||
        hf_zookeeper_retry_random(&random, error) != HF_OK)
        return NULL;
    plan.machine = hf_zk_retry_delete_new(op->path, op->version, &random);
    return begin_plan(zookeeper, &plan, wait_ms, completion, error);
}

hf_status hf_zookeeper_delete_guaranteed(struct hf_zookeeper *zookeeper,
                                         const char *path, int32_t version,
                                         uint64_t wait_ms)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_DELETE, .path = path, .version = version};

    return hf_zookeeper_user_op_run(zookeeper, "hf_zookeeper_delete_guaranteed",
                                    begin_delete, &op, wait_ms, NULL);
}

hf_status hf_zookeeper_delete_guaranteed_start(
    struct hf_zookeeper *zookeeper, const char *path, int32_t version,
    uint64_t wait_ms, struct hf_zookeeper_done done, struct hf_op **handle)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_DELETE, .path = path, .version = version};

    return hf_zookeeper_user_op_start(zookeeper,
                                      "hf_zookeeper_delete_guaranteed_start",
                                      begin_delete, &op, wait_ms, done, handle);
}

/* ---------------------------------------------------------------- update -- */

/* An update is a retry that asks the user what to write.  The function of the
 * user is called with no lock held: on the thread that waits for the update, or
 * where callbacks run. */
struct update {
    struct hf_zookeeper_retry retry; /* must be the first field, because it is
                                        freed by this address */
    struct hf_zookeeper_change change;
    struct hf_zookeeper_done done; /* the user's callback, if no call waits */
};

struct update_request {
    const char *path;
    const struct hf_zookeeper_change *change;
};

/* The .ask of an update: call the user's function and reply.  The call that
 * waited for the update may have returned for lack of descriptors; then the
 * user's function must not be called any more. */
static void ask(struct hf_user_op *op)
{
    struct hf_monitor *monitor = op->handle.monitor;
    struct update *update = container_of(op, struct update, retry.user_op.op);
    const struct hf_zookeeper_change change = update->change;
    struct hf_zookeeper_new_data new_data = {.data = NULL};
    struct hf_zookeeper_result *now;
    hf_status status;

    if (update->retry.waits_for != HF_ZOOKEEPER_RETRY_REPLY)
        return;
    if (op->completion.waiter == NULL && op->completion.done.fn == NULL) {
        hf_zookeeper_retry_reply(&update->retry, HF_ECANCELLED);
        return;
    }
    now = hf_zk_retry_update_take(update->retry.machine);
    hf_monitor_unlock(monitor);
    status = change.fn(change.arg, now, &new_data);
    hf_monitor_lock(monitor);
    if (hf_fork_is_child(&monitor->fork) ||
        update->retry.waits_for != HF_ZOOKEEPER_RETRY_REPLY) {
        /* This is the child of a fork, or the update has ended meanwhile. */
        hf_zookeeper_result_free(now);
        return;
    }
    hf_zk_retry_update_set(update->retry.machine, now, &new_data);
    hf_zookeeper_retry_reply(&update->retry, status);
}

static const struct hf_user_op_ops update_ops = {
    .cancel = hf_zookeeper_retry_cancel,
    .take = hf_zookeeper_user_op_take,
    .ask = ask,
    .destroy = hf_zookeeper_retry_destroy,
};

/* Call .drop of ${change}, because the user's function is not needed any
 * more. */
static void drop(const struct hf_zookeeper_change *change)
{
    if (change->drop != NULL)
        change->drop(change->arg);
}

/* The callback for the end of an update that was started: report it to the
 * user. */
static void report_end(void *arg, const struct hf_zookeeper_result *result)
{
    const struct update *update = arg;
    const struct hf_zookeeper_done done = update->done;

    drop(&update->change);
    if (done.fn != NULL)
        done.fn(done.arg, result);
    if (done.drop != NULL)
        done.drop(done.arg);
}

/* Can ${request} be carried out? */
static hf_status check_update(const struct hf_zookeeper *zookeeper,
                              const struct update_request *request,
                              struct hf_error *error)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET,
                                       .path = request->path};

    if (request->change->fn == NULL)
        return hf_error_set(error, HF_EINVAL,
                            "the change has no function; expected one that "
                            "makes new data");
    return hf_zookeeper_operation_check(zookeeper, &op, error);
}

/* The function of type hf_zookeeper_begin that begins an update. */
static struct hf_zookeeper_user_op *
begin_update(struct hf_zookeeper *zookeeper, const void *given,
             uint64_t wait_ms, const struct hf_zookeeper_completion *completion,
             struct hf_error *error)
{
    const struct update_request *request = given;
    struct hf_zookeeper_retry_plan plan = {.user_ops = &update_ops,
                                           .ops = &hf_zk_retry_update_ops};
    struct hf_zookeeper_completion to = *completion;
    struct hf_random random;
    struct update *update;

    if (check_update(zookeeper, request, error) != HF_OK ||
        hf_zookeeper_retry_random(&random, error) != HF_OK)
        return NULL;
    if ((update = hf_alloc(sizeof *update)) == NULL) {
        (void)hf_error_set(error, HF_ENOMEM, "out of memory");
        return NULL;
    }
    update->change = *request->change;
    update->done = completion->done;
    if (completion->waiter == NULL)
        to.done = (struct hf_zookeeper_done){report_end, update, NULL};
    plan.machine = hf_zk_retry_update_new(request->path, &random);
    return hf_zookeeper_retry_begin(zookeeper, &update->retry, &plan, wait_ms,
                                    &to, error)
               ? &update->retry.user_op
               : NULL;
}

hf_status hf_zookeeper_update(struct hf_zookeeper *zookeeper, const char *path,
                              struct hf_zookeeper_change change,
                              uint64_t wait_ms,
                              struct hf_zookeeper_result **result)
{
    const struct update_request request = {path, &change};
    hf_status status =
        hf_zookeeper_user_op_run(zookeeper, "hf_zookeeper_update", begin_update,
                                 &request, wait_ms, result);

    drop(&change);
    return status;
}

hf_status
hf_zookeeper_update_start(struct hf_zookeeper *zookeeper, const char *path,
                          struct hf_zookeeper_change change, uint64_t wait_ms,
                          struct hf_zookeeper_done done, struct hf_op **handle)
{
    const struct update_request request = {path, &change};
    hf_status status = hf_zookeeper_user_op_start(
        zookeeper, "hf_zookeeper_update_start", begin_update, &request, wait_ms,
        done, handle);

    if (status != HF_OK)
        drop(&change);
    return status;
}
