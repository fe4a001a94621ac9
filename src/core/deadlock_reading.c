/* SPDX-License-Identifier: Apache-2.0 */
/* Copying the lists, which tickets are reached, and which queue comes next. */
#include "core/deadlock_reading.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* The most memory of one reading, without its tables. */
#define BYTES_MAX ((size_t)1 << 25)

/* ---------------------------------------------------------------- memory -- */

/* Allocate ${bytes}, zeroed, as long as ${reading} lives; NULL with
 * .status: no memory, or more than it may have. */
static void *allocate(struct hf_deadlock_reading *reading, size_t bytes)
{
    struct hf_deadlock_block *block;

    reading->byte_count += bytes;
    if (reading->byte_count > BYTES_MAX) {
        reading->status = HF_EFULL;
        return NULL;
    }
    if ((block = hf_alloc(sizeof *block + bytes)) == NULL) {
        reading->status = HF_ENOMEM;
        return NULL;
    }
    block->next = reading->blocks;
    reading->blocks = block;
    return block->bytes;
}

/* Copy ${text}; "" without memory. */
static const char *copy_text(struct hf_deadlock_reading *reading,
                             const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = allocate(reading, bytes);

    return copy != NULL ? memcpy(copy, text, bytes) : "";
}

/* ----------------------------------------------------------------- locks -- */

