/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of queues, backwards from a ticket that waits: those of the locks
 * that its owner holds; then those of the locks that the owners of the tickets
 * that wait there hold, and so on.  So it finds all owners that wait for the
 * first one, without a list of all names.  It reads only what can be part of a
 * cycle:
 *
 *  - Only a ticket that was reached leads on, and only by what it says is held.
 *    A ticket is reached if it waits behind one that the owner of a reached
 *    ticket holds.
 *  - A ticket that waits stands itself in the way of others only if it is the
 *    first writer behind readers, or the first of an entry queue.  A ticket
 *    behind any other one that waits is also behind what that one waits for.
 *  - The queue that the first ticket waits in is read at once only if that
 *    ticket can stand in the way of others like that.  Otherwise the ticket is
 *    part of a cycle only if the owner that holds its lock is reached, and then
 *    the queue is read because of that.
 *  - The text of a ticket is read once it was reached, a page at a time.
 *
 * It copies what it needs of each list.  Locks and tickets are found by hash
 * tables, so its time grows about as the lists that it reads.
 */
#ifndef HF_CORE_DEADLOCK_READING_H
#define HF_CORE_DEADLOCK_READING_H

#include "core/deadlock_graph.h"
#include "core/ticket_text.h"

/* The room for the name of a queue. */
#define HF_DEADLOCK_QUEUE_NAME_BYTES (HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES))

/* The most texts of one list, where the engine reads them one by one. */
#define HF_DEADLOCK_PAGE 256

/* The most holds of the session of one ticket that are looked at. */
#define HF_DEADLOCK_SESSION_HOLDS 64

/* A list that is to be asked for. */
struct hf_deadlock_request {
    size_t lock;
    enum hf_deadlock_role role;
    struct hf_text_range texts;
};

/* A ticket by which a session holds a lock: its first digits. */
struct hf_session_hold {
    const char *lock;
    uint32_t id;
};

/* What is known of the sessions of other programs. */
struct hf_deadlock_sessions {
    /* Set ${holds} to what ${session} holds, and return how much that is.  0:
     * nothing; or more than there is room for; or ${lock} is among it, because
     * the ticket that waits for ${lock} then waits for its own session. */
    size_t (*find)(void *arg, uint64_t session, const char *lock,
                   struct hf_session_hold holds[HF_DEADLOCK_SESSION_HOLDS]);
    void *arg;
};

/* Zeroed before hf_deadlock_reading_begin(). */
struct hf_deadlock_reading {
    struct hf_deadlock_graph graph;       /* what was read, and .status */
    struct hf_deadlock_request *requests; /* those from .next_request on are to
                                             be asked for */
    size_t request_count, request_room, next_request;
    size_t ticket_count;
    /* Tickets that were reached and are to be followed. */
    struct hf_deadlock_ticket *first_reached, *last_reached;
    /* The ticket that it begins with, as the caller has described it.  NULL: it
     * begins with the first .asked locks, goes on from all of their tickets,
     * and also follows what is only possible (outer=). */
    struct hf_deadlock_ticket *subject;
    size_t asked;
    /* The subject was reached, and its text is read: so there may be a cycle.
     * The search clears it when it has looked. */
    bool closed;
    const struct hf_deadlock_sessions *sessions; /* NULL: nothing is known */
};

/* Begin with the ticket ${subject} of ${kind}, which waits for the lock called
 * ${name}, and that has the text ${text}.  HF_TICKET_LEASE: it is in the entry
 * queue of a semaphore. */
void hf_deadlock_reading_begin(struct hf_deadlock_reading *reading,
                               const char *name, enum hf_ticket_kind kind,
                               const struct hf_ticket_id *subject,
                               const char *text);

/* Begin with the queues of the ${count} locks called ${names}, whatever they
 * are, and with what their holders hold. */
void hf_deadlock_reading_begin_locks(struct hf_deadlock_reading *reading,
                                     char *const *names, size_t count);

/* Write the name of the next queue to list to ${queue}, and which texts are
 * wanted to ${texts}.  False: there is none, or .status is not HF_OK. */
bool hf_deadlock_reading_next(struct hf_deadlock_reading *reading,
                              char queue[HF_DEADLOCK_QUEUE_NAME_BYTES],
                              struct hf_text_range *texts);

/* The detailed list of that queue has come. */
void hf_deadlock_reading_listed(struct hf_deadlock_reading *reading,
                                const struct hf_snapshot *snapshot);

/* The subject as its queue was listed; NULL: it was not, or has no such ticket.
 */
struct hf_deadlock_ticket *
hf_deadlock_reading_subject(const struct hf_deadlock_reading *reading);

/* Free what it has allocated, and zero it. */
void hf_deadlock_reading_free(struct hf_deadlock_reading *reading);

#endif
