/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/op.h"

#include <assert.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/leased/private.h"

/* The patience for one call.  A renewal is sent at five sixteenths of the ttl
 * and given up a third later: a third is left to find the server again.  But
 * not less than a server that is busy may need, nor more than anybody wants to
 * wait for one that is gone. */
#define CALL_LEAST_MS UINT64_C(500)
#define CALL_MOST_MS UINT64_C(10000)

uint64_t hf_leased_patience_ms(uint64_t ttl_ms)
{
    return hf_min_ms(hf_max_ms(ttl_ms / 3, CALL_LEAST_MS), CALL_MOST_MS);
}

struct hf_leased_op *hf_leased_op_new(struct hf_leased *leased,
                                      enum hf_store_call_kind kind,
                                      const char *queue,
                                      struct hf_request *request)
{
    struct hf_leased_op *op = hf_alloc(sizeof *op);

    if (op == NULL)
        return NULL;
    op->call.kind = kind;
    op->call.session = leased->session.name;
    op->call.ttl_ms = leased->config.ttl_ms;
    op->request = request;
    if (queue == NULL)
        return op;
    if ((op->queue = hf_leased_queue_use(&leased->queues, queue)) == NULL) {
        hf_free(op);
        return NULL;
    }
    op->call.queue = op->queue->name;
    return op;
}

static void put_last(struct hf_leased_op_list *list, struct hf_leased_op *op)
{
    op->next = NULL;
    op->previous = list->last;
    if (list->last != NULL)
        list->last->next = op;
    else
        list->first = op;
    list->last = op;
}

static void take_out(struct hf_leased_op_list *list, struct hf_leased_op *op)
{
    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        list->first = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
    else
        list->last = op->previous;
}

static void send(struct hf_leased *leased, struct hf_leased_op *op)
{
    op->sent_at_ms = leased->now_ms;
    op->deadline_at_ms = hf_after_ms(
        leased->now_ms, hf_leased_patience_ms(leased->config.ttl_ms));
    op->call.not_after_ms = hf_leased_session_not_after_ms(leased);
    put_last(&leased->ops.sent, op);
    leased->ops.sent_count++;
    leased->store_ops.call(leased->store, &op->call);
}

static bool has_room(const struct hf_leased *leased)
{
    return leased->ops.sent_count < HF_LEASED_OPS_SENT_MOST;
}

/* A GOODBYE takes along what those that wait have not put in yet. */
static bool goes_first(const struct hf_leased_op *op)
{
    return op->call.kind == HF_STORE_RENEW || op->call.kind == HF_STORE_GOODBYE;
}

void hf_leased_op_begin(struct hf_leased *leased, struct hf_leased_op *op,
                        hf_leased_answered_fn *answered)
{
    struct hf_leased_ops *ops = &leased->ops;

    op->answered = answered;
    op->number = ++ops->number;
    if (goes_first(op) || (ops->waiting.first == NULL && has_room(leased)))
        send(leased, op);
    else
        put_last(&ops->waiting, op);
}

/* There may be room for those that wait; after a goodbye nothing is sent. */
static void send_waiting(struct hf_leased *leased)
{
    struct hf_leased_ops *ops = &leased->ops;

    while (ops->waiting.first != NULL && has_room(leased) &&
           hf_leased_session_usable(&leased->session)) {
        struct hf_leased_op *op = ops->waiting.first;

        take_out(&ops->waiting, op);
        send(leased, op);
    }
}

void hf_leased_op_free(struct hf_leased *leased, struct hf_leased_op *op)
{
    if (op->queue != NULL)
        hf_leased_queue_leave(&leased->queues, op->queue);
    hf_free(op->memory);
    hf_free(op);
}

void hf_leased_op_end(struct hf_leased *leased, struct hf_leased_op *op,
                      const struct hf_store_answer *answer)
{
    take_out(&leased->ops.sent, op);
    leased->ops.sent_count--;
    op->answered(leased, op, answer);
    hf_leased_op_free(leased, op);
    send_waiting(leased);
}

static void end_unsent(struct hf_leased *leased, struct hf_leased_op *op)
{
    const struct hf_store_answer unsent = {
        .failure = HF_FAILURE_RETRY,
        .status = HF_EUNREACHABLE,
        .text = "the connection ended before the request was sent"};

    take_out(&leased->ops.waiting, op);
    op->answered(leased, op, &unsent);
    hf_leased_op_free(leased, op);
}

void hf_leased_ops_cut(struct hf_leased *leased)
{
    /* Whoever is told can make no new call: there is no link. */
    while (leased->ops.sent.first != NULL)
        hf_leased_op_end(leased, leased->ops.sent.first, NULL);
    while (leased->ops.waiting.first != NULL)
        end_unsent(leased, leased->ops.waiting.first);
}

static bool has(const struct hf_leased_op_list *list,
                enum hf_store_call_kind kind, const struct hf_ticket_id *id)
{
    for (const struct hf_leased_op *op = list->first; op != NULL; op = op->next)
        if (op->call.kind == kind && hf_ticket_id_equal(&op->call.ticket, id))
            return true;
    return false;
}

bool hf_leased_ops_has(const struct hf_leased *leased,
                       enum hf_store_call_kind kind,
                       const struct hf_ticket_id *id)
{
    return has(&leased->ops.sent, kind, id) ||
           has(&leased->ops.waiting, kind, id);
}

uint64_t hf_leased_ops_deadline_ms(const struct hf_leased *leased)
{
    const struct hf_leased_op *oldest = leased->ops.sent.first;

    return oldest == NULL ? HF_FOREVER : oldest->deadline_at_ms;
}
