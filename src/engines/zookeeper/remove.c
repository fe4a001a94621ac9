/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/remove.h"

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

/* How often nodes may go between our listing and our deleting them. */
#define ROUNDS_MAX 8

/* From this number on an empty queue's node is removed with its last ticket, so
 * that the count begins anew long before it ends.  Containers go by
 * themselves, but only after a minute without any ticket. */
#define SEQUENCE_HIGH (INT32_C(1) << 30)

static void search(struct hf_zk *zk, struct hf_zk_op *op);

static void removed(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);
    bool gone = op->error == HF_ZK_OK || op->error == HF_ZK_NO_NODE;

    if (op->error == HF_ZK_NO_NODE && (op->many || op->listed) &&
        op->rounds++ < ROUNDS_MAX && hf_zk_session_usable(&zk->session)) {
        search(zk, op);
        return;
    }
    if (gone && op->many && op->error == HF_ZK_NO_NODE)
        op->error = HF_ZK_CUT; /* some of them, and perhaps not all */
    else if (gone && own != NULL)
        hf_zk_own_drop(zk, own);
    op->removed(zk, op);
}

static void deleted(void *user, struct hf_zk_call *call,
                    const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;

    enum hf_zk_error error = reply->error;

    if (error == HF_ZK_OK && op->many)
        error = hf_zk_multi_result(&reply->body, NULL, 0);
    /* Of two names the ticket has one: found if either was there. */
    if (error != HF_ZK_NO_NODE &&
        (op->error == HF_ZK_NO_NODE || error != HF_ZK_OK))
        op->error = error;
    hf_zk_op_answered(zk, op);
}

/* Whether it goes depends on whether it is empty: the server knows. */
static void parent_deleted(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    (void)reply;
    hf_zk_op_answered(zk, call->owner);
}

static void delete_parent(struct hf_zk *zk, struct hf_zk_op *op,
                          int32_t sequence)
{
    if (op->request->kind == HF_REQUEST_REMOVE &&
        (sequence < 0 || sequence >= SEQUENCE_HIGH))
        hf_zk_send_delete(&zk->session, hf_zk_op_call(op, parent_deleted),
                          op->queue->path);
}

static void delete_own(struct hf_zk *zk, struct hf_zk_op *op,
                       struct hf_zk_own *own)
{
    char read_name[HF_ZK_NODE_BYTES];

    own->leaving = true;
    op->many = own->weight > 1;
    op->error = HF_ZK_NO_NODE;
    hf_zk_op_step(op, removed);
    hf_zk_own_delete(zk, own, hf_zk_op_call(op, deleted));
    /* What it may be called by now.  In this order: a downgrade that is still
     * to come finds the first name gone. */
    if (own->downgrading) {
        hf_zk_own_read_name(zk, own, read_name);
        hf_zk_send_delete(&zk->session, hf_zk_op_call(op, deleted),
                          hf_zk_child_path(zk, op->queue, read_name));
    }
    delete_parent(zk, op, own->sequence);
}

/* As many as we ever make of one id; the rest, which can only be another's,
 * another time. */
static void delete_listed(struct hf_zk *zk, struct hf_zk_op *op, size_t place,
                          size_t nodes)
{
    const struct hf_zk_queue *queue = op->queue;
    const struct hf_ticket_id *id = &op->request->ticket;
    int32_t sequence = queue->children[place].node.sequence;
    struct hf_zk_call *call;
    size_t begin;

    op->listed = true;
    op->many = nodes > 1;
    op->torn |= nodes < op->request->weight;
    op->error = HF_ZK_NO_NODE;
    hf_zk_op_step(op, removed);
    call = hf_zk_op_call(op, deleted);
    if (nodes == 1) {
        hf_zk_send_delete(
            &zk->session, call,
            hf_zk_child_path(zk, queue, queue->children[place].name));
    } else {
        begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
        for (uint32_t i = 0; place < queue->count && i < HF_WEIGHT_MAX;
             place++) {
            if (!hf_ticket_id_equal(&queue->children[place].node.id, id))
                continue;
            hf_zk_multi_delete(
                &zk->session,
                hf_zk_child_path(zk, queue, queue->children[place].name),
                HF_ZK_ANY_VERSION);
            i++;
        }
        hf_zk_multi_end(&zk->session, begin);
    }
    delete_parent(zk, op, sequence);
}

/* Searched for what is there of the ticket. */
static void searched(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_queue *queue = op->queue;
    size_t place = hf_zk_queue_place(zk, queue, &op->request->ticket);
    bool listed = op->list_error == HF_ZK_OK;

    if (listed && place < queue->count && hf_zk_session_usable(&zk->session)) {
        delete_listed(zk, op, place,
                      hf_zk_children_with_id(queue, &op->request->ticket));
        return;
    }
    op->many = op->listed = false;
    op->error = op->list_error;
    if (listed)
        op->error = place < queue->count ? HF_ZK_CUT : HF_ZK_NO_NODE;
    removed(zk, op);
}

static void search(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_op_step(op, searched);
    hf_zk_search(zk, op);
}

void hf_zk_delete_ticket(struct hf_zk *zk, struct hf_zk_op *op,
                         void (*then)(struct hf_zk *zk, struct hf_zk_op *op))
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    op->removed = then;
    op->rounds = 0;
    op->torn = op->listed = false;
    if (own != NULL)
        delete_own(zk, op, own);
    else
        search(zk, op);
}

static void ticket_deleted(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_event event = {.kind = HF_EVENT_REMOVED};

    if (op->error != HF_ZK_OK && op->error != HF_ZK_NO_NODE) {
        hf_zk_op_fail(zk, op, op->error, "delete a ticket of", op->queue->path);
        return;
    }
    event.as.answer.found = op->error == HF_ZK_OK && !op->torn;
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_notify(zk, &event);
}

void hf_zk_remove(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op != NULL)
        hf_zk_delete_ticket(zk, op, ticket_deleted);
}
