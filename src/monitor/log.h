/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines.  They are written under the monitor's lock and emitted without it.
 * A function of the user gets them in its turn among the callbacks, because it
 * may wait for whatever it likes.  A function that never waits gets them from
 * the thread that releases the lock, so that a program that ends at once has
 * them.
 */
#ifndef HF_MONITOR_LOG_H
#define HF_MONITOR_LOG_H

#include <stdbool.h>

#include <holdfast/client.h>

/* How many lines are kept until they are emitted, and how long a line may be
 * with its NUL. */
#define HF_LOG_LINES 256
#define HF_LOG_BYTES 512

/* Where a client is, or was last, for people.  "": none, or not known. */
struct hf_log_origin {
    char session[40];
    char server[272];
};

struct hf_log_line {
    struct hf_log_line *next;
    enum hf_log_level level;
    char text[];
};

/* The lines that are not emitted yet, under the monitor's lock.  Lines that
 * find no room are counted, and the count becomes a line of its own. */
struct hf_log {
    /* Set once; .on_log.fn is NULL: the user wants no lines. */
    struct hf_on_log on_log;
    bool waits;                  /* .on_log.fn may wait: it is the user's */
    struct hf_log_origin origin; /* for a function that is not the user's */
    void (*queue)(void *arg);    /* have the lines emitted as a callback */
    void *queue_arg;
    struct hf_log_line *first, **end;
    unsigned count; /* lines in the list */
    unsigned lost;  /* lines that found no room or no memory */
};

/* Lines that were taken out.  Unless .on_log.fn is the user's, it is called
 * with &.origin as its argument (log_default.h). */
struct hf_log_lines {
    struct hf_log_origin origin;
    struct hf_on_log on_log;
    struct hf_log_line *first;
    unsigned lost;
    bool waits; /* .on_log.fn is the user's */
};

/* Initialise ${log}.  If the function ${waits}, ${queue} is called for each
 * line, with the lock. */
void hf_log_init(struct hf_log *log, struct hf_on_log on_log, bool waits,
                 void (*queue)(void *arg), void *arg);

/* The client has ${session} at ${server} from now on; "": none, or not known.
 * Copied.  With the lock. */
void hf_log_set_origin(struct hf_log *log, const char *session,
                       const char *server);

/* Write a line, if the user wants lines of ${level}.  With the lock. */
void hf_log_write(struct hf_log *log, enum hf_log_level level,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Move all lines to ${taken}, for hf_log_emit().  False if there are none, and
 * then ${taken} is not set.  With the lock. */
bool hf_log_take(struct hf_log *log, struct hf_log_lines *taken);

/* Emit the lines that were taken, and free them.  Without the lock. */
void hf_log_emit(struct hf_log_lines *taken);

/* Write to ${text} that ${lost} lines were lost. */
void hf_log_format_lost(unsigned lost, char text[HF_LOG_BYTES]);

/* At the end; lines that were not taken are lost. */
void hf_log_free(struct hf_log *log);

#endif
