/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a grant's tickets: what they say of its owner.
 */
#include <stddef.h>
#include <string.h>

#include "core/memory.h"
#include "core/multi_lock.h"
#include "host/grant.h"
#include "host/owner_text.h"

static struct hf_grant *of_acquisition(struct hf_acquisition *acquisition)
{
    return (struct hf_grant *)((char *)acquisition -
                               offsetof(struct hf_grant, acquisition));
}

struct hf_grant *hf_grant_of_ticket(const struct hf_own_ticket *ticket)
{
    struct hf_acquisition *acquisition = ticket->acquisition;
    struct hf_acquisition *parent = hf_acquisition_parent(acquisition);

    if (hf_acquisition_cohort(acquisition) != NULL)
        return NULL;
    return of_acquisition(parent != NULL ? parent : acquisition);
}

/* Add the limit of a semaphore.  The tickets of its entry mutex have it too,
 * because those who wait for the mutex see no others. */
static void describe_limit(char payload[HF_PAYLOAD_BYTES],
                           const struct hf_acquisition *acquisition)
{
    const struct hf_acquisition *lease = acquisition + acquisition->entry_mutex;

    if (lease->kind == HF_TICKET_LEASE)
        hf_owner_text_add_limit(payload, lease->limit, lease->weight);
}

/* Make room for ${size} bytes in the payload of ${grant}.  The old payload may
 * be freed, so no ticket of the grant may be under way with it.  False for lack
 * of memory. */
static bool grow_payload(struct hf_grant *grant, size_t size)
{
    const struct hf_multi_lock *multi_lock =
        hf_acquisition_multi_lock(&grant->acquisition);
    char *larger;

    if (size <= grant->payload_size)
        return true;
    if ((larger = hf_alloc(size)) == NULL)
        return false;
    memcpy(larger, grant->payload, grant->payload_bytes);
    hf_free(grant->payload_larger);
    grant->payload = grant->payload_larger = larger;
    grant->payload_size = size;
    grant->acquisition.payload = larger;
    for (size_t i = 0; multi_lock != NULL && i < multi_lock->count; i++)
        multi_lock->children[i].payload = larger;
    return true;
}

/* First what is the same for all tickets of the grant, then the limit, then
 * what its owner holds now. */
void hf_grant_write_payload(struct hf_own_ticket *ticket)
{
    struct hf_acquisition *acquisition = ticket->acquisition;
    char payload[HF_PAYLOAD_BYTES];
    size_t least;
    struct hf_grant *grant = hf_grant_of_ticket(ticket);

    if (grant == NULL)
        /* Several share the ticket, and its payload is that of the first. */
        return;
    memcpy(payload, grant->payload, grant->payload_bytes);
    payload[grant->payload_bytes] = '\0';
    describe_limit(payload, acquisition);
    least = strlen(payload);
    hf_owner_grants_write(grant, payload);
    if (!grow_payload(grant, strlen(payload) + 1))
        /* Without memory for it, leave out what its owner holds. */
        payload[least] = '\0';
    memcpy(grant->payload, payload, strlen(payload) + 1);
    ticket->request.payload = grant->payload;
}

/* The tickets of one grant use its payload one after the other.  A ticket that
 * is held has lost what it said to the next one.  It does not wait, so it need
 * not say what its owner holds. */
void hf_grant_add_asked(struct hf_own_ticket *ticket)
{
    struct hf_acquisition *acquisition = ticket->acquisition;
    struct hf_ticket_description *description = ticket->description;
    struct hf_acquisition *parent = hf_acquisition_parent(acquisition);

    if (parent != NULL && acquisition->state == HF_ACQUISITION_HELD &&
        !description->retrying) {
        description->text[of_acquisition(parent)->payload_bytes] = '\0';
        describe_limit(description->text, acquisition);
    }
    hf_owner_text_add_asked(description->text);
}
