/* SPDX-License-Identifier: Apache-2.0 */
/* See ticket_watches.h.  The watches of a queue are in a search tree by ticket
 * and number, so the watches of one ticket are found without a walk over
 * all. */
#include "engines/leased/ticket_watches.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "engines/leased/leased_private.h"

/* ----------------------------------------------------------------- table -- */

/* The sort key of a watch in the tree. */
struct watch_key {
    struct hf_ticket_id id;
    uint64_t number;
};

int hf_leased_watch_compare(const void *a, const struct hf_tree_node *node)
{
    const struct hf_leased_watch *watch =
        container_of(node, const struct hf_leased_watch, by_ticket);
    const struct watch_key *watch_key = a;
    int order = memcmp(&watch_key->id, &watch->id, sizeof watch_key->id);

    if (order != 0)
        return order;
    return (watch_key->number > watch->number) -
           (watch_key->number < watch->number);
}

static struct watch_key key_of(const struct hf_leased_watch *watch)
{
    return (struct watch_key){watch->id, watch->number};
}

/* Returns the first watch of the ticket ${id} with a number above ${number}, or
 * NULL. */
static struct hf_leased_watch *watch_after(const struct hf_leased_queue *queue,
                                           const struct hf_ticket_id *id,
                                           uint64_t number)
{
    const struct watch_key watch_key = {*id, number};
    struct hf_leased_watch *watch =
        container_of_or_null(hf_tree_after(&queue->watch_tree, &watch_key),
                             struct hf_leased_watch, by_ticket);

    return watch != NULL && hf_ticket_id_equal(&watch->id, id) ? watch : NULL;
}

struct hf_leased_watch *hf_leased_watch_new(struct hf_leased *leased,
                                            struct hf_request *request)
{
    struct hf_leased_watch *watch = hf_alloc(sizeof *watch);
    struct hf_leased_queue *queue;
    struct watch_key watch_key;

    if (watch == NULL)
        return NULL;
    queue = hf_leased_queue_ref(&leased->queue_table, request->queue);
    if (queue == NULL) {
        hf_free(watch);
        return NULL;
    }
    watch->request = request;
    watch->queue = queue;
    watch->id = request->ticket;
    watch->number = ++leased->queue_table.last_watch_number;
    watch->kind = request->ticket_kind;
    watch_key = key_of(watch);
    hf_tree_add(&queue->watch_tree, &watch->by_ticket, &watch_key);
    watch->previous_next = &queue->watches;
    watch->next = queue->watches;
    if (watch->next != NULL)
        watch->next->previous_next = &watch->next;
    queue->watches = watch;
    request->engine_data = watch;
    return watch;
}

void hf_leased_watch_forget(struct hf_leased *leased,
                            struct hf_leased_watch *watch)
{
    const struct watch_key watch_key = key_of(watch);

    hf_tree_remove(&watch->queue->watch_tree, &watch->by_ticket, &watch_key);
    *watch->previous_next = watch->next;
    if (watch->next != NULL)
        watch->next->previous_next = watch->previous_next;
    watch->request->engine_data = NULL;
    hf_leased_queue_unref(&leased->queue_table, watch->queue);
    hf_free(watch);
}

/* ---------------------------------------------------------------- events -- */

/* The receiver of an event may make any request and may forget watches.  So
 * after each event, the functions below look for the next watch by its
 * number. */

void hf_leased_watch_notify_gone(struct hf_leased *leased,
                                 struct hf_leased_watch *watch, const char *why,
                                 const struct hf_ticket_id *first)
{
    struct hf_event event = {.kind = HF_EVENT_GONE};

    event.as.answer.request = watch->request;
    event.as.answer.text = why;
    if (first != NULL)
        event.as.answer.first = *first;
    hf_leased_watch_forget(leased, watch);
    hf_leased_notify(leased, &event);
}

void hf_leased_watch_notify_watching(struct hf_leased *leased,
                                     struct hf_leased_watch *watch)
{
    struct hf_event event = {.kind = HF_EVENT_WATCHING};

    assert(!watch->watching);
    watch->watching = true;
    watch->call_number = 0;
    event.as.answer.request = watch->request;
    hf_leased_notify(leased, &event);
}

/* The same as hf_leased_watches_gone(), with ${why} and ${first} as in
 * hf_leased_ticket_gone(). */
static void notify_gone(struct hf_leased *leased, const char *queue_name,
                        const struct hf_ticket_id *id, enum hf_ticket_kind kind,
                        const char *why, const struct hf_ticket_id *first)
{
    struct hf_leased_queue *queue =
        hf_leased_queue_find(&leased->queue_table, queue_name);
    const struct hf_ticket_id gone = *id; /* a receiver may free ${id} */
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    if (queue == NULL)
        return;
    queue->references++; /* the receivers may drop the last reference */
    while ((watch = watch_after(queue, &gone, number)) != NULL) {
        number = watch->number;
        if (kind == 0 || watch->kind == kind)
            hf_leased_watch_notify_gone(leased, watch, why, first);
    }
    hf_leased_queue_unref(&leased->queue_table, queue);
}

