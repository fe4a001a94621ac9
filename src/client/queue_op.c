/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of an operation on a queue: operations of the core, one after the
 * other, until one of them brings the answer.  And the calls of the user that
 * start one, or wait for it.
 *
 * The core reports each operation twice: first its answer, and then that it
 * does not use the object any more.  Only after the second may the same object
 * be used for the next one.
 */
#include "client/queue_op.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "client/owner_text.h"

/* The operation of the user that ${operation} of the core belongs to. */
static struct hf_queue_op *of_operation(struct hf_operation *operation)
{
    return container_of(operation, struct hf_queue_op, operation);
}

static struct hf_queue_op *of_user_op(struct hf_user_op *user_op)
{
    return container_of(user_op, struct hf_queue_op, user_op);
}

/* Is this the list that finds the holders to ask? */
static bool is_listing_holders(const struct hf_queue_op *queue_op)
{
    return queue_op->args.every_holder &&
           queue_op->operation.kind == HF_REQUEST_LIST;
}

/* ------------------------------------------------------------- lifetime -- */

/* The .destroy of an operation. */
static void destroy_op(struct hf_user_op *user_op)
{
    struct hf_queue_op *queue_op = of_user_op(user_op);

    hf_tickets_free(queue_op->tickets);
    hf_lock_dereference(queue_op->lock);
    hf_free(queue_op->evicted_by);
    hf_free(queue_op);
}

/* The .take of an operation: the list, if it was one. */
static void take_op(struct hf_user_op *user_op, struct hf_result *result,
                    struct hf_error *why)
{
    struct hf_queue_op *queue_op = of_user_op(user_op);

    *why = queue_op->outcome;
    result->tickets = queue_op->tickets;
    result->success = queue_op->success;
    queue_op->tickets = NULL;
}

/* Choose the queues to ask, in order.  A semaphore has two.  For a list the
 * queue of those that wait comes first: a waiter that is granted in between is
 * then in both lists, and not in none.  A ticket that is looked for by its id
 * is more likely a holder's. */
static void choose_queues(struct hf_queue_op *queue_op)
{
    const struct hf_queue_op_args *args = &queue_op->args;
    const struct hf_lock *lock = queue_op->lock;
    bool lists = args->kind == HF_REQUEST_LIST;

    queue_op->queue_count = 1;
    queue_op->queues[0] = lock->name;
    if (lock->kind != HF_TICKET_LEASE)
        return;
    queue_op->queues[0] = lists ? lock->entry_queue : lock->lease_queue;
    queue_op->queues[1] = lists ? lock->lease_queue : lock->entry_queue;
    if (args->every_holder || (lists && args->which == HF_TICKETS_HOLDERS))
        queue_op->queues[0] = lock->lease_queue;
    else if (!lists || args->which == HF_TICKETS_ALL)
        queue_op->queue_count = 2;
}

static bool is_of_success(enum hf_request_kind kind)
{
    return kind == HF_REQUEST_READ_SUCCESS || kind == HF_REQUEST_WRITE_SUCCESS;
}

/* Have the core begin the next operation, in the same object. */
static void start_operation(struct hf_queue_op *queue_op,
                            enum hf_request_kind kind,
                            const struct hf_ticket_id *ticket)
{
    struct hf_event event = {.kind = HF_EVENT_START_OPERATION};

    memset(&queue_op->operation, 0, sizeof(queue_op->operation));
    queue_op->list_saved = false;
    queue_op->operation.kind = kind;
    queue_op->operation.queue = queue_op->queues[queue_op->queue_index];
    queue_op->operation.deadline_at_ms = queue_op->deadline_at_ms;
    queue_op->operation.only_try = queue_op->args.only_try;
    if (kind == HF_REQUEST_WATCH_QUEUE) {
        queue_op->operation.waits_for = queue_op->args.waits_for;
        queue_op->operation.generation = queue_op->args.generation;
    }
    queue_op->operation.flag_kind = queue_op->args.flag_kind;
    queue_op->operation.texts = queue_op->args.texts;
    queue_op->operation.evicted_by = queue_op->evicted_by;
    queue_op->operation.token = queue_op->args.token;
    if (kind == HF_REQUEST_REMOVE || kind == HF_REQUEST_REVOKE ||
        kind == HF_REQUEST_WATCH_QUEUE || is_of_success(kind))
        queue_op->operation.ticket = *ticket;
    event.as.operation = &queue_op->operation;
    hf_client_step(queue_op->lock->client, &event);
}

