/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of the stage: it counts, and fails when it is told to. */
#include <holdfast/holdfast.h>

#include "zk_stage.h"

static struct {
    long live;
    unsigned long fail_in;
    bool failed;
    bool ours; /* it is the stage that allocates */
} heap;

static bool fails_now(void)
{
    if (heap.ours || heap.fail_in == 0 || --heap.fail_in > 0)
        return false;
    heap.failed = true;
    return true;
}

static void *allocate(size_t bytes, void *arg)
{
    void *memory = fails_now() ? NULL : malloc(bytes);

    (void)arg;
    heap.live += memory != NULL;
    return memory;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    void *resized = fails_now() ? NULL : realloc(memory, bytes);

    (void)arg;
    heap.live += memory == NULL && resized != NULL;
    return resized;
}

static void release(void *memory, void *arg)
{
    (void)arg;
    heap.live--;
    free(memory);
}

void stage_own_the_heap(void)
{
    static const struct hf_allocator allocator = {allocate, resize, release,
                                                  NULL};
    static bool owned;

    heap.live = 0; /* a story that failed leaves everything */
    heap.fail_in = 0;
    heap.failed = false;
    if (owned)
        return;
    STAGE_MUST(hf_set_allocator(&allocator) == HF_OK);
    owned = true;
}

void stage_fail_allocation(unsigned long nth)
{
    heap.fail_in = nth;
    heap.failed = false;
}

void stage_allocates(bool ours)
{
    heap.ours = ours;
}

bool stage_allocation_failed(void)
{
    return heap.failed;
}

long stage_allocations(void)
{
    return heap.live;
}
