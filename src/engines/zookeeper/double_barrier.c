/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/double_barrier.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/queue_list.h"

/* .czxid of a participant that was gone when it was asked for. */
#define GONE (-1)

static const char *ready_path(struct hf_zk *zk, const struct hf_zk_op *op)
{
    return hf_zk_child_path(zk, op->queue, HF_ZK_READY);
}

/* ---------------------------------------------------------------- tokens -- */

static void ready_read(void *user, struct hf_zk_call *call,
                       const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;

    op->ready_known = true;
    op->czxid = 0;
    if (reply->error == HF_ZK_OK)
        op->czxid = hf_zk_get_stat(&body).czxid;
    else if (reply->error != HF_ZK_NO_NODE)
        op->error = reply->error;
    hf_zk_op_answered(zk, op);
}

static void participant_read(void *user, struct hf_zk_call *call,
                             const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_queue *queue = op->queue;
    size_t place = hf_zk_queue_place(zk, queue, &op->ids[call - op->calls]);

    if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE)
        op->error = reply->error;
    else if (place < queue->count)
        queue->children[place].czxid =
            reply->error == HF_ZK_OK ? hf_zk_get_stat(&body).czxid : GONE;
    hf_zk_op_answered(zk, op);
}

static void ask_about_participants(struct hf_zk *zk, struct hf_zk_op *op)
{
    const struct hf_zk_queue *queue = op->queue;

    for (size_t i = 0; i < queue->count && op->made < HF_ZK_OP_CALLS; i++) {
        const struct hf_zk_child *child = &queue->children[i];

        if (child->node.kind != HF_TICKET_PARTICIPANT || child->czxid != 0)
            continue;
        op->ids[op->made] = child->node.id;
        hf_zk_send_exists(&zk->session, hf_zk_op_call(op, participant_read),
                          hf_zk_child_path(zk, queue, child->name));
    }
}

bool hf_zk_participants_ask(struct hf_zk *zk, struct hf_zk_op *op,
                            void (*then)(struct hf_zk *zk, struct hf_zk_op *op))
{
    if (op->request->ticket_kind != HF_TICKET_PARTICIPANT)
        return false;
    hf_zk_op_step(op, then);
    if (!hf_zk_session_usable(&zk->session))
        return false;
    if (!op->ready_known)
        hf_zk_send_exists(&zk->session, hf_zk_op_call(op, ready_read),
                          ready_path(zk, op));
    ask_about_participants(zk, op);
    return op->pending > 0;
}

/* -------------------------------------------------------------- snapshot -- */

static void put(struct hf_zk *zk, struct hf_snapshot *snapshot,
                enum hf_ticket_kind kind, const struct hf_ticket_id *id,
                int64_t czxid)
{
    zk->queues.snapshot[snapshot->count++] =
        (struct hf_ticket){.id = *id,
                           .sequence = (uint64_t)czxid,
                           .token = (uint64_t)czxid + zk->config.token_floor,
                           .kind = kind,
                           .weight = 1,
                           .payload = ""};
}

bool hf_zk_participants_snapshot(struct hf_zk *zk, const struct hf_zk_op *op,
                                 struct hf_snapshot *snapshot)
{
    static const struct hf_ticket_id nobody;
    const struct hf_zk_queue *queue = op->queue;

    if (!hf_zk_snapshot_room(zk, queue->count + 1))
        return false;
    *snapshot = (struct hf_snapshot){zk->queues.snapshot, 0, 0};
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_PARTICIPANT && child->czxid > 0)
            put(zk, snapshot, child->node.kind, &child->node.id, child->czxid);
    }
    if (op->czxid > 0)
        put(zk, snapshot, HF_TICKET_READY, &nobody, op->czxid);
    qsort(zk->queues.snapshot, snapshot->count, sizeof *zk->queues.snapshot,
          hf_ticket_compare);
    return true;
}

/* -----------------------------------------------------------------
 * NEW_GENERATION -- */

static void answer(struct hf_zk *zk, struct hf_zk_op *op, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_notify(zk, &event);
}

/* Whatever stood in its way, somebody has come, gone or stamped. */
static void stamped(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->error == HF_ZK_OK)
        answer(zk, op, op->czxid > 0);
    else
        hf_zk_op_fail(zk, op, op->error, "stamp the members of",
                      op->queue->path);
}

