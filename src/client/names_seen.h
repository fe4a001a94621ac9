/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a walk has seen, so that none comes twice: an engine may name a
 * queue again, and a semaphore has two.
 *
 * Of each name there are the first 16 bytes of its SHA-256.  Two names that
 * have these in common are not met by chance.
 *
 * A server that lies can name locks without end, or send a walk in circles.  So
 * a walk ends when it has too many names, when it was too many pages without a
 * new one, or when it comes back again and again to where it was.  Circles are
 * found by Brent's algorithm ("An improved Monte Carlo factorization
 * algorithm", BIT 20, 1980): a place is remembered, after 1, 2, 4, 8... pages
 * another one.
 */
#ifndef HF_CLIENT_NAMES_SEEN_H
#define HF_CLIENT_NAMES_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_names_digest {
    uint8_t bytes[16];
};

/* More names than any service has that one walk could be of use for; they take
 * up to 512 MiB. */
#define HF_NAMES_SEEN_MAX ((size_t)1 << 24)
/* Redis has at most 2^32 keys, in a table of up to 2^33 places, of which each
 * page goes over 1000. */
#define HF_NAMES_BARREN_MAX (UINT64_C(1) << 24)
/* A walk that began again because a server was replaced may come back to where
 * it was, so it may do so some times. */
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
 * there.  False for lack of memory. */
bool hf_names_seen_add(struct hf_names_seen *seen, char sort, const char *name,
                       bool *added);

/* The walk goes on at ${cursor}, ${bytes} > 0 long, and all names before were
 * added.  False if it has no end. */
bool hf_names_seen_goes_on(struct hf_names_seen *seen, const char *cursor,
                           size_t bytes);

void hf_names_seen_free(struct hf_names_seen *seen);

#endif
