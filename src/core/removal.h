/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of a ticket of ours that must not stay in its queue: a REMOVE
 * that is repeated until it is answered (a guaranteed delete, as Curator calls
 * it).
 *
 * A ticket whose enqueue got no answer may appear late, after a search or a
 * REMOVE that did not find it.  Its removal waits until the ticket can no
 * longer appear.  Meanwhile it requests a REMOVE whenever a list shows the
 * ticket, and unless one has found it a last one when that time is over.
 *
 * The core keeps the removals that wait in a tree, by queue, so that a list of
 * a queue is compared with these and with no others.
 */
#ifndef HF_CORE_REMOVAL_H
#define HF_CORE_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tree.h"
#include "core/effect.h"
#include "core/engine.h"

struct hf_core;
struct hf_own_ticket;

enum hf_removal_state {
    HF_REMOVAL_NONE,
    HF_REMOVAL_WAITING, /* nothing is requested until a list shows the ticket,
                           or it can appear no longer */
    HF_REMOVAL_DUE,     /* request the REMOVE, not before .at_ms */
    HF_REMOVAL_ASKED    /* the REMOVE is under way */
};

/* The part of a ticket that must not stay.  Zeroed: its ENQUEUE was not
 * answered yet, or the removal is over. */
struct hf_removal {
    enum hf_removal_state state;
    uint32_t tries; /* of the REMOVE, that have failed since an answer */
    bool last;      /* requested after the ticket could last appear */
    /* An answer said that this REMOVE found the ticket, with all permits that
     * had to be found.  Stays false if the answer was lost and the ticket was
     * gone afterwards, or if the session ended first: somebody else may have
     * removed it. */
    bool found;
    uint64_t appears_until_ms; /* CLOCK_BOOTTIME; 0: after the REMOVE it cannot
                                  appear again */
    uint64_t at_ms;            /* CLOCK_BOOTTIME */
    struct hf_tree_node waiting; /* WAITING: in the tree of the core */
};

/* The part of the core. */
struct hf_removals {
    struct hf_tree waiting; /* by queue, then by the order of the ACQUIREs */
};

/* Make ${removals} empty. */
void hf_removals_init(struct hf_removals *removals);

/* Begin the removal of ${ticket}, which is in its queue, or appears there
 * before ${appears_until_ms} (CLOCK_BOOTTIME) if at all.  ${now}: request the
 * REMOVE at once, else wait until a list shows the ticket or that time is over.
 * ${weight}: how many permits must be found for .found; 0: any number. */
void hf_removal_begin(struct hf_core *core, struct hf_own_ticket *ticket,
                      uint64_t appears_until_ms, bool now, uint32_t weight);

/* Request the REMOVE if it is time.  The session is CONNECTED. */
void hf_removal_pump(struct hf_core *core, struct hf_own_ticket *ticket);

/* REMOVED.  If the removal is complete, .state is NONE then; else it is
 * WAITING. */
void hf_removal_done(struct hf_core *core, struct hf_own_ticket *ticket,
                     bool found);

/* FAILED: repeat the REMOVE at ${retry_at_ms}. */
void hf_removal_failed(struct hf_removal *removal, uint64_t retry_at_ms);

/* The session is over and every ticket of it is gone.  It is not known whether
 * the ticket was there until then, so .found stays false. */
void hf_removal_clear(struct hf_core *core, struct hf_own_ticket *ticket);

/* When a pump is wanted while CONNECTED (CLOCK_BOOTTIME); HF_FOREVER: never. */
uint64_t hf_removal_wake_at_ms(const struct hf_removal *removal);

/* ${queue} was listed.  Return the next ticket whose removal waits and that
 * ${snapshot} shows, behind ${after}, or the first one if ${after} is NULL;
 * NULL: there is none.  Its removal is then due, and the caller pumps its
 * acquisition. */
struct hf_own_ticket *hf_removals_find(struct hf_core *core, const char *queue,
                                       const struct hf_snapshot *snapshot,
                                       const struct hf_own_ticket *after);

#endif
