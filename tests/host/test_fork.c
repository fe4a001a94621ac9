/* SPDX-License-Identifier: Apache-2.0 */
/* fork: a child can do nothing to its parent's locks, neither by calling, nor
 * by ending, nor by living on. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"

/* A client with everything that a child could get at: a grant, a wait under
 * way, a mutex that is locked, each descriptor that is ever made. */
struct world {
    enum way way;
    struct place place;
    struct front front;
    struct hf_lock *lock;
    struct hf_lock *busy;
    struct hf_grant *grant;
    struct hf_grant *blocking;
    struct hf_mutex *mutex;
    struct outcome waiter;
    int loss_fd;
};

static void world_open(struct world *w, enum way way)
{
    memset(w, 0, sizeof(*w));
    w->way = way;
    place_make(&w->place);
    front_open(&w->front, way, w->place.url, no_listener);
    w->lock = front_lock(&w->front, "held");
    w->busy = front_lock(&w->front, "busy");
    w->grant = front_take(&w->front, w->lock);
    w->blocking = front_take(&w->front, w->busy);
    assert_int_equal(hf_grant_loss_fd(w->grant, &w->loss_fd), HF_OK);
    assert_int_equal(hf_mutex_open(w->front.client, "mutex", NULL, &w->mutex),
                     HF_OK);
    if (way != WAY_UV)
        assert_int_equal(hf_mutex_lock(w->mutex), HF_OK);
    front_acquire(&w->front, w->busy, NULL, &w->waiter);
    kit_await_tickets(&w->place, way == WAY_UV ? 3 : 4);
}

static struct hf_grant *try_as_another(const struct world *w, const char *name,
                                       hf_status wanted)
{
    struct hf_client *other = kit_client(w->place.url);
    struct hf_lock *lock;
    struct hf_grant *grant;

    assert_int_equal(hf_lock_open(other, name, NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_try_acquire(lock, &grant), wanted);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(other), HF_OK);
    return grant;
}

/* Everything is as it was before the fork, and works. */
static void world_close(struct world *w)
{
    (void)try_as_another(w, "held", HF_EBUSY);
    (void)try_as_another(w, "busy", HF_EBUSY);
    assert_int_equal(hf_grant_check(w->grant), HF_OK);
    assert_true(hf_grant_safe_until_ms(w->grant) == HF_FOREVER);
    assert_int_equal(atomic_load(&w->waiter.ended), 0);
    assert_int_equal(front_give(&w->front, w->blocking), HF_OK);
    front_await(&w->waiter);
    assert_int_equal(w->waiter.status, HF_OK);
    assert_int_equal(front_give(&w->front, w->waiter.grant), HF_OK);
    assert_int_equal(front_give(&w->front, w->grant), HF_OK);
    if (w->way != WAY_UV)
        assert_int_equal(hf_mutex_unlock(w->mutex), HF_OK);
    hf_mutex_free(w->mutex);
    hf_lock_free(w->lock);
    hf_lock_free(w->busy);
    front_close(&w->front);
    assert_int_equal(place_tickets(&w->place), 0);
    place_remove(&w->place);
}

/* -------------------------------------------------------- in the child -- */

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

