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
 * the directory is read.  With it, and with one's own ticket seen in its place
 * after the one before it had gone, nobody is ahead.  That it has gone is known
 * from its hang-up, else its name is looked for; and of a writer, that it has
 * not become a reader, whose name is there before the writer's goes.
 */
#include <errno.h>
#include <string.h>

#include "core/admission.h"
#include "engines/file/engine.h"
#include "engines/file/sys.h"

static bool stands_in_line(const struct hf_file_ticket *own)
{
    return own->ticket.kind <= HF_TICKET_QUEUED_LAST &&
           own->ticket.kind != HF_TICKET_LEASE;
}

static void note_way(struct hf_engine *engine, struct hf_file_ticket *own,
                     const struct hf_listing *listing)
{
    const struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    const struct hf_admission admission =
        hf_admission_decide(&snapshot, &own->ticket.id, own->ticket.kind);

    hf_file_tickets_set_way(&engine->tickets, own,
                            admission.nearest != NULL ? &admission.nearest->id
                                                      : NULL);
}

/* All that were there before one's own came are in a list that shows it; of
 * those that came after it some may be missing. */
static void note_before(struct hf_counter *counter, struct hf_file_ticket *own,
                        const struct hf_listing *listing)
{
    const struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    size_t place = hf_snapshot_find(&snapshot, &own->ticket.id);

    own->before.sequence = 0;
    own->moved_up = false;
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
    struct hf_file_ticket *own = hf_engine_own(engine, &request->ticket);

    if (own == NULL || !stands_in_line(own))
        return;
    note_before(&engine->place->counter, own, listing);
    hf_listing_trim(listing, &own->ticket.id);
    note_way(engine, own, listing);
}

static bool is_absent(const struct hf_engine *engine, const char *entry,
                      const struct hf_ticket *ticket)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct stat status;

    hf_ticket_file_format(ticket, file);
    hf_site_path(&engine->site, entry, file, path);
    return hf_sys_lstat(path, &status) != 0 && errno == ENOENT;
}

/* A writer's reader is there before the writer goes: see downgrade.c. */
static bool has_left_nothing(const struct hf_engine *engine, const char *entry,
                             const struct hf_ticket *gone)
{
    struct hf_ticket reader = *gone;

    reader.kind = HF_TICKET_READ;
    return gone->kind != HF_TICKET_WRITE || is_absent(engine, entry, &reader);
}

/* Has the one before it gone, and is one's own there after that? */
static bool has_moved_up(const struct hf_engine *engine,
                         struct hf_file_ticket *own)
{
    if (!own->moved_up)
        own->moved_up = is_absent(engine, own->entry, &own->before) &&
                        hf_own_present(engine, own) && own->present;
    return own->moved_up && has_left_nothing(engine, own->entry, &own->before);
}

/* Those of its own that are watched have been looked at since. */
void hf_ahead_gone(struct hf_engine *engine, const struct hf_ticket_id *gone)
{
    struct hf_file_ticket *own = NULL;

    while ((own = hf_file_tickets_behind(&engine->tickets, gone, own)) != NULL)
        if (own->watches != NULL && own->before.sequence != 0 &&
            hf_ticket_id_equal(&own->before.id, gone))
            own->moved_up = own->present;
}

bool hf_ahead_is_nobody(struct hf_engine *engine,
                        const struct hf_request *request)
{
    struct hf_file_ticket *own = hf_engine_own(engine, &request->ticket);
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
    hf_file_tickets_set_way(&engine->tickets, own, NULL);
    return true;
}
