/* SPDX-License-Identifier: Apache-2.0 */
/* What a child process may do with its parent's client: calls fail with
 * HF_EFORKED, and neither those calls nor the end of the child change
 * anything for the parent (src/client, fork handling). */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

/* A client with everything that a child could get at: a grant, a wait under
 * way, a mutex that is locked, each descriptor that is ever made. */
struct fork_fixture {
    enum way way;
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_lock *lock;
    struct hf_lock *busy;
    struct hf_grant *grant;
    struct hf_grant *blocking;
    struct hf_mutex *mutex;
    struct outcome waiter;
    int loss_fd;
};

static void fixture_open(struct fork_fixture *f, enum way way)
{
    memset(f, 0, sizeof(*f));
    f->way = way;
    client_directory_create(&f->directory);
    client_open(&f->fixture, way, f->directory.url, no_listener);
    f->lock = client_open_lock(&f->fixture, "held");
    f->busy = client_open_lock(&f->fixture, "busy");
    f->grant = client_take(&f->fixture, f->lock);
    f->blocking = client_take(&f->fixture, f->busy);
    assert_int_equal(hf_grant_loss_fd(f->grant, &f->loss_fd), HF_OK);
    assert_int_equal(hf_mutex_open(f->fixture.client, "mutex", NULL, &f->mutex),
                     HF_OK);
    if (way != WAY_UV)
        assert_int_equal(hf_mutex_lock(f->mutex), HF_OK);
    client_acquire(&f->fixture, f->busy, NULL, &f->waiter);
    await_tickets(&f->directory, way == WAY_UV ? 3 : 4);
}

static struct hf_grant *try_as_another(const struct fork_fixture *f,
                                       const char *name, hf_status wanted)
{
    struct hf_client *other = open_client(f->directory.url);
    struct hf_lock *lock;
    struct hf_grant *grant;

    assert_int_equal(hf_lock_open(other, name, NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_try_acquire(lock, &grant), wanted);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(other), HF_OK);
    return grant;
}

/* Everything is as it was before the fork, and works. */
static void fixture_close(struct fork_fixture *f)
{
    (void)try_as_another(f, "held", HF_EBUSY);
    (void)try_as_another(f, "busy", HF_EBUSY);
    assert_int_equal(hf_grant_check(f->grant), HF_OK);
    assert_true(hf_grant_safe_until_ms(f->grant) == HF_FOREVER);
    assert_int_equal(atomic_load(&f->waiter.ended), 0);
    assert_int_equal(client_give(&f->fixture, f->blocking), HF_OK);
    client_await(&f->waiter);
    assert_int_equal(f->waiter.status, HF_OK);
    assert_int_equal(client_give(&f->fixture, f->waiter.grant), HF_OK);
    assert_int_equal(client_give(&f->fixture, f->grant), HF_OK);
    if (f->way != WAY_UV)
        assert_int_equal(hf_mutex_unlock(f->mutex), HF_OK);
    hf_mutex_free(f->mutex);
    hf_lock_free(f->lock);
    hf_lock_free(f->busy);
    client_close(&f->fixture);
    assert_int_equal(client_directory_count_tickets(&f->directory), 0);
    client_directory_remove(&f->directory);
}

/* ---------------------------------------------------------- in the child -- */

static void never(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
    abort();
}

static void drop(void *arg)
{
    ++*(int *)arg;
}

