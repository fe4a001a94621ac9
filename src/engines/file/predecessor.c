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
#include "engines/file/syscalls.h"

static bool is_queued(const struct hf_file_ticket *own_ticket)
{
    return own_ticket->ticket.kind <= HF_TICKET_QUEUED_LAST &&
           own_ticket->ticket.kind != HF_TICKET_LEASE;
}

static void note_blocker(struct hf_engine *engine,
                         struct hf_file_ticket *own_ticket,
                         const struct hf_listing *listing)
{
    const struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    const struct hf_admission admission = hf_admission_decide(
        &snapshot, &own_ticket->ticket.id, own_ticket->ticket.kind);

    hf_file_tickets_set_blocker(
        &engine->tickets, own_ticket,
        admission.nearest != NULL ? &admission.nearest->id : NULL);
}

/* All that were there before one's own came are in a list that shows it; of
 * those that came after it some may be missing. */
static void note_predecessor(struct hf_token_counter *counter,
                             struct hf_file_ticket *own_ticket,
                             const struct hf_listing *listing)
{
    const struct hf_snapshot snapshot = hf_listing_snapshot(listing);
    size_t index = hf_snapshot_find(&snapshot, &own_ticket->ticket.id);

    own_ticket->predecessor.sequence = 0;
    own_ticket->predecessor_gone = false;
    if (!listing->complete || index == snapshot.count)
        return;
    hf_token_counter_note_head(counter, snapshot.tickets[0].sequence);
    if (index == 0)
        return;
    own_ticket->predecessor = snapshot.tickets[index - 1];
    own_ticket->predecessor.payload = "";
}

void hf_predecessor_note(struct hf_engine *engine,
                         const struct hf_request *request,
                         struct hf_listing *listing)
{
    struct hf_file_ticket *own_ticket =
        hf_engine_own_ticket(engine, &request->ticket);

    if (own_ticket == NULL || !is_queued(own_ticket))
        return;
    note_predecessor(&engine->root_dir->counter, own_ticket, listing);
    hf_listing_trim(listing, &own_ticket->ticket.id);
    note_blocker(engine, own_ticket, listing);
}

static bool is_absent(const struct hf_engine *engine, const char *dir_name,
                      const struct hf_ticket *ticket)
{
    char file[HF_TICKET_FILE_BYTES];
    char path[HF_PATH_BYTES];
    struct stat status;

    hf_ticket_file_format(ticket, file);
    hf_root_settings_path(&engine->settings, dir_name, file, path);
    return hf_sys_lstat(path, &status) != 0 && errno == ENOENT;
}

/* A writer's reader is there before the writer goes: see downgrade.c. */
static bool has_no_reader(const struct hf_engine *engine, const char *dir_name,
                          const struct hf_ticket *gone)
{
    struct hf_ticket reader = *gone;

    reader.kind = HF_TICKET_READ;
    return gone->kind != HF_TICKET_WRITE ||
           is_absent(engine, dir_name, &reader);
}

/* Has the one before it gone, and is one's own there after that? */
static bool is_predecessor_gone(const struct hf_engine *engine,
                                struct hf_file_ticket *own_ticket)
{
    if (!own_ticket->predecessor_gone)
        own_ticket->predecessor_gone =
            is_absent(engine, own_ticket->dir_name, &own_ticket->predecessor) &&
            hf_file_ticket_is_present(engine, own_ticket) &&
            own_ticket->present;
    return own_ticket->predecessor_gone &&
           has_no_reader(engine, own_ticket->dir_name,
                         &own_ticket->predecessor);
}

/* Those of its own that are watched have been looked at since. */
void hf_predecessor_gone(struct hf_engine *engine,
                         const struct hf_ticket_id *gone)
{
    struct hf_file_ticket *own_ticket = NULL;

    while ((own_ticket = hf_file_tickets_blocked_by(&engine->tickets, gone,
                                                    own_ticket)) != NULL)
        if (own_ticket->watches != NULL &&
            own_ticket->predecessor.sequence != 0 &&
            hf_ticket_id_equal(&own_ticket->predecessor.id, gone))
            own_ticket->predecessor_gone = own_ticket->present;
}

bool hf_predecessor_own_is_first(struct hf_engine *engine,
                                 const struct hf_request *request)
{
    struct hf_file_ticket *own_ticket =
        hf_engine_own_ticket(engine, &request->ticket);
    struct hf_token_counter *counter;

    if (own_ticket == NULL || own_ticket->predecessor.sequence == 0)
        return false;
    counter = &engine->root_dir->counter;
    if (!hf_token_counter_is_current(counter, engine->settings.counter_path) ||
        !hf_token_counter_was_head(counter, own_ticket->predecessor.sequence) ||
        !is_predecessor_gone(engine, own_ticket))
        return false;
    hf_token_counter_note_head(counter, own_ticket->ticket.sequence);
    own_ticket->predecessor.sequence = 0;
    hf_file_tickets_set_blocker(&engine->tickets, own_ticket, NULL);
    return true;
}
