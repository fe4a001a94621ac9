/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for the end of another session's ticket.
 *
 * Its FIFO, open for reading, hangs up when the last copy of the owner's
 * descriptor is closed: by a removal, an exit or a kill.  The kernel wakes
 * those that wait for this ticket and nobody else.  An owner that is evicted
 * may be stopped and close nothing, so the evicting session also writes a byte
 * into the FIFO (removal.c).
 */
#ifndef HF_ENGINES_FILE_FIFO_WATCH_H
#define HF_ENGINES_FILE_FIFO_WATCH_H

#include <uv.h>

#include "core/engine.h"
#include "engines/file/ticket_file.h"

struct hf_file_fifo_watch;
struct hf_file_watch;

/* Called from the loop when the ticket of ${fifo_watch} has gone; if its owner
 * left it behind, it was removed first, and .removed says whether that worked.
 * The callee stops the watch, unless the core has done so meanwhile. */
typedef void hf_file_fifo_watch_fn(struct hf_file_fifo_watch *fifo_watch);

struct hf_file_fifo_watch {
    struct hf_engine *engine;
    struct hf_ticket ticket; /* .payload is "", it is not kept */
    int fifo;                /* open for reading; -1: the watch is stopped */
    /* Set when the ticket has gone: it is in its queue no more.  False if a
     * dead ticket could not be removed. */
    bool removed;
    uv_poll_t poll;
    hf_file_fifo_watch_fn *on_gone;
    struct hf_file_watch *watch;     /* what it is for, until it is stopped */
    struct hf_file_fifo_watch *next; /* for the starter to use */
};

/* Wait for ${ticket}, which is in the directory of ${watch}.
 *   HF_OWNER_ALIVE    ${*fifo_watch} is the caller's to stop
 *   HF_OWNER_DEAD     it was not there, or was dead and has been removed
 *   HF_OWNER_UNKNOWN  ${error} says why */
enum hf_file_owner_liveness hf_file_fifo_watch_start(
    struct hf_file_watch *watch, const struct hf_ticket *ticket,
    hf_file_fifo_watch_fn *on_gone, struct hf_file_fifo_watch **fifo_watch,
    struct hf_error *error);

/* Stop waiting.  The memory is freed when libuv has closed the handle, in a
 * later turn of the loop. */
void hf_file_fifo_watch_stop(struct hf_file_fifo_watch *fifo_watch);

/* Has it been stopped?  For an .on_gone that has called the core meanwhile. */
bool hf_file_fifo_watch_is_stopped(const struct hf_file_fifo_watch *fifo_watch);

#endif
