/* SPDX-License-Identifier: Apache-2.0 */
/* What a client does when its session comes, goes silent, and goes, told in
 * each way to use it, on an engine that obeys. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "front.h"
#include "scripted.h"

#define TIMEOUT_MS 400

struct world {
    struct front front;
    int pipe[2];
    char states[4096];
    _Atomic int state_calls;
};

static void on_state(void *arg, enum hf_state state)
{
    struct world *world = arg;

    strcat(world->states, hf_state_name(state));
    strcat(world->states, " ");
    atomic_fetch_add(&world->state_calls, 1);
}

static void world_open_with(struct world *world, enum way way, int timeout_ms,
                            enum hf_loss_at loss_at)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    char url[64];

    memset(world, 0, sizeof(*world));
    assert_int_equal(pipe2(world->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=%d", world->pipe[0],
             timeout_ms);
    opts.on_state = (struct hf_on_state){on_state, world, NULL};
    opts.loss_at = loss_at;
    front_open_with(&world->front, way, url, &opts);
}

static void world_open(struct world *world, enum way way, int timeout_ms)
{
    world_open_with(world, way, timeout_ms, HF_LOSS_AT_LOST);
}

static void world_close(struct world *world)
{
    front_close(&world->front);
    close(world->pipe[0]);
    close(world->pipe[1]);
}

static void say(struct world *world, char command)
{
    assert_int_equal(write(world->pipe[1], &command, 1), 1);
}

static bool is_obeyed(void *arg)
{
    struct world *world = arg;
    int unread;

    assert_int_equal(ioctl(world->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

/* What follows takes the client's lock, under which commands are obeyed. */
static void say_first(struct world *world, char command)
{
    say(world, command);
    front_until(&world->front, is_obeyed, world);
}

struct wanted {
    struct world *world;
    enum hf_state state;
};

static bool is_in_state(void *arg)
{
    struct wanted *wanted = arg;

    return hf_client_state(wanted->world->front.client) == wanted->state;
}

static void say_until(struct world *world, char command, enum hf_state state)
{
    struct wanted wanted = {world, state};

    say(world, command);
    front_until(&world->front, is_in_state, &wanted);
}

/* ---------------------------------------------------------------------- */

static void an_acquire_waits_for_the_first_connection(enum way way)
{
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;

    world_open(&w, way, TIMEOUT_MS);
    lock = front_lock(&w.front, "nightly");
    front_acquire(&w.front, lock, NULL, &outcome);
    assert_int_equal(hf_client_state(w.front.client), HF_STATE_CONNECTING);
    say(&w, SCRIPTED_CONNECT);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(front_give(&w.front, outcome.grant), HF_OK);
    hf_lock_free(lock);
    world_close(&w);
}

static void no_connection_is_unreachable(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;

    world_open(&w, way, TIMEOUT_MS);
    lock = front_lock(&w.front, "nightly");
    opts.wait_ms = 30;
    front_acquire(&w.front, lock, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_EUNREACHABLE);
    hf_lock_free(lock);
    world_close(&w);
}

struct grant_time {
    struct hf_grant *grant;
    uint64_t more_than_ms;
};

static bool is_promised_longer(void *arg)
{
    struct grant_time *time = arg;

    return hf_grant_safe_until_ms(time->grant) > time->more_than_ms;
}

