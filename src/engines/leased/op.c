/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/op.h"

#include <assert.h>

#include "core/instant.h"
#include "core/memory.h"
#include "engines/leased/private.h"

/* The patience for one call.  A renewal is sent at five sixteenths of the ttl
 * and given up a third later: a third is left to find the server again.  But
 * not less than a server that is busy may need, nor more than anybody wants to
 * wait for one that is gone. */
#define CALL_LEAST_MS UINT64_C(500)
#define CALL_MOST_MS UINT64_C(10000)

uint64_t hf_leased_patience_ms(uint64_t ttl_ms)
{
    return hf_earlier_ms(hf_later_ms(ttl_ms / 3, CALL_LEAST_MS), CALL_MOST_MS);
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

void hf_leased_op_begin(struct hf_leased *leased, struct hf_leased_op *op,
                        hf_leased_answered_fn *answered)
{
    struct hf_leased_ops *ops = &leased->ops;

    op->answered = answered;
    op->number = ++ops->number;
    op->sent_at_ms = leased->now_ms;
    op->deadline_at_ms = hf_after_ms(
        leased->now_ms, hf_leased_patience_ms(leased->config.ttl_ms));
    op->call.not_after_ms = hf_leased_session_not_after_ms(leased);
    op->previous = ops->last;
    if (ops->last != NULL)
        ops->last->next = op;
    else
        ops->first = op;
    ops->last = op;
    leased->store_ops.call(leased->store, &op->call);
}

void hf_leased_op_free(struct hf_leased *leased, struct hf_leased_op *op)
{
    if (op->queue != NULL)
        hf_leased_queue_leave(&leased->queues, op->queue);
    hf_free(op->memory);
    hf_free(op);
}

static void take_out(struct hf_leased_ops *ops, struct hf_leased_op *op)
{
    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        ops->first = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
    else
        ops->last = op->previous;
}

void hf_leased_op_end(struct hf_leased *leased, struct hf_leased_op *op,
                      const struct hf_store_answer *answer)
{
    take_out(&leased->ops, op);
    op->answered(leased, op, answer);
    hf_leased_op_free(leased, op);
}

void hf_leased_ops_cut(struct hf_leased *leased)
{
    /* Whoever is told can make no new call: there is no link. */
    while (leased->ops.first != NULL)
        hf_leased_op_end(leased, leased->ops.first, NULL);
}

uint64_t hf_leased_ops_deadline_ms(const struct hf_leased *leased)
{
    return leased->ops.first == NULL ? HF_FOREVER
                                     : leased->ops.first->deadline_at_ms;
}
