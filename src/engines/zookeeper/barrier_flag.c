/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flag of a barrier is a persistent node with the barrier's name, as in
 * Curator's DistributedBarrier.  The barrier is set while the node exists.
 * HF_REQUEST_SET_FLAG creates it, HF_REQUEST_CLEAR_FLAG deletes it, and
 * HF_REQUEST_WATCH_QUEUE of a barrier waits for its deletion.
 *
 * A node with children is no barrier but the parent of tickets or of other
 * barriers, and cannot be deleted.
 */
#include <string.h>

#include "engines/zookeeper/parent_nodes.h"
#include "engines/zookeeper/zk_request.h"

/* The node of the barrier is the parent of other nodes. */
static void fail_has_children(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req)
{
    hf_zk_engine_fail(
        zk, req->request, HF_FAILURE_FATAL, HF_EKIND,
        "%s is in use as the parent of other nodes; give the barrier a "
        "name of its own",
        req->queue->path);
    hf_zk_engine_request_free(zk, req);
}

/* ---------------------------------------------------------- set the flag -- */

static void create_node(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req);

/* The answer to the exists that is sent together with the create.  If the node
 * existed before and has children, the error becomes NOT_EMPTY. */
static void stat_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;

    if (req->error == HF_ZK_NODE_EXISTS && reply->error == HF_ZK_OK &&
        hf_zk_get_stat(&body).children > 0 && !body.failed)
        req->error = HF_ZK_NOT_EMPTY;
    hf_zk_engine_request_answered(zk, req);
}

/* The create is answered. */
static void flag_set(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    const char *path = req->queue->path;

    if (req->error == HF_ZK_NOT_EMPTY)
        fail_has_children(zk, req);
    else if (req->error == HF_ZK_OK || req->error == HF_ZK_NODE_EXISTS)
        hf_zk_engine_request_flag_updated(zk, req,
                                          req->error == HF_ZK_NODE_EXISTS);
    else if (hf_zk_engine_retry_with_parents(zk, req))
        create_node(zk, req);
    else
        hf_zk_engine_fail_create(zk, req, "create", path);
}

/* Send the create, with missing parents before it. */
static void create_node(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req)
{
    const char *path = req->queue->path;

    hf_zk_engine_request_step(req, flag_set);
    req->attempts++;
    if (!hf_zk_engine_create_parents(zk, req,
                                     (size_t)(strrchr(path, '/') - path)))
        return;
    hf_zk_send_create(
        &zk->session,
        hf_zk_engine_request_call(req, hf_zk_engine_request_error_answered),
        HF_ZK_CREATE, path, "", HF_ZK_PERSISTENT);
    hf_zk_send_exists(&zk->session, hf_zk_engine_request_call(req, stat_read),
                      path, false);
}

void hf_zk_engine_set_flag(struct hf_zk_engine *zk, struct hf_request *request)
{
    struct hf_zk_engine_request *req;

    if (hf_zk_engine_name_is_reserved(zk->config.layout, request)) {
        hf_zk_engine_fail_name(zk, request);
    } else if ((req = hf_zk_engine_request_new(zk, request)) != NULL) {
        hf_zk_engine_request_enter(req, HF_ZK_CREATING);
        create_node(zk, req);
    }
}

/* -------------------------------------------------------- clear the flag -- */

/* The delete is answered. */
static void flag_cleared(struct hf_zk_engine *zk,
                         struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_NOT_EMPTY)
        fail_has_children(zk, req);
    else if (req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE)
        hf_zk_engine_request_flag_updated(zk, req, req->error == HF_ZK_OK);
    else
        hf_zk_engine_request_fail(zk, req, req->error, "delete",
                                  req->queue->path);
}

/* The server refuses to delete a node with children. */
void hf_zk_engine_clear_flag(struct hf_zk_engine *zk,
                             struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req == NULL)
        return;
    hf_zk_engine_request_step(req, flag_cleared);
    hf_zk_send_delete(
        &zk->session,
        hf_zk_engine_request_call(req, hf_zk_engine_request_error_answered),
        req->queue->path);
}

