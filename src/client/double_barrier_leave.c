/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaving a double barrier, in up to three steps:
 *
 * - Wait until we are the only one left of our round, or until the rule says
 *   that our ticket has to be removed first.
 * - Remove the ticket.
 * - If it was removed first, wait for the others without it.
 *
 * The rule is in the core, and the recipe that of Curator's
 * DistributedDoubleBarrier.  A step is begun where the end of the one before is
 * carried out, with the lock, and not in a callback of the user.  So a leave
 * goes on where no thread runs callbacks, and hf_double_barrier_leave() is
 * hf_double_barrier_leave_start() and a wait for the end.
 */
#include <holdfast/barrier.h>
#include <holdfast/grant.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/double_barrier.h"
#include "client/queue_op.h"
#include "operation/done.h"

/* How long clearing the ready flag may take.  No caller waits for it; after
 * that time it is left as it is. */
#define CLEAR_READY_MS 5000

static const struct hf_done no_done = {NULL, NULL, NULL};
static const struct hf_completion nobody = {.waiter = NULL};

/* A leave, from its beginning until its end was reported.  Under the client's
 * lock. */
struct leave {
    struct hf_user_op user_op;
    struct hf_lock *lock;         /* the barrier's; one reference */
    struct hf_grant *grant;       /* ours, until the step that releases it */
    struct hf_queue_op *wait;     /* the wait that is under way, or NULL */
    struct hf_queue_op_args args; /* of the first wait */
    uint64_t deadline_at_ms;      /* by hf_now_ms(); HF_FOREVER: none */
    bool cancelled;
    bool waits_after_removal; /* wait for the others after the removal */
    struct hf_error outcome;
    /* The barrier whose state the callback changes, and the callback of the
     * user; NULL: no callback, because the caller waits. */
    struct hf_double_barrier *barrier;
    struct hf_done done;
};

/* ------------------------------------------------------------ arguments -- */

/* The arguments of the first wait: until our ticket may, or has to, be removed.
 * ${grant} is not released yet, so its ticket is still in the queue. */
static struct hf_queue_op_args leave_args(const struct hf_grant *grant,
                                          uint64_t wait_ms,
                                          uint64_t deadline_at_ms)
{
    uint64_t now_ms = hf_now_ms();
    struct hf_queue_op_args args = {
        .kind = HF_REQUEST_WATCH_QUEUE,
        .ticket = grant->acquisition.ticket_id,
        .waits_for = HF_WAIT_LEAVE,
        .generation = grant->acquisition.generation,
        .only_try = wait_ms == 0,
        .wait_ms = HF_FOREVER,
    };

    if (deadline_at_ms != HF_FOREVER)
        args.wait_ms = deadline_at_ms > now_ms ? deadline_at_ms - now_ms : 0;
    return args;
}

/* The arguments of the second wait, after our ticket was removed. */
static struct hf_queue_op_args wait_args(struct hf_queue_op_args args,
                                         uint64_t deadline_at_ms)
{
    uint64_t now_ms = hf_now_ms();

    args.waits_for = HF_WAIT_LEFT;
    if (deadline_at_ms != HF_FOREVER)
        args.wait_ms = deadline_at_ms > now_ms ? deadline_at_ms - now_ms : 0;
    return args;
}

/* ------------------------------------------------- handle and beginning -- */

static struct leave *of_user_op(struct hf_user_op *user_op)
{
    return container_of(user_op, struct leave, user_op);
}

/* The .destroy of a leave. */
static void destroy_leave(struct hf_user_op *user_op)
{
    struct leave *leave = of_user_op(user_op);
    struct hf_monitor *monitor = user_op->handle.monitor;

    hf_lock_dereference(leave->lock);
    hf_free(leave);
    hf_monitor_dereference(monitor);
}

/* The .take of a leave. */
static void take_leave(struct hf_user_op *user_op, struct hf_result *result,
                       struct hf_error *why)
{
    (void)result;
    *why = of_user_op(user_op)->outcome;
}

/* The .cancel of a leave: end the wait that is under way.  If none is,
 * .cancelled prevents the next one. */
static void cancel_leave(struct hf_user_op *user_op)
{
    struct leave *leave = of_user_op(user_op);

    leave->cancelled = true;
    if (leave->wait != NULL)
        leave->wait->user_op.ops->cancel(&leave->wait->user_op);
}

static const struct hf_user_op_ops op_ops = {
    .cancel = cancel_leave,
    .take = take_leave,
    .destroy = destroy_leave,
};

/* A leave with one reference, the caller's; NULL if out of memory.  With the
 * lock. */
