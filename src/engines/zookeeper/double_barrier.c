/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a double barrier, which is laid out as double_barrier.h says.
 * Its participants and its barrier node are read, and transactions begin and
 * clear a generation.  The first participant that sees enough others creates
 * the barrier node; a check of all of them in the same transaction makes that
 * safe.
 */
#include "engines/zookeeper/double_barrier.h"

#include <assert.h>

#include <holdfast/barrier.h>

#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* .czxid of a participant whose node was gone when it was read. */
#define GONE (-1)

/* The path of the barrier node. */
static const char *ready_path(struct hf_zk_engine *zk,
                              const struct hf_zk_engine_request *req)
{
    return hf_zk_engine_child_path(zk, req->queue, HF_ZK_READY);
}

/* ---------------------------------------------------------------- tokens -- */

/* The Stat of the barrier node. */
static void ready_read(void *user, struct hf_zk_call *call,
                       const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_listing *listing = hf_zk_engine_request_listing(req);
    struct hf_jute_reader body = reply->body;

    listing->ready = 0;
    if (reply->error == HF_ZK_OK)
        listing->ready = hf_zk_get_stat(&body).czxid;
    else if (reply->error != HF_ZK_NO_NODE)
        req->error = reply->error;
    hf_zk_engine_request_answered(zk, req);
}

/* The Stat of one participant's node. */
static void participant_read(void *user, struct hf_zk_call *call,
                             const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_engine_queue *queue = req->queue;
    size_t index =
        hf_zk_engine_queue_index(zk, queue, &req->ids[call - req->calls]);

    if (reply->error != HF_ZK_OK && reply->error != HF_ZK_NO_NODE)
        req->error = reply->error;
    else if (index < queue->count)
        queue->children[index].czxid =
            reply->error == HF_ZK_OK ? hf_zk_get_stat(&body).czxid : GONE;
    hf_zk_engine_request_answered(zk, req);
}

/* Read participants whose czxid is unknown, until the calls of the step are
 * used up: each hf_zk_engine_request_call() takes one and counts it in
 * .call_count.  The other participants are left to a later step. */
static void ask_about_participants(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_queue *queue = req->queue;

    for (size_t i = 0;
         i < queue->count && req->call_count < HF_ZK_REQUEST_CALLS; i++) {
        const struct hf_zk_engine_child *child = &queue->children[i];

        if (child->node.kind != HF_TICKET_PARTICIPANT || child->czxid != 0)
            continue;
        req->ids[req->call_count] = child->node.id;
        hf_zk_send_exists(
            &zk->session, hf_zk_engine_request_call(req, participant_read),
            hf_zk_engine_child_path(zk, queue, child->name), false);
    }
}

/* Is the czxid of a participant or of the barrier node unknown? */
static bool has_unread(struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_queue *queue = req->queue;

    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_engine_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_PARTICIPANT && child->czxid == 0)
            return true;
    }
    return hf_zk_engine_request_listing(req)->ready == HF_ZK_READY_UNREAD;
}

bool hf_zk_engine_participants_ask(
    struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req))
{
    assert(req->request->ticket_kind == HF_TICKET_PARTICIPANT);
    if (!has_unread(req))
        return false;
    hf_zk_engine_request_step(req, then);
    if (!hf_zk_session_usable(&zk->session)) {
        req->error = HF_ZK_DISCONNECTED;
        then(zk, req);
        return true;
    }
    if (hf_zk_engine_request_listing(req)->ready == HF_ZK_READY_UNREAD)
        hf_zk_send_exists(&zk->session,
                          hf_zk_engine_request_call(req, ready_read),
                          ready_path(zk, req), false);
    ask_about_participants(zk, req);
    return true;
}

/* -------------------------------------------------------- new generation -- */

/* The transaction is answered, or was not sent because a read failed.  If it
 * was refused, a participant has gone, or another one has created or deleted
 * the node. */
static void generation_set(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_OK)
        hf_zk_engine_request_flag_updated(
            zk, req, hf_zk_engine_request_listing(req)->ready > 0);
    else
        hf_zk_engine_request_fail(zk, req, req->error, "set the generation of",
                                  req->queue->path);
}

/* The answer to the transaction that sets or clears a generation.  Only a
 * transaction that sets a generation creates a node. */
static void generation_answered(void *user, struct hf_zk_call *call,
                                const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    bool sets = req->request->kind == HF_REQUEST_NEW_GENERATION;
    struct hf_jute_piece path;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, &path, sets ? 1 : 0);
    if (req->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    hf_zk_engine_request_answered(zk, req);
}

/* Write the checks: the asking participant and as many others as the request
 * says must exist. */
