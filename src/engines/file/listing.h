/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listing: the tickets in the directory of a lock, in the order of the queue.
 *
 * The directory is read without its lock.  That is safe, because a ticket
 * appears in one step (by a rename), its owner has locked it by then, and
 * numbers rise in the order in which tickets appear.  So if the read misses a
 * ticket that appears meanwhile, this ticket is behind all tickets that the
 * read finds.
 */
#ifndef HF_ENGINES_FILE_LISTING_H
#define HF_ENGINES_FILE_LISTING_H

#include "core/ticket.h"
#include "engines/file/file_names.h"
#include "engines/file/root_dir.h"

/* The most tickets of one lock.  A directory with more files is refused, so
 * that it is not read into memory whatever is in it. */
#define HF_LISTING_MAX 65536

/* An array that grows. */
struct hf_file_ticket_list {
    struct hf_ticket *items;
    size_t count;
    size_t capacity;
};

/* Which tickets a listing has.  The participants of a double barrier are in no
 * queue, although their tickets are in the directory of a lock. */
enum hf_file_listing_scope {
    HF_LISTING_QUEUE,        /* all tickets but participants */
    HF_LISTING_PARTICIPANTS, /* only participants */
    HF_LISTING_ALL,
};

struct hf_file_listing {
    unsigned references; /* used by one thread at a time */
    enum hf_file_listing_scope scope;
    char dir_name[HF_DIR_NAME_BYTES];
    /* sorted; .payload is "" until it is read */
    struct hf_file_ticket_list tickets;
    /* the number of tickets ahead of the own ticket that hf_file_listing_trim()
     * removed */
    size_t more;
    /* certainly no ticket is missing ahead of one that the listing has */
    bool complete;
    struct hf_file_ticket_list
        payloads; /* the tickets that have a payload, sorted */
    /* The tickets with a new payload that has not replaced the old one yet,
     * because the owner is just writing it, or ended while it wrote. */
    struct hf_file_ticket_list new_payloads;
    char *text; /* memory of the payloads that were read; NULL: none were */
};

/* Make an empty listing with one reference.  Returns NULL if memory runs
 * out. */
struct hf_file_listing *hf_file_listing_new(const char *dir_name,
                                            enum hf_file_listing_scope scope);
struct hf_file_listing *hf_file_listing_ref(struct hf_file_listing *listing);
/* does nothing for NULL */
void hf_file_listing_unref(struct hf_file_listing *listing);

/* Fill ${listing}, which is emptied first, with the tickets in the directory
 * ${dir} at ${path}.
 *
 * During a downgrade a ticket has two names: the new one is made before the old
 * one is removed.  If a read meets both names, the old one counts.  But a read
 * could also miss both: it passes the position of the new name before that name
 * is made, and the position of the old name after that name was removed.  So
 * the directory is read again if ${counter} shows that a ticket was renamed
 * meanwhile.  If ${counter} is NULL, or is a copied one that cannot be read, a
 * ticket may be missed.
 *   Fails     HF_ENOMEM HF_ELIMIT HF_EDIR; HF_EUNREACHABLE if tickets are
 *             renamed faster than the directory can be read. */
hf_status hf_file_listing_read(struct hf_file_listing *listing, int dir,
                               const char *path,
                               const struct hf_file_token_counter *counter,
                               struct hf_error *error);

/* Empty ${listing}. */
void hf_file_listing_clear(struct hf_file_listing *listing);

/* Read what the directory ${dir}, at ${path}, has besides names: the payloads
 * of the first ${payloads} tickets (SIZE_MAX: of all), and for participants
 * READY, which is added as a ticket if it is there.  A ticket that has gone
 * meanwhile gets the payload "".  The core decides by the payload of the first
 * ticket only.  May be called once for a listing.
 *   Fails     HF_ENOMEM HF_EDIR. */
hf_status hf_file_listing_read_texts(struct hf_file_listing *listing, int dir,
                                     const char *path, size_t payloads,
                                     struct hf_error *error);

/* Remove from ${dir} the payloads without a ticket, and the payloads that were
 * to replace another, of tickets in .scope, because processes that ended have
 * left them.  The caller must have the directory's lock; otherwise a ticket
 * that is being made could lose its payload.  If an owner is just replacing its
 * payload, that fails and the owner tries again. */
void hf_file_listing_remove_orphans(struct hf_file_listing *listing, int dir);

/* Remove the ticket at ${index} from ${listing}. */
void hf_file_listing_drop(struct hf_file_listing *listing, size_t index);

/* If the ticket at ${own_index} waits in a queue, leave only the tickets in
 * ${listing} that decide whether it is admitted, and count the others ahead of
 * it in .more.  Otherwise change nothing. */
void hf_file_listing_trim(struct hf_file_listing *listing, size_t own_index);

/* Set ${ticket} to the ticket ${id}, without its payload.  Returns false if
 * ${listing} does not have it. */
bool hf_file_listing_find(const struct hf_file_listing *listing,
                          const struct hf_ticket_id *id,
                          struct hf_ticket *ticket);

/* Returns the tickets in the form for the core, valid until ${listing} is
 * changed. */
struct hf_snapshot
hf_file_listing_snapshot(const struct hf_file_listing *listing);

#endif
