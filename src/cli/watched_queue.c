/* SPDX-License-Identifier: Apache-2.0 */
/* See watched_queue.h. */
#include "cli/watched_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/ticket_list.h"

static void free_ticket(struct hf_seen_ticket *ticket)
{
    free(ticket->owner);
    free(ticket);
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

/* The ticket that is known by ${id}, or NULL. */
static struct hf_seen_ticket *find(const struct hf_watched_queue *queue,
                                   const char *id)
{
    struct hf_seen_ticket **found =
        queue->count == 0
            ? NULL
            : bsearch(id, queue->by_id, queue->count,
                      sizeof(struct hf_seen_ticket *), compare_key);

    return found != NULL ? *found : NULL;
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
    owner = strdup(view->owner);
    if (owner == NULL)
        return false;
    free(ticket->owner);
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
    struct hf_seen_ticket *ticket = calloc(1, sizeof *ticket);

    if (ticket == NULL)
        return NULL;
    (void)snprintf(ticket->id, sizeof ticket->id, "%s", view->id);
    (void)snprintf(ticket->layout, sizeof ticket->layout, "%s", view->layout);
    ticket->began_at_ms = HF_FOREVER;
    ticket->view = *view;
    ticket->view.id = ticket->id;
    ticket->view.layout = ticket->layout;
    ticket->view.owner = "";
    if (keep_owner(ticket, view, now_ms))
        return ticket;
    free(ticket);
    return NULL;
}

/* What ${view} shows to have happened to ${ticket}; NULL: nothing. */
static const char *event_of(const struct hf_seen_ticket *ticket,
                            const struct hf_ticket_view *view)
{
    if (view->holds && !ticket->view.holds)
        return "granted";
    if (view->kind != ticket->view.kind ||
        view->permits != ticket->view.permits)
        return "changed";
    return NULL;
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
    if (view->created_utc_ms != 0)
        ticket->view.created_utc_ms = view->created_utc_ms;
}

/* The current list, while it is taken in. */
struct taking {
    struct hf_watched_queue *queue;
    struct hf_seen_ticket **tickets; /* in order */
    size_t count;
    struct hf_seen_ticket **by_id;
    bool must_restart; /* a text before the range is missing */
};

/* Take in ${view}, which has ${sequence}.  Its event is reported only when the
 * whole list was taken in, because a failure must not lose it.  False: no
 * memory. */
static bool take_view(struct taking *taking, const struct hf_ticket_view *view,
                      uint64_t sequence, uint64_t now_ms)
{
    struct hf_watched_queue *queue = taking->queue;
    struct hf_seen_ticket *ticket = find(queue, view->id);
    const char *event;

    if (ticket == NULL) {
        if ((ticket = new_ticket(view, now_ms)) == NULL)
            return false;
        ticket->unreported = !queue->was_listed ? "there"
                             : view->holds      ? "granted"
                                                : "came";
    } else {
        if (!keep_owner(ticket, view, now_ms))
            return false;
        event = event_of(ticket, view);
        if (event != NULL &&
            (ticket->unreported == NULL || strcmp(event, "granted") == 0))
            ticket->unreported = event;
        update(ticket, view);
    }
    /* A text before the range was not read: the queue was deleted and made
     * again, and counts from 0. */
    taking->must_restart |=
        ticket->owner == NULL && sequence < queue->texts.from;
    ticket->listed = true;
    taking->tickets[taking->count++] = ticket;
    return true;
}

/* Report ${event} of ${ticket}. */
static void report_ticket(const struct hf_seen_ticket *ticket,
                          const char *event, size_t position, uint64_t now_ms,
                          hf_watched_report *report, void *arg)
{
    struct hf_ticket_view view = ticket->view;

    view.age_ms =
        ticket->began_at_ms == HF_FOREVER || ticket->began_at_ms > now_ms
            ? HF_FOREVER
            : now_ms - ticket->began_at_ms;
    report(arg, event, position, &view);
}

/* Report and free the tickets that are not in the list any more.  A ticket that
 * was not reported yet, because its text was not read, is only freed. */
static void drop_gone(struct hf_watched_queue *queue, uint64_t now_ms,
                      hf_watched_report *report, void *arg)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_seen_ticket *ticket = queue->tickets[i];

        if (ticket->listed)
            continue;
        if (ticket->unreported == NULL)
            report_ticket(ticket, "gone", 0, now_ms, report, arg);
        free_ticket(ticket);
    }
}

/* Report what has happened to the tickets that are in the list and whose text
 * was read. */
static void report_events(struct hf_watched_queue *queue, uint64_t now_ms,
                          hf_watched_report *report, void *arg)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_seen_ticket *ticket = queue->tickets[i];

        ticket->listed = false;
        if (ticket->unreported == NULL || ticket->owner == NULL)
            continue;
        report_ticket(ticket, ticket->unreported, i + 1, now_ms, report, arg);
        ticket->unreported = NULL;
    }
}

/* Undo: forget the tickets that are new in the list. */
static void drop_new(struct taking *taking)
{
    for (size_t i = 0; i < taking->count; i++) {
        struct hf_seen_ticket *ticket = taking->tickets[i];

        ticket->listed = false;
        if (find(taking->queue, ticket->id) == NULL)
            free_ticket(ticket);
    }
    free(taking->tickets);
    free(taking->by_id);
}

/* Take in all views of the list.  False: no memory. */
static bool take_all(struct taking *taking, const struct hf_tickets *tickets,
                     bool semaphore, uint64_t now_ms)
{
    size_t room = hf_tickets_count(tickets);

    taking->tickets = malloc((room + 1) * sizeof(struct hf_seen_ticket *));
    taking->by_id = malloc((room + 1) * sizeof(struct hf_seen_ticket *));
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

bool hf_watched_queue_take(struct hf_watched_queue *queue,
                           const struct hf_tickets *tickets, bool semaphore,
                           uint64_t now_ms, hf_watched_report *report,
                           void *arg)
{
    struct taking taking = {.queue = queue};

    if (!take_all(&taking, tickets, semaphore, now_ms)) {
        drop_new(&taking);
        return false;
    }
    memcpy(taking.by_id, taking.tickets,
           taking.count * sizeof(struct hf_seen_ticket *));
    qsort(taking.by_id, taking.count, sizeof(struct hf_seen_ticket *),
          compare_ids);
    drop_gone(queue, now_ms, report, arg);
    free(queue->tickets);
    free(queue->by_id);
    queue->tickets = taking.tickets;
    queue->by_id = taking.by_id;
    queue->count = taking.count;
    queue->was_listed = true;
    queue->texts.from =
        taking.must_restart ? 0 : hf_tickets_texts_from(tickets);
    report_events(queue, now_ms, report, arg);
    return true;
}

void hf_watched_queue_free(struct hf_watched_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++)
        free_ticket(queue->tickets[i]);
    free(queue->tickets);
    free(queue->by_id);
}
