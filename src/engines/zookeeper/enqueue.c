/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_ENQUEUE: a create and a list of the queue, sent together.  A
 * server carries out a session's requests in order, so the list shows the queue
 * as it is just after the create, and an uncontended acquire takes one round
 * trip.  A lease of n permits is a multi of n creates.  The first ticket of a
 * session below a parent is a multi, too, which tries whether tickets can be
 * deleted there: see parent_nodes.h.
 *
 * The list counts only if the create succeeded and our own name is in it.  If
 * our name is missing, somebody has removed the ticket already.
 *
 * Permits in kazoo's layout are always created by a multi, together with a
 * check of our ticket in the entry mutex: see node_name.h.
 */
#include <assert.h>
#include <string.h>

#include "engines/zookeeper/answer_list.h"
#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/parent_nodes.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

static void create_ticket(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req);

/* ---------------------------------------------------------------- ticket -- */

/* The create succeeded: answer from the list, or fail if the ticket is not in
 * it. */
static void ticket_created(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req,
                           struct hf_zk_engine_own_ticket *own_ticket)
{
    size_t index =
        hf_zk_engine_queue_index_of(req->queue, own_ticket, &own_ticket->id);
    bool there = req->list_error == HF_ZK_OK && index < req->queue->count;

    if (there) {
        hf_zk_engine_answer_list(zk, req, own_ticket, index);
    } else if (req->list_error == HF_ZK_OK ||
               req->list_error == HF_ZK_NO_NODE) {
        hf_zk_engine_own_ticket_free(zk, own_ticket);
        hf_zk_engine_fail(
            zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_RETRY,
            HF_EPROTOCOL,
            "the ticket was gone as soon as it was in the queue; see "
            "who removes tickets there");
    } else {
        /* The ticket is in the queue, but the queue could not be listed, so
         * the core has to ask again. */
        hf_zk_engine_request_fail(zk, req, req->list_error, "list",
                                  req->queue->path);
    }
}

/* Fail because this session may create nodes below the parent but may not
 * delete them.  No ticket was created. */
static void fail_no_delete(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    hf_zk_engine_fail(
        zk, req->request, HF_FAILURE_FATAL, HF_EDENIED,
        "this user may create tickets below %s and may not delete them, "
        "so no release would be possible; expected the permissions c, d "
        "and r in that node: see its access list (holdfast zk acl get) "
        "and mend it (holdfast zk acl set), or %s",
        req->queue->path,
        zk->config.url.session.auth[0] == '\0'
            ? "give us credentials: we have none"
            : "use those of another user");
    hf_zk_engine_request_free(zk, req);
}

/* Fail because our ticket in the entry mutex is gone: another client may hold
 * that lock and add permits by now.  No permit was created. */
static void fail_no_entry_mutex(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req)
{
    hf_zk_engine_fail(
        zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_RETRY, HF_EPROTOCOL,
        "the ticket in the lock in front of the semaphore was gone before "
        "there was a permit; see who removes tickets there");
}

/* The create and the list are answered. */
static void create_done(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);
    enum hf_zk_engine_refused refused =
        hf_zk_engine_request_creation(req)->refused;

    if (req->error == HF_ZK_OK && own_ticket != NULL) {
        ticket_created(zk, req, own_ticket);
    } else if (refused == HF_ZK_REFUSED_ENTRY_MUTEX) {
        fail_no_entry_mutex(zk, req);
    } else if (refused == HF_ZK_REFUSED_DELETE) {
        fail_no_delete(zk, req);
    } else if (hf_zk_engine_retry_with_parents(zk, req)) {
        hf_zk_engine_delete_right_forget(zk, req->queue->path);
        create_ticket(zk, req);
    } else {
        hf_zk_engine_fail_create(zk, req, "put a ticket below",
                                 req->queue->path);
    }
}

/* Set ${name} and ${node} from the path that the server reports for the
 * created node.  False if it is no node of this ticket. */
static bool read_path(const struct hf_zk_engine_request *req,
                      struct hf_jute_piece path, struct hf_jute_piece *name,
                      struct hf_zk_engine_node *node)
{
    size_t before = strlen(req->queue->path) + 1;

    if (path.count <= before ||
        memcmp(path.bytes, req->queue->path, before - 1) != 0 ||
        path.bytes[before - 1] != '/')
        return false;
    *name = (struct hf_jute_piece){path.bytes + before, path.count - before};
    return hf_zk_engine_queue_parse(req->queue, name->bytes, name->count,
                                    node) &&
           hf_ticket_id_equal(&node->id, &req->request->ticket);
}

/* Remember the ticket under the names that the server gave its ${count} nodes.
 * HF_ZK_MALFORMED if the answer makes no sense. */
