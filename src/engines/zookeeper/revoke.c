/* SPDX-License-Identifier: Apache-2.0 */
/* REVOKE: find the node of the ticket, and write into it what its owner, if it
 * watches it as ours and Curator's do, takes for a request to let go. */
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

static void asked(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKE_SENT};

    if (op->error != HF_ZK_OK && op->error != HF_ZK_NO_NODE) {
        hf_zk_op_fail(zk, op, op->error, "write to a ticket of",
                      op->queue->path);
        return;
    }
    event.as.answer.found = op->error == HF_ZK_OK;
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_notify(zk, &event);
}

static void search(struct hf_zk *zk, struct hf_zk_op *op);

/* A node that was listed and is gone may have another name by now: its write
 * ticket has become a read ticket. */
static void overwritten(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->error == HF_ZK_NO_NODE && op->rounds++ < HF_ZK_ROUNDS_MAX &&
        hf_zk_session_usable(&zk->session))
        search(zk, op);
    else
        asked(zk, op);
}

static void searched(struct hf_zk *zk, struct hf_zk_op *op)
{
    const struct hf_zk_queue *queue = op->queue;
    size_t place = hf_zk_queue_place(zk, queue, &op->request->ticket);

    op->error = op->list_error;
    if (op->error == HF_ZK_OK && place == queue->count)
        op->error = HF_ZK_NO_NODE;
    else if (op->error == HF_ZK_OK && !hf_zk_session_usable(&zk->session))
        op->error = HF_ZK_CUT;
    if (op->error != HF_ZK_OK) {
        asked(zk, op);
        return;
    }
    hf_zk_op_step(op, overwritten);
    hf_zk_send_set_data(
        &zk->session, hf_zk_op_call(op, hf_zk_op_error_answered),
        hf_zk_child_path(zk, queue, queue->children[place].name), HF_ZK_REVOKE,
        HF_ZK_ANY_VERSION);
}

static void search(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_op_step(op, searched);
    hf_zk_search(zk, op);
}

void hf_zk_revoke(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op != NULL)
        search(zk, op);
}
