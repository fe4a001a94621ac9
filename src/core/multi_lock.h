/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multi_lock: acquisitions that are taken one after the other, and are one to
 * their owner: all or none.
 *
 * The owner's acquisition, the *parent*, has no ticket of its own but the same
 * states, effects and promise as any other.  Its *children* tell it what others
 * tell their owners.
 *
 *     multi-lock  a child for each lock, in the order of their names, which is
 *                 the same for everybody: no two wait for each other
 *     semaphore   a gate, which is the mutex in front of the leases, and a
 *                 lease
 *
 * A gate is let go as soon as the child behind it is granted.  Should a child
 * be lost before all are taken, everything is given back and taken from the
 * start: a wait goes on at the tail, as it does for one ticket.
 */
#ifndef HF_CORE_MULTI_LOCK_H
#define HF_CORE_MULTI_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/holdfast.h>

#include "core/acquisition.h"
#include "core/later.h"

struct hf_multi_lock {
    /* Set before WANT of the parent, and each child as for a WANT of its own.
     */
    struct hf_acquisition *children;
    size_t count;
    size_t token; /* the child whose token is that of the parent */

    /* The core's own. */
    size_t at;    /* so many were taken, one after the other */
    bool undoing; /* all are being given back, to be taken from the start */
    bool revoked; /* the parent waits, and somebody has asked for the release of
                     what it has */
    struct hf_acquisition *parent; /* from the WANT on */
    struct hf_later later;         /* something was heard of a child */
};

/* How an acquisition with a multi_lock gets its lock, and whose its children
 * are. */
extern const struct hf_acquisition_ops hf_acquisition_by_multi_lock;
extern const struct hf_acquisition_owner hf_acquisition_of_parent;

/* Before its WANT: ${a} consists of the children of ${multi_lock}. */
static inline void
hf_acquisition_use_multi_lock(struct hf_acquisition *a,
                              struct hf_multi_lock *multi_lock)
{
    a->ops = &hf_acquisition_by_multi_lock;
    a->multi_lock = multi_lock;
}

/* What ${a} consists of; NULL: one ticket. */
static inline struct hf_multi_lock *
hf_acquisition_multi_lock(const struct hf_acquisition *a)
{
    return a->ops == &hf_acquisition_by_multi_lock ? a->multi_lock : NULL;
}

/* What ${a} is a child of; NULL: of nothing, or that was not wanted yet. */
static inline struct hf_acquisition *
hf_acquisition_parent(const struct hf_acquisition *a)
{
    return a->owner == &hf_acquisition_of_parent ? a->parent : NULL;
}

#endif
