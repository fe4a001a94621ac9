/* SPDX-License-Identifier: Apache-2.0 */
/* Queues are in a tree by name and count their users; own tickets are in a tree
 * by id and in a list of their queue. */
#include "engines/etcd/own_ticket.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/list.h"
#include "base/memory.h"
#include "core/admission.h"
#include "engines/etcd/etcd_private.h"

/* ---------------------------------------------------------------- queues -- */

/* The order of the trees: queues by name, tickets by id. */
static int compare_name(const void *name, const struct hf_tree_node *node)
{
    return strcmp(
        name,
        container_of(node, const struct hf_etcd_engine_queue, by_name)->name);
}

static int compare_id(const void *id, const struct hf_tree_node *node)
{
    return memcmp(
        id,
        &container_of(node, const struct hf_etcd_engine_own_ticket, by_id)->id,
        sizeof(struct hf_ticket_id));
}

void hf_etcd_engine_tables_init(struct hf_etcd_engine *engine)
{
    engine->queues.compare = compare_name;
    engine->own.compare = compare_id;
}

struct hf_etcd_engine_queue *
hf_etcd_engine_queue_use(struct hf_etcd_engine *engine, const char *name)
{
    struct hf_etcd_engine_queue *queue =
        container_of_or_null(hf_tree_find(&engine->queues, name),
                             struct hf_etcd_engine_queue, by_name);
    const char *prefix = engine->config.session.prefix;
    size_t prefix_bytes = strlen(prefix) + strlen(name) + 1;

    if (queue != NULL) {
        queue->users++;
        return queue;
    }
    queue = hf_alloc(sizeof *queue + prefix_bytes + 1 + strlen(name) + 1);
    if (queue == NULL)
        return NULL;
    queue->users = 1;
    queue->prefix_bytes = prefix_bytes;
    memcpy(queue->prefix, prefix, strlen(prefix));
    memcpy(queue->prefix + strlen(prefix), name, strlen(name));
    queue->prefix[prefix_bytes - 1] = '/';
    queue->name =
        memcpy(queue->prefix + prefix_bytes + 1, name, strlen(name) + 1);
    hf_tree_add(&engine->queues, &queue->by_name, queue->name);
    return queue;
}

void hf_etcd_engine_queue_release(struct hf_etcd_engine *engine,
                                  struct hf_etcd_engine_queue *queue)
{
    assert(queue->users > 0);
    if (--queue->users > 0)
        return;
    assert(queue->own.first == NULL && queue->ordered.first == NULL &&
           queue->removals.first == NULL && queue->due == HF_ETCD_QUEUE_IDLE);
    hf_tree_remove(&engine->queues, &queue->by_name, queue->name);
    hf_free(queue);
}

struct hf_etcd_range
hf_etcd_engine_queue_range(const struct hf_etcd_engine_queue *queue,
                           char end[HF_ETCD_KEY_BYTES])
{
    struct hf_etcd_bytes prefix = {queue->prefix, queue->prefix_bytes};

    return (struct hf_etcd_range){.key = prefix,
                                  .range_end = hf_etcd_prefix_end(prefix, end)};
}

/* ----------------------------------------------------------- own tickets -- */

struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_find(const struct hf_etcd_engine *engine,
                        const struct hf_ticket_id *id)
{
    return container_of_or_null(hf_tree_find(&engine->own, id),
                                struct hf_etcd_engine_own_ticket, by_id);
}

struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_created(const struct hf_etcd_engine_queue *queue,
                           int64_t create_revision)
{
    struct hf_etcd_engine_own_ticket *own = queue->own.first;

    while (own != NULL && (own->state != HF_ETCD_OWN_QUEUED ||
                           own->create_revision != create_revision))
        own = own->next;
    return own;
}

/* Return the ticket behind which the first free slot from ${from} on is; NULL
 * if that slot comes before all tickets.  The tickets of a queue are in the
 * order of their slots. */
static struct hf_etcd_engine_own_ticket *
before_gap(const struct hf_etcd_engine_queue *queue, uint32_t from)
{
    struct hf_etcd_engine_own_ticket *before = NULL;
    uint32_t slot = from;

    for (struct hf_etcd_engine_own_ticket *own = queue->own.first;
         own != NULL && own->slot <= slot; own = own->next) {
        if (own->slot == slot)
            slot++;
        before = own;
    }
    return before;
}

/* Put ${own} into its queue, with the lowest free slot from ${from} on. */
static void take_slot(struct hf_etcd_engine_own_ticket *own, uint32_t from)
{
    struct hf_etcd_engine_queue *queue = own->queue;
    struct hf_etcd_engine_own_ticket *before = before_gap(queue, from);

    own->slot =
        before != NULL && before->slot >= from ? before->slot + 1 : from;
    own->previous = before;
    own->next = before != NULL ? before->next : queue->own.first;
    if (own->previous != NULL)
        own->previous->next = own;
    else
        queue->own.first = own;
    if (own->next != NULL)
        own->next->previous = own;
    else
        queue->own.last = own;
    assert(own->next == NULL || own->next->slot > own->slot);
}

struct hf_etcd_engine_own_ticket *
hf_etcd_engine_own_new(struct hf_etcd_engine *engine,
                       struct hf_etcd_engine_queue *queue,
                       const struct hf_request *request)
{
    struct hf_etcd_engine_own_ticket *own = hf_alloc(sizeof *own);

    assert(hf_etcd_engine_own_find(engine, &request->ticket) == NULL);
    if (own == NULL)
        return NULL;
    own->queue = queue;
    own->id = request->ticket;
    own->kind = request->ticket_kind;
    own->weight = request->weight > 0 ? request->weight : 1;
    own->state = HF_ETCD_OWN_ENQUEUING;
    queue->users++;
    if (own->kind == HF_TICKET_ELECTION) {
        own->slot = HF_ETCD_NO_SLOT;
        HF_LIST_APPEND(&queue->own, own);
    } else {
        take_slot(own, 0);
    }
    hf_tree_add(&engine->own, &own->by_id, &own->id);
    HF_LIST_APPEND_BY(&engine->proofs, own, next_proof, previous_proof);
    return own;
}

