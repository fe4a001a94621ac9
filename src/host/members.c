/* SPDX-License-Identifier: Apache-2.0 */
#include "host/members.h"

#include <assert.h>
#include <string.h>

#include "core/error.h"
#include "core/multi_lock.h"
#include "host/grant.h"

/* A semaphore is two queues, see core/multi_lock.h. */
static size_t tickets_of(const struct hf_lock *lock)
{
    return lock->kind == HF_TICKET_LEASE ? 2 : 1;
}

hf_status hf_members_check(struct hf_lock *const *locks, size_t count,
                           struct hf_error *error)
{
    if (count == 0 || count > HF_LOCKS_MAX)
        return hf_error_set(error, HF_EINVAL,
                            "%zu locks; expected 1 to %d at once", count,
                            HF_LOCKS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (locks[i]->client != locks[0]->client)
            return hf_error_set(error, HF_EINVAL,
                                "the lock \"%.200s\" is of another client; "
                                "expected locks of one",
                                locks[i]->name);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(locks[k]->name, locks[i]->name) == 0)
                return hf_error_set(error, HF_EINVAL,
                                    "the lock \"%.200s\" is given twice; it "
                                    "would wait for itself",
                                    locks[i]->name);
        }
    }
    return HF_OK;
}

size_t hf_members_parts(struct hf_lock *const *locks, size_t count)
{
    size_t parts = 0;

    for (size_t i = 0; i < count; i++)
        parts += tickets_of(locks[i]);
    return parts;
}

/* In the order of their names, which is the same in every process. */
static void sort(struct hf_member *members, struct hf_lock *const *locks,
                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t place = i;

        while (place > 0 &&
               strcmp(members[place - 1].lock->name, locks[i]->name) > 0) {
            members[place] = members[place - 1];
            place--;
        }
        members[place].lock = locks[i];
    }
}

static void want(struct hf_acquisition *part, const struct hf_grant *grant,
                 const char *queue, enum hf_ticket_kind kind)
{
    part->queue = queue;
    part->kind = kind;
    if (kind == HF_TICKET_PARTICIPANT)
        part->limit = grant->lock->limit;
    if (part == &grant->acquisition)
        return;
    part->payload = grant->acquisition.payload;
    part->only_try = grant->acquisition.only_try;
    part->deadline_at_ms = grant->acquisition.deadline_at_ms;
    part->report_every_ms = grant->acquisition.report_every_ms;
}

static struct hf_acquisition *want_semaphore(struct hf_acquisition *parts,
                                             const struct hf_grant *grant,
                                             const struct hf_lock *lock)
{
    want(&parts[0], grant, lock->locks, HF_TICKET_MUTEX);
    parts[0].entry_mutex = true;
    want(&parts[1], grant, lock->leases, HF_TICKET_LEASE);
    parts[1].weight = lock->permits;
    parts[1].limit = lock->limit;
    return &parts[1];
}

/* --------------------------------------------------------------- limits -- */

static void put(struct hf_member **first, struct hf_member *member)
{
    member->next = *first;
    member->link = first;
    if (*first != NULL)
        (*first)->link = &member->next;
    *first = member;
}

static void take_out(struct hf_member *member)
{
    if (member->link == NULL)
        return;
    *member->link = member->next;
    if (member->next != NULL)
        member->next->link = member->link;
    member->link = NULL;
}

void hf_members_forgotten(struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->member_count; i++)
        take_out(&grant->members[i]);
}

static void move_all(struct hf_member **from, struct hf_member **to)
{
    assert(*to == NULL);
    *to = *from;
    *from = NULL;
    if (*to != NULL)
        (*to)->link = to;
}

/* A step may end any of them, which takes it out. */
void hf_members_inform(struct hf_lock *lock)
{
    struct hf_event event = {.kind = HF_EVENT_LIMIT};
    struct hf_member *member;

    event.as.limit.permits = lock->limit;
    move_all(&lock->members, &lock->uninformed);
    while ((member = lock->uninformed) != NULL) {
        take_out(member);
        put(&lock->members, member);
        if (member->acquisition->limit == lock->limit)
            continue;
        event.as.limit.acquisition = member->acquisition;
        hf_client_step(lock->client, &event);
    }
}

/* ----------------------------------------------------------------- want -- */

void hf_members_want(struct hf_grant *grant, struct hf_lock *const *locks)
{
    struct hf_multi_lock *bundle =
        hf_acquisition_multi_lock(&grant->acquisition);
    struct hf_acquisition *part =
        bundle != NULL ? bundle->children : &grant->acquisition;

    sort(grant->members, locks, grant->member_count);
    for (size_t i = 0; i < grant->member_count; i++) {
        struct hf_member *member = &grant->members[i];

        member->acquisition = part;
        if (member->lock->kind == HF_TICKET_LEASE) {
            member->acquisition = want_semaphore(part, grant, member->lock);
            put(&member->lock->members, member);
        } else {
            want(part, grant, member->lock->name, member->lock->kind);
        }
        if (member->lock->local != NULL)
            hf_acquisition_use_cohort(member->acquisition,
                                      &member->lock->local->cohort);
        if (member->lock == grant->lock && bundle != NULL)
            bundle->token = (size_t)(member->acquisition - bundle->children);
        part = member->acquisition + 1;
    }
    if (bundle == NULL)
        return;
    assert(part == bundle->children + bundle->count);
    grant->acquisition.queue = grant->lock->name;
    grant->acquisition.kind = HF_TICKET_MUTEX; /* it has no ticket */
}

void hf_members_compare_limits(struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->member_count; i++) {
        const struct hf_member *member = &grant->members[i];
        const struct hf_acquisition *lease = member->acquisition;

        if (member->lock->kind != HF_TICKET_LEASE)
            continue;
        /* Until it waits for permits it has seen the entry mutex only. */
        hf_lock_compare_limit(member->lock,
                              lease->holder != NULL
                                  ? lease->holder->text
                                  : hf_text_of((lease - 1)->holder));
    }
}

struct hf_acquisition *hf_members_find(const struct hf_grant *grant,
                                       const struct hf_lock *lock)
{
    for (size_t i = 0; i < grant->member_count; i++) {
        if (grant->members[i].lock == lock)
            return grant->members[i].acquisition;
    }
    return NULL;
}