static void stamp_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_piece path;

    op->error = reply->error;
    if (op->error == HF_ZK_OK)
        op->error = hf_zk_multi_result(&reply->body, &path, 1);
    if (op->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    hf_zk_op_answered(zk, op);
}

/* That the one who asks, and as many others as he says, are there. */
static void check_participants(struct hf_zk *zk, struct hf_zk_op *op,
                               size_t own)
{
    const struct hf_zk_queue *queue = op->queue;
    uint32_t left = op->request->limit - 1;

    hf_zk_multi_check(&zk->session,
                      hf_zk_child_path(zk, queue, queue->children[own].name));
    for (size_t i = 0; i < queue->count && left > 0; i++) {
        if (i == own || queue->children[i].node.kind != HF_TICKET_PARTICIPANT)
            continue;
        hf_zk_multi_check(&zk->session,
                          hf_zk_child_path(zk, queue, queue->children[i].name));
        left--;
    }
}

static void send_stamp(struct hf_zk *zk, struct hf_zk_op *op, size_t own)
{
    struct hf_zk_call *call;
    size_t begin;

    hf_zk_op_step(op, stamped);
    call = hf_zk_op_call(op, stamp_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    check_participants(zk, op, own);
    if (op->czxid > 0)
        hf_zk_multi_delete(&zk->session, ready_path(zk, op), HF_ZK_ANY_VERSION);
    hf_zk_multi_create(&zk->session, ready_path(zk, op), "", HF_ZK_PERSISTENT);
    hf_zk_multi_end(&zk->session, begin);
}

static size_t count_participants(const struct hf_zk_queue *queue)
{
    size_t count = 0;

    for (size_t i = 0; i < queue->count; i++)
        count += queue->children[i].node.kind == HF_TICKET_PARTICIPANT;
    return count;
}

static void counted(struct hf_zk *zk, struct hf_zk_op *op)
{
    const struct hf_ticket_id *id = &op->request->ticket;
    size_t own = hf_zk_queue_place(zk, op->queue, id);

    if (op->error == HF_ZK_OK && op->list_error != HF_ZK_OK)
        op->error = op->list_error;
    if (op->error != HF_ZK_OK)
        stamped(zk, op);
    else if (!hf_zk_session_usable(&zk->session))
        hf_zk_op_fail(zk, op, HF_ZK_CUT, "stamp the members of",
                      op->queue->path);
    else if (own == op->queue->count ||
             count_participants(op->queue) < op->request->limit)
        hf_zk_op_fail(zk, op, HF_ZK_NO_NODE, "stamp the members of",
                      op->queue->path);
    else
        send_stamp(zk, op, own);
}

void hf_zk_stamp(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    assert(request->limit > 0 && request->limit <= HF_PARTICIPANTS_MAX);
    hf_zk_op_step(op, counted);
    op->error = HF_ZK_OK;
    hf_zk_list_children(zk, op);
    hf_zk_send_exists(&zk->session, hf_zk_op_call(op, ready_read),
                      ready_path(zk, op));
}

/* ----------------------------------------------------------------- CLEAR_FLAG
 * -- */

/* Not where somebody is there, or nothing is. */
static void cleared(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->error == HF_ZK_OK || op->error == HF_ZK_NO_NODE ||
        op->error == HF_ZK_NOT_EMPTY)
        answer(zk, op, op->error == HF_ZK_OK);
    else
        hf_zk_op_fail(zk, op, op->error, "delete the mark below",
                      op->queue->path);
}

static void clear_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;

    op->error = reply->error;
    if (op->error == HF_ZK_OK)
        op->error = hf_zk_multi_result(&reply->body, NULL, 0);
    if (op->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    hf_zk_op_answered(zk, op);
}

void hf_zk_clear_stamp(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);
    struct hf_zk_call *call;
    size_t begin;

    if (op == NULL)
        return;
    hf_zk_op_step(op, cleared);
    call = hf_zk_op_call(op, clear_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    hf_zk_multi_delete(&zk->session, ready_path(zk, op), HF_ZK_ANY_VERSION);
    hf_zk_multi_delete(&zk->session, op->queue->path, HF_ZK_ANY_VERSION);
    hf_zk_multi_end(&zk->session, begin);
}
