/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_ENQUEUE: one transaction puts the ticket and reads the queue as it
 * is then.
 *
 *     if    our key is not there, and the session's epoch is still the one that
 *           we know (etcd/epoch.h)
 *     then  put the key; read the queue
 *     else  read the key and the epoch
 *
 * A repeated enqueue finds its key: the id in the value shows that it is this
 * ticket.  If the id is another one, the name is in use: somebody else has
 * written into the keys of our session, or it is an earlier ticket of ours
 * whose removal got no answer.  Then the ticket takes the next slot
 * (key_name.h).
 *
 * If a removal of another ticket of ours waits, it goes into the same
 * transaction.  If a comparison does not hold, or the servers refuse the
 * enqueue, the removal is carried out alone.
 */
#include <assert.h>

#include "base/container_of.h"
#include "engines/etcd/list_queue.h"
#include "engines/etcd/queue_order.h"
#include "engines/etcd/queue_reading.h"
#include "engines/etcd/remove_ticket.h"

struct enqueue {
    struct hf_etcd_engine_request base;
    /* A removal that shares the transaction; NULL: none. */
    struct hf_etcd_engine_request *removal;
};

static struct enqueue *enqueue_of(struct hf_etcd_engine_request *req)
{
    return container_of(req, struct enqueue, base);
}

/* Return the ticket that is enqueued.  It exists until the enqueue has ended,
 * unless another request has found that it is gone. */
static struct hf_etcd_engine_own_ticket *
own_of(const struct hf_etcd_engine_request *req)
{
    return hf_etcd_engine_own_find(req->engine, &req->request->ticket);
}

static void put_ticket(struct hf_etcd_engine_request *req);

/* Write the value that is put to ${value}. */
static struct hf_etcd_bytes
value_of(const struct hf_etcd_engine_request *req,
         const struct hf_etcd_engine_own_ticket *own,
         char value[HF_ETCD_VALUE_BYTES])
{
    return (struct hf_etcd_bytes){
        value, hf_etcd_engine_value_format(own->kind, &own->id, own->weight,
                                           req->request->payload, value)};
}

/* The transaction has ended with ${result}, which is not an answer.  A removal
 * that shares it fails too; or it is carried out alone, if the transaction was
 * refused or there was no space for the put. */
static void fail_removal(struct hf_etcd_engine_request *req,
                         const struct hf_etcd_result *result)
{
    struct enqueue *enqueue = enqueue_of(req);
    struct hf_etcd_engine_request *removal = enqueue->removal;

    enqueue->removal = NULL;
    if (removal == NULL)
        return;
    /* Even then the removal alone may be allowed, or have space. */
    if (result->end == HF_ETCD_REFUSED || result->decided)
        hf_etcd_engine_remove_own(removal);
    else
        hf_etcd_engine_request_fail_call(removal, result,
                                         "remove a ticket from");
}

/* Fail because the answer makes no sense. */
static void fail_answer(struct hf_etcd_engine_request *req)
{
    const struct hf_etcd_result malformed = {
        .end = HF_ETCD_UNSURE,
        .status = HF_GRPC_UNKNOWN,
        .text = "the server's answer makes no sense",
    };

    fail_removal(req, &malformed);
    hf_etcd_engine_request_fail_answer(req);
}

/* ---------------------------------------------------------------- answer -- */

/* The queue was read: answer the request. */
static void queue_read(struct hf_etcd_engine_request *req)
{
    struct hf_event event = {.kind = HF_EVENT_ENQUEUED};
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    size_t hidden = hf_etcd_engine_hidden(req, SIZE_MAX);

    if (own == NULL || hf_etcd_engine_list_find(&req->list, &own->id) == NULL) {
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_RETRY, HF_EPROTOCOL,
            "the ticket was gone as soon as it was in the queue; see who "
            "removes keys below \"%.200s\"",
            req->queue->prefix);
        return;
    }
    if (!hf_etcd_engine_list_snapshot(&req->list, hidden,
                                      &event.as.answer.snapshot)) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    hf_etcd_engine_own_listed(own, &req->list, req->list.count - 1 + hidden,
                              req->reading.revision);
    hf_etcd_engine_request_answer(req, &event);
}

/* The ticket was put, and a removal in the same transaction was carried out,
 * too. */
