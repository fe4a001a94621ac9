/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One list of a queue under way, whoever asks.
 *
 * A list of ten thousand tickets is half a megabyte, and a burst of as many
 * enqueues would ask for it as often.  So whoever comes while a list is under
 * way waits for the next one, which is sent when that has come: a connection
 * carries out its requests in order, so it shows whatever all who wait for it
 * have sent before.  A list that is under way serves none of them, because it
 * was sent before they came.
 */
#include "engines/zookeeper/kept_list.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply);

/* For all who wait. */
static void send(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    queue->listing = queue->waiting;
    queue->waiting = (struct hf_zk_line){0};
    queue->list_call.answered = listed;
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
