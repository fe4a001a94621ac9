/* SPDX-License-Identifier: Apache-2.0 */
#include "host/tickets.h"

#include <string.h>

#include "core/admission.h"
#include "core/memory.h"
#include "core/quote.h"
#include "core/utf8.h"
#include "host/owner.h"

struct hf_tickets {
    struct hf_tickets *next; /* of the same lock, from another queue */
    size_t count;
    struct hf_ticket_view *views;
    size_t foreign_count;
    const char **foreign;
    char *text; /* of all of them */
};

/* The cohort that shares the tickets of ${lock}; NULL: there is none. */
static const struct hf_cohort *cohort_of(const struct hf_lock *lock)
{
    return lock->local != NULL ? &lock->local->cohort : NULL;
}

/* What is being made, and of what. */
struct maker {
    const struct hf_snapshot *snapshot;
    bool waits;  /* it is the queue in front of the leases */
    bool *holds; /* by place */
    bool *own;
    struct hf_tickets *tickets;
    char *text; /* the next free byte */
};

static enum hf_kind kind_of(const struct hf_ticket *ticket)
{
    switch (ticket->kind) {
    case HF_TICKET_READ:
        return HF_KIND_READ;
    case HF_TICKET_WRITE:
        return HF_KIND_WRITE;
    case HF_TICKET_EXCLUSIVE:
        return HF_KIND_EXCLUSIVE;
    case HF_TICKET_LEASE:
        return HF_KIND_SEMAPHORE;
    case HF_TICKET_ELECTION:
        return HF_KIND_ELECTION;
    case HF_TICKET_PARTICIPANT:
        return HF_KIND_PARTICIPANT;
    case HF_TICKET_MUTEX:
    case HF_TICKET_BARRIER: /* these two are never shown */
    case HF_TICKET_READY:
        break;
    }
    return HF_KIND_MUTEX;
}

static const char *keep(struct maker *maker, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *kept = maker->text;

    memcpy(kept, text, bytes);
    maker->text += bytes;
    return kept;
}

/* Not all engines look at what strangers write. */
static const char *keep_payload(struct maker *maker, const char *payload)
{
    size_t bytes = strlen(payload);

    if (hf_utf8_valid(payload, bytes))
        return keep(maker, payload);
    return keep(maker, hf_quote(payload, bytes).text);
}

/* The next one, of an owner that says ${payload} of itself. */
static struct hf_ticket_view *next(struct maker *maker, const char *payload)
{
    struct hf_ticket_view *view =
        &maker->tickets->views[maker->tickets->count++];
    struct hf_owner owner;

    (void)hf_owner_parse(payload, hf_now_ms(), &owner);
    view->age_ms = owner.age_ms;
    view->created_utc_ms = owner.at_utc_ms;
    view->owner = keep_payload(maker, payload);
    return view;
}

static void add(struct maker *maker, size_t place, const char *payload)
{
    const struct hf_ticket *ticket = &maker->snapshot->tickets[place];
    struct hf_ticket_view *view = next(maker, payload);
    char id[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&ticket->id, id);
    view->id = keep(maker, id);
    view->kind = maker->waits ? HF_KIND_SEMAPHORE : kind_of(ticket);
    view->permits = maker->waits ? 0 : ticket->weight;
    view->holds = maker->holds[place];
    view->own = maker->own[place];
    view->token = ticket->token;
    if (ticket->created_utc_ms != 0)
        view->created_utc_ms = ticket->created_utc_ms;
    view->layout = ticket->dialect != NULL ? ticket->dialect : "";
}

/* The member of ${cohort} for which its ticket stands now; NULL: none. */
static const struct hf_acquisition *stands_for(const struct hf_cohort *cohort)
{
    return cohort->holder != NULL ? cohort->holder : cohort->first;
}

/* Those who wait in ${cohort}, but for ${listed}. */
static void add_waiting(struct maker *maker, const struct hf_cohort *cohort,
                        const struct hf_acquisition *listed)
{
    for (const struct hf_acquisition *a = cohort->first; a != NULL;
         a = a->next) {
        if (a == listed)
            continue;
        struct hf_ticket_view *view;

        view = next(maker, a->payload);
        view->id = view->layout = "";
        view->kind = HF_KIND_MUTEX;
        view->permits = 1;
        view->own = true;
    }
}

/* Of a double barrier: who was called in by the mark.  That itself, and what
 * is there of a lock, is not shown. */
static void mark_members(const struct hf_snapshot *snapshot, bool *inside)
{
    uint64_t stamp = 0;

    for (size_t i = 0; i < snapshot->count; i++) {
        if (snapshot->tickets[i].kind == HF_TICKET_READY)
            stamp = snapshot->tickets[i].token;
    }
    for (size_t i = 0; i < snapshot->count; i++)
        inside[i] = snapshot->tickets[i].token < stamp;
}

static bool is_shown(const struct hf_lock *lock, const struct hf_ticket *ticket)
{
    return (lock->kind == HF_TICKET_PARTICIPANT) ==
           (ticket->kind == HF_TICKET_PARTICIPANT);
}

static bool wanted(enum hf_tickets_which which, bool holds)
{
    return which == HF_TICKETS_ALL || (which == HF_TICKETS_HOLDERS) == holds;
}

