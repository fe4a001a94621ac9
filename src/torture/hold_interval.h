/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold intervals: when an attempt relied on its lock, and which intervals are
 * open at an instant.
 *
 * An interval begins with the grant.  It ends when the client released the
 * lock, was notified of the loss, or died, or when its last safe-until had
 * passed, whichever was first.  A client that was seen holding the lock after
 * its safe-until relied on it until then.  A writer that became a reader has
 * two intervals.
 */
#ifndef HF_TORTURE_HOLD_INTERVAL_H
#define HF_TORTURE_HOLD_INTERVAL_H

#include "base/heap.h"
#include "torture/history.h"

struct hf_hold_interval {
    uint32_t attempt; /* index of the attempt in the history */
    uint32_t lock;
    enum hf_kind
        kind; /* kind in this interval: HF_KIND_READ for a downgraded writer */
    uint64_t from_us, until_us; /* .from_us is less than .until_us */
};

struct hf_hold_intervals {
    struct hf_hold_interval *items; /* sorted by lock, then by .from_us */
    size_t count;
};

/* Find all intervals of ${history}.  Returns false if there is no memory.
 * hf_hold_intervals_free() must be called in both cases. */
bool hf_hold_intervals_find(const struct hf_history *history,
                            struct hf_hold_intervals *intervals);
/* Free what hf_hold_intervals_find() has found. */
void hf_hold_intervals_free(struct hf_hold_intervals *intervals);

/* Do two attempts at one lock exclude each other, if they hold it as ${a_kind}
 * and ${b_kind}? */
bool hf_history_attempts_conflict(const struct hf_history_attempt *a,
                                  enum hf_kind a_kind,
                                  const struct hf_history_attempt *b,
                                  enum hf_kind b_kind);

/* ------------------------------------------------------- open intervals -- */

/*
 * The hold intervals of one lock that have begun and not ended, at an instant
 * that moves from the beginning of one interval to that of the next.
 *
 * Thousands of readers may hold a lock at one time.  So the intervals that
 * conflict with the same others form a group, whose members are counted and not
 * looked at one by one.  Two heaps have at their heads the interval that ends
 * next, and the one with the greatest limit of a semaphore.  To begin or to end
 * an interval takes time in the order of log n.
 */
enum hf_open_group {
    HF_OPEN_READERS,
    HF_OPEN_PERMITS, /* holders of permits of a semaphore */
    HF_OPEN_OTHERS,  /* each conflicts with all of this group and with
                        readers */
    HF_OPEN_GROUPS,
};

/* Stands for an index of an interval where there is none. */
#define HF_OPEN_NONE SIZE_MAX

struct hf_open_interval {
    struct hf_heap_node end;   /* in .ends */
    struct hf_heap_node limit; /* in .limits, if it holds permits */
    size_t previous, next;     /* neighbours in its group; HF_OPEN_NONE: none */
};

struct hf_open_intervals {
    const struct hf_history *history;          /* borrowed */
    const struct hf_hold_intervals *intervals; /* borrowed */
    struct hf_open_interval *items; /* an array with an element for each
                                       interval */
    struct hf_heap ends;            /* all open intervals, by their end */
    struct hf_heap limits;          /* those that hold permits, the greatest
                                       limit first */
    struct {
        size_t first, last; /* in the order of their beginning; HF_OPEN_NONE:
                               none */
        size_t count;
    } groups[HF_OPEN_GROUPS];
    uint64_t permits; /* sum of the permits that are held */
    size_t steps;     /* how many intervals were begun, ended or looked at */
};

/* Set up ${open} for ${intervals}, which were found in ${history}, with no open
 * interval.  Returns false if there is no memory. */
bool hf_open_intervals_init(struct hf_open_intervals *open,
                            const struct hf_history *history,
                            const struct hf_hold_intervals *intervals);
void hf_open_intervals_free(struct hf_open_intervals *open);

/* Return the group of ${interval}. */
enum hf_open_group
hf_open_intervals_group(const struct hf_hold_interval *interval);

/* End all open intervals that have ended when the interval ${index} begins.  If
 * it is an interval of another lock, end all. */
void hf_open_intervals_end(struct hf_open_intervals *open, size_t index);

/* Open the interval ${index}.  Must be called in the order of the intervals. */
void hf_open_intervals_begin(struct hf_open_intervals *open, size_t index);

/* Return the greatest limit that a holder of permits has named; 0 if no permit
 * is held. */
uint32_t hf_open_intervals_limit(const struct hf_open_intervals *open);

#endif
