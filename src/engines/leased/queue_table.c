/* SPDX-License-Identifier: Apache-2.0 */
/* See queue_table.h.  Queues are in a search tree by name and in a list; our
 * own tickets are in a search tree by id and in a list for each queue. */
#include "engines/leased/queue_table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"

static int compare_names(const void *name, const struct hf_tree_node *node)
{
    const struct hf_leased_queue *queue =
        container_of(node, const struct hf_leased_queue, by_name);

    return strcmp(name, queue->name);
}

void hf_leased_queue_table_init(struct hf_leased_queue_table *table,
                                hf_tree_compare *compare_watches)
{
    *table = (struct hf_leased_queue_table){.names = {.compare = compare_names},
                                            .compare_watches = compare_watches,
                                            .poll_at_ms = HF_FOREVER};
}

struct hf_leased_queue *
hf_leased_queue_find(const struct hf_leased_queue_table *table,
                     const char *name)
{
    return container_of_or_null(hf_tree_find(&table->names, name),
                                struct hf_leased_queue, by_name);
}

/* Make a queue without references.  Returns NULL if memory runs out. */
static struct hf_leased_queue *
queue_new(const struct hf_leased_queue_table *table, const char *name)
{
    size_t bytes = strlen(name) + 1;
    struct hf_leased_queue *queue = hf_alloc(sizeof *queue + bytes);

    if (queue == NULL)
        return NULL;
    queue->poll_at_ms = HF_FOREVER;
    queue->watch_tree.compare = table->compare_watches;
    memcpy(queue->name, name, bytes);
    return queue;
}

static void add(struct hf_leased_queue_table *table,
                struct hf_leased_queue *queue)
{
    hf_tree_add(&table->names, &queue->by_name, queue->name);
    queue->next = table->first;
    queue->previous_next = &table->first;
    if (queue->next != NULL)
        queue->next->previous_next = &queue->next;
    table->first = queue;
}

struct hf_leased_queue *hf_leased_queue_ref(struct hf_leased_queue_table *table,
                                            const char *name)
{
    struct hf_leased_queue *queue = hf_leased_queue_find(table, name);

    if (queue == NULL) {
        if ((queue = queue_new(table, name)) == NULL)
            return NULL;
        add(table, queue);
    }
    queue->references++;
    return queue;
}

void hf_leased_queue_unref(struct hf_leased_queue_table *table,
                           struct hf_leased_queue *queue)
{
    assert(queue->references > 0);
    if (--queue->references > 0)
        return;
    assert(queue->tickets == NULL && queue->watches == NULL &&
           queue->queue_watches == NULL);
    hf_tree_remove(&table->names, &queue->by_name, queue->name);
    *queue->previous_next = queue->next;
    if (queue->next != NULL)
        queue->next->previous_next = queue->previous_next;
    hf_free(queue);
}

void hf_leased_queue_poll_by(struct hf_leased_queue_table *table,
                             struct hf_leased_queue *queue, uint64_t at_ms)
{
    queue->poll_at_ms = hf_min_ms(queue->poll_at_ms, at_ms);
    table->poll_at_ms = hf_min_ms(table->poll_at_ms, at_ms);
}

const char *hf_leased_queue_of(const struct hf_request *request,
                               char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES])
{
    bool of_flags = (request->kind == HF_REQUEST_SET_FLAG ||
                     request->kind == HF_REQUEST_CLEAR_FLAG ||
                     request->kind == HF_REQUEST_WATCH_QUEUE) &&
                    request->ticket_kind == HF_TICKET_BARRIER;

    if (!of_flags)
        return request->queue;
    (void)snprintf(flag_queue, HF_LEASED_FLAG_QUEUE_BYTES, "%s/",
                   request->queue);
    return flag_queue;
}

/* ------------------------------------------------ when a queue is polled -- */

/* The longest time between two polls of a queue in which something is watched.
 */
#define POLL_MAX_MS UINT64_C(5000)

static uint64_t poll_ms(const struct hf_leased *leased)
{
    return hf_min_ms(leased->config.ttl_ms / 2, POLL_MAX_MS);
}

