/* SPDX-License-Identifier: Apache-2.0 */
/* The read/write lock that counts per owner (src/client/rwlock.c). */
#include <string.h>

#include "cmocka/runner.h"
#include "mutex_fixture.h"
#include "process.h"

#define NAME "ledger"

struct rwlock_fixture {
    struct mutex_fixture base;
    struct hf_rwlock *rwlock;
};

static void fixture_open(struct rwlock_fixture *f,
                         const struct hf_rwlock_opts *opts)
{
    mutex_fixture_open(&f->base);
    assert_int_equal(hf_rwlock_open(f->base.client, NAME, opts, &f->rwlock),
                     HF_OK);
}

static void fixture_close(struct rwlock_fixture *f)
{
    hf_rwlock_free(f->rwlock);
    mutex_fixture_close(&f->base);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, opts)                                                       \
    CLOSED_BY(fixture_close) struct rwlock_fixture f;                          \
    fixture_open(&f, opts)

/* What another thread does, and the result. */
struct rwlock_attempt {
    struct hf_rwlock *rwlock;
    hf_status status;
};

static void *try_read_main(void *arg)
{
    struct rwlock_attempt *rwlock_attempt = arg;

    rwlock_attempt->status = hf_rwlock_tryrdlock(rwlock_attempt->rwlock);
    if (rwlock_attempt->status == HF_OK)
        rwlock_attempt->status = hf_rwlock_rdunlock(rwlock_attempt->rwlock);
    return NULL;
}

static void *try_write_main(void *arg)
{
    struct rwlock_attempt *rwlock_attempt = arg;

    rwlock_attempt->status = hf_rwlock_trywrlock(rwlock_attempt->rwlock);
    if (rwlock_attempt->status == HF_OK)
        rwlock_attempt->status = hf_rwlock_wrunlock(rwlock_attempt->rwlock);
    return NULL;
}

static void *timed_read_main(void *arg)
{
    struct rwlock_attempt *rwlock_attempt = arg;

    rwlock_attempt->status = hf_rwlock_timedrdlock(rwlock_attempt->rwlock, 30);
    return NULL;
}

static void *timed_write_main(void *arg)
{
    struct rwlock_attempt *rwlock_attempt = arg;

    rwlock_attempt->status = hf_rwlock_timedwrlock(rwlock_attempt->rwlock, 30);
    return NULL;
}

static void *unlock_main(void *arg)
{
    struct rwlock_attempt *rwlock_attempt = arg;

    rwlock_attempt->status = hf_rwlock_rdunlock(rwlock_attempt->rwlock);
    if (rwlock_attempt->status == HF_EOWNER)
        rwlock_attempt->status = hf_rwlock_wrunlock(rwlock_attempt->rwlock);
    return NULL;
}

static hf_status elsewhere(void *(*what)(void *arg), struct rwlock_fixture *f)
{
    struct rwlock_attempt rwlock_attempt = {f->rwlock, HF_EBUG};

    run_on_thread(what, &rwlock_attempt);
    return rwlock_attempt.status;
}

/* ---------------------------------------------------------------------- */

TEST(readers_share_and_count)
{
    uint64_t token;
    FIXTURE(f, NULL);
    assert_true(hf_rwlock_token(f.rwlock) == 0);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    token = hf_rwlock_token(f.rwlock);
    assert_true(token > 0);
    assert_int_equal(hf_rwlock_tryrdlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_timedrdlock(f.rwlock, 10), HF_OK);
    assert_true(hf_rwlock_token(f.rwlock) == token);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
    assert_int_equal(elsewhere(try_read_main, &f), HF_OK);
    assert_int_equal(elsewhere(try_write_main, &f), HF_EBUSY);
    assert_int_equal(elsewhere(timed_write_main, &f), HF_ETIMEDOUT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
        assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_EOWNER);
        assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_OK);
    }
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 0);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_EOWNER);
}

TEST(a_writer_is_alone_and_counts)
{
    FIXTURE(f, NULL);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_trywrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_timedwrlock(f.rwlock, 10), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &f), HF_EBUSY);
    assert_int_equal(elsewhere(try_write_main, &f), HF_EBUSY);
    assert_int_equal(elsewhere(timed_read_main, &f), HF_ETIMEDOUT);
    assert_int_equal(elsewhere(unlock_main, &f), HF_EOWNER);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_EOWNER);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(elsewhere(try_read_main, &f), HF_EBUSY);
        assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_OK);
    }
    assert_int_equal(elsewhere(try_write_main, &f), HF_OK);
}

TEST(the_last_write_leaves_a_reader)
{
    uint64_t token;
    FIXTURE(f, NULL);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    token = hf_rwlock_token(f.rwlock);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &f), HF_EBUSY);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &f), HF_EBUSY);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &f), HF_OK);
    assert_int_equal(elsewhere(try_write_main, &f), HF_EBUSY);
    assert_true(hf_rwlock_token(f.rwlock) == token);
    assert_int_equal(hf_rwlock_trywrlock(f.rwlock), HF_EREENTRANT);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_write_main, &f), HF_OK);
}

TEST(a_write_may_outlast_the_reads_in_it)
{
    FIXTURE(f, NULL);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &f), HF_EBUSY);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 0);
}

