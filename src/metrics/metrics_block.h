/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of one client, in one piece of memory: their layout, and which
 * names have an entry.  A file has the same layout (metrics_file.h).
 *
 * One process writes, with its client's lock held, in memory that is its own.
 *
 *  - The numbers of names without an entry are not stored: together they are
 *    .named less the sum of the entries.  So an entry that passes to another
 *    name is only cleared.
 *  - An entry is no entry while its .id is 0.
 *
 * Which names have an entry is decided by Space-Saving (Metwally, Agrawal and
 * El Abbadi, ICDT 2005), whose elements are the acquires that had to wait.
 */
#ifndef HF_METRICS_METRICS_BLOCK_H
#define HF_METRICS_METRICS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/metrics.h>

/* Entries of a client, and room for a name with its NUL. */
#define HF_METRICS_NAMES 64
#define HF_METRICS_NAME_BYTES 256
/* The value of "name" for the names that have no numbers of their own.  No lock
 * can have it, because names do not begin with '/'. */
#define HF_METRICS_OTHERS "/other"
/* Statuses have numbers below this. */
#define HF_METRICS_STATUSES 64

/* No client counts up to the first number: 2^56 us are 2283 years.  No number
 * of a sum exceeds the second, so that the buckets of a histogram can still be
 * added up. */
#define HF_METRICS_NUMBER_MAX (UINT64_C(1) << 56)
#define HF_METRICS_SUM_MAX (UINT64_C(1) << 59)

/* In a file: who wrote it, and in which form. */
#define HF_METRICS_MAGIC "HFMETRIC"
#define HF_METRICS_VERSION 2
/* A reader of another byte order reads another number. */
#define HF_METRICS_BYTE_ORDER 0x01020304
#define HF_METRICS_BOOT_BYTES 40

struct hf_metrics_header {
    char magic[8];
    uint32_t version;
    uint32_t byte_order;
    uint64_t bytes;                   /* of the whole file */
    char boot[HF_METRICS_BOOT_BYTES]; /* the id of the boot, with a NUL */
    uint64_t pid;                     /* in the namespace of the process */
    uint64_t started;                 /* in the kernel's ticks since the boot */
    uint64_t closed;                  /* not 0: the client was closed */
    uint64_t sequence;                /* odd: the file is being written */
    uint64_t used;                    /* entries that were ever in use */
};

/* As struct hf_histogram; the count is the sum of the buckets. */
struct hf_metrics_histogram {
    uint64_t sum_us;
    uint64_t buckets[HF_HISTOGRAM_BUCKETS];
};

/* As struct hf_lock_stats. */
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

/* A name that has numbers of its own. */
struct hf_metrics_entry {
    uint64_t id;     /* of the name, hf_metrics_name_id(); 0: none */
    uint64_t weight; /* acquires that waited, as Space-Saving counts */
    char name[HF_METRICS_NAME_BYTES];
    struct hf_metrics_series series;
};

struct hf_metrics_block {
    struct hf_metrics_header header;
    struct hf_metrics_series all;
    struct hf_metrics_series named;      /* of all names together */
    uint64_t ended[HF_METRICS_STATUSES]; /* acquires, by status */
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

/* A name as it is in metrics, kept by the user of a block for each lock. */
struct hf_metrics_name_ref {
    uint64_t id;
    const char *text; /* less than HF_METRICS_NAME_BYTES, UTF-8; NULL: the name
                         has no numbers of its own */
    size_t entry;     /* where it was found last */
};

/* Write ${name} to ${text}, and return its id, which is not 0.  A name that is
 * too long is cut, and ends with '~' and its id in hex. */
uint64_t hf_metrics_name_id(const char *name, char text[HF_METRICS_NAME_BYTES]);

/* Can ${name} be that of a lock in metrics?  Such a name is UTF-8 without
 * control characters, not empty, and not the one that all others share. */
bool hf_metrics_name_valid(const char *name);

/* A duration, and its bucket in every histogram.  All zero: none. */
struct hf_metrics_duration {
    uint64_t us;
    size_t bucket;
    bool known;
};

struct hf_metrics_duration hf_metrics_duration(uint64_t us);

/* Add ${duration}, which is known. */
static inline void
hf_metrics_observe(struct hf_metrics_histogram *histogram,
                   const struct hf_metrics_duration *duration)
{
    histogram->buckets[duration->bucket]++;
    histogram->sum_us += duration->us;
}

/* The entry that ${name} has, or may take now (hf_metrics_take());
 * HF_METRICS_NAMES: none.  ${contended}: this is about an acquire that had to
 * wait, for which another name may lose its entry. */
size_t hf_metrics_find(const struct hf_metrics_block *block,
                       struct hf_metrics_name_ref *name, bool contended);

/* Give the entry ${index} to ${name}.  False: it had that entry before. */
bool hf_metrics_take(struct hf_metrics_block *block, size_t index,
                     const struct hf_metrics_name_ref *name);

#endif