/* The bucket of the locks called ${name} (FNV-1a). */
static size_t *bucket_of(struct hf_deadlock_reading *reading, const char *name)
{
    uint32_t hash = 2166136261U;

    for (; *name != '\0'; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619U;
    return &reading->names[hash & (HF_DEADLOCK_NAME_BUCKETS - 1)];
}

/* Make room for one more lock. */
static bool grow_locks(struct hf_deadlock_reading *reading)
{
    struct hf_deadlock_locks *locks = &reading->locks;

    if (locks->count < reading->room)
        return true;
    if (locks->count >= HF_DEADLOCK_QUEUES_MAX) {
        reading->status = HF_EFULL;
        return false;
    }
    if (!HF_ARRAY_ROOM(&locks->locks, &reading->room, locks->count + 1)) {
        reading->status = HF_ENOMEM;
        return false;
    }
    return true;
}

/* Set ${index} to that of the lock called ${name}; false: there is none. */
static bool find_lock(struct hf_deadlock_reading *reading, const char *name,
                      size_t *index)
{
    size_t next = *bucket_of(reading, name);

    for (; next != 0; next = reading->locks.locks[*index].same_hash) {
        *index = next - 1;
        if (strcmp(reading->locks.locks[*index].name, name) == 0)
            return true;
    }
    return false;
}

/* The same, but a new lock is added.  False if there are too many, or no
 * memory. */
static bool add_lock(struct hf_deadlock_reading *reading, const char *name,
                     size_t *index)
{
    struct hf_deadlock_locks *locks = &reading->locks;
    size_t *bucket = bucket_of(reading, name);
    const char *copy;

    if (find_lock(reading, name, index))
        return true;
    copy = grow_locks(reading) ? copy_text(reading, name) : "";
    if (reading->status != HF_OK)
        return false;
    *index = locks->count++;
    locks->locks[*index] =
        (struct hf_deadlock_lock){.name = copy, .same_hash = *bucket};
    *bucket = *index + 1;
    return true;
}

/* -------------------------------------------------------------- requests -- */

/* Have the queue of that lock and role be asked for, with ${texts}. */
static void request(struct hf_deadlock_reading *reading, size_t lock,
                    enum hf_deadlock_role role, struct hf_text_range texts)
{
    if (reading->request_count == HF_DEADLOCK_QUEUES_MAX) {
        reading->status = HF_EFULL;
        return;
    }
    if (!HF_ARRAY_ROOM(&reading->requests, &reading->request_room,
                       reading->request_count + 1)) {
        reading->status = HF_ENOMEM;
        return;
    }
    reading->requests[reading->request_count++] =
        (struct hf_deadlock_request){lock, role, texts};
}

/* The same for the first time.  Most tickets are not reached, so no text is
 * wanted but those of the first of an entry queue. */
static void request_queue(struct hf_deadlock_reading *reading, size_t lock,
                          enum hf_deadlock_role role)
{
    const struct hf_text_range none = {UINT64_MAX, 1};
    const struct hf_text_range page = {0, HF_DEADLOCK_PAGE};
    bool *is_asked = &reading->locks.locks[lock].is_asked[role];

    if (!*is_asked)
        request(reading, lock, role, role == HF_DEADLOCK_ENTRY ? page : none);
    *is_asked = true;
}

/* Something of ${lock} is held by a ticket that is not in its queue. */
static void request_semaphore(struct hf_deadlock_reading *reading, size_t lock)
{
    reading->locks.locks[lock].is_semaphore = true;
    request_queue(reading, lock, HF_DEADLOCK_LEASES);
    request_queue(reading, lock, HF_DEADLOCK_ENTRY);
}

bool hf_deadlock_reading_next(struct hf_deadlock_reading *reading,
                              char queue[HF_DEADLOCK_QUEUE_NAME_BYTES],
                              struct hf_text_range *texts)
{
    static const char *const below[HF_DEADLOCK_ROLES] = {
        [HF_DEADLOCK_LOCK] = "",
        [HF_DEADLOCK_LEASES] = HF_QUEUE_LEASES,
        [HF_DEADLOCK_ENTRY] = HF_QUEUE_LOCKS,
    };
    const struct hf_deadlock_request *next;

    if (reading->status != HF_OK ||
        reading->next_request == reading->request_count)
        return false;
    next = &reading->requests[reading->next_request++];
    *texts = next->texts;
    (void)snprintf(queue, HF_DEADLOCK_QUEUE_NAME_BYTES, "%s%s",
                   reading->locks.locks[next->lock].name, below[next->role]);
    return true;
}

size_t hf_deadlock_reading_lists(const struct hf_deadlock_reading *reading)
{
    return reading->next_request;
}

/* ------------------------------------------------------ what is reached -- */

static void reach(struct hf_deadlock_reading *reading,
                  struct hf_deadlock_ticket *ticket);

/* Reach those behind the ticket at ${index} of ${queue} in whose way it is.  So
 * they wait. */
static void reach_behind(struct hf_deadlock_reading *reading,
                         struct hf_deadlock_queue *queue, size_t index)
{
    const struct hf_deadlock_ticket *ahead = &queue->tickets[index];
    size_t *end = ahead->kind == HF_TICKET_READ ? &queue->reached_writers
                                                : &queue->reached_all;
    size_t from = index + 1, to = *end;

    if (from >= to)
        return;
    *end = from;
    for (size_t i = from; i < to; i++) {
        if (hf_deadlock_stands_in_way(ahead, &queue->tickets[i]))
            reach(reading, &queue->tickets[i]);
    }
}

/* Reach all of ${queue} that wait; ${holders}: and those that hold. */
static void reach_all(struct hf_deadlock_reading *reading,
                      struct hf_deadlock_queue *queue, bool holders)
{
    size_t count = queue->reached_all;

    queue->reached_all = 0;
    for (size_t i = 0; i < count; i++) {
        if (holders || !queue->tickets[i].admitted)
            reach(reading, &queue->tickets[i]);
    }
}

/* The queue of the lock that ${hold} is about was read: reach those that wait
 * for it.  If there is no such ticket, it may be one of a semaphore; or it has
 * gone meanwhile, and then it does no harm to look at all that wait. */
static void reach_waiters(struct hf_deadlock_reading *reading,
                          const struct hf_deadlock_hold *hold)
{
    struct hf_deadlock_lock *lock = &reading->locks.locks[hold->lock];
    struct hf_deadlock_ticket *ticket =
        *hf_deadlock_bucket(&reading->locks, hold->lock, hold->id);
    bool found = false;

    for (; ticket != NULL; ticket = ticket->same_hash) {
        if (ticket->lock != hold->lock || ticket->role != HF_DEADLOCK_LOCK ||
            hf_ticket_text_hold_id(&ticket->id) != hold->id)
            continue;
        found = true;
        reach_behind(reading, &lock->queues[HF_DEADLOCK_LOCK], ticket->index);
    }
    if (found)
        return;
    reach_all(reading, &lock->queues[HF_DEADLOCK_LOCK], false);
    reach_all(reading, &lock->queues[HF_DEADLOCK_ENTRY], false);
    request_semaphore(reading, hold->lock);
}

/* The owner of ${ticket} holds what .holds says: go on with that. */
static void follow(struct hf_deadlock_reading *reading,
                   struct hf_deadlock_ticket *ticket)
{
    for (size_t i = 0; i < ticket->hold_count; i++) {
        struct hf_deadlock_hold *hold = &ticket->holds[i];
        struct hf_deadlock_lock *lock = &reading->locks.locks[hold->lock];

        hold->next = lock->holds;
        lock->holds = hold;
        if (lock->is_read[HF_DEADLOCK_LOCK])
            reach_waiters(reading, hold);
        else
            request_queue(reading, hold->lock, HF_DEADLOCK_LOCK);
    }
}

/* Read the word ${key} of ${ticket}, which lists locks, behind the holds that
 * it has. */
static void read_word(struct hf_deadlock_reading *reading,
                      struct hf_deadlock_ticket *ticket, const char *key,
                      bool possible)
{
    struct hf_ticket_holds rest = hf_ticket_text_list(ticket->text, key);
    struct hf_ticket_hold hold;

    while (hf_ticket_text_next_hold(&rest, &hold)) {
        struct hf_deadlock_hold *to = &ticket->holds[ticket->hold_count];

        if (reading->hold_count++ == HF_DEADLOCK_TICKETS_MAX)
            reading->status = HF_EFULL;
        if (reading->status != HF_OK ||
            !add_lock(reading, hold.name, &to->lock))
            return;
        to->id = hold.id;
        to->possible = possible;
        ticket->hold_count++;
    }
}

/* ${ticket}, which waits, is another program's: look up what its session
 * holds. */
static void read_session(struct hf_deadlock_reading *reading,
                         struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_sessions *sessions = reading->sessions;
    struct hf_session_hold holds[HF_DEADLOCK_SESSION_HOLDS];
    size_t count;

    if (sessions == NULL || ticket->session == 0 || ticket->admitted)
        return;
    count = sessions->find(sessions->arg, ticket->session,
                           reading->locks.locks[ticket->lock].name, holds);
    if (count == 0 || (ticket->holds = allocate(
                           reading, count * sizeof *ticket->holds)) == NULL)
        return;
    ticket->by_session = true;
    while (ticket->hold_count < count) {
        struct hf_deadlock_hold *to = &ticket->holds[ticket->hold_count];

        if (reading->hold_count++ == HF_DEADLOCK_TICKETS_MAX)
            reading->status = HF_EFULL;
        if (reading->status != HF_OK ||
            !add_lock(reading, holds[ticket->hold_count].lock, &to->lock))
            return;
        to->id = holds[ticket->hold_count].id;
        to->possible = true;
        ticket->hold_count++;
    }
}

/* Read what ${ticket} says is held. */
static void read_holds(struct hf_deadlock_reading *reading,
                       struct hf_deadlock_ticket *ticket)
{
    struct hf_ticket_holds holds = hf_ticket_text_list(ticket->text, "holds");
    struct hf_ticket_holds outer = hf_ticket_text_list(ticket->text, "outer");
    const char *value;
    size_t length, most;

    if (!ticket->is_ours) {
        read_session(reading, ticket);
        return;
    }
    if (reading->asked == 0 ||
        hf_ticket_text_find(ticket->text, "ends", &value, &length))
        outer.length = 0;
    /* Each takes more than its digits. */
    most = (holds.length + outer.length) / HF_TICKET_HOLD_DIGITS;
    if (most == 0 || (ticket->holds = allocate(
                          reading, most * sizeof *ticket->holds)) == NULL)
        return;
    read_word(reading, ticket, "holds", false);
    if (outer.length > 0)
        read_word(reading, ticket, "outer", true);
}

static bool is_subject(const struct hf_deadlock_reading *reading,
                       const struct hf_deadlock_ticket *ticket)
{
    return reading->has_subject &&
           hf_ticket_id_equal(&ticket->id, &reading->subject);
}

/* The subject was reached: its text comes next, because that may close a circle
 * and then nothing else need be read. */
static void request_subject(struct hf_deadlock_reading *reading,
                            const struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_request *next, first;

    request(reading, ticket->lock, ticket->role,
            (struct hf_text_range){ticket->sequence, 1});
    if (reading->status != HF_OK)
        return;
    next = &reading->requests[reading->next_request];
    first = reading->requests[reading->request_count - 1];
    reading->requests[reading->request_count - 1] = *next;
    *next = first;
}

/* Ask for a page of the texts of the queue of ${ticket}, from that one on. */
static void request_texts(struct hf_deadlock_reading *reading,
                          const struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_queue *queue =
        &reading->locks.locks[ticket->lock].queues[ticket->role];

    if (queue->awaits_texts)
        return;
    queue->awaits_texts = true;
    request(reading, ticket->lock, ticket->role,
            (struct hf_text_range){ticket->sequence, HF_DEADLOCK_PAGE});
}

/* ${ticket} was reached and is read: it is to be followed. */
static void add_reached(struct hf_deadlock_reading *reading,
                        struct hf_deadlock_ticket *ticket)
{
    if (is_subject(reading, ticket))
        reading->closed = true;
    ticket->next = NULL;
    if (reading->last_reached == NULL)
        reading->first_reached = ticket;
    else
        reading->last_reached->next = ticket;
    reading->last_reached = ticket;
}

/* Something waits for the owner of ${ticket}, or it is to be looked at for
 * another reason. */
static void reach(struct hf_deadlock_reading *reading,
                  struct hf_deadlock_ticket *ticket)
{
    if (ticket->reached)
        return;
    ticket->reached = true;
    if (ticket->unread && is_subject(reading, ticket))
        request_subject(reading, ticket);
    else if (ticket->unread)
        request_texts(reading, ticket);
    else
        add_reached(reading, ticket);
}

/* Follow what was reached.  A ticket is reached once, so this ends. */
static void follow_all(struct hf_deadlock_reading *reading)
{
    struct hf_deadlock_ticket *ticket;

    while ((ticket = reading->first_reached) != NULL) {
        struct hf_deadlock_queue *queue =
            &reading->locks.locks[ticket->lock].queues[ticket->role];

        if ((reading->first_reached = ticket->next) == NULL)
            reading->last_reached = NULL;
        if (ticket->index == queue->first && !ticket->admitted)
            reach_behind(reading, queue, ticket->index);
        read_holds(reading, ticket);
        follow(reading, ticket);
    }
}

/* ----------------------------------------------------------------- lists -- */

/* The number that the word ${key} of ${text} says, or the greatest that
 * fits. */
static uint32_t small_number(const char *text, const char *key)
{
    uint64_t number = hf_ticket_text_number(text, key);

    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

/* Is ${text} one to keep?  Only those that lead on are needed, and to show a
 * deadlock to people all. */
static bool keeps(const struct hf_deadlock_reading *reading, const char *text)
{
    return reading->asked > 0 || hf_ticket_text_list(text, "holds").length > 0;
}

/* Was the text of ${from} read, by a list with ${texts} that has ${taken} of
 * those ahead?  An engine that reads a queue at one instant need not say so. */
static bool is_unread(const struct hf_deadlock_reading *reading,
                      const struct hf_ticket *from,
                      const struct hf_text_range *texts, size_t *taken)
{
    bool wanted = hf_text_range_wants(texts, from->sequence, *taken);

    *taken += wanted;
    return from->unread ||
           (reading->asked == 0 && !wanted && from->payload[0] == '\0');
}

/* Set what ${from} says of ${ticket}; ${text} has room for a copy of its text,
 * if that is kept.  Returns the bytes of the copy. */
static size_t read_ticket(const struct hf_deadlock_reading *reading,
                          struct hf_deadlock_ticket *ticket,
                          const struct hf_ticket *from, char *text)
{
    uint32_t permits = small_number(from->payload, "permits");
    const char *value;
    size_t length;

    ticket->token = from->token;
    ticket->unread = false;
    ticket->is_ours = hf_ticket_text_is_ours(from->payload);
    if (reading->asked > 0 && !ticket->is_ours)
        ticket->session = from->session;
    ticket->detects =
        hf_ticket_text_find(from->payload, "detect", &value, &length);
    ticket->limit = small_number(from->payload, "limit");
    ticket->permits = permits > 0 ? permits : 1;
    if (!keeps(reading, from->payload))
        return 0;
    length = strlen(from->payload) + 1;
    ticket->text = memcpy(text, from->payload, length);
    return length;
}

/* The bytes of all texts of ${snapshot} that are kept. */
static size_t count_bytes(const struct hf_deadlock_reading *reading,
                          const struct hf_snapshot *snapshot)
{
    size_t bytes = 1;

    for (size_t i = 0; i < snapshot->count; i++) {
        if (keeps(reading, snapshot->tickets[i].payload))
            bytes += strlen(snapshot->tickets[i].payload) + 1;
    }
    return bytes;
}

/* Copy ${snapshot} to ${queue}.  Leases are in queues of leases only: in
 * kazoo's layout a lock and the leases of a semaphore are in one directory,
 * which the lists of both show. */
static void copy_tickets(struct hf_deadlock_reading *reading,
                         const struct hf_snapshot *snapshot,
                         struct hf_deadlock_queue *queue,
                         const struct hf_deadlock_request *of, char *text)
{
    size_t taken = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *from = &snapshot->tickets[i];
        struct hf_deadlock_ticket *ticket = &queue->tickets[queue->count];
        bool unread = is_unread(reading, from, &of->texts, &taken);
        struct hf_deadlock_ticket **bucket = hf_deadlock_bucket(
            &reading->locks, of->lock, hf_ticket_text_hold_id(&from->id));

        if ((from->kind == HF_TICKET_LEASE) != (of->role == HF_DEADLOCK_LEASES))
            continue;
        *ticket = (struct hf_deadlock_ticket){
            .id = from->id,
            .sequence = from->sequence,
            .kind = from->kind,
            .weight = from->weight,
            .text = "",
            .lock = of->lock,
            .role = of->role,
            .index = queue->count++,
            .same_hash = *bucket,
        };
        text += read_ticket(reading, ticket, from, text);
        ticket->unread = unread;
        *bucket = ticket;
    }
}

/* Set .first of ${queue}, which is that of a lock: the first writer that may
 * be blocked, if readers are at the head.  Else none: who waits behind another
 * waits for the head too. */
static void find_first(struct hf_deadlock_queue *queue)
{
    const struct hf_deadlock_ticket *tickets = queue->tickets;
    size_t first = 0;

    while (first < queue->count &&
           (tickets[first].kind == HF_TICKET_READ ||
            (first > 0 && !tickets[first].is_ours && !tickets[first].unread)))
        first++;
    queue->first = first > 0 ? first : queue->count;
}

/* A queue was read for the first time. */
static void read_queue(struct hf_deadlock_reading *reading,
                       const struct hf_snapshot *snapshot,
                       const struct hf_deadlock_request *of)
{
    struct hf_deadlock_lock *lock = &reading->locks.locks[of->lock];
    struct hf_deadlock_queue *queue = &lock->queues[of->role];
    struct hf_deadlock_hold *hold;
    char *text;

    reading->ticket_count += snapshot->count;
    if (reading->ticket_count > HF_DEADLOCK_TICKETS_MAX) {
        reading->status = HF_EFULL;
        return;
    }
    queue->tickets =
        allocate(reading, (snapshot->count + 1) * sizeof *queue->tickets);
    text = allocate(reading, count_bytes(reading, snapshot));
    if (reading->status != HF_OK)
        return;
    copy_tickets(reading, snapshot, queue, of, text);
    hf_deadlock_admit(queue, of->role);
    if (of->role == HF_DEADLOCK_LOCK)
        find_first(queue);
    else
        queue->first = queue->count;
    queue->reached_all = queue->reached_writers = queue->count;
    lock->is_read[of->role] = true;
    if (of->lock < reading->asked)
        reach_all(reading, queue, true);
    else if (of->role == HF_DEADLOCK_ENTRY && lock->holds != NULL)
        reach_all(reading, queue, false);
    for (hold = lock->holds; of->role == HF_DEADLOCK_LOCK && hold != NULL;
         hold = hold->next)
        reach_waiters(reading, hold);
}

/* The free permits at which ${ticket} can go, of all that its semaphore has. */
static int64_t goes_at(const struct hf_deadlock_ticket *ticket)
{
    return (int64_t)ticket->limit - ticket->permits;
}

/* May the subject, which is at ${index} of ${queue}, be the first in the way of
 * those behind it?  In an entry queue not if one of ours is ahead that lacks
 * permits whenever the subject does. */
static bool may_be_first(const struct hf_deadlock_reading *reading,
                         const struct hf_deadlock_queue *queue, size_t index,
                         enum hf_deadlock_role role)
{
    if (role == HF_DEADLOCK_LOCK)
        return index == queue->first;
    for (size_t i = 0; i < index; i++) {
        const struct hf_deadlock_ticket *ahead = &queue->tickets[i];

        if (ahead->is_ours && ahead->limit > 0 &&
            goes_at(ahead) <= goes_at(reading->start))
            return false;
    }
    return true;
}

/* The subject waits, and may be in the way of others though nobody has reached
 * it: it is what the search is about. */
static void follow_subject(struct hf_deadlock_reading *reading,
                           const struct hf_deadlock_request *of)
{
    struct hf_deadlock_queue *queue =
        &reading->locks.locks[of->lock].queues[of->role];

    if (of->lock != 0 || !reading->has_subject ||
        of->role == HF_DEADLOCK_LEASES)
        return;
    for (size_t i = 0; i < queue->count; i++) {
        if (!hf_ticket_id_equal(&queue->tickets[i].id, &reading->subject))
            continue;
        if (may_be_first(reading, queue, i, of->role))
            reach_behind(reading, queue, i);
        return;
    }
}

/* Texts of a queue have come that was read before. */
static void read_texts(struct hf_deadlock_reading *reading,
                       const struct hf_snapshot *snapshot,
                       const struct hf_deadlock_request *of)
{
    struct hf_deadlock_queue *queue =
        &reading->locks.locks[of->lock].queues[of->role];
    char *text = allocate(reading, count_bytes(reading, snapshot));
    uint64_t last = of->texts.from;
    size_t taken = 0;

    for (size_t i = 0; text != NULL && i < snapshot->count; i++) {
        const struct hf_ticket *from = &snapshot->tickets[i];
        bool unread = is_unread(reading, from, &of->texts, &taken);
        struct hf_deadlock_ticket *ticket = *hf_deadlock_bucket(
            &reading->locks, of->lock, hf_ticket_text_hold_id(&from->id));

        while (ticket != NULL &&
               (ticket->lock != of->lock || ticket->role != of->role ||
                !hf_ticket_id_equal(&ticket->id, &from->id)))
            ticket = ticket->same_hash;
        if (ticket == NULL || !ticket->unread || unread)
            continue;
        text += read_ticket(reading, ticket, from, text);
        last = from->sequence > last ? from->sequence : last;
        if (ticket->reached)
            add_reached(reading, ticket);
    }
    if (of->texts.count == 1)
        return; /* the subject's alone */
    queue->awaits_texts = false;
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];

        if (ticket->reached && ticket->unread && ticket->sequence > last) {
            request_texts(reading, ticket);
            return;
        }
    }
}

