/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that watch: HF_REQUEST_WATCH for a ticket, and
 * HF_REQUEST_WATCH_QUEUE for a queue; for a barrier it is in barrier_flag.c.
 * Their watches are in zk_watches.h. */
#include <inttypes.h>
#include <stdio.h>

#include "engines/zookeeper/answer_list.h"
#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* ---------------------------------------------------------------- ticket -- */

/* HF_REQUEST_WATCH: find the nodes of a ticket and watch them.
 *
 * The core knows the ticket from the last list, or from its own create.  If
 * the ticket is in neither, it is searched for first, because its absence when
 * the queue was last searched does not mean that it is gone. */

/* Report HF_EVENT_GONE. */
static void answer_gone(struct hf_zk_engine *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = request;
    hf_zk_engine_notify(zk, &event);
}

/* Is ${kind} the kind that the request watches?  Names distinguish read
 * tickets from all others, but do not always distinguish the others. */
static bool is_same_kind(enum hf_ticket_kind kind,
                         const struct hf_request *watch)
{
    return (kind == HF_TICKET_READ) == (watch->ticket_kind == HF_TICKET_READ);
}

/* If the last list has the ticket, watch it, or report GONE if it has another
 * kind by now; true, also if the request has failed.  A lease is a node for
 * each permit.  False: the list does not have it. */
static bool watch_listed(struct hf_zk_engine *zk, struct hf_request *request,
                         const struct hf_zk_engine_queue *queue)
{
    const struct hf_zk_engine_child *children = queue->children;
    size_t first = hf_zk_engine_queue_index(zk, queue, &request->ticket);
    uint32_t nodes = 0;

    /* A child that was seen to go has no index, but the array may still have
     * it: then the read of its node shows that it is gone. */
    if (first == queue->count)
        first = 0;
    for (size_t i = first; i < queue->count && nodes < HF_WEIGHT_MAX; i++) {
        if (!hf_ticket_id_equal(&children[i].node.id, &request->ticket))
            continue;
        if (nodes == 0 && !is_same_kind(children[i].node.kind, request)) {
            answer_gone(zk, request);
            return true;
        }
        if (!hf_zk_engine_watches_join(
                zk, request,
                hf_zk_engine_child_path(zk, queue, children[i].name)))
            return true; /* the request has been failed */
        nodes++;
        if (children[i].node.kind != HF_TICKET_LEASE)
            break;
    }
    if (nodes > 0)
        hf_zk_engine_watches_start(zk, request);
    return nodes > 0;
}

/* Watch all nodes of a ticket of ours. */
static void watch_own(struct hf_zk_engine *zk, struct hf_request *request,
                      const struct hf_zk_engine_own_ticket *own_ticket)
{
    for (uint32_t i = 0; i < own_ticket->weight; i++) {
        if (!hf_zk_engine_watches_join(
                zk, request, hf_zk_engine_own_ticket_path(zk, own_ticket, i)))
            return;
    }
    hf_zk_engine_watches_start(zk, request);
}

/* The search for the ticket is done: watch it, or report GONE. */
static void ticket_searched(struct hf_zk_engine *zk,
                            struct hf_zk_engine_request *req)
{
    struct hf_request *request = req->request;

    if (hf_zk_engine_request_was_cancelled(zk, req))
        return;
    hf_zk_engine_request_end_cancel(zk, req);
    if (req->list_error != HF_ZK_OK && req->list_error != HF_ZK_NO_NODE)
        hf_zk_engine_request_fail(zk, req, req->list_error, "list",
                                  req->queue->path);
    else if (!hf_zk_session_usable(&zk->session)) /* closing, or disconnected */
        hf_zk_engine_request_fail(zk, req, HF_ZK_DISCONNECTED, "watch in",
                                  req->queue->path);
    else if (req->list_error == HF_ZK_OK &&
             watch_listed(zk, request, req->queue))
        hf_zk_engine_request_free(zk, req);
    else
        answer_gone(zk, hf_zk_engine_request_end(zk, req));
}

/* List the queue behind a sync to find the ticket. */
static void search(struct hf_zk_engine *zk, struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req == NULL)
        return;
    hf_zk_engine_request_allow_cancel(zk, req);
    hf_zk_engine_request_step(req, ticket_searched);
    hf_zk_engine_find_ticket(zk, req);
}

/* Look for the ticket among our own, then in the last list, then by a search.
 */
void hf_zk_engine_watch_ticket(struct hf_zk_engine *zk,
                               struct hf_request *request)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &request->ticket);
    const struct hf_zk_engine_queue *queue =
        hf_zk_engine_queue_find(zk, request->queue);

    /* While it is being downgraded, only a list shows which of its two names
     * it has. */
    if (own_ticket != NULL && own_ticket->downgrading)
        own_ticket = NULL;
    if (own_ticket != NULL && !is_same_kind(own_ticket->kind, request))
        answer_gone(zk, request);
    else if (own_ticket != NULL)
        watch_own(zk, request, own_ticket);
    else if (queue == NULL || !watch_listed(zk, request, queue))
        search(zk, request);
}

