/* SPDX-License-Identifier: Apache-2.0 */
/* The four ways behind one interface: each function asks .way and does what
 * that way needs. */
#include "client_fixture.h"

#include <ftw.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <holdfast/uv.h>

#define TIMEOUT_MS 10000
#define STEP_MS 2

const char *const way_names[WAYS] = {"blocking", "thread", "dispatch", "uv"};

const struct hf_on_state no_listener = {NULL, NULL, NULL};

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void client_open(struct client_fixture *fixture, enum way way, const char *url,
                 struct hf_on_state on_state)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;

    opts.on_state = on_state;
    client_open_with(fixture, way, url, &opts);
}

void client_open_with(struct client_fixture *fixture, enum way way,
                      const char *url, const struct hf_client_opts *wanted)
{
    struct hf_client_opts opts = *wanted;
    hf_status status;

    memset(fixture, 0, sizeof(*fixture));
    fixture->way = way;
    if (way == WAY_DISPATCH)
        opts.delivery = HF_DELIVER_DISPATCH;
    if (way == WAY_UV) {
        assert_int_equal(uv_loop_init(&fixture->loop), 0);
        status =
            hf_client_open_uv(&fixture->loop, url, &opts, &fixture->client);
    } else {
        status = hf_client_open(url, &opts, &fixture->client);
    }
    if (status != HF_OK)
        print_error("%s\n", hf_last_error()->text);
    assert_int_equal(status, HF_OK);
}

static void on_closed(void *arg, const struct hf_result *result)
{
    assert_int_equal(result->status, HF_OK);
    ++*(int *)arg;
}

void client_close(struct client_fixture *fixture)
{
    int closed = 0;
    struct hf_done done = {on_closed, &closed, NULL};

    if (fixture->way != WAY_UV) {
        assert_int_equal(hf_client_close(fixture->client), HF_OK);
        return;
    }
    assert_int_equal(hf_client_close(fixture->client), HF_EREENTRANT);
    assert_int_equal(hf_client_close_start(fixture->client, done), HF_OK);
    assert_int_equal(closed, 0);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(closed, 1);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
}

/* Run callbacks that are due, or sleep a little if none is: the condition
 * that the test polls may be made true by another thread. */
static void run_callbacks(struct client_fixture *fixture)
{
    const struct timespec step = {0, STEP_MS * 1000000L};
    struct pollfd readable = {.events = POLLIN};

    switch (fixture->way) {
    case WAY_DISPATCH:
        readable.fd = hf_client_fd(fixture->client);
        if (poll(&readable, 1, STEP_MS) > 0)
            assert_int_equal(hf_client_dispatch(fixture->client), HF_OK);
        break;
    case WAY_UV:
        readable.fd = uv_backend_fd(&fixture->loop);
        (void)poll(&readable, 1, STEP_MS);
        (void)uv_run(&fixture->loop, UV_RUN_NOWAIT);
        break;
    case WAY_BLOCKING:
    case WAY_THREAD:
    case WAYS:
        (void)nanosleep(&step, NULL);
    }
}

void client_wait_until(struct client_fixture *fixture,
                       bool (*condition)(void *arg), void *arg)
{
    uint64_t until = now_ms() + TIMEOUT_MS;

    while (!condition(arg)) {
        assert_true(now_ms() < until);
        run_callbacks(fixture);
    }
}

/* .drop comes after the callback, perhaps on another thread. */
static bool has_ended(void *arg)
{
    struct outcome *outcome = arg;

    return atomic_load(&outcome->ended) > 0 &&
           (outcome->fixture->way == WAY_BLOCKING ||
            atomic_load(&outcome->dropped) > 0);
}

void client_await(struct outcome *outcome)
{
    client_wait_until(outcome->fixture, has_ended, outcome);
    if (outcome->fixture->way == WAY_BLOCKING)
        pthread_join(outcome->thread, NULL);
    else
        assert_int_equal(atomic_load(&outcome->dropped), 1);
    assert_int_equal(atomic_load(&outcome->ended), 1);
    hf_op_free(outcome->op);
    outcome->op = NULL;
}

void assert_last_error(hf_status status, const char *text)
{
    if (status == HF_OK)
        return;
    assert_int_equal(hf_last_error()->status, status);
    assert_string_equal(hf_last_error()->text, text);
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct outcome *outcome = arg;

    outcome->status = result->status;
    outcome->grant = result->grant;
    snprintf(outcome->text, sizeof(outcome->text), "%s", result->text);
    assert_last_error(result->status, result->text);
    atomic_fetch_add(&outcome->ended, 1);
}

static void on_drop(void *arg)
{
    struct outcome *outcome = arg;

    atomic_fetch_add(&outcome->dropped, 1);
}

/* The call that waited has just returned. */
static void note_failure(struct outcome *outcome)
{
    if (outcome->status != HF_OK)
        memcpy(outcome->text, hf_last_error()->text, sizeof(outcome->text));
}

static void *acquire_main(void *arg)
{
    struct outcome *outcome = arg;

    if (outcome->count > 1)
        outcome->status = hf_locks_acquire(outcome->locks, outcome->count,
                                           &outcome->opts, &outcome->grant);
    else if (outcome->opts.wait_ms == 0)
        outcome->status = hf_lock_try_acquire(outcome->lock, &outcome->grant);
    else
        outcome->status =
            hf_lock_acquire(outcome->lock, &outcome->opts, &outcome->grant);
    note_failure(outcome);
    atomic_fetch_add(&outcome->ended, 1);
    return NULL;
}

