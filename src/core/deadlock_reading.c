/* SPDX-License-Identifier: Apache-2.0 */
/* Which queue comes next, which tickets are reached, and copying the lists. */
#include "core/deadlock_reading.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* -------------------------------------------------------------- requests -- */

/* Have the queue of that lock and role be asked for, with ${texts}. */
static void request(struct hf_deadlock_reading *reading, size_t lock,
                    enum hf_deadlock_role role, struct hf_text_range texts)
{
    if (reading->request_count == HF_DEADLOCK_QUEUES_MAX) {
        reading->graph.status = HF_EFULL;
        return;
    }
    if (!HF_ARRAY_ROOM(&reading->requests, &reading->request_room,
                       reading->request_count + 1)) {
        reading->graph.status = HF_ENOMEM;
        return;
    }
    reading->requests[reading->request_count++] =
        (struct hf_deadlock_request){lock, role, texts};
}

/* Have a queue be asked for that was not asked for yet; else nothing.  Most
 * tickets are never reached, so no text is wanted, except the first page of an
 * entry queue. */
static void request_queue(struct hf_deadlock_reading *reading, size_t lock,
                          enum hf_deadlock_role role)
{
    const struct hf_text_range none = {UINT64_MAX, 1};
    const struct hf_text_range page = {0, HF_DEADLOCK_PAGE};
    struct hf_deadlock_queue *queue = &reading->graph.locks[lock].queues[role];

    if (queue->state != HF_DEADLOCK_QUEUE_UNKNOWN)
        return;
    queue->state = HF_DEADLOCK_QUEUE_ASKED;
    request(reading, lock, role, role == HF_DEADLOCK_ENTRY ? page : none);
}

/* ${lock} may be a semaphore: have its two other queues be asked for. */
static void request_semaphore(struct hf_deadlock_reading *reading, size_t lock)
{
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

    if (reading->graph.status != HF_OK ||
        reading->next_request == reading->request_count)
        return false;
    next = &reading->requests[reading->next_request++];
    *texts = next->texts;
    (void)snprintf(queue, HF_DEADLOCK_QUEUE_NAME_BYTES, "%s%s",
                   reading->graph.locks[next->lock].name, below[next->role]);
    return true;
}

/* ------------------------------------------------------ what is reached -- */

static void reach(struct hf_deadlock_reading *reading,
                  struct hf_deadlock_ticket *ticket);

static bool is_read(const struct hf_deadlock_queue *queue)
{
    return queue->state >= HF_DEADLOCK_QUEUE_READ;
}

/* Reach the tickets of ${queue} in whose way the one at ${index} is.  All of
 * them wait. */
static void reach_behind(struct hf_deadlock_reading *reading,
                         struct hf_deadlock_queue *queue, size_t index)
{
    const struct hf_deadlock_ticket *ahead = &queue->tickets[index];
    size_t *end = ahead->kind == HF_TICKET_READ ? &queue->reached_writers_from
                                                : &queue->reached_from;
    size_t from = index + 1, to = *end;

    if (from >= to)
        return;
    *end = from;
    for (size_t i = from; i < to; i++) {
        if (hf_deadlock_stands_in_way(ahead, &queue->tickets[i]))
            reach(reading, &queue->tickets[i]);
    }
}

/* Reach all tickets of ${queue} that were not reached yet: those that wait, and
 * with ${holders} those that hold. */
static void reach_all(struct hf_deadlock_reading *reading,
                      struct hf_deadlock_queue *queue, bool holders)
{
    size_t end = queue->reached_from;

    queue->reached_from = 0;
    for (size_t i = 0; i < end; i++) {
        if (holders || queue->tickets[i].state != HF_DEADLOCK_ADMITTED)
            reach(reading, &queue->tickets[i]);
    }
}

/* The queue of the lock that ${hold} is about was read: reach those that wait
 * for it.  If no ticket of the lock has its id, ${hold} may be a lease of a
 * semaphore.  Or the ticket has gone meanwhile, and then it does no harm to
 * look at all that wait. */
static void reach_waiters(struct hf_deadlock_reading *reading,
                          const struct hf_deadlock_hold *hold)
{
    struct hf_deadlock_lock *lock = &reading->graph.locks[hold->lock];
    struct hf_deadlock_ticket *ticket =
        hf_deadlock_first_like(&reading->graph, hold->lock, hold->id);
    bool found = false;

    for (; ticket != NULL; ticket = hf_deadlock_next_like(ticket)) {
        if (ticket->role != HF_DEADLOCK_LOCK)
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
        struct hf_deadlock_lock *lock = &reading->graph.locks[hold->lock];

        hold->next = lock->holds;
        lock->holds = hold;
        if (is_read(&lock->queues[HF_DEADLOCK_LOCK]))
            reach_waiters(reading, hold);
        else
            request_queue(reading, hold->lock, HF_DEADLOCK_LOCK);
    }
}

