/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of one client, in one piece of memory that may be a mapped file:
 * its layout, and how it is written.
 *
 * One process writes, with its client's lock held.  Others may read the file
 * meanwhile, and the writer may be killed between any two stores.  So nothing
 * is locked, and every order of stores is chosen so that what a killed writer
 * leaves counts nothing twice:
 *
 *  - .sequence is odd while an event is being counted.  A reader of a living
 *    writer reads again (a sequence lock: Lameter, "Effective Synchronization
 * on Linux/NUMA Systems", 2005).  Of a dead writer at most the last event is
 *    counted in part.
 *  - What the names have that are in no entry is not stored.  It is .named less
 *    the sum of the entries.  So an entry passes to another name by being
 *    cleared, and not by being moved.
 *  - An entry is no entry while its .id is 0.
 *
 * Which names have an entry is decided by Space-Saving (Metwally, Agrawal and
 * El Abbadi, ICDT 2005), whose elements are the acquires that had to wait.
 */
#ifndef HF_METRICS_METRICS_BLOCK_H
#define HF_METRICS_METRICS_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/metrics.h>

/* Entries of a client, and room for a name with its NUL. */
#define HF_METRICS_NAMES 64
#define HF_METRICS_NAME_BYTES 256
/* Statuses have numbers below this. */
#define HF_METRICS_STATUSES 64

/* In a file: who wrote it, and in which form. */
#define HF_METRICS_MAGIC "HFMETRIC"
#define HF_METRICS_VERSION 1
/* Another value is read on a machine of another byte order. */
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
    _Atomic uint64_t closed;          /* not 0: the client was closed */
    _Atomic uint64_t sequence;        /* odd: an event is being counted */
    _Atomic uint64_t used;            /* entries that were ever in use */
};

/* As struct hf_histogram; the count is the sum of the buckets. */
struct hf_metrics_histogram {
    _Atomic uint64_t sum_us;
    _Atomic uint64_t buckets[HF_HISTOGRAM_BUCKETS];
};

/* As struct hf_lock_stats. */
struct hf_metrics_series {
    _Atomic uint64_t acquired;
    _Atomic uint64_t waited;
    _Atomic uint64_t failed;
    _Atomic uint64_t lost;
    _Atomic uint64_t revoked;
    struct hf_metrics_histogram wait;
    struct hf_metrics_histogram hold;
    struct hf_metrics_histogram handoff;
};

/* A name that has numbers of its own. */
struct hf_metrics_entry {
    _Atomic uint64_t id;     /* of the name, hf_metrics_name_id(); 0: none */
    _Atomic uint64_t weight; /* acquires that waited, as Space-Saving counts */
    char name[HF_METRICS_NAME_BYTES];
    struct hf_metrics_series series;
};

struct hf_metrics_block {
    struct hf_metrics_header header;
    struct hf_metrics_series all;
    struct hf_metrics_series named;              /* of all names together */
    _Atomic uint64_t ended[HF_METRICS_STATUSES]; /* acquires, by status */
    _Atomic uint64_t reconnects;
    _Atomic uint64_t suspensions;
    _Atomic uint64_t sessions_lost;
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

/* Begin, and end, to count an event. */
static inline void hf_metrics_begin(struct hf_metrics_block *block)
{
    uint64_t sequence =
        atomic_load_explicit(&block->header.sequence, memory_order_relaxed);

    atomic_store_explicit(&block->header.sequence, sequence + 1,
                          memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static inline void hf_metrics_end(struct hf_metrics_block *block)
{
    uint64_t sequence =
        atomic_load_explicit(&block->header.sequence, memory_order_relaxed);

    atomic_store_explicit(&block->header.sequence, sequence + 1,
                          memory_order_release);
}

/* Add one.  Stores become visible in the order of the calls. */
static inline void hf_metrics_count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
        memory_order_release);
}

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
    hf_metrics_count(&histogram->buckets[duration->bucket]);
    atomic_store_explicit(
        &histogram->sum_us,
        atomic_load_explicit(&histogram->sum_us, memory_order_relaxed) +
            duration->us,
        memory_order_release);
}

/* The number of the entry that ${name} has, or is to have from now on;
 * HF_METRICS_NAMES: none.  ${contended}: this is about an acquire that had to
 * wait, so that another name may have to go. */
size_t hf_metrics_find(const struct hf_metrics_block *block,
                       struct hf_metrics_name_ref *name, bool contended);

/* Give the entry ${index} to ${name}, unless it has it.  Between begin and
 * end. */
void hf_metrics_take(struct hf_metrics_block *block, size_t index,
                     const struct hf_metrics_name_ref *name);

#endif