void hf_deadlock_reading_listed(struct hf_deadlock_reading *reading,
                                const struct hf_snapshot *snapshot)
{
    const struct hf_deadlock_request of =
        reading->requests[reading->next_request - 1];

    if (reading->locks.locks[of.lock].is_read[of.role])
        read_texts(reading, snapshot, &of);
    else
        read_queue(reading, snapshot, &of);
    if (reading->status == HF_OK) {
        follow_subject(reading, &of);
        follow_all(reading);
    }
}

/* ----------------------------------------------------------------- begin -- */

void hf_deadlock_reading_begin(struct hf_deadlock_reading *reading,
                               const char *name, enum hf_ticket_kind kind,
                               const struct hf_ticket_id *subject,
                               const char *text)
{
    struct hf_deadlock_ticket *start = allocate(reading, sizeof *start);
    const struct hf_ticket from = {.payload = text};
    char *copy = allocate(reading, strlen(text) + 1);
    size_t index;

    if (reading->status != HF_OK || !add_lock(reading, name, &index))
        return;
    reading->subject = *subject;
    reading->has_subject = true;
    reading->start = start;
    start->text = "";
    (void)read_ticket(reading, start, &from, copy);
    read_holds(reading, start);
    follow(reading, start);
    if (kind == HF_TICKET_WRITE || kind == HF_TICKET_LEASE)
        request_queue(reading, index, HF_DEADLOCK_LOCK);
    if (kind == HF_TICKET_LEASE)
        request_semaphore(reading, index);
}

