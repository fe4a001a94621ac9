/* SPDX-License-Identifier: Apache-2.0 */
/* See watched_queue.h. */
#include "client/watched_queue.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "client/ticket_list.h"

static void free_ticket(struct hf_seen_ticket *ticket)
{
    hf_free(ticket->owner);
    hf_free(ticket);
}

static int compare_ids(const void *a, const void *b)
{
    const struct hf_seen_ticket *const *x = a, *const *y = b;

    return strcmp((*x)->id, (*y)->id);
}

static int compare_key(const void *key, const void *element)
{
    const struct hf_seen_ticket *const *ticket = element;

    return strcmp(key, (*ticket)->id);
}

/* Keep what ${view} says of the owner, unless that was not read.  False: no
 * memory. */
static bool keep_owner(struct hf_seen_ticket *ticket,
                       const struct hf_ticket_view *view, uint64_t now_ms)
{
    char *owner;

    if (view->owner == NULL ||
        (ticket->owner != NULL && strcmp(ticket->owner, view->owner) == 0))
        return true;
    owner = hf_strdup(view->owner);
    if (owner == NULL)
        return false;
    hf_free(ticket->owner);
    ticket->owner = owner;
    ticket->view.owner = owner;
    if (view->age_ms != HF_FOREVER)
        ticket->began_at_ms = now_ms - view->age_ms;
    return true;
}

/* A ticket that was in no list before; NULL: no memory. */
static struct hf_seen_ticket *new_ticket(const struct hf_ticket_view *view,
                                         uint64_t now_ms)
{
    struct hf_seen_ticket *ticket = hf_alloc(sizeof *ticket);

    if (ticket == NULL)
        return NULL;
    (void)snprintf(ticket->id, sizeof ticket->id, "%s", view->id);
    (void)snprintf(ticket->layout, sizeof ticket->layout, "%s", view->layout);
    ticket->began_at_ms = HF_FOREVER;
    ticket->index = HF_SEEN_TICKET_NEW;
    ticket->view = *view;
    ticket->view.id = ticket->id;
    ticket->view.layout = ticket->layout;
    ticket->view.owner = "";
    if (keep_owner(ticket, view, now_ms))
        return ticket;
    hf_free(ticket);
    return NULL;
}

/* Does ${owner}, the text of a ticket, say that it was asked to release?  In
 * ZooKeeper the request takes the place of the text until it was received. */
static bool is_asked(const char *owner)
{
    char value[HF_OWNER_VALUE_MAX];

    return strcmp(owner, "__REVOKE__") == 0 ||
           hf_owner_text_get(owner, "asked", value, sizeof value) != HF_EGONE;
}

/* Does ${view} show that the owner of ${ticket} was asked since? */
static bool was_asked(const struct hf_seen_ticket *ticket,
                      const struct hf_ticket_view *view)
{
    return view->owner != NULL && ticket->owner != NULL &&
           strcmp(view->owner, ticket->owner) != 0 && is_asked(view->owner) &&
           !is_asked(ticket->owner);
}

/* What ${view} shows to have happened to ${ticket}; 0: nothing. */
static enum hf_queue_event_kind event_of(const struct hf_seen_ticket *ticket,
                                         const struct hf_ticket_view *view)
{
    if (view->holds && !ticket->view.holds)
        return HF_QUEUE_GRANTED;
    if (view->kind != ticket->view.kind ||
        view->permits != ticket->view.permits)
        return HF_QUEUE_CHANGED;
    return was_asked(ticket, view) ? HF_QUEUE_REVOKED : 0;
}

/* Bring what is known of ${ticket} up to date.  Where ${view} lacks something,
 * because the text was not read, the old value stays. */
static void update(struct hf_seen_ticket *ticket,
                   const struct hf_ticket_view *view)
{
    ticket->view.holds = view->holds;
    ticket->view.kind = view->kind;
    ticket->view.permits = view->permits;
    if (view->token != 0)
        ticket->view.token = view->token;
    if (view->session != 0)
        ticket->view.session = view->session;
    if (view->created_utc_ms != 0)
        ticket->view.created_utc_ms = view->created_utc_ms;
}

