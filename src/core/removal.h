/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of one ticket of ours that must not stay in its queue: a request
 * that is repeated until it is answered.
 *
 * A ticket whose enqueue got no answer may appear late, after a search that did
 * not find it.  Its removal waits until the ticket can no longer appear, asks
 * whenever a list shows the ticket, and asks a last time when the wait is over.
 *
 * The core keeps the removals that wait in a tree, by queue: a list of a queue
 * is compared with these and with no others.
 */
#ifndef HF_CORE_REMOVAL_H
#define HF_CORE_REMOVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/retry.h"
#include "core/tree.h"

struct hf_core;
struct hf_own_ticket;

enum hf_removal_state {
    HF_REMOVAL_NONE,
    HF_REMOVAL_WAITING, /* nothing to do unless the ticket appears */
    HF_REMOVAL_DUE,     /* to be asked, not before .at_ms */
    HF_REMOVAL_ASKED
};

/* The part of a ticket.  Zeroed: none is wanted. */
struct hf_removal {
    enum hf_removal_state state;
    bool last; /* asked when the ticket could no longer appear */
    /* An answer said that this request took the ticket out.  Stays false when
     * the answer was lost and the ticket was gone afterwards, or when the
     * session ended first: somebody else may have removed it. */
    bool found;
    uint64_t appears_until_ms; /* CLOCK_BOOTTIME; 0: once it is out it cannot
                                  appear again */
    uint64_t at_ms;            /* CLOCK_BOOTTIME */
    struct hf_retry_state retry;
    struct hf_request request;
    struct hf_effect effect;
    struct hf_tree_node waiting; /* WAITING: in the core's tree of these */
};

/* The part of the core. */
struct hf_removals {
    struct hf_tree waiting; /* by queue, then in the order of the WANTs */
};

void hf_removals_init(struct hf_removals *removals);

/* Have ${ticket} taken out of its queue.  It is there, or appears, if at all,
 * before ${appears_until_ms}.  ${now}: ask at once, else wait until it appears.
 * ${weight}: so many permits must be found for .found; 0: any number does. */
void hf_removal_begin(struct hf_core *core, struct hf_own_ticket *ticket,
                      uint64_t appears_until_ms, bool now, uint32_t weight);

/* Ask if it is time to; the session is CONNECTED. */
void hf_removal_pump(struct hf_core *core, struct hf_own_ticket *ticket);

/* Answers.  After the first the removal may be done, and .state is NONE. */
void hf_removal_done(struct hf_core *core, struct hf_own_ticket *ticket,
                     bool found);
void hf_removal_failed(struct hf_removal *removal, uint64_t retry_at_ms);

/* The session is over and every ticket of it is gone.  It is not known whether
 * the ticket was there until then, so .found stays false. */
void hf_removal_clear(struct hf_core *core, struct hf_own_ticket *ticket);

/* When a pump is wanted while CONNECTED; HF_FOREVER if none is. */
uint64_t hf_removal_wake_at_ms(const struct hf_removal *removal);

/* ${queue} was listed: the next of those that wait, behind ${after} or, if that
 * is NULL, the first, which ${snapshot} shows; NULL: there is none.  Its
 * removal is due: its acquisition is to be pumped. */
struct hf_own_ticket *hf_removals_find(struct hf_core *core, const char *queue,
                                       const struct hf_snapshot *snapshot,
                                       const struct hf_own_ticket *after);

#endif
