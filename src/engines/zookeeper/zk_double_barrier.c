/* SPDX-License-Identifier: Apache-2.0 */
/* Reading participants and the barrier node, and the transactions that begin
 * and clear a generation.  The first participant that sees enough others
 * creates the barrier node; a check of all of them in the same transaction
 * makes that safe. */
#include "engines/zookeeper/zk_double_barrier.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/queue_snapshot.h"

/* .czxid of a participant whose node was gone when it was read. */
#define GONE (-1)

/* The path of the barrier node. */
static const char *ready_path(struct hf_zk *zk, const struct hf_zk_request *req)
{
    return hf_zk_child_path(zk, req->queue, HF_ZK_READY);
}

/* ---------------------------------------------------------------- tokens -- */

/* The Stat of the barrier node. */
static void ready_read(void *user, struct hf_zk_call *call,
                       const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_zk_listing *listing = hf_zk_request_listing(req);
    struct hf_jute_reader body = reply->body;

    listing->ready = 0;
    if (reply->error == HF_ZK_OK)
        listing->ready = hf_zk_get_stat(&body).czxid;
    else if (reply->error != HF_ZK_NO_NODE)
        req->error = reply->error;
    hf_zk_request_answered(zk, req);
}

/* The Stat of one participant's node. */
static void participant_read(void *user, struct hf_zk_call *call,
                             const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_queue *queue = req->queue;
    size_t index = hf_zk_queue_index(zk, queue, &req->ids[call - req->calls]);

    if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE)
        req->error = reply->error;
    else if (index < queue->count)
        queue->children[index].czxid =
            reply->error == HF_ZK_OK ? hf_zk_get_stat(&body).czxid : GONE;
    hf_zk_request_answered(zk, req);
}

/* Read as many participants whose czxid is unknown as one step has calls for.
 */
static void ask_about_participants(struct hf_zk *zk, struct hf_zk_request *req)
{
    const struct hf_zk_queue *queue = req->queue;

    for (size_t i = 0;
         i < queue->count && req->call_count < HF_ZK_REQUEST_CALLS; i++) {
        const struct hf_zk_child *child = &queue->children[i];

        if (child->node.kind != HF_TICKET_PARTICIPANT || child->czxid != 0)
            continue;
        req->ids[req->call_count] = child->node.id;
        hf_zk_send_exists(&zk->session,
                          hf_zk_request_call(req, participant_read),
                          hf_zk_child_path(zk, queue, child->name));
    }
}

/* Called again with the same ${then} until every participant's czxid is known.
 */
bool hf_zk_participants_ask(struct hf_zk *zk, struct hf_zk_request *req,
                            void (*then)(struct hf_zk *zk,
                                         struct hf_zk_request *req))
{
    if (req->request->ticket_kind != HF_TICKET_PARTICIPANT)
        return false;
    hf_zk_request_step(req, then);
    if (!hf_zk_session_usable(&zk->session))
        return false;
    if (hf_zk_request_listing(req)->ready == HF_ZK_READY_UNREAD)
        hf_zk_send_exists(&zk->session, hf_zk_request_call(req, ready_read),
                          ready_path(zk, req));
    ask_about_participants(zk, req);
    return req->pending > 0;
}

/* -------------------------------------------------------------- snapshot -- */

/* Append one ticket to the snapshot. */
static void put_ticket(struct hf_zk *zk, struct hf_snapshot *snapshot,
                       enum hf_ticket_kind kind, const struct hf_ticket_id *id,
                       int64_t czxid)
{
    zk->queues.snapshot[snapshot->count++] =
        (struct hf_ticket){.id = *id,
                           .sequence = (uint64_t)czxid,
                           .token = (uint64_t)czxid + zk->config.token_floor,
                           .kind = kind,
                           .weight = 1,
                           .payload = ""};
}

/* A participant whose node was gone when it was read is left out. */
bool hf_zk_participants_snapshot(struct hf_zk *zk, struct hf_zk_request *req,
                                 struct hf_snapshot *snapshot)
{
    static const struct hf_ticket_id no_id;
    int64_t ready = hf_zk_request_listing(req)->ready;
    const struct hf_zk_queue *queue = req->queue;

    if (!hf_zk_snapshot_room(zk, queue->count + 1))
        return false;
    *snapshot = (struct hf_snapshot){zk->queues.snapshot, 0, 0};
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_PARTICIPANT && child->czxid > 0)
            put_ticket(zk, snapshot, child->node.kind, &child->node.id,
                       child->czxid);
    }
    if (ready > 0)
        put_ticket(zk, snapshot, HF_TICKET_READY, &no_id, ready);
    qsort(zk->queues.snapshot, snapshot->count, sizeof *zk->queues.snapshot,
          hf_ticket_compare);
    return true;
}

/* -------------------------------------------------------- new generation -- */

/* Answer the request. */
static void answer(struct hf_zk *zk, struct hf_zk_request *req, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_request_end(zk, req);
    hf_zk_notify(zk, &event);
}

/* The transaction is answered, or was not sent.  If it failed, a participant
 * has come or gone, or another one has created the node. */