void hf_leased_watches_gone(struct hf_leased *leased, const char *queue_name,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind)
{
    notify_gone(leased, queue_name, id, kind, NULL, NULL);
}

void hf_leased_watches_found(struct hf_leased *leased,
                             struct hf_leased_queue *queue,
                             const struct hf_ticket_id *id,
                             enum hf_ticket_kind kind)
{
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    queue->references++;
    /* GONE for watches of a write ticket that has become a read ticket.  The
     * reverse cannot happen: if a ticket that is watched as a read ticket is
     * found as a write ticket, the answer is older than the watch. */
    if (kind == HF_TICKET_READ)
        hf_leased_watches_gone(leased, queue->name, id, HF_TICKET_WRITE);
    while ((watch = watch_after(queue, id, number)) != NULL) {
        number = watch->number;
        if (!watch->watching)
            hf_leased_watch_notify_watching(leased, watch);
    }
    hf_leased_queue_unref(&leased->queue_table, queue);
}

void hf_leased_watches_notify_revoked(struct hf_leased *leased,
                                      struct hf_leased_ticket *ticket)
{
    struct hf_leased_queue *queue = ticket->queue;
    const struct hf_ticket_id id = ticket->id;
    uint32_t revoked = ticket->revoked;
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    queue->references++;
    while ((watch = watch_after(queue, &id, number)) != NULL) {
        struct hf_event event = {.kind = HF_EVENT_REVOKED};

        number = watch->number;
        if (!watch->watching || watch->revoked >= revoked)
            continue;
        watch->revoked = revoked;
        event.as.answer.request = watch->request;
        hf_leased_notify(leased, &event);
    }
    hf_leased_queue_unref(&leased->queue_table, queue);
}

void hf_leased_watches_revoked(struct hf_leased *leased,
                               const struct hf_ticket_id *id, uint32_t revoked)
{
    struct hf_leased_ticket *ticket = hf_leased_ticket_find(leased, id);

    if (ticket == NULL || ticket->revoked >= revoked)
        return;
    ticket->revoked = revoked;
    hf_leased_watches_notify_revoked(leased, ticket);
}

bool hf_leased_owner_watches(const struct hf_leased_ticket *ticket)
{
    const struct hf_leased_watch *watch =
        watch_after(ticket->queue, &ticket->id, 0);

    while (watch != NULL && watch->request->own_ticket != ticket->owner)
        watch = watch_after(ticket->queue, &ticket->id, watch->number);
    return watch != NULL;
}

/* Note that the server has lost the ticket, for the owner, who will soon watch
 * it.  If memory runs out, the reason is left out. */
static void keep_loss(struct hf_leased_ticket *ticket, const char *why)
{
    if (ticket->why == NULL && why != NULL)
        ticket->why = hf_strdup(why);
    ticket->loss_unreported = true;
}

void hf_leased_ticket_gone(struct hf_leased *leased, const char *queue_name,
                           const struct hf_ticket_id *id, const char *why,
                           const struct hf_ticket_id *first)
{
    struct hf_leased_queue *queue =
        hf_leased_queue_find(&leased->queue_table, queue_name);
    struct hf_leased_ticket *ticket = hf_leased_ticket_find(leased, id);

    if (queue == NULL)
        return;
    queue->references++;
    /* Before its ENQUEUE is answered, the ticket may still appear, so nothing
     * is noted.  If the owner does not watch the ticket, the loss is kept, and
     * no renewal may prove anything to the owner until it was notified. */
    if (ticket != NULL && ticket->state == HF_LEASED_TICKET_PRESENT) {
        if (ticket->abandoned || hf_leased_owner_watches(ticket))
            hf_leased_ticket_remove(leased, ticket);
        else
            keep_loss(ticket, why);
    }
    notify_gone(leased, queue->name, id, 0, why, first);
    hf_leased_queue_unref(&leased->queue_table, queue);
}

/* Fail the watches of the ticket ${id} that wait for the poll ${call}. */
static void fail_watches(struct hf_leased *leased,
                         const struct hf_leased_call *call,
                         const struct hf_ticket_id *id,
                         const struct hf_store_answer *answer)
{
    struct hf_leased_watch *watch;
    uint64_t number = 0;

    while ((watch = watch_after(call->queue, id, number)) != NULL) {
        struct hf_request *request = watch->request;

        number = watch->number;
        if (watch->watching || watch->call_number != call->number)
            continue;
        hf_leased_watch_forget(leased, watch);
        hf_leased_fail_with_answer(leased, request, answer);
    }
}

void hf_leased_watches_fail(struct hf_leased *leased,
                            const struct hf_leased_call *call,
                            const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < call->store_call.count; i++)
        fail_watches(leased, call, &call->store_call.tickets[i], answer);
}

void hf_leased_watches_clear(struct hf_leased *leased)
{
    struct hf_leased_queue *queue, *after;

    for (queue = leased->queue_table.first; queue != NULL; queue = after) {
        after = queue->next;
        queue->references++;
        while (queue->watches != NULL)
            hf_leased_watch_forget(leased, queue->watches);
        hf_leased_queue_unref(&leased->queue_table, queue);
    }
}
