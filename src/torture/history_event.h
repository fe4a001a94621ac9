/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a history: something that a contender did or was told.
 *
 *     TIME CLIENT WORD LOCK [KEY=VALUE]...
 *
 * TIME is in microseconds on a clock that all clients share.  A CLIENT is one
 * contender, which wants one thing at a time of each lock.  What WORD means,
 * and which keys stand behind it:
 *
 *     want     kind= [permits= limit=]  begins to ask
 *     queued                            its ticket is in the queue
 *     unqueued                          was lost there: another one is, or is
 *                                       to be, at the tail
 *     grant    token= [safe_until=]     was admitted, and promised so much
 *     held     safe_until=              is promised more
 *     seen     at=                      had it still at that TIME, promise or
 *                                       not
 *     write    token= accepted=         wrote to the resource: yes or no
 *     shared   token=                   is a reader now, no writer any more
 *     release  token=                   is about to let go
 *     lost     token=                   was told that the grant is lost
 *     gaveup                            does not want it any more
 *
 * and with "-" for LOCK, since all of the client is meant:
 *
 *     died                              is about to be killed
 *     frozen                            is about to be stopped
 *     thawed                            has been made to go on
 *
 * Names of locks are percent-encoded where they have a space, a control
 * character or a '%', and "-" is.  kind is mutex, read, write, semaphore or
 * election; safe_until is a TIME, or "forever".  What is written before an act
 * and what after it is chosen such that no history claims more for its writer
 * than it had.
 */
#ifndef HF_TORTURE_HISTORY_EVENT_H
#define HF_TORTURE_HISTORY_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/holdfast.h>

enum hf_history_event_type {
    HF_HISTORY_WANT,
    HF_HISTORY_QUEUED,
    HF_HISTORY_UNQUEUED,
    HF_HISTORY_GRANT,
    HF_HISTORY_HELD,
    HF_HISTORY_SEEN,
    HF_HISTORY_WRITE,
    HF_HISTORY_SHARED,
    HF_HISTORY_RELEASE,
    HF_HISTORY_LOST,
    HF_HISTORY_GAVEUP,
    HF_HISTORY_DIED,
    HF_HISTORY_FROZEN,
    HF_HISTORY_THAWED,
};

struct hf_history_event {
    uint64_t at_us;
    const char *client; /* in the line that was parsed */
    const char *lock;   /* NULL: all of the client */
    enum hf_history_event_type type;
    enum hf_kind kind; /* WANT */
    uint32_t permits;  /* WANT of a semaphore, else 1 */
    uint32_t limit;
    uint64_t token;         /* GRANT WRITE SHARED RELEASE LOST */
    uint64_t safe_until_us; /* GRANT, where 0 is none, HELD; HF_FOREVER */
    uint64_t seen_us;       /* SEEN */
    bool accepted;          /* WRITE */
};

/* The longest line that is written, with its NUL: a pipe takes it in one. */
#define HF_HISTORY_EVENT_BYTES 4096

/* Parse ${line}, which is cut into pieces that ${note} points to.  On failure
 * ${error} says what was wrong and what was expected. */
hf_status hf_history_event_parse(char *line, struct hf_history_event *event,
                                 struct hf_error *error);

/* Write ${note} to ${line} with a newline; how many bytes, without a NUL. */
size_t hf_history_event_format(const struct hf_history_event *event,
                               char line[HF_HISTORY_EVENT_BYTES]);

/* "mutex" and so on, of one that may stand in a history. */
const char *hf_history_kind_name(enum hf_kind kind);

#endif
