/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own memory, all of it from the one allocator that
 * hf_set_allocator() may have set.  Every function may be called by any thread.
 */
#ifndef HF_BASE_MEMORY_H
#define HF_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct hf_allocator;

/* Return the allocator in use.  A module gets it from the library, because the
 * module has its own copy of these functions. */
const struct hf_allocator *hf_allocator_in_use(void);

/* Allocate ${bytes} > 0 bytes of zeros.  Returns NULL if there is no memory. */
void *hf_alloc(size_t bytes) __attribute__((malloc, warn_unused_result));

/* As realloc() with ${bytes} > 0: new bytes are not zeroed; on failure NULL,
 * and ${memory} stays as it was. */
void *hf_realloc(void *memory, size_t bytes)
    __attribute__((warn_unused_result));

/* Make the array at ${array} (a T **) large enough for ${count} elements.
 * ${*room} is the number of elements that it has room for.  That number is
 * doubled, so that an array that grows by one element at a time is seldom
 * moved.  New elements are not zeroed.  Returns false if there is no memory;
 * then nothing has changed. */
#define HF_ARRAY_ROOM(array, room, count)                                      \
    hf_array_room(array, room, count, sizeof **(array))

bool hf_array_room(void *array, size_t *room, size_t count, size_t bytes)
    __attribute__((warn_unused_result));

/* Free ${memory}; NULL is allowed. */
void hf_free(void *memory);

/* Return a copy of ${text}, or NULL if there is no memory. */
char *hf_strdup(const char *text) __attribute__((malloc, warn_unused_result));

#endif
