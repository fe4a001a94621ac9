/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LOOK: the queue as it is now, and the news that it has changed since.
 *
 * The getChildren that tells the one sets a watch for the other, so that
 * nothing can happen in between.  It needs no sync: whoever looks has heard
 * from this server, or one that has seen as much, what makes him look.
 */
#include "engines/zookeeper/op.h"

static bool is_listed(const struct hf_zk_op *op)
{
    return op->list_error == HF_ZK_OK || op->list_error == HF_ZK_NO_NODE;
}

static void looked(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->request != NULL && is_listed(op)) {
        hf_zk_list_answer(zk, op);
        return;
    }
    hf_zk_op_end_look(zk, op);
    if (op->request == NULL) /* taken back meanwhile */
        hf_zk_op_free(zk, op);
    else
        hf_zk_op_fail(zk, op, op->list_error, "look at", op->queue->path);
}

/* From here on changes are news, though nobody was told of the list. */
static void children(struct hf_zk *zk, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk_op *op = call->owner;

    hf_zk_take_children(zk, op, reply);
    if (op->request != NULL && is_listed(op) &&
        !hf_zk_watches_look(zk, op->request, op->queue,
                            op->list_error == HF_ZK_OK))
        op->list_error = HF_ZK_NONSENSE; /* out of memory, as for the list */
    hf_zk_op_answered(zk, op);
}

void hf_zk_look_out(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    hf_zk_op_begin_look(zk, op);
    hf_zk_op_step(op, looked);
    hf_zk_send_get_children(zk, hf_zk_op_call(op, children), op->queue->path,
                            true);
}
