/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH: find the node of the ticket and have it watched.
 *
 * Who waits has its ticket from the last list, or from its own create.  A
 * ticket that is in neither is looked for first: that it was not there when we
 * last looked does not say that it is gone.
 */
#include "engines/zookeeper/op.h"

static void take_off(struct hf_zk *zk, const struct hf_zk_op *op)
{
    struct hf_zk_op **link = &zk->looks;

    while (*link != op)
        link = &(*link)->next_look;
    *link = op->next_look;
}

static void gone(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = request;
    hf_zk_tell(zk, &event);
}

/* Have the ticket watched if it is in the last list. */
static bool watch_listed(struct hf_zk *zk, struct hf_request *request,
                         const struct hf_zk_queue *queue)
{
    size_t place = hf_zk_queue_place(queue, &request->ticket);

    if (place == queue->count)
        return false;
    hf_zk_watches_add(zk, request,
                      hf_zk_child_path(zk, queue, queue->children[place].name));
    return true;
}

static void looked(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_request *request = op->request;

    take_off(zk, op);
    if (request == NULL) /* taken back meanwhile */
        hf_zk_op_free(zk, op);
    else if (op->list_error != HF_ZK_OK && op->list_error != HF_ZK_NO_NODE)
        hf_zk_op_fail(zk, op, op->list_error, "list", op->queue->path);
    else if (!hf_zk_session_usable(&zk->session)) /* behind the goodbye */
        hf_zk_op_fail(zk, op, HF_ZK_CUT, "watch in", op->queue->path);
    else if (op->list_error == HF_ZK_OK && watch_listed(zk, request, op->queue))
        hf_zk_op_free(zk, op);
    else
        gone(zk, hf_zk_op_end(zk, op));
}

static void look(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    op->next_look = zk->looks;
    zk->looks = op;
    hf_zk_op_step(op, looked);
    hf_zk_look(zk, op);
}

void hf_zk_watch(struct hf_zk *zk, struct hf_request *request)
{
    const struct hf_zk_own *own = hf_zk_own_find(zk, &request->ticket);
    const struct hf_zk_queue *queue = hf_zk_queue_find(zk, request->queue);

    if (own != NULL)
        hf_zk_watches_add(zk, request,
                          hf_zk_child_path(zk, own->queue, own->name));
    else if (queue == NULL || !watch_listed(zk, request, queue))
        look(zk, request);
}

void hf_zk_forget(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = zk->looks;

    while (op != NULL && op->request != request)
        op = op->next_look;
    if (op != NULL)
        op->request = NULL;
    else
        hf_zk_watches_forget(zk, request);
}
