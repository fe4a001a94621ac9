/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a grant's tickets: what they say of its owner.
 */
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "client/grant.h"
#include "client/owner_text.h"
#include "core/multi_lock.h"

struct hf_grant *hf_grant_of_ticket(const struct hf_own_ticket *ticket)
{
    struct hf_acquisition *acquisition = ticket->acquisition;
    struct hf_acquisition *parent = hf_acquisition_parent(acquisition);

    if (hf_acquisition_cohort(acquisition) != NULL)
        return NULL;
    return container_of(parent != NULL ? parent : acquisition, struct hf_grant,
                        acquisition);
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

/* Write what a ticket of ${grant}, one of ${acquisition}, says now: first what
 * is the same for all of its tickets, then the limit, then what its owner
 * holds.  Returns the length without what the owner holds. */
static size_t compose(char payload[HF_PAYLOAD_BYTES],
                      const struct hf_grant *grant,
                      const struct hf_acquisition *acquisition)
{
    size_t least;

    memcpy(payload, grant->payload, grant->payload_bytes);
    payload[grant->payload_bytes] = '\0';
    describe_limit(payload, acquisition);
    least = strlen(payload);
    hf_owner_grants_write(grant, payload);
    return least;
}

void hf_grant_write_payload(struct hf_own_ticket *ticket)
{
    char payload[HF_PAYLOAD_BYTES];
    struct hf_grant *grant = hf_grant_of_ticket(ticket);
    size_t least;

    if (grant == NULL)
        /* Several share the ticket, and its payload is that of the first. */
        return;
    least = compose(payload, grant, ticket->acquisition);
    if (!grow_payload(grant, strlen(payload) + 1))
        /* Without memory for it, leave out what its owner holds. */
        payload[least] = '\0';
    memcpy(grant->payload, payload, strlen(payload) + 1);
    ticket->request.payload = grant->payload;
}

/* Does ${ticket} wait?  Or is it the entry mutex of a semaphore whose permits
 * are waited for?  That mutex is released when the permits are there. */
static bool is_waiting(const struct hf_own_ticket *ticket)
{
    return ticket->state == HF_OWN_TICKET_QUEUED ||
           (ticket->acquisition->entry_mutex &&
            ticket->acquisition->state == HF_ACQUISITION_HELD);
}

/* All tickets of one grant have their payload in the same memory, one after the
 * other.  So the payload of a ticket that is held may have been overwritten,
 * and its text is made anew.  The words about what its owner holds are left
 * out, because only a ticket that waits needs them. */
static void write_again(struct hf_own_ticket *ticket)
{
    struct hf_acquisition *acquisition = ticket->acquisition;
    struct hf_text_update *update = ticket->text_update;
    struct hf_acquisition *parent = hf_acquisition_parent(acquisition);
    const struct hf_grant *grant = hf_grant_of_ticket(ticket);

    if (is_waiting(ticket) && grant != NULL) {
        (void)compose(update->text, grant, acquisition);
    } else if (parent != NULL && acquisition->state == HF_ACQUISITION_HELD) {
        grant = container_of(parent, struct hf_grant, acquisition);
        update->text[grant->payload_bytes] = '\0';
        describe_limit(update->text, acquisition);
    }
}

void hf_grant_update_text(struct hf_own_ticket *ticket)
{
    if (!ticket->text_update->retrying)
        write_again(ticket);
    if (ticket->text_update->asked)
        hf_owner_text_add_asked(ticket->text_update->text);
}

void hf_grant_describe_again(struct hf_op *op)
{
    struct hf_grant *grant = container_of(
        container_of(op, struct hf_user_op, handle), struct hf_grant, user_op);
    struct hf_event event = {.kind = HF_EVENT_DESCRIBE};
    struct hf_client *client = grant->client;

    if (hf_monitor_enter(&client->monitor, NULL) != HF_OK)
        return;
    event.as.acquisition = &grant->acquisition;
    hf_client_step(client, &event);
    hf_monitor_leave(&client->monitor);
}
