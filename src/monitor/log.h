/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines.  They are written under the monitor's lock and given to the user
 * without it: a thread that releases the lock takes the lines that are there
 * and emits them.
 */
#ifndef HF_MONITOR_LOG_H
#define HF_MONITOR_LOG_H

#include <stdbool.h>

#include <holdfast/client.h>

/* How many lines are kept until a thread emits them, and how long a line may be
 * with its NUL. */
#define HF_LOG_LINES 16
#define HF_LOG_BYTES 512

struct hf_log_line {
    enum hf_log_level level;
    char text[HF_LOG_BYTES];
};

/* The lines that no thread has taken yet, under the monitor's lock.  Lines that
 * find no room are counted, and the count becomes a line of its own. */
struct hf_log {
    /* Set once; .fn is NULL: the user wants no lines. */
    struct hf_on_log on_log;
    /* HF_LOG_LINES of them, allocated for the first; else NULL. */
    struct hf_log_line *lines;
    unsigned count;   /* lines that are written */
    unsigned dropped; /* lines that found no room or no memory */
};

/* Write a line, if the user wants lines of ${level}.  With the lock. */
void hf_log_write(struct hf_log *log, enum hf_log_level level,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Move all lines to ${taken}, for hf_log_emit().  False if there are none, and
 * then ${taken} is not set.  With the lock. */
bool hf_log_take(struct hf_log *log, struct hf_log *taken);

/* Give the user the lines that were taken, and free them.  Without the lock. */
void hf_log_emit(struct hf_log *taken);

/* At the end; lines that were not taken are lost. */
void hf_log_free(struct hf_log *log);

#endif