static int asks_in_vain(struct world *w)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_client *client = w->front.client;
    struct hf_grant *grant;
    struct hf_lock *lock;
    struct hf_mutex *mutex;
    struct hf_op *op;
    int drops = 0;
    struct hf_done done = {never, &drops, drop};

    opts.wait_ms = 10;
    KIT_CHECK(hf_lock_open(client, "x", NULL, &lock) == HF_EFORKED);
    KIT_CHECK(hf_mutex_open(client, "x", NULL, &mutex) == HF_EFORKED);
    KIT_CHECK(hf_lock_acquire(w->lock, NULL, &grant) == HF_EFORKED);
    KIT_CHECK(hf_lock_acquire(w->lock, &opts, &grant) == HF_EFORKED);
    KIT_CHECK(hf_lock_try_acquire(w->lock, &grant) == HF_EFORKED);
    KIT_CHECK(hf_lock_acquire_start(w->lock, NULL, done, &op) == HF_EFORKED);
    KIT_CHECK(drops == 1 && op == NULL);
    KIT_CHECK(hf_mutex_lock(w->mutex) == HF_EFORKED);
    KIT_CHECK(hf_mutex_trylock(w->mutex) == HF_EFORKED);
    KIT_CHECK(hf_mutex_timedlock(w->mutex, 10) == HF_EFORKED);
    KIT_CHECK(hf_mutex_unlock(w->mutex) == HF_EFORKED);
    KIT_CHECK(hf_mutex_token(w->mutex) == 0);
    return 0;
}

static bool says_forked(const struct hf_error *error)
{
    return error->status == HF_EFORKED &&
           strstr(error->text, "the parent process") != NULL;
}

static int gives_in_vain(struct world *w)
{
    struct hf_client *client = w->front.client;
    struct hf_error error;
    char line[64];
    int fd;
    int drops = 0;
    struct hf_done done = {never, &drops, drop};

    KIT_CHECK(hf_grant_check(w->grant) == HF_EFORKED);
    KIT_CHECK(hf_grant_loss_fd(w->grant, &fd) == HF_EFORKED && fd == -1);
    KIT_CHECK(hf_grant_hold_fd(w->grant, &fd) == HF_EFORKED && fd == -1);
    KIT_CHECK(hf_grant_release(w->grant) == HF_EFORKED);
    KIT_CHECK(hf_grant_release_start(w->grant, done) == HF_EFORKED);
    KIT_CHECK(drops == 1);
    KIT_CHECK(hf_grant_token(w->grant) > 0);
    KIT_CHECK(hf_grant_safe_until_ms(w->grant) == 0);
    if (w->waiter.op != NULL) {
        hf_op_cancel(w->waiter.op);
        hf_op_free(w->waiter.op);
    }
    hf_client_error(client, &error);
    KIT_CHECK(says_forked(&error));
    hf_lock_error(w->lock, &error);
    KIT_CHECK(says_forked(&error));
    hf_grant_error(w->grant, &error);
    KIT_CHECK(says_forked(&error));
    hf_mutex_error(w->mutex, &error);
    KIT_CHECK(says_forked(&error));
    KIT_CHECK(hf_client_state(client) == HF_STATE_CONNECTED);
    hf_client_describe(client, line, sizeof(line));
    KIT_CHECK(strncmp(line, "file:", 5) == 0);
    KIT_CHECK(strcmp(hf_lock_name(w->lock), "held") == 0);
    KIT_CHECK(hf_client_fd(client) == -1);
    KIT_CHECK(hf_client_dispatch(client) == HF_EFORKED);
    return 0;
}

static int ends_in_vain(struct world *w)
{
    int drops = 0;
    struct hf_done done = {never, &drops, drop};

    hf_mutex_free(w->mutex);
    hf_lock_free(w->lock);
    KIT_CHECK(hf_client_close(NULL) == HF_OK);
    KIT_CHECK(hf_client_close(w->front.client) == HF_EFORKED);
    KIT_CHECK(hf_client_close_start(w->front.client, done) == HF_EFORKED);
    KIT_CHECK(drops == 1);
    return 0;
}

/* A child may begin anew, with a client of its own, and is then a stranger to
 * its parent's locks. */
static int starts_anew(struct world *w)
{
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;

    KIT_CHECK(hf_client_open(w->place.url, NULL, &client, NULL) == HF_OK);
    KIT_CHECK(hf_lock_open(client, "held", NULL, &lock) == HF_OK);
    KIT_CHECK(hf_lock_try_acquire(lock, &grant) == HF_EBUSY);
    hf_lock_free(lock);
    KIT_CHECK(hf_lock_open(client, "its own", NULL, &lock) == HF_OK);
    KIT_CHECK(hf_lock_acquire(lock, NULL, &grant) == HF_OK);
    KIT_CHECK(hf_grant_release(grant) == HF_OK);
    hf_lock_free(lock);
    KIT_CHECK(hf_client_close(client) == HF_OK);
    return 0;
}