/* Add the locks that the word ${key} of ${ticket} lists to its holds. */
static void read_word(struct hf_deadlock_reading *reading,
                      struct hf_deadlock_ticket *ticket, const char *key,
                      bool possible)
{
    struct hf_ticket_holds rest = hf_ticket_text_list(ticket->text, key);
    struct hf_ticket_hold hold;

    while (hf_ticket_text_next_hold(&rest, &hold) &&
           hf_deadlock_add_hold(&reading->graph, ticket, hold.name, hold.id,
                                possible))
        ;
}

/* ${ticket}, which waits, is another program's: look up what its session
 * holds. */
static void read_session(struct hf_deadlock_reading *reading,
                         struct hf_deadlock_ticket *ticket)
{
    const struct hf_deadlock_sessions *sessions = reading->sessions;
    struct hf_session_hold holds[HF_DEADLOCK_SESSION_HOLDS];
    size_t count;

    if (sessions == NULL || ticket->session == 0 ||
        ticket->state == HF_DEADLOCK_ADMITTED)
        return;
    count = sessions->find(sessions->arg, ticket->session,
                           reading->graph.locks[ticket->lock].name, holds);
    if (!hf_deadlock_begin_holds(&reading->graph, ticket, count))
        return;
    ticket->owner = HF_DEADLOCK_SESSION;
    for (size_t i = 0; i < count; i++) {
        if (!hf_deadlock_add_hold(&reading->graph, ticket, holds[i].lock,
                                  holds[i].id, true))
            return;
    }
}

/* Read what ${ticket} says is held. */
static void read_holds(struct hf_deadlock_reading *reading,
                       struct hf_deadlock_ticket *ticket)
{
    struct hf_ticket_holds holds = hf_ticket_text_list(ticket->text, "holds");
    struct hf_ticket_holds outer = hf_ticket_text_list(ticket->text, "outer");
    const char *value;
    size_t length;

    if (ticket->owner != HF_DEADLOCK_OURS) {
        read_session(reading, ticket);
        return;
    }
    if (reading->asked == 0 ||
        hf_ticket_text_find(ticket->text, "ends", &value, &length))
        outer.length = 0;
    /* Each hold takes more bytes than its digits, so this is enough. */
    if (!hf_deadlock_begin_holds(&reading->graph, ticket,
                                 (holds.length + outer.length) /
                                     HF_TICKET_HOLD_DIGITS))
        return;
    read_word(reading, ticket, "holds", false);
    if (outer.length > 0)
        read_word(reading, ticket, "outer", true);
}

static bool is_subject(const struct hf_deadlock_reading *reading,
                       const struct hf_deadlock_ticket *ticket)
{
    return reading->subject != NULL &&
           hf_ticket_id_equal(&ticket->id, &reading->subject->id);
}

/* The subject was reached.  Ask for its text before all that was not asked for
 * yet, because it may close a cycle, and then nothing else need be read: the
 * new request, which is the last, changes places with the next one. */
static void request_subject(struct hf_deadlock_reading *reading,
                            const struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_request *next, newest;

    request(reading, ticket->lock, ticket->role,
            (struct hf_text_range){ticket->sequence, 1});
    if (reading->graph.status != HF_OK)
        return;
    next = &reading->requests[reading->next_request];
    newest = reading->requests[reading->request_count - 1];
    reading->requests[reading->request_count - 1] = *next;
    *next = newest;
}

/* Ask for a page of the texts of the queue of ${ticket}, from that one on. */
static void request_texts(struct hf_deadlock_reading *reading,
                          const struct hf_deadlock_ticket *ticket)
{
    struct hf_deadlock_queue *queue =
        hf_deadlock_queue_of(&reading->graph, ticket);

    assert(is_read(queue) && ticket->progress == HF_DEADLOCK_AWAITED);
    if (queue->state == HF_DEADLOCK_QUEUE_AWAITS)
        return;
    queue->state = HF_DEADLOCK_QUEUE_AWAITS;
    request(reading, ticket->lock, ticket->role,
            (struct hf_text_range){ticket->sequence, HF_DEADLOCK_PAGE});
}

/* ${ticket} was reached and is read: it is to be followed. */
static void add_reached(struct hf_deadlock_reading *reading,
                        struct hf_deadlock_ticket *ticket)
{
    assert(ticket->progress == HF_DEADLOCK_READ ||
           ticket->progress == HF_DEADLOCK_AWAITED);
    ticket->progress = HF_DEADLOCK_REACHED;
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
    if (ticket->progress == HF_DEADLOCK_READ) {
        add_reached(reading, ticket);
    } else if (ticket->progress == HF_DEADLOCK_UNREAD) {
        ticket->progress = HF_DEADLOCK_AWAITED;
        if (is_subject(reading, ticket))
            request_subject(reading, ticket);
        else
            request_texts(reading, ticket);
    }
}

