/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong calls: each returns its status and sets a text that begins with the
 * name of the call, consumes nothing that it must not, and drops its
 * callbacks once. */
#include <stdio.h>
#include <string.h>

#include <holdfast/uv.h>

#include "cmocka/runner.h"
#include "process.h"

struct misuse_fixture {
    struct client_directory directory;
    struct hf_client *client;
    struct hf_lock *lock;
    int calls;
    int drops;
};

static int setup(void **state)
{
    static struct misuse_fixture f;

    memset(&f, 0, sizeof(f));
    client_directory_create(&f.directory);
    f.client = open_client(f.directory.url);
    assert_int_equal(hf_lock_open(f.client, "nightly", NULL, &f.lock), HF_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct misuse_fixture *f = *state;

    hf_lock_free(f->lock);
    assert_int_equal(hf_client_close(f->client), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f->directory), 0);
    client_directory_remove(&f->directory);
    return 0;
}

static void on_drop(void *arg)
{
    ((struct misuse_fixture *)arg)->drops++;
}

static void on_done(void *arg, const struct hf_result *result)
{
    (void)result;
    ((struct misuse_fixture *)arg)->calls++;
}

static void on_state(void *arg, enum hf_state state)
{
    (void)state;
    ((struct misuse_fixture *)arg)->calls++;
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    (void)wait;
    ((struct misuse_fixture *)arg)->calls++;
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    (void)grant;
    ((struct misuse_fixture *)arg)->calls++;
}

static struct hf_done counted(struct misuse_fixture *f)
{
    return (struct hf_done){on_done, f, on_drop};
}

/* Three callbacks with a drop each: the two of the options and .done. */
static struct hf_acquire_opts counted_opts(struct misuse_fixture *f)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.on_wait = (struct hf_on_wait){on_wait, f, on_drop};
    opts.on_loss = (struct hf_on_loss){on_loss, f, on_drop};
    return opts;
}

static void assert_error(hf_status status, hf_status wanted, const char *call,
                         const char *what)
{
    const struct hf_error *error = hf_last_error();
    char start[64];

    snprintf(start, sizeof(start), "%s: ", call);
    if (status != wanted || error->status != wanted ||
        strncmp(error->text, start, strlen(start)) != 0 ||
        strstr(error->text, what) == NULL)
        print_error("got %s, and \"%s\" of %s; expected \"%s... %s\"\n",
                    hf_status_name(status), error->text,
                    hf_status_name(error->status), start, what);
    assert_int_equal(status, wanted);
    assert_int_equal(error->status, wanted);
    assert_memory_equal(error->text, start, strlen(start));
    assert_non_null(strstr(error->text, what));
    assert_true(hf_status_class(status) == HF_CLASS_USAGE);
    assert_true(hf_status_retry(status) == HF_RETRY_NEVER);
}

/* --------------------------------------------------------------- options -- */

static const size_t wrong_sizes[] = {0, 1, 4097};
enum { WRONG_SIZES = sizeof(wrong_sizes) / sizeof(wrong_sizes[0]) };

#define MISUSE(test) TEST_WITH(test, setup, teardown)

MISUSE(client_opts_of_a_wrong_size)
{
    struct misuse_fixture *f = *state;
    struct hf_client *client = f->client;
    hf_status status;
    size_t i;

    for (i = 0; i < WRONG_SIZES; i++) {
        struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

        opts.size = wrong_sizes[i];
        status = hf_client_open(f->directory.url, &opts, &client);
        assert_error(status, HF_EINVAL, "hf_client_open",
                     "HF_CLIENT_OPTS_INIT");
        assert_null(client);
        assert_int_equal(hf_client_open(f->directory.url, &opts, &client),
                         HF_EINVAL);
    }
}

MISUSE(lock_opts_of_a_wrong_size)
{
    struct misuse_fixture *f = *state;
    struct hf_lock *lock = f->lock;
    size_t i;

    for (i = 0; i < WRONG_SIZES; i++) {
        struct hf_lock_opts opts = {.size = wrong_sizes[i]};

        assert_error(hf_lock_open(f->client, "a", &opts, &lock), HF_EINVAL,
                     "hf_lock_open", "HF_LOCK_OPTS_INIT");
        assert_null(lock);
    }
}