void hf_deadlock_reading_begin_locks(struct hf_deadlock_reading *reading,
                                     char *const *names, size_t count)
{
    size_t index;

    for (size_t i = 0; i < count && reading->status == HF_OK; i++) {
        if (!add_lock(reading, names[i], &index))
            return;
        reading->asked = reading->locks.count;
        request_queue(reading, index, HF_DEADLOCK_LOCK);
        request_semaphore(reading, index);
    }
}

/* ---------------------------------------------------------- two readings -- */

/* The ticket of ${reading} that is like ${ticket}, which is in a queue of the
 * lock called ${name}; NULL: none. */
static struct hf_deadlock_ticket *
find_like(struct hf_deadlock_reading *reading, const char *name,
          const struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_ticket *found;
    size_t lock;

    if (!find_lock(reading, name, &lock))
        return NULL;
    found = *hf_deadlock_bucket(&reading->locks, lock,
                                hf_ticket_text_hold_id(&ticket->id));
    while (found != NULL &&
           (found->lock != lock || found->role != ticket->role ||
            !hf_ticket_id_equal(&found->id, &ticket->id)))
        found = found->same_hash;
    return found;
}

/* Does ${ticket} of ${before} say ${hold}, which is about the lock called
 * ${name}, and that it is as certain? */
