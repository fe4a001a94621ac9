/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex that keeps its ticket when it is unlocked (.keep_ms): with files, or
 * with a server. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/client.h"
#include "cmocka/runner.h"
#include "mutex_fixture.h"
#include "process.h"
#include "server_url.h"

#define NAME "nightly"
#define FAR_MS 60000

struct kept_fixture {
    struct mutex_fixture base;
    char url[256];
    struct hf_mutex *mutex;      /* keeps its ticket for FAR_MS */
    struct hf_client *elsewhere; /* another client of the same name ... */
    struct hf_mutex *theirs;     /* ... that keeps none */
};

static struct hf_mutex *open_mutex(struct hf_client *client, uint64_t keep_ms)
{
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;

    opts.keep_ms = keep_ms;
    assert_int_equal(hf_mutex_open(client, NAME, &opts, &mutex), HF_OK);
    return mutex;
}

static void fixture_open(struct kept_fixture *f)
{
    client_directory_create(&f->base.directory);
    server_url(f->url, sizeof f->url, f->base.directory.url);
    f->base.client = open_client(f->url);
    f->mutex = open_mutex(f->base.client, FAR_MS);
    f->elsewhere = open_client(f->url);
    f->theirs = open_mutex(f->elsewhere, 0);
}

static void fixture_close(struct kept_fixture *f)
{
    hf_mutex_free(f->theirs);
    assert_int_equal(hf_client_close(f->elsewhere), HF_OK);
    hf_mutex_free(f->mutex);
    mutex_fixture_close(&f->base);
}

#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct kept_fixture f;                            \
    fixture_open(&f)

/* Lock and unlock ${mutex}: the token that it had. */
static uint64_t use(struct hf_mutex *mutex)
{
    uint64_t token;

    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    token = hf_mutex_token(mutex);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    return token;
}

/* The tickets that another client sees. */
static size_t count_tickets(const struct kept_fixture *f)
{
    struct hf_tickets *tickets;
    size_t count;

    assert_int_equal(
        hf_mutex_tickets(f->theirs, HF_TICKETS_ALL, FAR_MS, &tickets), HF_OK);
    count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return count;
}

TEST(the_next_lock_has_the_same_ticket)
{
    FIXTURE(f);
    uint64_t token = use(f.mutex);

    assert_int_equal(count_tickets(&f), 1);
    assert_int_equal(use(f.mutex), token);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_token(f.mutex), token);
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    assert_int_equal(count_tickets(&f), 1);
}

/* It need not wait for FAR_MS, and has a greater token. */
TEST(another_client_has_it_at_once)
{
    FIXTURE(f);
    uint64_t token = use(f.mutex);

    for (int i = 0; i < 3; i++) {
        assert_true(use(f.theirs) > token);
        token = use(f.mutex);
    }
}

static void *use_theirs(void *arg)
{
    struct kept_fixture *f = arg;

    return (void *)(uintptr_t)use(f->theirs);
}

/* While it is used again: after that use, before this client's next one. */
TEST(another_client_has_it_after_the_present_use)
{
    FIXTURE(f);
    uint64_t token = use(f.mutex);
    pthread_t thread;
    void *theirs;

    assert_int_equal(hf_mutex_lock(f.mutex), HF_OK);
    assert_int_equal(hf_mutex_token(f.mutex), token);
    assert_int_equal(pthread_create(&thread, NULL, use_theirs, &f), 0);
    while (count_tickets(&f) < 2)
        sched_yield();
    assert_int_equal(hf_mutex_unlock(f.mutex), HF_OK);
    assert_int_equal(pthread_join(thread, &theirs), 0);
    assert_true((uintptr_t)theirs > token);
    assert_true(use(f.mutex) > token);
}

TEST(another_client_has_it_when_the_handle_is_freed)
{
    FIXTURE(f);
    uint64_t token = use(f.mutex);

    hf_mutex_free(f.mutex);
    f.mutex = open_mutex(f.base.client, FAR_MS);
    assert_int_equal(use(f.mutex), token);
    hf_mutex_free(f.mutex);
    f.mutex = NULL;
    assert_true(use(f.theirs) > token);
}

TEST(the_close_gives_it_back)
{
    FIXTURE(f);

    (void)use(f.mutex);
    hf_mutex_free(f.mutex);
    f.mutex = NULL;
    assert_int_equal(hf_client_close(f.base.client), HF_OK);
    assert_int_equal(count_tickets(&f), 0);
    f.base.client = open_client(f.url);
}

TEST(the_close_gives_it_back_though_the_handle_is_open)
{
    FIXTURE(f);

    (void)use(f.mutex);
    assert_int_equal(hf_client_close(f.base.client), HF_OK);
    assert_int_equal(count_tickets(&f), 0);
    assert_int_equal(hf_mutex_trylock(f.mutex), HF_ECLOSED);
    assert_int_equal(hf_mutex_token(f.mutex), 0);
    hf_mutex_free(f.mutex);
    f.mutex = NULL;
    f.base.client = open_client(f.url);
}

