/* SPDX-License-Identifier: Apache-2.0 */
#include "shortage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "heap/heap.h"

static struct {
    unsigned long nth; /* the allocation that fails, from 1; 0: none */
    bool for_good;     /* and all after it */
} shortage;

/* ---------------------------------------------------------------- stories */

bool shortage_is_for_good(void)
{
    return shortage.for_good;
}

uint64_t shortage_patience_ms(void)
{
    return shortage.for_good ? 30 : 10000;
}

bool shortage_note(hf_status status)
{
    enum hf_class class = hf_status_class(status);
    bool expected = status == HF_OK ||
                    (shortage.nth != 0 && class == HF_CLASS_RESOURCE) ||
                    (shortage.for_good && class == HF_CLASS_TIMEOUT);

    if (!expected)
        print_error("allocation %lu%s: %s\n", shortage.nth,
                    shortage.for_good ? " and all after it" : "",
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
    heap_fail(shortage.nth, shortage.for_good);
    story(&place);
    kit_until(all_is_released, NULL);
    assert_int_equal(place_tickets(&place), 0);
    place_remove(&place);
}

void shortage_sweep(void (*story)(const struct place *place), bool for_good)
{
    tell(story);
    assert_true(heap_calls() > 3);
    shortage.for_good = for_good;
    do {
        shortage.nth++;
        assert_true(shortage.nth < 1000);
        tell(story);
    } while (heap_failed());
    assert_true(shortage.nth > 3);
    shortage.nth = 0;
    shortage.for_good = false;
    heap_fail(0, false);
}
