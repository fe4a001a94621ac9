/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the directory of a lock, as a queue in order. */
#ifndef HF_ENGINES_FILE_LISTING_H
#define HF_ENGINES_FILE_LISTING_H

#include "core/ticket.h"
#include "engines/file/file_names.h"
#include "engines/file/root_dir.h"

/* More contenders for one lock than this are refused, so that a directory
 * full of anything is not read into memory. */
#define HF_LISTING_MAX 65536

struct hf_ticket_list {
    struct hf_ticket *items;
    size_t count;
    size_t capacity;
};

/* Which tickets a listing is of.  Who is at a double barrier stands in no
 * queue, and may be in the directory of one all the same. */
enum hf_listing_scope {
    HF_LISTING_QUEUE,        /* all but members */
    HF_LISTING_PARTICIPANTS, /* they alone */
    HF_LISTING_ALL,
};

struct hf_listing {
    unsigned references; /* of one thread at a time */
    enum hf_listing_scope scope;
    char dir_name[HF_DIR_NAME_BYTES];
    struct hf_ticket_list tickets; /* sorted; .payload "" until read */
    size_t more;                   /* left out ahead of one's own */
    bool complete; /* nobody can have been missed ahead of one that is shown */
    struct hf_ticket_list payloads;     /* sorted; those that have one */
    struct hf_ticket_list new_payloads; /* those whose owner was seen writing
                                           one, or ended while he did */
    char *text;                         /* of the payloads that were read */
};

/* NULL without memory. */
struct hf_listing *hf_listing_new(const char *dir_name,
                                  enum hf_listing_scope scope);
struct hf_listing *hf_listing_ref(struct hf_listing *listing);
void hf_listing_unref(struct hf_listing *listing); /* NULL is fine */

/* Read the directory ${dir}, called ${path}, from its beginning.
 *
 * No lock is needed.  A ticket appears in one step, is locked by its owner by
 * then, and numbers rise in the order in which they appear; so what is missed
 * because it appears meanwhile is behind all that is found.  One that is given
 * another name, by a downgrade, has both for a moment: then it is found under
 * the first.  Its whole directory is read again if ${counter} tells of one
 * meanwhile.  Without a counter (NULL) a ticket may be missed.
 *   Fails     HF_ENOMEM HF_ELIMIT HF_EDIR; HF_EUNREACHABLE if it changes
 *             faster than it can be read. */
hf_status hf_listing_read(struct hf_listing *listing, int dir, const char *path,
                          const struct hf_token_counter *counter,
                          struct hf_error *error);

/* Add the mark READY, if it is in the directory ${dir}, called ${path}.
 *   Fails     HF_ENOMEM HF_EDIR. */
hf_status hf_listing_read_ready(struct hf_listing *listing, int dir,
                                const char *path, struct hf_error *error);

/* Make it that of an empty directory. */
void hf_listing_clear(struct hf_listing *listing);

/* Read what the owners of the first ${count} tickets say; one that is gone by
 * now says "".  A decision needs the first ticket's alone; SIZE_MAX: all.
 *   Fails     HF_ENOMEM. */
hf_status hf_listing_read_payloads(struct hf_listing *listing, int dir,
                                   size_t count, struct hf_error *error);

/* Remove the payloads in ${dir} that belong to no ticket, and those that are to
 * replace another: left by processes that ended in the middle.  Under the
 * directory's lock, or a ticket being made would lose its own.  An owner who is
 * just then replacing his fails to, and tries again. */
void hf_listing_remove_orphans(struct hf_listing *listing, int dir);

/* Take the ticket at ${index} out of ${listing}. */
void hf_listing_drop(struct hf_listing *listing, size_t index);

/* Leave what is needed to decide on the ticket ${mine}, if that waits in a
 * queue; else leave it as it is. */
void hf_listing_trim(struct hf_listing *listing,
                     const struct hf_ticket_id *own_id);

/* Set ${ticket} to the one with this ${id}, without its payload; false if it is
 * not in ${listing}. */
bool hf_listing_find(const struct hf_listing *listing,
                     const struct hf_ticket_id *id, struct hf_ticket *ticket);

struct hf_snapshot hf_listing_snapshot(const struct hf_listing *listing);

#endif
