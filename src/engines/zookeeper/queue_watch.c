/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WATCH_QUEUE: the queue as it is now, and the news that it has changed since.
 *
 * The getChildren that tells the one sets a watch for the other, so that
 * nothing can happen in between.  It needs no sync: whoever looks has heard
 * from this server, or one that has seen as much, what makes him look.  Not so
 * who leaves a double barrier: what he has seen may be from another session.
 */
#include <inttypes.h>
#include <stdio.h>

#include "engines/zookeeper/list.h"
#include "engines/zookeeper/list_call.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/permit.h"

static bool is_listed(const struct hf_zk_op *op)
{
    return op->list_error == HF_ZK_OK || op->list_error == HF_ZK_NO_NODE;
}

/* Is there another number of permits than the asker knows of?  kazoo refuses
 * its own then: who goes by a greater one lets too many in. */
static bool is_other_size(const struct hf_zk_op *op)
{
    return op->request != NULL && op->permits > 0 && op->request->limit > 0 &&
           op->permits != op->request->limit;
}

static void fail_size(struct hf_zk *zk, struct hf_zk_op *op)
{
    uint32_t permits = op->permits, limit = op->request->limit;
    char path[HF_ZK_QUEUE_PATH_BYTES];

    snprintf(path, sizeof path, "%s", op->queue->path);
    hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_FATAL, HF_EKIND,
               "the semaphore has %" PRIu32 " permits, says its node %.200s, "
               "and not %" PRIu32 "; give all programs there the same number, "
               "or write another one to the node",
               permits, path, limit);
}

static void looked(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (is_other_size(op)) {
        hf_zk_op_end_look(zk, op);
        fail_size(zk, op);
        return;
    }
    if (op->request != NULL && is_listed(op)) {
        hf_zk_list_answer(zk, op);
        return;
    }
    hf_zk_op_end_look(zk, op);
    if (op->request == NULL) /* taken back meanwhile */
        hf_zk_op_free(zk, op);
    else
        hf_zk_op_fail(zk, op, op->list_error, "look at", op->queue->path);
}

/* From here on changes are news, though nobody was told of the list. */
static void children(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;

    hf_zk_take_children(zk, op, reply);
    if (op->request != NULL && is_listed(op) && !is_other_size(op) &&
        !hf_zk_watches_look(zk, op->request, op->queue,
                            op->list_error == HF_ZK_OK))
        op->list_error = HF_ZK_NONSENSE; /* out of memory, as for the list */
    hf_zk_op_answered(zk, op);
}

static void size_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK)
        op->permits = hf_zk_permits_read(hf_jute_get_buffer(&body));
    hf_zk_op_answered(zk, op);
}

void hf_zk_watch_queue(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op == NULL)
        return;
    hf_zk_op_begin_look(zk, op);
    hf_zk_op_step(op, looked);
    if (request->ticket_kind == HF_TICKET_PARTICIPANT)
        hf_zk_send_sync(&zk->session, hf_zk_op_call(op, hf_zk_op_sync_answered),
                        op->queue->path);
    if (op->queue->permits)
        hf_zk_send_get_data(&zk->session, hf_zk_op_call(op, size_read),
                            op->queue->path, false);
    hf_zk_send_get_children(&zk->session, hf_zk_op_call(op, children),
                            op->queue->path, true);
}
