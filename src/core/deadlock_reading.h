/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of queues, backwards from a ticket that waits: its own queue,
 * because others wait behind it; those of the locks that its owner holds; then
 * those of the locks that the waiters there hold, and so on.  So it finds all
 * owners that wait for the first one, without a list of all names.  It copies
 * what it needs of each list.
 */
#ifndef HF_CORE_DEADLOCK_READING_H
#define HF_CORE_DEADLOCK_READING_H

#include "core/deadlock.h"
#include "core/ticket_text.h"

/* The room for the name of a queue. */
#define HF_DEADLOCK_QUEUE_NAME_BYTES (HF_NAME_BYTES + sizeof(HF_QUEUE_LEASES))

/* A list that was copied; all in one allocation. */
struct hf_deadlock_list {
    struct hf_deadlock_list *next;
    struct hf_deadlock_hold *holds;
    struct hf_deadlock_ticket tickets[];
};

/* Zeroed before hf_deadlock_reading_begin(). */
struct hf_deadlock_reading {
    struct hf_deadlock_locks locks;
    struct hf_deadlock_lock storage[HF_DEADLOCK_QUEUES_MAX];
    bool is_read[HF_DEADLOCK_QUEUES_MAX][HF_DEADLOCK_ROLES];
    /* The queues of a semaphore of that name are wanted too: something of that
     * name is held by a ticket that is not in the queue of the lock. */
    bool is_semaphore[HF_DEADLOCK_QUEUES_MAX];
    size_t queue_count; /* that were asked for */
    struct hf_deadlock_list *lists;
    /* What the first one holds. */
    struct hf_deadlock_hold *start;
    size_t start_count;
    size_t lock; /* the queue that was asked for last */
    enum hf_deadlock_role role;
    /* Go on from what the owners of admitted tickets of the first lock hold,
     * too: they may wait elsewhere. */
    bool follows_holders;
    hf_status status; /* HF_EFULL: more than the bounds; HF_ENOMEM */
};

/* Begin with a ticket that waits for the lock called ${name}, which may be a
 * semaphore, and that has the text ${text}. */
void hf_deadlock_reading_begin(struct hf_deadlock_reading *reading,
                               const char *name, bool is_semaphore,
                               const char *text);

/* Begin with the queues of the lock called ${name}, whatever it is, and with
 * what its holders hold. */
void hf_deadlock_reading_begin_lock(struct hf_deadlock_reading *reading,
                                    const char *name);

/* Write the name of the next queue to list to ${queue}.  False: there is none,
 * or .status is not HF_OK. */
bool hf_deadlock_reading_next(struct hf_deadlock_reading *reading,
                              char queue[HF_DEADLOCK_QUEUE_NAME_BYTES]);

/* The detailed list of that queue has come. */
void hf_deadlock_reading_listed(struct hf_deadlock_reading *reading,
                                const struct hf_snapshot *snapshot);

/* Take all tickets out of ${reading} that ${before} has not found. */
void hf_deadlock_reading_keep(struct hf_deadlock_reading *reading,
                              const struct hf_deadlock_reading *before);

/* The ticket with the id ${id}; NULL: none. */
struct hf_deadlock_ticket *
hf_deadlock_reading_find(struct hf_deadlock_reading *reading,
                         const struct hf_ticket_id *id);

/* Free what it has allocated, and zero it. */
void hf_deadlock_reading_free(struct hf_deadlock_reading *reading);

#endif
