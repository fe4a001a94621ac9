/* SPDX-License-Identifier: Apache-2.0 */
#include "host/errand.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/error.h"
#include "core/instant.h"
#include "core/memory.h"

static struct hf_errand *of_inquiry(struct hf_operation *operation)
{
    return (struct hf_errand *)((char *)operation -
                                offsetof(struct hf_errand, operation));
}

/* Those who hold the lock are to be found first. */
static bool looks_first(const struct hf_errand *errand)
{
    return errand->order.each && errand->operation.kind == HF_REQUEST_LIST;
}

/* ------------------------------------------------------------- lifetime -- */

void hf_errand_dereference(struct hf_errand *errand)
{
    assert(errand->references > 0);
    if (--errand->references > 0)
        return;
    hf_tickets_free(errand->tickets);
    hf_lock_dereference(errand->lock);
    hf_free(errand);
}

static void run_done(void *arg)
{
    struct hf_errand *errand = arg;
    struct hf_client *client = errand->lock->client;
    struct hf_done done = errand->done;
    struct hf_result result = {.status = errand->outcome.status,
                               .text = errand->outcome.text,
                               .tickets = errand->tickets};

    errand->tickets = NULL;
    hf_monitor_unlock(&client->monitor);
    if (done.fn != NULL)
        done.fn(done.arg, &result);
    if (done.drop != NULL)
        done.drop(done.arg);
    hf_monitor_lock(&client->monitor);
    hf_errand_dereference(errand);
}

/* Who waits may be granted between two lists: with those who wait listed first
 * nobody is missed.  Whoever is to be found by its id most likely holds. */
static void find_queues(struct hf_errand *errand)
{
    const struct hf_errand_order *order = &errand->order;
    const struct hf_lock *lock = errand->lock;
    bool lists = order->kind == HF_REQUEST_LIST;

    errand->queue_count = 1;
    errand->queues[0] = lock->name;
    if (lock->kind != HF_TICKET_LEASE)
        return;
    errand->queues[0] = lists ? lock->locks : lock->leases;
    errand->queues[1] = lists ? lock->leases : lock->locks;
    if (order->each || (lists && order->which == HF_TICKETS_HOLDERS))
        errand->queues[0] = lock->leases;
    else if (!lists || order->which == HF_TICKETS_ALL)
        errand->queue_count = 2;
}

/* Have the core begin with the next operation: the same object, once more. */
static void inquire(struct hf_errand *errand, enum hf_request_kind kind,
                    const struct hf_ticket_id *ticket)
{
    struct hf_event event = {.kind = HF_EVENT_OPERATE};

    memset(&errand->operation, 0, sizeof(errand->operation));
    errand->kept = false;
    errand->operation.kind = kind;
    errand->operation.queue = errand->queues[errand->at];
    errand->operation.deadline_at_ms = errand->deadline_at_ms;
    errand->operation.only_try = errand->order.only_try;
    errand->operation.stamp = errand->order.stamp;
    errand->operation.keeps = errand->order.keeps;
    errand->operation.mark = errand->order.mark;
    if (kind == HF_REQUEST_REMOVE || kind == HF_REQUEST_REVOKE ||
        kind == HF_REQUEST_LOOK)
        errand->operation.ticket = *ticket;
    event.as.operation = &errand->operation;
    hf_client_step(errand->lock->client, &event);
}

/* ------------------------------------------------------------ its handle -- */

static struct hf_errand *of_op(struct hf_op *op)
{
    return (struct hf_errand *)((char *)op - offsetof(struct hf_errand, op));
}

static void cancel_op(struct hf_op *op)
{
    struct hf_errand *errand = of_op(op);
    struct hf_event event = {.kind = HF_EVENT_CANCEL_OPERATION};

    if (errand->ended)
        return;
    event.as.operation = &errand->operation;
    hf_client_step(errand->lock->client, &event);
}

static void dereference_op(struct hf_op *op)
{
    hf_errand_dereference(of_op(op));
}

static const struct hf_op_ops op_ops = {
    .cancel = cancel_op,
    .dereference = dereference_op,
};

struct hf_op *hf_errand_op(struct hf_errand *errand)
{
    errand->references++;
    return &errand->op;
}

/* ----------------------------------------------------------------- begin -- */

/* One more, because the time was rounded down. */
static uint64_t deadline_ms(uint64_t wait_ms)
{
    return wait_ms == HF_FOREVER
               ? HF_FOREVER
               : hf_after_ms(hf_now_ms(), hf_after_ms(wait_ms, 1));
}

static struct hf_errand *make(struct hf_lock *lock,
                              const struct hf_errand_order *order)
{
    struct hf_errand *errand = hf_alloc(sizeof(*errand));

    if (errand == NULL)
        return NULL;
    errand->order = *order;
    errand->lock = lock;
    errand->op = (struct hf_op){&op_ops, lock->client};
    errand->references = 2; /* the core's, and whose end it is */
    errand->deadline_at_ms = deadline_ms(order->wait_ms);
    find_queues(errand);
    errand->done_callback =
        (struct hf_callback){.run = run_done, .arg = errand};
    hf_lock_reference(lock);
    return errand;
}

hf_status hf_errand_begin(struct hf_lock *lock,
                          const struct hf_errand_order *order,
                          struct hf_waiter *waiter, struct hf_done done,
                          struct hf_errand **errand, struct hf_error *error)
{
    struct hf_client *client = lock->client;
    hf_status status;

