/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scenario again and again, with one allocation more that succeeds. */
#include "allocation_faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "heap/heap.h"

static struct {
    unsigned long nth; /* which allocation fails, from 1; 0: none */
    bool all_after;    /* all later ones fail too */
} faults;

/* ----------------------------------------------------------------- cases -- */

bool all_allocations_fail(void)
{
    return faults.all_after;
}

uint64_t allocation_wait_ms(void)
{
    return faults.all_after ? 30 : 10000;
}

bool status_is_expected(hf_status status)
{
    enum hf_class class = hf_status_class(status);
    bool expected = status == HF_OK ||
                    (faults.nth != 0 && class == HF_CLASS_RESOURCE) ||
                    (faults.all_after && class == HF_CLASS_TIMEOUT);

    if (!expected)
        print_error("allocation %lu%s: %s\n", faults.nth,
                    faults.all_after ? " and all after it" : "",
                    hf_status_name(status));
    assert_true(expected);
    return status == HF_OK;
}

/* ------------------------------------------------------------- the sweep -- */

static bool is_released(void *arg)
{
    (void)arg;
    return heap_live() == 0;
}

/* Detached threads free their memory when they end, so this waits until all
 * of it is freed. */
static void run_once(void (*scenario)(const struct client_directory *directory))
{
    struct client_directory directory;

    client_directory_create(&directory);
    heap_fail(faults.nth, faults.all_after);
    scenario(&directory);
    wait_until(is_released, NULL);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    client_directory_remove(&directory);
}

void fail_each_allocation(
    void (*scenario)(const struct client_directory *directory), bool all_after)
{
    run_once(scenario);
    assert_true(heap_calls() > 3);
    faults.all_after = all_after;
    do {
        faults.nth++;
        assert_true(faults.nth < 1000);
        run_once(scenario);
    } while (heap_failed());
    assert_true(faults.nth > 3);
    faults.nth = 0;
    faults.all_after = false;
    heap_fail(0, false);
}
