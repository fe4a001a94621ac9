/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for another's ticket: its FIFO, open for reading, hangs up when the
 * last copy of the owner's descriptor is closed, whether by a withdrawal, an
 * exit or a kill; the kernel wakes whoever waits, and nobody else.  Where a
 * ticket was taken from an owner that hears nothing, a byte in it says so.
 */
#ifndef HF_ENGINES_FILE_FIFO_WATCH_H
#define HF_ENGINES_FILE_FIFO_WATCH_H

#include <uv.h>

#include "engines/file/ticket_file.h"

struct hf_engine;
struct hf_fifo_watch;

/* Its ticket is gone, and removed if its owner left it behind.  May end it, and
 * be called for one that was not. */
typedef void hf_fifo_watch_fn(struct hf_fifo_watch *fifo_watch);

struct hf_fifo_watch {
    struct hf_engine *engine;
    struct hf_ticket ticket; /* .payload is not kept */
    int fifo;
    bool removed; /* by then: it is in its queue no more */
    uv_poll_t poll;
    hf_fifo_watch_fn *on_gone;
    void *arg;                  /* of whoever began it */
    struct hf_fifo_watch *next; /* the same */
    char dir_name[];
};

/* Wait for ${ticket} in ${dir_name}.
 *   HF_OWNER_ALIVE    ${*hang_up} is yours to end
 *   HF_OWNER_DEAD     it was not there, or was dead and has been removed
 *   HF_OWNER_UNKNOWN  ${error} says why */
enum hf_owner_liveness hf_fifo_watch_start(struct hf_engine *engine,
                                           const char *dir_name,
                                           const struct hf_ticket *ticket,
                                           hf_fifo_watch_fn *on_gone, void *arg,
                                           struct hf_fifo_watch **fifo_watch,
                                           struct hf_error *error);

/* Stop; the memory lives until the loop's next turn. */
void hf_fifo_watch_stop(struct hf_fifo_watch *fifo_watch);

/* Has it been ended? */
bool hf_fifo_watch_is_stopped(const struct hf_fifo_watch *fifo_watch);

#endif