static int tries_everything(void *arg)
{
    struct world *w = arg;
    int failed = asks_in_vain(w);

    if (failed == 0)
        failed = gives_in_vain(w);
    if (failed == 0)
        failed = ends_in_vain(w);
    if (failed == 0)
        failed = starts_anew(w);
    return failed;
}

static void a_child_can_do_nothing(enum way way)
{
    struct world w;

    world_open(&w, way);
    kit_in_child(tries_everything, &w);
    world_close(&w);
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

static void a_child_may_end_as_it_likes(enum way way)
{
    struct world w;

    world_open(&w, way);
    kit_in_child(exits, &w);
    (void)try_as_another(&w, "held", HF_EBUSY);
    kit_in_child(does_nothing, &w);
    world_close(&w);
}

/* ------------------------------------------------ a child that lives on -- */

struct orphan {
    struct place place;
    int word[2];  /* the orphan says here that it lives, */
    int leash[2]; /* and lives until the other end of this is closed */
};

static int lives_on(const struct orphan *orphan)
{
    char byte = 'x';

    close(orphan->leash[1]);
    KIT_CHECK(write(orphan->word[1], &byte, 1) == 1);
    KIT_CHECK(read(orphan->leash[0], &byte, 1) == 0);
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

    KIT_CHECK(hf_client_open(orphan->place.url, NULL, &client, NULL) == HF_OK);
    KIT_CHECK(hf_lock_open(client, "held", NULL, &lock) == HF_OK);
    KIT_CHECK(hf_lock_acquire(lock, NULL, &grant) == HF_OK);
    KIT_CHECK(hf_grant_loss_fd(grant, &fd) == HF_OK);
    if (fork() == 0)
        _exit(lives_on(orphan));
    pause();
    return 0;
}

static pid_t orphan_make(struct orphan *orphan)
{
    pid_t parent;
    char byte;

    place_make(&orphan->place);
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

static void a_dead_parent_holds_nothing(void **state)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct orphan orphan;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;
    pid_t parent = orphan_make(&orphan);
    struct pollfd word = {.fd = orphan.word[0], .events = POLLIN};

    (void)state;
    client = kit_client(orphan.place.url);
    assert_int_equal(hf_lock_open(client, "held", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_try_acquire(lock, &grant), HF_EBUSY);
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    opts.wait_ms = 10000;
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    assert_int_equal(poll(&word, 1, 0), 0); /* the orphan lives */
    assert_int_equal(hf_grant_release(grant), HF_OK);
    close(orphan.leash[1]);
    assert_int_equal(kit_reap(-1), 0);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    close(orphan.word[0]);
    place_remove(&orphan.place);
}

/* ----------------------------------------------------- fork in the thick -- */

enum { LOCKERS = 3, FORKS = 200 };

struct thick {
    struct hf_client *client;
    struct hf_mutex *mutex;
    const struct place *place;
    atomic_bool stop;
    _Atomic int failures;
    _Atomic int rounds;
};

static void *lock_and_unlock_main(void *arg)
{
    struct thick *thick = arg;

    while (!atomic_load(&thick->stop)) {
        if (hf_mutex_lock(thick->mutex) != HF_OK ||
            hf_mutex_unlock(thick->mutex) != HF_OK)
            atomic_fetch_add(&thick->failures, 1);
        atomic_fetch_add(&thick->rounds, 1);
    }
    return NULL;
}

/* Opens and closes clients, so that the registry changes under the fork. */
static void *open_and_close_main(void *arg)
{
    struct thick *thick = arg;
    struct hf_client *client;

    while (!atomic_load(&thick->stop)) {
        if (hf_client_open(thick->place->url, NULL, &client, NULL) != HF_OK ||
            hf_client_close(client) != HF_OK)
            atomic_fetch_add(&thick->failures, 1);
    }
    return NULL;
}

static int cannot_lock(void *arg)
{
    struct thick *thick = arg;

    KIT_CHECK(hf_mutex_trylock(thick->mutex) == HF_EFORKED);
    KIT_CHECK(hf_mutex_unlock(thick->mutex) == HF_EFORKED);
    KIT_CHECK(hf_client_close(thick->client) == HF_EFORKED);
    return 0;
}

static void forks_in_the_thick_of_it(void **state)
{
    struct place place;
    struct thick thick = {.failures = 0};
    pthread_t threads[LOCKERS + 1];
    int i;

    (void)state;
    place_make(&place);
    thick.place = &place;
    thick.client = kit_client(place.url);
    assert_int_equal(hf_mutex_open(thick.client, "mutex", NULL, &thick.mutex),
                     HF_OK);
    for (i = 0; i < LOCKERS; i++)
        threads[i] = kit_thread(lock_and_unlock_main, &thick);
    threads[LOCKERS] = kit_thread(open_and_close_main, &thick);
    for (i = 0; i < FORKS; i++)
        kit_in_child(cannot_lock, &thick);
    atomic_store(&thick.stop, true);
    for (i = 0; i <= LOCKERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&thick.failures), 0);
    assert_true(atomic_load(&thick.rounds) > 0);
    hf_mutex_free(thick.mutex);
    assert_int_equal(hf_client_close(thick.client), HF_OK);
    assert_int_equal(place_tickets(&place), 0);
    place_remove(&place);
}

/* --------------------------------------------------- fork in a callback -- */

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
    struct front front;
    struct place place;
    struct hf_lock *lock;
    bool returns; /* the child leaves the callback as if nothing had happened */
    pid_t child;
    pid_t parent;
    int loss_fd; /* of the grant that was released */
    _Atomic int ran;
};