static struct leave *new_leave(struct hf_double_barrier *barrier,
                               uint64_t wait_ms)
{
    struct hf_client *client = barrier->lock->client;
    struct leave *leave = hf_alloc(sizeof(*leave));

    if (leave == NULL)
        return NULL;
    leave->lock = barrier->lock;
    leave->grant = barrier->grant;
    hf_user_op_init(&leave->user_op, &op_ops, &client->monitor, 1);
    leave->deadline_at_ms =
        wait_ms == HF_FOREVER ? HF_FOREVER : hf_after_ms(hf_now_ms(), wait_ms);
    leave->args = leave_args(barrier->grant, wait_ms, leave->deadline_at_ms);
    hf_lock_reference(leave->lock);
    hf_monitor_reference(&client->monitor);
    return leave;
}

/* -------------------------------------------------------------- the end -- */

/* Clear the ready flag, so that the next round does not find it.  A failure
 * does no harm, because a flag of an earlier generation lets no participant in.
 */
static void clear_ready_flag(struct leave *leave)
{
    const struct hf_queue_op_args args = {.kind = HF_REQUEST_CLEAR_FLAG,
                                          .flag_kind = HF_TICKET_READY,
                                          .wait_ms = CLEAR_READY_MS};
    struct hf_queue_op *queue_op;
    struct hf_error ignored;

    if (hf_queue_op_begin(leave->lock, &args, &nobody, &queue_op, &ignored) ==
        HF_OK)
        hf_user_op_dereference(&queue_op->user_op);
}

/* Change the state first, so that the user may enter again in the callback.
 * Without the lock. */
static void report_end(void *arg, const struct hf_result *result)
{
    struct leave *leave = arg;

    hf_double_barrier_end(leave->barrier, NULL);
    if (leave->done.fn != NULL)
        leave->done.fn(leave->done.arg, result);
    hf_done_drop(&leave->done);
}

/* The last step has ended. */
static void finish_leave(struct leave *leave)
{
    if (leave->outcome.status == HF_OK)
        clear_ready_flag(leave);
    hf_user_op_end(&leave->user_op, leave->outcome.status);
}

/* ---------------------------------------------------------------- steps -- */

/* A step has ended with ${result}. */
static void set_outcome(struct leave *leave, const struct hf_result *result)
{
    leave->outcome = (struct hf_error){.status = HF_OK};
    if (result->status != HF_OK)
        hf_error_set(&leave->outcome, result->status, "%s", result->text);
}

/* The wait that was under way has ended. */
static void drop_wait(struct leave *leave)
{
    struct hf_queue_op *wait = leave->wait;

    leave->wait = NULL;
    if (wait != NULL)
        hf_user_op_dereference(&wait->user_op);
}

/* The wait for the others has ended. */
static void others_left(void *arg, const struct hf_result *result)
{
    struct leave *leave = arg;

    drop_wait(leave);
    set_outcome(leave, result);
    finish_leave(leave);
}

/* Begin the wait without our ticket.  After HF_OK it may have ended, and
 * ${leave} with it. */
static hf_status wait_for_others(struct leave *leave)
{
    const struct hf_queue_op_args args =
        wait_args(leave->args, leave->deadline_at_ms);
    const struct hf_completion step = {.done = {others_left, leave, NULL},
                                       .is_step = true};

    if (leave->cancelled)
        return hf_error_set(&leave->outcome, HF_ECANCELLED,
                            "the wait was cancelled");
    return hf_queue_op_begin(leave->lock, &args, &step, &leave->wait,
                             &leave->outcome);
}

/* The release has ended: go on to the wait for the others, if there is one.  If
 * the ticket could not be removed because the client is being closed, that is
 * the reason to report: the close removes the ticket with the session. */
static void ticket_removed(void *arg, const struct hf_result *result)
{
    struct leave *leave = arg;

    if (result->status != HF_OK) {
        set_outcome(leave, result);
        if (leave->user_op.handle.monitor->state != HF_MONITOR_OPEN)
            hf_error_set(&leave->outcome, HF_ECLOSED, "the client was closed");
    } else if (leave->waits_after_removal && wait_for_others(leave) == HF_OK) {
        return;
    }
    finish_leave(leave);
}

/* The first wait has ended: remove our ticket, whatever it ended with. */
static void first_wait_ended(void *arg, const struct hf_result *result)
{
    struct leave *leave = arg;
    const struct hf_done done = {ticket_removed, leave, NULL};

    drop_wait(leave);
    set_outcome(leave, result);
    leave->waits_after_removal = result->status == HF_EBUSY;
    hf_grant_release_step(leave->grant, done);
}

/* Begin the leave for ${completion}, and its first wait.  After HF_OK the leave
 * may have ended already. */
static hf_status begin_leave(struct leave *leave,
                             const struct hf_completion *completion,
                             struct hf_error *error)
{
    const struct hf_queue_op_args args = leave->args;
    const struct hf_completion step = {.done = {first_wait_ended, leave, NULL},
                                       .is_step = true};

