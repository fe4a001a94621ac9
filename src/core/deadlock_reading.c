/* SPDX-License-Identifier: Apache-2.0 */
/* Copying the lists, and finding out which queue comes next. */
#include "core/deadlock_reading.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"

/* ----------------------------------------------------------------- locks -- */

/* Set ${index} to that of the lock called ${name}, which is added if it is new.
 * False if there are too many, or no memory. */
static bool add_lock(struct hf_deadlock_reading *reading, const char *name,
                     size_t *index)
{
    struct hf_deadlock_locks *locks = &reading->locks;
    char *copy;

    for (*index = 0; *index < locks->count; ++*index) {
        if (strcmp(locks->locks[*index].name, name) == 0)
            return true;
    }
    if (locks->count == HF_DEADLOCK_QUEUES_MAX) {
        reading->status = HF_EFULL;
        return false;
    }
    if ((copy = hf_strdup(name)) == NULL) {
        reading->status = HF_ENOMEM;
        return false;
    }
    locks->locks = reading->storage;
    locks->locks[locks->count++].name = copy;
    return true;
}

/* Read what ${text} says is held to ${holds}, which has room for all of it, and
 * return how many these are. */
static size_t read_holds(struct hf_deadlock_reading *reading, const char *text,
                         struct hf_deadlock_hold *holds)
{
    struct hf_ticket_holds rest = hf_ticket_text_holds(text);
    struct hf_ticket_hold hold;
    size_t count = 0;

    while (hf_ticket_text_next_hold(&rest, &hold)) {
        if (!add_lock(reading, hold.name, &holds[count].lock))
            break;
        holds[count++].id = hold.id;
    }
    return count;
}

/* At most how many holds ${text} has: each takes more than its digits. */
static size_t count_holds(const char *text)
{
    return hf_ticket_text_holds(text).length / HF_TICKET_HOLD_DIGITS;
}

void hf_deadlock_reading_begin(struct hf_deadlock_reading *reading,
                               const char *name, bool is_semaphore,
                               const char *text)
{
    size_t index;

    if (!add_lock(reading, name, &index))
        return;
    reading->is_semaphore[index] = is_semaphore;
    reading->start = hf_alloc((count_holds(text) + 1) * sizeof *reading->start);
    if (reading->start == NULL) {
        reading->status = HF_ENOMEM;
        return;
    }
    reading->start_count = read_holds(reading, text, reading->start);
}

void hf_deadlock_reading_begin_lock(struct hf_deadlock_reading *reading,
                                    const char *name)
{
    size_t index;

    reading->follows_holders = true;
    if (add_lock(reading, name, &index))
        reading->is_semaphore[index] = true;
}

/* ------------------------------------------------------ the next queue -- */

/* Is there a ticket with the first digits ${id} in ${queue}? */
static bool has_id(const struct hf_deadlock_queue *queue, uint32_t id)
{
    for (size_t i = 0; i < queue->count; i++) {
        if (hf_ticket_text_hold_id(&queue->tickets[i].id) == id)
            return true;
    }
    return false;
}

/* ${count} ${holds} name tickets: those that are not in the queue of a lock may
 * be leases of a semaphore of that name. */
static void find_semaphores(struct hf_deadlock_reading *reading,
                            const struct hf_deadlock_hold *holds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t lock = holds[i].lock;

        if (reading->is_read[lock][HF_DEADLOCK_LOCK] &&
            !has_id(&reading->storage[lock].queues[HF_DEADLOCK_LOCK],
                    holds[i].id))
            reading->is_semaphore[lock] = true;
    }
}

/* Do so with all holds that are known. */
static void find_all_semaphores(struct hf_deadlock_reading *reading)
{
    find_semaphores(reading, reading->start, reading->start_count);
    for (size_t i = 0; i < reading->locks.count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            const struct hf_deadlock_queue *queue =
                &reading->storage[i].queues[role];

            for (size_t k = 0; k < queue->count; k++)
                find_semaphores(reading, queue->tickets[k].holds,
                                queue->tickets[k].hold_count);
        }
    }
}

