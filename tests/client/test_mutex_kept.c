/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex that keeps its ticket when it is unlocked (.keep_ms): with files, or
 * with a server. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

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