TEST(a_reader_cannot_become_a_writer)
{
    FIXTURE(f, NULL);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_EREENTRANT);
    assert_int_equal(hf_rwlock_trywrlock(f.rwlock), HF_EREENTRANT);
    assert_int_equal(hf_rwlock_timedwrlock(f.rwlock, 10), HF_EREENTRANT);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_OK);
}

TEST(owners_can_be_fibres)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
    struct rwlock_fixture f;
    uint64_t current = 1;

    opts.owner = owner_at;
    opts.owner_arg = &current;
    fixture_open(&f, &opts);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    current = 2;
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_EOWNER);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 2);
    current = 3;
    assert_int_equal(hf_rwlock_trywrlock(f.rwlock), HF_EBUSY);
    current = 1;
    assert_int_equal(elsewhere(unlock_main, &f), HF_OK);
    current = 2;
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_OK);
    fixture_close(&f);
}

/* The loss may be noticed between the two calls. */
static bool cannot_read(void *arg)
{
    struct rwlock_fixture *f = arg;
    hf_status status = hf_rwlock_tryrdlock(f->rwlock);

    if (status == HF_OK)
        status = hf_rwlock_rdunlock(f->rwlock);
    if (status != HF_OK)
        assert_int_equal(status, HF_ELOST);
    return status != HF_OK;
}

TEST(fn05_a_lost_count_must_be_counted_down)
{
    FIXTURE(f, NULL);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    client_directory_remove_tickets(&f.base.directory);
    wait_until(cannot_read, &f); /* the engine may take a moment to notice */
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_EOWNER);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_OK);
}

TEST(freeing_releases)
{
    struct rwlock_fixture f;
    struct hf_rwlock *other;

    fixture_open(&f, NULL);
    assert_int_equal(hf_rwlock_open(f.base.client, NAME, NULL, &other), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(other), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(other), HF_OK);
    assert_int_equal(hf_rwlock_tryrdlock(f.rwlock), HF_EBUSY);
    hf_rwlock_free(other);
    assert_int_equal(hf_rwlock_timedwrlock(f.rwlock, 5000), HF_OK);
    fixture_close(&f); /* what is locked is released with it */
}

TEST(wrong_calls_are_refused)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
    struct hf_rwlock *made;
    FIXTURE(f, NULL);
    opts.size = sizeof(opts.size);
    assert_int_equal(hf_rwlock_open(f.base.client, NAME, &opts, &made),
                     HF_EINVAL);
    assert_null(made);
    assert_non_null(strstr(hf_last_error()->text, "hf_rwlock_open: "));
    assert_non_null(strstr(hf_last_error()->text, "HF_RWLOCK_OPTS_INIT"));
    assert_int_equal(hf_rwlock_open(f.base.client, "a//b", NULL, &made),
                     HF_ENAME);
    assert_null(made);
    hf_rwlock_free(NULL);
}

TEST(a_closed_client_has_lost_all)
{
    struct rwlock_fixture f;

    fixture_open(&f, NULL);
    assert_int_equal(hf_rwlock_wrlock(f.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_OK);
    assert_int_equal(hf_client_close(f.base.client), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdunlock(f.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdlock(f.rwlock), HF_ECLOSED);
    hf_rwlock_free(f.rwlock);
    client_directory_remove(&f.base.directory);
}

/* ------------------------------------------------------------- exclusion -- */

enum { THREADS = 6, REPEATS = 100 };

/* Not atomic: only the lock keeps the two together. */
struct value_pair {
    struct hf_rwlock *rwlock;
    int one, two;
    _Atomic int failures;
};

static void check(struct value_pair *value_pair, bool holds)
{
    if (!holds)
        atomic_fetch_add(&value_pair->failures, 1);
}

/* Writes, reads what it has written, and reads once more. */
static void *share_main(void *arg)
{
    struct value_pair *value_pair = arg;
    int seen;

    for (int i = 0; i < REPEATS; i++) {
        check(value_pair, hf_rwlock_wrlock(value_pair->rwlock) == HF_OK);
        check(value_pair, hf_rwlock_rdlock(value_pair->rwlock) == HF_OK);
        value_pair->one++;
        value_pair->two++;
        seen = value_pair->one;
        check(value_pair, hf_rwlock_wrunlock(value_pair->rwlock) == HF_OK);
        check(value_pair, value_pair->one == seen && value_pair->two == seen);
        check(value_pair, hf_rwlock_rdunlock(value_pair->rwlock) == HF_OK);
        check(value_pair, hf_rwlock_rdlock(value_pair->rwlock) == HF_OK);
        check(value_pair, value_pair->one == value_pair->two);
        check(value_pair, hf_rwlock_rdunlock(value_pair->rwlock) == HF_OK);
    }
    return NULL;
}

TEST(nobody_writes_between_writing_and_reading)
{
    struct value_pair value_pair = {.one = 0};
    pthread_t threads[THREADS];
    FIXTURE(f, NULL);
    value_pair.rwlock = f.rwlock;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_thread(share_main, &value_pair);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&value_pair.failures), 0);
    assert_int_equal(value_pair.one, THREADS * REPEATS);
    assert_int_equal(value_pair.two, THREADS * REPEATS);
}
