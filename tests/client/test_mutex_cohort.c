/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of one client that want one mutex: they form a cohort, a local
 * queue behind one ticket, which is handed off a limited number of times
 * (src/client/lock.c). */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/client.h"
#include "client/lock.h"
#include "cmocka/runner.h"
#include "mutex_fixture.h"
#include "process.h"

#define NAME "nightly"
#define THREADS 8
#define FAR_MS 60000

struct cohort_mutex_fixture {
    struct mutex_fixture base;
    struct hf_mutex *mutex;
    struct hf_client *elsewhere; /* another client of the same name ... */
    struct hf_mutex *theirs;     /* ... without handoffs; NULL: none */
    /* The order of grants, written by the holder of the mutex.  Between two
     * clients the mutex orders nothing in memory. */
    int order[2 * THREADS];
    _Atomic int granted;
};

static struct hf_mutex *open_bounded(struct hf_client *client,
                                     uint32_t handoffs)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.handoffs = handoffs;
    assert_int_equal(hf_mutex_open(client, NAME, &opts, &mutex), HF_OK);
    return mutex;
}

static void fixture_open(struct cohort_mutex_fixture *f)
{
    memset(f, 0, sizeof(*f));
    mutex_fixture_open(&f->base);
    f->mutex = open_bounded(f->base.client, HF_MUTEX_HANDOFFS);
}

static void open_elsewhere(struct cohort_mutex_fixture *f)
{
    f->elsewhere = open_client(f->base.directory.url);
    f->theirs = open_bounded(f->elsewhere, 0);
}

static void close_elsewhere(struct cohort_mutex_fixture *f)
{
    hf_mutex_free(f->theirs);
    assert_int_equal(hf_client_close(f->elsewhere), HF_OK);
}