/* The current list, while it is taken in. */
struct taking {
    struct hf_watched_queue *queue;
    struct hf_seen_ticket **tickets; /* in order */
    size_t count;
    struct hf_seen_ticket **by_id;
    /* The ticket of the last list that is expected next, by its index. */
    size_t expected;
    bool must_restart; /* a text before the range is missing */
    size_t texts;      /* that were not known before */
    size_t missing;    /* texts that are not known yet */
};

/* Take in ${view} of a ticket that was in a list before: note what has
 * happened, unless an event that was not reported yet says more.  False: no
 * memory. */
static bool take_known(struct hf_seen_ticket *ticket,
                       const struct hf_ticket_view *view, uint64_t now_ms)
{
    enum hf_queue_event_kind event = event_of(ticket, view);

    if (!keep_owner(ticket, view, now_ms))
        return false;
    if (event != 0 && (ticket->unreported == 0 || event == HF_QUEUE_GRANTED))
        ticket->unreported = event;
    update(ticket, view);
    return true;
}

/* The ticket that is known by ${id}, or NULL.  Most tickets are where they
 * were, behind the one that was found before; the others are searched for. */
static struct hf_seen_ticket *find(struct taking *taking, const char *id)
{
    const struct hf_watched_queue *queue = taking->queue;
    struct hf_seen_ticket **found;

    if (queue->count == 0)
        return NULL;
    if (taking->expected < queue->count &&
        strcmp(queue->tickets[taking->expected]->id, id) == 0)
        return queue->tickets[taking->expected++];
    found = bsearch(id, queue->by_id, queue->count,
                    sizeof(struct hf_seen_ticket *), compare_key);
    if (found == NULL)
        return NULL;
    taking->expected = (*found)->index + 1;
    return *found;
}

/* The ticket of ${view} in the list; it is ${known}, unless that is NULL.
 * NULL: no memory. */
static struct hf_seen_ticket *take_ticket(const struct hf_watched_queue *queue,
                                          struct hf_seen_ticket *known,
                                          const struct hf_ticket_view *view,
                                          uint64_t now_ms)
{
    struct hf_seen_ticket *ticket;

    if (known != NULL)
        return take_known(known, view, now_ms) ? known : NULL;
    if ((ticket = new_ticket(view, now_ms)) != NULL)
        ticket->unreported = !queue->was_listed ? HF_QUEUE_THERE
                             : view->holds      ? HF_QUEUE_GRANTED
                                                : HF_QUEUE_CAME;
    return ticket;
}

/* Take in ${view}, which has ${sequence}.  Its event is handed out only when
 * the whole list was taken in, because a failure must not lose it.  False: no
 * memory. */
static bool take_view(struct taking *taking, const struct hf_ticket_view *view,
                      uint64_t sequence, uint64_t now_ms)
{
    const struct hf_watched_queue *queue = taking->queue;
    struct hf_seen_ticket *known = find(taking, view->id);
    bool had_text = known != NULL && known->owner != NULL;
    struct hf_seen_ticket *ticket;

    /* Anybody may give two nodes of ZooKeeper one id. */
    if (known != NULL && known->listed)
        return true;
    if ((ticket = take_ticket(queue, known, view, now_ms)) == NULL)
        return false;
    taking->texts += !had_text && ticket->owner != NULL;
    taking->missing += ticket->owner == NULL;
    /* A text before the range was not read: the queue was deleted and made
     * again, and counts from 0. */
    taking->must_restart |=
        ticket->owner == NULL && sequence < queue->texts.from;
    ticket->listed = true;
    taking->tickets[taking->count++] = ticket;
    return true;
}

/* Set aside the tickets that are not in the list any more, in order.  A ticket
 * that was not reported yet, because its text was not read, is only freed. */
