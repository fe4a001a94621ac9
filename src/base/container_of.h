/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an embedded object to the object that it is embedded in, as in the Linux
 * kernel.  ${type} may be const.  The compiler checks that ${pointer} has the
 * type of a pointer to that ${field}.
 */
#ifndef HF_BASE_CONTAINER_OF_H
#define HF_BASE_CONTAINER_OF_H

#include <stddef.h>
#include <stdint.h>

/* The ${type} whose ${field} is at ${pointer}, which is not NULL. */
#define container_of(pointer, type, field)                                     \
    ((type *)((uintptr_t)(1 ? (pointer) : &((type *)0)->field) -               \
              offsetof(type, field)))

/* The same; NULL for NULL. */
#define container_of_or_null(pointer, type, field)                             \
    ((type *)hf_container_or_null(1 ? (pointer) : &((type *)0)->field,         \
                                  offsetof(type, field)))

static inline void *hf_container_or_null(const void *field, size_t offset)
{
    return field != NULL ? (void *)((uintptr_t)field - offset) : NULL;
}

#endif
