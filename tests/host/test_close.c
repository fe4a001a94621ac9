/* SPDX-License-Identifier: Apache-2.0 */
/* Every race of a close: with whatever is under way, after any number of
 * turns, by either call, in each way to use a client. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"
#include "scripted.h"

static const struct hf_on_state no_listener = {NULL, NULL, NULL};
static const struct hf_done untold = {NULL, NULL, NULL};

/* ------------------------------------------------------------- the sweep */

enum situation {
    CONNECTING, /* an acquire waits for the first session */
    WAITING,    /* an acquire is in the queue */
    ASKING,     /* its enqueue has not been answered */
    HELD,       /* a grant */
    LOSING,     /* a grant whose loss waits to be told */
    RELEASING,  /* a release that is not answered */
    CANCELLING, /* a cancel that is not answered */
    SITUATIONS
};

struct world {
    struct front front;
    int pipe[2];
    enum situation situation;
    struct hf_lock *lock;
    struct hf_grant *grant;
    struct outcome outcome;
    _Atomic int losses;
    _Atomic int loss_drops;
    _Atomic int closed;
    _Atomic int close_drops;
    _Atomic int last_state;
    int threads; /* before */
    bool busy;   /* .outcome is of something under way */
};

static void on_state(void *arg, enum hf_state state)
{
    atomic_store(&((struct world *)arg)->last_state, (int)state);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    (void)grant;
    atomic_fetch_add(&((struct world *)arg)->losses, 1);
}

static void on_loss_drop(void *arg)
{
    atomic_fetch_add(&((struct world *)arg)->loss_drops, 1);
}

static bool is_obeyed(void *arg)
{
    struct world *w = arg;
    int unread;

    assert_int_equal(ioctl(w->pipe[0], FIONREAD, &unread), 0);
    return unread == 0;
}

static void say(struct world *w, char command)
{
    assert_int_equal(write(w->pipe[1], &command, 1), 1);
}

static void say_first(struct world *w, char command)
{
    say(w, command);
    front_until(&w->front, is_obeyed, w);
}

static void world_open(struct world *w, enum way way, enum situation situation)
{
    char url[64];

    memset(w, 0, sizeof(*w));
    w->situation = situation;
    w->threads = kit_threads();
    assert_int_equal(pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    snprintf(url, sizeof(url), "scripted:?fd=%d&timeout=0", w->pipe[0]);
    front_open(&w->front, way, url, (struct hf_on_state){on_state, w, NULL});
    w->lock = front_lock(&w->front, "nightly");
}

static void take(struct world *w)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.on_loss = (struct hf_on_loss){on_loss, w, on_loss_drop};
    front_acquire(&w->front, w->lock, &opts, &w->outcome);
    front_await(&w->outcome);
    assert_int_equal(w->outcome.status, HF_OK);
    w->grant = w->outcome.grant;
}

static void begin_to_wait(struct world *w)
{
    w->busy = true;
    front_acquire(&w->front, w->lock, NULL, &w->outcome);
}

static void bring_about(struct world *w)
{
    if (w->situation != CONNECTING)
        say_first(w, SCRIPTED_CONNECT);
    switch (w->situation) {
    case CONNECTING:
        begin_to_wait(w);
        break;
    case WAITING:
        say_first(w, SCRIPTED_BLOCK);
        begin_to_wait(w);
        break;
    case ASKING:
        say_first(w, SCRIPTED_MUTE);
        begin_to_wait(w);
        break;
    case HELD:
        take(w);
        break;
    case LOSING:
        take(w);
        say(w, SCRIPTED_LOSE);
        break;
    case RELEASING:
        take(w);
        say_first(w, SCRIPTED_MUTE);
        w->busy = true;
        front_release(&w->front, w->grant, &w->outcome);
        w->grant = NULL;
        break;
    case CANCELLING:
        say_first(w, SCRIPTED_BLOCK);
        begin_to_wait(w);
        say_first(w, SCRIPTED_MUTE);
        hf_op_cancel(w->outcome.op);
        break;
    case SITUATIONS:
        break;
    }
}

static bool has_turned(void *arg)
{
    return (*(int *)arg)-- <= 0;
}

static void on_closed(void *arg, const struct hf_result *result)
{
    struct world *w = arg;

    assert_int_equal(result->status, HF_OK);
    /* The last callback of all. */
    assert_int_equal(atomic_load(&w->last_state), HF_STATE_CLOSED);
    atomic_fetch_add(&w->closed, 1);
}

static void on_close_drop(void *arg)
{
    atomic_fetch_add(&((struct world *)arg)->close_drops, 1);
}

static bool has_threads(void *arg)
{
    return kit_threads() <= *(int *)arg;
}

static bool is_closed(void *arg)
{
    return atomic_load(&((struct world *)arg)->close_drops) > 0;
}