/* Is the queue of that lock and role wanted, and not read yet? */
static bool is_due(const struct hf_deadlock_reading *reading, size_t lock,
                   int role)
{
    return !reading->is_read[lock][role] &&
           (role == HF_DEADLOCK_LOCK || reading->is_semaphore[lock]);
}

/* Ask for it. */
static bool ask(struct hf_deadlock_reading *reading, size_t lock, int role,
                char queue[HF_DEADLOCK_QUEUE_NAME_BYTES])
{
    static const char *const below[HF_DEADLOCK_ROLES] = {
        [HF_DEADLOCK_LOCK] = "",
        [HF_DEADLOCK_LEASES] = HF_QUEUE_LEASES,
        [HF_DEADLOCK_ENTRY] = HF_QUEUE_LOCKS,
    };

    if (reading->queue_count == HF_DEADLOCK_QUEUES_MAX) {
        reading->status = HF_EFULL;
        return false;
    }
    reading->queue_count++;
    reading->lock = lock;
    reading->role = (enum hf_deadlock_role)role;
    (void)snprintf(queue, HF_DEADLOCK_QUEUE_NAME_BYTES, "%s%s",
                   reading->storage[lock].name, below[role]);
    return true;
}

bool hf_deadlock_reading_next(struct hf_deadlock_reading *reading,
                              char queue[HF_DEADLOCK_QUEUE_NAME_BYTES])
{
    if (reading->status != HF_OK)
        return false;
    find_all_semaphores(reading);
    for (size_t i = 0; i < reading->locks.count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            if (is_due(reading, i, role))
                return ask(reading, i, role, queue);
        }
    }
    return false;
}

/* ----------------------------------------------------------------- lists -- */

/* Memory for a copy of ${snapshot}: the tickets, their holds, their texts. */
static struct hf_deadlock_list *allocate(const struct hf_snapshot *snapshot,
                                         char **text)
{
    size_t holds = 1, bytes = 1;
    struct hf_deadlock_list *list;

    for (size_t i = 0; i < snapshot->count; i++) {
        holds += count_holds(snapshot->tickets[i].payload);
        bytes += strlen(snapshot->tickets[i].payload) + 1;
    }
    list = hf_alloc(sizeof *list + snapshot->count * sizeof list->tickets[0] +
                    holds * sizeof *list->holds + bytes);
    if (list == NULL)
        return NULL;
    list->holds = (void *)(list->tickets + snapshot->count);
    *text = (char *)(list->holds + holds);
    return list;
}

/* The number that the word ${key} of ${text} says, or the greatest that
 * fits. */
static uint32_t small_number(const char *text, const char *key)
{
    uint64_t number = hf_ticket_text_number(text, key);

    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Copy ${ticket}, whose text was copied to ${text}. */
static struct hf_deadlock_ticket copy_ticket(const struct hf_ticket *ticket,
                                             const char *text)
{
    uint32_t permits = small_number(text, "permits");
    const char *value;
    size_t length;

    return (struct hf_deadlock_ticket){
        .id = ticket->id,
        .token = ticket->token,
        .kind = ticket->kind,
        .weight = ticket->weight,
        .is_ours = hf_ticket_text_is_ours(text),
        .detects = hf_ticket_text_find(text, "detect", &value, &length),
        .limit = small_number(text, "limit"),
        .permits = permits > 0 ? permits : 1,
        .text = text,
    };
}

/* Does the search go on from what the owner of the ticket at ${index} holds?
 * Only owners that wait matter; those at the head of a lock's queue do not. */
static bool is_followed(const struct hf_deadlock_reading *reading,
                        const struct hf_snapshot *snapshot, size_t index)
{
    if (reading->follows_holders && reading->lock == 0)
        return true;
    if (reading->role == HF_DEADLOCK_LEASES)
        return false;
    if (reading->role == HF_DEADLOCK_ENTRY || index == 0)
        return reading->role == HF_DEADLOCK_ENTRY;
    for (size_t i = 0; i < index; i++) {
        if (snapshot->tickets[i].kind != HF_TICKET_READ)
            return true;
    }
    return snapshot->tickets[index].kind != HF_TICKET_READ;
}

/* Copy ${snapshot} to ${list}, and return how many tickets that are.  Leases
 * are in queues of leases only: in kazoo's layout a lock and the leases of a
 * semaphore are in one directory, which the lists of both show. */
static size_t copy_tickets(struct hf_deadlock_reading *reading,
                           const struct hf_snapshot *snapshot,
                           struct hf_deadlock_list *list, char *text)
{
    struct hf_deadlock_hold *holds = list->holds;
    size_t count = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *from = &snapshot->tickets[i];
        struct hf_deadlock_ticket *ticket = &list->tickets[count];
        size_t bytes = strlen(from->payload) + 1;

        if ((from->kind == HF_TICKET_LEASE) !=
            (reading->role == HF_DEADLOCK_LEASES))
            continue;
        count++;
        memcpy(text, from->payload, bytes);
        *ticket = copy_ticket(from, text);
        if (is_followed(reading, snapshot, i)) {
            ticket->holds = holds;
            ticket->hold_count = read_holds(reading, text, holds);
            holds += ticket->hold_count;
        }
        text += bytes;
    }
    return count;
}