/* The .cancel of an operation: its end comes as an effect, perhaps at once. */
static void cancel_op(struct hf_user_op *user_op)
{
    struct hf_queue_op *queue_op = of_user_op(user_op);
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};

    if (queue_op->ended)
        return;
    event.as.operation = &queue_op->operation;
    hf_client_step(queue_op->lock->client, &event);
}

static const struct hf_user_op_ops op_ops = {
    .cancel = cancel_op,
    .take = take_op,
    .destroy = destroy_op,
};

/* ---------------------------------------------------------------- begin -- */

/* An operation with two references: the core's, and the caller's.  NULL if out
 * of memory. */
static struct hf_queue_op *new_queue_op(struct hf_lock *lock,
                                        const struct hf_queue_op_args *args)
{
    struct hf_queue_op *queue_op = hf_alloc(sizeof(*queue_op));

    if (queue_op == NULL)
        return NULL;
    if (args->evicted_by != NULL &&
        (queue_op->evicted_by = hf_strdup(args->evicted_by)) == NULL) {
        hf_free(queue_op);
        return NULL;
    }
    hf_user_op_init(&queue_op->user_op, &op_ops, &lock->client->monitor, 2);
    queue_op->args = *args;
    queue_op->lock = lock;
    queue_op->deadline_at_ms = hf_deadline_ms(hf_now_ms(), args->wait_ms);
    choose_queues(queue_op);
    hf_lock_reference(lock);
    return queue_op;
}

hf_status hf_queue_op_begin(struct hf_lock *lock,
                            const struct hf_queue_op_args *args,
                            const struct hf_completion *completion,
                            struct hf_queue_op **queue_op,
                            struct hf_error *error)
{
    struct hf_client *client = lock->client;
    hf_status status;

