/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/watches.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "engines/leased/private.h"

/* ----------------------------------------------------------------- table -- */

struct key {
    struct hf_ticket_id id;
    uint64_t number;
};

static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct hf_leased_watch *watch =
        (const struct hf_leased_watch *)(const void *)node;
    const struct key *key = a;
    int order = memcmp(&key->id, &watch->id, sizeof key->id);

    if (order != 0)
        return order;
    return (key->number > watch->number) - (key->number < watch->number);
}

void hf_leased_watched_init(struct hf_tree *watched)
{
    *watched = (struct hf_tree){.compare = compare};
}

static struct key key_of(const struct hf_leased_watch *watch)
{
    return (struct key){watch->id, watch->number};
}

/* The first of those who watch ${id} with a number above ${number}, or NULL. */
static struct hf_leased_watch *watch_after(const struct hf_leased_queue *queue,
                                           const struct hf_ticket_id *id,
                                           uint64_t number)
{
    const struct key key = {*id, number};
    struct hf_leased_watch *watch =
        (struct hf_leased_watch *)(void *)hf_tree_after(&queue->watched, &key);

    return watch != NULL && hf_ticket_id_equal(&watch->id, id) ? watch : NULL;
}

static struct hf_leased_watch *watch_new(struct hf_leased *leased,
                                         struct hf_request *request)
{
    struct hf_leased_watch *watch = hf_alloc(sizeof *watch);
    struct hf_leased_queue *queue;
    struct key key;

    if (watch == NULL)
        return NULL;
    queue = hf_leased_queue_use(&leased->queues, request->queue);
    if (queue == NULL) {
        hf_free(watch);
        return NULL;
    }
    watch->request = request;
    watch->queue = queue;
    watch->id = request->ticket;
    watch->number = ++leased->queues.watch_number;
    watch->kind = request->ticket_kind;
    key = key_of(watch);
    hf_tree_add(&queue->watched, &watch->by_ticket, &key);
    watch->from = &queue->watches;
    watch->next = queue->watches;
    if (watch->next != NULL)
        watch->next->from = &watch->next;
    queue->watches = watch;
    request->engine_data = watch;
    return watch;
}

static void watch_free(struct hf_leased *leased, struct hf_leased_watch *watch)
{
    const struct key key = key_of(watch);

    hf_tree_remove(&watch->queue->watched, &watch->by_ticket, &key);
    *watch->from = watch->next;
    if (watch->next != NULL)
        watch->next->from = watch->from;
    watch->request->engine_data = NULL;
    hf_leased_queue_leave(&leased->queues, watch->queue);
    hf_free(watch);
}

void hf_leased_watch_forget(struct hf_leased *leased,
                            struct hf_leased_watch *watch)
{
    watch_free(leased, watch);
}

/* ------------------------------------------------------------------ tell -- */

/* The one who is told may ask for anything, so that each of the following looks
 * for the next one by number. */

static void tell_gone(struct hf_leased *leased, struct hf_leased_watch *watch)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = watch->request;
    watch_free(leased, watch);
    hf_leased_tell(leased, &event);
}

static void tell_watching(struct hf_leased *leased,
                          struct hf_leased_watch *watch)
{
    struct hf_event event = {.kind = HF_EVENT_WATCHING};

    watch->watching = true;
    watch->op = 0;
    event.as.answer.request = watch->request;
    hf_leased_tell(leased, &event);
}

void hf_leased_watches_gone(struct hf_leased *leased, const char *queue,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind)
{
    struct hf_leased_queue *place =
        hf_leased_queue_find(&leased->queues, queue);
    const struct hf_ticket_id gone = *id; /* may go with those who are told */
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    if (place == NULL)
        return;
    place->users++; /* it may be the last thing that they wanted of it */
    while ((watch = watch_after(place, &gone, number)) != NULL) {
        number = watch->number;
        if (kind == 0 || watch->kind == kind)
            tell_gone(leased, watch);
    }
    hf_leased_queue_leave(&leased->queues, place);
}

