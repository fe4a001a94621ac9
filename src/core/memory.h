/* SPDX-License-Identifier: Apache-2.0 */
/* Every byte of the library's own memory, from the one allocator that
 * hf_set_allocator() may have put in place.  All may be called by any
 * thread. */
#ifndef HF_CORE_MEMORY_H
#define HF_CORE_MEMORY_H

#include <stddef.h>

#include <holdfast/holdfast.h>

/* The one in place, for those who have a copy of these functions: modules. */
const struct hf_allocator *hf_allocator_in_use(void);

/* ${bytes} > 0 bytes of zeros, or NULL. */
void *hf_alloc(size_t bytes) __attribute__((malloc, warn_unused_result));

/* As realloc() with ${bytes} > 0: what is added is not zeroed; on failure NULL
 * and ${memory} stays as it was. */
void *hf_realloc(void *memory, size_t bytes)
    __attribute__((warn_unused_result));

/* NULL is fine. */
void hf_free(void *memory);

/* A copy of ${text}, or NULL. */
char *hf_strdup(const char *text) __attribute__((malloc, warn_unused_result));

#endif
