/* SPDX-License-Identifier: Apache-2.0 */
/* The locks that a grant is of: one, or several in the order of their names. */
#ifndef HF_HOST_GRANT_ITEMS_H
#define HF_HOST_GRANT_ITEMS_H

#include "core/acquisition.h"
#include "host/lock.h"

struct hf_grant;

struct hf_grant_item {
    struct hf_lock *lock;
    struct hf_acquisition *acquisition; /* that has its ticket */
    /* The semaphore's list that it is in; .link is NULL: in none. */
    struct hf_grant_item *next;
    struct hf_grant_item **link;
};

/* May the ${count} ${locks} be had together? */
hf_status hf_grant_items_check(struct hf_lock *const *locks, size_t count,
                               struct hf_error *error);

/* How many tickets are theirs, one after the other. */
size_t hf_grant_items_tickets(struct hf_lock *const *locks, size_t count);

/* Have ${grant}, whose acquisition is set but for what is wanted, want
 * ${locks}. That of several tickets is a multi-lock with a child for each. */
void hf_grant_items_set(struct hf_grant *grant, struct hf_lock *const *locks);

/* Its acquisition for ${lock}, or NULL. */
struct hf_acquisition *hf_grant_items_find(const struct hf_grant *grant,
                                           const struct hf_lock *lock);

#endif
