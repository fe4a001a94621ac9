/* SPDX-License-Identifier: Apache-2.0 */
/* What a client does when its session connects, is suspended and is lost, in
 * each way to use it, on the scripted engine. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "client_fixture.h"
#include "cmocka/runner.h"
#include "in_each_way.h"
#include "scripted_engine.h"

#define TIMEOUT_MS 400

struct session_fixture {
    struct client_fixture fixture;
    int pipe[2];
    char states[4096];
    _Atomic int state_calls;
};

static void on_state(void *arg, enum hf_state state)
{
    struct session_fixture *f = arg;

    strcat(f->states, hf_state_name(state));
    strcat(f->states, " ");
    atomic_fetch_add(&f->state_calls, 1);
}

static void fixture_open_with(struct session_fixture *f, enum way way,
                              int timeout_ms, enum hf_loss_at loss_at)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    char url[64];

    memset(f, 0, sizeof(*f));
    assert_int_equal(pipe2(f->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=%d", f->pipe[0],
             timeout_ms);
    opts.on_state = (struct hf_on_state){on_state, f, NULL};
    opts.loss_at = loss_at;
    client_open_with(&f->fixture, way, url, &opts);
}

static void fixture_open(struct session_fixture *f, enum way way,
                         int timeout_ms)
{
    fixture_open_with(f, way, timeout_ms, HF_LOSS_AT_LOST);
}

static void fixture_close(struct session_fixture *f)
{
    client_close(&f->fixture);
    close(f->pipe[0]);
    close(f->pipe[1]);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, ...)                                                        \
    CLOSED_BY(fixture_close) struct session_fixture f;                         \
    fixture_open(&f, __VA_ARGS__)

static void send_command(struct session_fixture *f, char command)
{
    assert_int_equal(write(f->pipe[1], &command, 1), 1);
}

static bool command_is_read(void *arg)
{
    struct session_fixture *f = arg;
    int unread;

    assert_int_equal(ioctl(f->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* Later calls take the client's lock, under which commands are executed. */
static void send_command_first(struct session_fixture *f, char command)
{
    send_command(f, command);
    client_wait_until(&f->fixture, command_is_read, f);
}

struct expected_state {
    struct session_fixture *f;
    enum hf_state state;
};

static bool is_in_state(void *arg)
{
    struct expected_state *expected_state = arg;

    return hf_client_state(expected_state->f->fixture.client) ==
           expected_state->state;
}

static void send_command_until(struct session_fixture *f, char command,
                               enum hf_state state)
{
    struct expected_state expected_state = {f, state};

    send_command(f, command);
    client_wait_until(&f->fixture, is_in_state, &expected_state);
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(an_acquire_waits_for_the_first_connection)
{
    struct outcome outcome;
    struct hf_lock *lock;
    FIXTURE(f, way, TIMEOUT_MS);
    lock = client_open_lock(&f.fixture, "nightly");
    client_acquire(&f.fixture, lock, NULL, &outcome);
    assert_int_equal(hf_client_state(f.fixture.client), HF_STATE_CONNECTING);
    send_command(&f, SCRIPTED_CONNECT);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.fixture, outcome.grant), HF_OK);
    hf_lock_free(lock);
}

TEST_IN_EACH_WAY(no_connection_is_unreachable)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;
    struct hf_lock *lock;
    FIXTURE(f, way, TIMEOUT_MS);
    lock = client_open_lock(&f.fixture, "nightly");
    opts.wait_ms = 30;
    client_acquire(&f.fixture, lock, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_EUNREACHABLE);
    hf_lock_free(lock);
}

struct grant_time {
    struct hf_grant *grant;
    uint64_t more_than_ms;
};

static bool is_safe_for_longer(void *arg)
{
    struct grant_time *time = arg;

    return hf_grant_safe_until_ms(time->grant) > time->more_than_ms;
}