static void ticket_put(struct hf_etcd_engine_request *req,
                       struct hf_etcd_txn_answer *answer)
{
    struct enqueue *enqueue = enqueue_of(req);
    struct hf_etcd_engine_request *removal = enqueue->removal;
    struct hf_etcd_response response;
    int64_t revision = answer->header.revision;
    char value[HF_ETCD_VALUE_BYTES];

    hf_etcd_engine_own_queued(own_of(req),
                              &(struct hf_etcd_key_value){
                                  .create_revision = revision,
                                  .mod_revision = revision,
                                  .version = 1,
                                  .value = value_of(req, own_of(req), value)});
    if (!hf_etcd_next_response(&answer->responses, &response) ||
        (removal != NULL &&
         !hf_etcd_next_response(&answer->responses, &response)) ||
        !hf_etcd_engine_take_pages(req, &answer->responses, revision)) {
        fail_answer(req);
        return;
    }
    enqueue->removal = NULL;
    if (removal != NULL)
        hf_etcd_engine_removal_done(removal);
    hf_etcd_engine_read_on(req, queue_read);
}

/* ---------------------------------------------------------- not put, why -- */

/* The key is there already.  If it is our ticket, list the queue; otherwise put
 * the ticket with the next slot. */
static void key_found(struct hf_etcd_engine_request *req,
                      const struct hf_etcd_key_value *kv)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);

    if (hf_etcd_engine_own_is(own, kv)) {
        hf_etcd_engine_own_queued(own, kv);
        hf_etcd_engine_list_own(req, own);
        return;
    }
    hf_etcd_engine_own_next_slot(own);
    if (req->attempts++ < HF_ETCD_ATTEMPTS_MAX)
        put_ticket(req);
    else
        hf_etcd_engine_request_fail_busy(req);
}

/* The ticket was not put, because a comparison did not hold. */
static void ticket_not_put(struct hf_etcd_engine_request *req,
                           struct hf_etcd_txn_answer *answer)
{
    struct enqueue *enqueue = enqueue_of(req);
    struct hf_etcd_engine_request *removal = enqueue->removal;
    struct hf_etcd_key_value key, epoch;

    if (!hf_etcd_engine_next_pair(&answer->responses, &key) ||
        !hf_etcd_engine_next_pair(&answer->responses, &epoch)) {
        fail_answer(req);
        return;
    }
    enqueue->removal = NULL;
    if (removal != NULL)
        hf_etcd_engine_remove_own(removal); /* its comparison may be the
                                               reason */
    if (hf_etcd_epoch_check(&req->engine->session, epoch.mod_revision))
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_RETRY, HF_EPROTOCOL,
            "the key of the session was changed; see who writes below \"%s%s\"",
            req->engine->config.session.prefix, HF_ETCD_SESSIONS);
    else if (key.create_revision > 0)
        key_found(req, &key);
    else if (removal != NULL)
        put_ticket(req);
    else
        fail_answer(req);
}

/* ------------------------------------------------------------------ call -- */

/* There was no space left.  The key was read, which shows whether the ticket is
 * there. */
static void key_read(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_key_value kv;

    if (result->end != HF_ETCD_DONE ||
        !hf_etcd_engine_read_pair(result->answer, &kv)) {
        own->state = HF_ETCD_OWN_UNSURE;
        hf_etcd_engine_request_fail(req, HF_FAILURE_UNSURE, HF_EFULL,
                                    "the cluster has no space left, and does "
                                    "not say whether the ticket is there");
    } else if (hf_etcd_engine_own_is(own, &kv)) {
        hf_etcd_engine_own_queued(own, &kv);
        hf_etcd_engine_list_own(req, own);
    } else {
        hf_etcd_engine_own_free(req->engine, own);
        hf_etcd_engine_request_fail(
            req, HF_FAILURE_RETRY, HF_EFULL,
            "the cluster has no space left for a ticket; expected its database "
            "to be below the quota: compact and defragment it, then disarm the "
            "alarm (etcdctl alarm disarm)");
    }
}

