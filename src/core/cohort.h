/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cohort: acquisitions of one client that want one mutex, and one ticket that
 * stands for them: a local queue in front of the engine's (Dice, Marathe and
 * Shavit, "Lock Cohorting", PPoPP 2012).
 *
 * The *waiters* have no ticket of their own but the same states, effects and
 * promise as any other acquisition, except that they hear no WAITING.  It is a
 * bundle turned round: there one owner has many tickets, here one ticket serves
 * many owners.
 *
 *  - Members are granted in the order of their WANT, one at a time.
 *  - One that is released hands the ticket to the next one: at once and without
 *    a request, but not while the session may not admit.  All these grants
 *    share the ticket's token.
 *  - After .handoffs of these, or once somebody asked for the ticket to be
 *    released, it is given back instead, and another is taken at the tail of
 *    the engine's queue for those who wait: other clients are not starved.  The
 * old ticket is withdrawn first and the new one enqueued right behind, in one
 * write: where nobody else waits it is then admitted by the answer, and never
 * waits for a ticket of our own.
 *  - The holder's promise is the session's, as if the ticket were its own, and
 *    0 from its release on, though the ticket lives.  Should the ticket be lost
 *    the holder hears LOST, with all others that the event concerns and before
 *    anything else; those who wait go on behind another ticket.
 *  - A request to let go is told to the waiter that holds, or to the first one
 *    that is granted on that ticket.
 *  - A try ends with HF_EBUSY at once, without a request, while another waiter
 *    holds or waits; else when the ticket is seen behind somebody's.
 *  - Deadline and cancel are each waiter's own.  With the last waiter that
 *    waits or holds goes the ticket, and that waiter hears of its end, or of
 *    its release, once the ticket is gone.
 *  - Where the ticket ends by itself (HF_EKIND, HF_EDENIED, ...), each waiter
 *    that waits ends with its status and text.
 *  - The last waiter of a cohort is FORGOTTEN only when no ticket of it can be,
 *    or appear, in the queue: its memory can then go.
 */
#ifndef HF_CORE_COHORT_H
#define HF_CORE_COHORT_H

#include "core/acquisition.h"
#include "core/later.h"

/* One in force, and one that is still on its way out of the queue. */
#define HF_COHORT_TICKETS 2

struct hf_cohort_ticket {
    struct hf_acquisition acquisition;
    struct hf_text *payload; /* of who was first in line; "" without the memory
                                for it */
};

struct hf_cohort {
    const char *queue; /* must live as long as the cohort */
    uint32_t handoffs; /* of one ticket, from waiter to waiter */

    /* The core's own. */
    /* Allocated while there are waiters: the first for the first waiter, which
     * ends without the memory for it, the others when they are needed; without
     * the memory for one, the next ticket waits until the one before is over.
     */
    struct hf_cohort_ticket *tickets[HF_COHORT_TICKETS];
    struct hf_acquisition *ticket; /* that is wanted or held; NULL: none */
    uint64_t grants;               /* to waiters, on .ticket */
    bool revoked;                  /* .ticket should go */
    bool behind;                   /* .ticket was seen behind somebody's */
    struct hf_acquisition *holder;
    struct hf_acquisition *first; /* of those who wait */
    struct hf_acquisition *last;
    struct hf_tree waiting; /* the same, by the number of their WANT */
    struct hf_acquisition *first_leaving; /* given up or released, in order */
    struct hf_acquisition *last_leaving;
    size_t count;           /* waiters, from WANT to FORGOTTEN */
    struct hf_later later;  /* something was heard */
    struct hf_cohort *next; /* in the core, while it has waiters */
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

/* How a waiter of a cohort gets its lock, and whose its tickets are. */
extern const struct hf_acquisition_ops hf_acquisition_by_cohort;
extern const struct hf_acquisition_owner hf_acquisition_of_cohort;

/* Before its WANT: ${a} is a waiter of ${cohort}. */
static inline void hf_acquisition_use_cohort(struct hf_acquisition *a,
                                             struct hf_cohort *cohort)
{
    a->ops = &hf_acquisition_by_cohort;
    a->waiter.cohort = cohort;
}

/* The cohort whose ticket ${a} has; NULL: it stands for itself. */
static inline struct hf_cohort *
hf_acquisition_cohort(const struct hf_acquisition *a)
{
    return a->owner == &hf_acquisition_of_cohort ? a->cohort : NULL;
}

void hf_cohort_check(const struct hf_core *core,
                     const struct hf_cohort *cohort);

#endif
