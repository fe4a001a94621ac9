/* SPDX-License-Identifier: Apache-2.0 */
/* A callback of the user that does not return holds up other callbacks, and
 * nothing else: in each way to use a client, on the scripted engine. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client_fixture.h"
#include "cmocka/runner.h"
#include "in_each_way.h"
#include "scripted_engine.h"

/* The callback that blocks. */
enum blocking { BLOCKS_LOG, BLOCKS_STATE, BLOCKS_EVENT };

/* The session never ends by itself. */
#define TIMEOUT_MS 600000

/* It bounds a failure. */
#define LIMIT_S 20

struct blocked_fixture {
    struct client_fixture fixture;
    enum blocking blocking;
    int pipe[2];
    struct hf_lock *lock;
    struct hf_grant *grant;
    int loss_fd;
    /* The callback. */
    atomic_bool armed; /* its next call blocks */
    sem_t entered, released;
    _Atomic int lines;
    atomic_bool counted; /* a line says how many were lost */
    /* What the other thread has seen. */
    pthread_t observer;
    hf_status cancelled;
    bool entered_in_time, shown_by_descriptor, shown_after_check;
    hf_status check;
    uint64_t safe_until_ms;
    atomic_bool observed;
};

static bool wait_for(sem_t *semaphore)
{
    struct timespec until;
    int rc;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LIMIT_S;
    do
        rc = sem_timedwait(semaphore, &until);
    while (rc < 0 && errno == EINTR);
    return rc == 0;
}

static void block_once(struct blocked_fixture *f)
{
    if (!atomic_exchange(&f->armed, false))
        return;
    sem_post(&f->entered);
    (void)wait_for(&f->released);
}

static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    struct blocked_fixture *f = arg;

    (void)level;
    if (strstr(line, " log lines were lost, because there was no room"))
        atomic_store(&f->counted, true);
    atomic_fetch_add(&f->lines, 1);
    block_once(f);
}

static void on_state(void *arg, enum hf_state state)
{
    (void)state;
    block_once(arg);
}

static void on_event(void *arg, const struct hf_lock_event *event)
{
    (void)event;
    block_once(arg);
}

static void ignore_end(void *arg, const struct hf_result *result)
{
    (void)arg;
    if (result->grant != NULL &&
        hf_grant_release_start(result->grant,
                               (struct hf_done){NULL, NULL, NULL}) != HF_OK)
        abort();
}

static void send_command(const struct blocked_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
}

static void fixture_open(struct blocked_fixture *f, enum way way,
                         enum blocking blocking)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct outcome outcome;
    char url[64];

    memset(f, 0, sizeof(*f));
    assert_int_equal(sem_init(&f->entered, 0, 0), 0);
    assert_int_equal(sem_init(&f->released, 0, 0), 0);
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=%d", f->pipe[0],
             TIMEOUT_MS);
    if (blocking == BLOCKS_LOG)
        opts.on_log = (struct hf_on_log){on_log, f, HF_LOG_INFO};
    else if (blocking == BLOCKS_STATE)
        opts.on_state = (struct hf_on_state){on_state, f, NULL};
    else
        opts.on_event = (struct hf_on_event){on_event, f};
    f->blocking = blocking;
    client_open_with(&f->fixture, way, url, &opts);
    f->lock = client_open_lock(&f->fixture, "nightly");
    client_acquire(&f->fixture, f->lock, NULL, &outcome);
    send_command(f, SCRIPTED_CONNECT);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    f->grant = outcome.grant;
    assert_int_equal(hf_grant_loss_fd(f->grant, &f->loss_fd), HF_OK);
}

static void fixture_close(struct blocked_fixture *f)
{
    assert_int_equal(client_give(&f->fixture, f->grant), HF_ELOST);
    hf_lock_free(f->lock);
    client_close(&f->fixture);
    close(f->pipe[0]);
    close(f->pipe[1]);
    sem_destroy(&f->entered);
    sem_destroy(&f->released);
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};

    return poll(&polled, 1, timeout_ms) == 1;
}