/* The transaction that puts the ticket has ended. */
static void answered(struct hf_etcd_engine_request *req,
                     const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_txn_answer answer;

    assert(own != NULL);
    if (result->end == HF_ETCD_DONE) {
        if (!hf_etcd_read_txn(result->answer, &answer))
            fail_answer(req);
        else if (answer.succeeded)
            ticket_put(req, &answer);
        else
            ticket_not_put(req, &answer);
        return;
    }
    if (result->decided) {
        fail_removal(req, result);
        hf_etcd_engine_read_own(req, own, key_read);
        return;
    }
    /* If the ticket is UNSURE already, it stays known, because an earlier put
     * may have made it. */
    if (result->end == HF_ETCD_UNSURE)
        own->state = HF_ETCD_OWN_UNSURE;
    else if (own->state == HF_ETCD_OWN_ENQUEUING)
        hf_etcd_engine_own_free(req->engine, own);
    fail_removal(req, result);
    hf_etcd_engine_request_fail_call(req, result, "put a ticket into");
}

/* Append the ranges that read the part of the queue which the answer needs. */
static void read_queue(struct hf_etcd_engine_request *req,
                       struct hf_etcd_buffer *buffer)
{
    const struct hf_request *request = req->request;

    if (hf_etcd_engine_needs_all(request->ticket_kind))
        hf_etcd_engine_read_all(
            req, hf_etcd_engine_role_of(request->ticket_kind), buffer);
    else
        hf_etcd_engine_read_nearest(req, &request->ticket, request->ticket_kind,
                                    0, buffer);
}

/* Send the transaction that puts the ticket. */
static void put_ticket(struct hf_etcd_engine_request *req)
{
    const struct hf_request *request = req->request;
    const struct hf_etcd_engine_own_ticket *own = own_of(req);
    struct hf_etcd_session *session = &req->engine->session;
    char key[HF_ETCD_KEY_BYTES], value[HF_ETCD_VALUE_BYTES];
    size_t bytes = hf_etcd_engine_own_key(req->engine, own, key);
    struct hf_etcd_put put = {
        .key = {key, bytes},
        .value = {value,
                  hf_etcd_engine_value_format(own->kind, &own->id, own->weight,
                                              request->payload, value)},
        .lease = session->lease,
    };
    struct hf_etcd_range there = {.key = {key, bytes}};
    struct hf_etcd_range epoch = {.key = hf_etcd_epoch_key(session)};
    struct hf_etcd_buffer buffer = {0};

    if (!hf_etcd_session_is_usable(session) ||
        !hf_etcd_epoch_is_known(session)) {
        const struct hf_etcd_result none = {.end = HF_ETCD_RETRY,
                                            .status = HF_GRPC_UNAVAILABLE,
                                            .text = "there is no connection"};

        answered(req, &none);
        return;
    }
    hf_etcd_engine_compare_created(&buffer, key, bytes, 0);
    hf_etcd_epoch_compare(session, &buffer);
    if (enqueue_of(req)->removal != NULL)
        hf_etcd_engine_removal_join(enqueue_of(req)->removal, &buffer);
    hf_etcd_txn_put(&buffer, HF_ETCD_SUCCESS, &put);
    read_queue(req, &buffer);
    hf_etcd_txn_range(&buffer, HF_ETCD_FAILURE, &there);
    hf_etcd_txn_range(&buffer, HF_ETCD_FAILURE, &epoch);
    hf_etcd_engine_request_call(req, HF_ETCD_TXN, &buffer, answered);
}

/* It is the turn of ${req} in the order of its queue (queue_order.h). */
static void begin(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_own_ticket *own = own_of(req);

    if (own == NULL)
        own = hf_etcd_engine_own_new(req->engine, req->queue, req->request);
    if (own == NULL) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    if (own->state == HF_ETCD_OWN_QUEUED) { /* the core repeats the request */
        hf_etcd_engine_list_own(req, own);
        return;
    }
    enqueue_of(req)->removal = hf_etcd_engine_removal_to_join(req->queue);
    put_ticket(req);
}

void hf_etcd_engine_enqueue(struct hf_etcd_engine *engine,
                            struct hf_request *request)
{
    struct enqueue *enqueue;

    assert(request->ticket_kind != HF_TICKET_BARRIER);
    enqueue = hf_etcd_engine_request_new(engine, request, sizeof *enqueue);
    if (enqueue != NULL)
        hf_etcd_engine_order(&enqueue->base, begin);
}