void hf_etcd_engine_own_next_slot(struct hf_etcd_engine_own_ticket *own)
{
    uint32_t from = own->slot + 1;

    assert(own->state != HF_ETCD_OWN_QUEUED && own->slot != HF_ETCD_NO_SLOT);
    HF_LIST_REMOVE(&own->queue->own, own);
    take_slot(own, from);
}

void hf_etcd_engine_own_queued(struct hf_etcd_engine_own_ticket *own,
                               const struct hf_etcd_key_value *kv)
{
    assert(kv->create_revision > 0 && kv->mod_revision >= kv->create_revision);
    own->state = HF_ETCD_OWN_QUEUED;
    own->create_revision = kv->create_revision;
    hf_etcd_engine_own_value_begin(&own->value, kv);
}

bool hf_etcd_engine_own_is(const struct hf_etcd_engine_own_ticket *own,
                           const struct hf_etcd_key_value *kv)
{
    struct hf_etcd_engine_ticket_value value;

    if (own->kind == HF_TICKET_ELECTION) /* the id is in the name */
        return kv->create_revision > 0;
    value = hf_etcd_engine_value_parse(kv->value.bytes, kv->value.count);
    return kv->create_revision > 0 && value.kind != 0 &&
           hf_ticket_id_equal(&value.id, &own->id);
}

size_t hf_etcd_engine_own_key(const struct hf_etcd_engine *engine,
                              const struct hf_etcd_engine_own_ticket *own,
                              char key[HF_ETCD_KEY_BYTES])
{
    return hf_etcd_engine_ticket_key(engine->config.session.prefix,
                                     own->queue->name, engine->session.lease,
                                     own->kind, &own->id, own->slot, key);
}

void hf_etcd_engine_own_free(struct hf_etcd_engine *engine,
                             struct hf_etcd_engine_own_ticket *own)
{
    struct hf_etcd_engine_queue *queue = own->queue;

    HF_LIST_REMOVE(&queue->own, own);
    HF_LIST_REMOVE_BY(&engine->proofs, own, next_proof, previous_proof);
    hf_tree_remove(&engine->own, &own->by_id, &own->id);
    hf_free(own->seen);
    hf_free(own);
    hf_etcd_engine_queue_release(engine, queue);
}

void hf_etcd_engine_own_clear(struct hf_etcd_engine *engine)
{
    while (engine->proofs.first != NULL)
        hf_etcd_engine_own_free(engine, engine->proofs.first);
}

/* --------------------------------------------------------- what is ahead -- */

/* Copy ${listed} to ${seen}.  Returns false if the name of its key is too long.
 */
static bool remember(struct hf_etcd_engine_seen_ticket *seen,
                     const struct hf_etcd_engine_list *list,
                     const struct hf_etcd_engine_listed *listed)
{
    const char *suffix = list->text + listed->suffix;

    if (strlen(suffix) >= sizeof seen->suffix)
        return false;
    *seen = (struct hf_etcd_engine_seen_ticket){.id = listed->ticket.id,
                                                .kind = listed->ticket.kind,
                                                .create_revision =
                                                    listed->create_revision};
    memcpy(seen->suffix, suffix, strlen(suffix) + 1);
    return true;
}

/* The nearest tickets are the last ones in front of ${own}, so the list is read
 * backwards.  If there is no memory to remember them, a watch has to search for
 * its ticket. */
void hf_etcd_engine_own_listed(struct hf_etcd_engine_own_ticket *own,
                               const struct hf_etcd_engine_list *list,
                               size_t ahead, int64_t revision)
{
    struct hf_etcd_engine_seen_ticket seen[HF_ETCD_SEEN_MAX];
    size_t count = 0;

    hf_free(own->seen);
    own->seen = NULL;
    own->seen_count = 0;
    own->ahead = ahead;
    own->list_revision = revision;
    if (own->kind > HF_TICKET_QUEUED_LAST || own->kind == HF_TICKET_LEASE)
        return;
    for (size_t i = list->count; i-- > 0 && count < HF_ETCD_SEEN_MAX;) {
        const struct hf_etcd_engine_listed *listed = &list->listed[i];

        if (listed->create_revision < own->create_revision &&
            hf_admission_concerns(&own->id, own->kind, &listed->ticket.id,
                                  listed->ticket.kind))
            count += remember(&seen[count], list, listed);
    }
    if (count == 0 || (own->seen = hf_alloc(count * sizeof *seen)) == NULL)
        return;
    memcpy(own->seen, seen, count * sizeof *seen);
    own->seen_count = count;
}

const struct hf_etcd_engine_seen_ticket *
hf_etcd_engine_own_saw(const struct hf_etcd_engine_queue *queue,
                       const struct hf_ticket_id *id, int64_t *revision)
{
    for (const struct hf_etcd_engine_own_ticket *own = queue->own.first;
         own != NULL; own = own->next) {
        for (size_t i = 0; i < own->seen_count; i++) {
            if (hf_ticket_id_equal(&own->seen[i].id, id)) {
                *revision = own->list_revision;
                return &own->seen[i];
            }
        }
    }
    return NULL;
}
