/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of queues, which names were seen, and a page of names: making it,
 * and reading it.
 *
 * The names that were seen are in an open table: the first bytes of a digest
 * say at which entry it would be, and it is in the first entry from there on
 * that was free.  At most three quarters of the entries are taken.
 */
#include "client/names_page.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/lock.h>

#include "base/memory.h"
#include "base/sha256.h"
#include "core/lock_name.h"
#include "core/name_list.h"

/* -------------------------------------------------- the name of a queue -- */

size_t hf_names_bytes_before(const char *queue, const char *end)
{
    size_t bytes = strlen(queue), less = strlen(end);

    return bytes > less && strcmp(queue + bytes - less, end) == 0 ? bytes - less
                                                                  : 0;
}

void hf_names_format(const struct hf_names_queue *queue, char sort,
                     char name[HF_NAMES_NAME_BYTES])
{
    size_t bytes = strlen(queue->queue);

    if (sort == 's') {
        bytes = hf_names_bytes_before(queue->queue, HF_QUEUE_LEASES);
        if (bytes == 0)
            bytes = hf_names_bytes_before(queue->queue, HF_QUEUE_LOCKS);
    }
    memcpy(name, queue->queue, bytes);
    name[bytes] = '\0';
}

bool hf_names_find(struct hf_names_queue *queue, const char *prefix,
                   char name[HF_NAMES_NAME_BYTES])
{
    struct hf_error unused;
    const char *canonical;

    if (strlen(queue->queue) > HF_NAME_BYTES + strlen(HF_QUEUE_LEASES))
        return false;
    if (queue->participants)
        queue->sort = 'p';
    else if (hf_names_bytes_before(queue->queue, HF_QUEUE_LEASES) > 0 ||
             hf_names_bytes_before(queue->queue, HF_QUEUE_LOCKS) > 0)
        queue->sort = 's';
    else
        queue->sort = 'l';
    hf_names_format(queue, queue->sort, name);
    if (queue->sort == 's' && !hf_name_is_below(name, prefix)) {
        queue->sort = 'l';
        hf_names_format(queue, 'l', name);
    }
    return hf_name_is_below(name, prefix) &&
           hf_lock_name_check(name, &canonical, &unused) == HF_OK;
}

/* ------------------------------------------------- names that were seen -- */

#define FIRST_CAPACITY 256

/* The entry that has ${digest}, or the free one where it belongs. */
static struct hf_names_digest *find(const struct hf_names_seen *seen,
                                    const struct hf_names_digest *digest)
{
    static const struct hf_names_digest none;
    size_t at;

    memcpy(&at, digest->bytes, sizeof at);
    for (;; at++) {
        struct hf_names_digest *entry =
            &seen->entries[at & (seen->capacity - 1)];

        if (memcmp(entry, digest, sizeof *entry) == 0 ||
            memcmp(entry, &none, sizeof *entry) == 0)
            return entry;
    }
}

/* Make room for one more digest.  False for lack of memory. */
static bool make_room(struct hf_names_seen *seen)
{
    struct hf_names_seen larger = {
        .capacity = seen->capacity == 0 ? FIRST_CAPACITY : 2 * seen->capacity,
        .count = seen->count,
    };
    static const struct hf_names_digest none;

    if (seen->count < seen->capacity / 4 * 3)
        return true;
    larger.entries = hf_alloc(larger.capacity * sizeof *larger.entries);
    if (larger.entries == NULL)
        return false;
    for (size_t i = 0; i < seen->capacity; i++) {
        if (memcmp(&seen->entries[i], &none, sizeof none) != 0)
            *find(&larger, &seen->entries[i]) = seen->entries[i];
    }
    hf_free(seen->entries);
    *seen = larger;
    return true;
}

bool hf_names_seen_add(struct hf_names_seen *seen, char sort, const char *name,
                       bool *added)
{
    char text[1 + HF_NAME_BYTES + 1];
    uint8_t sha256[HF_SHA256_BYTES];
    struct hf_names_digest digest, *entry;
    int bytes = snprintf(text, sizeof text, "%c%s", sort, name);

    assert(bytes > 0 && (size_t)bytes < sizeof text);
    *added = false;
    if (!make_room(seen))
        return false;
    hf_sha256(text, (size_t)bytes, sha256);
    memcpy(digest.bytes, sha256, sizeof digest.bytes);
    entry = find(seen, &digest);
    if (memcmp(entry, &digest, sizeof digest) == 0)
        return true;
    *entry = digest;
    seen->count++;
    *added = true;
    return true;
}

bool hf_names_seen_goes_on(struct hf_names_seen *seen, const char *cursor,
                           size_t bytes)
{
    struct hf_names_digest digest;
    uint8_t all[HF_SHA256_BYTES];

    if (seen->count != seen->count_before) {
        seen->count_before = seen->count;
        seen->barren = seen->marked = 0;
        seen->returns = 0;
    }
    seen->barren++;
    hf_sha256(cursor, bytes, all);
    memcpy(digest.bytes, all, sizeof digest.bytes);
    if (seen->marked > 0 && memcmp(&digest, &seen->mark, sizeof digest) == 0)
        seen->returns++;
    if (seen->barren >= 2 * seen->marked) {
        seen->marked = seen->barren;
        seen->mark = digest;
    }
    return seen->count <= HF_NAMES_SEEN_MAX &&
           seen->barren <= HF_NAMES_BARREN_MAX &&
           seen->returns <= HF_NAMES_RETURNS_MAX;
}

void hf_names_seen_free(struct hf_names_seen *seen)
{
    hf_free(seen->entries);
    *seen = (struct hf_names_seen){0};
}

/* --------------------------------------------------------------- a page -- */

/* Did the owner of ${ticket} begin to ask before that of ${other}?  Decided by
 * the ages on one clock, else by the times of day; false if neither is known,
 * so that the order of the queue decides. */
static bool is_older(const struct hf_ticket_view *ticket,
                     const struct hf_ticket_view *other)
{
    if (ticket->age_ms != HF_FOREVER && other->age_ms != HF_FOREVER)
        return ticket->age_ms > other->age_ms;
    return ticket->created_utc_ms != 0 && other->created_utc_ms != 0 &&
           ticket->created_utc_ms < other->created_utc_ms;
}

/* Count the tickets that hold, and those that do not.  Sets ${oldest}[0] to the
 * oldest that holds, ${oldest}[1] to the oldest that does not; NULL: none. */
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

/* Copy ${text} to ${*at}, move that behind the copy, and return the copy. */
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
