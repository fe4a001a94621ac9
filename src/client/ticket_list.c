/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copying the answer to a list into memory of the user, with the owners that
 * wait in a cohort; and reading that.
 *
 * A list of a semaphore is two of these, one for each queue, linked by .next.
 */
#include "client/ticket_list.h"

#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "client/owner_text.h"
#include "core/admission.h"
#include "core/operation.h"

/* The tickets of one queue. */
struct hf_tickets {
    struct hf_tickets *next; /* of the same lock, from another queue */
    size_t count;
    struct hf_ticket_view *views;
    uint64_t *sequences; /* of each view; 0 if it has no ticket */
    size_t unknown_count;
    const char **unknown; /* names of nodes that are no tickets */
    char *text;           /* every text that the views point to */
    uint64_t texts_from;  /* see hf_tickets_texts_from() */
};

/* The cohort that shares the tickets of ${lock}, or NULL. */
static const struct hf_cohort *cohort_of(const struct hf_lock *lock)
{
    return lock->client_cohort != NULL ? &lock->client_cohort->cohort : NULL;
}

/* A list that is being made, and the snapshot that it is made of. */
struct builder {
    const struct hf_snapshot *snapshot;
    bool is_entry_queue; /* the queue of a semaphore's entry mutex */
    bool *holds;         /* does the ticket hold? by index in the snapshot */
    bool *own;           /* is it this client's? as .holds */
    bool *unread;        /* was its text neither wanted nor given? as .holds */
    struct hf_tickets *tickets;
    char *text; /* the next free byte */
};

/* Copy ${text} to the memory for texts. */
static const char *copy_text(struct builder *builder, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *kept = builder->text;

    memcpy(kept, text, bytes);
    builder->text += bytes;
    return kept;
}

/* The same for a payload.  Anybody may have written it, and not all engines
 * check that it is UTF-8. */
static const char *copy_payload(struct builder *builder, const char *payload)
{
    size_t bytes = strlen(payload);

    if (hf_utf8_valid(payload, bytes))
        return copy_text(builder, payload);
    return copy_text(builder, hf_quote(payload, bytes).text);
}

/* The next view, with what its ${payload} says of the owner. */
static struct hf_ticket_view *next_view(struct builder *builder,
                                        const char *payload)
{
    struct hf_ticket_view *view =
        &builder->tickets->views[builder->tickets->count++];
    struct hf_owner owner;

    (void)hf_owner_text_parse(payload, hf_boottime_ms(), &owner);
    view->age_ms = owner.age_ms;
    view->created_utc_ms = owner.at_utc_ms;
    view->owner = copy_payload(builder, payload);
    return view;
}

/* Add a view of the ticket at ${index}, whose owner says ${payload}. */
static void add_ticket(struct builder *builder, size_t index,
                       const char *payload)
{
    const struct hf_ticket *ticket = &builder->snapshot->tickets[index];
    struct hf_ticket_view *view = next_view(builder, payload);
    char id[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&ticket->id, id);
    view->id = copy_text(builder, id);
    builder->tickets->sequences[builder->tickets->count - 1] = ticket->sequence;
    view->kind = builder->is_entry_queue ? HF_KIND_SEMAPHORE
                                         : hf_kind_of_ticket(ticket->kind);
    view->permits = builder->is_entry_queue ? 0 : ticket->weight;
    view->holds = builder->holds[index];
    view->own = builder->own[index];
    view->token = ticket->token;
    if (ticket->created_utc_ms != 0)
        view->created_utc_ms = ticket->created_utc_ms;
    view->session = ticket->session;
    view->layout = ticket->dialect != NULL ? ticket->dialect : "";
    if (builder->unread[index])
        view->owner = NULL;
}

/* The waiter of ${cohort} that the shared ticket is for now: the holder, or the
 * first that waits; NULL: none. */
static const struct hf_acquisition *
current_waiter(const struct hf_cohort *cohort)
{
    return cohort->holder != NULL ? cohort->holder : cohort->waiters.first;
}

/* Add a view of each waiter of ${cohort}, except ${listed}.  A waiter has no
 * ticket, and so no id. */
static void add_waiters(struct builder *builder, const struct hf_cohort *cohort,
                        const struct hf_acquisition *listed)
{
    for (const struct hf_acquisition *a = cohort->waiters.first; a != NULL;
         a = a->next) {
        if (a == listed)
            continue;
        struct hf_ticket_view *view;

        view = next_view(builder, a->payload);
        view->id = view->layout = "";
        view->kind = HF_KIND_MUTEX;
        view->permits = 1;
        view->own = true;
    }
}

