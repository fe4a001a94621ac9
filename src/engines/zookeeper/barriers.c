/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of barriers.
 *
 * HF_REQUEST_SET_FLAG, HF_REQUEST_CLEAR_FLAG and HF_REQUEST_WATCH_QUEUE for a
 * barrier: its flag is a persistent node with the barrier's name, as in
 * Curator's DistributedBarrier.  The barrier is set while the node exists.
 *
 * A client that waits may know from others that the barrier is set.
 * So a wait reads behind a transaction that changes nothing, and sees all that
 * was committed before it.  A sync would not do: a leader that was deposed and
 * has not noticed it answers it, and so does one that has not yet carried out
 * what its followers have (matchSyncs in ZooKeeper's CommitProcessor.java).
 *
 * A node with children is no barrier but the parent of tickets or of other
 * barriers, and cannot be deleted.
 *
 * A double barrier is laid out as barriers.h says.  Its participants and its
 * barrier node are read, and transactions begin and clear a generation.  The
 * first participant that sees enough others creates the barrier node; a check
 * of all of them in the same transaction makes that safe.
 */
#include "engines/zookeeper/barriers.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/parent_nodes.h"
#include "engines/zookeeper/queue_list.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* Fail because the node is the parent of other nodes. */
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

/* Answer that the flag is set or cleared.  ${found}: it existed before. */
static void answer(struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
                   bool found)
{
    struct hf_event event = {.kind = HF_EVENT_FLAG_UPDATED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

/* ---------------------------------------------------------- set the flag -- */

static void create_node(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req);

/* The Stat that is read together with the create: a node that existed and has
 * children is NOT_EMPTY. */
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
        answer(zk, req, req->error == HF_ZK_NODE_EXISTS);
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
                      path);
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
        answer(zk, req, req->error == HF_ZK_OK);
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
    hf_zk_engine_request_end_cancel(zk, req);
    if (req->request == NULL) /* cancelled meanwhile */
        hf_zk_engine_request_free(zk, req);
    else if (req->error == HF_ZK_NOT_EMPTY)
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

/* The transaction is committed, whatever became of its check, which needs the
 * right to read the node. */
static void committed(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine_request *req = call->owner;

    req->sync_error = reply->error;
    hf_zk_engine_request_answered(user, req);
}

/* Send a transaction that changes nothing. */
static void commit_nothing(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    const char *chroot = zk->config.url.chroot;
    size_t begin = hf_zk_call_begin(
        &zk->session, hf_zk_engine_request_call(req, committed), HF_ZK_MULTI);

    hf_zk_multi_check(&zk->session, chroot[0] != '\0' ? chroot : "/");
    hf_zk_multi_end(&zk->session, begin);
}

/* The transaction and the read that sets the watch are sent together. */
void hf_zk_engine_watch_barrier(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);
    struct hf_zk_engine_watch *watch;

    if (req == NULL)
        return;
    hf_zk_engine_request_enter(req, HF_ZK_LISTING);
    watch = hf_zk_engine_watches_ask_queue(zk, request, req->queue);
    hf_zk_engine_request_listing(req)->watch = watch;
    if (watch == NULL) {
        hf_zk_engine_request_fail(zk, req, HF_ZK_OUT_OF_MEMORY, "look at",
                                  req->queue->path);
        return;
    }
    hf_zk_engine_request_allow_cancel(zk, req);
    hf_zk_engine_request_step(req, flag_watched);
    commit_nothing(zk, req);
    hf_zk_send_get_data(&zk->session, hf_zk_engine_request_call(req, node_read),
                        req->queue->path, hf_zk_engine_watches_flag(zk, watch));
}

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

/* Read as many participants whose czxid is unknown as one step has calls for.
 */
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
        hf_zk_send_exists(&zk->session,
                          hf_zk_engine_request_call(req, participant_read),
                          hf_zk_engine_child_path(zk, queue, child->name));
    }
}

/* Called again with the same ${then} until every participant's czxid is known.
 */
bool hf_zk_engine_participants_ask(
    struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req))
{
    if (req->request->ticket_kind != HF_TICKET_PARTICIPANT)
        return false;
    hf_zk_engine_request_step(req, then);
    if (!hf_zk_session_usable(&zk->session))
        return false;
    if (hf_zk_engine_request_listing(req)->ready == HF_ZK_READY_UNREAD)
        hf_zk_send_exists(&zk->session,
                          hf_zk_engine_request_call(req, ready_read),
                          ready_path(zk, req));
    ask_about_participants(zk, req);
    return req->pending > 0;
}

/* -------------------------------------------------------- new generation -- */

/* The transaction is answered, or was not sent.  If it failed, a participant
 * has come or gone, or another one has created the node. */
static void generation_set(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_OK)
        answer(zk, req, hf_zk_engine_request_listing(req)->ready > 0);
    else
        hf_zk_engine_request_fail(zk, req, req->error, "set the generation of",
                                  req->queue->path);
}

/* The answer to the transaction. */
static void generation_set_answered(void *user, struct hf_zk_call *call,
                                    const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_piece path;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, &path, 1);
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
    call = hf_zk_engine_request_call(req, generation_set_answered);
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
 * to open for all of them.  The ready node must be set while that many are
 * there, so this lists the participants and reads the ready node first; a
 * transaction that checks both sets it (send_generation()). */
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
                      ready_path(zk, req));
}

/* -------------------------------------------------- clear the generation -- */

/* The transaction is answered.  It is not carried out if a participant is
 * there, or if there is nothing to delete. */
static void generation_cleared(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_OK || req->error == HF_ZK_NO_NODE ||
        req->error == HF_ZK_NOT_EMPTY)
        answer(zk, req, req->error == HF_ZK_OK);
    else
        hf_zk_engine_request_fail(zk, req, req->error,
                                  "clear the generation of", req->queue->path);
}

/* The answer to the transaction. */
static void clear_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, NULL, 0);
    if (req->error == HF_ZK_OK)
        hf_zk_call_committed(&zk->session, call);
    hf_zk_engine_request_answered(zk, req);
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
    call = hf_zk_engine_request_call(req, clear_answered);
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    hf_zk_multi_delete(&zk->session, ready_path(zk, req), HF_ZK_ANY_VERSION);
    hf_zk_multi_delete(&zk->session, req->queue->path, HF_ZK_ANY_VERSION);
    hf_zk_multi_end(&zk->session, begin);
}