/* ----------------------------------------------------------------- queue -- */

/* HF_REQUEST_WATCH_QUEUE: the queue as it is now, and one notification when it
 * changes.
 *
 * The getChildren that lists the queue also sets the watch, so no change is
 * missed in between.  If the queue has no node, a watch for the creation of the
 * node is set after the list.  The list needs no sync, because the client asks
 * after it has seen something that this server has shown, or a server that this
 * one is not behind.  Only a participant that leaves a double barrier needs a
 * sync, because what it has seen may come from another session. */

/* Did the list succeed?  A queue without a node counts as empty. */
static bool is_listed(const struct hf_zk_engine_request *req)
{
    return req->list_error == HF_ZK_OK || req->list_error == HF_ZK_NO_NODE;
}

/* Does the semaphore's node have another number of permits than the request?
 * kazoo refuses that too, because a client that uses a greater number lets too
 * many in. */
static bool size_differs(struct hf_zk_engine_request *req)
{
    uint32_t permits = hf_zk_engine_request_listing(req)->permits;

    return permits > 0 && req->request->limit > 0 &&
           permits != req->request->limit;
}

/* Fail with a text that has both numbers of permits. */
static void fail_size(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    uint32_t permits = hf_zk_engine_request_listing(req)->permits;
    uint32_t limit = req->request->limit;
    char path[HF_ZK_QUEUE_PATH_BYTES];

    snprintf(path, sizeof path, "%s", req->queue->path);
    hf_zk_engine_fail(
        zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_FATAL, HF_EKIND,
        "the semaphore has %" PRIu32 " permits, says its node %.200s, "
        "and not %" PRIu32 "; give all programs there the same number, "
        "or write another one to the node",
        permits, path, limit);
}

/* All calls are answered: complete the list, which can still be cancelled, or
 * fail. */
static void watch_done(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req)
{
    if (hf_zk_engine_request_was_cancelled(zk, req))
        return;
    if (!size_differs(req) && is_listed(req)) {
        hf_zk_engine_find_and_answer(zk, req);
        return;
    }
    hf_zk_engine_request_end_cancel(zk, req);
    if (size_differs(req))
        fail_size(zk, req);
    else
        hf_zk_engine_request_fail(zk, req, req->list_error, "look at",
                                  req->queue->path);
}

/* Make the request wait for a change of its queue, which was just read.  False
 * for lack of memory. */
static bool join(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                 struct hf_zk_engine_watch *watch)
{
    if (req->list_error == HF_ZK_NO_NODE)
        return hf_zk_engine_watches_join_missing(zk, req->queue, req->request);
    return hf_zk_engine_watches_join_queue(watch, req->request);
}

/* The answer to getChildren.  The watch is set now, if the node is there, so
 * the request joins it; a change from here on is reported after the list. */
static void children_listed(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_listing *listing = hf_zk_engine_request_listing(req);
    struct hf_zk_engine_watch *watch = listing->watch;

    listing->watch = NULL;
    hf_zk_engine_take_synced_list(zk, req, reply);
    if (req->request != NULL && is_listed(req) && !size_differs(req) &&
        !join(zk, req, watch))
        req->list_error = HF_ZK_OUT_OF_MEMORY;
    hf_zk_engine_watches_read(zk, watch, reply->error == HF_ZK_OK);
    hf_zk_engine_request_answered(zk, req);
}

/* The data of a semaphore's node in kazoo's layout. */
static void size_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK)
        hf_zk_engine_request_listing(req)->permits =
            hf_zk_engine_permits_parse(hf_jute_get_buffer(&body));
    hf_zk_engine_request_answered(zk, req);
}

/* The calls of the one step: a sync if needed, the size of a semaphore, and
 * the list that sets the watch. */
void hf_zk_engine_watch_queue(struct hf_zk_engine *zk,
                              struct hf_request *request)
{
    struct hf_zk_engine_request *req =
        hf_zk_engine_watches_begin(zk, request, watch_done);

    if (req == NULL)
        return;
    if (request->ticket_kind == HF_TICKET_PARTICIPANT)
        hf_zk_send_sync(
            &zk->session,
            hf_zk_engine_request_call(req, hf_zk_engine_request_sync_answered),
            req->queue->path);
    if (req->queue->permits)
        hf_zk_send_get_data(&zk->session,
                            hf_zk_engine_request_call(req, size_read),
                            req->queue->path, false);
    hf_zk_send_get_children(&zk->session,
                            hf_zk_engine_request_call(req, children_listed),
                            req->queue->path,
                            hf_zk_engine_watches_flag(
                                zk, hf_zk_engine_request_listing(req)->watch));
}