static void fixture_close(struct cohort_mutex_fixture *f)
{
    hf_mutex_free(f->mutex);
    assert_null(f->base.client->cohorts.root);
    mutex_fixture_close(&f->base);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct cohort_mutex_fixture f;                    \
    fixture_open(&f)

/* One thread that locks ${mutex}, and the result. */
struct locking_thread {
    struct cohort_mutex_fixture *f;
    struct hf_mutex *mutex;
    pthread_t thread;
    int number;
    uint64_t wait_ms;
    hf_status status;
    hf_status unlocked;
    uint64_t token;
    _Atomic bool ended;
};

static void *caller_main(void *arg)
{
    struct locking_thread *locking_thread = arg;

    locking_thread->status =
        hf_mutex_timedlock(locking_thread->mutex, locking_thread->wait_ms);
    if (locking_thread->status == HF_OK) {
        locking_thread->token = hf_mutex_token(locking_thread->mutex);
        locking_thread->f->order[locking_thread->f->granted++] =
            locking_thread->number;
        locking_thread->unlocked = hf_mutex_unlock(locking_thread->mutex);
    }
    atomic_store(&locking_thread->ended, true);
    return NULL;
}

/* The number in the cohort, with the holder. */
static size_t count_cohort(struct cohort_mutex_fixture *f)
{
    const struct hf_client_cohort *queue;
    size_t count;

    hf_monitor_lock(&f->base.client->monitor);
    queue = (const void *)f->base.client->cohorts.root;
    count = queue->cohort.count;
    pthread_mutex_unlock(&f->base.client->monitor.lock);
    return count;
}

struct expected_cohort {
    struct cohort_mutex_fixture *f;
    size_t count;
};

static bool has_cohort_count(void *arg)
{
    const struct expected_cohort *expected_cohort = arg;

    return count_cohort(expected_cohort->f) == expected_cohort->count;
}

static void await_cohort(struct cohort_mutex_fixture *f, size_t count)
{
    struct expected_cohort expected_cohort = {f, count};

    wait_until(has_cohort_count, &expected_cohort);
}

static void begin(struct cohort_mutex_fixture *f,
                  struct locking_thread *locking_thread, int number,
                  struct hf_mutex *mutex, uint64_t wait_ms)
{
    *locking_thread = (struct locking_thread){.f = f,
                                              .mutex = mutex,
                                              .number = number,
                                              .wait_ms = wait_ms,
                                              .status = HF_EBUG,
                                              .unlocked = HF_EBUG};
    locking_thread->thread = start_thread(caller_main, locking_thread);
}

/* Start the ${number}th, and see it wait. */
static void call(struct cohort_mutex_fixture *f,
                 struct locking_thread *locking_thread, int number,
                 struct hf_mutex *mutex, uint64_t wait_ms)
{
    size_t before = count_cohort(f);

    begin(f, locking_thread, number, mutex, wait_ms);
    await_cohort(f, before + 1);
}

static void join(struct locking_thread *locking_thread)
{
    pthread_join(locking_thread->thread, NULL);
}

/* ---------------------------------------------------------------------- */

/* Through two handles, which share one cohort. */
TEST(fn60_threads_are_served_in_order_behind_one_ticket)
{
    struct locking_thread callers[THREADS];
    struct hf_mutex *other;
    uint64_t token;
    FIXTURE(f);
    assert_int_equal(hf_mutex_open(f.base.client, "/" NAME, NULL, &other),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    token = hf_mutex_token(f.mutex);
    for (int i = 0; i < THREADS; i++)
        call(&f, &callers[i], i, i % 2 == 0 ? f.mutex : other, FAR_MS);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(callers[i].unlocked, HF_OK);
        assert_true(callers[i].token == token);
        assert_int_equal(f.order[i], i);
    }
    hf_mutex_free(other);
}

TEST(a_try_is_refused_without_looking)
{
    struct locking_thread waits, tries;
    FIXTURE(f);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    call(&f, &waits, 0, f.mutex, FAR_MS);
    tries = (struct locking_thread){.f = &f, .mutex = f.mutex, .wait_ms = 0};
    run_on_thread(caller_main, &tries);
    assert_int_equal(tries.status, HF_EBUSY);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    join(&waits);
    assert_int_equal(waits.status, HF_OK);
}

TEST(a_limit_ends_one_wait_and_no_other)
{
    struct locking_thread waits_long, waits_short;
    FIXTURE(f);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    call(&f, &waits_short, 0, f.mutex, 30);
    call(&f, &waits_long, 1, f.mutex, FAR_MS);
    join(&waits_short);
    assert_int_equal(waits_short.status, HF_ETIMEDOUT);
    assert_false(atomic_load(&waits_long.ended));
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    join(&waits_long);
    assert_int_equal(waits_long.status, HF_OK);
}

/* -------------------------------------------------------------- fairness -- */

/* Threads that lock again and again, until somebody else had the mutex. */
struct contenders {
    struct hf_mutex *mutex;
    _Atomic int grants;
    _Atomic bool over;
    _Atomic int failures;
};

static void *contender_main(void *arg)
{
    struct contenders *contenders = arg;

    while (!atomic_load(&contenders->over)) {
        atomic_fetch_add(&contenders->failures,
                         hf_mutex_lock(contenders->mutex));
        atomic_fetch_add(&contenders->grants, 1);
        atomic_fetch_add(&contenders->failures,
                         hf_mutex_unlock(contenders->mutex));
    }
    return NULL;
}

static void *outsider_main(void *arg)
{
    struct contenders *contenders = arg;
    struct hf_mutex *theirs = contenders[1].mutex;

    atomic_fetch_add(&contenders->failures, hf_mutex_lock(theirs));
    atomic_store(&contenders[1].grants, atomic_load(&contenders->grants));
    atomic_store(&contenders->over, true);
    atomic_fetch_add(&contenders->failures, hf_mutex_unlock(theirs));
    return NULL;
}

/* A waiter in another client is granted after a limited number of handoffs,
 * however many threads there are here. */
TEST(threads_do_not_starve_another_process)
{
    struct cohort_mutex_fixture f;
    struct hf_client *elsewhere;
    struct contenders contenders[2];
    pthread_t threads[THREADS], outsider;

    memset(contenders, 0, sizeof(contenders));
    fixture_open(&f);
    elsewhere = open_client(f.base.directory.url);
    assert_int_equal(hf_mutex_open(elsewhere, NAME, NULL, &contenders[1].mutex),
                     HF_OK);
    contenders->mutex = f.mutex;
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    outsider = start_thread(outsider_main, contenders);
    await_tickets(&f.base.directory, 2);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_thread(contender_main, contenders);
    await_cohort(&f, 1 + THREADS);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    pthread_join(outsider, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&contenders->failures), 0);
    assert_in_range(atomic_load(&contenders[1].grants), 1, HF_MUTEX_HANDOFFS);
    hf_mutex_free(contenders[1].mutex);
    assert_int_equal(hf_client_close(elsewhere), HF_OK);
    fixture_close(&f);
}

/* Four wait, alternately in this client and in another, while this one holds
 * it. */
static void wait_alternately(struct cohort_mutex_fixture *f,
                             struct locking_thread callers[4])
{
    assert_int_equal(hf_mutex_lock(f->mutex), HF_OK);
    for (int i = 0; i < 4; i++) {
        begin(f, &callers[i], i, i % 2 == 0 ? f->mutex : f->theirs, FAR_MS);
        await_tickets(&f->base.directory, 2 + i);
    }
    assert_int_equal(hf_mutex_unlock(f->mutex), HF_OK);
    for (int i = 0; i < 4; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(callers[i].unlocked, HF_OK);
    }
}

/* Each has a ticket of its own, so nobody is overtaken by threads of either
 * client. */
TEST(without_handoffs_nobody_overtakes)
{
    struct locking_thread callers[4];
    FIXTURE(f);
    open_elsewhere(&f);
    hf_mutex_free(f.mutex);
    f.mutex = open_bounded(f.base.client, 0);
    assert_null(f.base.client->cohorts.root);
    wait_alternately(&f, callers);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(f.order[i], i);
        assert_true(i == 0 || callers[i].token > callers[i - 1].token);
    }
    close_elsewhere(&f);
}

/* As the README says: threads of one client hand the ticket on, at most as
 * often as allowed. */
