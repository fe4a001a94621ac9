/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_DOWNGRADE: turn a write ticket into a read ticket, in one
 * transaction that creates the read node, with the write node's id and number,
 * and deletes the write node.  Curator lays out a reader that was a writer in
 * the same way.  No other client sees the queue without the ticket.
 *
 * A transaction without an answer may have happened, or may happen later,
 * until one of the two nodes has been seen.  It can happen only once, because
 * it needs the write node and creates the read node.  Sent again, it fails,
 * and a search shows which node exists.
 *
 * A revoke request overwrites the data of the write node, and nothing watches
 * that node meanwhile.  So the transaction deletes the write node only in the
 * version whose data are known, and the read node takes a revoke request over;
 * the watch that is set on it afterwards reports it.  If the data have
 * changed, the transaction fails, and the data are read before it is sent
 * again.
 */
#include "engines/zookeeper/get_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* Answer that the ticket is a read ticket now. */
static void answer(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_DOWNGRADED};

    event.as.answer.request = request;
    hf_zk_notify(zk, &event);
}

/* Fail because the ticket is no longer in its queue. */
static void fail_gone(struct hf_zk *zk, struct hf_request *request)
{
    hf_zk_fail(zk, request, HF_FAILURE_FATAL, HF_ELOST,
               "the ticket is not in its queue any more");
}

/* Was the transaction carried out and rejected because of the nodes that
 * exist? */
static bool is_node_conflict(enum hf_zk_error error)
{
    return error == HF_ZK_NO_NODE || error == HF_ZK_NODE_EXISTS;
}

/* Fail with the server's error. */
static void fail(struct hf_zk *zk, struct hf_zk_request *req)
{
    hf_zk_request_fail(zk, req, req->error,
                       "turn a write ticket into a read ticket in",
                       req->queue->path);
}

/* The search is done.  The ticket is found by its id under either name. */
static void searched(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);
    struct hf_zk_queue *queue = req->queue;
    size_t index = hf_zk_queue_index(zk, queue, &req->request->ticket);

    if (req->list_error != HF_ZK_OK && req->list_error != HF_ZK_NO_NODE) {
        hf_zk_request_fail(zk, req, req->list_error, "list", queue->path);
    } else if (own_ticket == NULL || index == queue->count) {
        if (own_ticket != NULL)
            hf_zk_own_ticket_free(zk, own_ticket);
        fail_gone(zk, hf_zk_request_end(zk, req));
    } else if (own_ticket->kind == HF_TICKET_READ) {
        answer(zk, hf_zk_request_end(zk, req));
    } else if (is_node_conflict(req->error)) {
        hf_zk_fail(zk, hf_zk_request_end(zk, req), HF_FAILURE_RETRY,
                   HF_EPROTOCOL,
                   "the server would not turn a write ticket into a read "
                   "ticket, and shows no reason");
    } else {
        own_ticket->downgrading = false; /* the search shows that no earlier
                                            one happened either */
        fail(zk, req);
    }
}

/* Is a search needed to know what became of the ticket?  That is so if the
 * nodes rejected the transaction, or if an earlier one got no answer. */
static bool needs_search(struct hf_zk_request *req)
{
    return is_node_conflict(req->error) ||
           (hf_zk_request_downgrading(req)->earlier_unsure &&
            !hf_zk_is_unsure(req->error));
}

/* Our write ticket.  If it is gone, already a read ticket, or the session has
 * ended, answers the request and returns NULL. */
static struct hf_zk_own_ticket *find_writer(struct hf_zk *zk,
                                            struct hf_zk_request *req)
{
    struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);

    if (own_ticket == NULL || own_ticket->removing) {
        fail_gone(zk, hf_zk_request_end(zk, req));
    } else if (own_ticket->kind == HF_TICKET_READ) {
        answer(zk, hf_zk_request_end(zk, req));
    } else if (!hf_zk_session_usable(&zk->session)) {
        req->error = HF_ZK_DISCONNECTED;
        fail(zk, req);
    } else {
        return own_ticket;
    }
    return NULL;
}

static void read_text(struct hf_zk *zk, struct hf_zk_request *req);

/* The transaction failed, or the data could not be read: search, or fail. */
static void refused(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);

    if (needs_search(req) && hf_zk_session_usable(&zk->session)) {
        hf_zk_request_step(req, searched);
        hf_zk_search(zk, req);
        return;
    }
    if (own_ticket != NULL && !hf_zk_request_downgrading(req)->earlier_unsure &&
        !hf_zk_is_unsure(req->error))
        own_ticket->downgrading = false;
    fail(zk, req);
}

