/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the ticket right ahead of an own ticket shows, without a list, that the
 * own ticket is the first.
 *
 * No ticket is ever added ahead of another.  So a ticket that was seen as the
 * first of its queue stays the first until it goes, and then the ticket right
 * behind it is the first.  A session that sees a ticket as the first notes its
 * number in the page of the counter.  When that ticket goes, the session with
 * the ticket right behind it finds the number there and need not read the
 * directory.  It then notes its own number for the next one.
 *
 * The number is a hint: if another number has overwritten it, the directory is
 * read.  If the number is there, our ticket is the first provided that the
 * ticket before it has gone, and that ours was seen in its queue after that.
 * Whether the other ticket has gone is known from its hang-up; otherwise its
 * name is looked for.  If it was a writer, it must also not have become a
 * reader; the name of a reader is there before that of the writer is removed.
 */
#include "engines/file/predecessor.h"

#include <errno.h>
#include <string.h>

#include "core/admission.h"
#include "engines/file/engine.h"
#include "engines/file/listing.h"
#include "engines/file/own_tickets.h"
#include "engines/file/syscalls.h"
#include "engines/file/ticket_file.h"

/* Returns whether the ticket waits for its turn in the queue.  Leases and
 * participants do not. */
static bool is_queued(const struct hf_file_ticket *own_ticket)
{
    return own_ticket->ticket.kind <= HF_TICKET_QUEUED_LAST &&
           own_ticket->ticket.kind != HF_TICKET_LEASE;
}

/* Note the ticket right ahead of ours, which is at ${index} of ${listing}, and
 * that the first ticket is the first of the queue.  Only if the listing is
 * complete: then, if it has our ticket, it has all tickets ahead of ours, and
 * only some behind ours may be missing. */
static void note_predecessor(struct hf_file_token_counter *counter,
                             struct hf_file_ticket *own_ticket,
                             const struct hf_file_listing *listing,
                             size_t index)
{
    const struct hf_ticket *tickets = listing->tickets.items;

    own_ticket->predecessor.sequence = 0;
    own_ticket->predecessor_gone = false;
    if (!listing->complete || index == listing->tickets.count)
        return;
    hf_file_token_counter_note_head(counter, tickets[0].sequence);
    if (index == 0)
        return;
    own_ticket->predecessor = tickets[index - 1];
    own_ticket->predecessor.payload = "";
}

void hf_file_predecessor_note(struct hf_engine *engine,
                              struct hf_file_ticket *own_ticket,
                              struct hf_file_listing *listing)
{
    const struct hf_ticket *ticket = &own_ticket->ticket;
    struct hf_snapshot snapshot;
    struct hf_admission admission;
    size_t index;

    if (!is_queued(own_ticket))
        return;
    snapshot = hf_file_listing_snapshot(listing);
    index = hf_snapshot_find(&snapshot, &ticket->id);
    note_predecessor(&engine->root_dir->counter, own_ticket, listing, index);
    if (index < snapshot.count)
        hf_file_listing_trim(listing, index);
    snapshot = hf_file_listing_snapshot(listing);
    admission = hf_admission_decide(&snapshot, &ticket->id, ticket->kind);
    hf_file_tickets_set_blocker(
        &engine->tickets, own_ticket,
        admission.nearest != NULL ? &admission.nearest->id : NULL);
}

/* Returns whether the name of ${ticket} is certainly not in ${dir_name}. */
static bool is_absent(const struct hf_engine *engine, const char *dir_name,
                      const struct hf_ticket *ticket)
{
    char path[HF_PATH_BYTES];
    struct stat status;

    hf_file_fifo_path(&engine->settings, dir_name, ticket, path);
    return hf_file_sys_lstat(path, &status) != 0 && errno == ENOENT;
}

/* Returns whether ${gone} has not become a reader.  The name of a reader is
 * there before that of the writer is removed (downgrade.c). */
static bool has_no_reader(const struct hf_engine *engine, const char *dir_name,
                          const struct hf_ticket *gone)
{
    struct hf_ticket reader = *gone;

    reader.kind = HF_TICKET_READ;
    return gone->kind != HF_TICKET_WRITE ||
           is_absent(engine, dir_name, &reader);
}

/* Returns whether the predecessor has gone, and our ticket was in its queue
 * after that. */
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

/* .present is used for watched tickets only, because these were checked after
 * ${gone} had gone. */
void hf_file_predecessor_gone(struct hf_engine *engine,
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

bool hf_file_predecessor_own_is_first(struct hf_engine *engine,
                                      struct hf_file_ticket *own_ticket)
{
    struct hf_file_token_counter *counter;

    if (own_ticket->predecessor.sequence == 0)
        return false;
    counter = &engine->root_dir->counter;
    if (!hf_file_token_counter_is_current(counter,
                                          engine->settings.counter_path) ||
        !hf_file_token_counter_was_head(counter,
                                        own_ticket->predecessor.sequence) ||
        !is_predecessor_gone(engine, own_ticket))
        return false;
    hf_file_token_counter_note_head(counter, own_ticket->ticket.sequence);
    own_ticket->predecessor.sequence = 0;
    hf_file_tickets_set_blocker(&engine->tickets, own_ticket, NULL);
    return true;
}