static void close_by_start(struct world *w)
{
    struct hf_done done = {on_closed, w, on_close_drop};

    assert_int_equal(hf_client_close_start(w->front.client, done), HF_OK);
    if (w->front.way == WAY_DISPATCH || w->front.way == WAY_UV)
        assert_int_equal(atomic_load(&w->closed), 0);
    front_until(&w->front, is_closed, w);
    assert_int_equal(atomic_load(&w->closed), 1);
    if (w->front.way == WAY_UV) {
        uv_run(&w->front.loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&w->front.loop), 0);
    }
    /* The engine's pipe must stay until the thread has left it. */
    kit_until(has_threads, &w->threads);
}

/* What was under way has ended once, in a way that its situation allows. */
static void assert_ended(struct world *w)
{
    hf_status status;

    if (!w->busy)
        return;
    if (w->front.way == WAY_BLOCKING)
        pthread_join(w->outcome.thread, NULL);
    assert_int_equal(atomic_load(&w->outcome.ended), 1);
    status = w->outcome.status;
    if (w->situation == RELEASING)
        assert_true(status == HF_OK || status == HF_ELOST);
    else if (w->situation == CANCELLING)
        assert_true(status == HF_ECANCELLED || status == HF_ECLOSED);
    else
        assert_int_equal(status, HF_ECLOSED);
    if (w->situation != RELEASING)
        assert_null(w->outcome.grant);
    hf_op_free(w->outcome.op);
}

static void world_after(struct world *w)
{
    assert_ended(w);
    assert_int_equal(atomic_load(&w->last_state), HF_STATE_CLOSED);
    if (w->grant != NULL) {
        assert_int_equal(atomic_load(&w->losses), 1);
        assert_int_equal(hf_grant_check(w->grant), HF_ELOST);
        assert_int_equal(hf_grant_release(w->grant), HF_ELOST);
        assert_int_equal(atomic_load(&w->loss_drops), 1);
    }
    hf_lock_free(w->lock);
    close(w->pipe[0]);
    close(w->pipe[1]);
}

static void close_in(enum way way, enum situation situation, int turns,
                     bool by_start)
{
    struct world w;

    if (situation == CANCELLING && way == WAY_BLOCKING)
        return; /* nothing to cancel by */
    if (by_start && way == WAY_BLOCKING)
        return; /* a call that waits closes as well */
    world_open(&w, way, situation);
    bring_about(&w);
    if (turns > 0)
        front_until(&w.front, has_turned, &turns);
    if (by_start)
        close_by_start(&w);
    else
        front_close(&w.front);
    world_after(&w);
}

static bool has_fds(void *arg)
{
    return kit_fds() == *(int *)arg;
}

/* A thread that nobody waits for takes the last of them along. */
static void await_fds(int count)
{
    kit_until(has_fds, &count);
}

static void close_in_any_situation(enum way way)
{
    int fds = kit_fds();
    int situation, turns;

    for (situation = 0; situation < SITUATIONS; situation++) {
        for (turns = 0; turns < 5; turns++) {
            close_in(way, (enum situation)situation, turns, false);
            close_in(way, (enum situation)situation, turns, true);
        }
    }
    await_fds(fds);
}

/* -------------------------------------------- started inside a callback -- */

struct inside {
    struct front front;
    struct hf_lock *lock;
    struct hf_grant *grant;
    hf_status status;
    _Atomic int losses;
    _Atomic int closed;
};

static void on_inside_closed(void *arg, const struct hf_result *result)
{
    (void)result;
    atomic_fetch_add(&((struct inside *)arg)->closed, 1);
}

static void on_inside_loss(void *arg, struct hf_grant *grant)
{
    struct inside *inside = arg;

    assert_ptr_equal(grant, inside->grant);
    atomic_fetch_add(&inside->losses, 1);
}

static void on_granted(void *arg, const struct hf_result *result)
{
    struct inside *inside = arg;
    struct hf_done done = {on_inside_closed, inside, NULL};

    inside->grant = result->grant;
    inside->status = hf_client_close_start(inside->front.client, done);
    assert_int_equal(atomic_load(&inside->closed), 0);
}

static bool is_inside_closed(void *arg)
{
    return atomic_load(&((struct inside *)arg)->closed) > 0;
}

static void close_inside_a_callback(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct inside inside = {.grant = NULL};
    struct hf_done done = {on_granted, &inside, NULL};
    struct place place;

    place_make(&place);
    front_open(&inside.front, way, place.url, no_listener);
    inside.lock = front_lock(&inside.front, "nightly");
    opts.on_loss = (struct hf_on_loss){on_inside_loss, &inside, NULL};
    assert_int_equal(hf_acquire_start(inside.lock, &opts, done, NULL), HF_OK);
    front_until(&inside.front, is_inside_closed, &inside);
    assert_int_equal(inside.status, HF_OK);
    assert_int_equal(atomic_load(&inside.losses), 1);
    if (way == WAY_UV) {
        uv_run(&inside.front.loop, UV_RUN_DEFAULT);
        assert_int_equal(uv_loop_close(&inside.front.loop), 0);
    }
    assert_int_equal(place_tickets(&place), 0);
    assert_int_equal(hf_grant_release(inside.grant), HF_ELOST);
    hf_lock_free(inside.lock);
    place_remove(&place);
}