/* Each ticket is looked up among the client's, however many these are. */
static void mark_own(const struct hf_client *client, const char *queue,
                     struct maker *maker)
{
    const struct hf_snapshot *snapshot = maker->snapshot;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_own_ticket *own = hf_ticket_table_find(
            &client->core.tickets, &snapshot->tickets[i].id);

        maker->own[i] =
            own != NULL && strcmp(own->acquisition->queue, queue) == 0;
    }
}

/* Is ${ticket} the one that ${cohort}, which may be NULL, shares? */
static bool is_shared(const struct hf_cohort *cohort,
                      const struct hf_ticket *ticket)
{
    const struct hf_own_ticket *own =
        cohort != NULL && cohort->ticket != NULL
            ? hf_acquisition_ticket(cohort->ticket)
            : NULL;

    return own != NULL && stands_for(cohort) != NULL &&
           hf_ticket_id_equal(&own->id, &ticket->id);
}

/* Those who wait for a ticket that is yet to be made come last. */
static void add_all(struct maker *maker, const struct hf_lock *lock,
                    enum hf_tickets_which which)
{
    const struct hf_snapshot *snapshot = maker->snapshot;
    const struct hf_cohort *cohort = cohort_of(lock);
    bool lists_waiting = cohort != NULL && which != HF_TICKETS_HOLDERS;

    for (size_t i = 0; i < snapshot->count; i++) {
        const struct hf_ticket *ticket = &snapshot->tickets[i];
        bool shared = is_shared(cohort, ticket);

        if (wanted(which, maker->holds[i]) && is_shown(lock, ticket))
            add(maker, i,
                shared ? stands_for(cohort)->payload : ticket->payload);
        if (shared && lists_waiting) {
            add_waiting(maker, cohort, stands_for(cohort));
            lists_waiting = false;
        }
    }
    if (lists_waiting)
        add_waiting(maker, cohort, NULL);
}

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
    if (cohort != NULL) /* each at most once */
        bytes += cohort->count * HF_PAYLOAD_BYTES;
    return bytes;
}

static struct hf_tickets *allocate(const struct hf_event *listed,
                                   const struct hf_cohort *cohort)
{
    struct hf_tickets *tickets = hf_alloc(sizeof(*tickets));
    size_t count = listed->as.answer.snapshot.count;
    size_t foreign_count = listed->as.answer.unknown_count;

    if (tickets == NULL)
        return NULL;
    if (cohort != NULL)
        count += cohort->count;
    tickets->views = hf_alloc((count + 1) * sizeof(*tickets->views));
    tickets->foreign = hf_alloc((foreign_count + 1) * sizeof(char *));
    tickets->text = hf_alloc(text_bytes(listed, cohort));
    if (tickets->views != NULL && tickets->foreign != NULL &&
        tickets->text != NULL)
        return tickets;
    hf_tickets_free(tickets);
    return NULL;
}

bool hf_tickets_add(struct hf_tickets **tickets, const struct hf_lock *lock,
                    const char *queue, const struct hf_event *listed,
                    enum hf_tickets_which which)
{
    const struct hf_snapshot *snapshot = &listed->as.answer.snapshot;
    struct maker maker = {.snapshot = snapshot, .waits = queue == lock->locks};
    bool *marks = hf_alloc(2 * snapshot->count + 1);

    if (marks == NULL ||
        (maker.tickets = allocate(listed, cohort_of(lock))) == NULL)
        goto free_marks;
    maker.holds = marks;
    maker.own = marks + snapshot->count;
    maker.text = maker.tickets->text;
    if (lock->kind == HF_TICKET_PARTICIPANT)
        mark_members(snapshot, maker.holds);
    else if (!maker.waits)
        hf_admission_mark_admitted(snapshot, maker.holds);
    mark_own(lock->client, queue, &maker);
    add_all(&maker, lock, which);
    for (size_t i = 0; i < listed->as.answer.unknown_count; i++)
        maker.tickets->foreign[maker.tickets->foreign_count++] =
            keep(&maker, listed->as.answer.unknown[i]);
    maker.tickets->next = *tickets;
    *tickets = maker.tickets;
free_marks:
    hf_free(marks);
    return maker.tickets != NULL;
}

size_t hf_tickets_count(const struct hf_tickets *tickets)
{
    size_t count = 0;

    for (const struct hf_tickets *t = tickets; t != NULL; t = t->next)
        count += t->count;
    return count;
}

const struct hf_ticket_view *hf_tickets_at(const struct hf_tickets *tickets,
                                           size_t place)
{
    for (const struct hf_tickets *t = tickets; t != NULL; t = t->next) {
        if (place < t->count)
            return &t->views[place];
        place -= t->count;
    }
    return NULL;
}

const char *hf_tickets_unknown(const struct hf_tickets *tickets, size_t n)
{
    for (const struct hf_tickets *t = tickets; t != NULL; t = t->next) {
        if (n < t->foreign_count)
            return t->foreign[n];
        n -= t->foreign_count;
    }
    return NULL;
}

void hf_tickets_free(struct hf_tickets *tickets)
{
    struct hf_tickets *next;

    for (; tickets != NULL; tickets = next) {
        next = tickets->next;
        hf_free(tickets->views);
        hf_free(tickets->foreign);
        hf_free(tickets->text);
        hf_free(tickets);
    }
}
