/* SPDX-License-Identifier: Apache-2.0 */
/* A list is completed in one step of calls: exists of our own node if we do
 * not know it, exists of nodes with the same number, and the data of the head.
 * details_known() answers after that. */
#include "engines/zookeeper/answer_list.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/double_barrier.h"
#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/remove_ticket.h"
#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zk_request.h"

/* ------------------------------------------------------------- answering -- */

/* Is the part of the queue near the ticket enough for the answer?  It is not
 * enough for a queue watch, a participant or a lease, because these need all
 * tickets to be counted. */
static bool is_partial(const struct hf_request *request)
{
    return request->kind != HF_REQUEST_WATCH_QUEUE &&
           request->ticket_kind != HF_TICKET_PARTICIPANT &&
           request->ticket_kind != HF_TICKET_LEASE;
}

/* Make the snapshot that the request is answered with; its ticket is at
 * ${index}.  False for lack of memory. */
static bool snapshot(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                     size_t index, struct hf_snapshot *to)
{
    if (req->request->ticket_kind == HF_TICKET_PARTICIPANT)
        return hf_zk_engine_participants_snapshot(
            zk, req->queue, hf_zk_engine_request_listing(req)->ready, to);
    if (!is_partial(req->request))
        return hf_zk_engine_queue_snapshot(zk, req->queue, to);
    hf_zk_engine_queue_partial_snapshot(zk, req->queue, index,
                                        &req->request->ticket,
                                        req->request->ticket_kind, to);
    return true;
}

/* Answer the request, whose ticket is at ${index}, with the snapshot. */
static void answer(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                   size_t index)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    bool watches_queue = req->request->kind == HF_REQUEST_WATCH_QUEUE;

    if (req->request->kind == HF_REQUEST_ENQUEUE)
        event.kind = HF_EVENT_ENQUEUED;
    if (watches_queue)
        hf_zk_engine_request_end_cancel(zk, req);
    if (!snapshot(zk, req, index, &event.as.answer.snapshot)) {
        if (watches_queue)
            hf_zk_engine_watches_cancel(zk, req->request);
        hf_zk_engine_fail_memory(zk, hf_zk_engine_request_end(zk, req));
        return;
    }
    event.as.answer.request = req->request;
    if (watches_queue)
        hf_zk_engine_watches_listed(zk, req->queue, &event);
    else
        hf_zk_engine_notify(zk, &event);
    /* Last, because this may free the queue, which owns the payload in the
     * snapshot. */
    hf_zk_engine_request_free(zk, req);
}

/* --------------------------------------------- what a list does not show -- */

/* The delete of a ticket whose number is out of range was answered: fail the
 * request. */
static void removed_beyond(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    if (req->error != HF_ZK_OK && req->error != HF_ZK_NO_NODE) {
        hf_zk_engine_request_fail(zk, req, req->error, "remove a ticket from",
                                  req->queue->path);
        return;
    }
    hf_zk_engine_fail(
        zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_FATAL, HF_EEXHAUSTED,
        "the server has numbered the tickets of this queue up to "
        "%" PRId64 "; let the queue drain and remove its node, so that "
        "it begins anew",
        HF_ZK_SEQUENCE_END);
}

/* If ${own_ticket} has a number beyond HF_ZK_SEQUENCE_END, remove it; the
 * request is failed when that is done.  False if the number is all right, or
 * ${own_ticket} is NULL. */
static bool remove_if_beyond(struct hf_zk_engine *zk,
                             struct hf_zk_engine_request *req,
                             const struct hf_zk_engine_own_ticket *own_ticket)
{
    if (own_ticket == NULL ||
        hf_zk_engine_node_order(own_ticket->sequence) + own_ticket->weight <=
            HF_ZK_SEQUENCE_END)
        return false;
    req->error = HF_ZK_DISCONNECTED;
    if (hf_zk_session_usable(&zk->session))
        hf_zk_engine_delete_ticket(zk, req, removed_beyond);
    else
        removed_beyond(zk, req);
    return true;
}

static void details_known(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req);

