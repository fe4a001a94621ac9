/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that change a ticket in its queue: HF_REQUEST_DOWNGRADE,
 * HF_REQUEST_DESCRIBE and HF_REQUEST_REVOKE. */
#include <assert.h>

#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* ------------------------------------------------------------- downgrade -- */

/*
 * HF_REQUEST_DOWNGRADE: turn a write ticket into a read ticket, in one
 * transaction that creates the read node, with the write node's id and number,
 * and deletes the write node.  To Curator the result is a reader like any
 * other.  No other client ever sees the queue without the ticket.
 *
 * If a transaction got no answer, it may have happened, or may still happen,
 * until a list shows one of the two nodes.  It can happen only once, because it
 * needs the write node and creates the read node.  If it is sent again after it
 * has happened, it fails, and a search shows which node exists.
 *
 * A revoke request overwrites the data of the write node, and nothing watches
 * that node meanwhile.  So the transaction deletes the write node only in the
 * version whose data are known.  If these data are a revoke request, they
 * become the data of the read node, and the watch that is set on the read node
 * afterwards reports the request.  If the data have changed in between, the
 * transaction fails, and the data are read before it is sent again.
 */

/* Answer that the ticket is a read ticket now. */
static void answer_downgraded(struct hf_zk_engine *zk,
                              struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_DOWNGRADED};

    event.as.answer.request = request;
    hf_zk_engine_notify(zk, &event);
}

/* Fail because the ticket is no longer in its queue. */
static void fail_gone(struct hf_zk_engine *zk, struct hf_request *request)
{
    hf_zk_engine_fail(zk, request, HF_FAILURE_FATAL, HF_ELOST,
                      "the ticket is not in its queue any more");
}

/* Did the server reject the transaction because of the nodes that exist, or do
 * not? */
static bool is_node_conflict(enum hf_zk_error error)
{
    return error == HF_ZK_NO_NODE || error == HF_ZK_NODE_EXISTS;
}

/* Fail with the server's error. */
static void fail_downgrade(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    hf_zk_engine_request_fail(zk, req, req->error,
                              "turn a write ticket into a read ticket in",
                              req->queue->path);
}

/* The search is done.  The ticket is found by its id under either name. */
static void either_searched(struct hf_zk_engine *zk,
                            struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);
    struct hf_zk_engine_queue *queue = req->queue;
    size_t index = hf_zk_engine_queue_index(zk, queue, &req->request->ticket);

    if (req->list_error != HF_ZK_OK && req->list_error != HF_ZK_NO_NODE) {
        hf_zk_engine_request_fail(zk, req, req->list_error, "list",
                                  queue->path);
    } else if (own_ticket == NULL || index == queue->count) {
        if (own_ticket != NULL)
            hf_zk_engine_own_ticket_free(zk, own_ticket);
        fail_gone(zk, hf_zk_engine_request_end(zk, req));
    } else if (own_ticket->kind == HF_TICKET_READ) {
        answer_downgraded(zk, hf_zk_engine_request_end(zk, req));
    } else if (is_node_conflict(req->error)) {
        hf_zk_engine_fail(
            zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_RETRY,
            HF_EPROTOCOL,
            "the server would not turn a write ticket into a read "
            "ticket, and shows no reason");
    } else {
        /* The search shows that no earlier transaction was carried out,
         * either. */
        own_ticket->downgrading = false;
        fail_downgrade(zk, req);
    }
}

/* Is a search needed to know what became of the ticket?  It is needed if the
 * transaction was refused because of the nodes that exist.  It is also needed
 * if this transaction was refused for another reason, and an earlier one got no
 * answer. */
static bool needs_search(struct hf_zk_engine_request *req)
{
    return is_node_conflict(req->error) ||
           (hf_zk_engine_request_downgrading(req)->earlier_unsure &&
            !hf_zk_engine_is_unsure(req->error));
}

/* Our write ticket.  If it is gone or being removed, is a read ticket already,
 * or there is no connection, answers the request and returns NULL. */
static struct hf_zk_engine_own_ticket *
find_writer(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);

    if (own_ticket == NULL || own_ticket->removing) {
        fail_gone(zk, hf_zk_engine_request_end(zk, req));
    } else if (own_ticket->kind == HF_TICKET_READ) {
        answer_downgraded(zk, hf_zk_engine_request_end(zk, req));
    } else if (!hf_zk_session_usable(&zk->session)) {
        req->error = HF_ZK_DISCONNECTED;
        fail_downgrade(zk, req);
    } else {
        return own_ticket;
    }
    return NULL;
}

static void read_text(struct hf_zk_engine *zk,
                      struct hf_zk_engine_request *req);

/* The transaction failed, or the data could not be read: search for what became
 * of the ticket, or fail. */
static void downgrade_refused(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);

    if (needs_search(req) && hf_zk_session_usable(&zk->session)) {
        hf_zk_engine_request_step(req, either_searched);
        hf_zk_engine_find_ticket(zk, req);
        return;
    }
    if (own_ticket != NULL &&
        !hf_zk_engine_request_downgrading(req)->earlier_unsure &&
        !hf_zk_engine_is_unsure(req->error))
        own_ticket->downgrading = false;
    fail_downgrade(zk, req);
}