MISUSE(mutex_opts_of_a_wrong_size)
{
    struct misuse_fixture *f = *state;
    struct hf_mutex *mutex = NULL;
    size_t i;

    for (i = 0; i < WRONG_SIZES; i++) {
        struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;

        opts.size = wrong_sizes[i];
        assert_error(hf_mutex_open(f->client, "a", &opts, &mutex), HF_EINVAL,
                     "hf_mutex_open", "HF_MUTEX_OPTS_INIT");
        assert_null(mutex);
    }
}

/* Fields behind a wrong size must not be read: only .done is dropped. */
MISUSE(acquire_opts_of_a_wrong_size)
{
    struct misuse_fixture *f = *state;
    struct hf_grant *grant = (struct hf_grant *)f;
    struct hf_op *op = (struct hf_op *)f;
    size_t i;

    for (i = 0; i < WRONG_SIZES; i++) {
        struct hf_acquire_opts opts = counted_opts(f);

        opts.size = wrong_sizes[i];
        assert_error(hf_lock_acquire(f->lock, &opts, &grant), HF_EINVAL,
                     "hf_lock_acquire", "HF_ACQUIRE_OPTS_INIT");
        assert_null(grant);
        assert_int_equal(f->drops, (int)i);
        assert_error(hf_lock_acquire_start(f->lock, &opts, counted(f), &op),
                     HF_EINVAL, "hf_lock_acquire_start",
                     "HF_ACQUIRE_OPTS_INIT");
        assert_null(op);
        assert_int_equal(f->drops, (int)i + 1);
    }
    assert_int_equal(f->calls, 0);
}

MISUSE(no_function_to_bring_the_grant_to)
{
    struct misuse_fixture *f = *state;
    struct hf_acquire_opts opts = counted_opts(f);
    struct hf_done done = counted(f);
    struct hf_op *op;

    done.fn = NULL;
    assert_error(hf_lock_acquire_start(f->lock, &opts, done, &op), HF_EINVAL,
                 "hf_lock_acquire_start", "callback is NULL");
    assert_null(op);
    assert_int_equal(f->drops, 3);
    assert_int_equal(f->calls, 0);
}

MISUSE(a_delivery_that_is_none)
{
    struct misuse_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    hf_status status;

    opts.delivery = (enum hf_delivery)2;
    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    status = hf_client_open(f->directory.url, &opts, &client);
    assert_error(status, HF_EINVAL, "hf_client_open", "HF_DELIVER_DISPATCH");
    assert_null(client);
    assert_int_equal(f->drops, 1);
}

MISUSE(losses_at_no_state)
{
    struct misuse_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    hf_status status;

    opts.loss_at = (enum hf_loss_at)2;
    status = hf_client_open(f->directory.url, &opts, &client);
    assert_error(status, HF_EINVAL, "hf_client_open", "HF_LOSS_AT_SUSPENDED");
    assert_null(client);
}

MISUSE(dispatch_on_a_borrowed_loop)
{
    struct misuse_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    hf_status status;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    opts.delivery = HF_DELIVER_DISPATCH;
    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    status = hf_client_open_uv(&loop, f->directory.url, &opts, &client);
    assert_error(status, HF_EINVAL, "hf_client_open_uv", "borrowed loop");
    assert_null(client);
    assert_int_equal(f->drops, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

MISUSE(an_allocator_without_a_function)
{
    struct hf_allocator allocator = {NULL, NULL, NULL, NULL};

    assert_int_equal(hf_set_allocator(&allocator), HF_EINVAL);
}

/* -------------------------------------------------------- names and URLs -- */

MISUSE(names_that_are_none)
{
    static const char *const names[] = {"",
                                        "/",
                                        "a//b",
                                        "a/",
                                        "..",
                                        "a/../b",
                                        ".",
                                        "a\nb",
                                        "a\x7f",
                                        "\xff",
                                        "zookeeper",
                                        "zookeeper/a",
                                        "//a",
                                        "lock-0000000007",
                                        "\xee\x80\x80"};
    struct misuse_fixture *f = *state;
    struct hf_lock *lock = f->lock;
    struct hf_mutex *mutex;
    char huge[10001];
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_error(hf_lock_open(f->client, names[i], NULL, &lock), HF_ENAME,
                     "hf_lock_open", "");
        assert_null(lock);
        assert_error(hf_mutex_open(f->client, names[i], NULL, &mutex), HF_ENAME,
                     "hf_mutex_open", "");
        assert_null(mutex);
    }
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    assert_error(hf_lock_open(f->client, huge, NULL, &lock), HF_ENAME,
                 "hf_lock_open", "1024");
}

MISUSE(urls_that_are_none)
{
    static const char *const urls[] = {"nonsense",    "",
                                       ":",           "file:a?b",
                                       "file:%zz",    "file:/tmp?colour=red",
                                       "file:/tmp#a", "file:relative"};
    struct misuse_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    hf_status status;
    size_t i;

    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        status = hf_client_open(urls[i], &opts, &client);
        assert_error(status, HF_EURL, "hf_client_open", "");
        assert_null(client);
        assert_int_equal(f->drops, (int)i + 1);
    }
    assert_int_equal(f->calls, 0);
}

