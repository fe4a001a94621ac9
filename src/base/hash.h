/* SPDX-License-Identifier: Apache-2.0 */
/* A hash of a text: FNV-1a (Fowler, Noll, Vo), which files may rely on.  It
 * spreads names that differ in few letters, and is no defence against somebody
 * who looks for names with equal hashes. */
#ifndef HF_BASE_HASH_H
#define HF_BASE_HASH_H

#include <stdint.h>

static inline uint32_t hf_hash_text(const char *text)
{
    uint32_t hash = UINT32_C(2166136261);

    for (; *text != '\0'; text++)
        hash = (hash ^ (uint8_t)*text) * UINT32_C(16777619);
    return hash;
}

#endif
