/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle: acquisitions that are taken one after the other, and are one to
 * their owner: all or none.
 *
 * The owner's acquisition, the *whole*, has no ticket of its own but the same
 * states, effects and promise as any other.  Its *parts* tell it what others
 * tell their owners.
 *
 *     multi-lock  a part for each lock, in the order of their names, which is
 *                 the same for everybody: no two wait for each other
 *     semaphore   a gate, which is the mutex in front of the leases, and a
 *                 lease
 *
 * A gate is let go as soon as the part behind it is granted.  Should a part be
 * lost before all are taken, everything is given back and taken from the start:
 * a wait goes on at the tail, as it does for one ticket.
 */
#ifndef HF_CORE_BUNDLE_H
#define HF_CORE_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>

#include <holdfast/holdfast.h>

#include "core/acquisition.h"
#include "core/later.h"

struct hf_bundle {
    /* Set before WANT of the whole, and each part as for a WANT of its own. */
    struct hf_acquisition *parts;
    size_t count;
    size_t token; /* the part whose token is that of the whole */

    /* The core's own. */
    size_t at;    /* so many were taken, one after the other */
    bool undoing; /* all are being given back, to be taken from the start */
    bool revoked; /* the whole waits, and somebody has asked for the release of
                     what it has */
    struct hf_acquisition *whole; /* from the WANT on */
    struct hf_later later;        /* something was heard of a part */
};

/* How an acquisition with a bundle gets its lock, and whose its parts are. */
extern const struct hf_acquisition_ops hf_acquisition_by_bundle;
extern const struct hf_acquisition_owner hf_acquisition_of_parent;

/* Before its WANT: ${a} consists of the parts of ${bundle}. */
static inline void hf_acquisition_use_bundle(struct hf_acquisition *a,
                                             struct hf_bundle *bundle)
{
    a->ops = &hf_acquisition_by_bundle;
    a->multi_lock = bundle;
}

/* What ${a} consists of; NULL: one ticket. */
static inline struct hf_bundle *
hf_acquisition_bundle(const struct hf_acquisition *a)
{
    return a->ops == &hf_acquisition_by_bundle ? a->multi_lock : NULL;
}

/* What ${a} is a part of; NULL: of nothing, or that was not wanted yet. */
static inline struct hf_acquisition *
hf_acquisition_parent(const struct hf_acquisition *a)
{
    return a->owner == &hf_acquisition_of_parent ? a->parent : NULL;
}

#endif
