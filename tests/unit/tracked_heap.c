/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in a doubly linked list, so that one is removed without a search. */
#include "tracked_heap.h"

#include <assert.h>
#include <stdlib.h>

#include <holdfast/holdfast.h>

/* The head of a block; the caller's memory follows.  The union makes its size a
 * multiple of the strictest alignment. */
union block {
    struct {
        union block *next;
        union block **link;
    } list;
    long double aligned;
};

static union block *first;
static bool fails;

static void put(union block *block)
{
    block->list.next = first;
    block->list.link = &first;
    if (first != NULL)
        first->list.link = &block->list.next;
    first = block;
}

static void take(union block *block)
{
    *block->list.link = block->list.next;
    if (block->list.next != NULL)
        block->list.next->list.link = block->list.link;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    union block *block = memory == NULL ? NULL : (union block *)memory - 1;
    union block *resized;

    (void)arg;
    if (fails)
        return NULL;
    if (block != NULL)
        take(block);
    resized = realloc(block, sizeof(*block) + bytes);
    if (resized == NULL && block != NULL)
        put(block);
    if (resized == NULL)
        return NULL;
    put(resized);
    return resized + 1;
}

static void *allocate(size_t bytes, void *arg)
{
    return resize(NULL, bytes, arg);
}

static void release(void *memory, void *arg)
{
    (void)arg;
    take((union block *)memory - 1);
    free((union block *)memory - 1);
}

void tracked_heap_fail(bool fail)
{
    fails = fail;
}

size_t tracked_heap_blocks(void)
{
    size_t count = 0;

    for (const union block *block = first; block != NULL;
         block = block->list.next)
        count++;
    return count;
}

void tracked_heap_install(void)
{
    static const struct hf_allocator allocator = {allocate, resize, release,
                                                  NULL};
    static bool done;

    if (!done && hf_set_allocator(&allocator) != HF_OK)
        assert(false && "something was allocated before");
    done = true;
}
