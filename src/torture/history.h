/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A history: what the clients of locks did and observed, in one file.  The
 * first line is "holdfast-history 1".  The others are as in history_event.h;
 * their times need not be in order.  Empty lines and lines that begin with '#'
 * are ignored.
 *
 * When a history is read, its events are combined into attempts: an attempt is
 * what one client does at one lock from WANT until it releases the lock, loses
 * it, dies or gives up.
 */
#ifndef HF_TORTURE_HISTORY_H
#define HF_TORTURE_HISTORY_H

#include <stdio.h>

#include "torture/history_event.h"
#include "torture/name_table.h"

#define HF_HISTORY_FIRST_LINE "holdfast-history 1"

/* The longest history that commands read. */
#define HF_HISTORY_BYTES ((size_t)1 << 30)

/* How an attempt ended. */
enum hf_history_ending {
    HF_ENDING_NONE, /* it had not ended when the history ended */
    HF_ENDING_RELEASED,
    HF_ENDING_LOST,
    HF_ENDING_DIED,
    HF_ENDING_GAVE_UP,
};

/* One attempt of one client to hold one lock.  Times are those of the history,
 * in microseconds. */
struct hf_history_attempt {
    uint32_t client; /* number in hf_history.clients */
    uint32_t lock;   /* number in hf_history.locks */
    enum hf_kind kind;
    uint32_t permits, limit; /* of a semaphore; otherwise 1 */
    uint64_t want_us;        /* when the attempt began */
    uint64_t queued_us;      /* since when its present ticket has been in the
                                queue; HF_FOREVER: not recorded */
    uint64_t granted_us;     /* HF_FOREVER: never granted */
    uint64_t shared_us; /* since when a writer has been a reader; HF_FOREVER:
                           not downgraded */
    uint64_t ended_us;  /* HF_FOREVER: not ended */
    enum hf_history_ending ending;
    uint64_t token;
    uint64_t safe_until_us; /* the latest safe-until that was recorded; 0:
                               none */
    uint64_t seen_us; /* when it was last seen holding the lock; 0: never */
    /* If the client was frozen during the attempt: when it was continued;
     * HF_FOREVER: never.  0: it was not frozen. */
    uint64_t thawed_us;
    size_t want_line, granted_line, ended_line; /* lines in the file, from 1 */
    uint32_t next; /* index plus 1 of the client's next attempt that has not
                      ended; 0: none */
};

/* Return until when the client could rely on the lock, unless it released the
 * lock before: the later one of .safe_until_us and .seen_us. */
uint64_t hf_history_attempt_until_us(const struct hf_history_attempt *attempt);

/* A write to the resource that the lock protects, with a fencing token. */
struct hf_fenced_write {
    uint32_t attempt; /* index in .attempts */
    uint64_t at_us;
    uint64_t token;
    bool accepted;
    size_t line;
};

struct hf_history {
    struct hf_name_table clients;
    struct hf_name_table locks;
    struct hf_history_attempt *attempts; /* in the order of .want_us */
    uint32_t attempt_count;
    struct hf_fenced_write *writes; /* in the order of .at_us */
    uint32_t write_count;
    size_t event_count;          /* lines that are events */
    size_t deaths, freezes;      /* numbers of the events DIED and FROZEN */
    uint64_t began_us, ended_us; /* times of the first and the last event */
    char *text;                  /* the file; names point into it */
};

/* Read ${history} from ${file}, which may have at most ${most_bytes}.
 * hf_history_free() must be called whatever the status.  Fails with HF_EINVAL
 * if ${file} is not a history, with the line in ${error}; HF_ENOMEM; HF_EDIR if
 * ${file} cannot be read; HF_ELIMIT if it is too long. */
hf_status hf_history_read(FILE *file, size_t most_bytes,
                          struct hf_history *history, struct hf_error *error);
/* Free ${history}; it is empty afterwards. */
void hf_history_free(struct hf_history *history);

#endif
