/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of a semaphore: setting another one, and comparing it with those of
 * other programs.
 *
 * The items that ask for a semaphore are in one list.  When the limit changes,
 * all of them are moved to a second list and from there back one by one, each
 * with a step of the core.  A step may end any item and take it out of its
 * list; so the loop only ever looks at the head.
 */
#include "client/semaphore_limit.h"

#include <assert.h>
#include <inttypes.h>

#include "base/error.h"
#include "client/owner_text.h"

/* -------------------------------------------------------- another limit -- */

/* Put ${item} at the head of the list ${first}. */
static void add_item(struct hf_grant_item **first, struct hf_grant_item *item)
{
    item->next = *first;
    item->link = first;
    if (*first != NULL)
        (*first)->link = &item->next;
    *first = item;
}

/* Take ${item} out of its list, if it is in one. */
static void remove_item(struct hf_grant_item *item)
{
    if (item->link == NULL)
        return;
    *item->link = item->next;
    if (item->next != NULL)
        item->next->link = item->link;
    item->link = NULL;
}

void hf_limit_add(struct hf_grant_item *item)
{
    add_item(&item->lock->notified_items, item);
}

void hf_limit_remove(struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++)
        remove_item(&grant->items[i]);
}

/* Move the list ${from} to ${to}, which is empty. */
static void move_all(struct hf_grant_item **from, struct hf_grant_item **to)
{
    assert(*to == NULL);
    *to = *from;
    *from = NULL;
    if (*to != NULL)
        (*to)->link = to;
}

/* The limit of ${lock} was set: notify the core for each item that goes by
 * another. */
static void notify_items(struct hf_lock *lock)
{
    struct hf_event event = {.kind = HF_EVENT_SET_LIMIT};
    struct hf_grant_item *item;

    event.as.limit.permits = lock->limit;
    move_all(&lock->notified_items, &lock->unnotified_items);
    while ((item = lock->unnotified_items) != NULL) {
        remove_item(item);
        add_item(&lock->notified_items, item);
        if (item->acquisition->limit == lock->limit)
            continue;
        event.as.limit.acquisition = item->acquisition;
        hf_client_step(lock->client, &event);
    }
}

/* May the limit of ${lock} be ${limit}? */
static hf_status check_limit(const struct hf_lock *lock, uint32_t limit,
                             struct hf_error *error)
{
    if (lock->kind != HF_TICKET_LEASE)
        return hf_error_set(error, HF_EINVAL,
                            "it is no semaphore; open it as "
                            "HF_KIND_SEMAPHORE");
    if (limit < lock->permits)
        return hf_error_set(error, HF_EINVAL,
                            "%" PRIu32 " permits, of which %" PRIu32
                            " are taken at once; expected no less",
                            limit, lock->permits);
    return HF_OK;
}

/* The differences found so far are forgotten: they were about the old limit. */
hf_status hf_lock_set_limit(struct hf_lock *lock, uint32_t limit)
{
    struct hf_client *client = lock->client;
    struct hf_error error;
    hf_status status = hf_monitor_enter(&client->monitor, "hf_lock_set_limit");

    if (status != HF_OK)
        return status;
    if ((status = check_limit(lock, limit, &error)) == HF_OK) {
        lock->limit = limit;
        lock->limit_changed = true;
        lock->other_limit = 0;
        notify_items(lock);
    } else {
        (void)hf_fail("hf_lock_set_limit", &error);
    }
    hf_monitor_leave(&client->monitor);
    return status;
}

/* --------------------------------------------------- limits that differ -- */

/* Compare the limit of ${lock} with the one in ${holder}, the payload of a
 * ticket ahead.  After hf_lock_set_limit() nothing is compared, because tickets
 * that were enqueued before show the limit of that time. */
static void compare_limit(struct hf_lock *lock, const char *holder)
{
    struct hf_owner owner;

    if (lock->limit_changed || !hf_owner_text_parse(holder, 0, &owner) ||
        owner.limit == 0 || owner.limit > UINT32_MAX)
        return;
    lock->other_limit = owner.limit != lock->limit ? (uint32_t)owner.limit : 0;
    if (lock->other_limit == 0 || lock->limit_warned)
        return;
    lock->limit_warned = true;
    hf_log_write(&lock->client->monitor.log, HF_LOG_WARNING,
                 "the limits of \"%s\" differ: %" PRIu32 " here, %" PRIu32
                 " at a ticket ahead (host %s, pid %" PRIu64
                 "); open the semaphore with the same limit everywhere",
                 lock->name, lock->limit, lock->other_limit, owner.host,
                 owner.pid);
}

/* An acquisition of leases stands directly behind that of its entry mutex
 * (want_semaphore()). */
void hf_limit_compare(struct hf_grant *grant)
{
    for (size_t i = 0; i < grant->item_count; i++) {
        const struct hf_grant_item *item = &grant->items[i];
        const struct hf_acquisition *lease = item->acquisition;

        if (item->lock->kind != HF_TICKET_LEASE)
            continue;
        /* until it waits for permits it has only seen the entry mutex */
        compare_limit(item->lock,
                      lease->holder != NULL
                          ? lease->holder->text
                          : hf_shared_text_get((lease - 1)->holder));
    }
}

/* Put before the text of ${error} that the limits of ${lock} differ, if they
 * do. */
static void explain_limit(const struct hf_lock *lock, struct hf_error *error)
{
    const struct hf_error before = *error;

    if (lock->other_limit != 0)
        hf_error_set(error, before.status,
                     "the limits of \"%.60s\" differ (%" PRIu32
                     " here, %" PRIu32 " at a ticket ahead; open it with the "
                     "same limit everywhere); %s",
                     lock->name, lock->limit, lock->other_limit, before.text);
}

void hf_limit_explain(const struct hf_grant *grant, struct hf_error *error)
{
    for (size_t i = 0; i < grant->item_count; i++)
        explain_limit(grant->items[i].lock, error);
}
