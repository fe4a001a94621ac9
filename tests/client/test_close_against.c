/* SPDX-License-Identifier: Apache-2.0 */
/* A close while a callback runs on another thread, and in a process without
 * free descriptors. */
#include <sched.h>
#include <sys/resource.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

struct slow_callback {
    struct client_fixture fixture;
    _Atomic int started;
    _Atomic int returned;
    atomic_bool may_return;
};

static bool may_return(void *arg)
{
    return atomic_load(&((struct slow_callback *)arg)->may_return);
}

static void on_slow(void *arg, const struct hf_result *result)
{
    struct slow_callback *slow_callback = arg;

    (void)result;
    atomic_fetch_add(&slow_callback->started, 1);
    wait_until(may_return, slow_callback);
    atomic_fetch_add(&slow_callback->returned, 1);
}

static bool has_entered(void *arg)
{
    return atomic_load(&((struct slow_callback *)arg)->started) > 0;
}

static void *dispatch_main(void *arg)
{
    struct slow_callback *slow_callback = arg;

    while (!has_entered(slow_callback))
        assert_int_equal(hf_client_dispatch(slow_callback->fixture.client),
                         HF_OK);
    return NULL;
}

static void *let_return_main(void *arg)
{
    struct slow_callback *slow_callback = arg;

    /* The close cannot get further. */
    while (hf_client_state(slow_callback->fixture.client) != HF_STATE_CLOSED)
        sched_yield();
    atomic_store(&slow_callback->may_return, true);
    return NULL;
}

/* The close returns after the callback that runs on another thread. */
static void close_waits_for_a_callback(enum way way)
{
    struct slow_callback slow_callback = {.started = 0};
    struct hf_done done = {on_slow, &slow_callback, NULL};
    struct client_directory directory;
    struct hf_lock *lock;
    pthread_t dispatcher = 0;
    pthread_t helper;

    client_directory_create(&directory);
    client_open(&slow_callback.fixture, way, directory.url, no_listener);
    lock = client_open_lock(&slow_callback.fixture, "nightly");
    assert_int_equal(
        hf_grant_release_start(client_take(&slow_callback.fixture, lock), done),
        HF_OK);
    if (way == WAY_DISPATCH)
        dispatcher = start_thread(dispatch_main, &slow_callback);
    wait_until(has_entered, &slow_callback);
    helper = start_thread(let_return_main, &slow_callback);
    assert_int_equal(hf_client_close(slow_callback.fixture.client), HF_OK);
    assert_int_equal(atomic_load(&slow_callback.returned), 1);
    pthread_join(helper, NULL);
    if (way == WAY_DISPATCH)
        pthread_join(dispatcher, NULL);
    hf_lock_free(lock);
    client_directory_remove(&directory);
}

TEST(close_waits_for_a_callback_thread)
{
    close_waits_for_a_callback(WAY_THREAD);
}

TEST(close_waits_for_a_callback_in_dispatch)
{
    close_waits_for_a_callback(WAY_DISPATCH);
}

/* Closing needs no new descriptor. */
TEST_IN_EACH_WAY(close_needs_no_descriptors)
{
    struct rlimit before, none;
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_lock *lock;
    struct hf_grant *grant;

    client_directory_create(&directory);
    client_open(&fixture, way, directory.url, no_listener);
    lock = client_open_lock(&fixture, "nightly");
    grant = client_take(&fixture, lock);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    client_close(&fixture);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    hf_lock_free(lock);
    client_directory_remove(&directory);
}

struct close_record {
    _Atomic int closed;
    _Atomic int drops;
};

static void on_closed(void *arg, const struct hf_result *result)
{
    (void)result;
    atomic_fetch_add(&((struct close_record *)arg)->closed, 1);
}

static void on_close_drop(void *arg)
{
    atomic_fetch_add(&((struct close_record *)arg)->drops, 1);
}

/* Without a thread to report the end, the starting call fails and changes
 * nothing. */
TEST(a_close_may_fail_to_start)
{
    struct client_fixture fixture;
    struct close_record close_record = {.closed = 0};
    struct hf_done done = {on_closed, &close_record, on_close_drop};
    struct rlimit before, none;
    struct client_directory directory;
    hf_status status;

    client_directory_create(&directory);
    client_open(&fixture, WAY_DISPATCH, directory.url, no_listener);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    status = hf_client_close_start(fixture.client, done);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, HF_ELIMIT);
    assert_int_equal(atomic_load(&close_record.drops), 1);
    client_close(&fixture);
    assert_int_equal(atomic_load(&close_record.closed), 0);
    client_directory_remove(&directory);
}