TEST_IN_EACH_WAY(proofs_move_safe_until)
{
    struct grant_time time;
    struct hf_lock *lock;
    int i;
    FIXTURE(f, way, TIMEOUT_MS);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = client_open_lock(&f.fixture, "nightly");
    time.grant = client_take(&f.fixture, lock);
    for (i = 0; i < 3; i++) {
        time.more_than_ms = hf_grant_safe_until_ms(time.grant);
        assert_true(time.more_than_ms > 0);
        client_wait_until(&f.fixture, is_safe_for_longer, &time);
    }
    assert_int_equal(client_give(&f.fixture, time.grant), HF_OK);
    hf_lock_free(lock);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    (void)grant;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool is_called(void *arg)
{
    return atomic_load((_Atomic int *)arg) > 0;
}

static struct hf_grant *take_listening(struct session_fixture *f,
                                       struct hf_lock *lock,
                                       _Atomic int *losses)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.on_loss = (struct hf_on_loss){on_loss, losses, NULL};
    client_acquire(&f->fixture, lock, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    return outcome.grant;
}

TEST_IN_EACH_WAY(a_lost_session_is_notified)
{
    struct session_fixture f;
    _Atomic int losses = 0;
    struct hf_lock *lock;
    struct hf_grant *grant;

    fixture_open(&f, way, TIMEOUT_MS);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = client_open_lock(&f.fixture, "nightly");
    grant = take_listening(&f, lock, &losses);
    send_command_until(&f, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    assert_int_equal(losses, 0);
    send_command_until(&f, SCRIPTED_LOSE, HF_STATE_LOST);
    client_wait_until(&f.fixture, is_called, &losses);
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    assert_int_equal(client_give(&f.fixture, grant), HF_ELOST);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    grant = client_take(&f.fixture, lock);
    assert_int_equal(client_give(&f.fixture, grant), HF_OK);
    assert_int_equal(losses, 1);
    hf_lock_free(lock);
    fixture_close(&f);
    assert_non_null(strstr(f.states, "LOST CONNECTED"));
}

/* The loss comes before the state, and the ticket is removed once the
 * connection is back. */
TEST_IN_EACH_WAY(loss_at_suspended_loses_at_suspension)
{
    struct session_fixture f;
    _Atomic int losses = 0;
    struct hf_lock *lock;
    struct hf_grant *grant;

    fixture_open_with(&f, way, 0, HF_LOSS_AT_SUSPENDED);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = client_open_lock(&f.fixture, "nightly");
    grant = take_listening(&f, lock, &losses);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    send_command_until(&f, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    client_wait_until(&f.fixture, is_called, &losses);
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    assert_int_equal(client_give(&f.fixture, grant), HF_ELOST);
    grant = client_take(&f.fixture, lock); /* nobody waited for it */
    assert_int_equal(client_give(&f.fixture, grant), HF_OK);
    assert_int_equal(losses, 1);
    hf_lock_free(lock);
    fixture_close(&f);
}

/* Nobody calls anything: the loss must be notified nevertheless, after
 * safe_until has passed. */
TEST_IN_EACH_WAY(without_proof_the_grant_ends)
{
    _Atomic int losses = 0;
    struct hf_lock *lock;
    struct hf_grant *grant;
    FIXTURE(f, way, TIMEOUT_MS);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = client_open_lock(&f.fixture, "nightly");
    grant = take_listening(&f, lock, &losses);
    send_command(&f, SCRIPTED_PROOFS_FAIL);
    client_wait_until(&f.fixture, is_called, &losses);
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    assert_int_equal(client_give(&f.fixture, grant), HF_ELOST);
    hf_lock_free(lock);
}

/* --------------------------------------------------------- lazy sessions -- */

static void fixture_open_lazy(struct session_fixture *f, enum way way)
{
    fixture_open(f, way, TIMEOUT_MS);
    send_command_first(f, SCRIPTED_LAZY);
    send_command_until(f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
}

static struct hf_grant *take_lazily(struct session_fixture *f, enum way way,
                                    _Atomic int *losses)
{
    struct hf_grant *grant;
    struct hf_lock *lock;

    fixture_open_lazy(f, way);
    lock = client_open_lock(&f->fixture, "nightly");
    grant = take_listening(f, lock, losses);
    hf_lock_free(lock);
    return grant;
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool is_past(void *arg)
{
    return hf_grant_safe_until_ms(arg) < now_ms();
}

static bool has_come(void *arg)
{
    return *(uint64_t *)arg < now_ms();
}

TEST_IN_EACH_WAY(a_check_moves_what_has_passed)
{
    struct session_fixture f;
    struct grant_time time;
    _Atomic int losses = 0;

    time.grant = take_lazily(&f, way, &losses);
    client_wait_until(&f.fixture, is_past, time.grant);
    time.more_than_ms = hf_grant_safe_until_ms(time.grant);
    assert_true(time.more_than_ms > 0);
    if (way == WAY_UV) { /* on its thread no call may wait */
        send_command_first(&f, SCRIPTED_MUTE);
        assert_int_equal(hf_grant_check(time.grant), HF_EREENTRANT);
        assert_non_null(strstr(hf_last_error()->text, "hf_grant_check: "));
        send_command(&f, SCRIPTED_ANSWER);
        client_wait_until(&f.fixture, is_safe_for_longer, &time);
    }
    assert_int_equal(hf_grant_check(time.grant), HF_OK);
    assert_true(is_safe_for_longer(&time));
    assert_false(is_past(time.grant));
    assert_int_equal(losses, 0);
    assert_int_equal(client_give(&f.fixture, time.grant), HF_OK);
    fixture_close(&f);
}

static void *check(void *arg)
{
    return (void *)(uintptr_t)hf_grant_check(arg);
}

/* Two wait for the same answer, which does not come. */
TEST_IN_EACH_WAY(a_check_ends_with_the_grant)
{
    struct session_fixture f;
    pthread_t threads[2];
    _Atomic int losses = 0;
    struct hf_grant *grant = take_lazily(&f, way, &losses);
    void *status;

    client_wait_until(&f.fixture, is_past, grant);
    send_command_first(&f, SCRIPTED_MUTE);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check, grant), 0);
    send_command_until(&f, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    send_command_until(&f, SCRIPTED_LOSE, HF_STATE_LOST);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &status), 0);
        assert_int_equal((uintptr_t)status, HF_ELOST);
    }
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    assert_int_equal(client_give(&f.fixture, grant), HF_ELOST);
    fixture_close(&f);
}

/* The mutex counts its entries itself, without the engine. */
TEST_WITHOUT_UV(a_lazy_mutex_is_taken_again_without_a_proof)
{
    struct hf_mutex *mutex;
    struct session_fixture f;
    uint64_t past_ms;

    fixture_open_lazy(&f, way);
    assert_int_equal(hf_mutex_open(f.fixture.client, "nightly", NULL, &mutex),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    past_ms = now_ms() + TIMEOUT_MS;
    client_wait_until(&f.fixture, has_come, &past_ms);
    send_command_first(&f, SCRIPTED_PROOFS_FAIL);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    fixture_close(&f);
}

static bool leads_no_more(void *arg)
{
    return !hf_election_is_leader(arg);
}

TEST_WITHOUT_UV(a_lazy_leader_leads_on)
{
    struct hf_election *election;
    struct session_fixture f;
    uint64_t past_ms;

    fixture_open_lazy(&f, way);
    assert_int_equal(
        hf_election_open(f.fixture.client, "nightly", NULL, &election), HF_OK);
    assert_false(hf_election_is_leader(election));
    assert_int_equal(hf_election_campaign_start(election), HF_OK);
    assert_int_equal(hf_election_wait(election, HF_FOREVER), HF_OK);
    past_ms = now_ms() + TIMEOUT_MS;
    client_wait_until(&f.fixture, has_come, &past_ms);
    assert_true(hf_election_safe_until_ms(election) < now_ms());
    assert_true(hf_election_is_leader(election));
    send_command(&f, SCRIPTED_LOSE);
    client_wait_until(&f.fixture, leads_no_more, election);
    hf_election_free(election);
    fixture_close(&f);
}

/* ----------------------------------------------------------------- waits -- */

TEST_IN_EACH_WAY(a_waiter_survives_lost_sessions)
{
    struct outcome outcome;
    struct hf_lock *lock;
    FIXTURE(f, way, TIMEOUT_MS);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = client_open_lock(&f.fixture, "nightly");
    send_command_first(&f, SCRIPTED_BLOCK);
    send_command_first(&f, SCRIPTED_MUTE);
    client_acquire(&f.fixture, lock, NULL, &outcome);
    send_command_until(&f, SCRIPTED_SUSPEND,
                       HF_STATE_SUSPENDED); /* unsure now */
    send_command(&f, SCRIPTED_ANSWER);
    send_command_until(&f, SCRIPTED_CONNECT,
                       HF_STATE_CONNECTED); /* lists, then enqueues */
    send_command_until(&f, SCRIPTED_LOSE, HF_STATE_LOST);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.fixture, outcome.grant), HF_OK);
    hf_lock_free(lock);
}

