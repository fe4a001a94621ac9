/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/list.h"

#include <inttypes.h>
#include <string.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/double_barrier.h"
#include "engines/zookeeper/kept_list.h"
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/queue_list.h"
#include "engines/zookeeper/remove.h"

/* ------------------------------------------------------------- answering -- */

/* Is the part of the queue that is near enough of an answer?  Not for leases,
 * which are counted. */
static bool is_partial(const struct hf_request *request)
{
    return request->kind != HF_REQUEST_WATCH_QUEUE &&
           request->ticket_kind != HF_TICKET_PARTICIPANT &&
           request->ticket_kind != HF_TICKET_LEASE;
}

static bool snapshot(struct hf_zk *zk, const struct hf_zk_op *op,
                     struct hf_snapshot *to)
{
    if (op->request->ticket_kind == HF_TICKET_PARTICIPANT)
        return hf_zk_participants_snapshot(zk, op, to);
    if (!is_partial(op->request))
        return hf_zk_queue_snapshot(zk, op->queue, to);
    hf_zk_queue_part(zk, op->queue, &op->request->ticket,
                     op->request->ticket_kind, to);
    return true;
}

static void answer(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    bool looks = op->request->kind == HF_REQUEST_WATCH_QUEUE;

    if (op->request->kind == HF_REQUEST_ENQUEUE)
        event.kind = HF_EVENT_ENQUEUED;
    if (looks)
        hf_zk_op_end_look(zk, op);
    if (!snapshot(zk, op, &event.as.answer.snapshot)) {
        if (looks)
            hf_zk_watches_forget(zk, op->request);
        hf_zk_fail_memory(zk, hf_zk_op_end(zk, op));
        return;
    }
    event.as.answer.request = op->request;
    if (looks)
        hf_zk_watches_listed(zk, op->queue, &event);
    else
        hf_zk_notify(zk, &event);
    /* Last: with it the queue may go, which has the payload of the snapshot. */
    hf_zk_op_free(zk, op);
}

/* ---------------------------------------------- what a list doesn't tell -- */

/* The ticket is there and must not be: its number is beyond what orders a
 * queue. */
static void taken_back(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->error != HF_ZK_OK && op->error != HF_ZK_NO_NODE) {
        hf_zk_op_fail(zk, op, op->error, "withdraw from", op->queue->path);
        return;
    }
    hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_FATAL, HF_EEXHAUSTED,
               "the server has numbered the tickets of this queue up to "
               "%" PRId64 "; let the queue drain and remove its node, so that "
               "it begins anew",
               HF_ZK_SEQUENCE_END);
}

/* If the ticket is ours and has such a number, delete it and answer so; false
 * if not. */
static bool take_back_beyond(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    if (own == NULL ||
        hf_zk_node_order(own->sequence) + own->weight <= HF_ZK_SEQUENCE_END)
        return false;
    op->error = HF_ZK_CUT;
    if (hf_zk_session_usable(&zk->session))
        hf_zk_delete_ticket(zk, op, taken_back);
    else
        taken_back(zk, op);
    return true;
}

/* The step's calls are answered. */
static void known(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->request == NULL) { /* a WATCH_QUEUE that was taken back meanwhile */
        hf_zk_op_end_look(zk, op);
        hf_zk_op_free(zk, op);
        return;
    }
    if (op->error == HF_ZK_OK) {
        if (take_back_beyond(zk, op))
            return;
        if (hf_zk_participants_ask(zk, op, known))
            return;
        if (op->queue->unsorted || !is_partial(op->request))
            hf_zk_queue_sort(zk, op->queue);
        answer(zk, op);
        return;
    }
    if (op->request->kind == HF_REQUEST_WATCH_QUEUE) {
        hf_zk_op_end_look(zk, op);
        hf_zk_watches_forget(zk, op->request);
    }
    hf_zk_op_fail(zk, op, op->error, "look at a ticket in", op->queue->path);
}

