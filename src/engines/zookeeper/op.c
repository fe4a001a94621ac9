/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/op.h"

#include <assert.h>

#include "core/memory.h"

struct hf_zk_op *hf_zk_op_new(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_alloc(sizeof *op);

    if (op == NULL) {
        hf_zk_fail_memory(zk, request);
        return NULL;
    }
    op->request = request;
    for (size_t i = 0; i < HF_ZK_OP_CALLS; i++)
        op->calls[i].user = zk;
    if (request->kind != HF_REQUEST_PROVE &&
        (op->queue = hf_zk_queue_use(zk, request->queue)) == NULL) {
        hf_free(op);
        hf_zk_fail_memory(zk, request);
        return NULL;
    }
    return op;
}

void hf_zk_op_free(struct hf_zk *zk, struct hf_zk_op *op)
{
    assert(op->pending == 0);
    if (op->queue != NULL)
        hf_zk_queue_leave(zk, op->queue);
    hf_free(op->parents);
    hf_free(op);
}

/* Freed last: ${error} and ${path} may be of the operation. */
void hf_zk_op_fail(struct hf_zk *zk, struct hf_zk_op *op,
                   enum hf_zk_error error, const char *what, const char *path)
{
    hf_zk_fail_as(zk, op->request, error, what, path);
    hf_zk_op_free(zk, op);
}

struct hf_request *hf_zk_op_end(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_request *request = op->request;

    hf_zk_op_free(zk, op);
    return request;
}

void hf_zk_op_step(struct hf_zk_op *op,
                   void (*then)(struct hf_zk *zk, struct hf_zk_op *op))
{
    assert(op->pending == 0);
    op->made = 0;
    op->then = then;
}

struct hf_zk_call *hf_zk_op_call(struct hf_zk_op *op, hf_zk_answered *answered)
{
    struct hf_zk_call *call = &op->calls[op->made];

    assert(op->made < HF_ZK_OP_CALLS);
    op->made++;
    op->pending++;
    call->answered = answered;
    call->owner = op;
    return call;
}

void hf_zk_op_begin_look(struct hf_zk *zk, struct hf_zk_op *op)
{
    op->next_look = zk->looks;
    zk->looks = op;
}

void hf_zk_op_end_look(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_op **link = &zk->looks;

    while (*link != op)
        link = &(*link)->next_look;
    *link = op->next_look;
}

void hf_zk_op_forget_look(struct hf_zk *zk, const struct hf_request *request)
{
    struct hf_zk_op *op = zk->looks;

    while (op != NULL && op->request != request)
        op = op->next_look;
    if (op != NULL)
        op->request = NULL;
}

void hf_zk_op_answered(struct hf_zk *zk, struct hf_zk_op *op)
{
    assert(op->pending > 0);
    if (--op->pending == 0)
        op->then(zk, op);
}

void hf_zk_op_error_answered(void *user, struct hf_zk_call *call,
                             const struct hf_zk_reply *reply)
{
    struct hf_zk_op *op = call->owner;

    op->error = reply->error;
    hf_zk_op_answered(user, op);
}

void hf_zk_op_sync_answered(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk_op *op = call->owner;

    op->sync_error = reply->error;
    hf_zk_op_answered(user, op);
}

void hf_zk_line_join(struct hf_zk_line *line, struct hf_zk_op *op)
{
    op->pending++;
    op->next_in_line = NULL;
    if (line->first == NULL)
        line->first = op;
    else
        line->last->next_in_line = op;
    line->last = op;
}

struct hf_zk_op *hf_zk_line_take(struct hf_zk_line *line)
{
    struct hf_zk_op *op = line->first;

    if (op != NULL)
        line->first = op->next_in_line;
    return op;
}

void hf_zk_line_serve(struct hf_zk *zk, struct hf_zk_line *line)
{
    struct hf_zk_op *op;

    while ((op = hf_zk_line_take(line)) != NULL)
        hf_zk_op_answered(zk, op);
}
