/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listing of a lock's directory: its tickets in the order of the queue.
 *
 * A directory is read without its lock.  A ticket appears in one step (rename),
 * its owner has locked it by then, and numbers rise in the order in which
 * tickets appear.  So a ticket that the read misses, because it appears
 * meanwhile, is behind all tickets that the read finds.
 */
#ifndef HF_ENGINES_FILE_LISTING_H
#define HF_ENGINES_FILE_LISTING_H

#include "core/ticket.h"
#include "engines/file/file_names.h"
#include "engines/file/root_dir.h"

/* More contenders for one lock than this are refused, so that a directory
 * full of anything is not read into memory. */
#define HF_LISTING_MAX 65536

/* An array that grows. */
struct hf_file_ticket_list {
    struct hf_ticket *items;
    size_t count;
    size_t capacity;
};

/* Which tickets a listing shows.  The participants of a double barrier stand in
 * no queue, although their tickets may be in the directory of one. */
enum hf_file_listing_scope {
    HF_LISTING_QUEUE,        /* all but participants */
    HF_LISTING_PARTICIPANTS, /* participants alone */
    HF_LISTING_ALL,
};

struct hf_file_listing {
    unsigned references; /* of one thread at a time */
    enum hf_file_listing_scope scope;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_file_ticket_list tickets; /* sorted; .payload "" until read */
    size_t more;   /* tickets ahead of the own one that hf_file_listing_trim()
                      took out */
    bool complete; /* no ticket can have been missed ahead of one that is shown
                    */
    struct hf_file_ticket_list
        payloads; /* sorted; the tickets that have a payload */
    /* The tickets with a payload that was about to replace the old one; its
     * owner is writing it, or ended while it wrote. */
    struct hf_file_ticket_list new_payloads;
    char *text; /* the payloads that were read; NULL: none were */
};

/* An empty listing with one reference; NULL if memory runs out. */
struct hf_file_listing *hf_file_listing_new(const char *dir_name,
                                            enum hf_file_listing_scope scope);
struct hf_file_listing *hf_file_listing_ref(struct hf_file_listing *listing);
void hf_file_listing_unref(struct hf_file_listing *listing); /* NULL: nothing */

/* Fill ${listing} with the directory ${dir}, called ${path}; what it had before
 * is forgotten.
 *
 * A downgrade gives a ticket a second name before it takes the first one away.
 * A read that meets both keeps the first.  A read may also pass the place of
 * the second name before that is made, and the place of the first name after
 * that is gone; it would miss the ticket.  So the directory is read again if
 * ${counter} says that a ticket was renamed meanwhile.  Without a counter
 * (NULL), or if a copied one cannot be read, a ticket may be missed.
 *   Fails     HF_ENOMEM HF_ELIMIT HF_EDIR; HF_EUNREACHABLE if tickets are
 *             renamed faster than the directory can be read. */
hf_status hf_file_listing_read(struct hf_file_listing *listing, int dir,
                               const char *path,
                               const struct hf_file_token_counter *counter,
                               struct hf_error *error);

/* Make ${listing} that of an empty directory. */
void hf_file_listing_clear(struct hf_file_listing *listing);

/* Read what the directory ${dir}, called ${path}, says besides names: the
 * payloads of the first ${payloads} tickets, SIZE_MAX: of all; and, if the
 * listing shows participants, READY, which becomes a ticket if it is there.  A
 * ticket that has gone by now has "".  A decision of the core needs the first
 * ticket's payload alone.  To be called once.
 *   Fails     HF_ENOMEM HF_EDIR. */
hf_status hf_file_listing_read_texts(struct hf_file_listing *listing, int dir,
                                     const char *path, size_t payloads,
                                     struct hf_error *error);

/* Remove from ${dir} the payloads that belong to no ticket, and those that are
 * to replace another, of the kinds in .scope: processes that ended in the
 * middle have left them.  Under the directory's lock, because a ticket that is
 * being made would lose its payload.  An owner that is replacing its payload
 * just then fails and tries again. */
void hf_file_listing_remove_orphans(struct hf_file_listing *listing, int dir);

/* Take the ticket at ${index} out of ${listing}. */
void hf_file_listing_drop(struct hf_file_listing *listing, size_t index);

/* If the ticket at ${own_index} waits in a queue, leave in ${listing} the
 * tickets that decide on it and count the others ahead of it in .more; else
 * change nothing. */
void hf_file_listing_trim(struct hf_file_listing *listing, size_t own_index);

/* Set ${ticket} to the one with this ${id}, without its payload.  False if
 * ${listing} has none. */
bool hf_file_listing_find(const struct hf_file_listing *listing,
                          const struct hf_ticket_id *id,
                          struct hf_ticket *ticket);

/* The tickets as the core wants them; good while ${listing} is not changed. */
struct hf_snapshot
hf_file_listing_snapshot(const struct hf_file_listing *listing);

#endif
