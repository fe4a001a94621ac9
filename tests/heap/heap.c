/* SPDX-License-Identifier: Apache-2.0 */
#include "heap/heap.h"

#include <assert.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

static struct {
    atomic_long live;
    atomic_long bytes;
    atomic_ulong calls;
    atomic_ulong fail_at; /* 0: never */
    atomic_bool for_good;
    atomic_bool failed;
    atomic_bool exempt;
    const char *_Atomic wanted; /* NULL: none */
    atomic_ulong found;
} heap;

static bool fails_now(void)
{
    unsigned long call, fail_at;

    if (heap.exempt)
        return false;
    call = atomic_fetch_add(&heap.calls, 1) + 1;
    fail_at = heap.fail_at;
    if (fail_at == 0 || call < fail_at || (call > fail_at && !heap.for_good))
        return false;
    heap.failed = true;
    return true;
}

static void *allocate(size_t bytes, void *arg)
{
    void *memory;

    assert(arg == &heap);
    if (fails_now())
        return NULL;
    memory = malloc(bytes);
    atomic_fetch_add(&heap.live, memory != NULL);
    atomic_fetch_add(&heap.bytes, (long)malloc_usable_size(memory));
    return memory;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    long before = (long)malloc_usable_size(memory);
    void *resized;

    assert(arg == &heap);
    if (fails_now())
        return NULL;
    resized = realloc(memory, bytes);
    atomic_fetch_add(&heap.live, memory == NULL && resized != NULL);
    if (resized != NULL)
        atomic_fetch_add(&heap.bytes,
                         (long)malloc_usable_size(resized) - before);
    return resized;
}

static void look(void *memory)
{
    const char *wanted = heap.wanted;

    if (wanted != NULL && memmem(memory, malloc_usable_size(memory), wanted,
                                 strlen(wanted)) != NULL)
        atomic_fetch_add(&heap.found, 1);
}

static void release(void *memory, void *arg)
{
    assert(arg == &heap);
    assert(memory != NULL);
    look(memory);
    atomic_fetch_sub(&heap.bytes, (long)malloc_usable_size(memory));
    free(memory);
    atomic_fetch_sub(&heap.live, 1);
}

void heap_install(void)
{
    static const struct hf_allocator allocator = {allocate, resize, release,
                                                  &heap};
    static hf_status status = HF_EBUG;

    heap.live = heap.bytes = 0;
    heap_fail(0, false);
    if (status != HF_OK)
        status = hf_set_allocator(&allocator);
    assert(status == HF_OK); /* nothing was allocated yet */
}

long heap_live(void)
{
    return heap.live;
}

long heap_bytes(void)
{
    return heap.bytes;
}

void heap_fail(unsigned long nth, bool for_good)
{
    heap.fail_at = nth;
    heap.for_good = for_good;
    heap.calls = 0;
    heap.failed = false;
}

unsigned long heap_calls(void)
{
    return heap.calls;
}

bool heap_failed(void)
{
    return heap.failed;
}

void heap_look_for(const char *text)
{
    heap.wanted = text;
    heap.found = 0;
}

unsigned long heap_found(void)
{
    return heap.found;
}

void heap_exempt(bool exempt)
{
    heap.exempt = exempt;
}
