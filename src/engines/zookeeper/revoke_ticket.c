/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_REVOKE: ask the owner of a ticket to release it, by writing
 * HF_ZK_REVOKE as the data of its node.  Our clients and Curator's Revocable
 * watch their nodes for that. */
#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* Answer the request; a ticket that is gone counts as not found. */
static void answer(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKE_SENT};

    if (req->error != HF_ZK_OK && req->error != HF_ZK_NO_NODE) {
        hf_zk_request_fail(zk, req, req->error, "write to a ticket of",
                           req->queue->path);
        return;
    }
    event.as.answer.found = req->error == HF_ZK_OK;
    event.as.answer.request = hf_zk_request_end(zk, req);
    hf_zk_notify(zk, &event);
}

static void search(struct hf_zk *zk, struct hf_zk_request *req);

/* The write is answered.  A node that was listed and is gone may have another
 * name by now, because a write ticket has become a read ticket; then search
 * again. */
static void write_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    if (req->error == HF_ZK_NO_NODE && req->attempts++ < HF_ZK_ATTEMPTS_MAX &&
        hf_zk_session_usable(&zk->session))
        search(zk, req);
    else
        answer(zk, req);
}

/* The search is done: write to the node that it found. */
static void searched(struct hf_zk *zk, struct hf_zk_request *req)
{
    const struct hf_zk_queue *queue = req->queue;
    size_t index = hf_zk_queue_index(zk, queue, &req->request->ticket);

    req->error = req->list_error;
    if (req->error == HF_ZK_OK && index == queue->count)
        req->error = HF_ZK_NO_NODE;
    else if (req->error == HF_ZK_OK && !hf_zk_session_usable(&zk->session))
        req->error = HF_ZK_DISCONNECTED;
    if (req->error != HF_ZK_OK) {
        answer(zk, req);
        return;
    }
    hf_zk_request_step(req, write_done);
    hf_zk_send_set_data(
        &zk->session, hf_zk_request_call(req, hf_zk_request_error_answered),
        hf_zk_child_path(zk, queue, queue->children[index].name), HF_ZK_REVOKE,
        HF_ZK_ANY_VERSION);
}

/* List the queue behind a sync to find the node of the ticket. */
static void search(struct hf_zk *zk, struct hf_zk_request *req)
{
    hf_zk_request_step(req, searched);
    hf_zk_search(zk, req);
}

void hf_zk_revoke_ticket(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req != NULL)
        search(zk, req);
}
