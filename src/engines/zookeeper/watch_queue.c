/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_WATCH_QUEUE: the queue as it is now, and one notification when it
 * changes.
 *
 * The getChildren that lists the queue also sets the watch, so no change is
 * missed in between.  It needs no sync, because this server, or one that has
 * seen as much, has shown the client what makes it ask.  Only a participant
 * that leaves a double barrier needs one, because what it has seen may come
 * from another session. */
#include <inttypes.h>
#include <stdio.h>

#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/list_queue.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/zk_request.h"

/* Did the list succeed?  A queue without a node counts as empty. */
static bool is_listed(const struct hf_zk_request *req)
{
    return req->list_error == HF_ZK_OK || req->list_error == HF_ZK_NO_NODE;
}

/* Does the semaphore's node say another number of permits than the request?
 * kazoo refuses that too, because a client that uses a greater number lets too
 * many in. */
static bool size_differs(struct hf_zk_request *req)
{
    uint32_t permits = hf_zk_request_listing(req)->permits;

    return req->request != NULL && permits > 0 && req->request->limit > 0 &&
           permits != req->request->limit;
}

/* Fail with a text that has both numbers of permits. */
static void fail_size(struct hf_zk *zk, struct hf_zk_request *req)
{
    uint32_t permits = hf_zk_request_listing(req)->permits;
    uint32_t limit = req->request->limit;
    char path[HF_ZK_QUEUE_PATH_BYTES];

    snprintf(path, sizeof path, "%s", req->queue->path);
    hf_zk_fail(zk, hf_zk_request_end(zk, req), HF_FAILURE_FATAL, HF_EKIND,
               "the semaphore has %" PRIu32 " permits, says its node %.200s, "
               "and not %" PRIu32 "; give all programs there the same number, "
               "or write another one to the node",
               permits, path, limit);
}

/* All calls are answered: complete the list, or fail, or drop a cancelled
 * request. */
static void watch_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    if (size_differs(req)) {
        hf_zk_request_end_cancel(zk, req);
        fail_size(zk, req);
        return;
    }
    if (req->request != NULL && is_listed(req)) {
        hf_zk_answer_list(zk, req);
        return;
    }
    hf_zk_request_end_cancel(zk, req);
    if (req->request == NULL) /* cancelled meanwhile */
        hf_zk_request_free(zk, req);
    else
        hf_zk_request_fail(zk, req, req->list_error, "look at",
                           req->queue->path);
}

/* The answer to getChildren.  The watch is set now, if the node is there, so
 * the request joins it; a change from here on is reported after the list. */
static void children_listed(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_zk_listing *listing = hf_zk_request_listing(req);
    struct hf_zk_watch *watch = listing->watch;

    listing->watch = NULL;
    hf_zk_take_search_list(zk, req, reply);
    if (req->request != NULL && is_listed(req) && !size_differs(req) &&
        !hf_zk_watches_join_queue(watch, req->request))
        req->list_error = HF_ZK_OUT_OF_MEMORY;
    hf_zk_watches_read(zk, watch, reply->error == HF_ZK_OK);
    hf_zk_request_answered(zk, req);
}

/* The data of a semaphore's node in kazoo's layout. */
static void size_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK)
        hf_zk_request_listing(req)->permits =
            hf_zk_permits_parse(hf_jute_get_buffer(&body));
    hf_zk_request_answered(zk, req);
}

/* The calls of the one step: a sync if needed, the size of a semaphore, and
 * the list that sets the watch. */
void hf_zk_watch_queue(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);
    struct hf_zk_watch *watch;

    if (req == NULL)
        return;
    hf_zk_request_enter(req, HF_ZK_LISTING);
    watch = hf_zk_watches_ask_queue(zk, request, req->queue);
    hf_zk_request_listing(req)->watch = watch;
    if (watch == NULL) {
        hf_zk_request_fail(zk, req, HF_ZK_OUT_OF_MEMORY, "look at",
                           req->queue->path);
        return;
    }
    hf_zk_request_allow_cancel(zk, req);
    hf_zk_request_step(req, watch_done);
    if (request->ticket_kind == HF_TICKET_PARTICIPANT)
        hf_zk_send_sync(&zk->session,
                        hf_zk_request_call(req, hf_zk_request_sync_answered),
                        req->queue->path);
    if (req->queue->permits)
        hf_zk_send_get_data(&zk->session, hf_zk_request_call(req, size_read),
                            req->queue->path, false);
    hf_zk_send_get_children(&zk->session,
                            hf_zk_request_call(req, children_listed),
                            req->queue->path, hf_zk_watches_flag(zk, watch));
}