/* The transaction was answered. */
static void downgrade_done(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);

    if (req->error == HF_ZK_OK) {
        if (own_ticket != NULL) /* NULL if it was removed meanwhile */
            hf_zk_engine_own_ticket_downgraded(zk, own_ticket);
        answer_downgraded(zk, hf_zk_engine_request_end(zk, req));
    } else if (req->error == HF_ZK_BAD_VERSION) {
        if (own_ticket != NULL)
            own_ticket->downgrading =
                hf_zk_engine_request_downgrading(req)->earlier_unsure;
        read_text(zk, req);
    } else {
        downgrade_refused(zk, req);
    }
}

/* The answer to the transaction. */
static void downgrade_answered(void *user, struct hf_zk_call *call,
                               const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_jute_piece made;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, &made, 1);
    hf_zk_engine_request_answered(zk, req);
}

/* Write the operations of the transaction: create the read node, delete the
 * write node in the known version. */
static void put_downgrade(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req,
                          const struct hf_zk_engine_own_ticket *own_ticket)
{
    const struct hf_zk_engine_downgrading *downgrading =
        hf_zk_engine_request_downgrading(req);
    char name[HF_ZK_NODE_BYTES];

    hf_zk_engine_own_ticket_read_name(zk, own_ticket, name);
    hf_zk_multi_create(
        &zk->session, hf_zk_engine_child_path(zk, req->queue, name),
        downgrading->revoked ? HF_ZK_REVOKE : req->request->payload,
        HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(&zk->session,
                       hf_zk_engine_own_ticket_path(zk, own_ticket, 0),
                       downgrading->version);
}

/* Send the transaction. */
static void send_downgrade(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req,
                           struct hf_zk_engine_own_ticket *own_ticket)
{
    size_t begin;

    assert(own_ticket->kind != HF_TICKET_READ && !own_ticket->removing);
    hf_zk_engine_request_downgrading(req)->earlier_unsure =
        own_ticket->downgrading;
    own_ticket->downgrading = true;
    hf_zk_engine_request_step(req, downgrade_done);
    begin = hf_zk_call_begin(&zk->session,
                             hf_zk_engine_request_call(req, downgrade_answered),
                             HF_ZK_MULTI);
    put_downgrade(zk, req, own_ticket);
    hf_zk_multi_end(&zk->session, begin);
}

/* The read of the write node's data is answered: send the transaction. */
static void text_read(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_own_ticket *own_ticket;

    if (req->error != HF_ZK_OK)
        downgrade_refused(zk, req);
    else if ((own_ticket = find_writer(zk, req)) != NULL)
        send_downgrade(zk, req, own_ticket);
}

/* The answer to the read: note the version, and whether the data ask the owner
 * to release. */
static void text_answered(void *user, struct hf_zk_call *call,
                          const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_downgrading *downgrading =
        hf_zk_engine_request_downgrading(req);

    req->error = reply->error;
    if (req->error == HF_ZK_OK) {
        downgrading->revoked =
            hf_zk_engine_is_revoke_data(hf_jute_get_buffer(&body));
        downgrading->version = hf_zk_get_stat(&body).version;
    }
    hf_zk_engine_request_answered(zk, req);
}

/* Read the data of the write node before the transaction is sent; gives up
 * after HF_ZK_ATTEMPTS_MAX changes. */
static void read_text(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_own_ticket *own_ticket = find_writer(zk, req);

    if (own_ticket == NULL)
        return;
    if (req->attempts++ == HF_ZK_ATTEMPTS_MAX) {
        hf_zk_engine_fail(zk, hf_zk_engine_request_end(zk, req),
                          HF_FAILURE_RETRY, HF_EBUSY,
                          "others write to the ticket all the time");
        return;
    }
    hf_zk_engine_request_downgrading(req)->earlier_unsure =
        own_ticket->downgrading;
    hf_zk_engine_request_step(req, text_read);
    hf_zk_send_get_data(&zk->session,
                        hf_zk_engine_request_call(req, text_answered),
                        hf_zk_engine_own_ticket_path(zk, own_ticket, 0), false);
}

/* If a watch has read the data of the write node already, they need not be
 * read again. */
void hf_zk_engine_downgrade_ticket(struct hf_zk_engine *zk,
                                   struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);
    struct hf_zk_engine_own_ticket *own_ticket;
    struct hf_zk_engine_downgrading *downgrading;

    if (req == NULL)
        return;
    hf_zk_engine_request_enter(req, HF_ZK_DOWNGRADING);
    downgrading = hf_zk_engine_request_downgrading(req);
    if ((own_ticket = find_writer(zk, req)) == NULL)
        return;
    if (hf_zk_engine_watches_data(
            zk, hf_zk_engine_own_ticket_path(zk, own_ticket, 0),
            &downgrading->revoked, &downgrading->version))
        send_downgrade(zk, req, own_ticket);
    else
        read_text(zk, req);
}

