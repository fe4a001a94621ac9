/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items of a grant: the locks that it is of, one or several.  Several are
 * sorted by name, because all processes must take them in the same order to
 * avoid a deadlock.
 */
#ifndef HF_HOST_GRANT_ITEMS_H
#define HF_HOST_GRANT_ITEMS_H

#include "client/lock.h"
#include "core/acquisition.h"

struct hf_grant;

/* One lock of a grant.  Under the client's lock. */
struct hf_grant_item {
    struct hf_lock *lock;
    struct hf_acquisition *acquisition; /* the one that has its ticket */
    /* In one of the two lists of a semaphore (lock.h); .link is NULL: in
     * none. */
    struct hf_grant_item *next;
    struct hf_grant_item **link;
};

/* May the ${count} ${locks} be acquired together?  HF_EINVAL if there are none
 * or too many, if they are of two clients, or if one is given twice. */
hf_status hf_grant_items_check(struct hf_lock *const *locks, size_t count,
                               struct hf_error *error);

/* How many tickets they need together. */
size_t hf_grant_items_tickets(struct hf_lock *const *locks, size_t count);

/* Have ${grant} ask for ${locks}.  Its acquisition is set, except for what it
 * asks for.  If there are several tickets it is a multi-lock with a child for
 * each of them. */
void hf_grant_items_set(struct hf_grant *grant, struct hf_lock *const *locks);

/* The acquisition of ${grant} that has the ticket for ${lock}, or NULL. */
struct hf_acquisition *hf_grant_items_find(const struct hf_grant *grant,
                                           const struct hf_lock *lock);

/* Which of the locks of ${grant} it waits for, or has failed to get: they are
 * taken one after the other.  The first one that the user named, if all are
 * granted. */
const struct hf_lock *hf_grant_awaited_lock(const struct hf_grant *grant);

/* Which of the locks of ${grant} somebody has asked for last; the first one
 * that the user named, if nobody has. */
const struct hf_lock *hf_grant_asked_lock(const struct hf_grant *grant);

/* Its name, which is the lock's.  For callbacks, without the client's lock. */
const char *hf_grant_asked_name(struct hf_grant *grant);

#endif
