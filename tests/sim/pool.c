/* SPDX-License-Identifier: Apache-2.0 */
/* One array, used from its beginning; what is freed waits in a list for the
 * next that needs as much.  All of that lies in the array and is kept with it.
 */
#include "pool.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define POOL_BYTES (1u << 20)
#define UNIT sizeof(max_align_t)
#define UNITS_MOST 128 /* of one allocation */

/* In front of each allocation. */
union header {
    struct {
        size_t units;       /* behind it */
        union header *next; /* while it is free */
    } of;
    max_align_t aligned;
};

static struct pool {
    size_t used;                        /* of .memory */
    union header *free[UNITS_MOST + 1]; /* by their units */
    _Alignas(max_align_t) unsigned char memory[POOL_BYTES];
} pool;

static void give_up(const char *why)
{
    fprintf(stderr, "sim: %s\n", why);
    abort();
}

static union header *make(size_t units)
{
    size_t bytes = sizeof(union header) + units * UNIT;
    union header *made = (union header *)(void *)&pool.memory[pool.used];

    if (units > UNITS_MOST || bytes > POOL_BYTES - pool.used)
        give_up("the pool is too small for what the core allocates");
    pool.used += bytes;
    made->of.units = units;
    return made;
}

static void *allocate(size_t bytes, void *arg)
{
    size_t units = (bytes + UNIT - 1) / UNIT;
    union header *header = units <= UNITS_MOST ? pool.free[units] : NULL;

    (void)arg;
    if (header != NULL)
        pool.free[units] = header->of.next;
    else
        header = make(units);
    return header + 1;
}

static void release(void *memory, void *arg)
{
    union header *header = (union header *)memory - 1;

    (void)arg;
    header->of.next = pool.free[header->of.units];
    pool.free[header->of.units] = header;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    union header *old = (union header *)memory - 1;
    size_t before = memory == NULL ? 0 : old->of.units * UNIT;
    void *resized = allocate(bytes, arg);

    if (memory == NULL)
        return resized;
    memcpy(resized, memory, before < bytes ? before : bytes);
    release(memory, arg);
    return resized;
}

void pool_own(void)
{
    static const struct hf_allocator allocator = {allocate, resize, release,
                                                  NULL};

    if (hf_set_allocator(&allocator) != HF_OK)
        give_up("the library has allocated before it was given the pool");
}

size_t pool_bytes(void)
{
    return offsetof(struct pool, memory) + pool.used;
}

void pool_keep(void *to)
{
    memcpy(to, &pool, pool_bytes());
}

void pool_return(const void *from)
{
    size_t used;

    memcpy(&used, from, sizeof used); /* it comes first */
    pool.used = used;
    memcpy(&pool, from, pool_bytes());
}
