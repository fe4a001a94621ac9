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

#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/list_queue.h"
#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/zk_request.h"

static bool is_listed(const struct hf_zk_request *req)
{
    return req->list_error == HF_ZK_OK || req->list_error == HF_ZK_NO_NODE;
}

/* Is there another number of permits than the asker knows of?  kazoo refuses
 * its own then: who goes by a greater one lets too many in. */
static bool size_differs(const struct hf_zk_request *req)
{
    return req->request != NULL && req->permits > 0 &&
           req->request->limit > 0 && req->permits != req->request->limit;
}

static void fail_size(struct hf_zk *zk, struct hf_zk_request *req)
{
    uint32_t permits = req->permits, limit = req->request->limit;
    char path[HF_ZK_QUEUE_PATH_BYTES];

    snprintf(path, sizeof path, "%s", req->queue->path);
    hf_zk_fail(zk, hf_zk_request_end(zk, req), HF_FAILURE_FATAL, HF_EKIND,
               "the semaphore has %" PRIu32 " permits, says its node %.200s, "
               "and not %" PRIu32 "; give all programs there the same number, "
               "or write another one to the node",
               permits, path, limit);
}

static void watch_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    if (size_differs(req)) {
        hf_zk_request_end_cancel(zk, req);
        fail_size(zk, req);
        return;
    }
    if (req->request != NULL && is_listed(req)) {
        hf_zk_list_answer(zk, req);
        return;
    }
    hf_zk_request_end_cancel(zk, req);
    if (req->request == NULL) /* taken back meanwhile */
        hf_zk_request_free(zk, req);
    else
        hf_zk_request_fail(zk, req, req->list_error, "look at",
                           req->queue->path);
}

/* From here on changes are news, though nobody was told of the list. */
static void children_listed(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;

    hf_zk_take_children(zk, req, reply);
    if (req->request != NULL && is_listed(req) && !size_differs(req) &&
        !hf_zk_watches_join_queue(zk, req->request, req->queue,
                                  req->list_error == HF_ZK_OK))
        req->list_error = HF_ZK_MALFORMED; /* out of memory, as for the list */
    hf_zk_request_answered(zk, req);
}

static void size_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK)
        req->permits = hf_zk_permits_read(hf_jute_get_buffer(&body));
    hf_zk_request_answered(zk, req);
}

void hf_zk_watch_queue(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req == NULL)
        return;
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
                            req->queue->path, true);
}
