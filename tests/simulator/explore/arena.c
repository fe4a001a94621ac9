/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks have sizes of powers of two, with a list of freed blocks for each
 * size. Blocks are never divided or joined (the buddy system of Knowlton, 1965,
 * without joining buddies). */
#include "simulator/explore/arena.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#define ARENA_BYTES (1 << 20)
#define SIZES 20 /* a block has at most 1 << (SIZES - 1) bytes */

struct block {
    unsigned size; /* the block has 1 << .size bytes, this header included */
    struct block *next;
    alignas(max_align_t) unsigned char memory[];
};

/* A copy has only the bytes that are used. */
static struct arena {
    size_t used; /* of .bytes */
    struct block *released[SIZES];
    alignas(max_align_t) unsigned char bytes[ARENA_BYTES];
} arena;

struct arena_copy {
    size_t bytes;
    alignas(max_align_t) unsigned char memory[];
};

static unsigned size_for(size_t bytes)
{
    unsigned size = 6;

    while (((size_t)1 << size) < bytes + sizeof(struct block))
        size++;
    return size;
}

/* The allocator's functions, see hf_set_allocator(). */
static void *allocate(size_t bytes, void *arg)
{
    unsigned size = size_for(bytes);
    struct block *block = size < SIZES ? arena.released[size] : NULL;

    (void)arg;
    if (block != NULL) {
        arena.released[size] = block->next;
        return block->memory;
    }
    if (((size_t)1 << size) > ARENA_BYTES - arena.used) {
        fputs("tests/simulator/explore/arena.c: ARENA_BYTES is too little\n",
              stderr);
        abort();
    }
    block = (struct block *)(void *)&arena.bytes[arena.used];
    block->size = size;
    arena.used += (size_t)1 << size;
    return block->memory;
}

static struct block *block_of(void *memory)
{
    size_t offset = offsetof(struct block, memory);

    return (struct block *)(void *)((unsigned char *)memory - offset);
}

static void release(void *memory, void *arg)
{
    struct block *block = block_of(memory);

    (void)arg;
    block->next = arena.released[block->size];
    arena.released[block->size] = block;
}

/* A block that is large enough stays where it is. */
static void *resize(void *memory, size_t bytes, void *arg)
{
    struct block *block;
    void *larger;

    if (memory == NULL)
        return allocate(bytes, arg);
    block = block_of(memory);
    if (size_for(bytes) <= block->size)
        return memory;
    larger = allocate(bytes, arg);
    memcpy(larger, memory, ((size_t)1 << block->size) - sizeof *block);
    release(memory, arg);
    return larger;
}

void arena_begin(void)
{
    const struct hf_allocator allocator = {allocate, resize, release, NULL};

    if (hf_set_allocator(&allocator) != HF_OK)
        abort();
}

struct arena_copy *arena_save(void)
{
    size_t bytes = offsetof(struct arena, bytes) + arena.used;
    struct arena_copy *copy = malloc(sizeof *copy + bytes);

    if (copy == NULL)
        abort();
    copy->bytes = bytes;
    memcpy(copy->memory, &arena, bytes);
    return copy;
}

void arena_restore(const struct arena_copy *copy)
{
    memcpy(&arena, copy->memory, copy->bytes);
}
