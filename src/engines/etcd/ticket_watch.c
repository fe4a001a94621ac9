/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_REQUEST_WATCH: a watch on the key of a ticket.
 *
 * Names are used again only after the ticket is gone, so the first deletion of
 * the key is the end of the ticket.  If the watched ticket is a writer, a put
 * with the kind of a reader (a downgrade) ends the watch.  If somebody else
 * puts the key of our own ticket, our release is asked for: own_value.h.
 */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "engines/etcd/eviction.h"
#include "engines/etcd/list_queue.h"
#include "engines/etcd/watches.h"

static struct hf_etcd_engine_own_ticket *
own_of(const struct hf_etcd_engine_watch *watch)
{
    return hf_etcd_engine_own_find(watch->base.engine,
                                   &watch->base.request->ticket);
}

/* Is a writer watched whose ticket is now that of a reader, as ${kind} says? */
static bool is_other(const struct hf_etcd_engine_watch *watch,
                     enum hf_ticket_kind kind)
{
    return watch->base.request->ticket_kind == HF_TICKET_WRITE &&
           kind == HF_TICKET_READ;
}

/* ---------------------------------------------------------------- events -- */

/* The ticket is gone: report it, with the reason of an eviction if that is
 * known. */
static void gone(struct hf_etcd_engine_watch *watch)
{
    struct hf_etcd_engine_own_ticket *own = own_of(watch);
    char why[HF_EVICTED_WHY_BYTES];
    const char *text = NULL;

    if (own != NULL && own->state == HF_ETCD_OWN_QUEUED &&
        own->create_revision == watch->base.target.create_revision) {
        if (own->kind == HF_TICKET_ELECTION)
            hf_etcd_engine_eviction_read(watch->base.engine, own);
        hf_etcd_engine_own_free(watch->base.engine, own);
    }
    if (watch->evicted_by != NULL)
        text = hf_evicted_by_explain(watch->evicted_by,
                                     strlen(watch->evicted_by), why);
    hf_etcd_engine_watch_end(watch, HF_EVENT_GONE, text);
}

/* Forget by whom the ticket is being evicted. */
static void clear_reason(struct hf_etcd_engine_watch *watch)
{
    hf_free(watch->evicted_by);
    watch->evicted_by = NULL;
}

/* Keep the text of ${value}, which says by whom the ticket is being evicted.
 * Without memory the end of the ticket will be reported without a reason. */
static void take_reason(struct hf_etcd_engine_watch *watch,
                        const struct hf_etcd_engine_ticket_value *value)
{
    size_t bytes = value->text_bytes;

    if (bytes > HF_EVICTED_BY_BYTES)
        bytes = HF_EVICTED_BY_BYTES;
    if (bytes > 0 && (watch->evicted_by = hf_alloc(bytes + 1)) != NULL)
        memcpy(watch->evicted_by, value->text, bytes);
}

/* Handle the key as it is in ${kv}. */
static void put(struct hf_etcd_engine_watch *watch,
                const struct hf_etcd_key_value *kv)
{
    struct hf_etcd_engine_own_ticket *own = own_of(watch);
    struct hf_etcd_engine_ticket_value value;

    value = hf_etcd_engine_value_parse(kv->value.bytes, kv->value.count);
    clear_reason(watch);
    if (kv->create_revision != watch->base.target.create_revision)
        gone(watch); /* the name is used by another ticket */
    else if (own != NULL && value.evicted)
        take_reason(watch, &value);
    else if (own != NULL && hf_etcd_engine_own_value_was_put(&own->value, kv))
        hf_etcd_engine_watches_revoked(watch->base.engine, &own->id);
    else if (value.kind != 0 && is_other(watch, value.kind))
        /* The watch ends, but the ticket stays in the queue.  It may even be
         * ours, watched because another ticket of this client waits for it. */
        hf_etcd_engine_watch_end(watch, HF_EVENT_GONE, NULL);
}

static void event(struct hf_etcd_watch *of, const struct hf_etcd_event *event_)
{
    struct hf_etcd_engine_watch *watch = of->user;

    if (event_->deleted)
        gone(watch);
    else
        put(watch, &event_->kv);
}

/* ------------------------------------------------------------ compaction -- */

/* The key was read after a compaction: go on watching from there. */
static void checked(struct hf_etcd_engine_request *req,
                    const struct hf_etcd_result *result)
{
    struct hf_etcd_engine_watch *watch = hf_etcd_engine_watch_of(req);
    struct hf_etcd_txn_answer txn;
    struct hf_etcd_key_value kv;
    bool is_read = result->end == HF_ETCD_DONE &&
                   hf_etcd_read_txn(result->answer, &txn) &&
                   hf_etcd_engine_next_pair(&txn.responses, &kv);

    watch->state = HF_ETCD_WATCH_REFUSED;
    if (is_read && kv.create_revision != req->target.create_revision) {
        gone(watch);
        return;
    }
    /* If the key could not be read, the watch is added with the old revision.
     * The server then reports again that it is compacted, and the key is read
     * again. */
    if (is_read)
        watch->watch.next_revision = txn.header.revision + 1;
    if (hf_etcd_watch_add(&req->engine->session, &watch->watch))
        watch->state = HF_ETCD_WATCH_WATCHING;
    if (is_read)
        put(watch, &kv);
}

