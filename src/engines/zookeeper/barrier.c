/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SET_FLAG, CLEAR_FLAG and WATCH_QUEUE at a barrier node, which is called as
 * the barrier is, persistent, as DistributedBarrier of Curator has it.
 *
 * Who waits may have been told by others that it is up: so a WATCH_QUEUE is of
 * what all servers have, and not only the one that it asks.
 *
 * A node that has children is no barrier but somebody's parent, of tickets or
 * of other barriers: nobody could lower it.
 */
#include <string.h>

#include "engines/zookeeper/op.h"
#include "engines/zookeeper/parents.h"
#include "engines/zookeeper/permit.h"

static void fail_kind(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_fail(zk, op->request, HF_FAILURE_FATAL, HF_EKIND,
               "%s is in use as the parent of other nodes; give the barrier a "
               "name of its own",
               op->queue->path);
    hf_zk_op_free(zk, op);
}

static void answer(struct hf_zk *zk, struct hf_zk_op *op, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_notify(zk, &event);
}

/* ----------------------------------------------------------------- SET_FLAG --
 */

static void create_node(struct hf_zk *zk, struct hf_zk_op *op);

/* Read with the create: what the one found that is there. */
static void described(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;

    op->parent = reply->error == HF_ZK_OK &&
                 hf_zk_get_stat(&body).children > 0 && !body.failed;
    hf_zk_op_answered(zk, op);
}

static void raised(struct hf_zk *zk, struct hf_zk_op *op)
{
    const char *path = op->queue->path;

    if (op->error == HF_ZK_NODE_EXISTS && op->parent)
        fail_kind(zk, op);
    else if (op->error == HF_ZK_OK || op->error == HF_ZK_NODE_EXISTS)
        answer(zk, op, op->error == HF_ZK_NODE_EXISTS);
    else if (hf_zk_want_parents(zk, op))
        create_node(zk, op);
    else
        hf_zk_fail_below(zk, op, "create", path);
}

static void create_node(struct hf_zk *zk, struct hf_zk_op *op)
{
    const char *path = op->queue->path;

    hf_zk_op_step(op, raised);
    op->rounds++;
    if (!hf_zk_send_parents(zk, op, (size_t)(strrchr(path, '/') - path)))
        return;
    hf_zk_send_create(&zk->session, hf_zk_op_call(op, hf_zk_op_error_answered),
                      HF_ZK_CREATE, path, "", HF_ZK_PERSISTENT);
    hf_zk_send_exists(&zk->session, hf_zk_op_call(op, described), path);
}

void hf_zk_raise(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op;

    if (hf_zk_name_is_elsewhere(zk->config.layout, request))
        hf_zk_fail_name(zk, request);
    else if ((op = hf_zk_op_new(zk, request)) != NULL)
        create_node(zk, op);
}

/* ----------------------------------------------------------------- CLEAR_FLAG
 * -- */

static void lowered(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->error == HF_ZK_NOT_EMPTY)
        fail_kind(zk, op);
    else if (op->error == HF_ZK_OK || op->error == HF_ZK_NO_NODE)
        answer(zk, op, op->error == HF_ZK_OK);
    else
        hf_zk_op_fail(zk, op, op->error, "delete", op->queue->path);
}

void hf_zk_lower(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    hf_zk_op_step(op, lowered);
    hf_zk_send_delete(&zk->session, hf_zk_op_call(op, hf_zk_op_error_answered),
                      op->queue->path);
}

/* ------------------------------------------------------------------
 * WATCH_QUEUE -- */

static void answer_look(struct hf_zk *zk, struct hf_zk_op *op)
{
    const struct hf_ticket node = {.token = (uint64_t)op->czxid,
                                   .kind = HF_TICKET_BARRIER,
                                   .weight = 1,
                                   .payload = ""};
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    struct hf_zk_queue *queue = op->queue;

    queue->users++; /* beyond the operation */
    event.as.answer.snapshot =
        (struct hf_snapshot){&node, op->error == HF_ZK_OK ? 1 : 0, 0};
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_watches_listed(zk, queue, &event);
    hf_zk_queue_leave(zk, queue);
}

static void looked(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_op_end_look(zk, op);
    if (op->request == NULL) /* taken back meanwhile */
        hf_zk_op_free(zk, op);
    else if (op->parent)
        fail_kind(zk, op);
    else if (op->error == HF_ZK_OK || op->error == HF_ZK_NO_NODE)
        answer_look(zk, op);
    else
        hf_zk_op_fail(zk, op, op->error, "look at", op->queue->path);
}

/* From here on changes are news, though nobody was told of the node. */
static void got(void *user, struct hf_zk_call *call,
                const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_stat stat;

    op->error = reply->error;
    if (op->error == HF_ZK_OK) {
        (void)hf_jute_get_buffer(&body);
        stat = hf_zk_get_stat(&body);
        op->czxid = stat.czxid;
        op->parent = stat.children > 0;
        if (body.failed)
            op->error = HF_ZK_NONSENSE;
    }
    if (op->sync_error != HF_ZK_OK)
        op->error = op->sync_error;
    if (op->request != NULL && !op->parent &&
        (op->error == HF_ZK_OK || op->error == HF_ZK_NO_NODE) &&
        !hf_zk_watches_look(zk, op->request, op->queue, op->error == HF_ZK_OK))
        op->error = HF_ZK_NONSENSE; /* out of memory */
    hf_zk_op_answered(zk, op);
}

void hf_zk_watch_barrier(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    hf_zk_op_begin_look(zk, op);
    hf_zk_op_step(op, looked);
    hf_zk_send_sync(&zk->session, hf_zk_op_call(op, hf_zk_op_sync_answered),
                    op->queue->path);
    hf_zk_send_get_data(&zk->session, hf_zk_op_call(op, got), op->queue->path,
                        true);
}