    *queue_op = NULL;
    if (client->monitor.state != HF_MONITOR_OPEN)
        return hf_monitor_explain_closed(&client->monitor, "client", error);
    if (completion->done.fn != NULL && !completion->is_step &&
        (status = hf_monitor_ensure_poller(&client->monitor, error)) != HF_OK)
        return status;
    if ((*queue_op = new_queue_op(lock, args)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    hf_user_op_begin(&(*queue_op)->user_op, completion);
    client->pending++;
    start_operation(*queue_op,
                    args->every_holder ? HF_REQUEST_LIST : args->kind,
                    &args->ticket);
    return HF_OK;
}

/* ----------------------------------------------------------- the answer -- */

/* End the operation with ${status}, and ${text} if it failed.  The list is the
 * user's only if the user has asked for one. */
static void end_queue_op(struct hf_queue_op *queue_op, hf_status status,
                         const char *text)
{
    assert(!queue_op->ended);
    queue_op->ended = true;
    queue_op->outcome = (struct hf_error){.status = HF_OK};
    if (status != HF_OK)
        hf_error_set(&queue_op->outcome, status, "%s", text);
    if (status != HF_OK || queue_op->args.kind != HF_REQUEST_LIST) {
        hf_tickets_free(queue_op->tickets);
        queue_op->tickets = NULL;
    }
    hf_user_op_end(&queue_op->user_op, status);
}

static int64_t utc_ms(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The success was read or written.  If the engine could not read its own clock,
 * compute the age by the wall clock of this machine. */
static void end_success(struct hf_queue_op *queue_op)
{
    struct hf_success *success = &queue_op->success;

    if (queue_op->args.kind == HF_REQUEST_READ_SUCCESS)
        *success = queue_op->operation.success;
    if (success->token != 0 && success->age_ms == HF_SUCCESS_AGE_UNKNOWN)
        success->age_ms = utc_ms() - success->at_utc_ms;
    end_queue_op(queue_op, HF_OK, "");
}

/* No queue had the ticket. */
static void end_ticket_gone(struct hf_queue_op *queue_op)
{
    end_queue_op(queue_op, HF_EGONE,
                 "there is no such ticket in the queue, or not any more");
}

/* Is ${operation} about a ticket that has to be in the queue? */
static bool must_be_found(const struct hf_operation *operation)
{
    return operation->kind == HF_REQUEST_REMOVE ||
           operation->kind == HF_REQUEST_REVOKE;
}

/* The core has answered one of its operations.  A call may need several: one
 * for each of the two queues of a semaphore, or one for each holder that is
 * asked for a release.  If this answer decides the call, end it; else
 * operation_finished() begins the next one. */
static void operation_answered(struct hf_queue_op *queue_op)
{
    const struct hf_operation *operation = &queue_op->operation;
    bool lists = operation->kind == HF_REQUEST_LIST;
    bool last = queue_op->queue_index + 1 == queue_op->queue_count;

    if (operation->status != HF_OK)
        end_queue_op(queue_op, operation->status, operation->text);
    else if (lists && !queue_op->list_saved)
        end_queue_op(queue_op, HF_ENOMEM, "out of memory");
    else if (queue_op->args.every_holder)
        queue_op->asked_count +=
            !is_listing_holders(queue_op) && operation->found;
    else if (is_of_success(operation->kind))
        end_success(queue_op);
    else if (lists ? last : operation->found || !must_be_found(operation))
        end_queue_op(queue_op, HF_OK, "");
    else if (last)
        end_ticket_gone(queue_op);
}

/* Every holder that was listed was gone before it could be asked.  Another
 * owner may hold the lock by now, so list again.  False: that was done often
 * enough, and the operation has ended. */
static bool list_again(struct hf_queue_op *queue_op)
{
    if (++queue_op->list_count == HF_REVOKE_LISTS_MAX) {
        end_queue_op(
            queue_op, HF_EGONE,
            "the lock is handed over faster than its holders can be asked");
        return false;
    }
    hf_tickets_free(queue_op->tickets);
    queue_op->tickets = NULL;
    queue_op->next_holder = 0;
    start_operation(queue_op, HF_REQUEST_LIST, NULL);
    return true;
}

/* Every holder that was listed was asked or was gone.  False: the operation has
 * ended. */
static bool end_holders(struct hf_queue_op *queue_op)
{
    if (queue_op->asked_count == 0 && hf_tickets_count(queue_op->tickets) > 0)
        return list_again(queue_op);
    if (queue_op->asked_count > 0)
        end_queue_op(queue_op, HF_OK, "");
    else
        end_queue_op(queue_op, HF_EGONE, "nobody holds the lock");
    return false;
}

/* Ask the next holder.  False: there is none, and the operation has ended. */
static bool revoke_next_holder(struct hf_queue_op *queue_op)
{
    const struct hf_ticket_view *view;
    struct hf_ticket_id ticket;

    view = hf_tickets_at(queue_op->tickets, queue_op->next_holder);
    if (view == NULL)
        return end_holders(queue_op);
    queue_op->next_holder++;
    (void)hf_ticket_id_parse(&ticket, view->id, strlen(view->id));
    start_operation(queue_op, HF_REQUEST_REVOKE, &ticket);
    return true;
}

/* Begin the next operation of the core.  False: the call has ended. */
static bool start_next(struct hf_queue_op *queue_op)
{
    if (queue_op->ended)
        return false;
    if (queue_op->args.every_holder)
        return revoke_next_holder(queue_op);
    queue_op->queue_index++;
    start_operation(queue_op, queue_op->args.kind, &queue_op->args.ticket);
    return true;
}

/* The core does not use the operation any more: go on, or drop the core's
 * reference. */
static void operation_finished(struct hf_queue_op *queue_op)
{
    if (start_next(queue_op))
        return;
    queue_op->lock->client->pending--;
    hf_user_op_dereference(&queue_op->user_op);
}

/* Either the answer has come, or the core is done with the object. */
void hf_queue_op_handle_effect(const struct hf_effect *effect)
{
    struct hf_queue_op *queue_op = of_operation(effect->operation);

    if (effect->kind == HF_EFFECT_OPERATION_ANSWERED)
        operation_answered(queue_op);
    else
        operation_finished(queue_op);
}

/* Without memory .list_saved is false, and the operation fails when the core
 * reports the answer.  A list with a .listener is for an object of the core,
 * which copies it. */
void hf_queue_op_save_list(const struct hf_event *event)
{
    struct hf_operation *operation;
    struct hf_queue_op *queue_op;

    assert(event->kind == HF_EVENT_LISTED);
    if ((operation = event->as.answer.request->operation) == NULL ||
        operation->kind != HF_REQUEST_LIST || operation->listener != NULL)
        return;
    queue_op = of_operation(operation);
    if (queue_op->ended)
        return;
    queue_op->list_saved =
        hf_tickets_add(&queue_op->tickets, queue_op->lock, operation, event,
                       queue_op->args.every_holder ? HF_TICKETS_HOLDERS
                                                   : queue_op->args.which);
}

/* ---------------------------------------------------------------- calls -- */

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

/* A call of the user: what it asks for, in a queue. */
struct queue_call {
    struct hf_user_call call;
    struct hf_lock *lock;
    struct hf_queue_op_args args;
    const char *id; /* of the ticket; NULL: .args has it, or none */
};

/* A callback must have a function for a list, because the list would be lost
 * otherwise. */
static hf_status check_arguments(struct queue_call *queue_call,
                                 const struct hf_completion *completion,
                                 struct hf_error *error)
{
    struct hf_queue_op_args *args = &queue_call->args;
    hf_status status = parse_id(queue_call->id, args, error);

    if (status == HF_OK && args->evicted_by != NULL)
        status =
            hf_owner_text_check_value("text of the eviction", args->evicted_by,
                                      HF_EVICTED_BY_BYTES, error);
    if (status == HF_OK)
        status = check_which(args->which, error);
    if (status == HF_OK && args->kind == HF_REQUEST_LIST &&
        completion->waiter == NULL)
        status = hf_done_check(&completion->done, "list", error);
    return status;
}

static struct hf_user_op *begin_call(struct hf_user_call *call,
                                     const struct hf_completion *completion,
                                     struct hf_error *error)
{
    struct queue_call *queue_call = container_of(call, struct queue_call, call);
    struct hf_queue_op *queue_op;

    if (check_arguments(queue_call, completion, error) != HF_OK ||
        hf_queue_op_begin(queue_call->lock, &queue_call->args, completion,
                          &queue_op, error) != HF_OK)
        return NULL;
    return &queue_op->user_op;
}

static struct queue_call make_call(struct hf_lock *lock, const char *api_name,
                                   const struct hf_queue_op_args *args,
                                   const char *id)
{
    return (struct queue_call){
        .call = {.api_name = api_name,
                 .monitor = &lock->client->monitor,
                 .begin = begin_call},
        .lock = lock,
        .args = *args,
        .id = id,
    };
}

hf_status hf_queue_op_run(struct hf_lock *lock, const char *api_name,
                          struct hf_queue_op_args args, const char *id,
                          struct hf_tickets **tickets)
{
    struct queue_call queue_call = make_call(lock, api_name, &args, id);
    struct hf_result result;
    hf_status status = hf_user_op_run(&queue_call.call, &result);

    if (tickets != NULL)
        *tickets = result.tickets;
    return status;
}

hf_status hf_queue_op_start(struct hf_lock *lock, const char *api_name,
                            struct hf_queue_op_args args, const char *id,
                            struct hf_done done, struct hf_op **op)
{
    struct queue_call queue_call = make_call(lock, api_name, &args, id);

    return hf_user_op_start(&queue_call.call, done, op);
}
