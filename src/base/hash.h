/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of texts and bytes: FNV-1a (Fowler, Noll, Vo).  The values never
 * change, so they may be stored in files.  The hash spreads names that differ
 * in few letters, but it is no defence against somebody who looks for names
 * with equal hashes. */
#ifndef HF_BASE_HASH_H
#define HF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t hf_hash_text(const char *text)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT32_C(16777619);
    return hash;
}

/* The same with 64 bits, of the ${count} bytes at ${bytes}. */
static inline uint64_t hf_hash64(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ at[i]) * UINT64_C(1099511628211);
    return hash;
}

#endif
