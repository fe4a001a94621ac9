/* SPDX-License-Identifier: Apache-2.0 */
/* Making a page of names, and reading it. */
#include "client/name_view.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

/* Did the owner of ${ticket} begin to ask before that of ${other}?  Ages by one
 * clock decide, then times of day; where neither is known, the queue does. */
static bool is_older(const struct hf_ticket_view *ticket,
                     const struct hf_ticket_view *other)
{
    if (ticket->age_ms != HF_FOREVER && other->age_ms != HF_FOREVER)
        return ticket->age_ms > other->age_ms;
    return ticket->created_utc_ms != 0 && other->created_utc_ms != 0 &&
           ticket->created_utc_ms < other->created_utc_ms;
}

/* Count the tickets that hold, and those that do not.  Sets ${oldest} to the
 * oldest of both, or NULL. */
static void count(const struct hf_tickets *tickets, struct hf_name_view *view,
                  const struct hf_ticket_view *oldest[2])
{
    const struct hf_ticket_view *ticket;

    oldest[0] = oldest[1] = NULL;
    for (size_t i = 0; (ticket = hf_tickets_at(tickets, i)) != NULL; i++) {
        const struct hf_ticket_view **kept = &oldest[ticket->holds ? 0 : 1];

        if (*kept == NULL || is_older(ticket, *kept))
            *kept = ticket;
        if (ticket->holds)
            view->holders++;
        else
            view->waiters++;
    }
}

/* Copy ${text} to ${at}, and return the copy. */
static const char *copy_text(char **at, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = memcpy(*at, text, bytes);

    *at += bytes;
    return copy;
}

static size_t text_bytes(const struct hf_ticket_view *ticket)
{
    return ticket == NULL ? 0
                          : strlen(ticket->id) + strlen(ticket->layout) +
                                strlen(ticket->owner) + 3;
}

/* Copy ${ticket}, which may be NULL, to ${kept}, and its texts to ${at}. */
static const struct hf_ticket_view *
copy_ticket(struct hf_ticket_view *kept, const struct hf_ticket_view *ticket,
            char **at)
{
    if (ticket == NULL)
        return NULL;
    *kept = *ticket;
    kept->id = copy_text(at, ticket->id);
    kept->layout = copy_text(at, ticket->layout);
    kept->owner = copy_text(at, ticket->owner);
    return kept;
}

bool hf_names_page_add(struct hf_names_page *page, const char *name,
                       const struct hf_tickets *tickets)
{
    const struct hf_ticket_view *first = hf_tickets_at(tickets, 0), *oldest[2];
    struct hf_name_view *view = &page->views[page->count];
    char *at;

    assert(page->count < HF_NAMES_VIEWS);
    if (first == NULL)
        return true;
    *view = (struct hf_name_view){.kind = first->kind};
    count(tickets, view, oldest);
    at = hf_alloc(strlen(name) + 1 + text_bytes(oldest[0]) +
                  text_bytes(oldest[1]));
    if (at == NULL)
        return false;
    page->texts[page->count] = at;
    view->name = copy_text(&at, name);
    view->holder = copy_ticket(&page->tickets[page->count][0], oldest[0], &at);
    view->waiter = copy_ticket(&page->tickets[page->count][1], oldest[1], &at);
    page->count++;
    return true;
}

size_t hf_names_count(const struct hf_names_page *page)
{
    return page->count;
}

const struct hf_name_view *hf_names_at(const struct hf_names_page *page,
                                       size_t index)
{
    return index < page->count ? &page->views[index] : NULL;
}

uint64_t hf_names_looked_at(const struct hf_names_page *page)
{
    return page->looked_at;
}

uint64_t hf_names_unreadable(const struct hf_names_page *page)
{
    return page->unreadable;
}

void hf_names_page_free(struct hf_names_page *page)
{
    if (page == NULL)
        return;
    for (size_t i = 0; i < page->count; i++)
        hf_free(page->texts[i]);
    hf_free(page);
}
