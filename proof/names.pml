/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, and what there is.  A world defines before it includes this:
 *
 *   CLIENTS, PER           clients, and acquisitions that each may have
 *   ATTEMPTS               tickets that an acquisition may take in all
 *   QUEUE(a), WRITES(a)    its queue; does it want to write, or else read?
 *   MISHAPS, CANCELS       how much may go wrong, and who may give up
 */
#define ACQUISITIONS (CLIENTS * PER)
#define TICKETS (ACQUISITIONS * ATTEMPTS)
#define CLIENT(a) ((a) / PER)
#define OWNER(t) ((t) / ATTEMPTS)

#ifndef MISHAPS
#define MISHAPS 1
#endif
/* What may go wrong, one of these each time. */
#define CUT 1   /* a link breaks, and with it what was under way on it */
#define CRASH 2 /* a client is no more */
#define LAPSE 4 /* a promise runs out though the link is up */
#ifndef MISHAP
#define MISHAP (CUT | CRASH | LAPSE)
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef DOWNGRADES
#define DOWNGRADES 0
#endif
/* Who is of one kind with the contender before it, and may be taken for it. */
#ifndef ALIKE
#define ALIKE(a) (false)
#endif
#ifndef QUEUES
#define QUEUES 1
#endif

/* A ticket as a list shows it: 0 is none.  A writer that has become a reader
 * is another one to whoever watches it (struct hf_watched_ticket). */
#define AS_READER 128
#define SHOWN(t) ((t) + 1 + (reads[t] -> AS_READER : 0))
#define TICKET_OF(shown) (((shown) & 127) - 1)
#define SHOWN_READS(shown) ((shown) >= AS_READER)

/* enum hf_acquisition_state.  While that is WAITING: enum hf_own_ticket_state
 * of the ticket in force, and PAUSED if there is none. */
#define IDLE 0
#define PAUSED 1
#define LOOKING 2
#define ENQUEUING 3
#define UNSURE 4
#define QUEUED 5
#define HELD 6
#define LOST 7
#define RELEASING 8
#define WITHDRAWING 9
#define DONE 10
#define IS_WAITING(a) (acq[a].phase >= PAUSED && acq[a].phase <= QUEUED)

/* A request on its way: .ask of the ticket in force, one at a time. */
#define NOTHING 0
#define ENQUEUE_SENT 1
#define ENQUEUE_ANSWERED 2 /* it took effect, the answer is on its way */
#define LIST_SENT 3
#define LIST_ANSWERED 4
#define DOWNGRADE_SENT 5
#define DOWNGRADE_ANSWERED 6

/* A watch of a ticket, and of a queue. */
#define UNWATCHED 0
#define ASKED 1
#define WATCHING 2
#define FIRED 3    /* GONE, or CHANGED, is on its way */
#define ANSWERED 4 /* of a queue: LISTED is on its way */
#define DEAF 5     /* the engine has forgotten it */

/* enum hf_removal_state, by ticket */
#define NONE 0
#define WAITING 1
#define DUE 2
#define SENT 3  /* HF_REMOVAL_ASKED */
#define FOUND 4 /* the answer is on its way */
#define NOT_FOUND 5

/* enum hf_state, of a client */
#define NO_SESSION 0 /* CONNECTING, LOST */
#define UP 1         /* CONNECTED */
#define DOWN 2       /* SUSPENDED */
#define CRASHED 3    /* there is no client any more */

typedef Acquisition {
    unsigned phase : 4;
    unsigned ask : 3;
    unsigned attempts : 3;
    unsigned rounds : 2; /* how often it is wanted again */
    byte ticket;
    byte token;
    bool list_wanted;
    bool admissible;
    bool stale;
    bool cancelled;
    bool downgrading;
    bool writes;
    /* QUEUED: the place */
    unsigned blocking : 4;
    byte before;
    byte beyond;
    bool gone_admits;
    unsigned watch_before : 3;
    unsigned watch_beyond : 3;
    /* the answer that is on its way */
    bool seen; /* it shows our ticket */
    unsigned seen_blocking : 4;
    byte seen_before;
    byte seen_beyond;
    bool seen_gone_admits
};

Acquisition acq[ACQUISITIONS];
byte spare; /* mishaps that may still happen */

/* What is broken, by name: pan prints the assertion. */
byte cancels, downgrades; /* that may still happen */

bool broken_exclusion, broken_order, broken_token, broken_leak, broken_loss,
    broken_herd, broken_wait;
#define BREAKS(property) property = true; assert(!property)

/* Loops, within one step: of no meaning between two. */
hidden byte u, v, w, x, y;
