/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of one client in one piece of memory: their layout, and which
 * names have an entry of their own.  A file has the same layout
 * (metrics_file.h).
 *
 * One process writes, in memory of its own, with its client's lock held.
 *
 *  - The numbers of names without an entry are not stored: together they are
 *    .named minus the sum of the entries.  So when another name gets an entry,
 *    the entry is only cleared.
 *  - An entry with .id 0 is not in use.
 *
 * Space-Saving (Metwally, Agrawal and El Abbadi, ICDT 2005) decides which names
 * have an entry.  Its elements are the acquires that had to wait.
 */
#ifndef HF_METRICS_METRICS_BLOCK_H
#define HF_METRICS_METRICS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/metrics.h>

/* How many entries a client has, and the room for a name and its NUL. */
#define HF_METRICS_NAMES 64
#define HF_METRICS_NAME_BYTES 256
/* The value of "name" for all names that have no entry.  No lock can have this
 * name, because names do not begin with '/'. */
#define HF_METRICS_OTHERS "/other"
/* Every status has a number below this. */
#define HF_METRICS_STATUSES 64

/* The greatest numbers.  No client counts up to the first: 2^56 us are 2283
 * years.  No number of a sum exceeds the second, so that the buckets of a
 * histogram can still be added up. */
#define HF_METRICS_NUMBER_MAX (UINT64_C(1) << 56)
#define HF_METRICS_SUM_MAX (UINT64_C(1) << 59)

/* The beginning of a file: that it is ours, and the version of its form. */
#define HF_METRICS_MAGIC "HFMETRIC"
#define HF_METRICS_VERSION 2
/* Has another value for a reader with another byte order. */
#define HF_METRICS_BYTE_ORDER 0x01020304
#define HF_METRICS_BOOT_BYTES 40

struct hf_metrics_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t bytes;                   /* size of the whole file */
    char boot[HF_METRICS_BOOT_BYTES]; /* the id of the machine's boot, with a
                                         NUL */
    uint64_t pid;                     /* pid of the process, in its own
                                         namespace */
    uint64_t started;                 /* start of the process, in the
                                         kernel's ticks since the boot */
    uint64_t closed;                  /* not 0: the client was closed */
    uint64_t sequence;                /* odd: the file is being written */
    uint64_t used;                    /* number of entries that were ever in
                                         use */
};

/* Like struct hf_histogram, but without the count, which is the sum of the
 * buckets. */
struct hf_metrics_histogram {
    uint64_t sum_us;
    uint64_t buckets[HF_HISTOGRAM_BUCKETS];
};

/* Like struct hf_lock_stats. */
struct hf_metrics_series {
    uint64_t acquired;
    uint64_t waited;
    uint64_t failed;
    uint64_t lost;
    uint64_t revoked;
    struct hf_metrics_histogram wait;
    struct hf_metrics_histogram hold;
    struct hf_metrics_histogram handoff;
};

/* A name that has numbers of its own, and these numbers. */
struct hf_metrics_entry {
    uint64_t id;     /* hf_metrics_name_id() of the name; 0: not in use */
    uint64_t weight; /* acquires that waited, as Space-Saving counts them */
    char name[HF_METRICS_NAME_BYTES];
    struct hf_metrics_series series;
};

struct hf_metrics_block {
    struct hf_metrics_header header;
    struct hf_metrics_series all;
    struct hf_metrics_series named;      /* sum of all names */
    uint64_t ended[HF_METRICS_STATUSES]; /* number of acquires that ended
                                            with each status */
    uint64_t reconnects;
    uint64_t suspensions;
    uint64_t sessions_lost;
    uint64_t deadlock_searches_cut;
    struct hf_metrics_histogram round_trip;
    struct hf_metrics_entry entries[HF_METRICS_NAMES];
};

/* The size of a block with ${entries} entries. */
static inline size_t hf_metrics_block_bytes(size_t entries)
{
    return offsetof(struct hf_metrics_block, entries) +
           entries * sizeof(struct hf_metrics_entry);
}

/* A name of a lock as metrics use it.  The user of a block keeps one for each
 * lock. */
struct hf_metrics_name_ref {
    uint64_t id;
    const char *text; /* UTF-8 of less than HF_METRICS_NAME_BYTES; NULL: the
                         name has no numbers of its own */
    size_t entry;     /* index of the entry where it was found last */
};

/* Write ${name} to ${text}, and return its id, which is not 0.  A name that is
 * too long is cut, and '~' and its id in hex are appended. */
uint64_t hf_metrics_name_id(const char *name, char text[HF_METRICS_NAME_BYTES]);

/* Can ${name} be the name of a lock in metrics?  Such a name is not empty, is
 * UTF-8 without control characters, and is not HF_METRICS_OTHERS. */
bool hf_metrics_name_valid(const char *name);

/* A duration, and the bucket in which every histogram counts it.  All bytes
 * zero: no duration is known. */
struct hf_metrics_duration {
    uint64_t us;
    size_t bucket;
    bool known;
};

struct hf_metrics_duration hf_metrics_duration(uint64_t us);

/* Add ${duration}, which must be known. */
static inline void
hf_metrics_observe(struct hf_metrics_histogram *histogram,
                   const struct hf_metrics_duration *duration)
{
    histogram->buckets[duration->bucket]++;
    histogram->sum_us += duration->us;
}

/* Return the index of the entry that ${name} has or may take now
 * (hf_metrics_take()); HF_METRICS_NAMES: none.  ${contended}: the event is an
 * acquire that had to wait, for which another name may lose its entry. */
size_t hf_metrics_find(const struct hf_metrics_block *block,
                       struct hf_metrics_name_ref *name, bool contended);

/* Give the entry ${index} to ${name}.  Returns false if ${name} had it already.
 */
bool hf_metrics_take(struct hf_metrics_block *block, size_t index,
                     const struct hf_metrics_name_ref *name);

#endif
