/* SPDX-License-Identifier: Apache-2.0 */
/* The read/write lock that counts per owner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "home.h"
#include "kit.h"

#define NAME "ledger"

struct world {
    struct home home;
    struct hf_rwlock *rwlock;
};

static void world_open(struct world *world, const struct hf_rwlock_opts *opts)
{
    home_open(&world->home);
    assert_int_equal(
        hf_rwlock_open(world->home.client, NAME, opts, &world->rwlock), HF_OK);
}

static void world_close(struct world *world)
{
    hf_rwlock_free(world->rwlock);
    home_close(&world->home);
}

/* What another thread does, and what comes of it. */
struct errand {
    struct hf_rwlock *rwlock;
    hf_status status;
};

static void *try_read_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_rwlock_tryrdlock(errand->rwlock);
    if (errand->status == HF_OK)
        errand->status = hf_rwlock_rdunlock(errand->rwlock);
    return NULL;
}

static void *try_write_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_rwlock_trywrlock(errand->rwlock);
    if (errand->status == HF_OK)
        errand->status = hf_rwlock_wrunlock(errand->rwlock);
    return NULL;
}

static void *timed_read_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_rwlock_timedrdlock(errand->rwlock, 30);
    return NULL;
}

static void *timed_write_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_rwlock_timedwrlock(errand->rwlock, 30);
    return NULL;
}

static void *unlock_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_rwlock_rdunlock(errand->rwlock);
    if (errand->status == HF_EOWNER)
        errand->status = hf_rwlock_wrunlock(errand->rwlock);
    return NULL;
}

static hf_status elsewhere(void *(*what)(void *arg), struct world *world)
{
    struct errand errand = {world->rwlock, HF_EBUG};

    kit_elsewhere(what, &errand);
    return errand.status;
}

/* ---------------------------------------------------------------------- */

static void readers_share_and_count(void **state)
{
    struct world w;
    uint64_t token;

    (void)state;
    world_open(&w, NULL);
    assert_true(hf_rwlock_token(w.rwlock) == 0);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    token = hf_rwlock_token(w.rwlock);
    assert_true(token > 0);
    assert_int_equal(hf_rwlock_tryrdlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_timedrdlock(w.rwlock, 10), HF_OK);
    assert_true(hf_rwlock_token(w.rwlock) == token);
    assert_int_equal(place_tickets(&w.home.place), 1);
    assert_int_equal(elsewhere(try_read_main, &w), HF_OK);
    assert_int_equal(elsewhere(try_write_main, &w), HF_EBUSY);
    assert_int_equal(elsewhere(timed_write_main, &w), HF_ETIMEDOUT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(place_tickets(&w.home.place), 1);
        assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_EOWNER);
        assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_OK);
    }
    assert_int_equal(place_tickets(&w.home.place), 0);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_EOWNER);
    world_close(&w);
}

static void a_writer_is_alone_and_counts(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_trywrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_timedwrlock(w.rwlock, 10), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &w), HF_EBUSY);
    assert_int_equal(elsewhere(try_write_main, &w), HF_EBUSY);
    assert_int_equal(elsewhere(timed_read_main, &w), HF_ETIMEDOUT);
    assert_int_equal(elsewhere(unlock_main, &w), HF_EOWNER);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_EOWNER);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(elsewhere(try_read_main, &w), HF_EBUSY);
        assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_OK);
    }
    assert_int_equal(elsewhere(try_write_main, &w), HF_OK);
    world_close(&w);
}

static void the_last_write_leaves_a_reader(void **state)
{
    struct world w;
    uint64_t token;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    token = hf_rwlock_token(w.rwlock);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &w), HF_EBUSY);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &w), HF_EBUSY);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &w), HF_OK);
    assert_int_equal(elsewhere(try_write_main, &w), HF_EBUSY);
    assert_true(hf_rwlock_token(w.rwlock) == token);
    assert_int_equal(hf_rwlock_trywrlock(w.rwlock), HF_EREENTRANT);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_write_main, &w), HF_OK);
    world_close(&w);
}

static void a_write_may_outlast_the_reads_in_it(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_OK);
    assert_int_equal(elsewhere(try_read_main, &w), HF_EBUSY);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_OK);
    assert_int_equal(place_tickets(&w.home.place), 0);
    world_close(&w);
}

static void a_reader_cannot_become_a_writer(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_EREENTRANT);
    assert_int_equal(hf_rwlock_trywrlock(w.rwlock), HF_EREENTRANT);
    assert_int_equal(hf_rwlock_timedwrlock(w.rwlock, 10), HF_EREENTRANT);
    assert_int_equal(place_tickets(&w.home.place), 1);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_OK);
    world_close(&w);
}

static void owners_can_be_fibres(void **state)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
    struct world w;
    uint64_t current = 1;

    (void)state;
    opts.owner = home_fibre;
    opts.owner_arg = &current;
    world_open(&w, &opts);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    current = 2;
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_EOWNER);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    assert_int_equal(place_tickets(&w.home.place), 2);
    current = 3;
    assert_int_equal(hf_rwlock_trywrlock(w.rwlock), HF_EBUSY);
    current = 1;
    assert_int_equal(elsewhere(unlock_main, &w), HF_OK);
    current = 2;
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_OK);
    world_close(&w);
}