/* Answer the request, unless participants still have to be read.  The ticket of
 * the request is at ${index}, and its number is in range.  ${own_ticket} is
 * that ticket if it is ours, else NULL. */
static void complete(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                     const struct hf_zk_engine_own_ticket *own_ticket,
                     size_t index)
{
    const struct hf_ticket_id *id = &req->request->ticket;

    assert(req->error == HF_ZK_OK && req->pending == 0);
    assert(own_ticket == NULL || hf_ticket_id_equal(&own_ticket->id, id));
    if (req->request->ticket_kind == HF_TICKET_PARTICIPANT &&
        hf_zk_engine_participants_ask(zk, req, details_known))
        return;
    if (req->queue->unsorted || !is_partial(req->request)) {
        hf_zk_engine_children_sort(req->queue);
        index = hf_zk_engine_queue_index_of(req->queue, own_ticket, id);
    }
    answer(zk, req, index);
}

/* All calls of the step are answered: answer the request or fail. */
static void details_known(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_own_ticket *own_ticket;
    const struct hf_ticket_id *id;

    if (hf_zk_engine_request_was_cancelled(zk, req))
        return;
    if (req->error == HF_ZK_OK) {
        id = &req->request->ticket;
        own_ticket = hf_zk_engine_own_ticket_find(zk, id);
        if (!remove_if_beyond(zk, req, own_ticket))
            complete(zk, req, own_ticket,
                     hf_zk_engine_queue_index_of(req->queue, own_ticket, id));
        return;
    }
    if (req->request->kind == HF_REQUEST_WATCH_QUEUE) {
        hf_zk_engine_request_end_cancel(zk, req);
        hf_zk_engine_watches_cancel(zk, req->request);
    }
    hf_zk_engine_request_fail(zk, req, req->error, "look at a ticket in",
                              req->queue->path);
}

/* Store the czxid of the ticket at ${index}, whose nodes were created
 * together. */
static void set_czxid(struct hf_zk_engine_queue *queue, size_t index,
                      int64_t czxid)
{
    const struct hf_ticket_id id = queue->children[index].node.id;

    queue->unsorted = true;
    do
        queue->children[index].czxid = czxid;
    while (++index < queue->count &&
           hf_ticket_id_equal(&queue->children[index].node.id, &id));
}

/* The Stat of the node with our id shows whether this session owns it, and its
 * czxid.  If the session owns it, the ticket becomes one of ours. */
static void own_node_answered(void *user, struct hf_zk_call *call,
                              const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;
    const struct hf_ticket_id *id = &req->request->ticket;
    size_t index = hf_zk_engine_queue_index(zk, req->queue, id);
    struct hf_zk_stat stat;
    struct hf_zk_engine_child *child;

    if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE) {
        req->error = reply->error;
    } else if (index < req->queue->count &&
               hf_zk_engine_own_ticket_find(zk, id) == NULL) {
        stat = hf_zk_get_stat(&body); /* all zeros for NoNode, so no owner */
        child = &req->queue->children[index];
        if (stat.owner != zk->session.id)
            hf_zk_engine_children_change_id(req->queue, id);
        else if (hf_zk_engine_own_ticket_add(
                     zk, req->queue, &child->node,
                     (struct hf_jute_piece){child->name, strlen(child->name)},
                     hf_zk_engine_children_weight(req->queue, index),
                     stat.czxid) == NULL)
            req->error = HF_ZK_OUT_OF_MEMORY;
        else
            set_czxid(req->queue, index, stat.czxid);
    }
    hf_zk_engine_request_answered(zk, req);
}

/* The Stat of a node with the same number as ours.  Its czxid shows which was
 * created first. */
static void tie_answered(void *user, struct hf_zk_call *call,
                         const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;
    size_t index;

    index =
        hf_zk_engine_queue_index(zk, req->queue, &req->ids[call - req->calls]);
    if (reply->error == HF_ZK_OK && index < req->queue->count)
        set_czxid(req->queue, index, hf_zk_get_stat(&body).czxid);
    else if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE)
        req->error = reply->error;
    hf_zk_engine_request_answered(zk, req);
}

