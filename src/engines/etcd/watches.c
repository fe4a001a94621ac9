/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/etcd/watches.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/list.h"
#include "base/memory.h"

/* ------------------------------------------------------------ begin, end -- */

struct hf_etcd_engine_watch *
hf_etcd_engine_watch_of(struct hf_etcd_engine_request *req)
{
    return container_of(req, struct hf_etcd_engine_watch, base);
}

/* ${req} is being freed: remove its watch. */
static void cleanup(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_watch *watch = hf_etcd_engine_watch_of(req);

    hf_etcd_watch_remove(&req->engine->session, &watch->watch);
    HF_LIST_REMOVE(&req->engine->watches, watch);
    hf_free(watch->range_end);
    hf_free(watch->evicted_by);
}

struct hf_etcd_engine_watch *
hf_etcd_engine_watch_new(struct hf_etcd_engine *engine,
                         struct hf_request *request)
{
    struct hf_etcd_engine_watch *watch =
        hf_etcd_engine_request_new(engine, request, sizeof *watch);

    if (watch == NULL)
        return NULL;
    watch->base.cleanup = cleanup;
    watch->watch.user = watch;
    watch->watch.refused = hf_etcd_engine_watch_refused;
    HF_LIST_APPEND(&engine->watches, watch);
    request->engine_data = watch;
    return watch;
}

void hf_etcd_engine_unwatch(struct hf_etcd_engine *engine,
                            struct hf_request *request)
{
    struct hf_etcd_engine_watch *watch = request->engine_data;

    (void)engine;
    if (watch != NULL)
        hf_etcd_engine_request_free(&watch->base);
}

bool hf_etcd_engine_watch_start(struct hf_etcd_engine_watch *watch,
                                int64_t revision)
{
    struct hf_etcd_engine *engine = watch->base.engine;

    watch->watch.next_revision = revision;
    if (hf_etcd_watch_add(&engine->session, &watch->watch)) {
        watch->state = HF_ETCD_WATCH_WATCHING;
        return true;
    }
    hf_etcd_engine_request_fail(&watch->base, HF_FAILURE_RETRY, HF_ELIMIT,
                                "%d keys are watched; expected fewer",
                                HF_ETCD_WATCHES_MAX);
    return false;
}

void hf_etcd_engine_watch_end(struct hf_etcd_engine_watch *watch,
                              enum hf_event_kind kind, const char *text)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.text = text;
    hf_etcd_engine_request_answer(&watch->base, &event);
}

/* --------------------------------------------------------------- REVOKED -- */

void hf_etcd_engine_watches_report(struct hf_etcd_engine *engine)
{
    struct hf_event event = {.kind = HF_EVENT_REVOKED};
    struct hf_etcd_engine_watch *watch = engine->watches.first;

    while (watch != NULL) {
        if (!watch->asked) {
            watch = watch->next;
            continue;
        }
        watch->asked = false;
        event.as.answer.request = watch->base.request;
        hf_etcd_engine_notify(engine, &event);
        watch = engine->watches.first; /* the event may have ended any watch */
    }
}

void hf_etcd_engine_watches_revoked(struct hf_etcd_engine *engine,
                                    const struct hf_ticket_id *id)
{
    for (struct hf_etcd_engine_watch *watch = engine->watches.first;
         watch != NULL; watch = watch->next) {
        const struct hf_request *request = watch->base.request;

        watch->asked |= request->kind == HF_REQUEST_WATCH &&
                        watch->state != HF_ETCD_WATCH_READING &&
                        hf_ticket_id_equal(&request->ticket, id);
    }
    hf_etcd_engine_watches_report(engine);
}

/* --------------------------------------------------------------- session -- */

void hf_etcd_engine_watch_refused(struct hf_etcd_watch *watch,
                                  enum hf_grpc_status status, const char *text)
{
    struct hf_etcd_engine_watch *refused = watch->user;
    const struct hf_etcd_engine_request *req = &refused->base;

    refused->state = HF_ETCD_WATCH_REFUSED;
    req->engine->host.log(req->engine->host.host, HF_LOG_WARNING,
                          "cannot watch keys below \"%.200s\": %s (%s); "
                          "expected a user that may read them",
                          req->queue->prefix, text,
                          hf_grpc_status_name(status));
    if (hf_request_is_of_kept_ticket(req->request))
        hf_etcd_engine_watch_end(refused, HF_EVENT_QUEUE_CHANGED, NULL);
}

void hf_etcd_engine_watches_resume(struct hf_etcd_engine *engine)
{
    for (struct hf_etcd_engine_watch *watch = engine->watches.first;
         watch != NULL; watch = watch->next) {
        if (watch->state == HF_ETCD_WATCH_REFUSED &&
            hf_etcd_watch_add(&engine->session, &watch->watch))
            watch->state = HF_ETCD_WATCH_WATCHING;
    }
}

/* No watch is READING here: such requests were answered when their calls ended.
 */
void hf_etcd_engine_watches_clear(struct hf_etcd_engine *engine)
{
    while (engine->watches.first != NULL)
        hf_etcd_engine_request_free(&engine->watches.first->base);
}
