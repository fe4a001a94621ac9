/* SPDX-License-Identifier: Apache-2.0 */
/* The reentrant mutex: counts, owners, and grants that are lost while
 * counted (src/client/mutex.c). */
#include <string.h>

#include "cmocka/runner.h"
#include "mutex_fixture.h"
#include "process.h"

#define NAME "nightly"

struct reentrant_mutex_fixture {
    struct mutex_fixture base;
    struct hf_mutex *mutex;
};

static void fixture_open(struct reentrant_mutex_fixture *f,
                         const struct hf_mutex_opts *opts)
{
    mutex_fixture_open(&f->base);
    assert_int_equal(hf_mutex_open(f->base.client, NAME, opts, &f->mutex),
                     HF_OK);
}

static void fixture_close(struct reentrant_mutex_fixture *f)
{
    hf_mutex_free(f->mutex);
    mutex_fixture_close(&f->base);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, opts)                                                       \
    CLOSED_BY(fixture_close) struct reentrant_mutex_fixture f;                 \
    fixture_open(&f, opts)

/* What another thread did, and the result. */
struct mutex_attempt {
    struct hf_mutex *mutex;
    hf_status status;
    uint64_t token;
};

static void *try_main(void *arg)
{
    struct mutex_attempt *mutex_attempt = arg;

    mutex_attempt->status = hf_mutex_trylock(mutex_attempt->mutex);
    mutex_attempt->token = hf_mutex_token(mutex_attempt->mutex);
    if (mutex_attempt->status == HF_OK)
        mutex_attempt->status = hf_mutex_unlock(mutex_attempt->mutex);
    return NULL;
}

static void *timed_main(void *arg)
{
    struct mutex_attempt *mutex_attempt = arg;

    mutex_attempt->status = hf_mutex_timedlock(mutex_attempt->mutex, 30);
    return NULL;
}

static void *unlock_main(void *arg)
{
    struct mutex_attempt *mutex_attempt = arg;

    mutex_attempt->status = hf_mutex_unlock(mutex_attempt->mutex);
    return NULL;
}

static struct mutex_attempt elsewhere(void *(*what)(void *arg),
                                      struct hf_mutex *mutex)
{
    struct mutex_attempt mutex_attempt = {.mutex = mutex, .status = HF_EBUG};

    run_on_thread(what, &mutex_attempt);
    return mutex_attempt;
}

/* ---------------------------------------------------------------------- */

TEST(locking_again_counts)
{
    uint64_t token;
    int i;
    FIXTURE(f, NULL);
    assert_true(hf_mutex_token(f.mutex) == 0);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    token = hf_mutex_token(f.mutex);
    assert_true(token > 0);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_timedlock(f.mutex, 10), HF_OK);
    assert_true(hf_mutex_token(f.mutex) == token);
    for (i = 0; i < 3; i++) {
        assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
        assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    }
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 0);
    assert_true(hf_mutex_token(f.mutex) == 0);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_EOWNER);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_true(hf_mutex_token(f.mutex) > token);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
}

TEST(fn12_another_thread_is_another_owner)
{
    struct mutex_attempt mutex_attempt;
    FIXTURE(f, NULL);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    mutex_attempt = elsewhere(try_main, f.mutex);
    assert_int_equal(mutex_attempt.status, HF_EBUSY);
    assert_true(mutex_attempt.token == 0);
    assert_int_equal(elsewhere(timed_main, f.mutex).status, HF_ETIMEDOUT);
    assert_int_equal(elsewhere(unlock_main, f.mutex).status, HF_EOWNER);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    assert_int_equal(elsewhere(try_main, f.mutex).status, HF_OK);
}

TEST(another_client_is_another_owner)
{
    struct hf_client *client;
    struct hf_mutex *theirs;
    FIXTURE(f, NULL);
    client = open_client(f.base.directory.url);
    assert_int_equal(hf_mutex_open(client, "/" NAME, NULL, &theirs), HF_OK);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_trylock(theirs), HF_EBUSY);
    assert_int_equal(hf_mutex_timedlock(theirs, 30), HF_ETIMEDOUT);
    assert_int_equal(hf_mutex_unlock(theirs), HF_EOWNER);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_timedlock(theirs, 5000), HF_OK);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_EBUSY);
    assert_int_equal(hf_mutex_unlock(theirs), HF_OK);
    hf_mutex_free(theirs);
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* Two fibres of one thread exclude each other, and a fibre that moves to
 * another thread stays the owner. */
TEST(owners_can_be_fibres)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct reentrant_mutex_fixture f;
    uint64_t current = 1;

    opts.owner = owner_at;
    opts.owner_arg = &current;
    fixture_open(&f, &opts);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    current = 2;
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_EBUSY);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_EOWNER);
    assert_true(hf_mutex_token(f.mutex) == 0);
    current = 1;
    assert_int_equal(elsewhere(unlock_main, f.mutex).status, HF_OK);
    assert_int_equal(elsewhere(unlock_main, f.mutex).status, HF_OK);
    current = 2;
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    fixture_close(&f);
}

