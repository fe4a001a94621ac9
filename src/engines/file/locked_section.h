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
#include "engines/file/lock_dir.h"
#include "engines/file/root_dir.h"
#include "engines/file/timed_flock.h"

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

#endif