/* A half-made client on a borrowed loop leaves the loop when the loop runs. */
MISUSE(a_bad_url_on_a_borrowed_loop)
{
    struct misuse_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    hf_status status;
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    status = hf_client_open_uv(&loop, "file:/tmp?colour=red", &opts, &client);
    assert_error(status, HF_EURL, "hf_client_open_uv", "colour");
    assert_null(client);
    assert_int_equal(f->drops, 1);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(f->calls, 0);
}

MISUSE(a_scheme_that_nobody_serves)
{
    struct misuse_fixture *f = *state;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;

    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    assert_int_equal(hf_client_open("etcetera://host", &opts, &client),
                     HF_EUNSUPPORTED);
    assert_null(client);
    assert_true(hf_status_class(HF_EUNSUPPORTED) == HF_CLASS_UNSUPPORTED);
    assert_int_equal(hf_last_error()->status, HF_EUNSUPPORTED);
    assert_int_equal(strncmp(hf_last_error()->text, "hf_client_open: ", 16), 0);
    assert_non_null(strstr(hf_last_error()->text, "etcetera"));
    assert_int_equal(f->drops, 1);
}

/* ---------------------------------------------------- calls in callbacks -- */

struct inside_callback {
    struct misuse_fixture *f;
    struct hf_grant *grant; /* held by the client under test */
    struct hf_mutex *mutex; /* locked by nobody */
    struct hf_client *client;
    struct hf_lock *lock;
    _Atomic int ran;
    bool refused_all;
};

/* Where they could only wait for themselves. */
static bool refuses_all(struct inside_callback *inside_callback)
{
    struct hf_acquire_opts opts = counted_opts(inside_callback->f);
    struct hf_grant *grant = (struct hf_grant *)inside_callback;
    bool refused =
        hf_lock_acquire(inside_callback->lock, &opts, &grant) == HF_EREENTRANT;

    refused &= grant == NULL && inside_callback->f->drops == 2;
    refused &=
        hf_lock_try_acquire(inside_callback->lock, &grant) == HF_EREENTRANT;
    refused &= hf_grant_release(inside_callback->grant) == HF_EREENTRANT;
    refused &= hf_mutex_lock(inside_callback->mutex) == HF_EREENTRANT;
    refused &= hf_mutex_trylock(inside_callback->mutex) == HF_EREENTRANT;
    refused &= hf_client_close(inside_callback->client) == HF_EREENTRANT;
    return refused;
}

static void on_inside(void *arg, const struct hf_result *result)
{
    struct inside_callback *inside_callback = arg;

    inside_callback->refused_all =
        result->status == HF_OK && refuses_all(inside_callback);
    atomic_fetch_add(&inside_callback->ran, 1);
}

static bool has_run(void *arg)
{
    return atomic_load(&((struct inside_callback *)arg)->ran) > 0;
}

