/* SPDX-License-Identifier: Apache-2.0 */
/* The locks that a grant is of: one, or several in the order of their names. */
#ifndef HF_HOST_MEMBERS_H
#define HF_HOST_MEMBERS_H

#include "core/acquisition.h"
#include "host/lock.h"

struct hf_grant;

struct hf_member {
    struct hf_lock *lock;
    struct hf_acquisition *acquisition; /* that has its ticket */
    /* The semaphore's list that it is in; .link is NULL: in none. */
    struct hf_member *next;
    struct hf_member **link;
};

/* May the ${count} ${locks} be had together? */
hf_status hf_members_check(struct hf_lock *const *locks, size_t count,
                           struct hf_error *error);

/* How many tickets are theirs, one after the other. */
size_t hf_members_parts(struct hf_lock *const *locks, size_t count);

/* Have ${grant}, whose acquisition is set but for what is wanted, want
 * ${locks}. That of several tickets has a bundle with a part for each. */
void hf_members_want(struct hf_grant *grant, struct hf_lock *const *locks);

/* ${grant} was FORGOTTEN. */
void hf_members_forgotten(struct hf_grant *grant);

/* The limit of ${lock}, a semaphore, is another: tell the core of each that
 * goes by the one before. */
void hf_members_inform(struct hf_lock *lock);

/* What ${grant} has seen at the head of its queues says by which limits others
 * go: hf_lock_compare_limit() for each semaphore among its locks. */
void hf_members_compare_limits(struct hf_grant *grant);

/* Its acquisition for ${lock}, or NULL. */
struct hf_acquisition *hf_members_find(const struct hf_grant *grant,
                                       const struct hf_lock *lock);

#endif