/* Which participants of a double barrier are inside: those that are older than
 * the ready flag. */
static void mark_inside(const struct hf_snapshot *snapshot, bool *inside)
{
    uint64_t generation = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        if (snapshot->tickets[i].kind == HF_TICKET_READY)
            generation = snapshot->tickets[i].token;
    }
    for (size_t i = 0; i < snapshot->count; i++)
        inside[i] = snapshot->tickets[i].token < generation;
}

/* Is ${ticket} of the kind that is listed?  The list of a double barrier shows
 * participants only, and any other list shows none of them. */
static bool is_shown(const struct hf_lock *lock, const struct hf_ticket *ticket)
{
    return (lock->kind == HF_TICKET_PARTICIPANT) ==
           (ticket->kind == HF_TICKET_PARTICIPANT);
}

/* Does ${which} select a ticket that holds (${holds}) or that waits? */
static bool is_selected(enum hf_tickets_which which, bool holds)
{
    return which == HF_TICKETS_ALL || (which == HF_TICKETS_HOLDERS) == holds;
}

/* Which tickets are this client's.  Each is looked up in the table of its
 * tickets, so the cost does not grow with their number. */
static void flag_own(const struct hf_client *client, const char *queue,
                     struct builder *builder)
{
    const struct hf_snapshot *snapshot = builder->snapshot;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_own_ticket *own = hf_ticket_table_find(
            &client->core.tickets, &snapshot->tickets[i].id);

        builder->own[i] =
            own != NULL && strcmp(own->acquisition->queue, queue) == 0;
    }
}

/* Mark the tickets whose text was neither wanted nor given, and set where the
 * next range of texts begins.  An engine may give more texts than were
 * wanted. */
static void flag_unread(const struct hf_text_range *range,
                        struct builder *builder)
{
    const struct hf_snapshot *snapshot = builder->snapshot;
    struct hf_tickets *tickets = builder->tickets;
    size_t taken = 0;

    tickets->texts_from = range->from;
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];

        if (!ticket->unread &&
            hf_text_range_wants(range, ticket->sequence, taken)) {
            taken++;
            tickets->texts_from = ticket->sequence + 1;
        } else {
            builder->unread[i] = ticket->payload[0] == '\0';
        }
    }
}

/* Is ${ticket} the one that the waiters of ${cohort} share?  ${cohort} may be
 * NULL. */
static bool is_shared(const struct hf_cohort *cohort,
                      const struct hf_ticket *ticket)
{
    const struct hf_own_ticket *own =
        cohort != NULL && cohort->ticket != NULL
            ? hf_acquisition_ticket(cohort->ticket)
            : NULL;

    return own != NULL && current_waiter(cohort) != NULL &&
           hf_ticket_id_equal(&own->id, &ticket->id);
}

/* Add the views.  Waiters of a cohort are listed behind their ticket, or at the
 * end if they have none yet. */
static void add_tickets(struct builder *builder, const struct hf_lock *lock,
                        enum hf_tickets_which which)
{
    const struct hf_snapshot *snapshot = builder->snapshot;
    const struct hf_cohort *cohort = cohort_of(lock);
    bool lists_waiting = cohort != NULL && which != HF_TICKETS_HOLDERS;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];
        bool shared = is_shared(cohort, ticket);

        if (is_selected(which, builder->holds[i]) && is_shown(lock, ticket))
            add_ticket(builder, i,
                       shared ? current_waiter(cohort)->payload
                              : ticket->payload);
        if (shared && lists_waiting) {
            add_waiters(builder, cohort, current_waiter(cohort));
            lists_waiting = false;
        }
    }
    if (lists_waiting)
        add_waiters(builder, cohort, NULL);
}

/* How much memory the texts need at most. */
static size_t text_bytes(const struct hf_event *listed,
                         const struct hf_cohort *cohort)
{
    const struct hf_snapshot *snapshot = &listed->as.answer.snapshot;
    size_t bytes = 1;

    for (size_t i = 0; i < snapshot->count; i++)
        bytes += HF_TICKET_ID_TEXT_BYTES + HF_QUOTE_BYTES +
                 strlen(snapshot->tickets[i].payload) + 1;
    for (size_t i = 0; i < listed->as.answer.unknown_count; i++)
        bytes += strlen(listed->as.answer.unknown[i]) + 1;
    if (cohort != NULL) /* each waiter is listed at most once */
        bytes += cohort->count * HF_PAYLOAD_BYTES;
    return bytes;
}

