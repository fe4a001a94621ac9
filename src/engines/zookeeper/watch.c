/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH: find the nodes of the ticket and have them watched.
 *
 * Who waits has its ticket from the last list, or from its own create.  A
 * ticket that is in neither is searched for first: that it was not there when
 * we last searched does not say that it is gone.
 */
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

static void gone(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = request;
    hf_zk_notify(zk, &event);
}

/* Names tell readers from all others, and not always the others apart. */
static bool is_of(enum hf_ticket_kind kind, const struct hf_request *watch)
{
    return (kind == HF_TICKET_READ) == (watch->ticket_kind == HF_TICKET_READ);
}

/* Have the ticket watched if it is in the last list, or tell that it is of
 * another kind by now. */
static bool watch_listed(struct hf_zk *zk, struct hf_request *request,
                         const struct hf_zk_queue *queue)
{
    const struct hf_zk_child *children = queue->children;
    size_t first = hf_zk_queue_place(zk, queue, &request->ticket);
    uint32_t nodes = 0;

    if (first == queue->count) /* or it was seen to go */
        first = 0;
    for (size_t i = first; i < queue->count && nodes < HF_WEIGHT_MAX; i++) {
        if (!hf_ticket_id_equal(&children[i].node.id, &request->ticket))
            continue;
        if (nodes == 0 && !is_of(children[i].node.kind, request)) {
            gone(zk, request);
            return true;
        }
        if (!hf_zk_watches_join(zk, request,
                                hf_zk_child_path(zk, queue, children[i].name)))
            return true; /* answered */
        nodes++;
        if (children[i].node.kind != HF_TICKET_LEASE)
            break;
    }
    if (nodes > 0)
        hf_zk_watches_start(zk, request);
    return nodes > 0;
}

static void watch_own(struct hf_zk *zk, struct hf_request *request,
                      const struct hf_zk_own *own)
{
    for (uint32_t i = 0; i < own->weight; i++) {
        if (!hf_zk_watches_join(zk, request, hf_zk_own_path(zk, own, i)))
            return;
    }
    hf_zk_watches_start(zk, request);
}

static void searched(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_request *request = op->request;

    hf_zk_op_end_look(zk, op);
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

static void search(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    hf_zk_op_begin_look(zk, op);
    hf_zk_op_step(op, searched);
    hf_zk_search(zk, op);
}

void hf_zk_watch(struct hf_zk *zk, struct hf_request *request)
{
    const struct hf_zk_own *own = hf_zk_own_find(zk, &request->ticket);
    const struct hf_zk_queue *queue = hf_zk_queue_find(zk, request->queue);

    /* Which of the two it is while it is being downgraded, the list tells. */
    if (own != NULL && own->downgrading)
        own = NULL;
    if (own != NULL && !is_of(own->kind, request))
        gone(zk, request);
    else if (own != NULL)
        watch_own(zk, request, own);
    else if (queue == NULL || !watch_listed(zk, request, queue))
        search(zk, request);
}
