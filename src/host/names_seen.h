/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names a walk has seen, so that none comes twice: an engine may name a
 * queue again, and a semaphore has two.
 *
 * Of each name there are the first 16 bytes of its SHA-256.  Two names that
 * have these in common are not met by chance.
 */
#ifndef HF_HOST_NAMES_SEEN_H
#define HF_HOST_NAMES_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_names_digest {
    uint8_t bytes[16];
};

/* Zeroed: none. */
struct hf_names_seen {
    struct hf_names_digest *entries; /* a table by digest; zeros: free */
    size_t capacity;                 /* 0, or a power of two */
    size_t count;
};

/* Add ${name}, as one of the kind ${sort}.  Sets ${added} to false if it was
 * there.  False for lack of memory. */
bool hf_names_seen_add(struct hf_names_seen *seen, char sort, const char *name,
                       bool *added);

void hf_names_seen_free(struct hf_names_seen *seen);

#endif
