/* SPDX-License-Identifier: Apache-2.0 */
/* The driver: a thread that runs a client whose callbacks the user
 * dispatches.  It is started when there is something to wait for; the test
 * also makes pthread_create() fail (src/monitor). */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "client_fixture.h"
#include "cmocka/runner.h"
#include "process.h"

/* --------------------------------------------- a process without threads -- */

static bool no_threads;

typedef int create_fn(pthread_t *thread, const pthread_attr_t *attributes,
                      void *(*main)(void *arg), void *arg);

/* Stands in for libc's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*main)(void *arg), void *arg)
{
    create_fn *real;

    if (no_threads)
        return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, main, arg);
}

/* ------------------------------------------------------------- simulator -- */

struct driver_fixture {
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_lock *lock;
};

static void fixture_open(struct driver_fixture *f)
{
    no_threads = false;
    client_directory_create(&f->directory);
    client_open(&f->fixture, WAY_DISPATCH, f->directory.url, no_listener);
    f->lock = client_open_lock(&f->fixture, "nightly");
}

static void fixture_close(struct driver_fixture *f)
{
    hf_lock_free(f->lock);
    client_close(&f->fixture);
    assert_int_equal(client_directory_count_tickets(&f->directory), 0);
    client_directory_remove(&f->directory);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct driver_fixture f;                          \
    fixture_open(&f)

/* ----------------------------------------------------------------- tests -- */

TEST(an_immediate_answer_starts_no_thread)
{
    struct hf_acquire_opts try = HF_ACQUIRE_OPTS_INIT;
    struct outcome first, second;
    int threads;
    FIXTURE(f);
    threads = count_threads();
    no_threads = true;
    client_acquire(&f.fixture, f.lock, NULL, &first);
    client_await(&first);
    assert_int_equal(first.status, HF_OK);
    try.wait_ms = 0;
    client_acquire(&f.fixture, f.lock, &try, &second);
    client_await(&second);
    assert_int_equal(second.status, HF_EBUSY);
    assert_int_equal(hf_grant_release(first.grant), HF_OK);
    assert_int_equal(count_threads(), threads);
}

TEST(a_mutex_starts_no_thread_unless_it_keeps_its_ticket)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;
    int threads;
    FIXTURE(f);
    threads = count_threads();
    assert_int_equal(hf_mutex_open(f.fixture.client, "m", NULL, &mutex), HF_OK);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    assert_int_equal(count_threads(), threads);
    opts.keep_ms = 1;
    no_threads = true;
    assert_int_equal(hf_mutex_open(f.fixture.client, "m", &opts, &mutex),
                     HF_ELIMIT);
    no_threads = false;
    assert_int_equal(hf_mutex_open(f.fixture.client, "m", &opts, &mutex),
                     HF_OK);
    assert_true(count_threads() > threads);
    hf_mutex_free(mutex);
}

TEST(a_wait_starts_it)
{
    struct hf_grant *grant;
    struct outcome waiter;
    int threads;
    FIXTURE(f);
    assert_int_equal(hf_lock_acquire(f.lock, NULL, &grant), HF_OK);
    threads = count_threads();
    client_acquire(&f.fixture, f.lock, NULL, &waiter);
    assert_true(count_threads() > threads);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    client_await(&waiter);
    assert_int_equal(waiter.status, HF_OK);
    assert_int_equal(hf_grant_release(waiter.grant), HF_OK);
}

static void must_not_come(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
    fail();
}

static void count_drop(void *arg)
{
    ++*(int *)arg;
}

static void must_not_wait(void *arg, const struct hf_wait *wait)
{
    (void)arg;
    (void)wait;
    fail();
}

/* It had a ticket in the queue by then. */
TEST(a_wait_that_nobody_would_drive_is_undone)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    int dropped = 0;
    struct hf_done done = {must_not_come, &dropped, count_drop};
    struct hf_grant *grant;
    struct hf_op *op;
    FIXTURE(f);
    assert_int_equal(hf_lock_acquire(f.lock, NULL, &grant), HF_OK);
    opts.on_wait = (struct hf_on_wait){must_not_wait, &dropped, count_drop};
    opts.on_loss = (struct hf_on_loss){NULL, &dropped, count_drop};
    opts.on_revoke = (struct hf_on_revoke){NULL, &dropped, count_drop};
    no_threads = true;
    assert_int_equal(hf_lock_acquire_start(f.lock, &opts, done, &op),
                     HF_ELIMIT);
    assert_null(op);
    assert_int_equal(dropped, 4);
    assert_non_null(strstr(hf_last_error()->text, "no thread for callbacks"));
    assert_int_equal(hf_client_dispatch(f.fixture.client), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    no_threads = false;
    assert_int_equal(hf_lock_acquire(f.lock, NULL, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
}

static void must_not_end(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
    fail();
}

/* The error is set on the handle, and nothing has started. */
TEST(an_end_that_nobody_would_notify_does_not_begin)
{
    int dropped = 0;
    struct hf_done done = {must_not_end, &dropped, count_drop};
    struct hf_election *election;
    FIXTURE(f);
    assert_int_equal(
        hf_election_open(f.fixture.client, "nightly", NULL, &election), HF_OK);
    no_threads = true;
    assert_int_equal(hf_election_resign_start(election, done), HF_ELIMIT);
    assert_int_equal(hf_last_error()->status, HF_ELIMIT);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_election_resign_start: no thread"));
    assert_int_equal(hf_client_close_start(f.fixture.client, done), HF_ELIMIT);
    assert_int_equal(hf_last_error()->status, HF_ELIMIT);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_client_close_start: no thread"));
    assert_int_equal(dropped, 2);
    no_threads = false;
    hf_election_free(election);
}
