/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/quorum/own.h"

#include <string.h>

#include "core/memory.h"

/* Ids are random. */
static size_t bucket_of(const struct hf_ticket_id *id)
{
    return id->bytes[0] % HF_QUORUM_OWN_BUCKETS;
}

struct hf_quorum_own *hf_quorum_own_find(const struct hf_quorum_owns *owns,
                                         const struct hf_ticket_id *id)
{
    struct hf_quorum_own *own = owns->buckets[bucket_of(id)];

    while (own != NULL && !hf_ticket_id_equal(&own->id, id))
        own = own->next;
    return own;
}

static void own_free(struct hf_quorum_own *own)
{
    hf_free(own->queue);
    hf_free(own->payload);
    hf_free(own);
}

static struct hf_quorum_own *own_new(const struct hf_store_call *call)
{
    struct hf_quorum_own *own = hf_alloc(sizeof *own);

    if (own == NULL)
        return NULL;
    own->id = call->ticket;
    own->kind = call->ticket_kind;
    own->weight = call->weight;
    own->look_at_ms = HF_FOREVER;
    own->queue = hf_strdup(call->queue);
    own->payload = hf_strdup(call->payload);
    if (own->queue != NULL && own->payload != NULL)
        return own;
    own_free(own);
    return NULL;
}

struct hf_quorum_own *hf_quorum_own_get(struct hf_quorum_owns *owns,
                                        const struct hf_store_call *call)
{
    struct hf_quorum_own *own = hf_quorum_own_find(owns, &call->ticket);
    struct hf_quorum_own **bucket = &owns->buckets[bucket_of(&call->ticket)];

    if (own != NULL || (own = own_new(call)) == NULL)
        return own;
    own->next = *bucket;
    *bucket = own;
    return own;
}

void hf_quorum_own_describe(struct hf_quorum_own *own, const char *payload)
{
    char *copy = hf_strdup(payload);

    if (copy == NULL)
        return;
    hf_free(own->payload);
    own->payload = copy;
}

void hf_quorum_own_drop(struct hf_quorum_owns *owns, struct hf_quorum_own *own)
{
    struct hf_quorum_own **at = &owns->buckets[bucket_of(&own->id)];

    while (*at != own)
        at = &(*at)->next;
    *at = own->next;
    own_free(own);
}

void hf_quorum_owns_clear(struct hf_quorum_owns *owns)
{
    for (size_t i = 0; i < HF_QUORUM_OWN_BUCKETS; i++) {
        while (owns->buckets[i] != NULL)
            hf_quorum_own_drop(owns, owns->buckets[i]);
    }
}

static struct hf_quorum_own *first_from(const struct hf_quorum_owns *owns,
                                        size_t bucket)
{
    for (; bucket < HF_QUORUM_OWN_BUCKETS; bucket++) {
        if (owns->buckets[bucket] != NULL)
            return owns->buckets[bucket];
    }
    return NULL;
}

struct hf_quorum_own *hf_quorum_own_first(const struct hf_quorum_owns *owns)
{
    return first_from(owns, 0);
}

struct hf_quorum_own *hf_quorum_own_after(const struct hf_quorum_owns *owns,
                                          const struct hf_quorum_own *own)
{
    return own->next != NULL ? own->next
                             : first_from(owns, bucket_of(&own->id) + 1);
}

uint64_t hf_quorum_own_number(const struct hf_quorum_owns *owns,
                              const char *queue)
{
    const struct hf_quorum_own *own;
    uint64_t number = 0;

    for (own = hf_quorum_own_first(owns); own != NULL;
         own = hf_quorum_own_after(owns, own)) {
        if (own->number > number && strcmp(own->queue, queue) == 0)
            number = own->number;
    }
    return number;
}
