/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---------------------------------------------------------- the allocator */

static struct {
    _Atomic long live;  /* allocated and not released */
    _Atomic long calls; /* since the story began */
    long fail_at;       /* which of them fails, from 1; 0: none */
    bool for_good;      /* and all after it */
    _Atomic long failed;
} heap;

static bool fails_now(void)
{
    long call = atomic_fetch_add(&heap.calls, 1) + 1;
    bool fails = heap.fail_at != 0 &&
                 (heap.for_good ? call >= heap.fail_at : call == heap.fail_at);

    if (fails)
        atomic_fetch_add(&heap.failed, 1);
    return fails;
}

static void *allocate(size_t bytes, void *arg)
{
    void *memory;

    assert_ptr_equal(arg, &heap);
    if (fails_now())
        return NULL;
    memory = malloc(bytes);
    if (memory != NULL)
        atomic_fetch_add(&heap.live, 1);
    return memory;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    void *resized;

    assert_ptr_equal(arg, &heap);
    if (fails_now())
        return NULL;
    resized = realloc(memory, bytes);
    if (memory == NULL && resized != NULL)
        atomic_fetch_add(&heap.live, 1);
    return resized;
}

static void release(void *memory, void *arg)
{
    assert_ptr_equal(arg, &heap);
    assert_non_null(memory);
    free(memory);
    atomic_fetch_sub(&heap.live, 1);
}

const struct hf_allocator heap_allocator = {allocate, resize, release, &heap};

/* ---------------------------------------------------------------- stories */

bool heap_fails_for_good(void)
{
    return heap.for_good;
}

long heap_live(void)
{
    return atomic_load(&heap.live);
}

uint64_t heap_patience_ms(void)
{
    return heap.for_good ? 30 : 10000;
}

bool heap_note(hf_status status)
{
    enum hf_class class = hf_status_class(status);
    bool expected = status == HF_OK ||
                    (heap.fail_at != 0 && class == HF_CLASS_RESOURCE) ||
                    (heap.for_good && class == HF_CLASS_TIMEOUT);

    if (!expected)
        print_error("allocation %ld%s: %s\n", heap.fail_at,
                    heap.for_good ? " and all after it" : "",
                    hf_status_name(status));
    assert_true(expected);
    return status == HF_OK;
}

/* ------------------------------------------------------------- the sweep */

static bool all_is_released(void *arg)
{
    (void)arg;
    return heap_live() == 0;
}

/* Threads that nobody waits for give theirs back in their own time. */
static void tell(void (*story)(const struct place *place))
{
    struct place place;

    place_make(&place);
    atomic_store(&heap.calls, 0);
    atomic_store(&heap.failed, 0);
    story(&place);
    heap.fail_at = 0;
    kit_until(all_is_released, NULL);
    assert_int_equal(place_tickets(&place), 0);
    place_remove(&place);
}

void heap_sweep(void (*story)(const struct place *place), bool for_good)
{
    long nth;

    tell(story);
    assert_true(atomic_load(&heap.calls) > 3);
    heap.for_good = for_good;
    for (nth = 1;; nth++) {
        assert_true(nth < 1000);
        heap.fail_at = nth;
        tell(story);
        if (atomic_load(&heap.failed) == 0)
            break;
    }
    heap.for_good = false;
    assert_true(nth > 3);
}