/* Follow what was reached.  A ticket is reached once, so this ends. */
static void follow_all(struct hf_deadlock_reading *reading)
{
    struct hf_deadlock_ticket *ticket;

    while ((ticket = reading->first_reached) != NULL) {
        struct hf_deadlock_queue *queue =
            hf_deadlock_queue_of(&reading->graph, ticket);

        assert(ticket->progress == HF_DEADLOCK_REACHED);
        if ((reading->first_reached = ticket->next) == NULL)
            reading->last_reached = NULL;
        if (ticket->index == queue->first &&
            ticket->state != HF_DEADLOCK_ADMITTED)
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

/* Must a copy of ${text} be kept?  Only if it says what is held; or any text,
 * if a deadlock is to be shown to people. */
static bool keeps(const struct hf_deadlock_reading *reading, const char *text)
{
    return reading->asked > 0 || hf_ticket_text_list(text, "holds").length > 0;
}

/* Is the text of ${from} missing in a list that was asked for with ${texts}?
 * ${*taken} counts the tickets so far whose text was wanted.  An engine that
 * reads all texts at one instant need not set .unread; then an empty text that
 * was not wanted counts as missing. */
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
    ticket->owner = hf_ticket_text_is_ours(from->payload) ? HF_DEADLOCK_OURS
                                                          : HF_DEADLOCK_OTHER;
    if (reading->asked > 0 && ticket->owner != HF_DEADLOCK_OURS)
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

        if ((from->kind == HF_TICKET_LEASE) != (of->role == HF_DEADLOCK_LEASES))
            continue;
        *ticket = (struct hf_deadlock_ticket){
            .id = from->id,
            .sequence = from->sequence,
            .kind = from->kind,
            .weight = from->weight,
            .text = "",
            .progress = unread ? HF_DEADLOCK_UNREAD : HF_DEADLOCK_READ,
        };
        text += read_ticket(reading, ticket, from, text);
        queue->count++;
    }
    hf_deadlock_index_queue(&reading->graph, of->lock, of->role);
}

/* Set .first of ${queue}, which is that of a lock.  If readers are at the head,
 * it is the first writer that may be blocked.  Else it is .count, for none: all
 * that wait there wait for the head too. */
static void find_first(struct hf_deadlock_queue *queue)
{
    const struct hf_deadlock_ticket *tickets = queue->tickets;
    size_t first = 0;

    while (first < queue->count &&
           (tickets[first].kind == HF_TICKET_READ ||
            (first > 0 && tickets[first].owner != HF_DEADLOCK_OURS &&
             tickets[first].progress != HF_DEADLOCK_UNREAD)))
        first++;
    queue->first = first > 0 ? first : queue->count;
}

/* A queue was read for the first time. */
static void read_queue(struct hf_deadlock_reading *reading,
                       const struct hf_snapshot *snapshot,
                       const struct hf_deadlock_request *of)
{
    struct hf_deadlock_lock *lock = &reading->graph.locks[of->lock];
    struct hf_deadlock_queue *queue = &lock->queues[of->role];
    const struct hf_deadlock_hold *hold;
    char *text;

    assert(queue->state == HF_DEADLOCK_QUEUE_ASKED && queue->count == 0);
    reading->ticket_count += snapshot->count;
    if (reading->ticket_count > HF_DEADLOCK_TICKETS_MAX) {
        reading->graph.status = HF_EFULL;
        return;
    }
    queue->tickets = hf_deadlock_allocate(
        &reading->graph, (snapshot->count + 1) * sizeof *queue->tickets);
    text =
        hf_deadlock_allocate(&reading->graph, count_bytes(reading, snapshot));
    if (reading->graph.status != HF_OK)
        return;
    copy_tickets(reading, snapshot, queue, of, text);
    if (of->role == HF_DEADLOCK_LOCK)
        find_first(queue);
    else
        queue->first = queue->count;
    queue->reached_from = queue->reached_writers_from = queue->count;
    queue->state = HF_DEADLOCK_QUEUE_READ;
    if (of->lock < reading->asked)
        reach_all(reading, queue, true);
    else if (of->role == HF_DEADLOCK_ENTRY && lock->holds != NULL)
        reach_all(reading, queue, false);
    if (of->role != HF_DEADLOCK_LOCK)
        return;
    for (hold = lock->holds; hold != NULL; hold = hold->next)
        reach_waiters(reading, hold);
}

/* How many permits of its semaphore may be lost for good so that ${ticket} can
 * still go on. */
static int64_t goes_at(const struct hf_deadlock_ticket *ticket)
{
    return (int64_t)ticket->limit - ticket->permits;
}

