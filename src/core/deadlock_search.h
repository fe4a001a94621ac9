/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for a deadlock: two readings, the second begun after the first has
 * ended, and a verdict only about tickets that both have found.  Tickets do not
 * come back, and an owner that waits releases nothing.  So each of them was
 * there at the instant between the two readings, and all that the verdict rests
 * on stood at once.  What a ticket says is held counts only if it said so in
 * both readings, because its text may have been written again between them.  A
 * reading ends as soon as it has found a cycle through the subject.  (One
 * reading could put together what never stood together.)
 *
 * No I/O: it says which queue to list next.  Each list must show at least what
 * was there when it was asked for.
 */
#ifndef HF_CORE_DEADLOCK_SEARCH_H
#define HF_CORE_DEADLOCK_SEARCH_H

#include "core/deadlock.h"
#include "core/deadlock_reading.h"

/* Zeroed before it begins; then the user may set .sessions. */
struct hf_deadlock_search {
    /* What is known of sessions, for a search without a subject; it must stay
     * until the end.  NULL: nothing. */
    const struct hf_deadlock_sessions *sessions;
    struct hf_deadlock_reading readings[2];
    unsigned current; /* the one that goes on */
    char **names;     /* of the locks to begin with */
    size_t name_count;
    enum hf_ticket_kind kind;    /* of the subject */
    char *text;                  /* of the subject; NULL: there is none */
    struct hf_ticket_id subject; /* the ticket that the cycle must have in it */
    /* The verdict; no waiters: there is no deadlock, or it is not certain. Its
     * tickets are those of the last reading. */
    struct hf_deadlock_cycle cycle;
    bool possible; /* the cycle needs what is only possible: outer=, or what a
                      session holds */
    /* Without a subject: the last ticket that a cycle was looked for from,
     * NULL: none yet; and how many walks there were. */
    const struct hf_deadlock_ticket *last;
    size_t walks;
};

/* Begin a search: is there a cycle with the ticket ${subject}, which waits for
 * the lock called ${name} as a ticket of ${kind} and has the text ${text}?  For
 * a semaphore ${kind} is HF_TICKET_LEASE, and it is the ticket in the entry
 * queue.  HF_ENOMEM. */
hf_status hf_deadlock_search_begin(struct hf_deadlock_search *search,
                                   const char *name, enum hf_ticket_kind kind,
                                   const struct hf_ticket_id *subject,
                                   const char *text);

/* The same for the ${count} locks called ${names}: is there a cycle with a
 * ticket that waits for one of them; or else one that such a ticket waits
 * behind; or else any that was found?  A cycle that is only possible counts
 * too.  HF_ENOMEM; HF_EFULL: too many locks. */
hf_status hf_deadlock_search_begin_locks(struct hf_deadlock_search *search,
                                         const char *const *names,
                                         size_t count);

/* Write the name of the next queue to list to ${queue}, and which texts of it
 * are wanted to ${texts}; more do no harm.  False: the search has ended. */
bool hf_deadlock_search_next(struct hf_deadlock_search *search,
                             char queue[HF_DEADLOCK_QUEUE_NAME_BYTES],
                             struct hf_text_range *texts);

/* The detailed list of that queue has come. */
void hf_deadlock_search_listed(struct hf_deadlock_search *search,
                               const struct hf_snapshot *snapshot);

/* After the end of a search that has found a cycle and has no subject: set
 * .cycle to another one; cycles that are only possible come last, and may have
 * tickets of earlier ones.  False: there is none. */
bool hf_deadlock_search_next_cycle(struct hf_deadlock_search *search);

/* Why there is no verdict, and .cycle is empty: HF_ENOMEM, or HF_EFULL if there
 * are more queues, tickets, holds or texts than are looked at.  HF_OK: the
 * verdict is what .cycle says. */
hf_status hf_deadlock_search_status(const struct hf_deadlock_search *search);

/* How many lists the last reading has asked for, and what it has found. */
size_t hf_deadlock_search_lists(const struct hf_deadlock_search *search);
const struct hf_deadlock_graph *
hf_deadlock_search_graph(const struct hf_deadlock_search *search);

/* The name of the lock that a waiter of the cycle waits for. */
const char *hf_deadlock_search_lock(const struct hf_deadlock_search *search,
                                    const struct hf_deadlock_ticket *waiter);

/* Write the cycle as one sentence to ${text}, cut if it does not fit; the first
 * waiter is "this owner". */
void hf_deadlock_search_describe(const struct hf_deadlock_search *search,
                                 char *text, size_t bytes);

/* Free what it has allocated, and zero it. */
void hf_deadlock_search_free(struct hf_deadlock_search *search);

#endif