/* -------------------------------------------------------- watch the flag -- */

/* HF_REQUEST_WATCH_QUEUE for a barrier answers whether its flag is set, and
 * notifies once when that changes.
 *
 * A client may begin to wait because it knows from another client that the
 * barrier is set, and its read must show that.  So the read is sent behind a
 * transaction that changes nothing, and shows everything that was committed
 * before that transaction.  A sync is not enough: a leader that was deposed and
 * has not noticed answers it, too, and so does a leader that has not yet
 * applied what its followers have (matchSyncs in ZooKeeper's
 * CommitProcessor.java). */

/* Answer HF_REQUEST_WATCH_QUEUE with a snapshot that has the flag as its only
 * ticket, or is empty. */
static void answer_flag_watched(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req)
{
    int64_t czxid =
        req->error == HF_ZK_OK ? hf_zk_engine_request_listing(req)->ready : 0;
    const struct hf_ticket node = {.token = (uint64_t)czxid,
                                   .kind = HF_TICKET_BARRIER,
                                   .weight = 1,
                                   .payload = ""};
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    struct hf_zk_engine_queue *queue = req->queue;

    queue->users++; /* keeps the queue beyond the request */
    event.as.answer.snapshot =
        (struct hf_snapshot){&node, req->error == HF_ZK_OK ? 1 : 0, 0};
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_watches_listed(zk, queue, &event);
    hf_zk_engine_queue_release(zk, queue);
}

/* The node has been read, or could not be. */
static void flag_watched(struct hf_zk_engine *zk,
                         struct hf_zk_engine_request *req)
{
    if (hf_zk_engine_request_was_cancelled(zk, req))
        return;
    hf_zk_engine_request_end_cancel(zk, req);
    if (req->error == HF_ZK_NOT_EMPTY)
        fail_has_children(zk, req);
    else if (req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE)
        answer_flag_watched(zk, req);
    else
        hf_zk_engine_request_fail(zk, req, req->error, "look at",
                                  req->queue->path);
}

/* The answer to getData.  The watch is set now, if the node is there, so the
 * request joins it; a change from here on is reported after the answer. */
static void node_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_listing *listing = hf_zk_engine_request_listing(req);
    struct hf_jute_reader body = reply->body;
    struct hf_zk_stat stat = {0};

    req->error = reply->error;
    if (req->error == HF_ZK_OK) {
        (void)hf_jute_get_buffer(&body);
        stat = hf_zk_get_stat(&body);
        listing->ready = stat.czxid;
        if (body.failed)
            req->error = HF_ZK_MALFORMED;
    }
    if (req->sync_error != HF_ZK_OK)
        req->error = req->sync_error;
    if (stat.children > 0)
        req->error = HF_ZK_NOT_EMPTY;
    if (req->request != NULL &&
        (req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE) &&
        !hf_zk_engine_watches_join_queue(listing->watch, req->request))
        req->error = HF_ZK_OUT_OF_MEMORY;
    hf_zk_engine_watches_read(zk, listing->watch, reply->error == HF_ZK_OK);
    hf_zk_engine_request_answered(zk, req);
}

/* Send a transaction that changes nothing: a check of the root.  If the answer
 * has no error, the transaction was committed, even if the check in it was
 * refused for lack of the right to read the root. */
static void commit_nothing(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    struct hf_zk_call *call =
        hf_zk_engine_request_call(req, hf_zk_engine_request_sync_answered);
    size_t begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);

    hf_zk_multi_check(&zk->session, hf_zk_engine_root(zk));
    hf_zk_multi_end(&zk->session, begin);
}

/* The transaction and the read that sets the watch are sent together. */
void hf_zk_engine_watch_barrier(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_request *req =
        hf_zk_engine_watches_begin(zk, request, flag_watched);

    if (req == NULL)
        return;
    commit_nothing(zk, req);
    hf_zk_send_get_data(&zk->session, hf_zk_engine_request_call(req, node_read),
                        req->queue->path,
                        hf_zk_engine_watches_flag(
                            zk, hf_zk_engine_request_listing(req)->watch));
}
