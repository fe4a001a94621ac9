/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks that a grant is of, and its tickets for them: how several are
 * checked, sorted and turned into acquisitions; their tokens; which of them a
 * grant waits for, or somebody asks for; and which of them was lost, and why.
 */
#include <assert.h>
#include <string.h>

#include <holdfast/grant.h>

#include "base/error.h"
#include "client/grant.h"
#include "client/semaphore_limit.h"
#include "core/multi_lock.h"

/* All pairs are compared, because HF_LOCKS_MAX is small. */
hf_status hf_grant_items_check(struct hf_lock *const *locks, size_t count,
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

/* A semaphore has two queues; see core/multi_lock.h. */
size_t hf_grant_items_tickets(struct hf_lock *const *locks, size_t count)
{
    size_t children = 0;

    for (size_t i = 0; i < count; i++)
        children += locks[i]->kind == HF_TICKET_LEASE ? 2 : 1;
    return children;
}

/* Insertion sort of the ${count} ${locks} by name into ${items}.  The order is
 * the same in every process, so that two of them cannot wait for each other. */
static void sort_by_name(struct hf_grant_item *items,
                         struct hf_lock *const *locks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t index = i;

        while (index > 0 &&
               strcmp(items[index - 1].lock->name, locks[i]->name) > 0) {
            items[index] = items[index - 1];
            index--;
        }
        items[index].lock = locks[i];
    }
}

/* Have ${child}, an acquisition of ${grant}, ask for a ticket of ${kind} in
 * ${queue}. */
static void want_ticket(struct hf_acquisition *child,
                        const struct hf_grant *grant, const char *queue,
                        enum hf_ticket_kind kind)
{
    child->queue = queue;
    child->kind = kind;
    if (kind == HF_TICKET_PARTICIPANT)
        child->limit = grant->lock->limit;
    if (child == &grant->acquisition)
        return;
    child->payload = grant->acquisition.payload;
    child->only_try = grant->acquisition.only_try;
    child->deadline_at_ms = grant->acquisition.deadline_at_ms;
    child->report_every_ms = grant->acquisition.report_every_ms;
}

/* Have two children ask for the tickets of a semaphore: one for its entry
 * mutex, and then one for the leases.  Returns the second. */
static struct hf_acquisition *want_semaphore(struct hf_acquisition *children,
                                             const struct hf_grant *grant,
                                             const struct hf_lock *lock)
{
    want_ticket(&children[0], grant, lock->entry_queue, HF_TICKET_MUTEX);
    children[0].entry_mutex = true;
    want_ticket(&children[1], grant, lock->lease_queue, HF_TICKET_LEASE);
    children[1].weight = lock->permits;
    children[1].limit = lock->limit;
    return &children[1];
}

/* The token of the grant is that of the lock that the user named first,
 * wherever sorting puts it. */
void hf_grant_items_set(struct hf_grant *grant, struct hf_lock *const *locks)
{
    struct hf_multi_lock *multi_lock =
        hf_acquisition_multi_lock(&grant->acquisition);
    struct hf_acquisition *child =
        multi_lock != NULL ? multi_lock->children : &grant->acquisition;

    sort_by_name(grant->items, locks, grant->item_count);
    for (size_t i = 0; i < grant->item_count; i++) {
        struct hf_grant_item *item = &grant->items[i];

        item->acquisition = child;
        if (item->lock->kind == HF_TICKET_LEASE) {
            item->acquisition = want_semaphore(child, grant, item->lock);
            hf_limit_add(item);
        } else {
            want_ticket(child, grant, item->lock->name, item->lock->kind);
        }
        if (item->lock->client_cohort != NULL)
            hf_acquisition_use_cohort(item->acquisition,
                                      &item->lock->client_cohort->cohort);
        if (item->lock == grant->lock && multi_lock != NULL)
            multi_lock->token_child =
                (size_t)(item->acquisition - multi_lock->children);
        child = item->acquisition + 1;
    }
    if (multi_lock == NULL)
        return;
    assert(child == multi_lock->children + multi_lock->count);
    grant->acquisition.queue = grant->lock->name;
    grant->acquisition.kind = HF_TICKET_MUTEX; /* it has no ticket */
}

