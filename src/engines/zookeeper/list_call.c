/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/list_call.h"

#include "engines/zookeeper/kept_list.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

/* --------------------------------------------------------------- shared -- */

static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply);

/* For all who wait. */
static void send(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    queue->listing = queue->waiting;
    queue->waiting = (struct hf_zk_line){0};
    queue->list_call.answered = listed;
    queue->list_call.user = zk;
    queue->list_call.owner = queue;
    hf_zk_send_get_children(&zk->session, &queue->list_call, queue->path,
                            false);
}

static void serve(struct hf_zk *zk, struct hf_zk_line line,
                  enum hf_zk_error error)
{
    for (struct hf_zk_op *op = line.first; op != NULL; op = op->next_in_line)
        op->list_error = error;
    hf_zk_line_serve(zk, &line);
}

/* Those who wait are not sent for behind a goodbye, or without a connection. */
static void next(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    struct hf_zk_line waiting = queue->waiting;

    if (waiting.first == NULL || queue->listing.first != NULL)
        return;
    if (hf_zk_session_usable(&zk->session)) {
        send(zk, queue);
        return;
    }
    queue->waiting = (struct hf_zk_line){0};
    serve(zk, waiting, HF_ZK_CUT);
}

/* For those in ${line}. */
static enum hf_zk_error take(struct hf_zk *zk, struct hf_zk_queue *queue,
                             const struct hf_zk_line *line,
                             const struct hf_zk_reply *reply)
{
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK && hf_zk_kept_update(zk, queue, line, body))
        return HF_ZK_OK;
    return hf_zk_queue_take(zk, queue, reply->error, &body);
}

static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_queue *queue = call->owner;
    struct hf_zk_line line = queue->listing;

    queue->users++;
    queue->listing = (struct hf_zk_line){0};
    serve(zk, line, take(zk, queue, &line, reply));
    next(zk, queue);
    hf_zk_queue_leave(zk, queue);
}

void hf_zk_list_children(struct hf_zk *zk, struct hf_zk_op *op)
{
    struct hf_zk_queue *queue = op->queue;

    hf_zk_line_join(&queue->waiting, op);
    next(zk, queue);
}

/* --------------------------------------------------------------- search -- */

void hf_zk_take_children(struct hf_zk *zk, struct hf_zk_op *op,
                         const struct hf_zk_reply *reply)
{
    struct hf_jute_reader body = reply->body;

    op->list_error = op->sync_error != HF_ZK_OK
                         ? op->sync_error
                         : hf_zk_queue_take(zk, op->queue, reply->error, &body);
}

static void children(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;

    hf_zk_take_children(zk, op, reply);
    hf_zk_op_answered(zk, op);
}

void hf_zk_search_with(struct hf_zk *zk, struct hf_zk_op *op,
                       hf_zk_answered *answered)
{
    hf_zk_send_sync(&zk->session, hf_zk_op_call(op, hf_zk_op_sync_answered),
                    op->queue->path);
    hf_zk_send_get_children(&zk->session, hf_zk_op_call(op, answered),
                            op->queue->path, false);
}

void hf_zk_search(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_search_with(zk, op, children);
}
