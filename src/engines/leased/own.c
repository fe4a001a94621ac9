/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/leased/own.h"

#include <assert.h>
#include <string.h>

#include "core/memory.h"
#include "engines/leased/private.h"

/* Ids are random. */
static size_t bucket_of(const struct hf_ticket_id *id)
{
    uint32_t bits;

    memcpy(&bits, id->bytes, sizeof bits);
    return bits % HF_LEASED_OWN_BUCKETS;
}

struct hf_leased_own *hf_leased_own_find(const struct hf_leased *leased,
                                         const struct hf_ticket_id *id)
{
    struct hf_leased_own *own = leased->owns.buckets[bucket_of(id)];

    while (own != NULL && !hf_ticket_id_equal(&own->id, id))
        own = own->next;
    return own;
}

struct hf_leased_own *hf_leased_own_add(struct hf_leased *leased,
                                        struct hf_leased_queue *queue,
                                        const struct hf_ticket_id *id)
{
    struct hf_leased_own **bucket = &leased->owns.buckets[bucket_of(id)];
    struct hf_leased_own *own = hf_alloc(sizeof *own);

    assert(hf_leased_own_find(leased, id) == NULL);
    if (own == NULL)
        return NULL;
    own->id = *id;
    own->queue = queue;
    own->next = *bucket;
    *bucket = own;
    own->from_in_queue = &queue->owns;
    own->next_in_queue = queue->owns;
    if (own->next_in_queue != NULL)
        own->next_in_queue->from_in_queue = &own->next_in_queue;
    queue->owns = own;
    queue->users++;
    leased->queues.own_count++;
    return own;
}

void hf_leased_own_drop(struct hf_leased *leased, struct hf_leased_own *own)
{
    struct hf_leased_own **at = &leased->owns.buckets[bucket_of(&own->id)];

    while (*at != own)
        at = &(*at)->next;
    *at = own->next;
    *own->from_in_queue = own->next_in_queue;
    if (own->next_in_queue != NULL)
        own->next_in_queue->from_in_queue = own->from_in_queue;
    leased->queues.own_count--;
    hf_leased_queue_leave(&leased->queues, own->queue);
    hf_free(own);
}

void hf_leased_owns_clear(struct hf_leased *leased)
{
    for (size_t i = 0; i < HF_LEASED_OWN_BUCKETS; i++) {
        while (leased->owns.buckets[i] != NULL)
            hf_leased_own_drop(leased, leased->owns.buckets[i]);
    }
}