/* Even here it is the fork that is named, not the callback. */
static int is_refused(struct fork_inside *inside)
{
    struct hf_grant *grant;

    KIT_CHECK(fcntl(inside->loss_fd, F_GETFD) == -1 && errno == EBADF);
    KIT_CHECK(hf_lock_acquire(inside->lock, NULL, &grant) == HF_EFORKED);
    KIT_CHECK(hf_client_close(inside->front.client) == HF_EFORKED);
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

    place_make(&inside.place);
    front_open(&inside.front, way, inside.place.url, no_listener);
    inside.lock = front_lock(&inside.front, "nightly");
    grant = front_take(&inside.front, inside.lock);
    assert_int_equal(hf_grant_loss_fd(grant, &inside.loss_fd), HF_OK);
    assert_int_equal(hf_grant_release_start(grant, done), HF_OK);
    front_until(&inside.front, has_forked, &inside);
    assert_int_equal(kit_reap(inside.child), 0);
    grant = front_take(&inside.front, inside.lock);
    assert_int_equal(front_give(&inside.front, grant), HF_OK);
    hf_lock_free(inside.lock);
    front_close(&inside.front);
    place_remove(&inside.place);
}

static void a_callback_may_fork(enum way way)
{
    fork_in_a_callback(way, false);
}

/* Where callbacks run on the program's thread the child goes on with its work;
 * on the background thread it ends with that thread, its only one. */
static void a_child_may_return_from_it(enum way way)
{
    fork_in_a_callback(way, true);
}

/* ---------------------------------------------------------------------- */

#define STORIES(X)                                                             \
    X(a_child_can_do_nothing)                                                  \
    X(a_child_may_end_as_it_likes)                                             \
    X(a_callback_may_fork)                                                     \
    X(a_child_may_return_from_it)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(a_dead_parent_holds_nothing),
        cmocka_unit_test(forks_in_the_thick_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
