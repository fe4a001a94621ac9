/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DOWNGRADE: one transaction that creates the read node, with the write node's
 * id and number, and deletes the write node; as Curator lays out a reader that
 * was a writer.  So nobody sees the place empty.
 *
 * One that got no answer may have happened, or may yet, until it is known of
 * either node.  It happens once, for it needs the one and makes the other:
 * asked again it fails, and a search shows what is there.
 *
 * A request to let go is written over the text of the write node, which nobody
 * watches meanwhile.  So that node is deleted only in the version whose text is
 * known, and the read node takes a request over: the watch that is set on it
 * afterwards tells of it.  Where the text has changed, the transaction fails,
 * and the text is read before the next one.
 */
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

static void answer(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_DOWNGRADED};

    event.as.answer.request = request;
    hf_zk_notify(zk, &event);
}

static void fail_gone(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_fail(zk, request, HF_FAILURE_FATAL, HF_ELOST,
               "the ticket is not in its queue any more");
}

/* The transaction was carried out and failed for what it found. */
static bool is_of_nodes(enum hf_zk_error error)
{
    return error == HF_ZK_NO_NODE || error == HF_ZK_NODE_EXISTS;
}

static void fail(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_op_fail(zk, op, op->error,
                  "turn a write ticket into a read ticket in", op->queue->path);
}

/* What is there?  Found by its id under either name. */
static void searched(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);
    struct hf_zk_queue *queue = op->queue;
    size_t place = hf_zk_queue_place(zk, queue, &op->request->ticket);

    if (op->list_error != HF_ZK_OK && op->list_error != HF_ZK_NO_NODE) {
        hf_zk_op_fail(zk, op, op->list_error, "list", queue->path);
    } else if (own == NULL || place == queue->count) {
        if (own != NULL)
            hf_zk_own_drop(zk, own);
        fail_gone(zk, hf_zk_op_end(zk, op));
    } else if (own->kind == HF_TICKET_READ) {
        answer(zk, hf_zk_op_end(zk, op));
    } else if (is_of_nodes(op->error)) {
        hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_RETRY, HF_EPROTOCOL,
                   "the server would not turn a write ticket into a read "
                   "ticket, and shows no reason");
    } else {
        own->downgrading = false; /* nor did an earlier one */
        fail(zk, op);
    }
}

/* Does it take a search to know what became of the ticket?  Also if this one
 * was refused and an earlier one was not answered. */
static bool is_doubtful(const struct hf_zk_op *op)
{
    return is_of_nodes(op->error) ||
           (op->open_before && !hf_zk_leaves_open(op->error));
}

/* Our write ticket; NULL, having answered, if it is not that any more or the
 * session has ended meanwhile. */
static struct hf_zk_own *find_writer(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    if (own == NULL || own->leaving) {
        fail_gone(zk, hf_zk_op_end(zk, op));
    } else if (own->kind == HF_TICKET_READ) {
        answer(zk, hf_zk_op_end(zk, op));
    } else if (!hf_zk_session_usable(&zk->session)) {
        op->error = HF_ZK_CUT;
        fail(zk, op);
    } else {
        return own;
    }
    return NULL;
}

static void read_text(struct hf_zk *zk, struct hf_zk_op *op);

/* The transaction has failed, or the text could not be read. */
static void refused(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    if (is_doubtful(op) && hf_zk_session_usable(&zk->session)) {
        hf_zk_op_step(op, searched);
        hf_zk_search(zk, op);
        return;
    }
    if (own != NULL && !op->open_before && !hf_zk_leaves_open(op->error))
        own->downgrading = false;
    fail(zk, op);
}

static void changed(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);

    if (op->error == HF_ZK_OK) {
        if (own != NULL) /* not removed meanwhile */
            hf_zk_own_downgraded(zk, own);
        answer(zk, hf_zk_op_end(zk, op));
    } else if (op->error == HF_ZK_BAD_VERSION) {
        if (own != NULL)
            own->downgrading = op->open_before;
        read_text(zk, op);
    } else {
        refused(zk, op);
    }
}

static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_piece made;

    op->error = reply->error;
    if (op->error == HF_ZK_OK)
        op->error = hf_zk_multi_result(&reply->body, &made, 1);
    hf_zk_op_answered(zk, op);
}

static void put_change(struct hf_zk *zk, const struct hf_zk_op *op,
                       const struct hf_zk_own *own)
{
    char name[HF_ZK_NODE_BYTES];

    hf_zk_own_read_name(zk, own, name);
    hf_zk_multi_create(&zk->session, hf_zk_child_path(zk, op->queue, name),
                       op->revoked ? HF_ZK_REVOKE : op->request->payload,
                       HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(&zk->session, hf_zk_own_path(zk, own, 0), op->version);
}

static void change(struct hf_zk *zk, struct hf_zk_op *op, struct hf_zk_own *own)
{
    size_t begin;

    op->open_before = own->downgrading;
    own->downgrading = true;
    hf_zk_op_step(op, changed);
    begin = hf_zk_call_begin(&zk->session, hf_zk_op_call(op, answered),
                             HF_ZK_MULTI);
    put_change(zk, op, own);
    hf_zk_multi_end(&zk->session, begin);
}

static void text_read(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_own *own;

    if (op->error != HF_ZK_OK)
        refused(zk, op);
    else if ((own = find_writer(zk, op)) != NULL)
        change(zk, op, own);
}

static void text_answered(void *user, struct hf_zk_call *call,
                          const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_op *op = call->owner;

    op->error = reply->error;
    if (op->error == HF_ZK_OK) {
        op->revoked = hf_zk_says_revoke(hf_jute_get_buffer(&body));
        op->version = hf_zk_get_stat(&body).version;
    }
    hf_zk_op_answered(zk, op);
}

static void read_text(struct hf_zk *zk, struct hf_zk_op *op)
{
    const struct hf_zk_own *own = find_writer(zk, op);

    if (own == NULL)
        return;
    if (op->rounds++ == HF_ZK_ROUNDS_MAX) {
        hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_RETRY, HF_EBUSY,
                   "others write to the ticket all the time");
        return;
    }
    op->open_before = own->downgrading;
    hf_zk_op_step(op, text_read);
    hf_zk_send_get_data(&zk->session, hf_zk_op_call(op, text_answered),
                        hf_zk_own_path(zk, own, 0), false);
}

void hf_zk_downgrade(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);
    struct hf_zk_own *own;

    if (op == NULL || (own = find_writer(zk, op)) == NULL)
        return;
    if (hf_zk_watches_data(zk, hf_zk_own_path(zk, own, 0), &op->revoked,
                           &op->version))
        change(zk, op, own);
    else
        read_text(zk, op);
}
