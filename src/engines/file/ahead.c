/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is ahead of one's own ticket, known without a list.
 *
 * Nobody ever comes ahead of a ticket that is there.  So a ticket that was seen
 * to be first is first for ever, and who stands right behind it is first once
 * it is gone.  Whoever sees a ticket first leaves its number in the page of the
 * counter; whoever stood right behind it finds it there, and need not read the
 * directory when its turn comes.  It leaves its own number then, for the next.
 *
 * The number is a hint that others may have put another one over: without it
 * the directory is read.  With it the ticket is looked for in the directory
 * where one's own is, by its name: it is gone if that is, and a writer if its
 * reader's name is not there either, which is made before the writer's goes.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/admission.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

static bool stands_in_line(const struct hf_own_ticket *own)
{
    return own->ticket.kind <= HF_TICKET_ASKED_LAST &&
           own->ticket.kind != HF_TICKET_LEASE;
}

static void note_way(struct hf_engine *engine, struct hf_own_ticket *own,
                     const struct hf_listing *listing)
{
    const struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    const struct hf_admission admission =
        hf_admission_decide(&snapshot, &own->ticket.id, own->ticket.kind);

    hf_own_tickets_set_way(&engine->tickets, own,
                           admission.before != NULL ? &admission.before->id
                                                    : NULL);
}

/* All that were there before one's own came are in a list that shows it; of
 * those that came after it some may be missing. */
static void note_before(struct hf_counter *counter, struct hf_own_ticket *own,
                        const struct hf_listing *listing)
{
    const struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    size_t place = hf_snapshot_find(&snapshot, &own->ticket.id);

    own->before.sequence = 0;
    if (!listing->complete || place == snapshot.count)
        return;
    hf_counter_note_first(counter, snapshot.tickets[0].sequence);
    if (place == 0)
        return;
    own->before = snapshot.tickets[place - 1];
    own->before.payload = "";
}

void hf_ahead_note(struct hf_engine *engine, const struct hf_request *request,
                   struct hf_listing *listing)
{
    struct hf_own_ticket *own = hf_engine_own(engine, &request->ticket);

    if (own == NULL || !stands_in_line(own))
        return;
    note_before(&engine->place->counter, own, listing);
    hf_listing_trim(listing, &own->ticket.id);
    note_way(engine, own, listing);
}

static bool is_absent(int dir, const struct hf_ticket *ticket)
{
    char file[HF_TICKET_FILE_BYTES];
    struct stat status;

    hf_ticket_file_format(ticket, file);
    return hf_sys_lstatat(dir, file, &status) != 0 && errno == ENOENT;
}

/* In this order: see downgrade.c. */
static bool is_gone(int dir, const struct hf_ticket *ticket)
{
    struct hf_ticket reader = *ticket;

    reader.kind = HF_TICKET_READ;
    return is_absent(dir, ticket) &&
           (ticket->kind != HF_TICKET_WRITE || is_absent(dir, &reader));
}

static bool is_in(int dir, const struct hf_own_ticket *own)
{
    char file[HF_TICKET_FILE_BYTES];
    struct stat there, open_one;

    hf_ticket_file_format(&own->ticket, file);
    return hf_sys_lstatat(dir, file, &there) == 0 &&
           hf_sys_fstat(own->fifo, &open_one) == 0 &&
           there.st_dev == open_one.st_dev && there.st_ino == open_one.st_ino;
}

/* Is one's own in the directory at its path, and the one before it not? */
static bool has_moved_up(struct hf_engine *engine,
                         const struct hf_own_ticket *own)
{
    char path[HF_PATH_BYTES];
    struct hf_error unused;
    bool moved_up;
    int dir;

    hf_site_path(&engine->site, own->entry, NULL, path);
    dir = hf_sys_open(path, DIR_FLAGS, 0);
    if (dir < 0 || !hf_descriptors_add(&engine->descriptors, dir))
        return false;
    moved_up =
        hf_place_check_lock(engine->place, dir, path, &unused) == HF_OK &&
        is_gone(dir, &own->before) && is_in(dir, own);
    hf_descriptors_close(&engine->descriptors, &dir);
    return moved_up;
}

bool hf_ahead_is_nobody(struct hf_engine *engine,
                        const struct hf_request *request)
{
    struct hf_own_ticket *own = hf_engine_own(engine, &request->ticket);
    struct hf_counter *counter;

    if (own == NULL || own->before.sequence == 0)
        return false;
    counter = &engine->place->counter;
    if (!hf_counter_current(counter, engine->site.counter) ||
        !hf_counter_was_first(counter, own->before.sequence) ||
        !has_moved_up(engine, own))
        return false;
    hf_counter_note_first(counter, own->ticket.sequence);
    own->before.sequence = 0;
    hf_own_tickets_set_way(&engine->tickets, own, NULL);
    return true;
}