static void proofs_move_safe_until(enum way way)
{
    struct world w;
    struct grant_time time;
    struct hf_lock *lock;
    int i;

    world_open(&w, way, TIMEOUT_MS);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = front_lock(&w.front, "nightly");
    time.grant = front_take(&w.front, lock);
    for (i = 0; i < 3; i++) {
        time.more_than_ms = hf_grant_safe_until_ms(time.grant);
        assert_true(time.more_than_ms > 0);
        front_until(&w.front, is_promised_longer, &time);
    }
    assert_int_equal(front_give(&w.front, time.grant), HF_OK);
    hf_lock_free(lock);
    world_close(&w);
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

static struct hf_grant *
take_listening(struct world *world, struct hf_lock *lock, _Atomic int *losses)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.on_loss = (struct hf_on_loss){on_loss, losses, NULL};
    front_acquire(&world->front, lock, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    return outcome.grant;
}

static void a_lost_session_is_told(enum way way)
{
    struct world w;
    _Atomic int losses = 0;
    struct hf_lock *lock;
    struct hf_grant *grant;

    world_open(&w, way, TIMEOUT_MS);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = front_lock(&w.front, "nightly");
    grant = take_listening(&w, lock, &losses);
    say_until(&w, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    assert_int_equal(losses, 0);
    say_until(&w, SCRIPTED_LOSE, HF_STATE_LOST);
    front_until(&w.front, is_called, &losses);
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    assert_int_equal(front_give(&w.front, grant), HF_ELOST);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    grant = front_take(&w.front, lock);
    assert_int_equal(front_give(&w.front, grant), HF_OK);
    assert_int_equal(losses, 1);
    hf_lock_free(lock);
    world_close(&w);
    assert_non_null(strstr(w.states, "LOST CONNECTED"));
}

/* Ahead of the state; and the ticket is out of the queue once the link is
 * back. */
static void a_link_that_is_down_is_a_loss_to_those_who_say_so(enum way way)
{
    struct world w;
    _Atomic int losses = 0;
    struct hf_lock *lock;
    struct hf_grant *grant;

    world_open_with(&w, way, 0, HF_LOSS_AT_SUSPENDED);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = front_lock(&w.front, "nightly");
    grant = take_listening(&w, lock, &losses);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    say_until(&w, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    front_until(&w.front, is_called, &losses);
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    assert_int_equal(front_give(&w.front, grant), HF_ELOST);
    grant = front_take(&w.front, lock); /* it was in nobody's way */
    assert_int_equal(front_give(&w.front, grant), HF_OK);
    assert_int_equal(losses, 1);
    hf_lock_free(lock);
    world_close(&w);
}

/* Nobody calls anything: the loss must come all the same, and the promise must
 * have been withdrawn by then. */
static void without_proof_the_grant_ends(enum way way)
{
    struct world w;
    _Atomic int losses = 0;
    struct hf_lock *lock;
    struct hf_grant *grant;

    world_open(&w, way, TIMEOUT_MS);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = front_lock(&w.front, "nightly");
    grant = take_listening(&w, lock, &losses);
    say(&w, SCRIPTED_DOUBT);
    front_until(&w.front, is_called, &losses);
    assert_true(hf_grant_safe_until_ms(grant) == 0);
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    assert_int_equal(front_give(&w.front, grant), HF_ELOST);
    hf_lock_free(lock);
    world_close(&w);
}

/* ------------------------------------------------------- lazy sessions -- */

static void world_open_lazy(struct world *w, enum way way)
{
    world_open(w, way, TIMEOUT_MS);
    say_first(w, SCRIPTED_LAZY);
    say_until(w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
}

static struct hf_grant *take_lazily(struct world *w, enum way way,
                                    _Atomic int *losses)
{
    struct hf_grant *grant;
    struct hf_lock *lock;

    world_open_lazy(w, way);
    lock = front_lock(&w->front, "nightly");
    grant = take_listening(w, lock, losses);
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

static void a_check_moves_what_has_passed(enum way way)
{
    struct world w;
    struct grant_time time;
    _Atomic int losses = 0;
    struct hf_error error;

    time.grant = take_lazily(&w, way, &losses);
    front_until(&w.front, is_past, time.grant);
    time.more_than_ms = hf_grant_safe_until_ms(time.grant);
    assert_true(time.more_than_ms > 0);
    if (way == WAY_UV) { /* on whose thread nothing can be waited for */
        say_first(&w, SCRIPTED_MUTE);
        assert_int_equal(hf_grant_check(time.grant), HF_EREENTRANT);
        hf_grant_error(time.grant, &error);
        assert_non_null(strstr(error.text, "hf_grant_check: "));
        say(&w, SCRIPTED_SPEAK);
        front_until(&w.front, is_promised_longer, &time);
    }
    assert_int_equal(hf_grant_check(time.grant), HF_OK);
    assert_true(is_promised_longer(&time));
    assert_false(is_past(time.grant));
    assert_int_equal(losses, 0);
    assert_int_equal(front_give(&w.front, time.grant), HF_OK);
    world_close(&w);
}

static void *check(void *arg)
{
    return (void *)(uintptr_t)hf_grant_check(arg);
}

/* Two wait for the same answer, which does not come. */
static void a_check_ends_with_the_grant(enum way way)
{
    struct world w;
    pthread_t threads[2];
    _Atomic int losses = 0;
    struct hf_grant *grant = take_lazily(&w, way, &losses);
    void *status;

    front_until(&w.front, is_past, grant);
    say_first(&w, SCRIPTED_MUTE);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check, grant), 0);
    say_until(&w, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    say_until(&w, SCRIPTED_LOSE, HF_STATE_LOST);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &status), 0);
        assert_int_equal((uintptr_t)status, HF_ELOST);
    }
    assert_int_equal(hf_grant_check(grant), HF_ELOST);
    assert_int_equal(front_give(&w.front, grant), HF_ELOST);
    world_close(&w);
}

/* The mutex counts its entries itself, without the engine. */
static void a_lazy_mutex_is_taken_again_without_a_proof(enum way way)
{
    struct hf_mutex *mutex;
    struct world w;
    uint64_t past_ms;

    if (way == WAY_UV)
        return; /* where no mutex is waited for */
    world_open_lazy(&w, way);
    assert_int_equal(hf_mutex_open(w.front.client, "nightly", NULL, &mutex),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    past_ms = now_ms() + TIMEOUT_MS;
    front_until(&w.front, has_come, &past_ms);
    say_first(&w, SCRIPTED_DOUBT);
    assert_int_equal(hf_mutex_lock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    assert_int_equal(hf_mutex_unlock(mutex), HF_OK);
    hf_mutex_free(mutex);
    world_close(&w);
}

static bool leads_no_more(void *arg)
{
    return !hf_election_is_leader(arg);
}

static void a_lazy_leader_leads_on(enum way way)
{
    struct hf_election *election;
    struct world w;
    uint64_t past_ms;

    if (way == WAY_UV)
        return; /* where no election is waited for */
    world_open_lazy(&w, way);
    assert_int_equal(
        hf_election_open(w.front.client, "nightly", NULL, &election), HF_OK);
    assert_false(hf_election_is_leader(election));
    assert_int_equal(hf_election_campaign_start(election), HF_OK);
    assert_int_equal(hf_election_wait(election, HF_FOREVER), HF_OK);
    past_ms = now_ms() + TIMEOUT_MS;
    front_until(&w.front, has_come, &past_ms);
    assert_true(hf_election_safe_until_ms(election) < now_ms());
    assert_true(hf_election_is_leader(election));
    say(&w, SCRIPTED_LOSE);
    front_until(&w.front, leads_no_more, election);
    hf_election_free(election);
    world_close(&w);
}

/* -------------------------------------------------------------- waits -- */

static void a_waiter_rides_out_everything(enum way way)
{
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;

    world_open(&w, way, TIMEOUT_MS);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = front_lock(&w.front, "nightly");
    say_first(&w, SCRIPTED_BLOCK);
    say_first(&w, SCRIPTED_MUTE);
    front_acquire(&w.front, lock, NULL, &outcome);
    say_until(&w, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED); /* unsure now */
    say(&w, SCRIPTED_SPEAK);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED); /* looks, enqueues */
    say_until(&w, SCRIPTED_LOSE, HF_STATE_LOST);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(front_give(&w.front, outcome.grant), HF_OK);
    hf_lock_free(lock);
    world_close(&w);
}

static void close_does_not_need_a_connection(enum way way)
{
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;

    world_open(&w, way, TIMEOUT_MS);
    lock = front_lock(&w.front, "nightly");
    front_acquire(&w.front, lock, NULL, &outcome);
    world_close(&w);
    if (way == WAY_BLOCKING)
        pthread_join(outcome.thread, NULL);
    assert_int_equal(outcome.status, HF_ECLOSED);
    hf_op_free(outcome.op);
    hf_lock_free(lock);
}

static void a_release_waits_for_its_answer(enum way way)
{
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;
    struct hf_grant *grant;

    world_open(&w, way, 0);
    say_until(&w, SCRIPTED_CONNECT, HF_STATE_CONNECTED);
    lock = front_lock(&w.front, "nightly");
    grant = front_take(&w.front, lock);
    say_until(&w, SCRIPTED_SUSPEND, HF_STATE_SUSPENDED);
    front_release(&w.front, grant, &outcome);
    assert_int_equal(atomic_load(&outcome.ended), 0);
    say(&w, SCRIPTED_CONNECT);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    hf_lock_free(lock);
    world_close(&w);
}

/* ------------------------------------------------------- the slow listener */

struct slow {
    pthread_mutex_t gate;
    char states[4096];
};

static void slow_on_state(void *arg, enum hf_state state)
{
    struct slow *slow = arg;

    pthread_mutex_lock(&slow->gate);
    strcat(slow->states, hf_state_name(state));
    strcat(slow->states, " ");
    pthread_mutex_unlock(&slow->gate);
}

static bool ends_connected(void *arg)
{
    struct slow *slow = arg;
    const char *end = "CONNECTED ";
    size_t length;
    bool does;

    pthread_mutex_lock(&slow->gate);
    length = strlen(slow->states);
    does = strstr(slow->states, "LOST") != NULL && length >= strlen(end) &&
           strcmp(slow->states + length - strlen(end), end) == 0;
    pthread_mutex_unlock(&slow->gate);
    return does;
}

/* 100 flaps and one LOST while the listener is stuck: it may miss flaps, but
 * hears LOST and the last state. */
static void fn67_a_slow_listener_hears_what_counts(void **state)
{
    struct slow slow = {.gate = PTHREAD_MUTEX_INITIALIZER};
    struct world w = {0};
    char url[64];
    int i;

    (void)state;
    assert_int_equal(pipe2(w.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", w.pipe[0]);
    front_open(&w.front, WAY_THREAD, url,
               (struct hf_on_state){slow_on_state, &slow, NULL});
    pthread_mutex_lock(&slow.gate);
    say(&w, SCRIPTED_CONNECT);
    /* The callback blocks the background thread: this thread must drive. */
    for (i = 0; i < 100; i++) {
        say(&w, i == 50 ? SCRIPTED_LOSE : SCRIPTED_SUSPEND);
        say(&w, SCRIPTED_CONNECT);
    }
    pthread_mutex_unlock(&slow.gate);
    front_until(&w.front, ends_connected, &slow);
    world_close(&w);
}

/* A callback that never returns must not keep others from locking. */
static void fn46_a_stuck_callback_stops_nobody(void **state)
{
    struct slow slow = {.gate = PTHREAD_MUTEX_INITIALIZER};
    struct world w = {0};
    struct hf_lock *lock;
    struct hf_grant *grant;
    char url[64];

    (void)state;
    assert_int_equal(pipe2(w.pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", w.pipe[0]);
    front_open(&w.front, WAY_THREAD, url,
               (struct hf_on_state){slow_on_state, &slow, NULL});
    pthread_mutex_lock(&slow.gate);
    say(&w, SCRIPTED_CONNECT);
    lock = front_lock(&w.front, "nightly");
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    pthread_mutex_unlock(&slow.gate);
    hf_lock_free(lock);
    world_close(&w);
}

/* ---------------------------------------------------------------------- */

#define STORIES(X)                                                             \
    X(an_acquire_waits_for_the_first_connection)                               \
    X(no_connection_is_unreachable)                                            \
    X(proofs_move_safe_until)                                                  \
    X(a_lost_session_is_told)                                                  \
    X(a_link_that_is_down_is_a_loss_to_those_who_say_so)                       \
    X(without_proof_the_grant_ends)                                            \
    X(a_check_moves_what_has_passed)                                           \
    X(a_check_ends_with_the_grant)                                             \
    X(a_lazy_mutex_is_taken_again_without_a_proof)                             \
    X(a_lazy_leader_leads_on)                                                  \
    X(a_waiter_rides_out_everything)                                           \
    X(close_does_not_need_a_connection)                                        \
    X(a_release_waits_for_its_answer)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(fn67_a_slow_listener_hears_what_counts),
        cmocka_unit_test(fn46_a_stuck_callback_stops_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