/* Of the ticket at ${place}; all permits of one are made at once. */
static void learn_czxid(struct hf_zk_queue *queue, size_t place, int64_t czxid)
{
    const struct hf_ticket_id id = queue->children[place].node.id;
    bool all = hf_zk_node_is_permit(&queue->children[place].node);

    queue->unsorted = true;
    do
        queue->children[place].czxid = czxid;
    while (all && ++place < queue->count &&
           hf_ticket_id_equal(&queue->children[place].node.id, &id));
}

/* The ticket with our id: is it of this session, and since when? */
static void own_node(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;
    const struct hf_ticket_id *id = &op->request->ticket;
    size_t place = hf_zk_queue_place(zk, op->queue, id);
    struct hf_zk_stat stat;
    const char *name;

    if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE) {
        op->error = reply->error;
    } else if (place < op->queue->count && hf_zk_own_find(zk, id) == NULL) {
        stat = hf_zk_get_stat(&body); /* zeros for NoNode: nobody's */
        name = op->queue->children[place].name;
        if (stat.owner != zk->session.id)
            hf_zk_children_disown(op->queue, id);
        else if (hf_zk_own_add(zk, op->queue, name, strlen(name),
                               hf_zk_queue_weight(zk, op->queue, id),
                               stat.czxid) == NULL)
            op->error = HF_ZK_NONSENSE;
        else
            learn_czxid(op->queue, place, stat.czxid);
    }
    hf_zk_op_answered(zk, op);
}

/* A ticket with the same number as ours: who came first? */
static void tie_node(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;
    size_t place;

    place = hf_zk_queue_place(zk, op->queue, &op->ids[call - op->calls]);
    if (reply->error == HF_ZK_OK && place < op->queue->count)
        learn_czxid(op->queue, place, hf_zk_get_stat(&body).czxid);
    else if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE)
        op->error = reply->error;
    hf_zk_op_answered(zk, op);
}

/* For ${op}, and then for those who want to know of the same head. */
static void head_answered(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_queue *queue = op->queue;
    struct hf_zk_line line = {0};

    queue->users++;
    if (queue->head_reader == op) {
        line = queue->head_waiting;
        queue->head_waiting = (struct hf_zk_line){0};
        queue->head_reader = NULL;
    }
    hf_zk_op_answered(zk, op);
    hf_zk_line_serve(zk, &line);
    hf_zk_queue_leave(zk, queue);
}

/* The ticket at the head: whose is it?  Nothing depends on it. */
static void head_node(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    const struct hf_ticket_id *id = &op->ids[call - op->calls];
    struct hf_jute_reader body = reply->body;
    size_t place = hf_zk_queue_place(zk, op->queue, id);
    struct hf_jute_piece payload;

    if (reply->error == HF_ZK_OK) {
        payload = hf_jute_get_buffer(&body);
        hf_zk_queue_learn_head(op->queue, id, payload);
        if (op->head_watched && place < op->queue->count)
            hf_zk_watches_note(
                zk,
                hf_zk_child_path(zk, op->queue,
                                 op->queue->children[place].name),
                payload, hf_zk_get_stat(&body).version);
    }
    head_answered(zk, op);
}

static const char *path_at(struct hf_zk *zk, const struct hf_zk_op *op,
                           size_t place)
{
    return hf_zk_child_path(zk, op->queue, op->queue->children[place].name);
}

/* A call about the child at ${place}. */
static struct hf_zk_call *call_about(struct hf_zk_op *op, size_t place,
                                     hf_zk_answered *answered)
{
    op->ids[op->made] = op->queue->children[place].node.id;
    return hf_zk_op_call(op, answered);
}

static bool is_tied(const struct hf_zk_queue *queue, size_t place, size_t own)
{
    return place < queue->count && queue->children[place].node.sequence ==
                                       queue->children[own].node.sequence;
}