/* A client that is closed inside one of its callbacks. */
struct close_inside {
    struct hf_client *client;
    struct hf_grant *grant;
    _Atomic bool closed;
};

static void note_closed(void *arg, const struct hf_result *result)
{
    struct close_inside *inside = arg;

    assert_int_equal(result->status, HF_OK);
    atomic_store(&inside->closed, true);
}

static void close_inside(void *arg, const struct hf_result *result)
{
    struct close_inside *inside = arg;
    const struct hf_done done = {note_closed, inside, NULL};

    assert_int_equal(result->status, HF_OK);
    inside->grant = result->grant;
    assert_int_equal(hf_client_close(inside->client), HF_EREENTRANT);
    assert_int_equal(hf_client_close_start(inside->client, done), HF_OK);
}

static bool is_closed(void *arg)
{
    return atomic_load(&((struct close_inside *)arg)->closed);
}

TEST(a_close_inside_a_callback_gives_it_back)
{
    FIXTURE(f);
    struct close_inside inside = {.client = f.base.client};
    const struct hf_done done = {close_inside, &inside, NULL};
    struct hf_lock *other;
    struct hf_op *op;

    (void)use(f.mutex);
    assert_int_equal(hf_lock_open(f.base.client, "other", NULL, &other), HF_OK);
    assert_int_equal(hf_lock_acquire_start(other, NULL, done, &op), HF_OK);
    wait_until(is_closed, &inside);
    assert_int_equal(count_tickets(&f), 0);
    assert_int_equal(hf_grant_release(inside.grant), HF_ELOST);
    hf_op_free(op);
    hf_lock_free(other);
    hf_mutex_free(f.mutex);
    f.mutex = NULL;
    f.base.client = open_client(f.url);
}

/* The child of a fork has nothing of what is kept. */
static int has_nothing(const struct kept_fixture *f)
{
    CHILD_CHECK(hf_mutex_trylock(f->mutex) == HF_EFORKED);
    CHILD_CHECK(hf_mutex_token(f->mutex) == 0);
    CHILD_CHECK(hf_mutex_unlock(f->mutex) == HF_EFORKED);
    return 0;
}

/* A child that ends when the other end of ${ends} is closed. */
static pid_t start_child(const struct kept_fixture *f, int ends[2])
{
    char byte = 0;
    pid_t child;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int failed = has_nothing(f);

        close(ends[0]);
        if (write(ends[1], &byte, 1) != 1 || read(ends[1], &byte, 1) != 0)
            failed = 1;
        _exit(failed);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    return child;
}

/* What the child does changes nothing for its parent.  While the child lives
 * another client gets the lock as before. */
TEST(a_child_does_not_have_it)
{
    FIXTURE(f);
    uint64_t token = use(f.mutex);
    int ends[2];
    pid_t child = start_child(&f, ends);

    assert_int_equal(use(f.mutex), token);
    assert_int_equal(count_tickets(&f), 1);
    assert_true(use(f.theirs) > token);
    (void)use(f.mutex);
    hf_mutex_free(f.mutex);
    f.mutex = NULL;
    assert_int_equal(hf_client_close(f.base.client), HF_OK);
    assert_int_equal(count_tickets(&f), 0);
    close(ends[0]);
    assert_int_equal(reap_child(child), 0);
    f.base.client = open_client(f.url);
}

TEST(it_goes_when_its_time_is_over)
{
    FIXTURE(f);
    struct hf_mutex *brief = open_mutex(f.elsewhere, 1);
    uint64_t token = use(brief);

    while (count_tickets(&f) > 0)
        sched_yield();
    assert_true(use(brief) > token);
    hf_mutex_free(brief);
}

/* Handles that came and went leave nothing behind in a client that goes on. */
TEST(cohorts_without_a_handle_are_freed)
{
    FIXTURE(f);
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    struct hf_mutex *mutex;
    char name[16];

    opts.keep_ms = 1;
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof name, "job%d", i);
        assert_int_equal(hf_mutex_open(f.base.client, name, &opts, &mutex),
                         HF_OK);
        (void)use(mutex);
        hf_mutex_free(mutex);
    }
    while (f.base.client->unused_cohorts.first != NULL) {
        assert_int_equal(hf_mutex_open(f.base.client, name, &opts, &mutex),
                         HF_OK);
        hf_mutex_free(mutex);
        sched_yield();
    }
}

/* A program with redis-py waits in no queue. */
TEST(nothing_is_kept_where_others_do_not_queue)
{
    FIXTURE(f);
    struct hf_client *client;
    struct hf_mutex *mutex;
    char url[300];
    uint64_t token;

    if (strncmp(f.url, "redis:", 6) != 0)
        return; /* the others have no such programs */
    (void)snprintf(url, sizeof url, "%s?layout=redis-py", f.url);
    client = open_client(url);
    mutex = open_mutex(client, FAR_MS);
    token = use(mutex);
    while (count_tickets(&f) > 0)
        sched_yield();
    assert_true(use(mutex) > token);
    hf_mutex_free(mutex);
    assert_int_equal(hf_client_close(client), HF_OK);
}