TEST(a_ticket_is_handed_on_as_often_as_asked)
{
    static const int expected_cohort[] = {0, 3, 1, 2};
    struct locking_thread callers[4];
    FIXTURE(f);
    open_elsewhere(&f);
    hf_mutex_free(f.mutex);
    f.mutex = open_bounded(f.base.client, 1);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    for (int i = 0; i < 3; i++)
        call(&f, &callers[i], i, f.mutex, FAR_MS);
    begin(&f, &callers[3], 3, f.theirs, FAR_MS);
    await_tickets(&f.base.directory, 2);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    for (int i = 0; i < 4; i++)
        join(&callers[i]);
    assert_memory_equal(f.order, expected_cohort, sizeof(expected_cohort));
    close_elsewhere(&f);
}

/* Handles with different limits have different cohorts, each with its own
 * ticket. */
TEST(handles_with_other_bounds_queue_apart)
{
    struct locking_thread callers[2];
    struct hf_mutex *once, *again;
    FIXTURE(f);
    once = open_bounded(f.base.client, 1);
    again = open_bounded(f.base.client, 1);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    begin(&f, &callers[0], 0, once, FAR_MS);
    await_tickets(&f.base.directory, 2);
    call(&f, &callers[1], 1, again, FAR_MS); /* behind the first one's */
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 2);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    for (int i = 0; i < 2; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(f.order[i], i);
    }
    assert_true(callers[0].token == callers[1].token);
    hf_mutex_free(once);
    hf_mutex_free(again);
}

/* --------------------------------------------------------------- endings -- */

static void unlock(void *arg)
{
    struct locking_thread *locking_thread = arg;

    locking_thread->unlocked = hf_mutex_unlock(locking_thread->mutex);
}

static void *cancelled_main(void *arg)
{
    struct locking_thread *locking_thread = arg;

    locking_thread->status = hf_mutex_lock(locking_thread->mutex);
    pthread_cleanup_push(unlock, locking_thread);
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return locking_thread;
}

/* The cancelled thread is granted, and unlocks in its cleanup handler. */
TEST(a_cancelled_thread_keeps_its_position)
{
    struct locking_thread cancelled, next;
    void *result;
    FIXTURE(f);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    cancelled = (struct locking_thread){.f = &f, .mutex = f.mutex};
    cancelled.thread = start_thread(cancelled_main, &cancelled);
    await_cohort(&f, 2);
    call(&f, &next, 1, f.mutex, FAR_MS);
    assert_int_equal(pthread_cancel(cancelled.thread), 0);
    assert_int_equal(count_cohort(&f), 3);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    pthread_join(cancelled.thread, &result);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(cancelled.status, HF_OK);
    assert_int_equal(cancelled.unlocked, HF_OK);
    join(&next);
    assert_int_equal(next.status, HF_OK);
}

TEST(closing_ends_every_wait)
{
    struct cohort_mutex_fixture f;
    struct locking_thread callers[THREADS];

    fixture_open(&f);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    for (int i = 0; i < THREADS; i++)
        call(&f, &callers[i], i, f.mutex, FAR_MS);
    assert_int_equal(hf_client_close(f.base.client), HF_OK);
    for (int i = 0; i < THREADS; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_ECLOSED);
    }
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_ECLOSED);
    hf_mutex_free(f.mutex);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 0);
    client_directory_remove(&f.base.directory);
}

/* The holder's ticket is deleted: the next thread gets another one, and the
 * first must count down. */
TEST(a_lost_ticket_is_lost_by_its_holder_alone)
{
    struct locking_thread next;
    uint64_t token;
    FIXTURE(f);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    token = hf_mutex_token(f.mutex);
    call(&f, &next, 0, f.mutex, FAR_MS);
    client_directory_remove_tickets(&f.base.directory);
    join(&next);
    assert_int_equal(next.status, HF_OK);
    assert_int_equal(next.unlocked, HF_OK);
    assert_true(next.token > token);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_ELOST);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_ELOST);
}

static int child_main(void *arg)
{
    struct cohort_mutex_fixture *f = arg;

    CHILD_CHECK(hf_mutex_lock(f->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_unlock(f->mutex) == HF_EFORKED);
    hf_mutex_free(f->mutex);
    return 0;
}

TEST(a_child_does_not_disturb_waiters)
{
    struct locking_thread callers[2];
    FIXTURE(f);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    call(&f, &callers[0], 0, f.mutex, FAR_MS);
    call(&f, &callers[1], 1, f.mutex, FAR_MS);
    run_in_child(child_main, &f);
    assert_int_equal(count_cohort(&f), 3);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 1);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    for (int i = 0; i < 2; i++) {
        join(&callers[i]);
        assert_int_equal(callers[i].status, HF_OK);
        assert_int_equal(f.order[i], i);
    }
}

/* Each name has a queue of its own, and none is left. */
TEST(other_names_and_clients_have_queues_of_their_own)
{
    struct hf_mutex *other;
    FIXTURE(f);
    assert_int_equal(hf_mutex_open(f.base.client, "other", NULL, &other),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.base.directory), 2);
    hf_mutex_free(other); /* and unlocks it */
    await_tickets(&f.base.directory, 1);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
}