/* Finish the call for ${req} and for all requests that wait for the data of
 * the same head. */
static void head_answered(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_queue *queue = req->queue;
    struct hf_zk_engine_request_list requests = {0};

    queue->users++;
    if (queue->head_reader == req) {
        requests = queue->head_requests;
        queue->head_requests = (struct hf_zk_engine_request_list){0};
        queue->head_reader = NULL;
    }
    hf_zk_engine_request_answered(zk, req);
    hf_zk_engine_request_list_answered(zk, &requests);
    hf_zk_engine_queue_release(zk, queue);
}

/* The data of the head, for texts that say who holds the lock.  A failure is
 * ignored, because nothing depends on it. */
static void head_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    const struct hf_ticket_id *id = &req->ids[call - req->calls];
    struct hf_jute_reader body = reply->body;
    struct hf_zk_engine_listing *listing = hf_zk_engine_request_listing(req);
    struct hf_zk_engine_watch *watch = listing->watch;
    struct hf_jute_piece payload;

    listing->watch = NULL;
    if (reply->error == HF_ZK_OK) {
        payload = hf_jute_get_buffer(&body);
        hf_zk_engine_queue_set_head(req->queue, id, payload);
        if (watch != NULL)
            hf_zk_engine_watches_read_node(zk, watch, payload,
                                           hf_zk_get_stat(&body).version);
    } else if (watch != NULL) {
        hf_zk_engine_watches_read(zk, watch, false);
    }
    head_answered(zk, req);
}

/* The path of the child at ${index}. */
static const char *path_at(struct hf_zk_engine *zk,
                           const struct hf_zk_engine_request *req, size_t index)
{
    return hf_zk_engine_child_path(zk, req->queue,
                                   req->queue->children[index].name);
}

/* A call about the child at ${index}, which .ids remembers. */
static struct hf_zk_call *call_about(struct hf_zk_engine_request *req,
                                     size_t index, hf_zk_answered *answered)
{
    req->ids[req->call_count] = req->queue->children[index].node.id;
    return hf_zk_engine_request_call(req, answered);
}

/* Does the child at ${index} have the same number as ours? */
static bool is_tied(const struct hf_zk_engine_queue *queue, size_t index,
                    size_t own_index)
{
    return index < queue->count && queue->children[index].node.sequence ==
                                       queue->children[own_index].node.sequence;
}

/* Ask for the czxid of nodes with our number.  They stand next to ours. */
static void ask_about_ties(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req, size_t own_index)
{
    const struct hf_zk_engine_queue *queue = req->queue;
    size_t first = own_index, asked = 0;

    if (hf_zk_engine_node_is_permit(&queue->children[own_index].node))
        return;
    while (first > 0 && is_tied(queue, first - 1, own_index))
        first--;
    for (size_t i = first;
         is_tied(queue, i, own_index) && asked < HF_ZK_TIES_MAX; i++) {
        if (i == own_index)
            continue;
        hf_zk_send_exists(&zk->session, call_about(req, i, tie_answered),
                          path_at(zk, req, i), false);
        asked++;
    }
}

/* Ask for what is not known of our own node and of nodes with its number. */
static void ask_about_own(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req,
                          const struct hf_zk_engine_own_ticket *own_ticket,
                          size_t index)
{
    if (own_ticket == NULL)
        hf_zk_send_exists(&zk->session,
                          call_about(req, index, own_node_answered),
                          path_at(zk, req, index), false);
    if (req->request->ticket_kind != HF_TICKET_PARTICIPANT)
        ask_about_ties(zk, req, index);
}

/* Ask for the data of the head, unless another request is asking for the same.
 * If our ticket is right behind the head, the read sets a watch too, because
 * the core will ask to watch the head next.  Without memory for the watch, only
 * the data are read. */
