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
 * DistributedDoubleBarrier.  hf_double_barrier_leave() runs the steps in the
 * calling thread.  hf_double_barrier_leave_start() runs each of them from the
 * callback of the one before.
 */
#include <stddef.h>

#include "core/error.h"
#include "core/memory.h"
#include "core/time_math.h"
#include "host/double_barrier.h"
#include "host/queue_op.h"

/* How long clearing the ready flag may take.  No caller waits for it; after
 * that time it is left as it is. */
#define CLEAR_READY_MS 5000

static const struct hf_done no_done = {NULL, NULL, NULL};

/* ---------------------------------------------------------------- steps -- */

/* The arguments of the first wait.  ${grant} is not released yet, so its ticket
 * is still in the queue. */
static struct hf_queue_op_args leave_args(const struct hf_grant *grant,
                                          uint64_t wait_ms,
                                          uint64_t deadline_at_ms)
{
    uint64_t now_ms = hf_now_ms();
    struct hf_queue_op_args args = {
        .kind = HF_REQUEST_WATCH_QUEUE,
        .ticket = grant->acquisition.ticket_id,
        .generation = grant->acquisition.generation,
        .only_try = wait_ms == 0,
        .wait_ms = HF_FOREVER,
        .keeps_ticket = true,
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

    args.keeps_ticket = false;
    if (deadline_at_ms != HF_FOREVER)
        args.wait_ms = deadline_at_ms > now_ms ? deadline_at_ms - now_ms : 0;
    return args;
}

/* Clear the ready flag, so that the next round does not find it.  A failure
 * does no harm, because a flag of an earlier generation lets no party in. */
static void clear_ready_flag(struct hf_lock *lock, const char *call)
{
    const struct hf_queue_op_args args = {.kind = HF_REQUEST_CLEAR_FLAG,
                                          .flag_kind = HF_TICKET_READY,
                                          .wait_ms = CLEAR_READY_MS};

    (void)!hf_queue_op_start(lock, call, args, NULL, no_done, NULL);
}

/* Our ticket could not be removed, for the reason ${why}.  If the client is
 * being closed, that is the reason to report, because the close removes the
 * ticket with the session. */
static void prefer_close(struct hf_client *client, struct hf_error *why)
{
    if (hf_monitor_enter(&client->monitor) != HF_OK) {
        (void)hf_fork_check(&client->monitor.fork, why);
        return;
    }
    if (client->monitor.closing)
        hf_error_set(why, HF_ECLOSED, "the client was closed");
    hf_monitor_leave(&client->monitor);
}

/* ------------------------------------------------------------- blocking -- */

/* Run the steps, and wait for each of them. */
static hf_status leave_blocking(struct hf_double_barrier *barrier,
                                const char *call, uint64_t wait_ms)
{
    struct hf_grant *grant = barrier->grant;
    uint64_t deadline_at_ms =
        wait_ms == HF_FOREVER ? HF_FOREVER : hf_after_ms(hf_now_ms(), wait_ms);
    struct hf_queue_op_args args = leave_args(grant, wait_ms, deadline_at_ms);
    hf_status status = hf_queue_op_run(barrier->lock, call, args, NULL, NULL);
    struct hf_error why;

    if (hf_grant_release_for(grant, &why) != HF_OK) {
        prefer_close(barrier->lock->client, &why);
        return hf_double_barrier_fail(barrier, call, &why);
    }
    if (status == HF_EBUSY)
        status = hf_queue_op_run(barrier->lock, call,
                                 wait_args(args, deadline_at_ms), NULL, NULL);
    if (status == HF_OK)
        clear_ready_flag(barrier->lock, call);
    return status;
}

/* Whether it may block is checked before the state changes, because a refused
 * call must leave the party inside. */
hf_status hf_double_barrier_leave(struct hf_double_barrier *barrier,
                                  uint64_t wait_ms)
{
    static const char call[] = "hf_double_barrier_leave";
    struct hf_error error;
    hf_status status = hf_lock_may_block(barrier->lock, call, &error);

    if (status == HF_OK)
        status = hf_double_barrier_begin(
            barrier, call, HF_DOUBLE_BARRIER_INSIDE, HF_DOUBLE_BARRIER_LEAVING);
    if (status != HF_OK)
        return status;
    status = leave_blocking(barrier, call, wait_ms);
    hf_double_barrier_end(barrier, NULL);
    return status;
}

/* -------------------------------------------------------------- started -- */

/* A leave that was started.  Under the client's lock. */
struct leave {
    struct hf_double_barrier *barrier; /* until the end */
    struct hf_op op;                   /* the user's operation handle */
    struct hf_op *step;                /* the wait that is under way, or NULL */
    struct hf_done done;
    struct hf_queue_op_args args; /* of the first wait */
    uint64_t deadline_at_ms;      /* by hf_now_ms(); HF_FOREVER: none */
    bool cancelled;
    bool waits_after_removal; /* our ticket is removed first */
    struct hf_error outcome;
    /* Its own until the end, and that of the user's handle. */
    unsigned references;
};

static const char start_call[] = "hf_double_barrier_leave_start";

/* Drop a reference.  With the client's lock. */
static void dereference_leave(struct leave *leave)
{
    struct hf_client *client = leave->op.client;

    if (--leave->references > 0)
        return;
    hf_free(leave);
    hf_monitor_dereference(&client->monitor);
}

/* The leave whose handle is ${op}. */
static struct leave *of_op(struct hf_op *op)
{
    return (struct leave *)((char *)op - offsetof(struct leave, op));
}

/* End the wait that is under way.  If none is, .cancelled prevents the next
 * one. */
static void cancel_op(struct hf_op *op)
{
    struct leave *leave = of_op(op);

    leave->cancelled = true;
    if (leave->step != NULL)
        leave->step->ops->cancel(leave->step);
}

static void dereference_op(struct hf_op *op)
{
    dereference_leave(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

/* Drop the reference that ${leave} has of itself.  Without the client's
 * lock. */
static void drop_own_reference(struct leave *leave)
{
    struct hf_client *client = leave->op.client;

    if (hf_monitor_enter(&client->monitor) != HF_OK)
        return;
    /* Keep the client until the lock is released. */
    hf_monitor_reference(&client->monitor);
    dereference_leave(leave);
    hf_monitor_leave(&client->monitor);
    hf_monitor_release(&client->monitor);
}

/* The last step has ended: change the state first, so that the user may enter
 * again in the callback. */
static void finish_leave(struct leave *leave)
{
    struct hf_error outcome = leave->outcome;
    struct hf_result result = {.status = outcome.status, .text = ""};
    struct hf_done done = leave->done;

    if (outcome.status == HF_OK)
        clear_ready_flag(leave->barrier->lock, start_call);
    else
        result.text = outcome.text;
    hf_double_barrier_end(leave->barrier, NULL);
    if (done.fn != NULL)
        done.fn(done.arg, &result);
    if (done.drop != NULL)
        done.drop(done.arg);
    drop_own_reference(leave);
}

/* A wait has ended with ${result}: remember that, and free its handle. */
static void finish_step(struct leave *leave, const struct hf_result *result)
{
    struct hf_op *step;

    if (hf_monitor_enter(&leave->op.client->monitor) != HF_OK)
        return;
    leave->outcome = (struct hf_error){.status = HF_OK};
    if (result->status != HF_OK)
        hf_error_set(&leave->outcome, result->status, "%s", result->text);
    step = leave->step;
    leave->step = NULL;
    hf_monitor_leave(&leave->op.client->monitor);
    hf_op_free(step);
}

/* The wait for the others has ended. */
static void others_left(void *arg, const struct hf_result *result)
{
    finish_step(arg, result);
    finish_leave(arg);
}

/* Begin the wait without our ticket.  The lock is held all the time, so that a
 * cancel is either seen here or finds a step to cancel. */
static hf_status wait_for_others(struct leave *leave)
{
    struct hf_queue_op_args args =
        wait_args(leave->args, leave->deadline_at_ms);
    const struct hf_done done = {others_left, leave, NULL};
    struct hf_error *outcome = &leave->outcome;
    struct hf_queue_op *queue_op = NULL;
    hf_status status = hf_monitor_enter(&leave->op.client->monitor);

    if (status != HF_OK)
        return hf_error_set(outcome, status, "%s", hf_status_text(status));
    if (leave->cancelled)
        status = hf_error_set(outcome, HF_ECANCELLED, "the wait was cancelled");
    else
        status = hf_queue_op_begin(leave->barrier->lock, &args, NULL, done,
                                   &queue_op, outcome);
    if (queue_op != NULL)
        leave->step = hf_queue_op_handle(queue_op);
    hf_monitor_leave(&leave->op.client->monitor);
    return status;
}

/* The release has ended: go on to the wait for the others, if there is one. */
static void ticket_removed(void *arg, const struct hf_result *result)
{
    struct leave *leave = arg;

    if (result->status != HF_OK) {
        hf_error_set(&leave->outcome, result->status, "%s", result->text);
        prefer_close(leave->op.client, &leave->outcome);
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
    struct hf_grant *grant = leave->barrier->grant;

    finish_step(leave, result);
    leave->waits_after_removal = result->status == HF_EBUSY;
    if (hf_grant_release_start(grant, done) == HF_OK)
        return;
    hf_grant_error(grant, &leave->outcome);
    prefer_close(leave->op.client, &leave->outcome);
    finish_leave(leave);
}

/* A leave with one reference, its own; NULL if out of memory. */
static struct leave *new_leave(struct hf_double_barrier *barrier,
                               uint64_t wait_ms, struct hf_done done)
{
    struct leave *leave = hf_alloc(sizeof(*leave));

    if (leave == NULL)
        return NULL;
    leave->barrier = barrier;
    leave->op = (struct hf_op){&op_ops, barrier->lock->client};
    leave->done = done;
    leave->deadline_at_ms =
        wait_ms == HF_FOREVER ? HF_FOREVER : hf_after_ms(hf_now_ms(), wait_ms);
    leave->args = leave_args(barrier->grant, wait_ms, leave->deadline_at_ms);
    leave->references = 1;
    return leave;
}

/* The leave could not be begun: release the grant without reporting it, and be
 * outside. */
static void abandon_barrier(struct hf_double_barrier *barrier)
{
    (void)!hf_grant_release_start(barrier->grant, no_done);
    hf_double_barrier_end(barrier, NULL);
}

/* Set ${op}, and begin the first wait. */
static hf_status begin_leave(struct leave *leave, struct hf_op **op)
{
    const struct hf_done done = {first_wait_ended, leave, NULL};
    hf_status status = hf_monitor_enter(&leave->op.client->monitor);

    if (status != HF_OK)
        return status;
    hf_monitor_reference(&leave->op.client->monitor);
    if (op != NULL) {
        leave->references++;
        *op = &leave->op;
    }
    hf_monitor_leave(&leave->op.client->monitor);
    status = hf_queue_op_start(leave->barrier->lock, start_call, leave->args,
                               NULL, done, &leave->step);
    if (status == HF_OK)
        return HF_OK;
    if (op != NULL) {
        hf_op_free(*op);
        *op = NULL;
    }
    return status;
}

/* From the change of the state on the party will be outside in any case, also
 * if the leave cannot be begun. */
hf_status hf_double_barrier_leave_start(struct hf_double_barrier *barrier,
                                        uint64_t wait_ms, struct hf_done done,
                                        struct hf_op **op)
{
    struct leave *leave;
    struct hf_error why;
    hf_status status;

    if (op != NULL)
        *op = NULL;
    status =
        hf_double_barrier_begin(barrier, start_call, HF_DOUBLE_BARRIER_INSIDE,
                                HF_DOUBLE_BARRIER_LEAVING);
    if (status != HF_OK)
        goto drop;
    if ((leave = new_leave(barrier, wait_ms, done)) == NULL) {
        status = hf_error_set(&why, HF_ENOMEM, "out of memory");
        (void)hf_double_barrier_fail(barrier, start_call, &why);
        goto abandon_barrier;
    }
    if ((status = begin_leave(leave, op)) == HF_OK)
        return HF_OK;
    drop_own_reference(leave);
abandon_barrier:
    abandon_barrier(barrier);
drop:
    if (done.drop != NULL)
        done.drop(done.arg);
    return status;
}