void hf_deadlock_reading_listed(struct hf_deadlock_reading *reading,
                                const struct hf_snapshot *snapshot)
{
    struct hf_deadlock_list *list;
    char *text;

    reading->is_read[reading->lock][reading->role] = true;
    if (snapshot->count > HF_DEADLOCK_TICKETS_MAX) {
        reading->status = HF_EFULL;
        return;
    }
    if ((list = allocate(snapshot, &text)) == NULL) {
        reading->status = HF_ENOMEM;
        return;
    }
    list->next = reading->lists;
    reading->lists = list;
    reading->storage[reading->lock].queues[reading->role] =
        (struct hf_deadlock_queue){list->tickets,
                                   copy_tickets(reading, snapshot, list, text)};
}

/* ---------------------------------------------------------- two readings -- */

/* The queue of ${reading} with that role, of the lock called ${name}; NULL: it
 * was not read. */
static const struct hf_deadlock_queue *
find_queue(const struct hf_deadlock_reading *reading, const char *name,
           int role)
{
    for (size_t i = 0; i < reading->locks.count; i++) {
        if (strcmp(reading->storage[i].name, name) == 0)
            return &reading->storage[i].queues[role];
    }
    return NULL;
}

/* Is there a ticket with the id ${id} in ${queue}, which may be NULL? */
static bool is_in(const struct hf_deadlock_queue *queue,
                  const struct hf_ticket_id *id)
{
    for (size_t i = 0; queue != NULL && i < queue->count; i++) {
        if (hf_ticket_id_equal(&queue->tickets[i].id, id))
            return true;
    }
    return false;
}

void hf_deadlock_reading_keep(struct hf_deadlock_reading *reading,
                              const struct hf_deadlock_reading *before)
{
    for (size_t i = 0; i < reading->locks.count; i++) {
        struct hf_deadlock_lock *lock = &reading->storage[i];

        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &lock->queues[role];
            const struct hf_deadlock_queue *old =
                find_queue(before, lock->name, role);
            size_t kept = 0;

            for (size_t k = 0; k < queue->count; k++) {
                if (is_in(old, &queue->tickets[k].id))
                    queue->tickets[kept++] = queue->tickets[k];
            }
            queue->count = kept;
        }
    }
}

struct hf_deadlock_ticket *
hf_deadlock_reading_find(struct hf_deadlock_reading *reading,
                         const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < reading->locks.count; i++) {
        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &reading->storage[i].queues[role];

            for (size_t k = 0; k < queue->count; k++) {
                if (hf_ticket_id_equal(&queue->tickets[k].id, id))
                    return &queue->tickets[k];
            }
        }
    }
    return NULL;
}

void hf_deadlock_reading_free(struct hf_deadlock_reading *reading)
{
    struct hf_deadlock_list *next;

    for (; reading->lists != NULL; reading->lists = next) {
        next = reading->lists->next;
        hf_free(reading->lists);
    }
    for (size_t i = 0; i < reading->locks.count; i++)
        hf_free((char *)(uintptr_t)reading->storage[i].name);
    hf_free(reading->start);
    memset(reading, 0, sizeof *reading);
}
