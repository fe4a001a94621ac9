/* SPDX-License-Identifier: Apache-2.0 */
/* See quorum_tickets.h.  A hash table with chains. */
#include "engines/quorum/quorum_tickets.h"

#include <string.h>

#include "base/memory.h"

/* Ids are random, so one byte of the id is the hash. */
static size_t bucket_of(const struct hf_ticket_id *id)
{
    return id->bytes[0] % HF_QUORUM_TICKET_BUCKETS;
}

struct hf_quorum_ticket *
hf_quorum_ticket_find(const struct hf_quorum_tickets *tickets,
                      const struct hf_ticket_id *id)
{
    struct hf_quorum_ticket *ticket = tickets->buckets[bucket_of(id)];

    while (ticket != NULL && !hf_ticket_id_equal(&ticket->id, id))
        ticket = ticket->next;
    return ticket;
}

static void ticket_free(struct hf_quorum_ticket *ticket)
{
    hf_free(ticket->queue);
    hf_free(ticket->payload);
    hf_free(ticket);
}

/* Make a ticket for ${call}, without a number.  Returns NULL if memory runs
 * out. */
static struct hf_quorum_ticket *ticket_new(const struct hf_store_call *call)
{
    struct hf_quorum_ticket *ticket = hf_alloc(sizeof *ticket);

    if (ticket == NULL)
        return NULL;
    ticket->id = call->ticket;
    ticket->kind = call->ticket_kind;
    ticket->weight = call->weight;
    ticket->recheck_at_ms = HF_FOREVER;
    ticket->queue = hf_strdup(call->queue);
    ticket->payload = hf_strdup(call->payload);
    if (ticket->queue != NULL && ticket->payload != NULL)
        return ticket;
    ticket_free(ticket);
    return NULL;
}

struct hf_quorum_ticket *hf_quorum_ticket_get(struct hf_quorum_tickets *tickets,
                                              const struct hf_store_call *call)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(tickets, &call->ticket);
    struct hf_quorum_ticket **bucket =
        &tickets->buckets[bucket_of(&call->ticket)];

    if (ticket != NULL || (ticket = ticket_new(call)) == NULL)
        return ticket;
    ticket->next = *bucket;
    *bucket = ticket;
    return ticket;
}

void hf_quorum_ticket_describe(struct hf_quorum_ticket *ticket,
                               const char *payload)
{
    char *copy = hf_strdup(payload);

    if (copy == NULL)
        return;
    hf_free(ticket->payload);
    ticket->payload = copy;
}

void hf_quorum_ticket_remove(struct hf_quorum_tickets *tickets,
                             struct hf_quorum_ticket *ticket)
{
    struct hf_quorum_ticket **at = &tickets->buckets[bucket_of(&ticket->id)];

    while (*at != ticket)
        at = &(*at)->next;
    *at = ticket->next;
    ticket_free(ticket);
}

void hf_quorum_tickets_clear(struct hf_quorum_tickets *tickets)
{
    for (size_t i = 0; i < HF_QUORUM_TICKET_BUCKETS; i++) {
        while (tickets->buckets[i] != NULL)
            hf_quorum_ticket_remove(tickets, tickets->buckets[i]);
    }
}

static struct hf_quorum_ticket *
first_from(const struct hf_quorum_tickets *tickets, size_t bucket)
{
    for (; bucket < HF_QUORUM_TICKET_BUCKETS; bucket++) {
        if (tickets->buckets[bucket] != NULL)
            return tickets->buckets[bucket];
    }
    return NULL;
}

struct hf_quorum_ticket *
hf_quorum_ticket_first(const struct hf_quorum_tickets *tickets)
{
    return first_from(tickets, 0);
}

struct hf_quorum_ticket *
hf_quorum_ticket_next(const struct hf_quorum_tickets *tickets,
                      const struct hf_quorum_ticket *ticket)
{
    return ticket->next != NULL
               ? ticket->next
               : first_from(tickets, bucket_of(&ticket->id) + 1);
}

uint64_t hf_quorum_tickets_max_number(const struct hf_quorum_tickets *tickets,
                                      const char *queue)
{
    const struct hf_quorum_ticket *ticket;
    uint64_t number = 0;

    for (ticket = hf_quorum_ticket_first(tickets); ticket != NULL;
         ticket = hf_quorum_ticket_next(tickets, ticket)) {
        if (ticket->number > number && strcmp(ticket->queue, queue) == 0)
            number = ticket->number;
    }
    return number;
}
