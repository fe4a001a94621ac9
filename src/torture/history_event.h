/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event of a history, that is, something that a client did or observed, as
 * one line:
 *
 *     TIME CLIENT WORD LOCK [KEY=VALUE]...
 *
 * TIME is in microseconds on a clock that all clients share.  A CLIENT wants
 * each lock at most once at a time.  The WORDs, and the keys that follow them:
 *
 *     want     kind= [permits= limit=]  begins to acquire
 *     queued                            its ticket is in the queue
 *     unqueued                          that ticket was lost; a new one is, or
 *                                       will be, at the tail
 *     grant    token= [safe_until=]     was granted the lock, until safe_until
 *                                       for certain
 *     held     safe_until=              the lease was renewed
 *     seen     at=                      still held the lock at that TIME,
 *                                       whatever safe_until is
 *     write    token= accepted=         wrote to the resource: yes or no
 *     shared   token=                   is a reader from now on, no writer
 *     release  token=                   is about to release
 *     lost     token=                   was notified of the loss
 *     gaveup                            does not want the lock any more
 *
 * Events about the whole client have "-" for LOCK:
 *
 *     died                              is about to be killed
 *     frozen                            is about to be stopped
 *     thawed                            was continued
 *
 * In the name of a lock, spaces, control characters and '%' are
 * percent-encoded, and so is the name "-".  kind is mutex, read, write,
 * semaphore or election; safe_until is a TIME or "forever".
 *
 * A client records what it gains after it has gained it, and what it gives up
 * before it gives it up.  So a history never claims that a client relied on a
 * lock for longer than it did.
 */
#ifndef HF_TORTURE_HISTORY_EVENT_H
#define HF_TORTURE_HISTORY_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/lock.h>
#include <holdfast/status.h>

/* The WORD. */
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
    const char *client; /* points into the line that was parsed */
    const char *lock;   /* NULL: the event is about the whole client */
    enum hf_history_event_type type;
    enum hf_kind kind; /* of WANT */
    uint32_t permits;  /* of WANT for a semaphore, else 1 */
    uint32_t limit;
    uint64_t token;         /* of GRANT WRITE SHARED RELEASE LOST */
    uint64_t safe_until_us; /* of GRANT (0: none) and HELD; may be HF_FOREVER */
    uint64_t seen_us;       /* of SEEN */
    bool accepted;          /* of WRITE */
};

/* Room for a line and its NUL.  It is PIPE_BUF: a pipe takes a line of that
 * size in one piece, so the lines of several writers are never mixed. */
#define HF_HISTORY_EVENT_BYTES 4096

/* Parse ${line}.  NULs are written into ${line}, and ${event} points into it.
 * If the line is wrong, HF_EINVAL is returned, and ${error} says what was
 * expected. */
hf_status hf_history_event_parse(char *line, struct hf_history_event *event,
                                 struct hf_error *error);

/* Write ${event} to ${line}, with a newline and without a NUL.  Returns the
 * number of bytes written. */
size_t hf_history_event_format(const struct hf_history_event *event,
                               char line[HF_HISTORY_EVENT_BYTES]);

/* Return the name of ${kind} in histories, "mutex" and so on. */
const char *hf_history_kind_name(enum hf_kind kind);

#endif