/* May ${subject}, as it is in ${queue}, be the first in the way of those behind
 * it?  In an entry queue not if one of ours is ahead that lacks permits
 * whenever the subject does. */
static bool may_be_first(const struct hf_deadlock_reading *reading,
                         const struct hf_deadlock_queue *queue,
                         const struct hf_deadlock_ticket *subject)
{
    if (subject->role == HF_DEADLOCK_LOCK)
        return subject->index == queue->first;
    for (size_t i = 0; i < subject->index; i++) {
        const struct hf_deadlock_ticket *ahead = &queue->tickets[i];

        if (ahead->owner == HF_DEADLOCK_OURS && ahead->limit > 0 &&
            goes_at(ahead) <= goes_at(reading->subject))
            return false;
    }
    return true;
}

struct hf_deadlock_ticket *
hf_deadlock_reading_subject(const struct hf_deadlock_reading *reading)
{
    const struct hf_deadlock_ticket *subject = reading->subject;

    return subject == NULL
               ? NULL
               : hf_deadlock_find_ticket(&reading->graph, subject->lock,
                                         subject->role, &subject->id);
}

/* A list has come.  The subject waits, and may be in the way of others though
 * nobody has reached it: it is what the search is about. */
static void follow_subject(struct hf_deadlock_reading *reading,
                           const struct hf_deadlock_request *of)
{
    const struct hf_deadlock_ticket *subject =
        hf_deadlock_reading_subject(reading);
    struct hf_deadlock_queue *queue =
        &reading->graph.locks[of->lock].queues[of->role];

    if (subject != NULL && subject->lock == of->lock &&
        subject->role == of->role && may_be_first(reading, queue, subject))
        reach_behind(reading, queue, subject->index);
}

/* Texts have come of a queue that was read before. */
static void read_texts(struct hf_deadlock_reading *reading,
                       const struct hf_snapshot *snapshot,
                       const struct hf_deadlock_request *of)
{
    struct hf_deadlock_queue *queue =
        &reading->graph.locks[of->lock].queues[of->role];
    char *text =
        hf_deadlock_allocate(&reading->graph, count_bytes(reading, snapshot));
    uint64_t last = of->texts.from;
    size_t taken = 0;

    for (size_t i = 0; text != NULL && i < snapshot->count; i++) {
        const struct hf_ticket *from = &snapshot->tickets[i];
        bool unread = is_unread(reading, from, &of->texts, &taken);
        struct hf_deadlock_ticket *ticket = hf_deadlock_find_ticket(
            &reading->graph, of->lock, of->role, &from->id);

        if (ticket == NULL || unread ||
            (ticket->progress != HF_DEADLOCK_UNREAD &&
             ticket->progress != HF_DEADLOCK_AWAITED))
            continue;
        text += read_ticket(reading, ticket, from, text);
        last = from->sequence > last ? from->sequence : last;
        if (ticket->progress == HF_DEADLOCK_AWAITED)
            add_reached(reading, ticket);
        else
            ticket->progress = HF_DEADLOCK_READ;
    }
    if (of->texts.count == 1)
        return; /* the subject's alone */
    assert(queue->state == HF_DEADLOCK_QUEUE_AWAITS);
    queue->state = HF_DEADLOCK_QUEUE_READ;
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_deadlock_ticket *ticket = &queue->tickets[i];

        if (ticket->progress == HF_DEADLOCK_AWAITED &&
            ticket->sequence > last) {
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

    if (is_read(&reading->graph.locks[of.lock].queues[of.role]))
        read_texts(reading, snapshot, &of);
    else
        read_queue(reading, snapshot, &of);
    if (reading->graph.status == HF_OK) {
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
    struct hf_deadlock_ticket *start =
        hf_deadlock_allocate(&reading->graph, sizeof *start);
    const struct hf_ticket from = {.payload = text};
    char *copy = hf_deadlock_allocate(&reading->graph, strlen(text) + 1);
    size_t index;

    if (reading->graph.status != HF_OK ||
        !hf_deadlock_add_lock(&reading->graph, name, &index))
        return;
    reading->subject = start;
    start->id = *subject;
    start->lock = index;
    start->role =
        kind == HF_TICKET_LEASE ? HF_DEADLOCK_ENTRY : HF_DEADLOCK_LOCK;
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

    for (size_t i = 0; i < count && reading->graph.status == HF_OK; i++) {
        if (!hf_deadlock_add_lock(&reading->graph, names[i], &index))
            return;
        reading->asked = reading->graph.count;
        request_queue(reading, index, HF_DEADLOCK_LOCK);
        request_semaphore(reading, index);
    }
}

void hf_deadlock_reading_free(struct hf_deadlock_reading *reading)
{
    hf_deadlock_graph_free(&reading->graph);
    hf_free(reading->requests);
    memset(reading, 0, sizeof *reading);
}
