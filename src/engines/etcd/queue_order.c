/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/queue_order.h"

#include <assert.h>

#include "base/list.h"

/* ------------------------------------------------------------ queues due -- */

static void remove_due(struct hf_etcd_engine *engine,
                       struct hf_etcd_engine_queue *queue)
{
    if (queue->due == HF_ETCD_QUEUE_DUE)
        HF_LIST_REMOVE(&engine->due, queue);
    else if (queue->due == HF_ETCD_QUEUE_BLOCKED)
        HF_LIST_REMOVE(&engine->blocked, queue);
    queue->due = HF_ETCD_QUEUE_IDLE;
}

static void make_due(struct hf_etcd_engine *engine,
                     struct hf_etcd_engine_queue *queue)
{
    remove_due(engine, queue);
    HF_LIST_APPEND(&engine->due, queue);
    queue->due = HF_ETCD_QUEUE_DUE;
}

static void block(struct hf_etcd_engine *engine,
                  struct hf_etcd_engine_queue *queue)
{
    remove_due(engine, queue);
    HF_LIST_APPEND(&engine->blocked, queue);
    queue->due = HF_ETCD_QUEUE_BLOCKED;
}

void hf_etcd_engine_unblock(struct hf_etcd_engine *engine)
{
    while (engine->blocked.first != NULL)
        make_due(engine, engine->blocked.first);
}

/* -------------------------------------------------------------- requests -- */

void hf_etcd_engine_order(struct hf_etcd_engine_request *req,
                          hf_etcd_engine_begin *begin)
{
    assert(req->order == HF_ETCD_NOT_ORDERED);
    req->order = HF_ETCD_ORDERED;
    req->begin = begin;
    HF_LIST_APPEND(&req->queue->ordered, req);
    make_due(req->engine, req->queue);
}

void hf_etcd_engine_order_removal(struct hf_etcd_engine_request *req,
                                  hf_etcd_engine_begin *begin)
{
    assert(req->order == HF_ETCD_NOT_ORDERED);
    req->order = HF_ETCD_REMOVAL;
    req->begin = begin;
    HF_LIST_APPEND(&req->queue->removals, req);
    make_due(req->engine, req->queue);
}

struct hf_etcd_engine_request *
hf_etcd_engine_take_removal(struct hf_etcd_engine_queue *queue)
{
    struct hf_etcd_engine_request *req = queue->removals.first;

    if (req != NULL) {
        HF_LIST_REMOVE(&queue->removals, req);
        req->order = HF_ETCD_NOT_ORDERED;
    }
    return req;
}

struct hf_etcd_engine_request *
hf_etcd_engine_order_behind(const struct hf_etcd_engine_request *req)
{
    return req->next;
}

void hf_etcd_engine_order_join(struct hf_etcd_engine_request *req)
{
    assert(req->order == HF_ETCD_ORDERED);
    assert(req->queue->ordered.first->order == HF_ETCD_ITS_TURN);
    req->order = HF_ETCD_JOINED;
}

void hf_etcd_engine_order_part(struct hf_etcd_engine_request *req)
{
    assert(req->order == HF_ETCD_JOINED);
    req->order = HF_ETCD_ORDERED;
}

struct hf_etcd_engine_request *
hf_etcd_engine_order_joined(const struct hf_etcd_engine_queue *queue)
{
    struct hf_etcd_engine_request *req = queue->ordered.first;

    while (req != NULL && req->order != HF_ETCD_JOINED)
        req = req->next;
    return req;
}

/* The turn of a request has ended: let the requests that have joined it and
 * were not answered wait again. */
static void part(struct hf_etcd_engine_queue *queue)
{
    struct hf_etcd_engine_request *req;

    while ((req = hf_etcd_engine_order_joined(queue)) != NULL)
        hf_etcd_engine_order_part(req);
}

void hf_etcd_engine_order_end(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_queue *queue = req->queue;

    switch ((enum hf_etcd_engine_order)req->order) {
    case HF_ETCD_NOT_ORDERED:
        return;
    case HF_ETCD_REMOVAL:
        HF_LIST_REMOVE(&queue->removals, req);
        break;
    case HF_ETCD_ITS_TURN:
        queue->ended++;
        part(queue);
        HF_LIST_REMOVE(&queue->ordered, req);
        break;
    case HF_ETCD_JOINED:
    case HF_ETCD_ORDERED:
        HF_LIST_REMOVE(&queue->ordered, req);
        break;
    }
    req->order = HF_ETCD_NOT_ORDERED;
    if (queue->ordered.first != NULL)
        make_due(req->engine, queue);
    else if (queue->removals.first == NULL)
        remove_due(req->engine, queue);
}

/* ----------------------------------------------------------------- flush -- */

/* May a request of the order begin?  Without a connection it may, and then
 * fails. */
static bool may_begin(const struct hf_etcd_engine *engine)
{
    return !hf_etcd_session_is_usable(&engine->session) ||
           hf_etcd_epoch_is_known(&engine->session);
}

/* Begin the requests of ${queue} whose turn it is now. */
static void begin_due(struct hf_etcd_engine *engine,
                      struct hf_etcd_engine_queue *queue)
{
    struct hf_etcd_engine_request *first = queue->ordered.first, *removal;

    queue->users++; /* so that the queue is not freed below */
    remove_due(engine, queue);
    if (first != NULL && first->order == HF_ETCD_ORDERED) {
        if (may_begin(engine)) {
            first->order = HF_ETCD_ITS_TURN;
            first->begin(first);
        } else {
            block(engine, queue);
        }
    }
    while ((removal = hf_etcd_engine_take_removal(queue)) != NULL)
        removal->begin(removal);
    hf_etcd_engine_queue_release(engine, queue);
}

void hf_etcd_engine_flush(struct hf_etcd_engine *engine, uint64_t now_ms)
{
    hf_etcd_session_set_now(&engine->session, now_ms);
    while (engine->due.first != NULL)
        begin_due(engine, engine->due.first);
}