static bool says(const struct hf_deadlock_reading *before,
                 const struct hf_deadlock_ticket *ticket,
                 const struct hf_deadlock_hold *hold, const char *name)
{
    for (size_t i = 0; i < ticket->hold_count; i++) {
        const struct hf_deadlock_hold *old = &ticket->holds[i];

        if (old->id == hold->id && old->possible <= hold->possible &&
            strcmp(before->locks.locks[old->lock].name, name) == 0)
            return true;
    }
    return false;
}

/* Take out of ${ticket} what it did not say before. */
static void keep_holds(const struct hf_deadlock_reading *reading,
                       struct hf_deadlock_ticket *ticket,
                       const struct hf_deadlock_reading *before,
                       const struct hf_deadlock_ticket *old)
{
    size_t kept = 0;

    for (size_t i = 0; i < ticket->hold_count; i++) {
        const char *name = reading->locks.locks[ticket->holds[i].lock].name;

        if (says(before, old, &ticket->holds[i], name))
            ticket->holds[kept++] = ticket->holds[i];
    }
    ticket->hold_count = kept;
}

void hf_deadlock_reading_keep(struct hf_deadlock_reading *reading,
                              struct hf_deadlock_reading *before)
{
    hf_deadlock_index(&before->locks);
    for (size_t i = 0; i < reading->locks.count; i++) {
        struct hf_deadlock_lock *lock = &reading->locks.locks[i];

        for (int role = 0; role < HF_DEADLOCK_ROLES; role++) {
            struct hf_deadlock_queue *queue = &lock->queues[role];
            size_t kept = 0;

            for (size_t k = 0; k < queue->count; k++) {
                struct hf_deadlock_ticket *ticket = &queue->tickets[k];
                const struct hf_deadlock_ticket *old =
                    find_like(before, lock->name, ticket);

                if (old == NULL)
                    continue;
                keep_holds(reading, ticket, before, old);
                queue->tickets[kept++] = *ticket;
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
            struct hf_deadlock_queue *queue =
                &reading->locks.locks[i].queues[role];

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
    struct hf_deadlock_block *next;

    for (; reading->blocks != NULL; reading->blocks = next) {
        next = reading->blocks->next;
        hf_free(reading->blocks);
    }
    hf_free(reading->locks.locks);
    hf_free(reading->requests);
    memset(reading, 0, sizeof *reading);
}
