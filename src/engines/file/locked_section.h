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
#ifndef HF_ENGINES_FILE_LOCKED_SECTION_H
#define HF_ENGINES_FILE_LOCKED_SECTION_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "core/engine.h"
#include "engines/file/listing.h"
#include "engines/file/root_dir.h"
#include "engines/file/timed_flock.h"

/* A lock's directory, open; .fd is -1 if none is. */
struct hf_lock_dir {
    int fd;
    dev_t device;
    ino_t inode;
};

struct hf_locked_section_args {
    enum hf_request_kind
        kind; /* ENQUEUE, NEW_GENERATION; CLEAR_FLAG of READY */
    const char *queue;
    struct hf_ticket ticket; /* ENQUEUE: .id .kind .weight .payload; the rest is
                                given to it.  NEW_GENERATION: .id */
    uint32_t limit;          /* NEW_GENERATION: so many members */
    enum hf_flock_wait wait;
    const atomic_bool *cancelled; /* may be NULL */
};

enum hf_locked_section_answer {
    HF_LOCKED_SECTION_DONE,
    HF_LOCKED_SECTION_BUSY,   /* a thread that may wait must do it */
    HF_LOCKED_SECTION_STALE,  /* the place was removed or replaced: open it anew
                               */
    HF_LOCKED_SECTION_FAILED, /* ${error} says why; nothing of it is left behind
                               */
};

struct hf_locked_section_result {
    /* ENQUEUE */
    struct hf_ticket ticket; /* with its sequence and token */
    int fifo;                /* holds the ticket while it or a copy is open */
    /* The FIFO before anybody could change it.  A later .st_mtim means that its
     * owner was asked to let go: see eviction.c. */
    struct stat fifo_stat;
    /* The ticket that is in the way, if it was found alive: its FIFO, open for
     * reading.  Else -1. */
    int blocker_fifo;
    struct hf_ticket_id blocker;
    struct hf_listing *listing; /* with the ticket in it, one reference */
    /* NEW_GENERATION: so many members are there, at most as many as were asked
     * for, and 0 if the ticket is not.  With fewer nothing has been done. */
    uint32_t participants;
    bool found; /* NEW_GENERATION, CLEAR_FLAG: the mark was there before */
};

/* Carry out ${args} in ${root_dir}.  ${lock_dir} may be that of an earlier
 * time, and is whatever was used last on return; it is the caller's to close.
 *   Ownership ${result} is filled with HF_LOCKED_SECTION_DONE only.
 *   Thread    any; a directory and an order belong to one at a time. */
enum hf_locked_section_answer hf_locked_section_run(
    struct hf_root_dir *root_dir, const struct hf_locked_section_args *args,
    struct hf_lock_dir *lock_dir, struct hf_locked_section_result *result,
    struct hf_error *error);

/* Is the ticket's owner, or a copy of its descriptor, still alive? */
enum hf_owner_liveness {
    HF_OWNER_ALIVE,   /* ${fifo}, opened before the test, will hang up */
    HF_OWNER_DEAD,    /* or not there at all */
    HF_OWNER_UNKNOWN, /* ${error} says why */
};

/* Open the ticket at ${path} for reading, then test it (a FIFO that is opened
 * after its last writer went never hangs up).  ${fifo} (NULL: not wanted) is
 * set to the open descriptor with HF_OWNER_ALIVE, else to -1. */
enum hf_owner_liveness hf_ticket_file_probe(struct hf_descriptors *descriptors,
                                            const char *path, int *fifo,
                                            struct hf_error *error);

/* Remove a dead or withdrawn ticket, and its payload: safe without the
 * directory's lock, for no name is used twice and the dead do not rise.
 * ${found}: it was there.  HF_OK also if it was not. */
hf_status hf_ticket_file_remove_fifo(const struct hf_root_settings *settings,
                                     const char *dir_name,
                                     const struct hf_ticket *ticket,
                                     bool *found, struct hf_error *error);
void hf_ticket_file_remove_payload(const struct hf_root_settings *settings,
                                   const char *dir_name,
                                   const struct hf_ticket *ticket);
hf_status hf_ticket_file_remove(const struct hf_root_settings *settings,
                                const char *dir_name,
                                const struct hf_ticket *ticket, bool *found,
                                struct hf_error *error);

/* Remove the lock's directory, open as ${dir}, if nobody alive has a ticket in
 * it and nobody is at work in it. */
void hf_lock_dir_remove_unused(struct hf_root_dir *root_dir,
                               const char *dir_name, int dir);

#endif
