/* SPDX-License-Identifier: Apache-2.0 */
/* A search tree of our tickets by id.  The tickets of one queue are linked as
 * well. */
#include "engines/leased/leased_tickets.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "engines/leased/leased_private.h"

static int compare(const void *id, const struct hf_tree_node *node)
{
    const struct hf_leased_ticket *ticket =
        (const struct hf_leased_ticket *)(const void *)node;

    return memcmp(id, &ticket->id, sizeof ticket->id);
}

void hf_leased_tickets_init(struct hf_leased_tickets *tickets)
{
    tickets->ids = (struct hf_tree){.compare = compare};
}

struct hf_leased_ticket *hf_leased_ticket_find(const struct hf_leased *leased,
                                               const struct hf_ticket_id *id)
{
    return (struct hf_leased_ticket *)(void *)hf_tree_find(&leased->tickets.ids,
                                                           id);
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
        hf_leased_ticket_remove(leased,
                                (struct hf_leased_ticket *)(void *)node);
}
