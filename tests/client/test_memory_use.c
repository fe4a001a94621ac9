/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes one object takes in all layers with the file engine, on the
 * average of many.  The limits below are the contract; descriptors and
 * threads are not counted. */
#include <stdio.h>

#include "client/lock.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "process.h"

#define MANY 64
#define NAME "nightly/build"

/* Bytes. */
#define IDLE_MOST 160
#define SHARED_MOST 420 /* the cohort of its name included */
#define HELD_MOST 2800  /* some have watched their tickets by then */
#define WAITING_MOST 3700
#define COHORT_WAITER_MOST 1800

struct memory_use_fixture {
    struct client_directory directory;
    struct client_fixture fixture;
    struct client_fixture other; /* a client that nobody waits for */
    struct hf_lock *locks[MANY];
    struct outcome outcomes[MANY];
    _Atomic int waiting;
    int wanted;
};

static void fixture_open(struct memory_use_fixture *f)
{
    heap_install();
    *f = (struct memory_use_fixture){.wanted = 0};
    hosts_open(&f->directory, &f->fixture, &f->other, WAY_THREAD);
}

static void fixture_close(struct memory_use_fixture *f)
{
    for (size_t i = 0; i < MANY; i++)
        hf_lock_free(f->locks[i]);
    hosts_close(&f->directory, &f->fixture, &f->other);
    assert_int_equal(heap_live(), 0);
    assert_int_equal(heap_bytes(), 0);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct memory_use_fixture f;                      \
    fixture_open(&f)

/* With names of their own, or all of NAME.  Only what the client makes for
 * each lock is counted, so its first use is over. */
static void open_locks(struct memory_use_fixture *f, bool of_one_name)
{
    char name[64];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof(name), "nightly/%d", i);
        f->locks[i] = client_open_lock(&f->fixture, of_one_name ? NAME : name);
    }
}

static void check_bytes(const char *what, long before, long most)
{
    long each = (heap_bytes() - before) / MANY;

    printf("%-22s %5ld bytes each, at most %ld\n", what, each, most);
    assert_true(each > 0);
    assert_true(each <= most);
}

TEST(an_idle_lock)
{
    long before;
    FIXTURE(f);
    before = heap_bytes();
    open_locks(&f, false);
    check_bytes("idle lock", before, IDLE_MOST);
}

TEST(an_idle_lock_that_shares_its_tickets)
{
    long before;
    FIXTURE(f);
    before = heap_bytes();
    open_locks(&f, false);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(hf_lock_join_cohort(f.locks[i], "test", MANY, 0),
                         HF_OK);
        assert_int_equal(
            client_give(&f.fixture, client_take(&f.fixture, f.locks[i])),
            HF_OK);
    }
    check_bytes("idle, shared", before, SHARED_MOST);
}

TEST(a_held_lock)
{
    struct hf_grant *grants[MANY];
    long before;
    FIXTURE(f);
    open_locks(&f, false);
    assert_int_equal(
        client_give(&f.fixture, client_take(&f.fixture, f.locks[0])), HF_OK);
    before = heap_bytes();
    for (size_t i = 0; i < MANY; i++)
        grants[i] = client_take(&f.fixture, f.locks[i]);
    check_bytes("held", before, HELD_MOST);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(client_give(&f.fixture, grants[i]), HF_OK);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct memory_use_fixture *f = arg;

    (void)wait;
    atomic_fetch_add(&f->waiting, 1);
}

static bool all_wait(void *arg)
{
    struct memory_use_fixture *f = arg;

    return atomic_load(&f->waiting) >= f->wanted;
}

/* All of them behind one ticket of another client. */
static void check_waiters(struct memory_use_fixture *f, const char *what,
                          long most)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_lock *before_them = client_open_lock(&f->other, NAME);
    struct hf_grant *grant = client_take(&f->other, before_them);
    long before = heap_bytes();

    opts.on_wait = (struct hf_on_wait){on_wait, f, NULL};
    for (size_t i = 0; i < MANY; i++)
        client_acquire(&f->fixture, f->locks[i], &opts, &f->outcomes[i]);
    client_wait_until(&f->fixture, all_wait, f);
    check_bytes(what, before, most);
    assert_int_equal(client_give(&f->other, grant), HF_OK);
    for (size_t i = 0; i < MANY; i++) {
        client_await(&f->outcomes[i]);
        assert_int_equal(f->outcomes[i].status, HF_OK);
        assert_int_equal(client_give(&f->fixture, f->outcomes[i].grant), HF_OK);
        hf_op_free(f->outcomes[i].op);
    }
    hf_lock_free(before_them);
}

TEST(one_that_waits)
{
    FIXTURE(f);
    open_locks(&f, true);
    f.wanted = MANY;
    check_waiters(&f, "waiting", WAITING_MOST);
}

/* They share one ticket, and only the first is notified of its position. */
TEST(a_waiter_of_a_cohort)
{
    FIXTURE(f);
    open_locks(&f, true);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(hf_lock_join_cohort(f.locks[i], "test", MANY, 0),
                         HF_OK);
    check_waiters(&f, "waiter of a cohort", COHORT_WAITER_MOST);
}