/* Cause what a callback is called with that then blocks. */
static void cause_callback(struct blocked_fixture *f)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_op *op;

    if (f->blocking != BLOCKS_EVENT) {
        send_command(f, SCRIPTED_SUSPEND);
        return;
    }
    opts.wait_ms = HF_FOREVER;
    f->cancelled = hf_lock_acquire_start(
        f->lock, &opts, (struct hf_done){ignore_end, NULL, NULL}, &op);
    if (f->cancelled != HF_OK)
        return;
    hf_op_cancel(op);
    hf_op_free(op);
}

/* Cause the callback, end the session, and look.  On a borrowed loop no thread
 * polls while a callback blocks it, so a call notices the loss. */
static void *observe(void *arg)
{
    struct blocked_fixture *f = arg;

    cause_callback(f);
    f->entered_in_time = wait_for(&f->entered);
    send_command(f, SCRIPTED_LOSE);
    if (f->fixture.way != WAY_UV)
        f->shown_by_descriptor = is_readable(f->loss_fd, LIMIT_S * 1000);
    f->check = hf_grant_check(f->grant);
    f->shown_after_check = is_readable(f->loss_fd, 0);
    f->safe_until_ms = hf_grant_safe_until_ms(f->grant);
    sem_post(&f->released);
    atomic_store(&f->observed, true);
    return NULL;
}

static bool is_observed(void *arg)
{
    return atomic_load(&((struct blocked_fixture *)arg)->observed);
}

static void a_loss_is_shown(enum way way, enum blocking blocking)
{
    struct blocked_fixture f;

    fixture_open(&f, way, blocking);
    atomic_store(&f.armed, true);
    assert_int_equal(pthread_create(&f.observer, NULL, observe, &f), 0);
    client_wait_until(&f.fixture, is_observed, &f);
    pthread_join(f.observer, NULL);
    assert_true(f.entered_in_time);
    assert_int_equal(f.shown_by_descriptor, way != WAY_UV);
    assert_int_equal(f.check, HF_ELOST);
    assert_true(f.shown_after_check);
    assert_int_equal(f.safe_until_ms, 0);
    fixture_close(&f);
}

TEST_IN_EACH_WAY(a_log_that_blocks_hides_no_loss)
{
    a_loss_is_shown(way, BLOCKS_LOG);
}

TEST_IN_EACH_WAY(an_event_that_blocks_hides_no_loss)
{
    a_loss_is_shown(way, BLOCKS_EVENT);
}

TEST_IN_EACH_WAY(a_listener_that_blocks_hides_no_loss)
{
    a_loss_is_shown(way, BLOCKS_STATE);
}

/* ---------------------------------------------------------------------- */

/* More sessions begin and end than there is room for lines about them. */
static void *log_too_much(void *arg)
{
    struct blocked_fixture *f = arg;

    send_command(f, SCRIPTED_SUSPEND);
    f->entered_in_time = wait_for(&f->entered);
    for (int i = 0; i < 400; i++) {
        send_command(f, i % 2 == 0 ? SCRIPTED_CONNECT : SCRIPTED_SUSPEND);
        (void)hf_grant_check(f->grant); /* runs the loop in each way */
    }
    send_command(f, SCRIPTED_LOSE);
    while ((f->check = hf_grant_check(f->grant)) == HF_OK)
        ;
    sem_post(&f->released);
    atomic_store(&f->observed, true);
    return NULL;
}

TEST_IN_EACH_WAY(lines_beyond_the_bound_are_counted)
{
    struct blocked_fixture f;
    int before;

    fixture_open(&f, way, BLOCKS_LOG);
    before = atomic_load(&f.lines);
    atomic_store(&f.armed, true);
    assert_int_equal(pthread_create(&f.observer, NULL, log_too_much, &f), 0);
    client_wait_until(&f.fixture, is_observed, &f);
    pthread_join(f.observer, NULL);
    assert_true(f.entered_in_time);
    assert_int_equal(f.check, HF_ELOST);
    fixture_close(&f);
    assert_true(atomic_load(&f.lines) - before < 300);
    assert_true(atomic_load(&f.counted));
}
