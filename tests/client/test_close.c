/* SPDX-License-Identifier: Apache-2.0 */
/* What is left after a close, and closes that run at the same time.  Closing
 * during each single operation is in test_shutdown.c. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

static const struct hf_done nobody = {NULL, NULL, NULL};

static bool has_threads(void *arg)
{
    return count_threads() <= *(int *)arg;
}

static bool has_fds(void *arg)
{
    return count_fds() == *(int *)arg;
}

/* A detached thread frees the last of it. */
static void await_fds(int count)
{
    wait_until(has_fds, &count);
}

/* ------------------------------------------------------------ afterwards -- */

/* Handles outlive their client, in whatever order they go. */
TEST_IN_EACH_WAY(handles_go_last)
{
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_lock *lock;
    struct hf_grant *first, *second;
    struct hf_lock *other;
    int fds = count_fds();

    client_directory_create(&directory);
    client_open(&fixture, way, directory.url, no_listener);
    lock = client_open_lock(&fixture, "nightly");
    other = client_open_lock(&fixture, "other");
    first = client_take(&fixture, lock);
    second = client_take(&fixture, other);
    hf_lock_free(other);
    client_close(&fixture);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    assert_string_equal(hf_lock_name(lock), "nightly");
    hf_lock_free(lock);
    assert_true(hf_grant_token(first) > 0);
    assert_true(hf_grant_safe_until_ms(first) == 0);
    assert_int_equal(hf_grant_release_start(first, nobody), HF_OK);
    assert_int_equal(hf_grant_release(second), HF_ELOST);
    await_fds(fds);
    client_directory_remove(&directory);
}

/* --------------------------------------------- two clients, many clients -- */

struct peer {
    struct hf_client *client;
    struct hf_lock *mine;
    struct hf_lock *theirs;
    struct hf_grant *grant;
    _Atomic int ended;
    hf_status status;
};

static void on_peer_done(void *arg, const struct hf_result *result)
{
    struct peer *peer = arg;

    peer->status = result->status;
    if (result->grant != NULL)
        assert_int_equal(hf_grant_release_start(result->grant, nobody), HF_OK);
    atomic_fetch_add(&peer->ended, 1);
}

static void peer_open(struct peer *peer,
                      const struct client_directory *directory,
                      const char *mine, const char *theirs)
{
    memset(peer, 0, sizeof(*peer));
    peer->client = open_client(directory->url);
    assert_int_equal(hf_lock_open(peer->client, mine, NULL, &peer->mine),
                     HF_OK);
    assert_int_equal(hf_lock_open(peer->client, theirs, NULL, &peer->theirs),
                     HF_OK);
    assert_int_equal(hf_lock_acquire(peer->mine, NULL, &peer->grant), HF_OK);
}

static void *peer_close_main(void *arg)
{
    struct peer *peer = arg;

    assert_int_equal(hf_client_close(peer->client), HF_OK);
    return NULL;
}

/* Each waits for a lock that the other holds, and both close at once: either
 * wait may still be granted. */
TEST(two_that_wait_for_each_other)
{
    int attempt;

    for (attempt = 0; attempt < 20; attempt++) {
        struct client_directory directory;
        struct peer a, b;
        struct hf_done of_a = {on_peer_done, &a, NULL};
        struct hf_done of_b = {on_peer_done, &b, NULL};
        pthread_t thread;

        client_directory_create(&directory);
        peer_open(&a, &directory, "one", "two");
        peer_open(&b, &directory, "two", "one");
        assert_int_equal(hf_lock_acquire_start(a.theirs, NULL, of_a, NULL),
                         HF_OK);
        assert_int_equal(hf_lock_acquire_start(b.theirs, NULL, of_b, NULL),
                         HF_OK);
        thread = start_thread(peer_close_main, &a);
        (void)peer_close_main(&b);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&a.ended), 1);
        assert_int_equal(atomic_load(&b.ended), 1);
        assert_true(a.status == HF_ECLOSED || a.status == HF_OK);
        assert_true(b.status == HF_ECLOSED || b.status == HF_OK);
        assert_int_equal(hf_grant_release(a.grant), HF_ELOST);
        assert_int_equal(hf_grant_release(b.grant), HF_ELOST);
        hf_lock_free(a.mine);
        hf_lock_free(a.theirs);
        hf_lock_free(b.mine);
        hf_lock_free(b.theirs);
        assert_int_equal(client_directory_count_tickets(&directory), 0);
        client_directory_remove(&directory);
    }
}

enum { VISITORS = 8, VISITS = 15 };

static void *visit_main(void *arg)
{
    const struct client_directory *directory = arg;
    struct client_fixture fixture;
    int i;

    for (i = 0; i < VISITS; i++) {
        struct hf_lock *lock;
        struct hf_grant *grant;

        client_open(&fixture, i % 2 == 0 ? WAY_THREAD : WAY_DISPATCH,
                    directory->url, no_listener);
        lock = client_open_lock(&fixture, "nightly");
        grant = client_take(&fixture, lock);
        if (i % 3 != 0)
            assert_int_equal(client_give(&fixture, grant), HF_OK);
        client_close(&fixture);
        if (i % 3 == 0)
            assert_int_equal(hf_grant_release(grant), HF_ELOST);
        hf_lock_free(lock);
    }
    return NULL;
}

/* Many more than the client's own threads may have open for a moment. */
enum { LOSS_FDS = 64 };

TEST(a_descriptor_of_a_loss_goes_with_its_grant)
{
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_lock *lock;
    struct hf_grant *grant;
    int fd, before;

    client_directory_create(&directory);
    client_open(&fixture, WAY_BLOCKING, directory.url, no_listener);
    lock = client_open_lock(&fixture, "nightly");
    before = count_fds();
    for (int i = 0; i < LOSS_FDS; i++) {
        grant = client_take(&fixture, lock);
        assert_int_equal(hf_grant_loss_fd(grant, &fd), HF_OK);
        assert_int_equal(hf_grant_release(grant), HF_OK);
    }
    assert_in_range(count_fds(), 0, before + LOSS_FDS / 2);
    hf_lock_free(lock);
    client_close(&fixture);
    client_directory_remove(&directory);
}

TEST(many_come_and_go)
{
    struct client_directory directory;
    pthread_t threads[VISITORS];
    int fds = count_fds();
    int before = count_threads();
    int i;

    client_directory_create(&directory);
    for (i = 0; i < VISITORS; i++)
        threads[i] = start_thread(visit_main, &directory);
    for (i = 0; i < VISITORS; i++)
        pthread_join(threads[i], NULL);
    wait_until(has_threads, &before);
    await_fds(fds);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    client_directory_remove(&directory);
}

/* ---------------------------------------------------------------------- */

/* libuv keeps two descriptors for the process from its first loop on. */
static int setup(void **state)
{
    uv_loop_t loop;

    (void)state;
    return uv_loop_init(&loop) == 0 ? uv_loop_close(&loop) : 1;
}

TEST_FILE(close)
{
    return RUN_TESTS(setup, NULL);
}
