/* SPDX-License-Identifier: Apache-2.0 */
/* A process exits, or a thread is cancelled, while the library is at work. */
#include <stdlib.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "process.h"

/* ThreadSanitizer asks for this text at start.  By default each exit() waits
 * a second for races to show, and there are two hundred. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
    return "atexit_sleep_ms=0";
}

/* ------------------------------------------------------------------ exit -- */

static void *cycle_main(void *arg)
{
    struct hf_lock *lock = arg;
    struct hf_grant *grant;

    while (hf_lock_acquire(lock, NULL, &grant) == HF_OK)
        (void)hf_grant_release(grant);
    return NULL;
}

static void on_done(void *arg, const struct hf_result *result)
{
    (void)arg;
    if (result->grant != NULL)
        (void)!hf_grant_release_start(result->grant,
                                      (struct hf_done){NULL, NULL, NULL});
}

/* In the child: exit() with operations under way. */
static int exit_with_work_under_way(void *arg)
{
    const struct client_directory *directory = arg;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    struct hf_lock *held, *busy;
    struct hf_grant *grant;
    pthread_t thread;
    int fd;

    if (getpid() % 2 == 0)
        opts.delivery = HF_DELIVER_DISPATCH;
    CHILD_CHECK(hf_client_open(directory->url, &opts, &client) == HF_OK);
    CHILD_CHECK(hf_lock_open(client, "held", NULL, &held) == HF_OK);
    CHILD_CHECK(hf_lock_open(client, "busy", NULL, &busy) == HF_OK);
    CHILD_CHECK(hf_lock_acquire(held, NULL, &grant) == HF_OK);
    CHILD_CHECK(hf_grant_loss_fd(grant, &fd) == HF_OK);
    CHILD_CHECK(hf_lock_acquire_start(held, NULL,
                                      (struct hf_done){on_done, NULL, NULL},
                                      NULL) == HF_OK);
    CHILD_CHECK(pthread_create(&thread, NULL, cycle_main, busy) == 0);
    CHILD_CHECK(pthread_create(&thread, NULL, cycle_main, held) == 0);
    exit(0);
}

TEST(exit_with_everything_alive)
{
    int repeats = getenv("HF_LONG") != NULL ? 1000 : 200;
    struct client_directory directory;
    int i;

    client_directory_create(&directory);
    for (i = 0; i < repeats; i++)
        run_in_child(exit_with_work_under_way, &directory);
    client_directory_remove(&directory);
}

/* ----------------------------------------------------- cancelled threads -- */

static void release_grant(void *arg)
{
    struct hf_grant **grant = arg;

    if (*grant != NULL)
        (void)hf_grant_release(*grant);
}

/* A grant that came before the cancellation must be released. */
static void *wait_main(void *arg)
{
    struct hf_lock *lock = arg;
    struct hf_grant *grant = NULL;

    pthread_cleanup_push(release_grant, &grant);
    (void)!hf_lock_acquire(lock, NULL, &grant);
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return NULL;
}

TEST(fn38_a_waiting_thread_is_cancelled)
{
    struct client_directory directory;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    pthread_t thread;
    void *end;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    thread = start_thread(wait_main, lock);
    await_tickets(&directory, 2);
    assert_int_equal(pthread_cancel(thread), 0);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    assert_int_equal(pthread_join(thread, &end), 0);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    assert_int_equal(hf_lock_try_acquire(lock, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    client_directory_remove(&directory);
}

struct cancelled_cycle {
    struct hf_lock *lock;
    _Atomic int repeats;
};

static void *cancelled_main(void *arg)
{
    struct cancelled_cycle *lock_cycle = arg;
    struct hf_grant *grant;

    for (;;) {
        if (hf_lock_acquire(lock_cycle->lock, NULL, &grant) == HF_OK)
            (void)hf_grant_release(grant);
        atomic_fetch_add(&lock_cycle->repeats, 1);
        pthread_testcancel();
    }
    return NULL;
}

static bool has_cycled(void *arg)
{
    return atomic_load(&((struct cancelled_cycle *)arg)->repeats) > 3;
}

/* A thread may be cancelled at any point: no call may end with a lock held. */
TEST(threads_are_cancelled_anywhere)
{
    struct client_directory directory;
    struct hf_client *client;
    struct cancelled_cycle lock_cycle;
    pthread_t thread;
    void *end;
    int i;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_lock_open(client, "nightly", NULL, &lock_cycle.lock),
                     HF_OK);
    for (i = 0; i < 100; i++) {
        atomic_store(&lock_cycle.repeats, 0);
        thread = start_thread(cancelled_main, &lock_cycle);
        wait_until(has_cycled, &lock_cycle);
        assert_int_equal(pthread_cancel(thread), 0);
        assert_int_equal(pthread_join(thread, &end), 0);
        assert_ptr_equal(end, PTHREAD_CANCELED);
    }
    hf_lock_free(lock_cycle.lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    client_directory_remove(&directory);
}
