/* SPDX-License-Identifier: Apache-2.0 */
/* The reentrant mutex: counts, owners, and grants that end while counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "home.h"
#include "kit.h"

#define NAME "nightly"

struct world {
    struct home home;
    struct hf_mutex *mutex;
};

static void world_open(struct world *world, const struct hf_mutex_opts *opts)
{
    home_open(&world->home);
    assert_int_equal(
        hf_mutex_open(world->home.client, NAME, opts, &world->mutex), HF_OK);
}

static void world_close(struct world *world)
{
    hf_mutex_free(world->mutex);
    home_close(&world->home);
}

/* What another thread did, and what came of it. */
struct errand {
    struct hf_mutex *mutex;
    hf_status status;
    uint64_t token;
};

static void *try_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_mutex_trylock(errand->mutex);
    errand->token = hf_mutex_token(errand->mutex);
    if (errand->status == HF_OK)
        errand->status = hf_mutex_unlock(errand->mutex);
    return NULL;
}

static void *timed_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_mutex_timedlock(errand->mutex, 30);
    return NULL;
}

static void *unlock_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_mutex_unlock(errand->mutex);
    return NULL;
}

static struct errand elsewhere(void *(*what)(void *arg), struct hf_mutex *mutex)
{
    struct errand errand = {.mutex = mutex, .status = HF_EBUG};

    kit_elsewhere(what, &errand);
    return errand;
}

/* ---------------------------------------------------------------------- */

static void locking_again_counts(void **state)
{
    struct world w;
    uint64_t token;
    int i;

    (void)state;
    world_open(&w, NULL);
    assert_true(hf_mutex_token(w.mutex) == 0);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    token = hf_mutex_token(w.mutex);
    assert_true(token > 0);
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_timedlock(w.mutex, 10), HF_OK);
    assert_true(hf_mutex_token(w.mutex) == token);
    for (i = 0; i < 3; i++) {
        assert_int_equal(place_tickets(&w.home.place), 1);
        assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    }
    assert_int_equal(place_tickets(&w.home.place), 0);
    assert_true(hf_mutex_token(w.mutex) == 0);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_EOWNER);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_true(hf_mutex_token(w.mutex) > token);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    world_close(&w);
}

static void fn12_another_thread_is_another_owner(void **state)
{
    struct world w;
    struct errand errand;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    errand = elsewhere(try_main, w.mutex);
    assert_int_equal(errand.status, HF_EBUSY);
    assert_true(errand.token == 0);
    assert_int_equal(elsewhere(timed_main, w.mutex).status, HF_ETIMEDOUT);
    assert_int_equal(elsewhere(unlock_main, w.mutex).status, HF_EOWNER);
    assert_int_equal(place_tickets(&w.home.place), 1);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    assert_int_equal(elsewhere(try_main, w.mutex).status, HF_OK);
    world_close(&w);
}

static void another_client_is_another_owner(void **state)
{
    struct world w;
    struct hf_client *client;
    struct hf_mutex *theirs;

    (void)state;
    world_open(&w, NULL);
    client = kit_client(w.home.place.url);
    assert_int_equal(hf_mutex_open(client, "/" NAME, NULL, &theirs), HF_OK);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_trylock(theirs), HF_EBUSY);
    assert_int_equal(hf_mutex_timedlock(theirs, 30), HF_ETIMEDOUT);
    assert_int_equal(hf_mutex_unlock(theirs), HF_EOWNER);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_timedlock(theirs, 5000), HF_OK);
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_EBUSY);
    assert_int_equal(hf_mutex_unlock(theirs), HF_OK);
    hf_mutex_free(theirs);
    assert_int_equal(hf_client_close(client), HF_OK);
    world_close(&w);
}

/* Two fibres of one thread exclude each other, and one that moves to another
 * thread stays the owner. */
static void owners_can_be_fibres(void **state)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct world w;
    uint64_t current = 1;

    (void)state;
    opts.owner = home_fibre;
    opts.owner_arg = &current;
    world_open(&w, &opts);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    current = 2;
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_EBUSY);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_EOWNER);
    assert_true(hf_mutex_token(w.mutex) == 0);
    current = 1;
    assert_int_equal(elsewhere(unlock_main, w.mutex).status, HF_OK);
    assert_int_equal(elsewhere(unlock_main, w.mutex).status, HF_OK);
    current = 2;
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    world_close(&w);
}

struct counting {
    struct hf_mutex *mutex;
    int count;
    hf_status status;
};

static bool cannot_count_up(void *arg)
{
    struct counting *counting = arg;

    counting->status = hf_mutex_trylock(counting->mutex);
    counting->count += counting->status == HF_OK;
    return counting->status != HF_OK;
}