static bool cannot_read(void *arg)
{
    struct world *w = arg;
    hf_status status = hf_rwlock_tryrdlock(w->rwlock);

    if (status == HF_OK)
        assert_int_equal(hf_rwlock_rdunlock(w->rwlock), HF_OK);
    else
        assert_int_equal(status, HF_ELOST);
    return status != HF_OK;
}

static void fn05_a_lost_count_must_be_counted_down(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    place_rob(&w.home.place);
    kit_until(cannot_read, &w); /* the engine may take a moment to notice */
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_EOWNER);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_OK);
    world_close(&w);
}

static void freeing_releases(void **state)
{
    struct world w;
    struct hf_rwlock *other;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_open(w.home.client, NAME, NULL, &other), HF_OK);
    assert_int_equal(hf_rwlock_wrlock(other), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(other), HF_OK);
    assert_int_equal(hf_rwlock_tryrdlock(w.rwlock), HF_EBUSY);
    hf_rwlock_free(other);
    assert_int_equal(hf_rwlock_timedwrlock(w.rwlock, 5000), HF_OK);
    world_close(&w); /* and what is locked goes with it */
}

static void wrong_calls_are_refused(void **state)
{
    struct hf_rwlock_opts opts = HF_RWLOCK_OPTS_INIT;
    struct world w;
    struct hf_rwlock *made;
    struct hf_error error;

    (void)state;
    world_open(&w, NULL);
    opts.size--;
    assert_int_equal(hf_rwlock_open(w.home.client, NAME, &opts, &made),
                     HF_EINVAL);
    assert_null(made);
    hf_client_error(w.home.client, &error);
    assert_non_null(strstr(error.text, "hf_rwlock_open: "));
    assert_non_null(strstr(error.text, "HF_RWLOCK_OPTS_INIT"));
    assert_int_equal(hf_rwlock_open(w.home.client, "a//b", NULL, &made),
                     HF_ENAME);
    assert_null(made);
    hf_rwlock_free(NULL);
    world_close(&w);
}

static void a_closed_client_has_lost_all(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_rwlock_wrlock(w.rwlock), HF_OK);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_OK);
    assert_int_equal(hf_client_close(w.home.client), HF_OK);
    assert_int_equal(hf_rwlock_wrunlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdunlock(w.rwlock), HF_ELOST);
    assert_int_equal(hf_rwlock_rdlock(w.rwlock), HF_ECLOSED);
    hf_rwlock_free(w.rwlock);
    place_remove(&w.home.place);
}

/* ------------------------------------------------------------ exclusion -- */

enum { THREADS = 6, ROUNDS = 100 };

/* Plain: the lock alone keeps the two together. */
struct pair {
    struct hf_rwlock *rwlock;
    int one, two;
    _Atomic int failures;
};

static void check(struct pair *pair, bool holds)
{
    if (!holds)
        atomic_fetch_add(&pair->failures, 1);
}

/* Writes, reads on what it has written, and reads once more. */
static void *share_main(void *arg)
{
    struct pair *pair = arg;
    int seen;

    for (int i = 0; i < ROUNDS; i++) {
        check(pair, hf_rwlock_wrlock(pair->rwlock) == HF_OK);
        check(pair, hf_rwlock_rdlock(pair->rwlock) == HF_OK);
        pair->one++;
        pair->two++;
        seen = pair->one;
        check(pair, hf_rwlock_wrunlock(pair->rwlock) == HF_OK);
        check(pair, pair->one == seen && pair->two == seen);
        check(pair, hf_rwlock_rdunlock(pair->rwlock) == HF_OK);
        check(pair, hf_rwlock_rdlock(pair->rwlock) == HF_OK);
        check(pair, pair->one == pair->two);
        check(pair, hf_rwlock_rdunlock(pair->rwlock) == HF_OK);
    }
    return NULL;
}

static void nobody_writes_between_writing_and_reading(void **state)
{
    struct world w;
    struct pair pair = {.one = 0};
    pthread_t threads[THREADS];

    (void)state;
    world_open(&w, NULL);
    pair.rwlock = w.rwlock;
    for (int i = 0; i < THREADS; i++)
        threads[i] = kit_thread(share_main, &pair);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&pair.failures), 0);
    assert_int_equal(pair.one, THREADS * ROUNDS);
    assert_int_equal(pair.two, THREADS * ROUNDS);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_share_and_count),
        cmocka_unit_test(a_writer_is_alone_and_counts),
        cmocka_unit_test(the_last_write_leaves_a_reader),
        cmocka_unit_test(a_write_may_outlast_the_reads_in_it),
        cmocka_unit_test(a_reader_cannot_become_a_writer),
        cmocka_unit_test(owners_can_be_fibres),
        cmocka_unit_test(fn05_a_lost_count_must_be_counted_down),
        cmocka_unit_test(freeing_releases),
        cmocka_unit_test(wrong_calls_are_refused),
        cmocka_unit_test(a_closed_client_has_lost_all),
        cmocka_unit_test(nobody_writes_between_writing_and_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