static void ask_about_head(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req, size_t own_index)
{
    struct hf_zk_engine_listing *listing = hf_zk_engine_request_listing(req);
    struct hf_zk_engine_queue *queue = req->queue;
    size_t head = queue->first_live;

    if (head == queue->count || own_index == head ||
        (queue->head_payload != NULL &&
         hf_ticket_id_equal(&queue->head, &queue->children[head].node.id)))
        return;
    if (queue->head_reader != NULL &&
        hf_ticket_id_equal(&queue->head_asked,
                           &queue->children[head].node.id)) {
        hf_zk_engine_request_list_add(&queue->head_requests, req);
        return;
    }
    if (queue->head_reader == NULL) {
        queue->head_reader = req;
        queue->head_asked = queue->children[head].node.id;
    }
    if (own_index == head + 1 && req->request->kind != HF_REQUEST_WATCH_QUEUE &&
        queue->children[head].node.kind != HF_TICKET_LEASE)
        listing->watch =
            hf_zk_engine_watches_ask_node(zk, path_at(zk, req, head));
    hf_zk_send_get_data(&zk->session, call_about(req, head, head_read),
                        path_at(zk, req, head),
                        listing->watch != NULL &&
                            hf_zk_engine_watches_flag(zk, listing->watch));
}

/* Forget a ticket of ours that is incomplete, and remove one whose number is
 * out of range.  Otherwise send the calls for what the list does not show. */
void hf_zk_engine_answer_list(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req,
                              struct hf_zk_engine_own_ticket *own_ticket,
                              size_t index)
{
    struct hf_zk_engine_queue *queue = req->queue;
    const struct hf_ticket_id *id = &req->request->ticket;

    assert(own_ticket == NULL || hf_ticket_id_equal(&own_ticket->id, id));
    assert(index <= queue->count);
    if (req->phase != HF_ZK_LISTING)
        hf_zk_engine_request_enter(req, HF_ZK_LISTING);
    /* The ticket is gone, or nodes of a lease are missing, no matter who
     * removed them.  Forget it, because a proof that checked it would fail for
     * all tickets. */
    if (hf_zk_engine_children_weight(queue, index) <
        (own_ticket != NULL ? own_ticket->weight : req->request->weight)) {
        if (own_ticket != NULL)
            hf_zk_engine_own_ticket_free(zk, own_ticket);
        hf_zk_engine_children_change_id(queue, id);
        own_ticket = NULL;
        index = queue->count;
    }
    if (remove_if_beyond(zk, req, own_ticket))
        return;
    hf_zk_engine_request_step(req, details_known);
    req->error = HF_ZK_OK;
    if (hf_zk_session_usable(&zk->session)) {
        if (index < queue->count &&
            req->request->kind != HF_REQUEST_WATCH_QUEUE)
            ask_about_own(zk, req, own_ticket, index);
        if (req->request->ticket_kind != HF_TICKET_PARTICIPANT)
            ask_about_head(zk, req, index);
    }
    if (req->pending == 0)
        complete(zk, req, own_ticket, index);
}

void hf_zk_engine_find_and_answer(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_request *req)
{
    const struct hf_ticket_id *id = &req->request->ticket;
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, id);

    hf_zk_engine_answer_list(
        zk, req, own_ticket,
        hf_zk_engine_queue_index_of(req->queue, own_ticket, id));
}

/* --------------------------------------------------------------- request -- */

/* The queue has been listed, or the list failed. */
static void listed(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    if (req->list_error == HF_ZK_OK || req->list_error == HF_ZK_NO_NODE) {
        hf_zk_engine_find_and_answer(zk, req);
        return;
    }
    hf_zk_engine_request_fail(zk, req, req->list_error, "list",
                              req->queue->path);
}

/* Answer from the cached list if it can be used, otherwise list the queue. */
void hf_zk_engine_list_queue(struct hf_zk_engine *zk,
                             struct hf_request *request)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &request->ticket);
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req == NULL)
        return;
    if (own_ticket != NULL &&
        hf_zk_engine_cached_list_serves(zk, req->queue, own_ticket)) {
        hf_zk_engine_find_and_answer(zk, req);
        return;
    }
    hf_zk_engine_request_step(req, listed);
    /* This server has shown us our ticket before, so it shows it again and no
     * sync is needed. */
    if (own_ticket != NULL)
        hf_zk_engine_list_children(zk, req);
    else
        hf_zk_engine_find_ticket(zk, req);
}