static void fn03_a_lost_count_must_be_counted_down(void **state)
{
    struct world w;
    struct counting counting;
    uint64_t token;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    token = hf_mutex_token(w.mutex);
    place_rob(&w.home.place);
    /* The engine may take a moment to notice. */
    counting = (struct counting){.mutex = w.mutex, .count = 2};
    kit_until(cannot_count_up, &counting);
    assert_int_equal(counting.status, HF_ELOST);
    while (counting.count-- > 0) {
        assert_int_equal(hf_mutex_lock(w.mutex), HF_ELOST);
        assert_int_equal(hf_mutex_timedlock(w.mutex, 1000), HF_ELOST);
        assert_true(hf_mutex_token(w.mutex) == token);
        assert_int_equal(hf_mutex_unlock(w.mutex), HF_ELOST);
    }
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_EOWNER);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_true(hf_mutex_token(w.mutex) > token);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    world_close(&w);
}

static bool can_be_had_elsewhere(void *arg)
{
    struct errand *errand = arg;

    *errand = elsewhere(try_main, errand->mutex);
    return errand->status != HF_EBUSY;
}

/* The next owner may have its grant while the first has its lost one on
 * record, and neither takes the other's for its own. */
static void a_lost_owner_and_a_new_one(void **state)
{
    struct world w;
    struct errand errand;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    place_rob(&w.home.place);
    /* The engine may take a moment to notice. */
    errand.mutex = w.mutex;
    kit_until(can_be_had_elsewhere, &errand);
    assert_int_equal(errand.status, HF_OK);
    assert_true(errand.token > hf_mutex_token(w.mutex));
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_OK);
    assert_int_equal(elsewhere(try_main, w.mutex).status, HF_EBUSY);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    world_close(&w);
}

static void *lock_and_leave_main(void *arg)
{
    struct errand *errand = arg;

    errand->status = hf_mutex_lock(errand->mutex);
    return NULL;
}

/* Thread numbers are not reused as thread ids are: whoever comes after a
 * thread that ended as the owner does not inherit from it. */
static void nobody_inherits(void **state)
{
    struct world w;
    int i;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(elsewhere(lock_and_leave_main, w.mutex).status, HF_OK);
    for (i = 0; i < 20; i++) {
        assert_int_equal(elsewhere(try_main, w.mutex).status, HF_EBUSY);
        assert_int_equal(elsewhere(unlock_main, w.mutex).status, HF_EOWNER);
    }
    world_close(&w); /* frees the mutex, and what is locked with it */
}

static void freeing_releases(void **state)
{
    struct world w;
    struct hf_mutex *other;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_mutex_open(w.home.client, NAME, NULL, &other), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(hf_mutex_trylock(w.mutex), HF_EBUSY);
    hf_mutex_free(other);
    assert_int_equal(hf_mutex_timedlock(w.mutex, 5000), HF_OK);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_OK);
    world_close(&w);
}

static void a_closed_client_has_lost_all(void **state)
{
    struct world w;

    (void)state;
    world_open(&w, NULL);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_OK);
    assert_int_equal(hf_client_close(w.home.client), HF_OK);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_unlock(w.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_lock(w.mutex), HF_ECLOSED);
    hf_mutex_free(w.mutex);
    place_remove(&w.home.place);
}

/* ------------------------------------------------------------ exclusion -- */

enum { THREADS = 8, ROUNDS = 200 };

struct counter {
    struct hf_mutex *mutex;
    int value; /* plain: the mutex alone keeps it */
    uint64_t last_token;
    unsigned shared; /* so many in a row had it */
    _Atomic int failures;
};

/* Tokens rise, but for owners to whom a ticket was handed on. */
static bool token_is_due(struct counter *counter)
{
    uint64_t token = hf_mutex_token(counter->mutex);
    uint64_t last = counter->last_token;

    counter->shared = token == last ? counter->shared + 1 : 1;
    counter->last_token = token;
    return token >= last && counter->shared <= 1 + HF_MUTEX_HANDOFFS;
}

static void *count_main(void *arg)
{
    struct counter *counter = arg;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        if (hf_mutex_lock(counter->mutex) != HF_OK) {
            atomic_fetch_add(&counter->failures, 1);
            return NULL;
        }
        if (!token_is_due(counter))
            atomic_fetch_add(&counter->failures, 1);
        counter->value++;
        if (hf_mutex_unlock(counter->mutex) != HF_OK)
            atomic_fetch_add(&counter->failures, 1);
    }
    return NULL;
}

static void no_increment_is_lost(void **state)
{
    struct world w;
    struct counter counter = {.value = 0};
    pthread_t threads[THREADS];
    int i;

    (void)state;
    world_open(&w, NULL);
    counter.mutex = w.mutex;
    for (i = 0; i < THREADS; i++)
        threads[i] = kit_thread(count_main, &counter);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&counter.failures), 0);
    assert_int_equal(counter.value, THREADS * ROUNDS);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locking_again_counts),
        cmocka_unit_test(fn12_another_thread_is_another_owner),
        cmocka_unit_test(another_client_is_another_owner),
        cmocka_unit_test(owners_can_be_fibres),
        cmocka_unit_test(fn03_a_lost_count_must_be_counted_down),
        cmocka_unit_test(a_lost_owner_and_a_new_one),
        cmocka_unit_test(nobody_inherits),
        cmocka_unit_test(freeing_releases),
        cmocka_unit_test(a_closed_client_has_lost_all),
        cmocka_unit_test(no_increment_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
