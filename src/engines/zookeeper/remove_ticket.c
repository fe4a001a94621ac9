/* SPDX-License-Identifier: Apache-2.0 */
/* The fields .several, .listed and .partly_removed of the request say what is
 * being deleted; see zk_request.h. */
#include "engines/zookeeper/remove_ticket.h"

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* From this number on the node of an empty queue is deleted with its last
 * ticket, so that the counter starts again long before it ends.  Containers go
 * by themselves, but only after a minute without tickets. */
#define COUNTER_HIGH (INT32_C(1) << 30)

static void search(struct hf_zk *zk, struct hf_zk_request *req);

/* The deletes are answered: search again if a listed node was not there,
 * otherwise go on with .after_removal. */
static void delete_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);
    bool gone = req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE;

    if (req->error == HF_ZK_NO_NODE && (req->several || req->listed) &&
        req->attempts++ < HF_ZK_ATTEMPTS_MAX &&
        hf_zk_session_usable(&zk->session)) {
        search(zk, req);
        return;
    }
    if (gone && req->several && req->error == HF_ZK_NO_NODE)
        req->error = HF_ZK_DISCONNECTED; /* some nodes were deleted and
                                            perhaps not all */
    else if (gone && own_ticket != NULL)
        hf_zk_own_ticket_free(zk, own_ticket);
    req->after_removal(zk, req);
}

/* The answer to the delete of a node, or of all nodes. */
static void deleted(void *user, struct hf_zk_call *call,
                    const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;

    enum hf_zk_error error = reply->error;

    if (error == HF_ZK_OK && req->several)
        error = hf_zk_multi_result(&reply->body, NULL, 0);
    /* The ticket may have either of two names; it was found if one of them
     * existed. */
    if (error != HF_ZK_NO_NODE &&
        (req->error == HF_ZK_NO_NODE || error != HF_ZK_OK))
        req->error = error;
    if (error == HF_ZK_NO_AUTH)
        hf_zk_delete_right_forget(zk, req->queue->path);
    hf_zk_request_answered(zk, req);
}

/* The answer to the delete of the queue's node is ignored, because the server
 * refuses it while there are children. */
static void parent_deleted(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    (void)reply;
    hf_zk_request_answered(zk, call->owner);
}

/* Delete the queue's node too if its counter is high. */
static void delete_parent(struct hf_zk *zk, struct hf_zk_request *req,
                          int32_t sequence)
{
    if (req->request->kind == HF_REQUEST_REMOVE &&
        (sequence < 0 || sequence >= COUNTER_HIGH))
        hf_zk_send_delete(&zk->session, hf_zk_request_call(req, parent_deleted),
                          req->queue->path);
}

/* Delete the nodes of our ticket, whose names we know. */
static void delete_own(struct hf_zk *zk, struct hf_zk_request *req,
                       struct hf_zk_own_ticket *own_ticket)
{
    char read_name[HF_ZK_NODE_BYTES];

    own_ticket->removing = true;
    req->several = own_ticket->weight > 1;
    req->error = HF_ZK_NO_NODE;
    hf_zk_request_step(req, delete_done);
    hf_zk_own_ticket_delete(zk, own_ticket, hf_zk_request_call(req, deleted));
    /* It may have the read ticket's name by now.  The order matters: a
     * downgrade that is carried out later finds the write node gone and fails.
     */
    if (own_ticket->downgrading) {
        hf_zk_own_ticket_read_name(zk, own_ticket, read_name);
        hf_zk_send_delete(&zk->session, hf_zk_request_call(req, deleted),
                          hf_zk_child_path(zk, req->queue, read_name));
    }
    delete_parent(zk, req, own_ticket->sequence);
}

/* Delete the ${nodes} that were listed with the id, at most as many as we ever
 * make of one.  Others, which must be somebody else's, are deleted by a later
 * round. */
static void delete_listed(struct hf_zk *zk, struct hf_zk_request *req,
                          size_t index, size_t nodes)
{
    const struct hf_zk_queue *queue = req->queue;
    const struct hf_ticket_id *id = &req->request->ticket;
    int32_t sequence = queue->children[index].node.sequence;
    struct hf_zk_call *call;
    size_t begin;

    req->listed = true;
    req->several = nodes > 1;
    req->partly_removed |= nodes < req->request->weight;
    req->error = HF_ZK_NO_NODE;
    hf_zk_request_step(req, delete_done);
    call = hf_zk_request_call(req, deleted);
    if (nodes == 1) {
        hf_zk_send_delete(
            &zk->session, call,
            hf_zk_child_path(zk, queue, queue->children[index].name));
    } else {
        begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
        for (uint32_t i = 0; index < queue->count && i < HF_WEIGHT_MAX;
             index++) {
            if (!hf_ticket_id_equal(&queue->children[index].node.id, id))
                continue;
            hf_zk_multi_delete(
                &zk->session,
                hf_zk_child_path(zk, queue, queue->children[index].name),
                HF_ZK_ANY_VERSION);
            i++;
        }
        hf_zk_multi_end(&zk->session, begin);
    }
    delete_parent(zk, req, sequence);
}

/* The search is done: delete what it found. */
static void searched(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_queue *queue = req->queue;
    size_t index = hf_zk_queue_index(zk, queue, &req->request->ticket);
    bool listed = req->list_error == HF_ZK_OK;

    if (listed && index < queue->count && hf_zk_session_usable(&zk->session)) {
        delete_listed(zk, req, index,
                      hf_zk_children_count_id(queue, &req->request->ticket));
        return;
    }
    req->several = req->listed = false;
    req->error = req->list_error;
    if (listed)
        req->error = index < queue->count ? HF_ZK_DISCONNECTED : HF_ZK_NO_NODE;
    delete_done(zk, req);
}

/* List the queue behind a sync to find the nodes of the ticket. */
static void search(struct hf_zk *zk, struct hf_zk_request *req)
{
    hf_zk_request_step(req, searched);
    hf_zk_search(zk, req);
}

/* A ticket of ours is deleted by the names of its nodes, any other is searched
 * for first. */
void hf_zk_delete_ticket(struct hf_zk *zk, struct hf_zk_request *req,
                         void (*then)(struct hf_zk *zk,
                                      struct hf_zk_request *req))
{
    struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);

    req->after_removal = then;
    req->attempts = 0;
    req->partly_removed = req->listed = false;
    if (own_ticket != NULL)
        delete_own(zk, req, own_ticket);
    else
        search(zk, req);
}

/* Answer HF_REQUEST_REMOVE. */
static void ticket_deleted(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_REMOVED};

    if (req->error != HF_ZK_OK && req->error != HF_ZK_NO_NODE) {
        hf_zk_request_fail(zk, req, req->error, "delete a ticket of",
                           req->queue->path);
        return;
    }
    event.as.answer.found = req->error == HF_ZK_OK && !req->partly_removed;
    event.as.answer.request = hf_zk_request_end(zk, req);
    hf_zk_notify(zk, &event);
}

void hf_zk_remove_ticket(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req != NULL)
        hf_zk_delete_ticket(zk, req, ticket_deleted);
}
