/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a walk over names makes of the queues that an engine names: the name of
 * a lock, unless it was seen before; and the page of names that a user gets.
 */
#ifndef HF_CLIENT_NAMES_PAGE_H
#define HF_CLIENT_NAMES_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/lock.h>
#include <holdfast/names.h>

#include "core/ticket.h"

/* -------------------------------------------------- the name of a queue -- */

/* A queue that the engine has named and that is not in a page yet. */
struct hf_names_queue {
    const char *queue;
    bool participants;
    bool checked; /* .skipped and .sort are set */
    bool skipped; /* it was seen before, or is no lock's */
    char sort;    /* 'l': a lock, 's': a semaphore, 'p': a double barrier */
};

/* Room for a name that may have the end of a queue's. */
#define HF_NAMES_NAME_BYTES (HF_NAME_BYTES + sizeof HF_QUEUE_LEASES)

/* The length of ${queue} without ${end}; 0 if it does not end with that, or is
 * nothing else. */
size_t hf_names_bytes_before(const char *queue, const char *end);

/* Write the name of ${queue} as one of ${sort} to ${name}. */
void hf_names_format(const struct hf_names_queue *queue, char sort,
                     char name[HF_NAMES_NAME_BYTES]);

/* Can ${queue} belong to a lock, a semaphore or a double barrier with a valid
 * name below ${prefix}?  If so, sets ${name}, and .sort of ${queue}; if not,
 * both may have any value. */
bool hf_names_find(struct hf_names_queue *queue, const char *prefix,
                   char name[HF_NAMES_NAME_BYTES]);

/* ------------------------------------------------- names that were seen -- */

/* Which names a walk has seen, so that none comes twice: an engine may name a
 * queue again, and a semaphore has two.
 *
 * The first 16 bytes of the SHA-256 of each name are kept.  Two names that have
 * these in common are not met by chance.
 *
 * A server that lies can name locks without end, or send a walk in circles.  So
 * a walk ends when it has too many names, when it was too many pages without a
 * new one, or when it comes back again and again to where it was.  Circles are
 * found by Brent's algorithm ("An improved Monte Carlo factorization
 * algorithm", BIT 20, 1980): a place is remembered, after 1, 2, 4, 8... pages
 * another one. */
struct hf_names_digest {
    uint8_t bytes[16];
};

/* A walk over more names than these is of no use to anybody.  Their digests
 * take up to 512 MiB. */
#define HF_NAMES_SEEN_MAX ((size_t)1 << 24)
/* Redis has at most 2^32 keys, in a table of up to 2^33 entries.  Each page
 * goes over 1000 entries, so a walk has less than 2^24 pages. */
#define HF_NAMES_BARREN_MAX (UINT64_C(1) << 24)
/* A walk that began again because a server was replaced may come back to where
 * it was, so that is allowed a few times. */
#define HF_NAMES_RETURNS_MAX 8

/* Zeroed: none. */
struct hf_names_seen {
    struct hf_names_digest *entries; /* a table by digest; zeros: free */
    size_t capacity;                 /* 0, or a power of two */
    size_t count;
    size_t count_before;         /* .count at the page with the last new one */
    uint64_t barren;             /* pages since then */
    uint64_t marked;             /* .barren when .mark was set */
    struct hf_names_digest mark; /* a cursor of these pages */
    unsigned returns;            /* how often the walk came back to a mark */
};

/* Add ${name}, as one of the kind ${sort}.  Sets ${added} to false if it was
 * there already.  False for lack of memory. */
bool hf_names_seen_add(struct hf_names_seen *seen, char sort, const char *name,
                       bool *added);

/* May the walk go on to its next page, at ${cursor} of ${bytes} > 0?  Ask after
 * the names of all earlier answers were added.  False: too many names, too many
 * pages without a new one, or it came back to a page too often. */
bool hf_names_seen_goes_on(struct hf_names_seen *seen, const char *cursor,
                           size_t bytes);

void hf_names_seen_free(struct hf_names_seen *seen);

/* --------------------------------------------------------------- a page -- */

/* A page has of each name what its queue shows.  This is copied out of the list
 * of its tickets, which may be long and is not kept. */

/* The most names that a page has. */
#define HF_NAMES_VIEWS 256

struct hf_names_page {
    struct hf_name_view views[HF_NAMES_VIEWS];
    /* tickets[i] are the .holder and .waiter of views[i]; texts[i] is the
     * memory of its strings. */
    struct hf_ticket_view tickets[HF_NAMES_VIEWS][2];
    char *texts[HF_NAMES_VIEWS];
    size_t count;
    uint64_t looked_at;
    uint64_t unreadable;
};

/* Add ${name} with its ${tickets}, unless there are none.  False for lack of
 * memory. */
bool hf_names_page_add(struct hf_names_page *page, const char *name,
                       const struct hf_tickets *tickets);

#endif