static void refused_in_a_callback(struct misuse_fixture *f, enum way way)
{
    struct inside_callback inside_callback = {.f = f};
    struct hf_done done = {on_inside, &inside_callback, NULL};
    struct client_fixture fixture;
    struct hf_lock *held;

    client_open(&fixture, way, f->directory.url, no_listener);
    held = client_open_lock(&fixture, "held");
    inside_callback.client = fixture.client;
    inside_callback.lock = client_open_lock(&fixture, "free");
    inside_callback.grant = client_take(&fixture, held);
    assert_int_equal(
        hf_mutex_open(fixture.client, "free", NULL, &inside_callback.mutex),
        HF_OK);
    assert_int_equal(hf_grant_release_start(
                         client_take(&fixture, inside_callback.lock), done),
                     HF_OK);
    client_wait_until(&fixture, has_run, &inside_callback);
    assert_true(inside_callback.refused_all);
    assert_int_equal(hf_grant_check(inside_callback.grant),
                     HF_OK); /* not consumed */
    assert_int_equal(client_directory_count_tickets(&f->directory), 1);
    assert_int_equal(hf_mutex_unlock(inside_callback.mutex), HF_EOWNER);
    assert_int_equal(client_give(&fixture, inside_callback.grant), HF_OK);
    hf_mutex_free(inside_callback.mutex);
    hf_lock_free(inside_callback.lock);
    hf_lock_free(held);
    client_close(&fixture);
}

MISUSE(fn42_waiting_in_a_callback)
{
    refused_in_a_callback(*state, WAY_THREAD);
}

MISUSE(waiting_in_dispatch)
{
    refused_in_a_callback(*state, WAY_DISPATCH);
}

MISUSE(waiting_in_a_callback_on_a_loop)
{
    refused_in_a_callback(*state, WAY_UV);
}

/* Outside of callbacks too, on the thread of the loop; another thread may
 * wait. */
