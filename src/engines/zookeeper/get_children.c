/* SPDX-License-Identifier: Apache-2.0 */
/* Shared lists and searches, see get_children.h.  .list_requests of a queue are
 * the requests that the list in flight is for, and .next_list_requests those
 * that wait for the next one. */
#include "engines/zookeeper/get_children.h"

#include "engines/zookeeper/cached_list.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* --------------------------------------------------------------- shared -- */

static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply);

/* Send a list for all that wait for the next one. */
static void send_list(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    queue->list_requests = queue->next_list_requests;
    queue->next_list_requests = (struct hf_zk_request_list){0};
    queue->list_call.answered = listed;
    queue->list_call.user = zk;
    queue->list_call.owner = queue;
    hf_zk_send_get_children(&zk->session, &queue->list_call, queue->path,
                            false);
}

/* Finish the list call of each of ${requests} with ${error}. */
static void answer_all(struct hf_zk *zk, struct hf_zk_request_list requests,
                       enum hf_zk_error error)
{
    for (struct hf_zk_request *req = requests.first; req != NULL;
         req = req->next_in_list)
        req->list_error = error;
    hf_zk_request_list_answered(zk, &requests);
}

/* Send the next list if one is waited for and none is in flight.  If no call
 * can be made, because the session is closing or disconnected, fail the
 * requests instead. */
static void send_next_list(struct hf_zk *zk, struct hf_zk_queue *queue)
{
    struct hf_zk_request_list waiting = queue->next_list_requests;

    if (waiting.first == NULL || queue->list_requests.first != NULL)
        return;
    if (hf_zk_session_usable(&zk->session)) {
        send_list(zk, queue);
        return;
    }
    queue->next_list_requests = (struct hf_zk_request_list){0};
    answer_all(zk, waiting, HF_ZK_DISCONNECTED);
}

/* Take a list in for ${requests}: compare it with the cached one, or replace
 * that. */
static enum hf_zk_error take_list(struct hf_zk *zk, struct hf_zk_queue *queue,
                                  const struct hf_zk_request_list *requests,
                                  const struct hf_zk_reply *reply)
{
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK &&
        hf_zk_cached_list_update(zk, queue, requests, body))
        return HF_ZK_OK;
    return hf_zk_queue_take_list(zk, queue, reply->error, &body);
}

/* The answer to a shared list. */
static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_queue *queue = call->owner;
    struct hf_zk_request_list requests = queue->list_requests;

    queue->users++;
    queue->list_requests = (struct hf_zk_request_list){0};
    answer_all(zk, requests, take_list(zk, queue, &requests, reply));
    send_next_list(zk, queue);
    hf_zk_queue_release(zk, queue);
}

void hf_zk_list_children(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_queue *queue = req->queue;

    hf_zk_request_list_add(&queue->next_list_requests, req);
    send_next_list(zk, queue);
}

/* --------------------------------------------------------------- search -- */

void hf_zk_take_search_list(struct hf_zk *zk, struct hf_zk_request *req,
                            const struct hf_zk_reply *reply)
{
    struct hf_jute_reader body = reply->body;

    req->list_error =
        req->sync_error != HF_ZK_OK
            ? req->sync_error
            : hf_zk_queue_take_list(zk, req->queue, reply->error, &body);
}

/* The answer to the list of a search. */
static void children(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;

    hf_zk_take_search_list(zk, req, reply);
    hf_zk_request_answered(zk, req);
}

void hf_zk_search_with(struct hf_zk *zk, struct hf_zk_request *req,
                       hf_zk_answered *answered)
{
    hf_zk_send_sync(&zk->session,
                    hf_zk_request_call(req, hf_zk_request_sync_answered),
                    req->queue->path);
    hf_zk_send_get_children(&zk->session, hf_zk_request_call(req, answered),
                            req->queue->path, false);
}

void hf_zk_search(struct hf_zk *zk, struct hf_zk_request *req)
{
    hf_zk_search_with(zk, req, children);
}