static void compacted(struct hf_etcd_watch *of)
{
    struct hf_etcd_engine_watch *watch = of->user;
    struct hf_etcd_buffer buffer = {0};
    struct hf_etcd_range range = {.key = of->key};

    watch->state = HF_ETCD_WATCH_CHECKING;
    hf_etcd_txn_range(&buffer, HF_ETCD_SUCCESS, &range);
    hf_etcd_engine_commit_nothing(watch->base.engine, &buffer, HF_ETCD_SUCCESS);
    hf_etcd_engine_request_call(&watch->base, HF_ETCD_TXN, &buffer, checked);
}

/* ----------------------------------------------------------------- begin -- */

/* Watch the key with ${suffix} that was created at ${created}; events count
 * from ${revision} on. */
static void start(struct hf_etcd_engine_watch *watch, const char *suffix,
                  int64_t created, int64_t revision)
{
    struct hf_event watching = {.kind = HF_EVENT_WATCHING};
    struct hf_etcd_engine *engine = watch->base.engine;
    const struct hf_etcd_engine_own_ticket *own = own_of(watch);

    if (!hf_etcd_engine_request_aim(&watch->base, suffix, created)) {
        hf_etcd_engine_request_fail_memory(&watch->base);
        return;
    }
    watch->watch.key = (struct hf_etcd_bytes){watch->base.target.key,
                                              watch->base.target.bytes};
    watch->watch.event = event;
    watch->watch.compacted = compacted;
    /* Every put of our own ticket matters: it may be a request to release, or
     * the reason of an eviction.  Of another ticket only the last state
     * matters: whether it is there, and of which kind. */
    watch->watch.extent =
        own != NULL ? HF_ETCD_WATCH_ALL_EVENTS : HF_ETCD_WATCH_LAST_STATE;
    if (!hf_etcd_engine_watch_start(watch, revision))
        return;
    watch->asked = own != NULL && own->value.revoked;
    watching.as.answer.request = watch->base.request;
    hf_etcd_engine_notify(engine, &watching);
    hf_etcd_engine_watches_report(engine);
}

/* The queue was read to find the ticket: watch it. */
static void searched(struct hf_etcd_engine_request *req)
{
    struct hf_etcd_engine_watch *watch = hf_etcd_engine_watch_of(req);
    const struct hf_etcd_engine_listed *listed =
        hf_etcd_engine_list_find(&req->list, &req->request->ticket);

    if (listed == NULL || is_other(watch, listed->ticket.kind))
        hf_etcd_engine_watch_end(watch, HF_EVENT_GONE, NULL);
    else
        start(watch, req->list.text + listed->suffix, listed->create_revision,
              req->reading.revision + 1);
}

/* Watch our own ticket. */
static void watch_own(struct hf_etcd_engine_watch *watch,
                      const struct hf_etcd_engine_own_ticket *own)
{
    char key[HF_ETCD_KEY_BYTES];

    (void)hf_etcd_engine_own_key(watch->base.engine, own, key);
    if (is_other(watch, own->kind))
        hf_etcd_engine_watch_end(watch, HF_EVENT_GONE, NULL);
    else
        start(watch, key + own->queue->prefix_bytes, own->create_revision,
              own->value.mod_revision + 1);
}

void hf_etcd_engine_watch_ticket(struct hf_etcd_engine *engine,
                                 struct hf_request *request)
{
    struct hf_etcd_engine_watch *watch =
        hf_etcd_engine_watch_new(engine, request);
    const struct hf_etcd_engine_seen_ticket *seen;
    const struct hf_etcd_engine_own_ticket *own;
    int64_t revision;

    if (watch == NULL)
        return;
    own = own_of(watch);
    seen =
        hf_etcd_engine_own_saw(watch->base.queue, &request->ticket, &revision);
    if (own != NULL && own->state == HF_ETCD_OWN_QUEUED)
        watch_own(watch, own);
    else if (seen != NULL && is_other(watch, seen->kind))
        hf_etcd_engine_watch_end(watch, HF_EVENT_GONE, NULL);
    else if (seen != NULL)
        start(watch, seen->suffix, seen->create_revision, revision + 1);
    else
        hf_etcd_engine_list_all(&watch->base, HF_ETCD_ROLE_ANY, searched);
}
