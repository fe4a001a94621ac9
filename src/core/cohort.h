/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cohort: acquisitions of one client that want the same mutex, and share one
 * ticket in the engine's queue.  It is a local queue in front of the engine's
 * queue (Dice, Marathe and Shavit, "Lock Cohorting", PPoPP 2012).
 *
 * The acquisitions are the *waiters* of the cohort, also while they hold.  They
 * take no ticket themselves, and have the same states and effects as any other
 * acquisition, but for the effect WAITING.  The ticket is a further
 * acquisition, whose owner is the cohort.  A multi-lock is the reverse: one
 * owner there has several tickets; here one ticket serves several owners.
 *
 *  - Waiters are granted in the order of their WANT, one at a time.
 *  - A waiter that is released hands the ticket on to the next waiter: at once
 *    and without a request.  All grants on one ticket have the same token.
 *  - While the session may not admit, and somebody waits, the released waiter
 *    gets RELEASED all the same, and the ticket stays HELD with nobody relying
 *    on it.  The next waiter is granted on it once the session may admit again;
 *    after an outage the ticket is listed before that, because somebody may
 *    have taken it out.
 *    If safe-until passes or the session ends before, the ticket is lost, and
 *    the waiters go on with another one at the tail.
 *  - After .handoffs such handoffs the ticket is removed instead, and another
 *    one is enqueued at the tail of the engine's queue for the waiters that are
 *    left, so that other clients do not starve.  The same happens once somebody
 *    asked for the release of the ticket.  The removal and the next enqueue are
 *    sent in one write, in this order: if no other client waits, the answer
 *    admits the new ticket at once.
 *  - The holder's safe-until is the session's, as if the ticket were its own.
 *    It is 0 from its release on, although the ticket stays.  If the ticket is
 *    lost, its holder gets LOST together with all others that the event
 *    concerns, and before any other effect; the waiters go on with another
 *    ticket.
 *  - A request for the release of the ticket is passed on to its holder, or to
 *    the first waiter that is granted on it.  Between two holders it ends the
 *    ticket.
 *  - A try ends with HF_EBUSY at once and without a request while another
 *    waiter holds or waits; else when the ticket is seen behind another one.
 *  - Each waiter has its own deadline, and can be cancelled alone.  When the
 *    last one that waits or holds goes, the ticket is removed, and this waiter
 *    gets its ENDED or RELEASED once the ticket is gone.
 *  - If the ticket ends by itself (HF_EKIND, HF_EDENIED, ...), all that wait
 *    end with its status and text.
 *  - Waiters that leave while nobody needs a ticket get FORGOTTEN only when no
 *    ticket of the cohort can be, or appear, in the queue: the cohort can be
 *    freed then.
 */
#ifndef HF_CORE_COHORT_H
#define HF_CORE_COHORT_H

#include "core/acquisition.h"
#include "core/deferred_call.h"

/* One in force, and one that is still being removed. */
#define HF_COHORT_TICKETS 2

struct hf_cohort_ticket {
    struct hf_acquisition acquisition;
    struct hf_shared_text *payload; /* that of the first waiter; "" if there was
                                no memory for it */
};

struct hf_cohort {
    const char *queue; /* must live as long as the cohort */
    uint32_t handoffs; /* so many at most on one ticket */

    /* The core's own. */
    /* Allocated while there are waiters.  The first one comes with the first
     * waiter, which ends if there is no memory.  The second one is allocated
     * when it is needed; without memory the next enqueue waits until the first
     * ticket is over. */
    struct hf_cohort_ticket *tickets[HF_COHORT_TICKETS];
    struct hf_acquisition *ticket; /* the one in force: WAITING or HELD; NULL:
                                      none */
    uint64_t grants;               /* on .ticket, to waiters */
    bool revoked;    /* somebody asked for the release of .ticket */
    bool was_behind; /* .ticket was seen behind another one */
    struct hf_acquisition *holder; /* the waiter that is HELD; NULL: none */
    struct hf_acquisition *first;  /* those that are WAITING, by their WANT */
    struct hf_acquisition *last;
    struct hf_tree waiting; /* the same ones, to find their rank */
    struct hf_acquisition *first_leaving; /* RELEASING or GIVING_UP, in order */
    struct hf_acquisition *last_leaving;
    size_t count; /* of waiters, from WANT to FORGOTTEN */
    struct hf_deferred_call
        deferred;           /* a waiter or the ticket notified the cohort */
    struct hf_cohort *next; /* in the core's list, while it has waiters */
    struct hf_cohort *previous;
};

/* An empty one.  It must not be moved while it has waiters. */
void hf_cohort_init(struct hf_cohort *cohort, const char *queue,
                    uint32_t handoffs);

/* Give back what memory ${cohort} has apart from itself: it is idle, or its
 * core is no more. */
void hf_cohort_free(struct hf_core *core, struct hf_cohort *cohort);

/* Has it no waiters, and the core nothing of it? */
bool hf_cohort_is_idle(const struct hf_cohort *cohort);

/* Below: for the core. */

/* Something has changed: look at it at the end of this step. */
void hf_cohort_touch(struct hf_core *core, struct hf_cohort *cohort);

/* What the limits of its waiters depend on has changed. */
void hf_cohort_touch_waiters(struct hf_core *core, struct hf_cohort *cohort);

/* End every wait as ${why} tells. */
void hf_cohort_give_up(struct hf_core *core, struct hf_cohort *cohort,
                       const struct hf_error *why);

/* The way of a waiter to its lock, and the owner of the cohort's tickets. */
extern const struct hf_acquisition_ops hf_acquisition_cohort_ops;
extern const struct hf_acquisition_listener hf_acquisition_cohort_listener;

/* Before its WANT: make ${a} a waiter of ${cohort}. */
static inline void hf_acquisition_use_cohort(struct hf_acquisition *a,
                                             struct hf_cohort *cohort)
{
    a->ops = &hf_acquisition_cohort_ops;
    a->waiter.cohort = cohort;
}

/* The cohort whose ticket ${a} is; NULL: it is none. */
static inline struct hf_cohort *
hf_acquisition_cohort(const struct hf_acquisition *a)
{
    return a->listener == &hf_acquisition_cohort_listener ? a->cohort : NULL;
}

void hf_cohort_check(const struct hf_core *core,
                     const struct hf_cohort *cohort);

#endif