/* ------------------------------------------------------------ afterwards -- */

/* Handles outlive their client, in whatever order they go. */
static void handles_go_last(enum way way)
{
    struct place place;
    struct front front;
    struct hf_lock *lock;
    struct hf_grant *first, *second;
    struct hf_lock *other;
    int fds = kit_fds();

    place_make(&place);
    front_open(&front, way, place.url, no_listener);
    lock = front_lock(&front, "nightly");
    other = front_lock(&front, "other");
    first = front_take(&front, lock);
    second = front_take(&front, other);
    hf_lock_free(other);
    front_close(&front);
    assert_int_equal(place_tickets(&place), 0);
    assert_string_equal(hf_lock_name(lock), "nightly");
    hf_lock_free(lock);
    assert_true(hf_grant_token(first) > 0);
    assert_true(hf_grant_safe_until_ms(first) == 0);
    assert_int_equal(hf_grant_release_start(first, untold), HF_OK);
    assert_int_equal(hf_grant_release(second), HF_ELOST);
    await_fds(fds);
    place_remove(&place);
}

/* ------------------------------------------------------- two and many -- */

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
        assert_int_equal(hf_grant_release_start(result->grant, untold), HF_OK);
    atomic_fetch_add(&peer->ended, 1);
}

static void peer_open(struct peer *peer, const struct place *place,
                      const char *mine, const char *theirs)
{
    memset(peer, 0, sizeof(*peer));
    peer->client = kit_client(place->url);
    assert_int_equal(hf_lock_open(peer->client, mine, NULL, &peer->mine),
                     HF_OK);
    assert_int_equal(hf_lock_open(peer->client, theirs, NULL, &peer->theirs),
                     HF_OK);
    assert_int_equal(hf_acquire(peer->mine, NULL, &peer->grant), HF_OK);
}

static void *peer_close_main(void *arg)
{
    struct peer *peer = arg;

    assert_int_equal(hf_client_close(peer->client), HF_OK);
    return NULL;
}

/* Each waits for what the other holds, and both close at once: the wait of
 * either may still win. */
static void two_that_wait_for_each_other(void **state)
{
    int round;

    (void)state;
    for (round = 0; round < 20; round++) {
        struct place place;
        struct peer a, b;
        struct hf_done of_a = {on_peer_done, &a, NULL};
        struct hf_done of_b = {on_peer_done, &b, NULL};
        pthread_t thread;

        place_make(&place);
        peer_open(&a, &place, "one", "two");
        peer_open(&b, &place, "two", "one");
        assert_int_equal(hf_acquire_start(a.theirs, NULL, of_a, NULL), HF_OK);
        assert_int_equal(hf_acquire_start(b.theirs, NULL, of_b, NULL), HF_OK);
        thread = kit_thread(peer_close_main, &a);
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
        assert_int_equal(place_tickets(&place), 0);
        place_remove(&place);
    }
}

enum { CROWD = 8, VISITS = 15 };

static void *visit_main(void *arg)
{
    const struct place *place = arg;
    struct front front;
    int i;

    for (i = 0; i < VISITS; i++) {
        struct hf_lock *lock;
        struct hf_grant *grant;

        front_open(&front, i % 2 == 0 ? WAY_THREAD : WAY_DISPATCH, place->url,
                   no_listener);
        lock = front_lock(&front, "nightly");
        grant = front_take(&front, lock);
        if (i % 3 != 0)
            assert_int_equal(front_give(&front, grant), HF_OK);
        front_close(&front);
        if (i % 3 == 0)
            assert_int_equal(hf_grant_release(grant), HF_ELOST);
        hf_lock_free(lock);
    }
    return NULL;
}

static void many_come_and_go(void **state)
{
    struct place place;
    pthread_t threads[CROWD];
    int fds = kit_fds();
    int before = kit_threads();
    int i;

    (void)state;
    place_make(&place);
    for (i = 0; i < CROWD; i++)
        threads[i] = kit_thread(visit_main, &place);
    for (i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    kit_until(has_threads, &before);
    await_fds(fds);
    assert_int_equal(place_tickets(&place), 0);
    place_remove(&place);
}

/* ---------------------------------------------------------------------- */

#define STORIES(X)                                                             \
    X(close_in_any_situation)                                                  \
    X(close_inside_a_callback)                                                 \
    X(handles_go_last)

#include "in_each_way.h"

/* libuv keeps two descriptors for the process from its first loop on. */
static int setup(void **state)
{
    uv_loop_t loop;

    (void)state;
    return uv_loop_init(&loop) == 0 ? uv_loop_close(&loop) : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) /* each in four ways */
        cmocka_unit_test(two_that_wait_for_each_other),
        cmocka_unit_test(many_come_and_go),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