static void set_gone_aside(struct hf_watched_queue *queue)
{
    struct hf_seen_ticket **end = &queue->gone;

    while (*end != NULL)
        end = &(*end)->next_gone;
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_seen_ticket *ticket = queue->tickets[i];

        if (ticket->listed)
            continue;
        if (!ticket->reported) {
            free_ticket(ticket);
            continue;
        }
        *end = ticket;
        end = &ticket->next_gone;
    }
}

/* Undo: forget the tickets that are new in the list. */
static void drop_new(struct taking *taking)
{
    for (size_t i = 0; i < taking->count; i++) {
        struct hf_seen_ticket *ticket = taking->tickets[i];

        ticket->listed = false;
        if (ticket->index == HF_SEEN_TICKET_NEW)
            free_ticket(ticket);
    }
    hf_free(taking->tickets);
    hf_free(taking->by_id);
}

/* Take in all views of the list.  False: no memory. */
static bool take_all(struct taking *taking, const struct hf_tickets *tickets,
                     bool semaphore, uint64_t now_ms)
{
    size_t room = hf_tickets_count(tickets);

    taking->tickets = hf_alloc((room + 1) * sizeof(struct hf_seen_ticket *));
    taking->by_id = hf_alloc((room + 1) * sizeof(struct hf_seen_ticket *));
    if (taking->tickets == NULL || taking->by_id == NULL)
        return false;
    for (size_t i = 0; i < room; i++) {
        const struct hf_ticket_view *view = hf_tickets_at(tickets, i);

        if (semaphore && view->kind != HF_KIND_SEMAPHORE)
            continue;
        if (!take_view(taking, view, hf_tickets_sequence_at(tickets, i),
                       now_ms))
            return false;
    }
    return true;
}

/* Which texts the next list is to bring, and whether it is worth while: not if
 * the engine cannot read those that are missing. */
static void choose_texts(struct hf_watched_queue *queue,
                         const struct taking *taking,
                         const struct hf_tickets *tickets)
{
    bool in_vain = taking->must_restart && taking->texts == 0;

    queue->reads_on =
        taking->missing > 0 &&
        (taking->texts > 0 || (taking->must_restart && !queue->restarted));
    queue->restarted = in_vain;
    queue->texts.from =
        taking->must_restart ? 0 : hf_tickets_texts_from(tickets);
}

/* Nodes of ZooKeeper may have any id: of the new tickets, which are in .by_id
 * from ${first} on, keep one for each id. */
static void drop_doubles(struct taking *taking, size_t first)
{
    struct hf_seen_ticket **by_id = taking->by_id;
    size_t kept = first, count = 0;

    for (size_t i = first; i < taking->count; i++) {
        by_id[i]->listed =
            kept == first || compare_ids(&by_id[kept - 1], &by_id[i]) != 0;
        if (by_id[i]->listed)
            by_id[kept++] = by_id[i];
    }
    if (kept == taking->count)
        return;
    for (size_t i = 0; i < taking->count; i++) {
        if (taking->tickets[i]->listed)
            taking->tickets[count++] = taking->tickets[i];
        else
            free_ticket(taking->tickets[i]);
    }
    taking->count = count;
}

/* Fill .by_id.  The tickets that were known are sorted already, so only the new
 * ones have to be: they are sorted at its end, and merged from there. */
static void sort_by_id(struct taking *taking)
{
    const struct hf_watched_queue *queue = taking->queue;
    struct hf_seen_ticket **by_id = taking->by_id;
    size_t next = taking->count, count = 0;

    for (size_t i = taking->count; i > 0; i--)
        if (taking->tickets[i - 1]->index == HF_SEEN_TICKET_NEW)
            by_id[--next] = taking->tickets[i - 1];
    qsort(&by_id[next], taking->count - next, sizeof(struct hf_seen_ticket *),
          compare_ids);
    drop_doubles(taking, next);
    for (size_t i = 0; i < queue->count; i++) {
        if (!queue->by_id[i]->listed)
            continue;
        while (next < taking->count &&
               compare_ids(&by_id[next], &queue->by_id[i]) < 0)
            by_id[count++] = by_id[next++];
        by_id[count++] = queue->by_id[i];
    }
    assert(count == next); /* the rest is in its place */
}