static void check_participants(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req,
                               size_t own_index)
{
    const struct hf_zk_engine_queue *queue = req->queue;
    uint32_t left = req->request->limit - 1;

    hf_zk_multi_check(
        &zk->session,
        hf_zk_engine_child_path(zk, queue, queue->children[own_index].name));
    for (size_t i = 0; i < queue->count && left > 0; i++) {
        if (i == own_index ||
            queue->children[i].node.kind != HF_TICKET_PARTICIPANT)
            continue;
        hf_zk_multi_check(
            &zk->session,
            hf_zk_engine_child_path(zk, queue, queue->children[i].name));
        left--;
    }
}

/* Send the transaction that creates the barrier node, or creates it again. */
static void send_generation(struct hf_zk_engine *zk,
                            struct hf_zk_engine_request *req, size_t own_index)
{
    struct hf_zk_call *call;
    size_t begin;

    hf_zk_engine_request_step(req, generation_set);
    call = hf_zk_engine_request_call(req, generation_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    check_participants(zk, req, own_index);
    if (hf_zk_engine_request_listing(req)->ready > 0)
        hf_zk_multi_delete(&zk->session, ready_path(zk, req),
                           HF_ZK_ANY_VERSION);
    hf_zk_multi_create(&zk->session, ready_path(zk, req), "", HF_ZK_PERSISTENT);
    hf_zk_multi_end(&zk->session, begin);
}

/* How many participants are in the last list. */
static size_t count_participants(const struct hf_zk_engine_queue *queue)
{
    size_t count = 0;

    for (size_t i = 0; i < queue->count; i++)
        count += queue->children[i].node.kind == HF_TICKET_PARTICIPANT;
    return count;
}

/* The queue is listed and the barrier node read: send the transaction if there
 * are enough participants. */
static void participants_listed(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req)
{
    const struct hf_ticket_id *id = &req->request->ticket;
    size_t own_index = hf_zk_engine_queue_index(zk, req->queue, id);

    if (req->error == HF_ZK_OK && req->list_error != HF_ZK_OK)
        req->error = req->list_error;
    if (req->error != HF_ZK_OK)
        generation_set(zk, req);
    else if (!hf_zk_session_usable(&zk->session))
        hf_zk_engine_request_fail(zk, req, HF_ZK_DISCONNECTED,
                                  "set the generation of", req->queue->path);
    else if (own_index == req->queue->count ||
             count_participants(req->queue) < req->request->limit)
        hf_zk_engine_request_fail(zk, req, HF_ZK_NO_NODE,
                                  "set the generation of", req->queue->path);
    else
        send_generation(zk, req, own_index);
}

/* NEW_GENERATION: our participant has counted enough others, so the barrier is
 * to open for all of them.  The barrier node must be created while that many
 * participants exist.  So this lists the participants and reads the barrier
 * node first.  Then one transaction checks the participants and creates the
 * barrier node (send_generation()). */
void hf_zk_engine_new_generation(struct hf_zk_engine *zk,
                                 struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req == NULL)
        return;
    assert(request->limit > 0 && request->limit <= HF_PARTICIPANTS_MAX);
    hf_zk_engine_request_enter(req, HF_ZK_LISTING);
    hf_zk_engine_request_step(req, participants_listed);
    req->error = HF_ZK_OK;
    hf_zk_engine_list_children(zk, req);
    hf_zk_send_exists(&zk->session, hf_zk_engine_request_call(req, ready_read),
                      ready_path(zk, req), false);
}

/* -------------------------------------------------- clear the generation -- */

/* The transaction is answered.  It is not carried out if a participant is
 * there, or if there is nothing to delete. */
static void generation_cleared(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE ||
        req->error == HF_ZK_NOT_EMPTY)
        hf_zk_engine_request_flag_updated(zk, req, req->error == HF_ZK_OK);
    else
        hf_zk_engine_request_fail(zk, req, req->error,
                                  "clear the generation of", req->queue->path);
}

/* Delete the barrier node and its parent in one transaction, which fails while
 * a participant is there. */
void hf_zk_engine_clear_generation(struct hf_zk_engine *zk,
                                   struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);
    struct hf_zk_call *call;
    size_t begin;

    if (req == NULL)
        return;
    hf_zk_engine_request_step(req, generation_cleared);
    call = hf_zk_engine_request_call(req, generation_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    hf_zk_multi_delete(&zk->session, ready_path(zk, req), HF_ZK_ANY_VERSION);
    hf_zk_multi_delete(&zk->session, req->queue->path, HF_ZK_ANY_VERSION);
    hf_zk_multi_end(&zk->session, begin);
}
