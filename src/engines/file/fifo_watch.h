/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits for the end of another session's ticket.
 *
 * The FIFO of a ticket is opened for reading.  It hangs up when the last copy
 * of the owner's descriptor is closed: by a removal, an exit or a kill.  So the
 * kernel wakes only the sessions that wait for this ticket.  An owner that is
 * evicted may be stopped and close nothing.  Therefore the evicting session
 * also writes a byte into the FIFO (removal.c).
 */
#ifndef HF_ENGINES_FILE_FIFO_WATCH_H
#define HF_ENGINES_FILE_FIFO_WATCH_H

#include <uv.h>

#include "core/engine.h"
#include "engines/file/ticket_file.h"

struct hf_file_fifo_watch;
struct hf_file_watch;

/* Called from the loop when the ticket of ${fifo_watch} has gone.  If its owner
 * was killed, the ticket was removed first, and .removed is false if that
 * failed.  The function stops the watch, unless the core has already done
 * so. */
typedef void hf_file_fifo_watch_fn(struct hf_file_fifo_watch *fifo_watch);

struct hf_file_fifo_watch {
    struct hf_engine *engine;
    struct hf_ticket ticket; /* .payload is "", because it is not needed */
    int fifo;                /* open for reading; -1: the watch is stopped */
    /* Set when the ticket has gone: true if its files are gone, too; false if a
     * dead ticket could not be removed. */
    bool removed;
    uv_poll_t poll;
    hf_file_fifo_watch_fn *on_gone;
    /* the watch that this is a part of, until it is stopped */
    struct hf_file_watch *watch;
    /* free for use by the caller of hf_file_fifo_watch_start() */
    struct hf_file_fifo_watch *next;
};

/* Wait for the end of ${ticket}, which is in the directory of ${watch}.
 * Returns
 *    HF_OWNER_ALIVE    ${*fifo_watch} was started; the caller stops it
 *    HF_OWNER_DEAD     the ticket was not there, or was dead and was removed
 *    HF_OWNER_UNKNOWN  the wait could not begin; ${error} has the reason */
enum hf_file_owner_liveness hf_file_fifo_watch_start(
    struct hf_file_watch *watch, const struct hf_ticket *ticket,
    hf_file_fifo_watch_fn *on_gone, struct hf_file_fifo_watch **fifo_watch,
    struct hf_error *error);

/* Stop waiting.  The memory is freed later, when libuv has closed the
 * handle. */
void hf_file_fifo_watch_stop(struct hf_file_fifo_watch *fifo_watch);

/* Returns whether the watch was stopped, so that an .on_gone that has called
 * the core can see whether the core stopped it. */
bool hf_file_fifo_watch_is_stopped(const struct hf_file_fifo_watch *fifo_watch);

#endif
