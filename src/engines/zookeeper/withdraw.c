/* SPDX-License-Identifier: Apache-2.0 */
/* WITHDRAW: delete the ticket, wherever it is found by its id. */
#include "core/plant.h"
#include "engines/zookeeper/op.h"

/* From this number on an empty queue's node is removed with its last ticket, so
 * that the count begins anew long before it ends.  Containers go by
 * themselves, but only after a minute without any ticket. */
#define SEQUENCE_HIGH (INT32_C(1) << 30)

static void withdrawn(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_event event = {.kind = HF_EVENT_WITHDRAWN};
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    if (op->error != HF_ZK_OK && op->error != HF_ZK_NO_NODE &&
        !HF_PLANTED(ZK_DELETE_ONCE)) {
        hf_zk_op_fail(zk, op, op->error, "delete a ticket of", op->queue->path);
        return;
    }
    if (own != NULL)
        hf_zk_own_drop(zk, own);
    event.as.answer.found = op->error == HF_ZK_OK;
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_tell(zk, &event);
}

static void deleted(struct hf_zk *zk, struct hf_zk_call *call,
                    const struct hf_zk_reply *reply)
{
    struct hf_zk_op *op = call->owner;

    /* Of two names the ticket has one: found if either was there. */
    if (reply->error != HF_ZK_NO_NODE &&
        (op->error == HF_ZK_NO_NODE || reply->error != HF_ZK_OK))
        op->error = reply->error;
    hf_zk_op_answered(zk, op);
}

/* Whether it goes depends on whether it is empty: the server knows. */
static void parent_deleted(struct hf_zk *zk, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    (void)reply;
    hf_zk_op_answered(zk, call->owner);
}

/* ${read_name}, if not NULL, is what it may be called by now.  In this order: a
 * downgrade that is still to come finds the first name gone. */
static void delete_ticket(struct hf_zk *zk, struct hf_zk_op *op,
                          const char *name, const char *read_name,
                          int32_t sequence)
{
    hf_zk_op_step(op, withdrawn);
    op->error = HF_ZK_NO_NODE;
    hf_zk_send_delete(zk, hf_zk_op_call(op, deleted),
                      hf_zk_child_path(zk, op->queue, name));
    if (read_name != NULL && !HF_PLANTED(ZK_WITHDRAW_OLD_NAME))
        hf_zk_send_delete(zk, hf_zk_op_call(op, deleted),
                          hf_zk_child_path(zk, op->queue, read_name));
    if (sequence < 0 || sequence >= SEQUENCE_HIGH)
        hf_zk_send_delete(zk, hf_zk_op_call(op, parent_deleted),
                          op->queue->path);
}

/* Looked for the ticket of a create that got no answer. */
static void looked(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_queue *queue = op->queue;
    size_t place = hf_zk_queue_place(queue, &op->request->ticket);
    bool listed = op->list_error == HF_ZK_OK;

    op->error = op->list_error;
    if (listed && place < queue->count && hf_zk_session_usable(&zk->session)) {
        delete_ticket(zk, op, queue->children[place].name, NULL,
                      queue->children[place].node.sequence);
        return;
    }
    if (listed)
        op->error = place < queue->count ? HF_ZK_CUT : HF_ZK_NO_NODE;
    withdrawn(zk, op);
}

void hf_zk_withdraw(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);
    struct hf_zk_own *own = hf_zk_own_find(zk, &request->ticket);
    char read_name[HF_ZK_NODE_BYTES];

    if (op == NULL)
        return;
    if (own != NULL) {
        own->leaving = true;
        if (own->downgrading)
            hf_zk_own_read_name(zk, own, read_name);
        delete_ticket(zk, op, own->name, own->downgrading ? read_name : NULL,
                      own->sequence);
        return;
    }
    hf_zk_op_step(op, looked);
    hf_zk_look(zk, op);
}