static enum hf_zk_error take_names(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req,
                                   const struct hf_jute_piece *paths,
                                   uint32_t count, int64_t czxid)
{
    struct hf_jute_piece first, name;
    struct hf_zk_engine_node node, next;

    if (!read_path(req, paths[0], &first, &node) ||
        hf_zk_engine_own_ticket_find(zk, &node.id) != NULL)
        return HF_ZK_MALFORMED;
    for (uint32_t i = 1; i < count; i++) {
        if (!read_path(req, paths[i], &name, &next) ||
            (uint32_t)next.sequence != (uint32_t)node.sequence + i)
            return HF_ZK_MALFORMED;
    }
    return hf_zk_engine_own_ticket_add(zk, req->queue, &node, first, count,
                                       czxid) != NULL
               ? HF_ZK_OK
               : HF_ZK_OUT_OF_MEMORY;
}

/* The answer to the create of a single node. */
static void ticket_answered(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_reader body = reply->body;
    struct hf_jute_piece path = hf_jute_get_buffer(&body);
    int64_t czxid = hf_zk_get_stat(&body).czxid;

    req->error = reply->error;
    /* If the answer cannot be understood, the node exists nevertheless, so the
     * core must search for it. */
    if (reply->error == HF_ZK_OK)
        req->error = body.failed ? HF_ZK_MALFORMED
                                 : take_names(zk, req, &path, 1, czxid);
    hf_zk_engine_request_answered(zk, req);
}

/* Which operation did the server refuse with ${error}?  ${body} answers the
 * multi. */
static enum hf_zk_engine_refused refused_of(struct hf_zk_engine_request *req,
                                            enum hf_zk_error error,
                                            const struct hf_jute_reader *body)
{
    uint32_t trial = hf_zk_engine_request_creation(req)->trial;
    size_t index;

    if (error != HF_ZK_NO_AUTH && error != HF_ZK_NO_NODE)
        return HF_ZK_REFUSED_CREATE;
    index = hf_zk_multi_failed_index(body);
    if (error == HF_ZK_NO_NODE)
        return index == trial + req->request->weight ? HF_ZK_REFUSED_ENTRY_MUTEX
                                                     : HF_ZK_REFUSED_CREATE;
    return trial > 0 && index == HF_ZK_DELETE_TRIAL_DELETE
               ? HF_ZK_REFUSED_DELETE
               : HF_ZK_REFUSED_CREATE;
}

/* The answer to the multi that creates the nodes of the ticket.  If the multi
 * begins with a trial of the right to delete, its first create is not one of
 * these nodes. */
static void nodes_answered(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_jute_piece paths[1 + HF_WEIGHT_MAX];
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_creation *creation = hf_zk_engine_request_creation(req);
    uint32_t weight = req->request->weight;
    uint32_t others = creation->trial > 0 ? 1 : 0;

    req->error = reply->error;
    if (req->error == HF_ZK_OK) {
        req->error = hf_zk_multi_result(&reply->body, paths, others + weight);
        creation->refused = refused_of(req, req->error, &reply->body);
    }
    if (req->error == HF_ZK_OK) {
        hf_zk_call_committed(&zk->session, call);
        hf_zk_engine_delete_right_note(zk, req->queue->path);
        req->error = reply->zxid <= 0 ? HF_ZK_MALFORMED
                                      : take_names(zk, req, paths + others,
                                                   weight, reply->zxid);
    }
    hf_zk_engine_request_answered(zk, req);
}

/* Begin the multi that creates the nodes of the ticket, and write the trial of
 * the right to delete before them if it is needed (parent_nodes.h).  Returns
 * what hf_zk_multi_end() needs. */
static size_t begin_nodes(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req)
{
    struct hf_zk_call *call = hf_zk_engine_request_call(req, nodes_answered);
    size_t begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);

    if (hf_zk_engine_request_creation(req)->trial > 0)
        hf_zk_engine_multi_try_delete(zk, req->queue, &req->request->ticket);
    return begin;
}

/* Create one node for each permit, all or none. */
static void create_nodes(struct hf_zk_engine *zk,
                         struct hf_zk_engine_request *req,
                         enum hf_zk_create_flags flags)
{
    const struct hf_request *request = req->request;
    const char *name = hf_zk_engine_request_creation(req)->name;
    size_t begin = begin_nodes(zk, req);

    for (uint32_t i = 0; i < request->weight; i++)
        hf_zk_multi_create(&zk->session,
                           hf_zk_engine_child_path(zk, req->queue, name),
                           request->payload, flags);
    hf_zk_multi_end(&zk->session, begin);
}

/* Does ${req} create permits that need their entry mutex? */
static bool needs_entry_mutex(const struct hf_zk_engine_request *req)
{
    static const struct hf_ticket_id none;

    return req->queue->permits &&
           req->request->ticket_kind == HF_TICKET_LEASE &&
           !hf_ticket_id_equal(&req->request->entry_mutex, &none);
}