TEST_IN_EACH_WAY(close_does_not_need_a_connection)
{
    struct session_fixture f;
    struct outcome outcome;
    struct hf_lock *lock;

    fixture_open(&f, way, TIMEOUT_MS);
    lock = client_open_lock(&f.fixture, "nightly");
    client_acquire(&f.fixture, lock, NULL, &outcome);
    fixture_close(&f);
    if (way == WAY_BLOCKING)
        pthread_join(outcome.thread, NULL);
    assert_int_equal(outcome.status, HF_ECLOSED);
    hf_op_free(outcome.op);
    hf_lock_free(lock);
}

TEST_IN_EACH_WAY(a_release_waits_for_its_answer)
{
    struct outcome outcome;
    struct hf_lock *lock;
    struct hf_grant *grant;
    FIXTURE(f, way, 0);
    send_command_until(&f, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = client_open_lock(&f.fixture, "nightly");
    grant = client_take(&f.fixture, lock);
    send_command_until(&f, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    client_release(&f.fixture, grant, &outcome);
    assert_int_equal(atomic_load(&outcome.ended), 0);
    send_command(&f, SCRIPTED_CONNECT);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    hf_lock_free(lock);
}

/* --------------------------------------------------------- slow listener -- */

struct slow_listener {
    pthread_mutex_t callback_lock;
    char states[4096];
};

static void on_slow_state(void *arg, enum hf_state state)
{
    struct slow_listener *slow_listener = arg;

    pthread_mutex_lock(&slow_listener->callback_lock);
    strcat(slow_listener->states, hf_state_name(state));
    strcat(slow_listener->states, " ");
    pthread_mutex_unlock(&slow_listener->callback_lock);
}

static bool ends_connected(void *arg)
{
    struct slow_listener *slow_listener = arg;
    const char *end = "CONNECTED ";
    size_t length;
    bool does;

    pthread_mutex_lock(&slow_listener->callback_lock);
    length = strlen(slow_listener->states);
    does = strstr(slow_listener->states, "LOST") != NULL &&
           length >= strlen(end) &&
           strcmp(slow_listener->states + length - strlen(end), end) == 0;
    pthread_mutex_unlock(&slow_listener->callback_lock);
    return does;
}

/* 100 suspensions and one LOST while the listener is stuck: it may miss
 * suspensions, but gets LOST and the last state. */
TEST(fn67_a_slow_listener_gets_what_counts)
{
    struct slow_listener slow_listener = {.callback_lock =
                                              PTHREAD_MUTEX_INITIALIZER};
    struct session_fixture f = {0};
    char url[64];
    int i;

    assert_int_equal(pipe2(f.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", f.pipe[0]);
    client_open(&f.fixture, WAY_THREAD, url,
                (struct hf_on_state){on_slow_state, &slow_listener, NULL});
    pthread_mutex_lock(&slow_listener.callback_lock);
    send_command(&f, SCRIPTED_CONNECT);
    /* The callback blocks the background thread, so this thread must drive. */
    for (i = 0; i < 100; i++) {
        send_command(&f, i == 50 ? SCRIPTED_LOSE : SCRIPTED_SUSPEND);
        send_command(&f, SCRIPTED_CONNECT);
    }
    pthread_mutex_unlock(&slow_listener.callback_lock);
    client_wait_until(&f.fixture, ends_connected, &slow_listener);
    fixture_close(&f);
}

/* A callback that never returns must not keep others from locking. */
TEST(fn46_a_stuck_callback_stops_nobody)
{
    struct slow_listener slow_listener = {.callback_lock =
                                              PTHREAD_MUTEX_INITIALIZER};
    struct session_fixture f = {0};
    struct hf_lock *lock;
    struct hf_grant *grant;
    char url[64];

    assert_int_equal(pipe2(f.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", f.pipe[0]);
    client_open(&f.fixture, WAY_THREAD, url,
                (struct hf_on_state){on_slow_state, &slow_listener, NULL});
    pthread_mutex_lock(&slow_listener.callback_lock);
    send_command(&f, SCRIPTED_CONNECT);
    lock = client_open_lock(&f.fixture, "nightly");
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    pthread_mutex_unlock(&slow_listener.callback_lock);
    hf_lock_free(lock);
    fixture_close(&f);
}