/* Those stand next to it. */
static void ask_about_ties(struct hf_zk *zk, struct hf_zk_op *op, size_t own)
{
    const struct hf_zk_queue *queue = op->queue;
    size_t first = own, asked = 0;

    if (hf_zk_node_is_permit(&queue->children[own].node))
        return;
    while (first > 0 && is_tied(queue, first - 1, own))
        first--;
    for (size_t i = first; is_tied(queue, i, own) && asked < HF_ZK_TIES_MAX;
         i++) {
        if (i == own)
            continue;
        hf_zk_send_exists(&zk->session, call_about(op, i, tie_node),
                          path_at(zk, op, i));
        asked++;
    }
}

static void ask_about_own(struct hf_zk *zk, struct hf_zk_op *op, size_t place)
{
    const struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    if (own == NULL)
        hf_zk_send_exists(&zk->session, call_about(op, place, own_node),
                          path_at(zk, op, place));
    else if (op->queue->unsorted)
        learn_czxid(op->queue, place, own->czxid);
    if (op->request->ticket_kind != HF_TICKET_PARTICIPANT)
        ask_about_ties(zk, op, place);
}

/* A watch on it comes for nothing, and is what will be asked for next by
 * whoever is right behind it. */
static void ask_about_head(struct hf_zk *zk, struct hf_zk_op *op, size_t own)
{
    struct hf_zk_queue *queue = op->queue;
    size_t head = queue->live;

    if (head == queue->count || own == head ||
        (queue->head_known &&
         hf_ticket_id_equal(&queue->head, &queue->children[head].node.id)))
        return;
    if (queue->head_reader != NULL &&
        hf_ticket_id_equal(&queue->head_asked,
                           &queue->children[head].node.id)) {
        hf_zk_line_join(&queue->head_waiting, op);
        return;
    }
    if (queue->head_reader == NULL) {
        queue->head_reader = op;
        queue->head_asked = queue->children[head].node.id;
    }
    op->head_watched = own == head + 1 &&
                       op->request->kind != HF_REQUEST_WATCH_QUEUE &&
                       queue->children[head].node.kind != HF_TICKET_LEASE;
    hf_zk_send_get_data(&zk->session, call_about(op, head, head_node),
                        path_at(zk, op, head), op->head_watched);
}

void hf_zk_list_answer(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_queue *queue = op->queue;
    const struct hf_ticket_id *id = &op->request->ticket;
    struct hf_zk_own *own = hf_zk_own_find(zk, id);
    size_t place;

    /* Gone, whoever removed it: its check would fail those of all others.  So
     * is a lease of which somebody has taken a part. */
    if (hf_zk_queue_weight(zk, queue, id) <
        (own != NULL ? own->weight : op->request->weight)) {
        if (own != NULL)
            hf_zk_own_drop(zk, own);
        hf_zk_children_disown(queue, id);
    }
    place = hf_zk_queue_place(zk, queue, id);
    if (take_back_beyond(zk, op))
        return;
    hf_zk_op_step(op, known);
    op->error = HF_ZK_OK;
    if (hf_zk_session_usable(&zk->session)) {
        if (place < queue->count && op->request->kind != HF_REQUEST_WATCH_QUEUE)
            ask_about_own(zk, op, place);
        if (op->request->ticket_kind != HF_TICKET_PARTICIPANT)
            ask_about_head(zk, op, place);
    }
    if (op->pending == 0)
        known(zk, op);
}

/* ------------------------------------------------------------------ LIST -- */

static void listed(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->list_error == HF_ZK_OK || op->list_error == HF_ZK_NO_NODE) {
        hf_zk_list_answer(zk, op);
        return;
    }
    hf_zk_op_fail(zk, op, op->list_error, "list", op->queue->path);
}

void hf_zk_list(struct hf_zk *zk, struct hf_request *request)
{
    const struct hf_zk_own *own = hf_zk_own_find(zk, &request->ticket);
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    if (own != NULL && hf_zk_kept_serves(zk, op->queue, own)) {
        hf_zk_list_answer(zk, op);
        return;
    }
    hf_zk_op_step(op, listed);
    /* A ticket that we know of is in whatever this server shows, since it does
     * not show us less than before. */
    if (own != NULL)
        hf_zk_list_children(zk, op);
    else
        hf_zk_search(zk, op);
}