struct hf_acquisition *hf_grant_items_find(const struct hf_grant *grant,
                                           const struct hf_lock *lock)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        if (grant->items[i].lock == lock)
            return grant->items[i].acquisition;
    }
    return NULL;
}

/* The lock that ${child}, one of the acquisitions of ${grant}, is for.  The
 * children of one lock are neighbours, and .acquisition of its item is the last
 * of them. */
static const struct hf_lock *lock_of(const struct hf_grant *grant,
                                     const struct hf_acquisition *child)
{
    size_t i = 0;

    while (i + 1 < grant->item_count && grant->items[i].acquisition < child)
        i++;
    return grant->items[i].lock;
}

const struct hf_lock *hf_grant_awaited_lock(const struct hf_grant *grant)
{
    const struct hf_multi_lock *multi_lock =
        hf_acquisition_multi_lock(&grant->acquisition);

    if (multi_lock == NULL || multi_lock->current == multi_lock->count)
        return grant->lock;
    return lock_of(grant, &multi_lock->children[multi_lock->current]);
}

const struct hf_lock *hf_grant_asked_lock(const struct hf_grant *grant)
{
    const struct hf_multi_lock *multi_lock =
        hf_acquisition_multi_lock(&grant->acquisition);

    if (multi_lock == NULL || multi_lock->revoked == NULL)
        return grant->lock;
    return lock_of(grant, multi_lock->revoked);
}

const char *hf_grant_asked_name(struct hf_grant *grant)
{
    const char *name;

    hf_monitor_lock(&grant->client->monitor);
    name = hf_grant_asked_lock(grant)->name;
    pthread_mutex_unlock(&grant->client->monitor.lock);
    return name;
}

/* --------------------------------------------------- tokens and tickets -- */

uint64_t hf_grant_token(const struct hf_grant *grant)
{
    return grant->acquisition.token;
}

uint64_t hf_grant_token_of(const struct hf_grant *grant,
                           const struct hf_lock *lock)
{
    const struct hf_acquisition *a = hf_grant_items_find(grant, lock);

    return a != NULL ? a->token : 0;
}

const struct hf_ticket_id *hf_grant_ticket_id(const struct hf_grant *grant,
                                              const struct hf_lock *lock)
{
    const struct hf_acquisition *a = hf_grant_items_find(grant, lock);

    assert(a != NULL && grant->state != HF_GRANT_REQUESTED);
    return &a->ticket_id;
}

/* ------------------------------------------------------ why it was lost -- */

/* The lock that was lost: the first by name whose acquisition is LOST.  If
 * there is none, the loss is that of the grant as a whole: the one that the
 * user named first. */
static const struct hf_lock *find_lost(const struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        const struct hf_grant_item *item = &grant->items[i];

        if (item->acquisition->state == HF_ACQUISITION_LOST)
            return item->lock;
    }
    return grant->lock;
}

void hf_grant_set_lost(struct hf_grant *grant)
{
    assert(grant->state != HF_GRANT_REQUESTED && grant->lost_lock == NULL);
    grant->lost_lock = find_lost(grant);
}

/* If the core has not reported a loss, safe-until has passed. */
hf_status hf_grant_explain_loss(const struct hf_grant *grant,
                                struct hf_error *error)
{
    bool lost = grant->lost_lock != NULL;

    return hf_error_set(error, HF_ELOST, "the grant of \"%.120s\" was lost: %s",
                        (lost ? grant->lost_lock : grant->lock)->name,
                        lost ? hf_acquisition_text(&grant->acquisition)
                             : "its lease has run out");
}

void hf_grant_explain_release(const struct hf_grant *grant, hf_status status,
                              struct hf_error *error)
{
    const char *text = hf_acquisition_text(&grant->acquisition);

    if (grant->lost_lock != NULL)
        hf_grant_explain_loss(grant, error);
    else
        hf_error_set(error, status, "%s",
                     text[0] != '\0' ? text : hf_status_text(status));
}