static void set_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    if (req->error == HF_ZK_OK)
        answer(zk, req, hf_zk_request_listing(req)->ready > 0);
    else
        hf_zk_request_fail(zk, req, req->error, "set the generation of",
                           req->queue->path);
}

/* The answer to the transaction. */
static void set_answered(void *user, struct hf_zk_call *call,
                         const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_jute_piece path;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, &path, 1);
    if (req->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    hf_zk_request_answered(zk, req);
}

/* Write the checks: the asking participant and as many others as the request
 * says must exist. */
static void check_participants(struct hf_zk *zk, struct hf_zk_request *req,
                               size_t own_index)
{
    const struct hf_zk_queue *queue = req->queue;
    uint32_t left = req->request->limit - 1;

    hf_zk_multi_check(
        &zk->session,
        hf_zk_child_path(zk, queue, queue->children[own_index].name));
    for (size_t i = 0; i < queue->count && left > 0; i++) {
        if (i == own_index ||
            queue->children[i].node.kind != HF_TICKET_PARTICIPANT)
            continue;
        hf_zk_multi_check(&zk->session,
                          hf_zk_child_path(zk, queue, queue->children[i].name));
        left--;
    }
}

/* Send the transaction that creates the barrier node, or creates it again. */
static void send_set(struct hf_zk *zk, struct hf_zk_request *req,
                     size_t own_index)
{
    struct hf_zk_call *call;
    size_t begin;

    hf_zk_request_step(req, set_done);
    call = hf_zk_request_call(req, set_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    check_participants(zk, req, own_index);
    if (hf_zk_request_listing(req)->ready > 0)
        hf_zk_multi_delete(&zk->session, ready_path(zk, req),
                           HF_ZK_ANY_VERSION);
    hf_zk_multi_create(&zk->session, ready_path(zk, req), "", HF_ZK_PERSISTENT);
    hf_zk_multi_end(&zk->session, begin);
}

/* How many participants are in the last list. */
static size_t count_participants(const struct hf_zk_queue *queue)
{
    size_t count = 0;

    for (size_t i = 0; i < queue->count; i++)
        count += queue->children[i].node.kind == HF_TICKET_PARTICIPANT;
    return count;
}

/* The queue is listed and the barrier node read: send the transaction if there
 * are enough participants. */
static void participants_listed(struct hf_zk *zk, struct hf_zk_request *req)
{
    const struct hf_ticket_id *id = &req->request->ticket;
    size_t own_index = hf_zk_queue_index(zk, req->queue, id);

    if (req->error == HF_ZK_OK && req->list_error != HF_ZK_OK)
        req->error = req->list_error;
    if (req->error != HF_ZK_OK)
        set_done(zk, req);
    else if (!hf_zk_session_usable(&zk->session))
        hf_zk_request_fail(zk, req, HF_ZK_DISCONNECTED, "set the generation of",
                           req->queue->path);
    else if (own_index == req->queue->count ||
             count_participants(req->queue) < req->request->limit)
        hf_zk_request_fail(zk, req, HF_ZK_NO_NODE, "set the generation of",
                           req->queue->path);
    else
        send_set(zk, req, own_index);
}

/* NEW_GENERATION: our participant has counted enough others, so the barrier is
 * to open for all of them.  The ready node must be set while that many are
 * there, so this lists the participants and reads the ready node first; a
 * transaction that checks both sets it (send_set()). */
void hf_zk_new_generation(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req == NULL)
        return;
    assert(request->limit > 0 && request->limit <= HF_PARTICIPANTS_MAX);
    hf_zk_request_enter(req, HF_ZK_LISTING);
    hf_zk_request_step(req, participants_listed);
    req->error = HF_ZK_OK;
    hf_zk_list_children(zk, req);
    hf_zk_send_exists(&zk->session, hf_zk_request_call(req, ready_read),
                      ready_path(zk, req));
}

/* -------------------------------------------------- clear the generation -- */

/* The transaction is answered.  It is not carried out if a participant is
 * there, or if there is nothing to delete. */
static void clear_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    if (req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE ||
        req->error == HF_ZK_NOT_EMPTY)
        answer(zk, req, req->error == HF_ZK_OK);
    else
        hf_zk_request_fail(zk, req, req->error, "clear the generation of",
                           req->queue->path);
}

/* The answer to the transaction. */
static void clear_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, NULL, 0);
    if (req->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    hf_zk_request_answered(zk, req);
}

/* Delete the barrier node and its parent in one transaction, which fails while
 * a participant is there. */
void hf_zk_clear_generation(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);
    struct hf_zk_call *call;
    size_t begin;

    if (req == NULL)
        return;
    hf_zk_request_step(req, clear_done);
    call = hf_zk_request_call(req, clear_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    hf_zk_multi_delete(&zk->session, ready_path(zk, req), HF_ZK_ANY_VERSION);
    hf_zk_multi_delete(&zk->session, req->queue->path, HF_ZK_ANY_VERSION);
    hf_zk_multi_end(&zk->session, begin);
}
