/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash table of grants by owner, and the text that it is for.
 */
#include "client/owner_grants.h"

#include <string.h>

#include "client/grant.h"

/* The bucket of ${owner}.  Owners are counted threads, pointers, or whatever a
 * program chooses.  With multiplicative hashing the upper bits of the product
 * depend on all bits below (Knuth, "The Art of Computer Programming", volume 3,
 * 6.4). */
static struct hf_grant **bucket_of(struct hf_owner_grants *owner_grants,
                                   uint64_t owner)
{
    uint64_t hash = owner * UINT64_C(0x9E3779B97F4A7C15);

    return &owner_grants->buckets[(hash >> 32) & (HF_OWNER_GRANTS_BUCKETS - 1)];
}

void hf_owner_grants_inherit(struct hf_client *client, const char *name,
                             const char *id, bool waits)
{
    struct hf_owner_grants *owner_grants = &client->owner_grants;

    size_t room = HF_OWNER_INHERITED_BYTES - strlen(owner_grants->inherited);

    if (waits)
        (void)hf_owner_text_add_hold(owner_grants->inherited,
                                     HF_OWNER_INHERITED_BYTES, name, id);
    else if (room > sizeof(" outer=+"))
        (void)hf_owner_text_add_outer(owner_grants->outer, room, name, id);
}

void hf_owner_grants_disinherit(struct hf_client *client)
{
    client->owner_grants.inherited[0] = '\0';
    client->owner_grants.outer[0] = '\0';
}

/* At the head of the bucket, so the newest grant is named first. */
void hf_owner_grants_add(struct hf_grant *grant)
{
    struct hf_grant **bucket;

    if (grant->owner == 0 || grant->held_link != NULL)
        return;
    bucket = bucket_of(&grant->client->owner_grants, grant->owner);
    grant->held_next = *bucket;
    grant->held_link = bucket;
    if (*bucket != NULL)
        (*bucket)->held_link = &grant->held_next;
    *bucket = grant;
}

void hf_owner_grants_remove(struct hf_grant *grant)
{
    if (grant->held_link == NULL)
        return;
    *grant->held_link = grant->held_next;
    if (grant->held_next != NULL)
        grant->held_next->held_link = grant->held_link;
    grant->held_link = NULL;
}

/* Add the lock of ${item} and its ticket; false if there is no room. */
static bool write_ticket(char payload[HF_PAYLOAD_BYTES],
                         const struct hf_grant_item *item)
{
    char id[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&item->acquisition->ticket_id, id);
    return hf_owner_text_add_hold(payload, HF_OWNER_HOLDS_END, item->lock->name,
                                  id);
}

/* Add what ${grant} holds; if it still waits for several locks, those it has
 * already.  False if there is no room. */
static bool write_grant(char payload[HF_PAYLOAD_BYTES],
                        const struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        const struct hf_grant_item *item = &grant->items[i];

        if (item->acquisition->state == HF_ACQUISITION_HELD &&
            !write_ticket(payload, item))
            return false;
    }
    return true;
}

/* Has ${grant}, which may still wait for several locks, got one of them? */
static bool has_some(const struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        if (grant->items[i].acquisition->state == HF_ACQUISITION_HELD)
            return true;
    }
    return false;
}

/* The first of the grants of ${owner} from ${held} on; NULL: there is none. */
static const struct hf_grant *next_of_owner(const struct hf_grant *held,
                                            uint64_t owner)
{
    while (held != NULL && held->owner != owner)
        held = held->held_next;
    return held;
}

/* Would the owner of ${item}, which is held, wait for itself if it waited for
 * ${lock}? */
static bool excludes(const struct hf_grant_item *item,
                     const struct hf_lock *lock)
{
    const struct hf_acquisition *a = item->acquisition;
    bool leases = lock->kind == HF_TICKET_LEASE;

    if (strcmp(item->lock->name, lock->name) != 0 ||
        (a->kind == HF_TICKET_LEASE) != leases)
        return false;
    if (leases)
        return a->weight + lock->permits > lock->limit;
    return a->kind != HF_TICKET_READ || lock->kind != HF_TICKET_READ;
}

bool hf_owner_grants_conflict(uint64_t owner, const struct hf_lock *lock)
{
    const struct hf_grant *held =
        next_of_owner(*bucket_of(&lock->client->owner_grants, owner), owner);

    for (; held != NULL; held = next_of_owner(held->held_next, owner)) {
        for (size_t i = 0; i < held->item_count; i++) {
            if (excludes(&held->items[i], lock))
                return true;
        }
    }
    return false;
}

static void append(char payload[HF_PAYLOAD_BYTES], const char *words)
{
    memcpy(payload + strlen(payload), words, strlen(words) + 1);
}

/* Add outer=, the inherited locks of which it is not known whether they wait
 * with us; and ends, if the wait has a limit. */
static void write_outer(char payload[HF_PAYLOAD_BYTES],
                        const struct hf_grant *grant)
{
    const char *outer = grant->client->owner_grants.outer;

    if (outer[0] == '\0')
        return;
    append(payload, outer);
    if (grant->acquisition.deadline_at_ms != HF_FOREVER)
        hf_owner_text_add_ends(payload);
}

/* The inherited locks come first, then those of ${grant}, then those of the
 * owner's other grants. */
void hf_owner_grants_write(const struct hf_grant *grant,
                           char payload[HF_PAYLOAD_BYTES])
{
    struct hf_owner_grants *owner_grants = &grant->client->owner_grants;
    const struct hf_grant *held;

    if (grant->owner == 0)
        return;
    write_outer(payload, grant);
    held = next_of_owner(*bucket_of(owner_grants, grant->owner), grant->owner);
    if (owner_grants->inherited[0] == '\0' && held == NULL && !has_some(grant))
        return;
    if (grant->acquisition.detection != NULL)
        hf_owner_text_add_detect(payload);
    append(payload, owner_grants->inherited);
    if (!write_grant(payload, grant))
        return;
    for (; held != NULL; held = next_of_owner(held->held_next, grant->owner)) {
        if (!write_grant(payload, held))
            return;
    }
}
