/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation on a queue for a call of the user: started, and the same waited
 * for.  The arguments that the user gave are checked here; a failure is
 * remembered at the lock.
 */
#include <string.h>

#include "base/error.h"
#include "client/owner_text.h"
#include "client/queue_op.h"
#include "operation/done.h"

static const struct hf_done no_done = {NULL, NULL, NULL};

/* Is ${which} one of the enum?  A program may pass any number. */
static hf_status check_which(enum hf_tickets_which which,
                             struct hf_error *error)
{
    if (which <= HF_TICKETS_WAITERS)
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'which' is %d; expected HF_TICKETS_ALL, "
                        "HF_TICKETS_HOLDERS or HF_TICKETS_WAITERS",
                        (int)which);
}

/* Set the ticket of ${args} to the one with the id ${text}, unless that is
 * NULL. */
static hf_status parse_id(const char *text, struct hf_queue_op_args *args,
                          struct hf_error *error)
{
    if (text == NULL || hf_ticket_id_parse(&args->ticket, text, strlen(text)))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "'%.80s' is no id of a ticket; expected one as "
                        "hf_lock_tickets() gives them, 8-4-4-4-12 digits in "
                        "lower-case hexadecimal",
                        text);
}

static hf_status check_arguments(const char *id, struct hf_queue_op_args *args,
                                 struct hf_error *error)
{
    hf_status status = parse_id(id, args, error);

    if (status == HF_OK && args->evicted_by != NULL)
        status =
            hf_owner_text_check_value("text of the eviction", args->evicted_by,
                                      HF_EVICTED_BY_BYTES, error);
    return status == HF_OK ? check_which(args->which, error) : status;
}

/* Wait for the end of ${queue_op}, whose text goes to ${error}, and drop the
 * reference of the caller.  With the lock. */
static hf_status await_queue_op(struct hf_queue_op *queue_op,
                                struct hf_waiter *waiter,
                                struct hf_tickets **tickets,
                                struct hf_error *error)
{
    hf_status status =
        hf_monitor_wait(&queue_op->lock->client->monitor, waiter, error);

    if (!waiter->done) {
        queue_op->waiter = NULL; /* it goes on; its end drops the reference */
        return status;
    }
    *error = queue_op->outcome;
    if (tickets != NULL) {
        *tickets = queue_op->tickets;
        queue_op->tickets = NULL;
    }
    hf_queue_op_dereference(queue_op);
    return status;
}

/* Is ${status} a failure to remember?  A party that leaves a double barrier
 * with its ticket in the queue may get HF_EBUSY, which only means that the
 * ticket has to be removed first. */
static bool is_failure(const struct hf_queue_op_args *args, hf_status status)
{
    return status != HF_OK && !(args->keeps_ticket && status == HF_EBUSY);
}

/* A call that may not block is refused before anything else. */
hf_status hf_queue_op_run(struct hf_lock *lock, const char *call,
                          struct hf_queue_op_args args, const char *id,
                          struct hf_tickets **tickets)
{
    struct hf_client *client = lock->client;
    struct hf_waiter waiter = {.done = false};
    struct hf_error error = {.status = HF_OK};
    struct hf_queue_op *queue_op;
    hf_status status;

    if (tickets != NULL)
        *tickets = NULL;
    if ((status = hf_lock_may_block(lock, call, &error)) == HF_OK)
        status = hf_monitor_enter(&client->monitor);
    if (status != HF_OK)
        return status;
    status = check_arguments(id, &args, &error);
    if (status == HF_OK)
        status =
            hf_queue_op_begin(lock, &args, &waiter, no_done, &queue_op, &error);
    if (status == HF_OK)
        status = await_queue_op(queue_op, &waiter, tickets, &error);
    if (is_failure(&args, status))
        hf_lock_fail(lock, call, &error);
    hf_monitor_leave(&client->monitor);
    return status;
}

/* ${done} must have a function for a list, because the list would be lost
 * otherwise. */
hf_status hf_queue_op_start(struct hf_lock *lock, const char *call,
                            struct hf_queue_op_args args, const char *id,
                            struct hf_done done, struct hf_op **op)
{
    struct hf_client *client = lock->client;
    struct hf_error error = {.status = HF_OK};
    struct hf_queue_op *queue_op;
    hf_status status = hf_monitor_enter(&client->monitor);

    if (op != NULL)
        *op = NULL;
    if (status != HF_OK)
        goto drop;
    status = check_arguments(id, &args, &error);
    if (status == HF_OK && args.kind == HF_REQUEST_LIST)
        status = hf_done_check(&done, "list", &error);
    if (status == HF_OK)
        status = hf_queue_op_begin(lock, &args, NULL, done, &queue_op, &error);
    if (status == HF_OK && op != NULL)
        *op = hf_queue_op_handle(queue_op);
    if (status != HF_OK)
        hf_lock_fail(lock, call, &error);
    hf_monitor_leave(&client->monitor);
    if (status == HF_OK)
        return HF_OK;
drop:
    hf_done_drop(&done);
    return status;
}