/* The transaction was answered. */
static void downgrade_done(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);

    if (req->error == HF_ZK_OK) {
        if (own_ticket != NULL) /* NULL if it was removed meanwhile */
            hf_zk_own_ticket_downgraded(zk, own_ticket);
        answer(zk, hf_zk_request_end(zk, req));
    } else if (req->error == HF_ZK_BAD_VERSION) {
        if (own_ticket != NULL)
            own_ticket->downgrading =
                hf_zk_request_downgrading(req)->earlier_unsure;
        read_text(zk, req);
    } else {
        refused(zk, req);
    }
}

/* The answer to the transaction. */
static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_request *req = call->owner;
    struct hf_jute_piece made;

    req->error = reply->error;
    if (req->error == HF_ZK_OK)
        req->error = hf_zk_multi_result(&reply->body, &made, 1);
    hf_zk_request_answered(zk, req);
}

/* Write the operations of the transaction: create the read node, delete the
 * write node in the known version. */
static void put_downgrade(struct hf_zk *zk, struct hf_zk_request *req,
                          const struct hf_zk_own_ticket *own_ticket)
{
    const struct hf_zk_downgrading *downgrading =
        hf_zk_request_downgrading(req);
    char name[HF_ZK_NODE_BYTES];

    hf_zk_own_ticket_read_name(zk, own_ticket, name);
    hf_zk_multi_create(&zk->session, hf_zk_child_path(zk, req->queue, name),
                       downgrading->revoked ? HF_ZK_REVOKE
                                            : req->request->payload,
                       HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(&zk->session, hf_zk_own_ticket_path(zk, own_ticket, 0),
                       downgrading->version);
}

/* Send the transaction. */
static void send_downgrade(struct hf_zk *zk, struct hf_zk_request *req,
                           struct hf_zk_own_ticket *own_ticket)
{
    size_t begin;

    hf_zk_request_downgrading(req)->earlier_unsure = own_ticket->downgrading;
    own_ticket->downgrading = true;
    hf_zk_request_step(req, downgrade_done);
    begin = hf_zk_call_begin(&zk->session, hf_zk_request_call(req, answered),
                             HF_ZK_MULTI);
    put_downgrade(zk, req, own_ticket);
    hf_zk_multi_end(&zk->session, begin);
}

/* The data of the write node are known. */
static void text_read(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_own_ticket *own_ticket;

    if (req->error != HF_ZK_OK)
        refused(zk, req);
    else if ((own_ticket = find_writer(zk, req)) != NULL)
        send_downgrade(zk, req, own_ticket);
}

/* The answer to the read: note the version and whether it asks the owner to
 * release. */
static void text_answered(void *user, struct hf_zk_call *call,
                          const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_jute_reader body = reply->body;
    struct hf_zk_request *req = call->owner;
    struct hf_zk_downgrading *downgrading = hf_zk_request_downgrading(req);

    req->error = reply->error;
    if (req->error == HF_ZK_OK) {
        downgrading->revoked = hf_zk_is_revoke_data(hf_jute_get_buffer(&body));
        downgrading->version = hf_zk_get_stat(&body).version;
    }
    hf_zk_request_answered(zk, req);
}

/* Read the data of the write node before the transaction is sent; gives up
 * after HF_ZK_ATTEMPTS_MAX changes. */
static void read_text(struct hf_zk *zk, struct hf_zk_request *req)
{
    const struct hf_zk_own_ticket *own_ticket = find_writer(zk, req);

    if (own_ticket == NULL)
        return;
    if (req->attempts++ == HF_ZK_ATTEMPTS_MAX) {
        hf_zk_fail(zk, hf_zk_request_end(zk, req), HF_FAILURE_RETRY, HF_EBUSY,
                   "others write to the ticket all the time");
        return;
    }
    hf_zk_request_downgrading(req)->earlier_unsure = own_ticket->downgrading;
    hf_zk_request_step(req, text_read);
    hf_zk_send_get_data(&zk->session, hf_zk_request_call(req, text_answered),
                        hf_zk_own_ticket_path(zk, own_ticket, 0), false);
}

/* If a watch has read the data of the write node already, they need not be
 * read again. */
void hf_zk_downgrade_ticket(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);
    struct hf_zk_own_ticket *own_ticket;
    struct hf_zk_downgrading *downgrading;

    if (req == NULL)
        return;
    hf_zk_request_enter(req, HF_ZK_DOWNGRADING);
    downgrading = hf_zk_request_downgrading(req);
    if ((own_ticket = find_writer(zk, req)) == NULL)
        return;
    if (hf_zk_watches_data(zk, hf_zk_own_ticket_path(zk, own_ticket, 0),
                           &downgrading->revoked, &downgrading->version))
        send_downgrade(zk, req, own_ticket);
    else
        read_text(zk, req);
}