/* -------------------------------------------------------------- describe -- */

/* HF_REQUEST_DESCRIBE: write the data of our ticket's nodes, one after the
 * other.
 *
 * A node is written only in the version that its watch has read, because a
 * revoke request may only be overwritten after it was reported to the owner.
 * If a revoke request comes in between, the version has changed, so the write
 * fails.  The watch reports the request to the core, which then describes the
 * ticket again.  Our own write fires the watch, too, but the data that are read
 * then are no revoke request. */

static void describe_next(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req);

/* Answer the request.  ${found}: all nodes of the ticket were written. */
static void answer_described(struct hf_zk_engine *zk,
                             struct hf_zk_engine_request *req, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_DESCRIBED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

/* Fail with RETRY because the version of a node is not known at the moment, or
 * nothing can be sent. */
static void fail_unread(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req)
{
    hf_zk_engine_fail(zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_RETRY,
                      HF_EBUSY,
                      "the ticket is being read, as it may have changed");
}

/* One node has been written, or could not be. */
static void node_written(struct hf_zk_engine *zk,
                         struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_OK)
        describe_next(zk, req);
    else if (req->error == HF_ZK_NO_NODE)
        answer_described(zk, req, false);
    else if (req->error == HF_ZK_BAD_VERSION)
        fail_unread(zk, req);
    else
        hf_zk_engine_request_fail(zk, req, req->error,
                                  "describe the owner of a ticket of",
                                  req->queue->path);
}

/* Write the next node; .attempts counts the nodes that were written so far. */
static void describe_next(struct hf_zk_engine *zk,
                          struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &req->request->ticket);
    const char *path;
    int32_t version;

    if (own_ticket == NULL || own_ticket->removing ||
        req->attempts == own_ticket->weight) {
        answer_described(zk, req, own_ticket != NULL && !own_ticket->removing);
        return;
    }
    path = hf_zk_engine_own_ticket_path(zk, own_ticket, req->attempts++);
    if (own_ticket->downgrading || !hf_zk_session_usable(&zk->session) ||
        !hf_zk_engine_watches_version(zk, path, &version)) {
        fail_unread(zk, req);
        return;
    }
    hf_zk_engine_request_step(req, node_written);
    hf_zk_send_set_data(
        &zk->session,
        hf_zk_engine_request_call(req, hf_zk_engine_request_error_answered),
        path, req->request->payload, version);
}

void hf_zk_engine_describe_ticket(struct hf_zk_engine *zk,
                                  struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req != NULL)
        describe_next(zk, req);
}

/* ---------------------------------------------------------------- revoke -- */

/* HF_REQUEST_REVOKE: ask the owner of a ticket to release it, by writing
 * HF_ZK_REVOKE as the data of its node.  Our clients and Curator's Revocable
 * watch their nodes for that. */

/* Answer the request; a ticket that is gone counts as not found. */
static void answer_revoke_sent(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKE_SENT};

    if (req->error != HF_ZK_OK && req->error != HF_ZK_NO_NODE) {
        hf_zk_engine_request_fail(zk, req, req->error, "write to a ticket of",
                                  req->queue->path);
        return;
    }
    event.as.answer.found = req->error == HF_ZK_OK;
    event.as.answer.request = hf_zk_engine_request_end(zk, req);
    hf_zk_engine_notify(zk, &event);
}

static void search(struct hf_zk_engine *zk, struct hf_zk_engine_request *req);

/* The write is answered.  A node that was listed and is gone may have another
 * name by now, because a write ticket has become a read ticket; then search
 * again. */
static void write_done(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request *req)
{
    if (req->error == HF_ZK_NO_NODE && req->attempts++ < HF_ZK_ATTEMPTS_MAX &&
        hf_zk_session_usable(&zk->session))
        search(zk, req);
    else
        answer_revoke_sent(zk, req);
}

/* The search is done: write to the node that it found. */
static void searched(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_queue *queue = req->queue;
    size_t index = hf_zk_engine_queue_index(zk, queue, &req->request->ticket);

    req->error = req->list_error;
    if (req->error == HF_ZK_OK && index == queue->count)
        req->error = HF_ZK_NO_NODE;
    else if (req->error == HF_ZK_OK && !hf_zk_session_usable(&zk->session))
        req->error = HF_ZK_DISCONNECTED;
    if (req->error != HF_ZK_OK) {
        answer_revoke_sent(zk, req);
        return;
    }
    hf_zk_engine_request_step(req, write_done);
    hf_zk_send_set_data(
        &zk->session,
        hf_zk_engine_request_call(req, hf_zk_engine_request_error_answered),
        hf_zk_engine_child_path(zk, queue, queue->children[index].name),
        HF_ZK_REVOKE, HF_ZK_ANY_VERSION);
}

/* List the queue behind a sync to find the node of the ticket. */
static void search(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    hf_zk_engine_request_step(req, searched);
    hf_zk_engine_find_ticket(zk, req);
}

void hf_zk_engine_revoke_ticket(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);

    if (req != NULL)
        search(zk, req);
}
