/* SPDX-License-Identifier: Apache-2.0 */
/* Each step counts its unanswered calls in .pending.  The answer that brings
 * it to 0 continues with .next_step. */
#include "engines/zookeeper/zk_request.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

/* HF_REQUEST_PROVE is about the session and has no queue. */
struct hf_zk_request *hf_zk_request_new(struct hf_zk *zk,
                                        struct hf_request *request)
{
    struct hf_zk_request *req = hf_alloc(sizeof *req);

    if (req == NULL) {
        hf_zk_fail_memory(zk, request);
        return NULL;
    }
    req->request = request;
    for (size_t i = 0; i < HF_ZK_REQUEST_CALLS; i++)
        req->calls[i].user = zk;
    if (request->kind != HF_REQUEST_PROVE &&
        (req->queue = hf_zk_queue_use(zk, request->queue)) == NULL) {
        hf_free(req);
        hf_zk_fail_memory(zk, request);
        return NULL;
    }
    return req;
}

/* ---------------------------------------------------------------- phases -- */

#define KIND(name) (1U << HF_REQUEST_##name)

/* The phases from which each is entered, and the kinds of request that enter
 * it.  A create goes on to the list that shows the new ticket, and a list may
 * show that our ticket has to be removed. */
static const struct {
    unsigned from; /* bits: 1 << phase */
    unsigned kinds;
} moves[] = {
    [HF_ZK_CREATING] = {1U << HF_ZK_PLAIN, KIND(ENQUEUE) | KIND(SET_FLAG)},
    [HF_ZK_LISTING] = {1U << HF_ZK_PLAIN | 1U << HF_ZK_CREATING,
                       KIND(ENQUEUE) | KIND(LIST) | KIND(WATCH_QUEUE) |
                           KIND(NEW_GENERATION)},
    [HF_ZK_REMOVING] = {1U << HF_ZK_PLAIN | 1U << HF_ZK_LISTING,
                        KIND(REMOVE) | KIND(ENQUEUE) | KIND(LIST) |
                            KIND(WATCH_QUEUE)},
    [HF_ZK_DOWNGRADING] = {1U << HF_ZK_PLAIN, KIND(DOWNGRADE)},
    [HF_ZK_DETAILED] = {1U << HF_ZK_PLAIN, KIND(LIST)},
};

/* Free what the part of .as owns. */
static void leave_phase(struct hf_zk_request *req)
{
    assert(req->pending == 0);
    if (req->phase == HF_ZK_CREATING)
        hf_free(req->as.creation.parent_calls);
    memset(&req->as, 0, sizeof req->as);
}

void hf_zk_request_enter(struct hf_zk_request *req,
                         enum hf_zk_request_phase phase)
{
    assert(phase > HF_ZK_PLAIN && phase <= HF_ZK_DETAILED);
    assert((moves[phase].from & 1U << req->phase) != 0);
    assert((moves[phase].kinds & 1U << req->request->kind) != 0);
    leave_phase(req);
    req->phase = phase;
    if (phase == HF_ZK_LISTING)
        req->as.listing.ready = HF_ZK_READY_UNREAD;
}

struct hf_zk_creation *hf_zk_request_creation(struct hf_zk_request *req)
{
    assert(req->phase == HF_ZK_CREATING);
    return &req->as.creation;
}

struct hf_zk_listing *hf_zk_request_listing(struct hf_zk_request *req)
{
    assert(req->phase == HF_ZK_LISTING);
    return &req->as.listing;
}

struct hf_zk_removal *hf_zk_request_removal(struct hf_zk_request *req)
{
    assert(req->phase == HF_ZK_REMOVING);
    return &req->as.removal;
}

struct hf_zk_downgrading *hf_zk_request_downgrading(struct hf_zk_request *req)
{
    assert(req->phase == HF_ZK_DOWNGRADING);
    return &req->as.downgrading;
}

