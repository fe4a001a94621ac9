/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Macros that get from an embedded object to the object that contains it, as in
 * the Linux kernel.  ${type} may be const.  The compiler checks that ${pointer}
 * has the type of a pointer to ${field}.
 */
#ifndef HF_BASE_CONTAINER_OF_H
#define HF_BASE_CONTAINER_OF_H

#include <stddef.h>
#include <stdint.h>

/* The ${type} whose ${field} is at ${pointer}, which is not NULL. */
#define container_of(pointer, type, field)                                     \
    ((type *)((uintptr_t)(1 ? (pointer) : &((type *)0)->field) -               \
              offsetof(type, field)))

/* The same, but NULL if ${pointer} is NULL. */
#define container_of_or_null(pointer, type, field)                             \
    ((type *)hf_container_or_null(1 ? (pointer) : &((type *)0)->field,         \
                                  offsetof(type, field)))

static inline void *hf_container_or_null(const void *field, size_t offset)
{
    return field != NULL ? (void *)((uintptr_t)field - offset) : NULL;
}

#endif