    *errand = NULL;
    if (client->monitor.closing)
        return hf_error_set(error, HF_ECLOSED, "the client was closed");
    if (done.fn != NULL &&
        (status = hf_monitor_ensure_driver(&client->monitor, error)) != HF_OK)
        return status;
    if ((*errand = make(lock, order)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "out of memory");
    (*errand)->waiter = waiter;
    (*errand)->done = done;
    client->unsettled++;
    inquire(*errand, order->each ? HF_REQUEST_LIST : order->kind,
            &order->ticket);
    return HF_OK;
}

/* ------------------------------------------------------------ the answer -- */

static void end(struct hf_errand *errand, hf_status status, const char *text)
{
    struct hf_client *client = errand->lock->client;
    struct hf_waiter *waiter = errand->waiter;

    assert(!errand->ended);
    errand->ended = true;
    errand->waiter = NULL;
    errand->outcome = (struct hf_error){.status = HF_OK};
    if (status != HF_OK)
        hf_error_set(&errand->outcome, status, "%s", text);
    if (status != HF_OK || errand->order.kind != HF_REQUEST_LIST) {
        hf_tickets_free(errand->tickets);
        errand->tickets = NULL;
    }
    if (waiter != NULL)
        hf_waiter_answer(&client->monitor, waiter, status);
    else if (errand->done.fn != NULL || errand->done.drop != NULL)
        hf_monitor_queue(&client->monitor, &errand->done_callback);
    else
        hf_errand_dereference(errand); /* nobody waits, or not any more */
}

static void end_gone(struct hf_errand *errand)
{
    end(errand, HF_EGONE,
        "there is no such ticket in the queue, or not any more");
}

/* Is it about a ticket? */
static bool must_be_found(const struct hf_operation *operation)
{
    return operation->kind == HF_REQUEST_REMOVE ||
           operation->kind == HF_REQUEST_REVOKE;
}

static void answered(struct hf_errand *errand)
{
    const struct hf_operation *operation = &errand->operation;
    bool lists = operation->kind == HF_REQUEST_LIST;
    bool last = errand->at + 1 == errand->queue_count;

    if (operation->status != HF_OK)
        end(errand, operation->status, operation->text);
    else if (lists && !errand->kept)
        end(errand, HF_ENOMEM, "out of memory");
    else if (errand->order.each)
        errand->asked += !looks_first(errand) && operation->found;
    else if (lists ? last : operation->found || !must_be_found(operation))
        end(errand, HF_OK, "");
    else if (last)
        end_gone(errand);
}

/* Every holder that was listed was gone before it could be asked.  Somebody
 * else may hold the lock by now, so that only another list can tell. */
static bool list_again(struct hf_errand *errand)
{
    if (++errand->lists == HF_REVOKE_LISTS_MAX) {
        end(errand, HF_EGONE,
            "the lock is handed over faster than its holders can be asked");
        return false;
    }
    hf_tickets_free(errand->tickets);
    errand->tickets = NULL;
    errand->next = 0;
    inquire(errand, HF_REQUEST_LIST, NULL);
    return true;
}

/* Every holder that was listed was asked, or was gone. */
static bool end_round(struct hf_errand *errand)
{
    if (errand->asked == 0 && hf_tickets_count(errand->tickets) > 0)
        return list_again(errand);
    if (errand->asked > 0)
        end(errand, HF_OK, "");
    else
        end(errand, HF_EGONE, "nobody holds the lock");
    return false;
}

/* The core is done with the operation: go on with the next holder. */
static bool ask_next(struct hf_errand *errand)
{
    const struct hf_ticket_view *view;
    struct hf_ticket_id ticket;

    view = hf_tickets_at(errand->tickets, errand->next);
    if (view == NULL)
        return end_round(errand);
    errand->next++;
    (void)hf_ticket_id_parse(&ticket, view->id, strlen(view->id));
    inquire(errand, HF_REQUEST_REVOKE, &ticket);
    return true;
}

static bool goes_on(struct hf_errand *errand)
{
    if (errand->ended)
        return false;
    if (errand->order.each)
        return ask_next(errand);
    errand->at++;
    inquire(errand, errand->order.kind, &errand->order.ticket);
    return true;
}

static void finished(struct hf_errand *errand)
{
    if (goes_on(errand))
        return;
    errand->lock->client->unsettled--;
    hf_errand_dereference(errand);
}

void hf_errand_effect(const struct hf_effect *effect)
{
    struct hf_errand *errand = of_inquiry(effect->operation);

    if (effect->kind == HF_EFFECT_ANSWERED)
        answered(errand);
    else
        finished(errand);
}

void hf_errand_heed(const struct hf_event *event)
{
    struct hf_operation *operation;
    struct hf_errand *errand;

    if (event->kind != HF_EVENT_LISTED)
        return;
    if ((operation = event->as.answer.request->operation) == NULL ||
        operation->kind != HF_REQUEST_LIST)
        return;
    errand = of_inquiry(operation);
    if (errand->ended)
        return;
    errand->kept = hf_tickets_add(
        &errand->tickets, errand->lock, operation->queue, event,
        errand->order.each ? HF_TICKETS_HOLDERS : errand->order.which);
}