/* The list was taken in: it is what is known from now on. */
static void replace_tickets(struct hf_watched_queue *queue,
                            const struct taking *taking)
{
    hf_free(queue->tickets);
    hf_free(queue->by_id);
    queue->tickets = taking->tickets;
    queue->by_id = taking->by_id;
    queue->count = taking->count;
    queue->next = 0;
    queue->was_listed = true;
    for (size_t i = 0; i < queue->count; i++) {
        queue->tickets[i]->listed = false;
        queue->tickets[i]->index = i;
    }
}

bool hf_watched_queue_take(struct hf_watched_queue *queue,
                           const struct hf_tickets *tickets, bool semaphore,
                           uint64_t now_ms)
{
    struct taking taking = {.queue = queue};

    if (!take_all(&taking, tickets, semaphore, now_ms)) {
        drop_new(&taking);
        return false;
    }
    sort_by_id(&taking);
    set_gone_aside(queue);
    replace_tickets(queue, &taking);
    choose_texts(queue, &taking, tickets);
    return true;
}

/* The view of ${ticket}, with its age at ${now_ms}. */
static struct hf_ticket_view view_at(const struct hf_seen_ticket *ticket,
                                     uint64_t now_ms)
{
    struct hf_ticket_view view = ticket->view;

    view.age_ms =
        ticket->began_at_ms == HF_FOREVER || ticket->began_at_ms > now_ms
            ? HF_FOREVER
            : now_ms - ticket->began_at_ms;
    return view;
}

/* Hand out ${kind} of ${ticket}. */
static void hand_out(struct hf_watched_queue *queue,
                     const struct hf_seen_ticket *ticket,
                     enum hf_queue_event_kind kind, size_t position,
                     uint64_t now_ms, struct hf_watched_change *change)
{
    queue->view = view_at(ticket, now_ms);
    *change = (struct hf_watched_change){kind, position, &queue->view};
}

bool hf_watched_queue_next(struct hf_watched_queue *queue, uint64_t now_ms,
                           struct hf_watched_change *change)
{
    struct hf_seen_ticket *ticket;

    if (queue->handed_out != NULL)
        free_ticket(queue->handed_out);
    queue->handed_out = queue->gone;
    if ((ticket = queue->gone) != NULL) {
        queue->gone = ticket->next_gone;
        hand_out(queue, ticket, HF_QUEUE_GONE, 0, now_ms, change);
        return true;
    }
    while (queue->next < queue->count) {
        ticket = queue->tickets[queue->next++];
        if (ticket->unreported == 0 || ticket->owner == NULL)
            continue;
        hand_out(queue, ticket, ticket->unreported, queue->next, now_ms,
                 change);
        ticket->unreported = 0;
        ticket->reported = true;
        return true;
    }
    return false;
}

const struct hf_ticket_view *
hf_watched_queue_at(const struct hf_watched_queue *queue, size_t index,
                    uint64_t now_ms)
{
    struct hf_seen_ticket *ticket;

    if (index >= queue->count)
        return NULL;
    ticket = queue->tickets[index];
    ticket->view = view_at(ticket, now_ms);
    return &ticket->view;
}

void hf_watched_queue_free(struct hf_watched_queue *queue)
{
    struct hf_seen_ticket *next;

    for (size_t i = 0; i < queue->count; i++)
        free_ticket(queue->tickets[i]);
    for (struct hf_seen_ticket *t = queue->gone; t != NULL; t = next) {
        next = t->next_gone;
        free_ticket(t);
    }
    if (queue->handed_out != NULL)
        free_ticket(queue->handed_out);
    hf_free(queue->tickets);
    hf_free(queue->by_id);
}
