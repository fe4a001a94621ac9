/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locked section: what is done under the exclusive flock() of a lock's
 * directory.  It takes the next number, puts a ticket under it and lists the
 * queue; or it counts the participants of a double barrier and starts a
 * generation; or it removes READY if no participant is left; or it reads or
 * writes the success of the lock for a holder.
 *
 * All of it is under the lock for two reasons.  A number that was taken outside
 * could appear after a higher one was admitted.  And whatever is unfinished in
 * the directory is known to be left by a dead process.
 *
 * Nobody can come while the lock is held, although some may go.  So all
 * participants that are found alive were there together when the lock was
 * taken: that is the instant of a generation.
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

struct hf_file_locked_section_args {
    /* HF_REQUEST_ENQUEUE, HF_REQUEST_NEW_GENERATION, HF_REQUEST_CLEAR_FLAG of
     * READY, HF_REQUEST_READ_SUCCESS or HF_REQUEST_WRITE_SUCCESS. */
    enum hf_request_kind kind;
    const char *queue;
    char dir_name[HF_DIR_NAME_BYTES]; /* of the directory of .queue */
    bool digest; /* .dir_name has a digest of the name: see HF_NAME_FILE */
    enum hf_file_listing_scope scope; /* the tickets that the section lists */
    /* Enqueue: .id .kind .weight .payload, the rest is given to it.  Start of a
     * generation: .id, of the participant that asks. */
    struct hf_ticket ticket;
    uint32_t limit; /* start of a generation: of this many participants */
    /* Success: the ticket of the holder, and the token to write. */
    char holder_file[HF_TICKET_FILE_BYTES];
    dev_t holder_device;
    ino_t holder_inode;
    uint64_t success_token;
    enum hf_file_flock_wait wait; /* how long for the directory's lock */
    const atomic_bool *cancelled; /* read while it waits; may be NULL */
};

enum hf_file_locked_section_answer {
    HF_LOCKED_SECTION_DONE,
    /* It would have to wait: run it on a thread that may, or, with
     * HF_FLOCK_WAIT_SLICE, run it again. */
    HF_LOCKED_SECTION_BUSY,
    /* The root directory was removed or replaced, or its counter is damaged:
     * open it anew. */
    HF_LOCKED_SECTION_STALE,
    /* ${error} says why.  No ticket and no READY is left behind, but a success
     * may be in STATE already. */
    HF_LOCKED_SECTION_FAILED,

    /* Between the functions of locked_section.c; hf_file_locked_section_run()
     * returns neither. */
    /* there is no directory, so nobody is there; becomes DONE */
    HF_LOCKED_SECTION_NO_DIR,
    /* the directory has gone, and is closed: try again */
    HF_LOCKED_SECTION_AGAIN,
};

struct hf_file_locked_section_result {
    /* Of an enqueue. */
    struct hf_ticket ticket;         /* with its .sequence and .token */
    char file[HF_TICKET_FILE_BYTES]; /* the name of .fifo */
    int fifo; /* keeps the ticket alive while a copy is open */
    /* The FIFO before anybody else could change it.  A later .st_mtim means
     * that somebody has asked its owner to let go: see removal.c. */
    struct stat fifo_stat;
    /* The nearest ticket in the way, if it was found alive: its FIFO, open for
     * reading.  Else -1. */
    int blocker_fifo;
    struct hf_ticket_id blocker;
    struct hf_file_listing *listing; /* with the ticket in it; one reference */
    /* Of the start of a generation: how many participants are there, .limit at
     * most, and 0 if the one that asks is not there.  With fewer than .limit
     * nothing has been done.  Of the removal of READY: not 0 if one is
     * there. */
    uint32_t participants;
    /* start of a generation, removal: READY was there before.  READ_SUCCESS:
     * the holder's ticket is there.  WRITE_SUCCESS: it is there, and the
     * success was written */
    bool found;
    struct hf_success success; /* READ_SUCCESS */
};

/* Run the section that ${args} describe.  ${lock_dir} may be one that an
 * earlier section has left open; on return it is the one that was used last,
 * and the caller's to close.
 *   Ownership  after HF_LOCKED_SECTION_DONE of an enqueue the FIFOs and the
 *              listing in ${result} are the caller's; else it has none.
 *   Thread     any; one section at a time uses a ${lock_dir}. */
enum hf_file_locked_section_answer
hf_file_locked_section_run(struct hf_file_root_dir *root_dir,
                           const struct hf_file_locked_section_args *args,
                           struct hf_file_lock_dir *lock_dir,
                           struct hf_file_locked_section_result *result,
                           struct hf_error *error);

#endif
