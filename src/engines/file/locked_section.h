/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locked section: the work that is done while the exclusive flock() of a
 * lock's directory is held.  It is one of these: take the next number, make a
 * ticket with it and list the queue; count the participants of a double barrier
 * and start a generation; remove READY if no participant is left; read or write
 * the success of the lock for a holder.
 *
 * The flock() is needed for two reasons.  If a number were taken outside, its
 * ticket could appear after a ticket with a higher number was admitted.  And
 * under the flock() anything unfinished in the directory is known to be left by
 * a dead process.
 *
 * No ticket is added while the flock() is held, although tickets may go.  So
 * all participants that are found alive were there together when the flock()
 * was taken.  That is the instant of a generation.
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
    char dir_name[HF_DIR_NAME_BYTES]; /* name of the directory of .queue */
    bool digest; /* .dir_name has a digest of the lock's name (HF_NAME_FILE) */
    enum hf_file_listing_scope scope; /* which tickets are listed */
    /* Enqueue: .id, .kind, .weight and .payload of the new ticket.  Start of a
     * generation: .id of the participant that asks for it. */
    struct hf_ticket ticket;
    /* start of a generation: how many participants are needed */
    uint32_t limit;
    /* Success: the ticket of the holder, and the token to write. */
    char holder_file[HF_TICKET_FILE_BYTES];
    dev_t holder_device;
    ino_t holder_inode;
    uint64_t success_token;
    enum hf_file_flock_wait wait; /* how long to wait for the flock() */
    const atomic_bool *cancelled; /* set to end the wait; may be NULL */
};

enum hf_file_locked_section_answer {
    HF_LOCKED_SECTION_DONE,
    /* The section would have to wait.  Run it again on a thread that may wait;
     * or, after HF_FLOCK_WAIT_SLICE, run it again later. */
    HF_LOCKED_SECTION_BUSY,
    /* The root directory was removed or replaced, or its counter is damaged.
     * Open the root directory again. */
    HF_LOCKED_SECTION_STALE,
    /* ${error} has the reason.  No ticket and no READY was left behind, but a
     * success may be in STATE already. */
    HF_LOCKED_SECTION_FAILED,

    /* The next two are used inside of locked_section.c only. */
    /* the directory does not exist, so it has no tickets; becomes DONE */
    HF_LOCKED_SECTION_NO_DIR,
    /* the directory was removed, and was closed here: try again */
    HF_LOCKED_SECTION_AGAIN,
};

struct hf_file_locked_section_result {
    /* The next members are the result of an enqueue. */
    /* the new ticket, with .sequence and .token */
    struct hf_ticket ticket;
    char file[HF_TICKET_FILE_BYTES]; /* the file name of the new ticket */
    /* the FIFO of the new ticket, which lives as long as a copy of this is
     * open */
    int fifo;
    /* The stat of the FIFO before anybody else could change it.  If .st_mtim is
     * later than this, somebody has asked the owner to release (removal.c). */
    struct stat fifo_stat;
    /* The nearest ticket that the new one must wait for, and its FIFO, open for
     * reading if that ticket was found alive, else -1. */
    int blocker_fifo;
    struct hf_ticket_id blocker;
    /* the queue with the new ticket; holds one reference */
    struct hf_file_listing *listing;
    /* Start of a generation: how many participants are there, counted up to
     * .limit; 0 if the participant that asks is not there.  If there are fewer
     * than .limit, nothing was done.  Removal of READY: not 0 if a participant
     * is there. */
    uint32_t participants;
    /* Start of a generation, and removal: READY was there before.
     * READ_SUCCESS: the holder's ticket is there.  WRITE_SUCCESS: it is there,
     * and the success was written. */
    bool found;
    struct hf_success success; /* READ_SUCCESS */
};

/* Run the section that ${args} describe.  ${lock_dir} may be a directory that
 * an earlier section has left open; afterwards it is the directory that was
 * used last, for the caller to close.
 *   Ownership  after HF_LOCKED_SECTION_DONE of an enqueue the caller owns the
 *              FIFOs and the listing in ${result}; otherwise there are none.
 *   Thread     any; one section at a time uses a ${lock_dir}. */
enum hf_file_locked_section_answer
hf_file_locked_section_run(struct hf_file_root_dir *root_dir,
                           const struct hf_file_locked_section_args *args,
                           struct hf_file_lock_dir *lock_dir,
                           struct hf_file_locked_section_result *result,
                           struct hf_error *error);

#endif
