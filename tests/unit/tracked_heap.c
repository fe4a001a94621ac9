/* SPDX-License-Identifier: Apache-2.0 */
#include "tracked_heap.h"

#include <assert.h>
#include <stdlib.h>

#include <holdfast/holdfast.h>

/* As a list of pointers, behind each of which is what was asked for. */
union block {
    struct {
        union block *next;
        union block **link;
    } position;
    long double aligned;
};

static union block *first;
static bool refuses;

static void put(union block *block)
{
    block->position.next = first;
    block->position.link = &first;
    if (first != NULL)
        first->position.link = &block->position.next;
    first = block;
}

static void take(union block *block)
{
    *block->position.link = block->position.next;
    if (block->position.next != NULL)
        block->position.next->position.link = block->position.link;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    union block *block = memory == NULL ? NULL : (union block *)memory - 1;
    union block *resized;

    (void)arg;
    if (refuses)
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

void tracked_heap_fail(bool wanted)
{
    refuses = wanted;
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