struct count_up {
    struct hf_mutex *mutex;
    int count;
    hf_status status;
};

static bool cannot_count_up(void *arg)
{
    struct count_up *count_up = arg;

    count_up->status = hf_mutex_trylock(count_up->mutex);
    count_up->count += count_up->status == HF_OK;
    return count_up->status != HF_OK;
}

TEST(fn03_a_lost_count_must_be_counted_down)
{
    struct count_up count_up;
    uint64_t token;
    FIXTURE(f, NULL);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    token = hf_mutex_token(f.mutex);
    client_directory_remove_tickets(&f.base.directory);
    /* The engine may take a moment to notice. */
    count_up = (struct count_up){.mutex = f.mutex, .count = 2};
    wait_until(cannot_count_up, &count_up);
    assert_int_equal(count_up.status, HF_ELOST);
    while (count_up.count-- > 0) {
        assert_int_equal(hf_mutex_lock(f.mutex), HF_ELOST);
        assert_int_equal(hf_mutex_timedlock(f.mutex, 1000), HF_ELOST);
        assert_true(hf_mutex_token(f.mutex) == token);
        assert_int_equal(hf_mutex_unlock(f.mutex), HF_ELOST);
    }
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_EOWNER);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_true(hf_mutex_token(f.mutex) > token);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
}

static bool can_be_had_elsewhere(void *arg)
{
    struct mutex_attempt *mutex_attempt = arg;

    *mutex_attempt = elsewhere(try_main, mutex_attempt->mutex);
    return mutex_attempt->status != HF_EBUSY;
}

/* The next owner may have its grant while the first still has its lost one;
 * neither takes the other's for its own. */
TEST(a_lost_owner_and_a_new_one)
{
    struct mutex_attempt mutex_attempt;
    FIXTURE(f, NULL);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    client_directory_remove_tickets(&f.base.directory);
    /* The engine may take a moment to notice. */
    mutex_attempt.mutex = f.mutex;
    wait_until(can_be_had_elsewhere, &mutex_attempt);
    assert_int_equal(mutex_attempt.status, HF_OK);
    assert_true(mutex_attempt.token > hf_mutex_token(f.mutex));
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_OK);
    assert_int_equal(elsewhere(try_main, f.mutex).status, HF_EBUSY);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
}

static void *lock_and_leave_main(void *arg)
{
    struct mutex_attempt *mutex_attempt = arg;

    mutex_attempt->status = hf_mutex_lock(mutex_attempt->mutex);
    return NULL;
}

/* Thread numbers are not reused like thread ids: a new thread does not
 * inherit from an owner that ended. */
TEST(nobody_inherits)
{
    struct reentrant_mutex_fixture f;
    int i;

    fixture_open(&f, NULL);
    assert_int_equal(elsewhere(lock_and_leave_main, f.mutex).status, HF_OK);
    for (i = 0; i < 20; i++) {
        assert_int_equal(elsewhere(try_main, f.mutex).status, HF_EBUSY);
        assert_int_equal(elsewhere(unlock_main, f.mutex).status, HF_EOWNER);
    }
    fixture_close(&f); /* frees the mutex, and what is locked with it */
}

TEST(freeing_releases)
{
    struct hf_mutex *other;
    FIXTURE(f, NULL);
    assert_int_equal(hf_mutex_open(f.base.client, NAME, NULL, &other), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_EBUSY);
    hf_mutex_free(other);
    assert_int_equal(hf_mutex_timedlock(f.mutex, 5000), HF_OK);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
}

TEST(a_closed_client_has_lost_all)
{
    struct reentrant_mutex_fixture f;

    fixture_open(&f, NULL);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_int_equal(hf_client_close(f.base.client), HF_OK);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_ECLOSED);
    hf_mutex_free(f.mutex);
    client_directory_remove(&f.base.directory);
}

/* ------------------------------------------------------------- exclusion -- */

enum { THREADS = 8, REPEATS = 200 };

struct counter {
    struct hf_mutex *mutex;
    int value; /* not atomic: only the mutex protects it */
    uint64_t last_token;
    unsigned shared; /* this many in a row had it */
    _Atomic int failures;
};

/* Tokens rise, except between owners that share a ticket. */
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

    for (i = 0; i < REPEATS; i++) {
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

TEST(no_increment_is_lost)
{
    struct counter counter = {.value = 0};
    pthread_t threads[THREADS];
    int i;
    FIXTURE(f, NULL);
    counter.mutex = f.mutex;
    for (i = 0; i < THREADS; i++)
        threads[i] = start_thread(count_main, &counter);
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&counter.failures), 0);
    assert_int_equal(counter.value, THREADS * REPEATS);
}
