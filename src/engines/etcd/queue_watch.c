/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_WATCH_QUEUE for tickets or participants: a list of the queue, and
 * a watch on all its keys from that list on.  The queue may be empty. */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "engines/etcd/list_queue.h"
#include "engines/etcd/watches.h"

static void event(struct hf_etcd_watch *of, const struct hf_etcd_event *event_)
{
    struct hf_etcd_engine_watch *watch = of->user;

    if (hf_etcd_engine_is_change(watch->base.queue, &watch->shown, event_))
        hf_etcd_engine_watch_end(watch, HF_EVENT_QUEUE_CHANGED, NULL);
}

/* It is not known what has happened, so the core has to list again. */
static void compacted(struct hf_etcd_watch *of)
{
    hf_etcd_engine_watch_end(of->user, HF_EVENT_QUEUE_CHANGED, NULL);
}

/* The queue was read: begin to watch, and answer the request last, because from
 * within the answer the core may take it back. */
static void listed(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_watch *watch = hf_etcd_engine_watch_of(req);
    struct hf_event answer = {.kind = HF_EVENT_LISTED};
    struct hf_etcd_engine_list list;
    char end[HF_ETCD_KEY_BYTES];
    struct hf_etcd_range range = hf_etcd_engine_queue_range(req->queue, end);

    if ((watch->range_end = hf_alloc(range.range_end.count)) == NULL ||
        !hf_etcd_engine_list_snapshot(&req->list, 0,
                                      &answer.as.answer.snapshot)) {
        hf_etcd_engine_request_fail_memory(req);
        return;
    }
    memcpy(watch->range_end, end, range.range_end.count);
    watch->watch.key = range.key;
    watch->watch.range_end =
        (struct hf_etcd_bytes){watch->range_end, range.range_end.count};
    watch->shown = hf_etcd_engine_shown_by(
        &req->list, req->request->ticket_kind == HF_TICKET_PARTICIPANT);
    watch->watch.event = event;
    watch->watch.compacted = compacted;
    if (!hf_etcd_engine_watch_start(watch, req->reading.revision + 1))
        return;
    list = req->list;
    req->list = (struct hf_etcd_engine_list){0};
    answer.as.answer.request = req->request;
    hf_etcd_engine_notify(req->engine, &answer);
    hf_etcd_engine_list_free(&list);
}

void hf_etcd_engine_watch_queue(struct hf_etcd_engine *engine,
                                struct hf_request *request)
{
    struct hf_etcd_engine_watch *watch;

    assert(request->ticket_kind != HF_TICKET_BARRIER);
    watch = hf_etcd_engine_watch_new(engine, request);
    if (watch != NULL)
        hf_etcd_engine_list_all(
            &watch->base, hf_etcd_engine_role_of(request->ticket_kind), listed);
}
