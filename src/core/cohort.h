/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cohort: acquisitions of one client that want the same mutex and share one
 * ticket in the engine's queue.  It is a local queue in front of the engine's
 * queue (Dice, Marathe and Shavit, "Lock Cohorting", PPoPP 2012).
 *
 * The acquisitions are the *waiters* of the cohort, also while they hold.  They
 * take no ticket themselves and have the same states and effects as any other
 * acquisition, except the effect WAITING.  The ticket is a further acquisition,
 * whose listener is the cohort.  A multi-lock is the reverse: there one
 * acquisition has several tickets; here one ticket serves several acquisitions.
 *
 *  - Waiters are granted in the order of their ACQUIRE, one at a time.
 *  - A waiter that is released hands the ticket on to the next waiter, at once
 *    and without a request.  All grants on one ticket have the same token.
 *  - While the session may not admit, and another waiter waits, a released
 *    waiter gets RELEASED all the same.  The ticket stays HELD, and nobody
 *    relies on it.  The next waiter is granted on it once the session may admit
 *    again.  After an outage the ticket is listed before that, because somebody
 *    may have removed it.  If safe-until passes or the session ends before, the
 *    ticket is lost, and the waiters go on with another one at the tail.
 *  - After .handoffs such handoffs the ticket is removed instead, and another
 *    one is enqueued at the tail of the engine's queue for the waiters that are
 *    left, so that other clients do not starve.  The same happens once somebody
 *    has asked for the release of the ticket.  The removal and the next enqueue
 *    are sent in one write, in this order: if no other client waits, the answer
 *    to the enqueue admits the new ticket.
 *  - The holder's safe-until is the session's, as if the ticket were its own.
 *    It is 0 after its release, although the ticket stays.  If the ticket is
 *    lost, its holder gets LOST together with all others that the event
 *    concerns, and before any other effect; the waiters go on with another
 *    ticket.
 *  - With .keep_ms a ticket that did not have to wait stays HELD when the last
 *    waiter has left, for as long as that and while no other ticket is seen in
 *    the queue.  This is lock caching, as Chubby has it (Burrows, "The Chubby
 *    lock service", OSDI 2006, 2.7).  A waiter that comes meanwhile is granted
 *    without a request.  When the ticket is kept for the first time its queue
 *    is watched.  From then on it is handed on without a bound, until another
 *    ticket is seen: then it is removed at once if it is kept, else once its
 *    holder has released it.  If the queue cannot be watched, nothing is
 *    kept.
 *  - A request to release the ticket is passed on to its holder, or to the
 *    first waiter that is granted on it.  Between two holders it ends the
 *    ticket.
 *  - A try ends with HF_EBUSY at once and without a request if another waiter
 *    holds or waits; else when the ticket is seen behind another one.
 *  - Each waiter has its own deadline and can be cancelled alone.  When the
 *    last one that waits or holds goes, the ticket is removed, and this waiter
 *    gets its ENDED or RELEASED once the end of the ticket is reported: ENDED
 *    after HF_REMOVAL_WAIT_MS at the latest.
 *  - If the wait of the ticket ends by itself (HF_EKIND, HF_EDENIED, ...),
 *    every waiter that waits ends with its status and text.
 *  - Waiters that leave while nobody needs a ticket become DONE only when no
 *    ticket of the cohort can be in the queue or appear there.  Then the cohort
 *    can be freed.
 */
#ifndef HF_CORE_COHORT_H
#define HF_CORE_COHORT_H

#include "core/acquisition.h"

/* One in use, and one that is still being removed. */
#define HF_COHORT_TICKETS 2

/* A ticket of a cohort, and its text. */
struct hf_cohort_ticket {
    struct hf_acquisition acquisition;
    struct hf_shared_text
        *payload; /* of the first waiter when the ticket was requested; NULL:
                     "", or no memory for it */
};

struct hf_cohort {
    const char *queue; /* must live as long as the cohort */
    uint32_t handoffs; /* the most on one ticket */
    uint64_t keep_ms;  /* how long the ticket is kept at most; 0: it is not */

    /* For the core only. */
    /* Allocated while there are waiters, or a ticket is kept or removed.  The
     * first ticket is allocated with the first waiter, whose wait ends if there
     * is no memory; the second when it is needed.  Without memory for it the
     * next enqueue waits until the first ticket can be used again. */
    struct hf_cohort_ticket *tickets[HF_COHORT_TICKETS];
    struct hf_acquisition *ticket; /* the one in use: WAITING or HELD; NULL:
                                      none */
    uint64_t grants;               /* to waiters, on .ticket */
    uint64_t kept_until_ms;        /* CLOCK_BOOTTIME; .ticket is kept, and then
                                      removed; 0: it is not kept */
    bool revoked;    /* somebody asked for the release of .ticket */
    bool contended;  /* another ticket may be in the queue of .ticket */
    bool was_behind; /* .ticket was seen behind tickets that block it */
    struct hf_acquisition *holder; /* the waiter that is HELD; NULL: none */
    struct {
        struct hf_acquisition *first;
        struct hf_acquisition *last;
    } waiters; /* that are WAITING, in the order of their ACQUIRE */
    struct hf_tree waiting; /* the same waiters, to find their rank */
    struct {
        struct hf_acquisition *first;
        struct hf_acquisition *last;
    } leaving; /* the waiters that are RELEASING or GIVING_UP, in that order */
    size_t count;                     /* of the waiters that are not DONE */
    struct hf_deferred_call deferred; /* a waiter or the ticket has notified the
                                         cohort */
    bool in_use; /* it has a waiter or .tickets, and is in the core's list */
    struct hf_cohort *next; /* in that list */
    struct hf_cohort *previous;
};

/* Make ${cohort} an empty one.  ${queue} is borrowed.  It must not be moved
 * unless it is idle. */
void hf_cohort_init(struct hf_cohort *cohort, const char *queue,
                    uint32_t handoffs, uint64_t keep_ms);

/* Free the memory that ${cohort} refers to, but not ${cohort}: it is idle, or
 * its core is no longer used. */
void hf_cohort_free(struct hf_core *core, struct hf_cohort *cohort);

/* Has it no waiter and no ticket, and does the core have nothing of it? */
bool hf_cohort_is_idle(const struct hf_cohort *cohort);

/* The rest is for the core. */

/* Something has changed: pump it at the end of this step. */
void hf_cohort_touch(struct hf_core *core, struct hf_cohort *cohort);

/* Something on which the deadlines of its waiters depend has changed. */
void hf_cohort_touch_waiters(struct hf_core *core, struct hf_cohort *cohort);

/* End every wait with ${why}. */
void hf_cohort_give_up(struct hf_core *core, struct hf_cohort *cohort,
                       const struct hf_error *why);

/* How a waiter gets its lock, and the listener of the cohort's tickets. */
extern const struct hf_acquisition_ops hf_acquisition_cohort_ops;
extern const struct hf_acquisition_listener hf_acquisition_cohort_listener;

/* Make ${a} a waiter of ${cohort}, before its ACQUIRE. */
static inline void hf_acquisition_use_cohort(struct hf_acquisition *a,
                                             struct hf_cohort *cohort)
{
    a->ops = &hf_acquisition_cohort_ops;
    a->waiter.cohort = cohort;
}

/* The cohort that ${a} is a ticket of; NULL: none. */
static inline struct hf_cohort *
hf_acquisition_cohort(const struct hf_acquisition *a)
{
    return a->listener == &hf_acquisition_cohort_listener ? a->cohort : NULL;
}

/* Assert the invariants of the cohort. */
void hf_cohort_check(const struct hf_core *core,
                     const struct hf_cohort *cohort);

#endif