MISUSE(waiting_on_the_thread_of_a_loop)
{
    struct misuse_fixture *f = *state;
    struct inside_callback inside_callback = {.f = f};
    struct client_fixture fixture;
    struct outcome outcome;

    client_open(&fixture, WAY_UV, f->directory.url, no_listener);
    inside_callback.client = fixture.client;
    inside_callback.lock = client_open_lock(&fixture, "free");
    inside_callback.grant = client_take(&fixture, inside_callback.lock);
    assert_int_equal(
        hf_mutex_open(fixture.client, "free", NULL, &inside_callback.mutex),
        HF_OK);
    assert_true(refuses_all(&inside_callback));
    assert_int_equal(hf_grant_check(inside_callback.grant), HF_OK);
    fixture.way = WAY_BLOCKING; /* from here on by threads beside the loop */
    client_release(&fixture, inside_callback.grant, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    fixture.way = WAY_UV;
    hf_mutex_free(inside_callback.mutex);
    hf_lock_free(inside_callback.lock);
    client_close(&fixture);
}

MISUSE(dispatch_without_being_asked_to)
{
    struct misuse_fixture *f = *state;

    assert_int_equal(hf_client_fd(f->client), -1);
    assert_int_equal(hf_client_dispatch(f->client), HF_ESTATE);
    assert_true(hf_status_class(HF_ESTATE) == HF_CLASS_USAGE);
}

static void dispatch_again(void *arg, const struct hf_result *result)
{
    struct inside_callback *inside_callback = arg;

    (void)result;
    inside_callback->refused_all =
        hf_client_dispatch(inside_callback->client) == HF_EREENTRANT;
    atomic_fetch_add(&inside_callback->ran, 1);
}

MISUSE(dispatch_in_dispatch)
{
    struct misuse_fixture *f = *state;
    struct inside_callback inside_callback = {.f = f};
    struct hf_done done = {dispatch_again, &inside_callback, NULL};
    struct client_fixture fixture;

    client_open(&fixture, WAY_DISPATCH, f->directory.url, no_listener);
    inside_callback.client = fixture.client;
    inside_callback.lock = client_open_lock(&fixture, "free");
    assert_int_equal(hf_grant_release_start(
                         client_take(&fixture, inside_callback.lock), done),
                     HF_OK);
    client_wait_until(&fixture, has_run, &inside_callback);
    assert_true(inside_callback.refused_all);
    hf_lock_free(inside_callback.lock);
    client_close(&fixture);
}

static void wait_elsewhere(void *arg, const struct hf_result *result)
{
    struct inside_callback *inside_callback = arg;
    struct hf_grant *grant;

    inside_callback->refused_all =
        result->status == HF_OK &&
        hf_lock_try_acquire(inside_callback->f->lock, &grant) == HF_EREENTRANT;
    atomic_fetch_add(&inside_callback->ran, 1);
}

/* The last callback is called by the loop itself. */
MISUSE(waiting_when_a_loop_is_given_back)
{
    struct inside_callback inside_callback = {.f = *state};
    struct hf_done done = {wait_elsewhere, &inside_callback, NULL};
    uv_loop_t loop;

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(hf_client_open_uv(&loop, inside_callback.f->directory.url,
                                       NULL, &inside_callback.client),
                     HF_OK);
    assert_int_equal(hf_client_close_start(inside_callback.client, done),
                     HF_OK);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_int_equal(inside_callback.ran, 1);
    assert_true(inside_callback.refused_all);
}

static void close_in_drop(void *arg)
{
    struct inside_callback *inside_callback = arg;

    inside_callback->refused_all =
        hf_client_close(inside_callback->client) == HF_EREENTRANT;
    atomic_fetch_add(&inside_callback->ran, 1);
}

static void never(void *arg, struct hf_grant *grant)
{
    (void)arg;
    (void)grant;
    assert_true(false);
}

static void nobody(void *arg, const struct hf_result *result)
{
    (void)arg;
    (void)result;
}

/* It would wait for the background thread, which it is. */
MISUSE(closing_when_a_callback_is_dropped)
{
    struct inside_callback inside_callback = {.f = *state};
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {nobody, NULL, NULL};

    inside_callback.client = open_client(inside_callback.f->directory.url);
    assert_int_equal(hf_lock_open(inside_callback.client, "free", NULL,
                                  &inside_callback.lock),
                     HF_OK);
    opts.on_loss = (struct hf_on_loss){never, &inside_callback, close_in_drop};
    assert_int_equal(
        hf_lock_acquire(inside_callback.lock, &opts, &inside_callback.grant),
        HF_OK);
    assert_int_equal(hf_grant_release_start(inside_callback.grant, done),
                     HF_OK);
    wait_until(has_run, &inside_callback);
    assert_true(inside_callback.refused_all);
    hf_lock_free(inside_callback.lock);
    assert_int_equal(hf_client_close(inside_callback.client), HF_OK);
}

/* ----------------------------------------------------------- after close -- */

MISUSE(calls_after_close)
{
    struct misuse_fixture *f = *state;
    struct hf_client *client = open_client(f->directory.url);
    struct hf_acquire_opts opts = counted_opts(f);
    struct hf_lock *lock;
    struct hf_grant *grant, *none;
    hf_status status;

    assert_int_equal(hf_lock_open(client, "closing", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
    status = hf_lock_acquire(lock, &opts, &none);
    assert_int_equal(status, HF_ECLOSED);
    assert_int_equal(hf_last_error()->status, HF_ECLOSED);
    assert_string_equal(hf_last_error()->text,
                        "hf_lock_acquire: the client was closed");
    assert_true(hf_status_class(HF_ECLOSED) == HF_CLASS_CANCELLED);
    assert_null(none);
    assert_int_equal(f->drops, 2);
    assert_int_equal(hf_lock_acquire_start(lock, &opts, counted(f), NULL),
                     HF_ECLOSED);
    assert_int_equal(f->drops, 5);
    assert_int_equal(hf_lock_try_acquire(lock, &none), HF_ECLOSED);
    /* No callback can come any more; the release itself is still due. */
    assert_int_equal(hf_grant_release_start(grant, counted(f)), HF_ECLOSED);
    assert_int_equal(f->drops, 6);
    assert_int_equal(f->calls, 0);
    assert_int_equal(hf_grant_release(grant), HF_ELOST);
    hf_lock_free(lock);
}

MISUSE(freeing_nothing)
{
    assert_int_equal(hf_client_close(NULL), HF_OK);
    hf_lock_free(NULL);
    hf_op_free(NULL);
    hf_mutex_free(NULL);
}
