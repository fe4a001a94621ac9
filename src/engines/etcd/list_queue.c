/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/list_queue.h"

#include <assert.h>

#include "engines/etcd/queue_order.h"
#include "engines/etcd/queue_reading.h"

/* ---------------------------------------------------------------- answer -- */

/* The queue was read, except for ${hidden} tickets ahead: answer the request.
 */
static void answer(struct hf_etcd_engine_request *req, size_t hidden)
{
    struct hf_event event = {.kind = req->request->kind == HF_REQUEST_ENQUEUE
                                         ? HF_EVENT_ENQUEUED
                                         : HF_EVENT_LISTED};

    if (!hf_etcd_engine_list_snapshot(&req->list, hidden,
                                      &event.as.answer.snapshot)) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    if (req->list.unknown_count > 0) {
        event.as.answer.unknown = hf_etcd_engine_list_unknown(&req->list);
        event.as.answer.unknown_count =
            event.as.answer.unknown != NULL ? req->list.unknown_count : 0;
    }
    hf_etcd_engine_request_answer(req, &event);
}

/* Everything that was asked for is read. */
static void all_read(struct hf_etcd_engine_request *req)
{
    answer(req, 0);
}

/* ----------------------------------------------------------- for our own -- */

static struct hf_etcd_engine_own_ticket *
own_of(const struct hf_etcd_engine_request *req)
{
    return hf_etcd_engine_own_find(req->engine, &req->request->ticket);
}

/* The queue was read for our ticket: answer the request. */
static void own_read(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    size_t hidden = 0;

    if (own != NULL && hf_etcd_engine_list_find(&req->list, &own->id) != NULL) {
        hidden = hf_etcd_engine_hidden(req, own->ahead);
        hf_etcd_engine_own_listed(own, &req->list, req->list.count - 1 + hidden,
                                  req->reading.revision);
    } else if (req->request->kind == HF_REQUEST_ENQUEUE) {
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_RETRY, HF_EPROTOCOL,
            "the ticket is gone; see who removes keys below \"%.200s\"",
            req->queue->prefix);
        return;
    }
    answer(req, hidden);
}

/* The answer has the key of our ticket, and then the first pages of the queue.
 */
static void own_listed(struct hf_etcd_engine_request *req,
                       const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_txn_answer txn;
    struct hf_etcd_key_value kv;

    if (result->end != HF_ETCD_DONE) {
        hf_etcd_engine_request_fail_call(req, result, "list");
        return;
    }
    if (!hf_etcd_read_txn(result->answer, &txn) ||
        !hf_etcd_engine_next_pair(&txn.responses, &kv) ||
        !hf_etcd_engine_take_pages(req, &txn.responses, txn.header.revision)) {
        hf_etcd_engine_request_fail_answer(req);
        return;
    }
    if (own != NULL && kv.create_revision != own->create_revision)
        hf_etcd_engine_own_free(req->engine, own); /* the ticket has been
                                                      removed */
    hf_etcd_engine_read_on(req, own_read);
}

void hf_etcd_engine_list_own(struct hf_etcd_engine_request *req,
                             struct hf_etcd_engine_own_ticket *own)
{
    struct hf_etcd_buffer buffer = {0};
    char key[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range = {
        .key = {key, hf_etcd_engine_own_key(req->engine, own, key)}};

    assert(own->state == HF_ETCD_OWN_QUEUED);
    hf_etcd_txn_range(&buffer, HF_ETCD_SUCCESS, &range);
    if (hf_etcd_engine_needs_all(own->kind))
        hf_etcd_engine_read_all(req, hf_etcd_engine_role_of(own->kind),
                                &buffer);
    else
        hf_etcd_engine_read_nearest(req, &own->id, own->kind,
                                    own->create_revision, &buffer);
    hf_etcd_engine_commit_nothing(req->engine, &buffer, HF_ETCD_SUCCESS);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, own_listed);
}

/* ------------------------------------------------------------ for others -- */

/* The first pages, or the first ticket, were read. */
static void first_pages_read(struct hf_etcd_engine_request *req,
                             const struct hf_etcd_result *result)
{
    struct hf_etcd_txn_answer txn;

    if (result->end != HF_ETCD_DONE)
        hf_etcd_engine_request_fail_call(req, result, "list");
    else if (!hf_etcd_read_txn(result->answer, &txn) ||
             !hf_etcd_engine_take_pages(req, &txn.responses,
                                        txn.header.revision))
        hf_etcd_engine_request_fail_answer(req);
    else
        hf_etcd_engine_read_on(req, req->reading.then);
}

/* Send the transaction with the ranges in ${buffer}, read all pages, then call
 * ${then}. */
static void send_ranges(struct hf_etcd_engine_request *req,
                        struct hf_etcd_buffer *buffer,
                        hf_etcd_engine_begin *then)
{
    req->reading.then = then;
    hf_etcd_engine_commit_nothing(req->engine, buffer, HF_ETCD_SUCCESS);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, buffer, first_pages_read);
}

void hf_etcd_engine_list_all(struct hf_etcd_engine_request *req,
                             enum hf_etcd_engine_role role,
                             hf_etcd_engine_begin *then)
{
    struct hf_etcd_buffer buffer = {0};

    hf_etcd_engine_read_all(req, role, &buffer);
    send_ranges(req, &buffer, then);
}

/* List the first ticket of the queue.  That is enough, because no ticket of
 * ours is there. */
static void list_first(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_buffer buffer = {0};

    hf_etcd_engine_read_first(req, &buffer);
    send_ranges(req, &buffer, all_read);
}

/* ---------------------------------------- ours, without an answer so far -- */

/* The key was read: our ticket is there, or it is not in the queue. */
static void key_read(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_key_value kv;

    if (result->end != HF_ETCD_DONE) {
        hf_etcd_engine_request_fail_call(req, result, "list");
    } else if (!hf_etcd_engine_read_pair(result->answer, &kv)) {
        hf_etcd_engine_request_fail_answer(req);
    } else if (own == NULL || !hf_etcd_engine_own_is(own, &kv)) {
        list_first(req);
    } else {
        hf_etcd_engine_own_queued(own, &kv);
        hf_etcd_engine_list_own(req, own);
    }
}

/* It is the turn of ${req}.  The epoch is known, so a ticket that is not there
 * now cannot come later. */
static void begin_unsure(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);

    if (own == NULL)
        list_first(req);
    else if (own->state == HF_ETCD_OWN_QUEUED)
        hf_etcd_engine_list_own(req, own);
    else
        hf_etcd_engine_read_own(req, own, key_read);
}

/* --------------------------------------------------------------- request -- */

void hf_etcd_engine_list_queue(struct hf_etcd_engine *engine,
                               struct hf_request *request)
{
    /* Read before the call below, which frees ${request} if it fails. */
    enum hf_etcd_engine_role role =
        hf_etcd_engine_role_of(request->ticket_kind);
    struct hf_etcd_engine_request *req =
        hf_etcd_engine_request_new(engine, request, sizeof *req);
    struct hf_etcd_engine_own_ticket *own;

    if (req == NULL)
        return;
    own = request->detailed ? NULL : own_of(req);
    if (request->detailed || engine->host.list_only)
        hf_etcd_engine_read_now(req, role, all_read);
    else if (own != NULL && own->state != HF_ETCD_OWN_QUEUED)
        hf_etcd_engine_order(req, begin_unsure);
    else if (own != NULL)
        hf_etcd_engine_list_own(req, own);
    else if (hf_etcd_engine_needs_all(request->ticket_kind))
        hf_etcd_engine_list_all(req, role, all_read);
    else
        list_first(req);
}
