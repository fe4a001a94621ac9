/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_WATCH: find the nodes of a ticket and watch them.
 *
 * The core knows the ticket from the last list, or from its own create.  If
 * the ticket is in neither, it is searched for first, because its absence when
 * the queue was last searched does not mean that it is gone. */
#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* Report HF_EVENT_GONE. */
static void answer_gone(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = request;
    hf_zk_notify(zk, &event);
}

/* Is ${kind} the kind that the request watches?  Names distinguish read
 * tickets from all others, but do not always distinguish the others. */
static bool is_same_kind(enum hf_ticket_kind kind,
                         const struct hf_request *watch)
{
    return (kind == HF_TICKET_READ) == (watch->ticket_kind == HF_TICKET_READ);
}

/* Watch the ticket if it is in the last list, or report GONE if it has another
 * kind by now.  False if it is not in the list. */
static bool watch_listed(struct hf_zk *zk, struct hf_request *request,
                         const struct hf_zk_queue *queue)
{
    const struct hf_zk_child *children = queue->children;
    size_t first = hf_zk_queue_index(zk, queue, &request->ticket);
    uint32_t nodes = 0;

    if (first == queue->count) /* it may have been seen to go */
        first = 0;
    for (size_t i = first; i < queue->count && nodes < HF_WEIGHT_MAX; i++) {
        if (!hf_ticket_id_equal(&children[i].node.id, &request->ticket))
            continue;
        if (nodes == 0 && !is_same_kind(children[i].node.kind, request)) {
            answer_gone(zk, request);
            return true;
        }
        if (!hf_zk_watches_join(zk, request,
                                hf_zk_child_path(zk, queue, children[i].name)))
            return true; /* the request has been failed */
        nodes++;
        if (children[i].node.kind != HF_TICKET_LEASE)
            break;
    }
    if (nodes > 0)
        hf_zk_watches_start(zk, request);
    return nodes > 0;
}

/* Watch all nodes of a ticket of ours. */
static void watch_own(struct hf_zk *zk, struct hf_request *request,
                      const struct hf_zk_own_ticket *own_ticket)
{
    for (uint32_t i = 0; i < own_ticket->weight; i++) {
        if (!hf_zk_watches_join(zk, request,
                                hf_zk_own_ticket_path(zk, own_ticket, i)))
            return;
    }
    hf_zk_watches_start(zk, request);
}

/* The search is done. */
static void searched(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_request *request = req->request;

    hf_zk_request_end_cancel(zk, req);
    if (request == NULL) /* cancelled meanwhile */
        hf_zk_request_free(zk, req);
    else if (req->list_error != HF_ZK_OK && req->list_error != HF_ZK_NO_NODE)
        hf_zk_request_fail(zk, req, req->list_error, "list", req->queue->path);
    else if (!hf_zk_session_usable(&zk->session)) /* closing, or disconnected */
        hf_zk_request_fail(zk, req, HF_ZK_DISCONNECTED, "watch in",
                           req->queue->path);
    else if (req->list_error == HF_ZK_OK &&
             watch_listed(zk, request, req->queue))
        hf_zk_request_free(zk, req);
    else
        answer_gone(zk, hf_zk_request_end(zk, req));
}

/* List the queue behind a sync to find the ticket. */
static void search(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req == NULL)
        return;
    hf_zk_request_allow_cancel(zk, req);
    hf_zk_request_step(req, searched);
    hf_zk_search(zk, req);
}

/* Look for the ticket among our own, then in the last list, then by a search.
 */
void hf_zk_watch_ticket(struct hf_zk *zk, struct hf_request *request)
{
    const struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &request->ticket);
    const struct hf_zk_queue *queue = hf_zk_queue_find(zk, request->queue);

    /* While it is being downgraded, only a list shows which of its two names
     * it has. */
    if (own_ticket != NULL && own_ticket->downgrading)
        own_ticket = NULL;
    if (own_ticket != NULL && !is_same_kind(own_ticket->kind, request))
        answer_gone(zk, request);
    else if (own_ticket != NULL)
        watch_own(zk, request, own_ticket);
    else if (queue == NULL || !watch_listed(zk, request, queue))
        search(zk, request);
}