void hf_leased_watches_seen(struct hf_leased *leased,
                            struct hf_leased_queue *queue,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind)
{
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    queue->users++;
    /* The other way round it is an old answer: no ticket becomes a writer. */
    if (kind == HF_TICKET_READ)
        hf_leased_watches_gone(leased, queue->name, id, HF_TICKET_WRITE);
    while ((watch = watch_after(queue, id, number)) != NULL) {
        number = watch->number;
        if (!watch->watching)
            tell_watching(leased, watch);
    }
    hf_leased_queue_leave(&leased->queues, queue);
}

static void tell_revoked(struct hf_leased *leased, struct hf_leased_own *own)
{
    struct hf_leased_queue *queue = own->queue;
    const struct hf_ticket_id id = own->id;
    uint32_t revoked = own->revoked;
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    queue->users++;
    while ((watch = watch_after(queue, &id, number)) != NULL) {
        struct hf_event event = {.kind = HF_EVENT_REVOKED};

        number = watch->number;
        if (!watch->watching || watch->revoked >= revoked)
            continue;
        watch->revoked = revoked;
        event.as.answer.request = watch->request;
        hf_leased_tell(leased, &event);
    }
    hf_leased_queue_leave(&leased->queues, queue);
}

void hf_leased_watches_revoked(struct hf_leased *leased,
                               const struct hf_ticket_id *id, uint32_t revoked)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, id);

    if (own == NULL || own->revoked >= revoked)
        return;
    own->revoked = revoked;
    tell_revoked(leased, own);
}

bool hf_leased_watched_by_owner(const struct hf_leased_own *own)
{
    const struct hf_leased_watch *watch = watch_after(own->queue, &own->id, 0);

    while (watch != NULL && watch->request->own_ticket != own->owner)
        watch = watch_after(own->queue, &own->id, watch->number);
    return watch != NULL;
}

static void fail_of(struct hf_leased *leased, const struct hf_leased_op *op,
                    const struct hf_ticket_id *id,
                    const struct hf_store_answer *answer)
{
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    while ((watch = watch_after(op->queue, id, number)) != NULL) {
        struct hf_request *request = watch->request;

        number = watch->number;
        if (watch->watching || watch->op != op->number)
            continue;
        watch_free(leased, watch);
        hf_leased_fail_as(leased, request, answer);
    }
}

void hf_leased_watches_fail(struct hf_leased *leased,
                            const struct hf_leased_op *op,
                            const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < op->call.count; i++)
        fail_of(leased, op, &op->call.tickets[i], answer);
}

/* ------------------------------------------------------------------- new -- */

/* Ours, and at the server when we last heard of it. */
static bool is_known(const struct hf_leased_own *own)
{
    return own != NULL && own->state == HF_LEASED_OWN_THERE;
}

void hf_leased_watch(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, &request->ticket);
    struct hf_leased_watch *watch = watch_new(leased, request);

    if (watch == NULL) {
        hf_leased_fail_memory(leased, request);
        return;
    }
    if (!is_known(own)) {
        if (!hf_leased_probe_for(leased, watch)) {
            watch_free(leased, watch);
            hf_leased_fail_memory(leased, request);
        }
        return;
    }
    if (own->gone) {
        hf_leased_own_drop(leased, own);
        tell_gone(leased, watch);
        return;
    }
    if (watch->kind == HF_TICKET_WRITE && own->kind == HF_TICKET_READ) {
        tell_gone(leased, watch);
        return;
    }
    tell_watching(leased, watch);
    own = hf_leased_own_find(leased, &request->ticket);
    if (own != NULL)
        tell_revoked(leased, own);
}

void hf_leased_watches_clear(struct hf_leased *leased)
{
    struct hf_leased_queue *queue, *after;

    for (queue = hf_leased_queue_first(&leased->queues); queue != NULL;
         queue = after) {
        after = hf_leased_queue_after(queue);
        queue->users++;
        while (queue->watches != NULL)
            watch_free(leased, queue->watches);
        hf_leased_queue_leave(&leased->queues, queue);
    }
}