static int asks_in_vain(struct fork_fixture *f)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client *client = f->fixture.client;
    struct hf_grant *grant;
    struct hf_lock *lock;
    struct hf_mutex *mutex;
    struct hf_op *op;
    int drops = 0;
    struct hf_done done = {never, &drops, drop};

    opts.wait_ms = 10;
    CHILD_CHECK(hf_lock_open(client, "x", NULL, &lock) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_open(client, "x", NULL, &mutex) == HF_EFORKED);
    CHILD_CHECK(hf_lock_acquire(f->lock, NULL, &grant) == HF_EFORKED);
    CHILD_CHECK(hf_lock_acquire(f->lock, &opts, &grant) == HF_EFORKED);
    CHILD_CHECK(hf_lock_try_acquire(f->lock, &grant) == HF_EFORKED);
    CHILD_CHECK(hf_lock_acquire_start(f->lock, NULL, done, &op) == HF_EFORKED);
    CHILD_CHECK(drops == 1 && op == NULL);
    CHILD_CHECK(hf_mutex_lock(f->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_trylock(f->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_timedlock(f->mutex, 10) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_unlock(f->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_token(f->mutex) == 0);
    return 0;
}

static bool says_forked(const struct hf_error *error)
{
    return error->status == HF_EFORKED &&
           strstr(error->text, "the parent process") != NULL;
}

static int gives_in_vain(struct fork_fixture *f)
{
    struct hf_client *client = f->fixture.client;
    char line[64];
    int fd;
    int drops = 0;
    struct hf_done done = {never, &drops, drop};

    CHILD_CHECK(hf_grant_check(f->grant) == HF_EFORKED);
    CHILD_CHECK(hf_grant_loss_fd(f->grant, &fd) == HF_EFORKED && fd == -1);
    CHILD_CHECK(hf_grant_hold_fd(f->grant, &fd) == HF_EFORKED && fd == -1);
    CHILD_CHECK(hf_grant_release(f->grant) == HF_EFORKED);
    CHILD_CHECK(hf_grant_release_start(f->grant, done) == HF_EFORKED);
    CHILD_CHECK(drops == 1);
    CHILD_CHECK(hf_grant_token(f->grant) > 0);
    CHILD_CHECK(hf_grant_safe_until_ms(f->grant) == 0);
    if (f->waiter.op != NULL) {
        hf_op_cancel(f->waiter.op);
        hf_op_free(f->waiter.op);
    }
    CHILD_CHECK(says_forked(hf_last_error()));
    CHILD_CHECK(hf_client_state(client) == HF_STATE_CONNECTED);
    hf_client_describe(client, line, sizeof(line));
    CHILD_CHECK(strncmp(line, "file:", 5) == 0);
    CHILD_CHECK(strcmp(hf_lock_name(f->lock), "held") == 0);
    CHILD_CHECK(hf_client_fd(client) == -1);
    CHILD_CHECK(hf_client_dispatch(client) == HF_EFORKED);
    return 0;
}

static int ends_in_vain(struct fork_fixture *f)
{
    int drops = 0;
    struct hf_done done = {never, &drops, drop};

    hf_mutex_free(f->mutex);
    hf_lock_free(f->lock);
    CHILD_CHECK(hf_client_close(NULL) == HF_OK);
    CHILD_CHECK(hf_client_close(f->fixture.client) == HF_EFORKED);
    CHILD_CHECK(hf_client_close_start(f->fixture.client, done) == HF_EFORKED);
    CHILD_CHECK(drops == 1);
    return 0;
}

/* A child may open a client of its own, which then is another client for its
 * parent's locks. */
static int starts_anew(struct fork_fixture *f)
{
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;

    CHILD_CHECK(hf_client_open(f->directory.url, NULL, &client) == HF_OK);
    CHILD_CHECK(hf_lock_open(client, "held", NULL, &lock) == HF_OK);
    CHILD_CHECK(hf_lock_try_acquire(lock, &grant) == HF_EBUSY);
    hf_lock_free(lock);
    CHILD_CHECK(hf_lock_open(client, "its own", NULL, &lock) == HF_OK);
    CHILD_CHECK(hf_lock_acquire(lock, NULL, &grant) == HF_OK);
    CHILD_CHECK(hf_grant_release(grant) == HF_OK);
    hf_lock_free(lock);
    CHILD_CHECK(hf_client_close(client) == HF_OK);
    return 0;
}

static int tries_everything(void *arg)
{
    struct fork_fixture *f = arg;
    int failed = asks_in_vain(f);

    if (failed == 0)
        failed = gives_in_vain(f);
    if (failed == 0)
        failed = ends_in_vain(f);
    if (failed == 0)
        failed = starts_anew(f);
    return failed;
}

TEST_IN_EACH_WAY(a_child_can_do_nothing)
{
    struct fork_fixture f;

    fixture_open(&f, way);
    run_in_child(tries_everything, &f);
    fixture_close(&f);
}

/* ------------------------------------------------------ ends of children -- */

/* exit() runs what the library may have registered; _exit() does not. */
static int exits(void *arg)
{
    (void)arg;
    exit(0);
}

static int does_nothing(void *arg)
{
    (void)arg;
    return 0;
}

TEST_IN_EACH_WAY(a_child_may_end_as_it_likes)
{
    struct fork_fixture f;

    fixture_open(&f, way);
    run_in_child(exits, &f);
    (void)try_as_another(&f, "held", HF_EBUSY);
    run_in_child(does_nothing, &f);
    fixture_close(&f);
}

/* ------------------------------------------------- children that live on -- */

struct orphan {
    struct client_directory directory;
    int word[2];  /* the orphan writes here that it lives, */
    int leash[2]; /* and lives until the other end of this is closed */
};

static int lives_on(const struct orphan *orphan)
{
    char byte = 'x';

    close(orphan->leash[1]);
    CHILD_CHECK(write(orphan->word[1], &byte, 1) == 1);
    CHILD_CHECK(read(orphan->leash[0], &byte, 1) == 0);
    return 0;
}

/* The process in the middle takes the lock, with a background thread and every
 * descriptor, leaves a child behind and is killed. */
static int leaves_a_child_behind(const struct orphan *orphan)
{
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    int fd;

    CHILD_CHECK(hf_client_open(orphan->directory.url, NULL, &client) == HF_OK);
    CHILD_CHECK(hf_lock_open(client, "held", NULL, &lock) == HF_OK);
    CHILD_CHECK(hf_lock_acquire(lock, NULL, &grant) == HF_OK);
    CHILD_CHECK(hf_grant_loss_fd(grant, &fd) == HF_OK);
    if (fork() == 0)
        _exit(lives_on(orphan));
    pause();
    return 0;
}

static pid_t orphan_make(struct orphan *orphan)
{
    pid_t parent;
    char byte;

    client_directory_create(&orphan->directory);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe2(orphan->word, O_CLOEXEC), 0);
    assert_int_equal(pipe2(orphan->leash, O_CLOEXEC), 0);
    parent = fork();
    if (parent == 0)
        _exit(leaves_a_child_behind(orphan));
    assert_int_equal(read(orphan->word[0], &byte, 1), 1);
    close(orphan->word[1]);
    close(orphan->leash[0]);
    return parent;
}

TEST(a_dead_parent_holds_nothing)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct orphan orphan;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    pid_t parent = orphan_make(&orphan);
    struct pollfd word = {.fd = orphan.word[0], .events = POLLIN};

    client = open_client(orphan.directory.url);
    assert_int_equal(hf_lock_open(client, "held", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_try_acquire(lock, &grant), HF_EBUSY);
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    opts.wait_ms = 10000;
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    assert_int_equal(poll(&word, 1, 0), 0); /* the orphan lives */
    assert_int_equal(hf_grant_release(grant), HF_OK);
    close(orphan.leash[1]);
    assert_int_equal(reap_child(-1), 0);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    close(orphan.word[0]);
    client_directory_remove(&orphan.directory);
}

/* ------------------------------------------------------- fork under load -- */

enum { LOCKERS = 3, FORKS = 200 };

struct busy_client {
    struct hf_client *client;
    struct hf_mutex *mutex;
    const struct client_directory *directory;
    atomic_bool stop;
    _Atomic int failures;
    _Atomic int repeats;
};

static void *lock_and_unlock_main(void *arg)
{
    struct busy_client *busy_client = arg;

    while (!atomic_load(&busy_client->stop)) {
        if (hf_mutex_lock(busy_client->mutex) != HF_OK ||
            hf_mutex_unlock(busy_client->mutex) != HF_OK)
            atomic_fetch_add(&busy_client->failures, 1);
        atomic_fetch_add(&busy_client->repeats, 1);
    }
    return NULL;
}

/* Opens and closes clients, so that the registry changes under the fork. */
static void *open_and_close_main(void *arg)
{
    struct busy_client *busy_client = arg;
    struct hf_client *client;

    while (!atomic_load(&busy_client->stop)) {
        if (hf_client_open(busy_client->directory->url, NULL, &client) !=
                HF_OK ||
            hf_client_close(client) != HF_OK)
            atomic_fetch_add(&busy_client->failures, 1);
    }
    return NULL;
}

static int cannot_lock(void *arg)
{
    struct busy_client *busy_client = arg;

    CHILD_CHECK(hf_mutex_trylock(busy_client->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_unlock(busy_client->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_client_close(busy_client->client) == HF_EFORKED);
    return 0;
}

TEST(forks_in_the_thick_of_it)
{
    struct client_directory directory;
    struct busy_client busy_client = {.failures = 0};
    pthread_t threads[LOCKERS + 1];
    int i;

    client_directory_create(&directory);
    busy_client.directory = &directory;
    busy_client.client = open_client(directory.url);
    assert_int_equal(
        hf_mutex_open(busy_client.client, "mutex", NULL, &busy_client.mutex),
        HF_OK);
    for (i = 0; i < LOCKERS; i++)
        threads[i] = start_thread(lock_and_unlock_main, &busy_client);
    threads[LOCKERS] = start_thread(open_and_close_main, &busy_client);
    for (i = 0; i < FORKS; i++)
        run_in_child(cannot_lock, &busy_client);
    atomic_store(&busy_client.stop, true);
    for (i = 0; i <= LOCKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&busy_client.failures), 0);
    assert_true(atomic_load(&busy_client.repeats) > 0);
    hf_mutex_free(busy_client.mutex);
    assert_int_equal(hf_client_close(busy_client.client), HF_OK);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    client_directory_remove(&directory);
}

/* ---------------------------------------------------- fork in a callback -- */

/* AddressSanitizer asks this before it looks for leaks.  A child that came back
 * on the background thread has lost the stack that the test's own objects are
 * reached from, and nothing can be said about it. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

static bool is_child_that_returned;

int __lsan_is_turned_off(void)
{
    return is_child_that_returned;
}

struct fork_inside {
    struct client_fixture fixture;
    struct client_directory directory;
    struct hf_lock *lock;
    bool returns; /* the child leaves the callback as if nothing had happened */
    pid_t child;
    pid_t parent;
    int loss_fd; /* of the grant that was released */
    _Atomic int ran;
};

/* HF_EFORKED comes before HF_EREENTRANT. */
static int is_refused(struct fork_inside *inside)
{
    struct hf_grant *grant;

    CHILD_CHECK(fcntl(inside->loss_fd, F_GETFD) == -1 && errno == EBADF);
    CHILD_CHECK(hf_lock_acquire(inside->lock, NULL, &grant) == HF_EFORKED);
    CHILD_CHECK(hf_client_close(inside->fixture.client) == HF_EFORKED);
    return 0;
}

static void on_fork(void *arg, const struct hf_result *result)
{
    struct fork_inside *inside = arg;
    pid_t child;

    (void)result;
    child = fork();
    if (child == 0) {
        int failed = is_refused(inside);

        if (failed != 0 || !inside->returns)
            _exit(failed);
        is_child_that_returned = true;
        return;
    }
    inside->child = child;
    atomic_fetch_add(&inside->ran, 1);
}

static bool has_forked(void *arg)
{
    struct fork_inside *inside = arg;

    /* The child went on from the callback to here, where callbacks run on
     * this thread. */
    if (getpid() != inside->parent)
        _exit(0);
    return atomic_load(&inside->ran) > 0;
}

static void fork_in_a_callback(enum way way, bool returns)
{
    struct fork_inside inside = {.returns = returns, .parent = getpid()};
    struct hf_done done = {on_fork, &inside, NULL};
    struct hf_grant *grant;

    client_directory_create(&inside.directory);
    client_open(&inside.fixture, way, inside.directory.url, no_listener);
    inside.lock = client_open_lock(&inside.fixture, "nightly");
    grant = client_take(&inside.fixture, inside.lock);
    assert_int_equal(hf_grant_loss_fd(grant, &inside.loss_fd), HF_OK);
    assert_int_equal(hf_grant_release_start(grant, done), HF_OK);
    client_wait_until(&inside.fixture, has_forked, &inside);
    assert_int_equal(reap_child(inside.child), 0);
    grant = client_take(&inside.fixture, inside.lock);
    assert_int_equal(client_give(&inside.fixture, grant), HF_OK);
    hf_lock_free(inside.lock);
    client_close(&inside.fixture);
    client_directory_remove(&inside.directory);
}

TEST_IN_EACH_WAY(a_callback_may_fork)
{
    fork_in_a_callback(way, false);
}

/* Where callbacks run on the program's thread the child goes on with its work;
 * on the background thread it ends with that thread, its only one. */
TEST_IN_EACH_WAY(a_child_may_return_from_it)
{
    fork_in_a_callback(way, true);
}