struct detailed_list *hf_zk_request_detailed(struct hf_zk_request *req)
{
    assert(req->phase == HF_ZK_DETAILED);
    return req->as.detailed;
}

/* ------------------------------------------------------------------ end -- */

void hf_zk_request_free(struct hf_zk *zk, struct hf_zk_request *req)
{
    assert(req->pending == 0);
    if (req->queue != NULL)
        hf_zk_queue_release(zk, req->queue);
    leave_phase(req);
    hf_free(req);
}

/* The request is freed last, because ${error} and ${path} may point into it. */
void hf_zk_request_fail(struct hf_zk *zk, struct hf_zk_request *req,
                        enum hf_zk_error error, const char *what,
                        const char *path)
{
    hf_zk_fail_with_error(zk, req->request, error, what, path);
    hf_zk_request_free(zk, req);
}

struct hf_request *hf_zk_request_end(struct hf_zk *zk,
                                     struct hf_zk_request *req)
{
    struct hf_request *request = req->request;

    hf_zk_request_free(zk, req);
    return request;
}

void hf_zk_request_step(struct hf_zk_request *req,
                        void (*then)(struct hf_zk *zk,
                                     struct hf_zk_request *req))
{
    assert(req->pending == 0);
    req->call_count = 0;
    req->next_step = then;
}

struct hf_zk_call *hf_zk_request_call(struct hf_zk_request *req,
                                      hf_zk_answered *answered)
{
    struct hf_zk_call *call = &req->calls[req->call_count];

    assert(req->call_count < HF_ZK_REQUEST_CALLS);
    req->call_count++;
    req->pending++;
    call->answered = answered;
    call->owner = req;
    return call;
}

void hf_zk_request_allow_cancel(struct hf_zk *zk, struct hf_zk_request *req)
{
    req->next_cancellable = zk->cancellable;
    zk->cancellable = req;
}

void hf_zk_request_end_cancel(struct hf_zk *zk, struct hf_zk_request *req)
{
    struct hf_zk_request **link = &zk->cancellable;

    while (*link != req)
        link = &(*link)->next_cancellable;
    *link = req->next_cancellable;
}

void hf_zk_request_cancel(struct hf_zk *zk, const struct hf_request *request)
{
    struct hf_zk_request *req = zk->cancellable;

    while (req != NULL && req->request != request)
        req = req->next_cancellable;
    if (req != NULL)
        req->request = NULL;
}

void hf_zk_request_answered(struct hf_zk *zk, struct hf_zk_request *req)
{
    assert(req->pending > 0);
    if (--req->pending == 0)
        req->next_step(zk, req);
}

void hf_zk_request_error_answered(void *user, struct hf_zk_call *call,
                                  const struct hf_zk_reply *reply)
{
    struct hf_zk_request *req = call->owner;

    req->error = reply->error;
    hf_zk_request_answered(user, req);
}

void hf_zk_request_sync_answered(void *user, struct hf_zk_call *call,
                                 const struct hf_zk_reply *reply)
{
    struct hf_zk_request *req = call->owner;

    req->sync_error = reply->error;
    hf_zk_request_answered(user, req);
}

void hf_zk_request_list_add(struct hf_zk_request_list *list,
                            struct hf_zk_request *req)
{
    req->pending++;
    req->next_in_list = NULL;
    if (list->first == NULL)
        list->first = req;
    else
        list->last->next_in_list = req;
    list->last = req;
}

struct hf_zk_request *hf_zk_request_list_take(struct hf_zk_request_list *list)
{
    struct hf_zk_request *req = list->first;

    if (req != NULL)
        list->first = req->next_in_list;
    return req;
}

void hf_zk_request_list_answered(struct hf_zk *zk,
                                 struct hf_zk_request_list *list)
{
    struct hf_zk_request *req;

    while ((req = hf_zk_request_list_take(list)) != NULL)
        hf_zk_request_answered(zk, req);
}