/* Returns the longest time until the next poll of ${queue}.
 *
 * If a queue watch has listed no ticket, it waits until a ticket comes.  No
 * lease ends there that a poll must find.  A poll is of use only if a notice
 * was lost, or if another program sends no notice, and no waiter's turn depends
 * on it.  So one poll in a ttl is enough. */
static uint64_t longest_ms(const struct hf_leased *leased,
                           const struct hf_leased_queue *queue,
                           const struct hf_store_answer *answer)
{
    return answer->count == 0 && queue->watches == NULL ? leased->config.ttl_ms
                                                        : poll_ms(leased);
}

void hf_leased_poll_plan(struct hf_leased *leased,
                         struct hf_leased_queue *queue,
                         const struct hf_store_answer *answer)
{
    uint64_t in_ms = longest_ms(leased, queue, answer);

    if (queue->watches == NULL && queue->queue_watches == NULL)
        return;
    for (size_t i = 0; i < answer->count; i++)
        in_ms = hf_min_ms(in_ms, hf_after_ms(answer->leases[i].expires_in_ms,
                                             HF_LEASED_EXPIRY_SLACK_MS));
    hf_leased_queue_poll_by(&leased->queue_table, queue,
                            hf_after_ms(leased->now_ms, in_ms));
}

void hf_leased_poll_later(struct hf_leased *leased,
                          struct hf_leased_queue *queue)
{
    hf_leased_queue_poll_by(&leased->queue_table, queue,
                            hf_after_ms(leased->now_ms, poll_ms(leased)));
}

/* ----------------------------------------------------------- our tickets -- */

static int compare_ids(const void *id, const struct hf_tree_node *node)
{
    const struct hf_leased_ticket *ticket =
        container_of(node, const struct hf_leased_ticket, by_id);

    return memcmp(id, &ticket->id, sizeof ticket->id);
}

void hf_leased_tickets_init(struct hf_leased_tickets *tickets)
{
    tickets->ids = (struct hf_tree){.compare = compare_ids};
}

struct hf_leased_ticket *hf_leased_ticket_find(const struct hf_leased *leased,
                                               const struct hf_ticket_id *id)
{
    return container_of_or_null(hf_tree_find(&leased->tickets.ids, id),
                                struct hf_leased_ticket, by_id);
}

struct hf_leased_ticket *hf_leased_ticket_add(struct hf_leased *leased,
                                              struct hf_leased_queue *queue,
                                              const struct hf_ticket_id *id)
{
    struct hf_leased_ticket *ticket = hf_alloc(sizeof *ticket);

    assert(hf_leased_ticket_find(leased, id) == NULL);
    if (ticket == NULL)
        return NULL;
    ticket->id = *id;
    ticket->queue = queue;
    hf_tree_add(&leased->tickets.ids, &ticket->by_id, id);
    ticket->previous_next_in_queue = &queue->tickets;
    ticket->next_in_queue = queue->tickets;
    if (ticket->next_in_queue != NULL)
        ticket->next_in_queue->previous_next_in_queue = &ticket->next_in_queue;
    queue->tickets = ticket;
    queue->references++;
    leased->queue_table.ticket_count++;
    return ticket;
}

void hf_leased_ticket_remove(struct hf_leased *leased,
                             struct hf_leased_ticket *ticket)
{
    assert(leased->queue_table.ticket_count > 0);
    hf_tree_remove(&leased->tickets.ids, &ticket->by_id, &ticket->id);
    *ticket->previous_next_in_queue = ticket->next_in_queue;
    if (ticket->next_in_queue != NULL)
        ticket->next_in_queue->previous_next_in_queue =
            ticket->previous_next_in_queue;
    leased->queue_table.ticket_count--;
    hf_leased_queue_unref(&leased->queue_table, ticket->queue);
    hf_free(ticket->why);
    hf_free(ticket);
}

void hf_leased_tickets_clear(struct hf_leased *leased)
{
    struct hf_tree_node *node;

    while ((node = leased->tickets.ids.root) != NULL)
        hf_leased_ticket_remove(
            leased, container_of(node, struct hf_leased_ticket, by_id));
}
