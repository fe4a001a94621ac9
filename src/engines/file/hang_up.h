/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for another's ticket: its FIFO, open for reading, hangs up when the
 * last copy of the owner's descriptor is closed, whether by a withdrawal, an
 * exit or a kill; the kernel wakes whoever waits, and nobody else.  Where a
 * ticket was taken from an owner that hears nothing, a byte in it says so.
 */
#ifndef HF_ENGINES_FILE_HANG_UP_H
#define HF_ENGINES_FILE_HANG_UP_H

#include <uv.h>

#include "engines/file/section.h"

struct hf_engine;
struct hf_hang_up;

/* Its ticket is gone, and removed if its owner left it behind.  May end it, and
 * be called for one that was not. */
typedef void hf_hang_up_fn(struct hf_hang_up *hang_up);

struct hf_hang_up {
    struct hf_engine *engine;
    struct hf_ticket ticket; /* .payload is not kept */
    int fifo;
    bool removed; /* by then: it is in its queue no more */
    uv_poll_t poll;
    hf_hang_up_fn *heard;
    void *arg;               /* of whoever began it */
    struct hf_hang_up *next; /* the same */
    char entry[];
};

/* Wait for ${ticket} in ${entry}.
 *   HF_LIFE_ALIVE    ${*hang_up} is yours to end
 *   HF_LIFE_DEAD     it was not there, or was dead and has been removed
 *   HF_LIFE_UNKNOWN  ${error} says why */
enum hf_life hf_hang_up_begin(struct hf_engine *engine, const char *entry,
                              const struct hf_ticket *ticket,
                              hf_hang_up_fn *heard, void *arg,
                              struct hf_hang_up **hang_up,
                              struct hf_error *error);

/* Stop; the memory lives until the loop's next turn. */
void hf_hang_up_end(struct hf_hang_up *hang_up);

/* Has it been ended? */
bool hf_hang_up_is_over(const struct hf_hang_up *hang_up);

#endif
