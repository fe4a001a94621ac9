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

struct hf_acquisition;
struct hf_core;

struct hf_bundle {
    /* Set before WANT of the whole, and each part as for a WANT of its own,
     * with .whole. */
    struct hf_acquisition *parts;
    size_t count;
    size_t token; /* the part whose token is that of the whole */

    /* The core's own. */
    size_t at;    /* so many were taken, one after the other */
    bool undoing; /* all are being given back, to be taken from the start */
    bool dirty;   /* something was heard of a part */
    struct hf_acquisition *next_dirty;
};

/* Something has changed for ${whole}: look at it at the end of this step. */
void hf_bundle_touch(struct hf_core *core, struct hf_acquisition *whole);

/* Look at every bundle that something was heard of. */
void hf_bundles_pump(struct hf_core *core);

/* A part says what another would tell its owner. */
void hf_bundle_lost(struct hf_core *core, struct hf_acquisition *part);
void hf_bundle_waits(struct hf_core *core, struct hf_acquisition *part);
void hf_bundle_revoked(struct hf_core *core, struct hf_acquisition *part);

/* Is a part being waited for, which has its own limits? */
bool hf_bundle_is_taking(const struct hf_acquisition *whole);

/* Was every part told that it has ended? */
bool hf_bundle_is_told(const struct hf_acquisition *whole);

/* When the owner of a whole that gives up now is told at the latest, because a
 * part of it has waited for its removal since; HF_FOREVER if none has. */
uint64_t hf_bundle_tell_at_ms(const struct hf_acquisition *whole);

/* May a ticket of any part be, or appear, in its queue? */
bool hf_bundle_may_remain(const struct hf_acquisition *whole);

/* How the release of all parts has ended; sets the text unless that is HF_OK.
 */
hf_status hf_bundle_release_status(struct hf_core *core,
                                   struct hf_acquisition *whole);

/* May anything of it still be, or appear, in a queue? */
bool hf_bundle_lurks(const struct hf_acquisition *whole);

#endif
