/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See listing.h.  The directory is read with getdents64() into a sorted array
 * of tickets.  Payloads are read afterwards, and only those that are needed.
 */
#include "engines/file/listing.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "core/admission.h"
#include "engines/file/syscalls.h"

#define BUFFER_BYTES 8192
#define FIRST_CAPACITY 8

/* How often a directory is read again because a ticket of some directory was
 * renamed meanwhile. */
#define TRIES 64

struct hf_file_listing *hf_file_listing_new(const char *dir_name,
                                            enum hf_file_listing_scope scope)
{
    struct hf_file_listing *listing = hf_alloc(sizeof(*listing));

    if (listing == NULL)
        return NULL;
    listing->references = 1;
    listing->scope = scope;
    memcpy(listing->dir_name, dir_name, strlen(dir_name) + 1);
    return listing;
}

struct hf_file_listing *hf_file_listing_ref(struct hf_file_listing *listing)
{
    listing->references++;
    return listing;
}

void hf_file_listing_unref(struct hf_file_listing *listing)
{
    if (listing == NULL || --listing->references > 0)
        return;
    hf_free(listing->tickets.items);
    hf_free(listing->payloads.items);
    hf_free(listing->new_payloads.items);
    hf_free(listing->text);
    hf_free(listing);
}

/* Append ${ticket}; ${path} is for the error. */
static hf_status append(struct hf_file_ticket_list *list,
                        const struct hf_ticket *ticket, const char *path,
                        struct hf_error *error)
{
    if (list->count == HF_LISTING_MAX)
        return hf_error_set(error, HF_ELIMIT,
                            "%s holds more than %d tickets; is it left over "
                            "from something else?",
                            path, HF_LISTING_MAX);
    if (list->count == list->capacity) {
        size_t capacity =
            list->capacity == 0 ? FIRST_CAPACITY : 2 * list->capacity;
        struct hf_ticket *items =
            hf_realloc(list->items, capacity * sizeof(*items));

        if (items == NULL)
            return hf_error_set(error, HF_ENOMEM, "no memory to list %s", path);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *ticket;
    return HF_OK;
}

/* Returns whether ${listing} has tickets of this kind. */
static bool is_in_scope(const struct hf_file_listing *listing,
                        const struct hf_ticket *ticket)
{
    bool participant = ticket->kind == HF_TICKET_PARTICIPANT;

    return listing->scope == HF_LISTING_ALL ||
           participant == (listing->scope == HF_LISTING_PARTICIPANTS);
}

/* Add the ticket or payload that ${file} is, if the listing has such
 * tickets. */
static hf_status add_file(struct hf_file_listing *listing, const char *file,
                          const char *path, struct hf_error *error)
{
    enum hf_file_name_kind kind;
    struct hf_ticket ticket;

    kind = hf_file_name_parse(file, &ticket);
    if (kind != HF_FILE_NAME_OTHER && !is_in_scope(listing, &ticket))
        return HF_OK;
    switch (kind) {
    case HF_FILE_NAME_TICKET:
        return append(&listing->tickets, &ticket, path, error);
    case HF_FILE_NAME_PAYLOAD:
        return append(&listing->payloads, &ticket, path, error);
    case HF_FILE_NAME_NEW_PAYLOAD:
        return append(&listing->new_payloads, &ticket, path, error);
    case HF_FILE_NAME_OTHER:
        break; /* does not belong to a ticket: ignored */
    }
    return HF_OK;
}

static void sort(struct hf_file_ticket_list *list)
{
    if (list->count > 1)
        qsort(list->items, list->count, sizeof(*list->items),
              hf_ticket_compare);
}

/* Returns the ticket behind ${ticket} if it is the same ticket under its other
 * name, during a downgrade; else NULL. */
static struct hf_ticket *reader_of(struct hf_ticket *ticket)
{
    return hf_ticket_id_equal(&ticket[0].id, &ticket[1].id) ? &ticket[1] : NULL;
}

/* Show a ticket that has both names as a writer.  The name of the writer is
 * about to be removed, and that will wake the sessions that wait for it. */
static void drop_reader_names(struct hf_file_listing *listing)
{
    struct hf_file_ticket_list *list = &listing->tickets;

    for (size_t i = 0; i + 1 < list->count; i++) {
        struct hf_ticket *reader = reader_of(&list->items[i]);

        if (reader == NULL)
            continue;
        list->items[i].kind = HF_TICKET_WRITE;
        hf_file_listing_drop(listing, i + 1);
    }
}

/* Read the directory once, from its beginning. */
static hf_status read_once(struct hf_file_listing *listing, int dir,
                           const char *path, struct hf_error *error)
{
    _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
    hf_status status = HF_OK;
    ssize_t got;

    hf_file_listing_clear(listing);
    if (hf_file_sys_rewind(dir) != 0)
        return hf_file_error_set_errno(error, "list", path);
    while (status == HF_OK &&
           (got = hf_file_sys_getdents(dir, buffer, sizeof(buffer))) != 0) {
        if (got < 0)
            return hf_file_error_set_errno(error, "list", path);
        for (ssize_t at = 0; at < got && status == HF_OK;) {
            const struct dirent64 *found =
                (const struct dirent64 *)(const void *)(buffer + at);

            status = add_file(listing, found->d_name, path, error);
            at += found->d_reclen;
        }
    }
    sort(&listing->tickets);
    sort(&listing->payloads);
    drop_reader_names(listing);
    return status;
}

hf_status hf_file_listing_read(struct hf_file_listing *listing, int dir,
                               const char *path,
                               const struct hf_file_token_counter *counter,
                               struct hf_error *error)
{
    for (unsigned try = 0; try < TRIES; try++) {
        uint64_t before =
            counter == NULL ? 0 : hf_file_token_counter_renames(counter);
        hf_status status = read_once(listing, dir, path, error);

        if (status != HF_OK || counter == NULL ||
            hf_file_token_counter_renames(counter) == before) {
            listing->complete = status == HF_OK && counter != NULL;
            return status;
        }
    }
    return hf_error_set(error, HF_EUNREACHABLE,
                        "%s changes faster than it can be listed", path);
}

/* Add READY as a ticket, if it is there. */
static hf_status read_ready(struct hf_file_listing *listing, int dir,
                            const char *path, struct hf_error *error)
{
    char text[HF_READY_TEXT_BYTES + 1];
    struct hf_ticket ready;
    hf_status status;
    ssize_t got =
        hf_file_sys_readlinkat(dir, HF_READY_FILE, text, sizeof(text) - 1);

    if (got < 0)
        return errno == ENOENT
                   ? HF_OK
                   : hf_file_error_set_errno(error, "read ready in", path);
    text[got] = '\0';
    if (!hf_file_ready_parse(text, &ready))
        return hf_error_set(error, HF_EDIR,
                            "%s/%s says %s and not a number; remove it if it "
                            "is nobody's double barrier",
                            path, HF_READY_FILE,
                            hf_quote(text, (size_t)got).text);
    status = append(&listing->tickets, &ready, path, error);
    sort(&listing->tickets);
    return status;
}

void hf_file_listing_clear(struct hf_file_listing *listing)
{
    listing->tickets.count = 0;
    listing->payloads.count = 0;
    listing->new_payloads.count = 0;
    listing->more = 0;
    listing->complete = false;
}

/* Returns the item of the sorted ${list} that has the position and id of
 * ${ticket}, or NULL. */
static struct hf_ticket *find(const struct hf_file_ticket_list *list,
                              const struct hf_ticket *ticket)
{
    if (list->count == 0)
        return NULL;
    return bsearch(ticket, list->items, list->count, sizeof(*list->items),
                   hf_ticket_compare);
}

/* Read the payloads of the first ${count} tickets. */
static hf_status read_payloads(struct hf_file_listing *listing, int dir,
                               size_t count, struct hf_error *error)
{
    char *text;

    assert(listing->text == NULL);
    if (count > listing->tickets.count)
        count = listing->tickets.count;
    if (count == 0 || listing->payloads.count == 0)
        return HF_OK;
    listing->text = hf_alloc(count * HF_PAYLOAD_BYTES);
    if (listing->text == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory to read payloads");
    text = listing->text;
    for (size_t i = 0; i < count; i++) {
        struct hf_ticket *ticket = &listing->tickets.items[i];
        char file[HF_PAYLOAD_FILE_BYTES];
        ssize_t bytes;

        if (find(&listing->payloads, ticket) == NULL)
            continue;
        hf_file_payload_name_format(ticket, file);
        bytes = hf_file_sys_readlinkat(dir, file, text, HF_PAYLOAD_BYTES - 1);
        if (bytes <= 0)
            continue;
        text[bytes] = '\0';
        ticket->payload = text;
        text += bytes + 1;
    }
    return HF_OK;
}

hf_status hf_file_listing_read_texts(struct hf_file_listing *listing, int dir,
                                     const char *path, size_t payloads,
                                     struct hf_error *error)
{
    hf_status status = read_payloads(listing, dir, payloads, error);

    if (status == HF_OK && listing->scope == HF_LISTING_PARTICIPANTS)
        status = read_ready(listing, dir, path, error);
    return status;
}

void hf_file_listing_remove_orphans(struct hf_file_listing *listing, int dir)
{
    char file[HF_NEW_PAYLOAD_FILE_BYTES];

    for (size_t i = 0; i < listing->payloads.count; i++) {
        const struct hf_ticket *payload = &listing->payloads.items[i];

        if (find(&listing->tickets, payload) != NULL)
            continue;
        hf_file_payload_name_format(payload, file);
        (void)hf_file_sys_unlinkat(dir, file);
    }
    for (size_t i = 0; i < listing->new_payloads.count; i++) {
        hf_file_new_payload_name_format(&listing->new_payloads.items[i], file);
        (void)hf_file_sys_unlinkat(dir, file);
    }
}

void hf_file_listing_drop(struct hf_file_listing *listing, size_t index)
{
    struct hf_file_ticket_list *list = &listing->tickets;

    assert(index < list->count);
    list->count--;
    memmove(list->items + index, list->items + index + 1,
            (list->count - index) * sizeof(*list->items));
}

void hf_file_listing_trim(struct hf_file_listing *listing, size_t own_index)
{
    struct hf_file_ticket_list *list = &listing->tickets;
    struct hf_snapshot snapshot = hf_file_listing_snapshot(listing);
    struct hf_ticket own;

    assert(own_index < list->count);
    own = list->items[own_index];
    if (own.kind > HF_TICKET_QUEUED_LAST || own.kind == HF_TICKET_LEASE)
        return;
    hf_admission_trim(&snapshot, list->items, &own.id, own.kind);
    memmove(list->items, snapshot.tickets,
            snapshot.count * sizeof(*list->items));
    list->count = snapshot.count;
    listing->more = snapshot.more_ahead;
}

struct hf_snapshot
hf_file_listing_snapshot(const struct hf_file_listing *listing)
{
    struct hf_snapshot snapshot = {listing->tickets.items,
                                   listing->tickets.count, listing->more};
    return snapshot;
}

bool hf_file_listing_find(const struct hf_file_listing *listing,
                          const struct hf_ticket_id *id,
                          struct hf_ticket *ticket)
{
    struct hf_snapshot snapshot = hf_file_listing_snapshot(listing);
    size_t index = hf_snapshot_find(&snapshot, id);

    if (index == snapshot.count)
        return false;
    *ticket = snapshot.tickets[index];
    ticket->payload = "";
    return true;
}
