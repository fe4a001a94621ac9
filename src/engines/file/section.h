/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one critical section: under the exclusive flock of a lock's directory,
 * take the next number, put a ticket under it and list the queue.  Or count
 * the members that are there and stamp, or see that none is and take the stamp
 * away.
 *
 * All of it is under the lock, because a number taken outside could appear
 * after a higher one was admitted, and because whatever is unfinished is then
 * known to be litter of the dead.  Nobody comes meanwhile; some may go.  So who
 * is found to be there was there when the lock was taken, with all others that
 * are found: that is the instant of a stamp.
 */
#ifndef HF_ENGINES_FILE_SECTION_H
#define HF_ENGINES_FILE_SECTION_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "core/engine.h"
#include "engines/file/listing.h"
#include "engines/file/patience.h"
#include "engines/file/place.h"

/* A lock's directory, open; .fd is -1 if none is. */
struct hf_directory {
    int fd;
    dev_t device;
    ino_t inode;
};

struct hf_section_order {
    enum hf_request_kind
        work; /* ENQUEUE, NEW_GENERATION; CLEAR_FLAG of READY */
    const char *queue;
    struct hf_ticket ticket; /* ENQUEUE: .id .kind .weight .payload; the rest is
                                given to it.  NEW_GENERATION: .id */
    uint32_t limit;          /* NEW_GENERATION: so many members */
    enum hf_patience patience;
    const atomic_bool *cancelled; /* may be NULL */
};

enum hf_section_answer {
    HF_SECTION_DONE,
    HF_SECTION_BUSY,   /* a thread that may wait must do it */
    HF_SECTION_STALE,  /* the place was removed or replaced: open it anew */
    HF_SECTION_FAILED, /* ${error} says why; nothing of it is left behind */
};

struct hf_section_result {
    /* ENQUEUE */
    struct hf_ticket ticket; /* with its sequence and token */
    int fifo;                /* holds the ticket while it or a copy is open */
    /* The FIFO before anybody could change it.  A later .st_mtim means that its
     * owner was asked to let go: see others.c. */
    struct stat made;
    /* The ticket that is in the way, if it was found alive: its FIFO, open for
     * reading.  Else -1. */
    int before_fifo;
    struct hf_ticket_id before;
    struct hf_listing *listing; /* with the ticket in it, one reference */
    /* NEW_GENERATION: so many members are there, at most as many as were asked
     * for, and 0 if the ticket is not.  With fewer nothing has been done. */
    uint32_t members;
    bool found; /* NEW_GENERATION, CLEAR_FLAG: the mark was there before */
};

/* Carry out ${order} in ${place}.  ${directory} may be that of an earlier time,
 * and is whatever was used last on return; it is the caller's to close.
 *   Ownership ${result} is filled with HF_SECTION_DONE only.
 *   Thread    any; a directory and an order belong to one at a time. */
enum hf_section_answer
hf_section_carry_out(struct hf_place *place,
                     const struct hf_section_order *order,
                     struct hf_directory *directory,
                     struct hf_section_result *result, struct hf_error *error);

/* Is the ticket's owner, or a copy of its descriptor, still alive? */
enum hf_life {
    HF_LIFE_ALIVE,   /* ${fifo}, opened before the test, will hang up */
    HF_LIFE_DEAD,    /* or not there at all */
    HF_LIFE_UNKNOWN, /* ${error} says why */
};

/* Open the ticket at ${path} for reading, then test it (a FIFO that is opened
 * after its last writer went never hangs up).  ${fifo} (NULL: not wanted) is
 * set to the open descriptor with HF_LIFE_ALIVE, else to -1. */
enum hf_life hf_section_probe(struct hf_descriptors *descriptors,
                              const char *path, int *fifo,
                              struct hf_error *error);

/* Remove a dead or withdrawn ticket, and its payload: safe without the
 * directory's lock, for no name is used twice and the dead do not rise.
 * ${found}: it was there.  HF_OK also if it was not. */
hf_status hf_section_remove_ticket(const struct hf_site *site,
                                   const char *entry,
                                   const struct hf_ticket *ticket, bool *found,
                                   struct hf_error *error);
void hf_section_remove_payload(const struct hf_site *site, const char *entry,
                               const struct hf_ticket *ticket);
hf_status hf_section_remove(const struct hf_site *site, const char *entry,
                            const struct hf_ticket *ticket, bool *found,
                            struct hf_error *error);

/* Remove the lock's directory, open as ${dir}, if nobody alive has a ticket in
 * it and nobody is at work in it. */
void hf_section_tidy(struct hf_place *place, const char *entry, int dir);

#endif
