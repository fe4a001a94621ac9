/* SPDX-License-Identifier: Apache-2.0 */
/* What an object takes of memory in all layers on files, on the average of
 * many: no more than is written here.  Descriptors and threads are not in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "heap/heap.h"
#include "host/lock.h"
#include "kit.h"

#define MANY 64
#define NAME "nightly/build"

/* Bytes. */
#define IDLE_MOST 160
#define SHARED_MOST 400 /* the cohort of its name included */
#define HELD_MOST 2500  /* some have watched their tickets by then */
#define WAITING_MOST 3250
#define MEMBER_MOST 1800

struct crowd {
    struct place place;
    struct front front;
    struct front other; /* a client in whose way nobody is */
    struct hf_lock *locks[MANY];
    struct outcome outcomes[MANY];
    _Atomic int placed;
    int wanted;
};

static void crowd_open(struct crowd *crowd)
{
    heap_install();
    *crowd = (struct crowd){.wanted = 0};
    fronts_open(&crowd->place, &crowd->front, &crowd->other, WAY_THREAD);
}

static void crowd_close(struct crowd *crowd)
{
    for (size_t i = 0; i < MANY; i++)
        hf_lock_free(crowd->locks[i]);
    fronts_close(&crowd->place, &crowd->front, &crowd->other);
    assert_int_equal(heap_live(), 0);
    assert_int_equal(heap_bytes(), 0);
}

/* Of names of their own, or all of NAME.  The first of them has been asked
 * about: what a client makes once is made. */
static void open_locks(struct crowd *crowd, bool of_one_name)
{
    char name[64];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "nightly/%d", i);
        crowd->locks[i] = front_lock(&crowd->front, of_one_name ? NAME : name);
    }
}

static void see(const char *what, long before, long most)
{
    long each = (heap_bytes() - before) / MANY;

    printf("%-22s %5ld bytes each, at most %ld\n", what, each, most);
    assert_true(each > 0);
    assert_true(each <= most);
}

static void an_idle_lock(void **state)
{
    struct crowd crowd;
    long before;

    (void)state;
    crowd_open(&crowd);
    before = heap_bytes();
    open_locks(&crowd, false);
    see("idle lock", before, IDLE_MOST);
    crowd_close(&crowd);
}

static void an_idle_lock_that_shares_its_tickets(void **state)
{
    struct crowd crowd;
    long before;

    (void)state;
    crowd_open(&crowd);
    before = heap_bytes();
    open_locks(&crowd, false);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(hf_lock_join_cohort(crowd.locks[i], "test", MANY),
                         HF_OK);
        assert_int_equal(
            front_give(&crowd.front, front_take(&crowd.front, crowd.locks[i])),
            HF_OK);
    }
    see("idle, shared", before, SHARED_MOST);
    crowd_close(&crowd);
}

static void a_held_lock(void **state)
{
    struct hf_grant *grants[MANY];
    struct crowd crowd;
    long before;

    (void)state;
    crowd_open(&crowd);
    open_locks(&crowd, false);
    assert_int_equal(
        front_give(&crowd.front, front_take(&crowd.front, crowd.locks[0])),
        HF_OK);
    before = heap_bytes();
    for (size_t i = 0; i < MANY; i++)
        grants[i] = front_take(&crowd.front, crowd.locks[i]);
    see("held", before, HELD_MOST);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(front_give(&crowd.front, grants[i]), HF_OK);
    crowd_close(&crowd);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct crowd *crowd = arg;

    (void)wait;
    atomic_fetch_add(&crowd->placed, 1);
}

static bool are_placed(void *arg)
{
    struct crowd *crowd = arg;

    return atomic_load(&crowd->placed) >= crowd->wanted;
}

/* All of them behind one ticket of another client. */
static void see_waiters(struct crowd *crowd, const char *what, long most)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_lock *before_them = front_lock(&crowd->other, NAME);
    struct hf_grant *grant = front_take(&crowd->other, before_them);
    long before = heap_bytes();

    opts.on_wait = (struct hf_on_wait){on_wait, crowd, NULL};
    for (size_t i = 0; i < MANY; i++)
        front_acquire(&crowd->front, crowd->locks[i], &opts,
                      &crowd->outcomes[i]);
    front_until(&crowd->front, are_placed, crowd);
    see(what, before, most);
    assert_int_equal(front_give(&crowd->other, grant), HF_OK);
    for (size_t i = 0; i < MANY; i++) {
        front_await(&crowd->outcomes[i]);
        assert_int_equal(crowd->outcomes[i].status, HF_OK);
        assert_int_equal(front_give(&crowd->front, crowd->outcomes[i].grant),
                         HF_OK);
        hf_op_free(crowd->outcomes[i].op);
    }
    hf_lock_free(before_them);
}

static void one_that_waits(void **state)
{
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd);
    open_locks(&crowd, true);
    crowd.wanted = MANY;
    see_waiters(&crowd, "waiting", WAITING_MOST);
    crowd_close(&crowd);
}

/* They have one ticket between them, and the first alone is told its place. */
static void a_waiter_of_a_cohort(void **state)
{
    struct crowd crowd;

    (void)state;
    crowd_open(&crowd);
    open_locks(&crowd, true);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(hf_lock_join_cohort(crowd.locks[i], "test", MANY),
                         HF_OK);
    see_waiters(&crowd, "waiter of a cohort", MEMBER_MOST);
    crowd_close(&crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_lock),
        cmocka_unit_test(an_idle_lock_that_shares_its_tickets),
        cmocka_unit_test(a_held_lock),
        cmocka_unit_test(one_that_waits),
        cmocka_unit_test(a_waiter_of_a_cohort),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
