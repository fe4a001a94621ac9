/* SPDX-License-Identifier: Apache-2.0 */
/* struct hf_zk_engine_removal, in zk_request.h, says what is being deleted. */
#include "engines/zookeeper/remove_ticket.h"

#include <assert.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/parent_nodes.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_own_ticket.h"
#include "engines/zookeeper/zk_request.h"

static void search(struct hf_zk_engine *zk, struct hf_zk_engine_request *req);

/* Are several nodes being deleted, in one multi? */
static bool is_several(const struct hf_zk_engine_removal *removal)
{
    return removal->nodes == HF_ZK_REMOVED_OWN_SEVERAL ||
           removal->nodes == HF_ZK_REMOVED_LISTED_SEVERAL;
}

/* The deletes are answered.  Search again if a listed node, or one of several,
 * was not there, or if the transaction that writes who evicts was refused.
 * Otherwise go on with .then. */
static void delete_done(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);
    struct hf_zk_engine_removal *removal = hf_zk_engine_request_removal(req);
    bool gone = req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE;
    bool refused = !gone && removal->eviction == HF_ZK_EVICTION_WRITTEN;

    /* We have no right to write the parent, or somebody else has just written
     * it: delete the ticket without that. */
    if (refused && hf_zk_session_usable(&zk->session)) {
        removal->eviction = HF_ZK_EVICTION_NONE;
        search(zk, req);
        return;
    }
    if (req->error == HF_ZK_NO_NODE &&
        removal->nodes != HF_ZK_REMOVED_NOTHING &&
        removal->nodes != HF_ZK_REMOVED_OWN &&
        req->attempts++ < HF_ZK_ATTEMPTS_MAX &&
        hf_zk_session_usable(&zk->session)) {
        search(zk, req);
        return;
    }
    if (gone && is_several(removal) && req->error == HF_ZK_NO_NODE)
        req->error = HF_ZK_DISCONNECTED; /* somebody else has deleted some
                                            nodes, and perhaps not all */
    else if (gone && own_ticket != NULL)
        hf_zk_engine_own_ticket_free(zk, own_ticket);
    removal->then(zk, req);
}

/* The answer to the delete of a node, or of all nodes. */
static void deleted(void *user, struct hf_zk_call *call,
                    const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    const struct hf_zk_engine_removal *removal =
        hf_zk_engine_request_removal(req);
    enum hf_zk_error error = reply->error;

    if (error == HF_ZK_OK &&
        (is_several(removal) || removal->eviction == HF_ZK_EVICTION_WRITTEN))
        error = hf_zk_multi_result(&reply->body, NULL, 0);
    /* The ticket may have either of two names; it was found if one of them
     * existed. */
    if (error != HF_ZK_NO_NODE &&
        (req->error == HF_ZK_NO_NODE || error != HF_ZK_OK))
        req->error = error;
    if (error == HF_ZK_NO_AUTH)
        hf_zk_engine_delete_right_forget(zk, req->queue->path);
    hf_zk_engine_request_answered(zk, req);
}

/* Delete the nodes of our ticket, whose names we know. */
static void delete_own(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req,
                       struct hf_zk_engine_own_ticket *own_ticket)
{
    char read_name[HF_ZK_NODE_BYTES];

    assert(hf_ticket_id_equal(&own_ticket->id, &req->request->ticket));
    own_ticket->removing = true;
    hf_zk_engine_request_removal(req)->nodes =
        own_ticket->weight > 1 ? HF_ZK_REMOVED_OWN_SEVERAL : HF_ZK_REMOVED_OWN;
    req->error = HF_ZK_NO_NODE;
    hf_zk_engine_request_step(req, delete_done);
    hf_zk_engine_own_ticket_delete(zk, own_ticket,
                                   hf_zk_engine_request_call(req, deleted));
    /* The node may have the read ticket's name by now.  The order matters: a
     * downgrade that is carried out later finds the write node gone and fails.
     */
    if (own_ticket->downgrading) {
        hf_zk_engine_own_ticket_read_name(zk, own_ticket, read_name);
        hf_zk_send_delete(&zk->session, hf_zk_engine_request_call(req, deleted),
                          hf_zk_engine_child_path(zk, req->queue, read_name));
    }
    hf_zk_engine_delete_parent(zk, req, own_ticket->sequence);
}

/* Delete the listed nodes of the ticket of ${req}, from ${index} on, in one
 * multi: at most HF_WEIGHT_MAX, because no ticket of ours has more.  The text
 * that says who evicts the ticket is written first, so that it can be read when
 * the owner's watch fires. */
static void delete_in_multi(struct hf_zk_engine *zk,
                            struct hf_zk_engine_request *req, size_t index)
{
    const struct hf_zk_engine_queue *queue = req->queue;
    const struct hf_ticket_id *id = &req->request->ticket;
    const struct hf_zk_engine_removal *removal =
        hf_zk_engine_request_removal(req);
    char data[HF_ZK_EVICTION_BYTES];
    size_t begin = hf_zk_call_begin(
        &zk->session, hf_zk_engine_request_call(req, deleted), HF_ZK_MULTI);

