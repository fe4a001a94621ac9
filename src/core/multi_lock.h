/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multi-lock: several acquisitions of which its user has all or none
 * (InterProcessMultiLock of Curator).
 *
 * The acquisition of the user is the *parent*.  It takes no ticket itself, and
 * has the same states and effects as any other.  Its *children* take the
 * tickets, one after the other; each takes its ticket as a single acquisition
 * does, and notifies the parent instead of the user.
 *
 *     multi-lock  one child for each lock, in the order of the locks' names.
 *                 Every client takes them in this order, so that no two clients
 *                 wait for each other.
 *     semaphore   an entry mutex and a lease.  The entry mutex is released as
 *                 soon as the lease is granted.
 *
 * If a child is lost before the last one is granted, the parent rolls back: it
 * releases all of them, waits until no ticket of this round can be in a queue,
 * and begins with the first child again.  The wait of the parent goes on, at
 * the tail of each queue.
 */
#ifndef HF_CORE_MULTI_LOCK_H
#define HF_CORE_MULTI_LOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/acquisition.h"

/* Set by the user of the parent before its ACQUIRE, except the last fields. */
struct hf_multi_lock {
    struct hf_acquisition *children; /* each set as for its own ACQUIRE */
    size_t count;
    size_t token_child; /* the child whose token is that of the parent */

    /* For the core only. */
    size_t current;    /* the child that is waited for */
    bool rolling_back; /* the children are released, to begin again */
    /* The child for whose release somebody has asked last, also while the
     * parent waited; NULL: nobody has asked. */
    const struct hf_acquisition *revoked;
    struct hf_acquisition *parent;    /* since the ACQUIRE */
    struct hf_deferred_call deferred; /* a child has notified the parent */
};

/* How a parent gets its lock, and the listener of its children. */
extern const struct hf_acquisition_ops hf_acquisition_multi_lock_ops;
extern const struct hf_acquisition_listener hf_acquisition_parent_listener;

/* Make ${a} the parent of ${multi_lock}, before its ACQUIRE. */
static inline void
hf_acquisition_use_multi_lock(struct hf_acquisition *a,
                              struct hf_multi_lock *multi_lock)
{
    a->ops = &hf_acquisition_multi_lock_ops;
    a->multi_lock = multi_lock;
}

/* The multi-lock that ${a} is the parent of; NULL: none. */
static inline struct hf_multi_lock *
hf_acquisition_multi_lock(const struct hf_acquisition *a)
{
    return a->ops == &hf_acquisition_multi_lock_ops ? a->multi_lock : NULL;
}

/* The parent of ${a}; NULL: ${a} is no child, or was not started yet. */
static inline struct hf_acquisition *
hf_acquisition_parent(const struct hf_acquisition *a)
{
    return a->listener == &hf_acquisition_parent_listener ? a->parent : NULL;
}

#endif