    hf_user_op_begin(&leave->user_op, completion);
    return hf_queue_op_begin(leave->lock, &args, &step, &leave->wait, error);
}

/* The leave could not be begun: release the grant without reporting it.
 * Without the lock. */
static void abandon_grant(struct hf_double_barrier *barrier)
{
    (void)!hf_grant_release_start(barrier->grant, no_done);
}

/* ------------------------------------------------------------- blocking -- */

/* Begin ${leave} and wait for its end.  If the first wait cannot be begun, the
 * leave goes on as after a wait that failed.  If this thread cannot wait, the
 * waits are cancelled, and the ticket is removed all the same. */
static hf_status begin_and_wait(struct leave *leave, struct hf_error *error)
{
    struct hf_waiter waiter = {.done = false};
    const struct hf_completion completion = {.waiter = &waiter};
    struct hf_result result;
    hf_status status;

    if (begin_leave(leave, &completion, error) != HF_OK) {
        const struct hf_result refused = {.status = error->status,
                                          .text = error->text};

        first_wait_ended(leave, &refused);
    }
    status = hf_user_op_await(&leave->user_op, &waiter, &result, error);
    if (!waiter.done)
        cancel_leave(&leave->user_op);
    hf_user_op_dereference(&leave->user_op);
    return status;
}

/* Whether it may block is checked before the state changes, because a refused
 * call must leave the participant inside. */
hf_status hf_double_barrier_leave(struct hf_double_barrier *barrier,
                                  uint64_t wait_ms)
{
    static const char api_name[] = "hf_double_barrier_leave";
    struct hf_client *client = barrier->lock->client;
    struct leave *leave;
    struct hf_error error;
    hf_status status;

    if (hf_monitor_may_block(&client->monitor, &error) != HF_OK)
        return hf_fail(api_name, &error);
    status = hf_double_barrier_begin(
        barrier, api_name, HF_DOUBLE_BARRIER_INSIDE, HF_DOUBLE_BARRIER_LEAVING);
    if (status == HF_OK)
        status = hf_monitor_enter(&client->monitor, api_name);
    if (status != HF_OK)
        return status;
    if ((leave = new_leave(barrier, wait_ms)) != NULL)
        status = begin_and_wait(leave, &error);
    else
        status = hf_error_set(&error, HF_ENOMEM, "out of memory");
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(&client->monitor);
    if (leave == NULL)
        abandon_grant(barrier);
    hf_double_barrier_end(barrier, NULL);
    return status;
}

/* -------------------------------------------------------------- started -- */

/* Begin a leave, and call ${done} at its end.  On failure ${done} is still the
 * caller's.  With the lock. */
static hf_status start_leave(struct hf_double_barrier *barrier,
                             uint64_t wait_ms, struct hf_done done,
                             struct hf_op **op, struct hf_error *error)
{
    struct hf_monitor *monitor = &barrier->lock->client->monitor;
    struct hf_completion completion = {.waiter = NULL};
    struct leave *leave;
    hf_status status;

    if (monitor->state == HF_MONITOR_OPEN &&
        (status = hf_monitor_ensure_poller(monitor, error)) != HF_OK)
        return status;
    if ((leave = new_leave(barrier, wait_ms)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    leave->barrier = barrier;
    leave->done = done;
    completion.done = (struct hf_done){report_end, leave, NULL};
    status = begin_leave(leave, &completion, error);
    if (status != HF_OK)
        hf_user_op_dereference(&leave->user_op); /* the completion's */
    else if (op != NULL)
        *op = &leave->user_op.handle;
    if (status != HF_OK || op == NULL)
        hf_user_op_dereference(&leave->user_op); /* the caller's */
    return status;
}

/* Once the state has changed, the participant will be outside in any case, even
 * if the leave cannot be begun. */
hf_status hf_double_barrier_leave_start(struct hf_double_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done,
                                        struct hf_op **op)
{
    static const char api_name[] = "hf_double_barrier_leave_start";
    struct hf_client *client = barrier->lock->client;
    struct hf_error error;
    hf_status status;

    if (op != NULL)
        *op = NULL;
    status = hf_double_barrier_begin(
        barrier, api_name, HF_DOUBLE_BARRIER_INSIDE, HF_DOUBLE_BARRIER_LEAVING);
    if (status != HF_OK)
        goto drop;
    if ((status = hf_monitor_enter(&client->monitor, api_name)) != HF_OK)
        goto drop;
    status = start_leave(barrier, wait_ms, done, op, &error);
    if (status != HF_OK)
        (void)hf_fail(api_name, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        return HF_OK;
    abandon_grant(barrier);
    hf_double_barrier_end(barrier, NULL);
drop:
    hf_done_drop(&done);
    return status;
}