/* Our ticket in the entry mutex, the lock that protects the permits of ${req};
 * NULL: it is gone.  A ticket that is being removed is returned, too, because
 * only the server knows whether its removal comes first. */
static const struct hf_zk_engine_own_ticket *
find_entry_mutex(const struct hf_zk_engine *zk,
                 const struct hf_zk_engine_request *req)
{
    return hf_zk_engine_own_ticket_find(zk, &req->request->entry_mutex);
}

/* Create the permits of kazoo's layout.  The check of the entry mutex comes
 * last; refused_of() recognises its failure by that index. */
static void create_permits(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    const struct hf_request *request = req->request;
    size_t begin = begin_nodes(zk, req);
    char name[HF_ZK_NODE_BYTES];

    for (uint32_t i = 0; i < request->weight; i++) {
        hf_zk_engine_permit_name(&request->ticket, i, name);
        hf_zk_multi_create(&zk->session,
                           hf_zk_engine_child_path(zk, req->queue, name),
                           request->payload, HF_ZK_EPHEMERAL);
    }
    if (needs_entry_mutex(req))
        hf_zk_multi_check(&zk->session, hf_zk_engine_own_ticket_path(
                                            zk, find_entry_mutex(zk, req), 0));
    hf_zk_multi_end(&zk->session, begin);
}

/* Write the name of the node to create: the prefix of a sequential node, or the
 * whole name of a participant.  False if the layout has no name for this
 * kind. */
static bool format_name(const struct hf_zk_engine *zk,
                        const struct hf_request *request,
                        char prefix[HF_ZK_PREFIX_BYTES])
{
    if (request->ticket_kind != HF_TICKET_PARTICIPANT)
        return hf_zk_engine_node_prefix(zk->config.layout, &request->ticket,
                                        request->ticket_kind, prefix);
    hf_ticket_id_format(&request->ticket, prefix);
    return true;
}

/* Send the create, with missing parents before it and the list after it.  When
 * the step is repeated, the ticket in the entry mutex may be gone. */
static void create_ticket(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req)
{
    const struct hf_request *request = req->request;
    struct hf_zk_engine_creation *creation = hf_zk_engine_request_creation(req);
    enum hf_zk_create_flags flags =
        request->ticket_kind == HF_TICKET_PARTICIPANT
            ? HF_ZK_EPHEMERAL
            : HF_ZK_EPHEMERAL_SEQUENTIAL;

    assert(creation->name[0] != '\0');
    if (needs_entry_mutex(req) && find_entry_mutex(zk, req) == NULL) {
        fail_no_entry_mutex(zk, req);
        return;
    }
    hf_zk_engine_request_step(req, create_done);
    req->attempts++;
    if (!hf_zk_engine_create_parents(zk, req, strlen(req->queue->path)))
        return;
    creation->trial = hf_zk_engine_delete_right_known(zk, req->queue->path)
                          ? 0
                          : HF_ZK_DELETE_TRIAL;
    if (req->queue->permits && request->ticket_kind == HF_TICKET_LEASE)
        create_permits(zk, req);
    else if (request->weight > 1 || creation->trial > 0)
        create_nodes(zk, req, flags);
    else
        hf_zk_send_create(
            &zk->session, hf_zk_engine_request_call(req, ticket_answered),
            HF_ZK_CREATE2,
            hf_zk_engine_child_path(zk, req->queue, creation->name),
            request->payload, flags);
    hf_zk_engine_list_children(zk, req);
}

/* Check the names, then create; an existing ticket is only listed. */
void hf_zk_engine_enqueue(struct hf_zk_engine *zk, struct hf_request *request)
{
    struct hf_zk_engine_request *req;

    /* The core asks again for a ticket that exists. */
    if (hf_zk_engine_own_ticket_find(zk, &request->ticket) != NULL) {
        hf_zk_engine_list_queue(zk, request);
        return;
    }
    assert(request->weight <= HF_WEIGHT_MAX);
    if (hf_zk_engine_name_is_reserved(zk->config.layout, request)) {
        hf_zk_engine_fail_name(zk, request);
        return;
    }
    if ((req = hf_zk_engine_request_new(zk, request)) == NULL)
        return;
    hf_zk_engine_request_enter(req, HF_ZK_CREATING);
    if (format_name(zk, request, hf_zk_engine_request_creation(req)->name))
        create_ticket(zk, req);
    else
        hf_zk_engine_fail(
            zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_FATAL,
            HF_EUNSUPPORTED,
            "layout=%s has no names for readers and writers, nor for "
            "an election, only for a mutex; expected a mutex, or "
            "layout=curator or layout=kazoo",
            hf_zk_engine_layout_name(zk->config.layout));
}