/* Memory for a list of everything in ${listed}; NULL if out of memory. */
static struct hf_tickets *allocate(const struct hf_event *listed,
                                   const struct hf_cohort *cohort)
{
    struct hf_tickets *tickets = hf_alloc(sizeof(*tickets));
    size_t count = listed->as.answer.snapshot.count;
    size_t unknown_count = listed->as.answer.unknown_count;

    if (tickets == NULL)
        return NULL;
    if (cohort != NULL)
        count += cohort->count;
    tickets->views = hf_alloc((count + 1) * sizeof(*tickets->views));
    tickets->sequences = hf_alloc((count + 1) * sizeof(*tickets->sequences));
    tickets->unknown = hf_alloc((unknown_count + 1) * sizeof(char *));
    tickets->text = hf_alloc(text_bytes(listed, cohort));
    if (tickets->views != NULL && tickets->sequences != NULL &&
        tickets->unknown != NULL && tickets->text != NULL)
        return tickets;
    hf_tickets_free(tickets);
    return NULL;
}

/* One allocation holds the arrays of flags; it is freed here, and the list is
 * the user's. */
bool hf_tickets_add(struct hf_tickets **tickets, const struct hf_lock *lock,
                    const struct hf_operation *operation,
                    const struct hf_event *listed, enum hf_tickets_which which)
{
    const struct hf_snapshot *snapshot = &listed->as.answer.snapshot;
    struct builder builder = {.snapshot = snapshot,
                              .is_entry_queue =
                                  operation->queue == lock->entry_queue};
    bool *flags = hf_alloc(3 * snapshot->count + 1);

    if (flags == NULL ||
        (builder.tickets = allocate(listed, cohort_of(lock))) == NULL)
        goto free_flags;
    builder.holds = flags;
    builder.own = flags + snapshot->count;
    builder.unread = flags + 2 * snapshot->count;
    builder.text = builder.tickets->text;
    if (lock->kind == HF_TICKET_PARTICIPANT)
        mark_inside(snapshot, builder.holds);
    else if (!builder.is_entry_queue)
        hf_admission_mark_admitted(snapshot, builder.holds);
    flag_own(lock->client, operation->queue, &builder);
    flag_unread(&operation->texts, &builder);
    add_tickets(&builder, lock, which);
    for (size_t i = 0; i < listed->as.answer.unknown_count; i++)
        builder.tickets->unknown[builder.tickets->unknown_count++] =
            copy_text(&builder, listed->as.answer.unknown[i]);
    builder.tickets->next = *tickets;
    *tickets = builder.tickets;
free_flags:
    hf_free(flags);
    return builder.tickets != NULL;
}

size_t hf_tickets_count(const struct hf_tickets *tickets)
{
    size_t count = 0;

    for (const struct hf_tickets *t = tickets; t != NULL; t = t->next)
        count += t->count;
    return count;
}

/* The lists of a semaphore's two queues count as one. */
const struct hf_ticket_view *hf_tickets_at(const struct hf_tickets *tickets,
                                           size_t index)
{
    for (const struct hf_tickets *t = tickets; t != NULL; t = t->next) {
        if (index < t->count)
            return &t->views[index];
        index -= t->count;
    }
    return NULL;
}

const char *hf_tickets_unknown(const struct hf_tickets *tickets, size_t n)
{
    for (const struct hf_tickets *t = tickets; t != NULL; t = t->next) {
        if (n < t->unknown_count)
            return t->unknown[n];
        n -= t->unknown_count;
    }
    return NULL;
}

uint64_t hf_tickets_texts_from(const struct hf_tickets *tickets)
{
    return tickets->texts_from;
}

uint64_t hf_tickets_sequence_at(const struct hf_tickets *tickets, size_t index)
{
    return tickets->sequences[index];
}

/* Each list of a semaphore was allocated separately. */
void hf_tickets_free(struct hf_tickets *tickets)
{
    struct hf_tickets *next;

    for (; tickets != NULL; tickets = next) {
        next = tickets->next;
        hf_free(tickets->views);
        hf_free(tickets->sequences);
        hf_free(tickets->unknown);
        hf_free(tickets->text);
        hf_free(tickets);
    }
}
