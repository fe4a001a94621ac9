/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold intervals: when an attempt relied on its lock, and which of them are
 * open at an instant.
 *
 * An interval begins with the grant.  It ends when the client released, was
 * notified of the loss, died, or when its last safe-until had passed, whichever
 * is first; a client that was seen to hold the lock later relied on it until
 * then.  A writer that became a reader has two intervals.
 */
#ifndef HF_TORTURE_HOLD_INTERVAL_H
#define HF_TORTURE_HOLD_INTERVAL_H

#include "base/heap.h"
#include "torture/history.h"

struct hf_hold_interval {
    uint32_t attempt; /* index in the history */
    uint32_t lock;
    enum hf_kind
        kind; /* in this interval: a downgraded writer is HF_KIND_READ */
    uint64_t from_us, until_us; /* from_us < until_us */
};

struct hf_hold_intervals {
    struct hf_hold_interval *items; /* sorted by lock, then by .from_us */
    size_t count;
};

/* Find all intervals of ${history}.  False if there is no memory.  Free them
 * with hf_hold_intervals_free() in both cases. */
bool hf_hold_intervals_find(const struct hf_history *history,
                            struct hf_hold_intervals *intervals);
/* Free what hf_hold_intervals_find() has found. */
void hf_hold_intervals_free(struct hf_hold_intervals *intervals);

/* Do two attempts at one lock, which hold it as ${a_kind} and ${b_kind},
 * exclude each other? */
bool hf_history_attempts_conflict(const struct hf_history_attempt *a,
                                  enum hf_kind a_kind,
                                  const struct hf_history_attempt *b,
                                  enum hf_kind b_kind);

/* ------------------------------------------------------- open intervals -- */

/*
 * The hold intervals of one lock that have begun and not ended, at an instant
 * that moves from one beginning to the next.
 *
 * Thousands of readers may hold at once.  So those that conflict with the same
 * others are in one group, whose members are counted and not looked at; and
 * what ends next, and the greatest limit of a semaphore, are at the head of a
 * heap.  To begin or to end an interval takes time in the order of log n.
 */
enum hf_open_group {
    HF_OPEN_READERS,
    HF_OPEN_PERMITS, /* of a semaphore */
    HF_OPEN_OTHERS,  /* each conflicts with each of these and with readers */
    HF_OPEN_GROUPS,
};

/* In place of the index of an interval: there is none. */
#define HF_OPEN_NONE SIZE_MAX

struct hf_open_interval {
    struct hf_heap_node end;   /* in .ends */
    struct hf_heap_node limit; /* in .limits, of permits */
    size_t previous, next;     /* neighbours in its group, or HF_OPEN_NONE */
};

struct hf_open_intervals {
    const struct hf_history *history;          /* borrowed */
    const struct hf_hold_intervals *intervals; /* borrowed */
    struct hf_open_interval *items; /* as many as there are intervals */
    struct hf_heap ends;            /* of all that are open, by their end */
    struct hf_heap limits;          /* of permits, the greatest first */
    struct {
        size_t first, last; /* by their beginning, or HF_OPEN_NONE */
        size_t count;
    } groups[HF_OPEN_GROUPS];
    uint64_t permits; /* the sum of the permits that are held */
    size_t steps;     /* intervals that were begun, ended or looked at */
};

/* Begin with no open interval of ${intervals}, which were found in ${history}.
 * False if there is no memory. */
bool hf_open_intervals_init(struct hf_open_intervals *open,
                            const struct hf_history *history,
                            const struct hf_hold_intervals *intervals);
void hf_open_intervals_free(struct hf_open_intervals *open);

/* The group of ${interval}. */
enum hf_open_group
hf_open_intervals_group(const struct hf_hold_interval *interval);

/* End all open intervals that have ended when the interval ${index} begins; all
 * of them if they are of another lock. */
void hf_open_intervals_end(struct hf_open_intervals *open, size_t index);

/* The interval ${index} is open from now on.  To be called in the order of the
 * intervals. */
void hf_open_intervals_begin(struct hf_open_intervals *open, size_t index);

/* The greatest limit that an owner of open permits has named; 0: no permit is
 * held. */
uint32_t hf_open_intervals_limit(const struct hf_open_intervals *open);

#endif
