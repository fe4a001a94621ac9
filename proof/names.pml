/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of all states, and everything that an acquisition keeps.
 *
 * A configuration defines before it includes this file:
 *
 *   CLIENTS, PER_CLIENT    clients, and acquisitions of each
 *   ATTEMPTS               tickets that an acquisition may take in all
 *   QUEUE(a), WRITES(a)    its queue; does it want to write, or else to read?
 *   FAULTS, CANCELS        how many faults, and how many waits are cancelled
 */
#define ACQUISITIONS (CLIENTS * PER_CLIENT)
#define TICKETS (ACQUISITIONS * ATTEMPTS)
#define CLIENT(a) ((a) / PER_CLIENT)
#define OWNER(t) ((t) / ATTEMPTS)

#ifndef FAULTS
#define FAULTS 1
#endif
/* The kinds of fault.  Each fault is one of those in FAULT. */
#define CUT 1    /* a link breaks, and with it the requests under way on it */
#define CRASH 2  /* a client ends without notice */
#define EXPIRY 4 /* safe-until passes while the link is up */
#ifndef FAULT
#define FAULT (CUT | CRASH | EXPIRY)
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef DOWNGRADES
#define DOWNGRADES 0
#endif
/* Does it behave as the contender before it, so that the two may be swapped? */
#ifndef ALIKE
#define ALIKE(a) (false)
#endif
#ifndef QUEUES
#define QUEUES 1
#endif

/* A ticket as a list shows it; 0: none.  A writer that has become a reader
 * counts as another ticket for its watches (struct hf_watched_ticket). */
#define AS_READER 128
#define SHOWN(t) ((t) + 1 + (reads[t] -> AS_READER : 0))
#define TICKET_OF(shown) (((shown) & 127) - 1)
#define SHOWN_READS(shown) ((shown) >= AS_READER)

/* enum hf_acquisition_state.  While that is WAITING: enum hf_own_ticket_state
 * of the current ticket.  PAUSED: WAITING without a ticket.  AWAITING_ROOM:
 * the ticket of a lease that is not enqueued before there is room. */
#define IDLE 0
#define PAUSED 1
#define AWAITING_ROOM 2
#define ENQUEUING 3
#define UNSURE 4
#define QUEUED 5
#define HELD 6
#define LOST 7
#define RELEASING 8
#define GIVING_UP 9
#define DONE 10
#define IS_WAITING(a) (acq[a].phase >= PAUSED && acq[a].phase <= QUEUED)

/* The request under way for the current ticket, .ask: one at a time. */
#define NOTHING 0
#define ENQUEUE_SENT 1
#define ENQUEUE_ANSWERED 2 /* it took effect, and the answer is under way */
#define LIST_SENT 3
#define LIST_ANSWERED 4
#define DOWNGRADE_SENT 5
#define DOWNGRADE_ANSWERED 6

/* A watch of a ticket, and of a queue. */
#define UNWATCHED 0
#define ASKED 1
#define WATCHING 2
#define FIRED 3     /* GONE, or CHANGED, is under way */
#define ANSWERED 4  /* of a queue: LISTED is under way */
#define FORGOTTEN 5 /* the engine has lost it, and no event will come */

/* enum hf_removal_state, for each ticket */
#define NONE 0
#define WAITING 1
#define DUE 2
#define SENT 3  /* HF_REMOVAL_ASKED */
#define FOUND 4 /* the answer is under way */
#define NOT_FOUND 5

/* enum hf_state, for each client */
#define NO_SESSION 0 /* HF_STATE_CONNECTING and HF_STATE_LOST */
#define CONNECTED 1  /* HF_STATE_CONNECTED */
#define SUSPENDED 2  /* HF_STATE_SUSPENDED */
#define CRASHED 3    /* there is no client any more */

typedef Acquisition {
    unsigned phase : 4;
    unsigned ask : 3;
    unsigned attempts : 3;
    unsigned repeats : 2; /* how often the user wants it again */
    byte ticket;
    byte token;
    bool list_wanted;
    bool admissible;
    bool stale;
    bool cancelled;
    bool downgrading;
    bool writes;
    /* QUEUED: the position, as of the last list */
    unsigned blocking : 4;
    byte nearest;
    byte second;
    bool gone_admits;
    unsigned watch_nearest : 3;
    unsigned watch_second : 3;
    /* what the answer under way says */
    bool seen; /* it shows our ticket */
    unsigned seen_blocking : 4;
    byte seen_nearest;
    byte seen_second;
    bool seen_gone_admits
};

Acquisition acq[ACQUISITIONS];

/* What may still happen. */
byte faults_left;
byte cancels_left, downgrades_left;

/* A property that is broken, by name: pan prints the assertion. */
bool broken_exclusion, broken_order, broken_token, broken_leak, broken_loss,
    broken_herd, broken_wait;
#define BREAKS(property) property = true; assert(!property)

/* Variables of loops within one step.  They mean nothing between two steps. */
hidden byte u, v, w, x, y;
