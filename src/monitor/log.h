/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines are written under the monitor's lock and given to the user without
 * it: a thread that gives the lock up takes the lines that are there along.
 */
#ifndef HF_MONITOR_LOG_H
#define HF_MONITOR_LOG_H

#include <stdbool.h>

#include <holdfast/client.h>

#define HF_LOG_LINES 16
#define HF_LOG_BYTES 512

struct hf_log_line {
    enum hf_log_level level;
    char text[HF_LOG_BYTES];
};

/* The lines that nobody has taken yet.  More than fit are counted, and the
 * count is a line of its own. */
struct hf_log {
    struct hf_on_log on_log;   /* .fn is NULL: nobody listens */
    struct hf_log_line *lines; /* made with the first */
    unsigned count;
    unsigned dropped;
};

/* With the lock. */
void hf_log_write(struct hf_log *log, enum hf_log_level level,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* With the lock: move all lines to ${taken}, for hf_log_emit().  False if there
 * are none, and then ${taken} is not set. */
bool hf_log_take(struct hf_log *log, struct hf_log *taken);

/* Without the lock: give the user the lines that were taken, and free them. */
void hf_log_emit(struct hf_log *taken);

/* At the end; lines that nobody took are lost. */
void hf_log_free(struct hf_log *log);

#endif
