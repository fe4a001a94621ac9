/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an embedded object to the object that it is embedded in, as in the Linux
 * kernel.  ${type} may be const.  That ${pointer} points to a ${member} is
 * checked when it is compiled.
 */
#ifndef HF_BASE_CONTAINER_OF_H
#define HF_BASE_CONTAINER_OF_H

#include <stddef.h>
#include <stdint.h>

/* The ${type} whose ${member} is at ${pointer}, which is not NULL. */
#define container_of(pointer, type, member)                                    \
    ((type *)((uintptr_t)(1 ? (pointer) : &((type *)0)->member) -              \
              offsetof(type, member)))

/* The same; NULL for NULL. */
#define container_of_or_null(pointer, type, member)                            \
    ((type *)hf_container_or_null(1 ? (pointer) : &((type *)0)->member,        \
                                  offsetof(type, member)))

static inline void *hf_container_or_null(const void *member, size_t offset)
{
    return member != NULL ? (void *)((uintptr_t)member - offset) : NULL;
}

#endif