    if (removal->eviction == HF_ZK_EVICTION_WRITTEN) {
        hf_zk_engine_eviction_format(id, req->request->evicted_by, data);
        hf_zk_multi_set_data(&zk->session, queue->path, data, removal->version);
    }
    for (uint32_t i = 0; index < queue->count && i < HF_WEIGHT_MAX; index++) {
        if (!hf_ticket_id_equal(&queue->children[index].node.id, id))
            continue;
        hf_zk_multi_delete(
            &zk->session,
            hf_zk_engine_child_path(zk, queue, queue->children[index].name),
            HF_ZK_ANY_VERSION);
        i++;
    }
    hf_zk_multi_end(&zk->session, begin);
}

/* Delete the ${nodes} nodes that were listed with the id, from ${index} on. */
static void delete_listed(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req, size_t index,
                          size_t nodes)
{
    const struct hf_zk_engine_queue *queue = req->queue;
    struct hf_zk_engine_removal *removal = hf_zk_engine_request_removal(req);
    int32_t sequence = queue->children[index].node.sequence;

    assert(index < queue->count && nodes > 0);
    removal->nodes =
        nodes > 1 ? HF_ZK_REMOVED_LISTED_SEVERAL : HF_ZK_REMOVED_LISTED;
    removal->partly |= nodes < req->request->weight;
    req->error = HF_ZK_NO_NODE;
    hf_zk_engine_request_step(req, delete_done);
    if (nodes > 1 || removal->eviction == HF_ZK_EVICTION_WRITTEN)
        delete_in_multi(zk, req, index);
    else
        hf_zk_send_delete(
            &zk->session, hf_zk_engine_request_call(req, deleted),
            hf_zk_engine_child_path(zk, queue, queue->children[index].name));
    hf_zk_engine_delete_parent(zk, req, sequence);
}

static void searched(struct hf_zk_engine *zk, struct hf_zk_engine_request *req);

/* The answer to the read of the parent's data. */
static void parent_read(void *user, struct hf_zk_call *call,
                        const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_removal *removal = hf_zk_engine_request_removal(req);
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK &&
        hf_zk_engine_eviction_may_replace(hf_jute_get_buffer(&body)) &&
        !body.failed) {
        removal->version = hf_zk_get_stat(&body).version;
        removal->eviction = HF_ZK_EVICTION_WRITTEN;
    }
    hf_zk_engine_request_answered(zk, req);
}

/* Read the parent's data, to see whether they may be replaced by who evicts the
 * ticket. */
static void read_parent(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req)
{
    hf_zk_engine_request_removal(req)->eviction = HF_ZK_EVICTION_NONE;
    hf_zk_engine_request_step(req, searched);
    hf_zk_send_get_data(&zk->session,
                        hf_zk_engine_request_call(req, parent_read),
                        req->queue->path, false);
}

/* The search is done: delete what it found. */
static void searched(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_removal *removal = hf_zk_engine_request_removal(req);
    struct hf_zk_engine_queue *queue = req->queue;
    size_t index = hf_zk_engine_queue_index(zk, queue, &req->request->ticket);
    bool listed = req->list_error == HF_ZK_OK;

    if (listed && index < queue->count && hf_zk_session_usable(&zk->session)) {
        if (removal->eviction == HF_ZK_EVICTION_UNREAD) {
            read_parent(zk, req);
            return;
        }
        delete_listed(
            zk, req, index,
            hf_zk_engine_children_count_id(queue, &req->request->ticket));
        return;
    }
    removal->nodes = HF_ZK_REMOVED_NOTHING;
    req->error = req->list_error;
    if (listed)
        req->error = index < queue->count ? HF_ZK_DISCONNECTED : HF_ZK_NO_NODE;
    delete_done(zk, req);
}

/* List the queue behind a sync to find the nodes of the ticket. */
static void search(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    hf_zk_engine_request_step(req, searched);
    hf_zk_engine_find_ticket(zk, req);
}

/* A ticket of ours is deleted by the names of its nodes.  Any other ticket is
 * searched for first.  If the request has .evicted_by, a ticket of ours is
 * searched for, too, so that .evicted_by is written to the parent as for any
 * other ticket. */
void hf_zk_engine_delete_ticket(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req,
                                void (*then)(struct hf_zk_engine *zk,
                                             struct hf_zk_engine_request *req))
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);

    struct hf_zk_engine_removal *removal;

    hf_zk_engine_request_enter(req, HF_ZK_REMOVING);
    removal = hf_zk_engine_request_removal(req);
    removal->then = then;
    removal->eviction = req->request->evicted_by != NULL ? HF_ZK_EVICTION_UNREAD
                                                         : HF_ZK_EVICTION_NONE;
    req->attempts = 0;
    if (own_ticket != NULL && removal->eviction == HF_ZK_EVICTION_NONE)
        delete_own(zk, req, own_ticket);
    else
        search(zk, req);
}

/* Answer HF_REQUEST_REMOVE. */
static void ticket_deleted(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_REMOVED};

    if (req->error != HF_ZK_OK && req->error != HF_ZK_NO_NODE) {
        hf_zk_engine_request_fail(zk, req, req->error, "delete a ticket of",
                                  req->queue->path);
        return;
    }
    event.as.answer.found =
        req->error == HF_ZK_OK && !hf_zk_engine_request_removal(req)->partly;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

void hf_zk_engine_remove_ticket(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req != NULL)
        hf_zk_engine_delete_ticket(zk, req, ticket_deleted);
}
