/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What contenders of locks did and were told, as one file has it: a first line
 * "holdfast-history 1", then lines as of history_event.h, in any order of time.
 * Empty ones and those that begin with '#' say nothing.
 */
#ifndef HF_TORTURE_HISTORY_H
#define HF_TORTURE_HISTORY_H

#include <stdio.h>

#include "torture/history_event.h"
#include "torture/name_table.h"

#define HF_HISTORY_FIRST_LINE "holdfast-history 1"

/* The longest file. */
#define HF_HISTORY_BYTES ((size_t)1 << 30)

enum hf_history_ending {
    HF_ENDING_NONE, /* it went on when the history ended */
    HF_ENDING_RELEASED,
    HF_ENDING_LOST,
    HF_ENDING_DIED,
    HF_ENDING_GAVE_UP,
};

/* From WANT to its end. */
struct hf_history_attempt {
    uint32_t client; /* their numbers in .clients and .locks */
    uint32_t lock;
    enum hf_kind kind;
    uint32_t permits, limit;
    uint64_t want_us;
    uint64_t queued_us;  /* its ticket is in the queue since; HF_FOREVER: not
                            that one knew */
    uint64_t granted_us; /* HF_FOREVER: never */
    uint64_t shared_us;  /* a reader since; HF_FOREVER: never changed */
    uint64_t ended_us;   /* HF_FOREVER: it has not */
    enum hf_history_ending ending;
    uint64_t token;
    uint64_t safe_until_us; /* the furthest promise it was given; 0: none */
    uint64_t seen_us;       /* when it was last seen to have it; 0: never */
    uint64_t thawed_us;     /* its client was frozen while it held, and until
                               then; 0: never; HF_FOREVER: to the end */
    size_t want_line, granted_line, ended_line; /* from 1 */
    uint32_t next; /* of those of the client that go on, its place + 1 */
};

/* Until when it is known to have had it, if it had not let go before. */
uint64_t hf_history_attempt_until_us(const struct hf_history_attempt *attempt);

/* To what the lock protects. */
struct hf_fenced_write {
    uint32_t attempt; /* its place */
    uint64_t at_us;
    uint64_t token;
    bool accepted;
    size_t line;
};

struct hf_history {
    struct hf_name_table clients;
    struct hf_name_table locks;
    struct hf_history_attempt *attempts; /* in the order of WANT */
    uint32_t attempt_count;
    struct hf_fenced_write *writes; /* in the order of time */
    uint32_t write_count;
    size_t event_count;
    size_t deaths, freezes;
    uint64_t began_us, ended_us; /* the first and the last time in it */
    char *text;
};

/* Read ${history} from ${file}.  Wants hf_history_free() whatever the status.
 * HF_EINVAL, with the line in ${error}, if it makes no sense; HF_ENOMEM;
 * HF_EDIR if it cannot be read; HF_ELIMIT if it is too long. */
hf_status hf_history_read(FILE *file, struct hf_history *history,
                          struct hf_error *error);
void hf_history_free(struct hf_history *history);

#endif