static void *release_main(void *arg)
{
    struct outcome *outcome = arg;

    outcome->status = hf_grant_release(outcome->grant);
    outcome->grant = NULL;
    note_failure(outcome);
    atomic_fetch_add(&outcome->ended, 1);
    return NULL;
}

static struct hf_done done_of(struct outcome *outcome)
{
    return (struct hf_done){on_done, outcome, on_drop};
}

void client_acquire(struct client_fixture *fixture, struct hf_lock *lock,
                    const struct hf_acquire_opts *opts, struct outcome *outcome)
{
    client_acquire_all(fixture, &lock, 1, opts, outcome);
}

void client_acquire_all(struct client_fixture *fixture,
                        struct hf_lock *const *locks, size_t count,
                        const struct hf_acquire_opts *opts,
                        struct outcome *outcome)
{
    static const struct hf_acquire_opts defaults = HF_ACQUIRE_OPTS_INIT;

    memset(outcome, 0, sizeof(*outcome));
    assert_in_range(count, 1, HOST_LOCKS);
    outcome->fixture = fixture;
    outcome->lock = locks[0];
    outcome->count = count;
    memcpy(outcome->locks, locks, count * sizeof(struct hf_lock *));
    outcome->opts = opts != NULL ? *opts : defaults;
    if (fixture->way == WAY_BLOCKING)
        assert_int_equal(
            pthread_create(&outcome->thread, NULL, acquire_main, outcome), 0);
    else if (count > 1)
        assert_int_equal(hf_locks_acquire_start(locks, count, &outcome->opts,
                                                done_of(outcome), &outcome->op),
                         HF_OK);
    else
        assert_int_equal(hf_lock_acquire_start(outcome->lock, &outcome->opts,
                                               done_of(outcome), &outcome->op),
                         HF_OK);
}

void client_release(struct client_fixture *fixture, struct hf_grant *grant,
                    struct outcome *outcome)
{
    memset(outcome, 0, sizeof(*outcome));
    outcome->fixture = fixture;
    outcome->grant = grant;
    if (fixture->way == WAY_BLOCKING)
        assert_int_equal(
            pthread_create(&outcome->thread, NULL, release_main, outcome), 0);
    else
        assert_int_equal(hf_grant_release_start(grant, done_of(outcome)),
                         HF_OK);
}

struct hf_grant *client_take(struct client_fixture *fixture,
                             struct hf_lock *lock)
{
    struct outcome outcome;

    client_acquire(fixture, lock, NULL, &outcome);
    client_await(&outcome);
    if (outcome.status != HF_OK)
        print_error("%s\n", outcome.text);
    assert_int_equal(outcome.status, HF_OK);
    assert_non_null(outcome.grant);
    return outcome.grant;
}

hf_status client_give(struct client_fixture *fixture, struct hf_grant *grant)
{
    struct outcome outcome;

    client_release(fixture, grant, &outcome);
    client_await(&outcome);
    assert_null(outcome.grant);
    return outcome.status;
}

struct hf_lock *client_open_lock(struct client_fixture *fixture,
                                 const char *name)
{
    struct hf_lock *lock;

    assert_int_equal(hf_lock_open(fixture->client, name, NULL, &lock), HF_OK);
    return lock;
}

void client_directory_create(struct client_directory *directory)
{
    client_directory_create_in(directory, "/tmp");
}

void client_directory_create_in(struct client_directory *directory,
                                const char *parent)
{
    *directory = (struct client_directory){.path = ""};
    /* Not "holdfast-test-": tests/servers/machine.py removes what is called so
     * and is not locked. */
    snprintf(directory->path, sizeof(directory->path),
             "%s/holdfast-host-XXXXXX", parent);
    assert_non_null(mkdtemp(directory->path));
    snprintf(directory->url, sizeof(directory->url),
             "file:%s/run?state=%s/state", directory->path, directory->path);
}

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void client_directory_remove(struct client_directory *directory)
{
    assert_int_equal(
        nftw(directory->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static int fifo_count;

static int count_fifo(const char *path, const struct stat *status, int type,
                      struct FTW *walk)
{
    (void)type;
    /* A FIFO called .new is not a ticket yet: see
     * src/engines/file/file_names.h. */
    if (S_ISFIFO(status->st_mode) && strcmp(path + walk->base, ".new") != 0)
        fifo_count++;
    return 0;
}

int client_directory_count_tickets(const struct client_directory *directory)
{
    fifo_count = 0;
    (void)nftw(directory->path, count_fifo, 16, FTW_PHYS);
    return fifo_count;
}

/* Deletes one ticket and ends the walk, because its owner notices at once
 * and removes what the walk would visit next. */
static int remove_fifo(const char *path, const struct stat *status, int type,
                       struct FTW *walk)
{
    (void)type;
    (void)walk;
    if (!S_ISFIFO(status->st_mode))
        return 0;
    return unlink(path) == 0 ? 1 : -1;
}

void client_directory_remove_tickets(const struct client_directory *directory)
{
    for (int left = client_directory_count_tickets(directory); left > 0; left--)
        (void)nftw(directory->path, remove_fifo, 16, FTW_PHYS);
}

/* ----------------------------------------------------------- two clients -- */

void hosts_open(struct client_directory *directory, struct client_fixture *a,
                struct client_fixture *b, enum way way)
{
    client_directory_create(directory);
    client_open(a, way, directory->url, no_listener);
    client_open(b, way, directory->url, no_listener);
}

void hosts_close(struct client_directory *directory, struct client_fixture *a,
                 struct client_fixture *b)
{
    client_close(a);
    client_close(b);
    assert_int_equal(client_directory_count_tickets(directory), 0);
    client_directory_remove(directory);
}
