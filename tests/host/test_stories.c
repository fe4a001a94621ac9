/* SPDX-License-Identifier: Apache-2.0 */
/* What every way to use a client must do, told once and run in each. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"

struct world {
    enum way way;
    struct place place;
    struct front a;
    struct front b;
};

static void world_open(struct world *world, enum way way)
{
    memset(world, 0, sizeof(*world));
    world->way = way;
    fronts_open(&world->place, &world->a, &world->b, way);
}

static void world_close(struct world *world)
{
    fronts_close(&world->place, &world->a, &world->b);
}

/* ---------------------------------------------------------------------- */

static void tokens_rise(enum way way)
{
    struct world w;
    struct hf_lock *lock;
    uint64_t last = 0;
    int i;

    world_open(&w, way);
    lock = front_lock(&w.a, "nightly");
    for (i = 0; i < 20; i++) {
        struct hf_grant *grant = front_take(&w.a, lock);

        assert_true(hf_grant_token(grant) > last);
        last = hf_grant_token(grant);
        assert_true(hf_grant_safe_until_ms(grant) == HF_FOREVER);
        assert_int_equal(hf_grant_check(grant), HF_OK);
        assert_int_equal(front_give(&w.a, grant), HF_OK);
    }
    hf_lock_free(lock);
    world_close(&w);
}

static void try_is_busy(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;

    world_open(&w, way);
    mine = front_lock(&w.a, "nightly");
    theirs = front_lock(&w.b, "/nightly");
    assert_string_equal(hf_lock_name(theirs), "nightly");
    grant = front_take(&w.a, mine);
    opts.wait_ms = 0;
    front_acquire(&w.b, theirs, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_EBUSY);
    assert_null(outcome.grant);
    assert_int_equal(place_tickets(&w.place), 1);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    front_acquire(&w.b, theirs, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(front_give(&w.b, outcome.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void a_wait_times_out(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;

    world_open(&w, way);
    mine = front_lock(&w.a, "nightly");
    theirs = front_lock(&w.b, "nightly");
    grant = front_take(&w.a, mine);
    opts.wait_ms = 30;
    front_acquire(&w.b, theirs, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_ETIMEDOUT);
    assert_true(outcome.text[0] != '\0');
    assert_int_equal(place_tickets(&w.place), 1);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void waiters_are_served_in_order(enum way way)
{
    enum { WAITERS = 8 };
    struct world w;
    struct outcome outcomes[WAITERS];
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    uint64_t last;
    int i;

    world_open(&w, way);
    mine = front_lock(&w.a, "nightly");
    theirs = front_lock(&w.b, "nightly");
    grant = front_take(&w.a, mine);
    last = hf_grant_token(grant);
    for (i = 0; i < WAITERS; i++) {
        front_acquire(&w.b, theirs, NULL, &outcomes[i]);
        kit_await_tickets_with(&w.b, &w.place, i + 2);
    }
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    for (i = 0; i < WAITERS; i++) {
        front_await(&outcomes[i]);
        assert_int_equal(outcomes[i].status, HF_OK);
        assert_true(hf_grant_token(outcomes[i].grant) > last);
        last = hf_grant_token(outcomes[i].grant);
        if (i + 1 < WAITERS)
            assert_int_equal(atomic_load(&outcomes[i + 1].ended), 0);
        assert_int_equal(front_give(&w.b, outcomes[i].grant), HF_OK);
    }
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void a_cancel_ends_a_wait(enum way way)
{
    struct world w;
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;

    if (way == WAY_BLOCKING)
        return; /* nothing to cancel by */
    world_open(&w, way);
    mine = front_lock(&w.a, "nightly");
    theirs = front_lock(&w.b, "nightly");
    grant = front_take(&w.a, mine);
    front_acquire(&w.b, theirs, NULL, &outcome);
    kit_await_tickets_with(&w.b, &w.place, 2);
    hf_op_cancel(outcome.op);
    hf_op_cancel(outcome.op);
    if (way != WAY_THREAD) /* where it may be told by now */
        assert_int_equal(atomic_load(&outcome.ended), 0);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_ECANCELLED);
    assert_int_equal(place_tickets(&w.place), 1);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void a_late_cancel_changes_nothing(enum way way)
{
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;
    struct hf_op *op;

    if (way == WAY_BLOCKING)
        return;
    world_open(&w, way);
    lock = front_lock(&w.a, "nightly");
    front_acquire(&w.a, lock, NULL, &outcome);
    op = outcome.op;
    outcome.op = NULL;
    hf_op_cancel(op); /* the file engine has granted it by now */
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    hf_op_cancel(op);
    assert_int_equal(hf_grant_check(outcome.grant), HF_OK);
    assert_int_equal(front_give(&w.a, outcome.grant), HF_OK);
    hf_op_cancel(op);
    hf_op_free(op);
    hf_lock_free(lock);
    world_close(&w);
}

struct heard {
    _Atomic int calls;
    _Atomic int drops;
    uint32_t ahead;
    char holder[1024];
    struct hf_grant *grant;
};

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct heard *heard = arg;

    heard->ahead = wait->ahead;
    snprintf(heard->holder, sizeof(heard->holder), "%s", wait->holder);
    atomic_fetch_add(&heard->calls, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct heard *)arg)->drops, 1);
}

static bool is_heard(void *arg)
{
    return atomic_load(&((struct heard *)arg)->calls) > 0;
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct heard *)arg)->drops) > 0;
}

static void a_waiter_knows_for_whom(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct heard heard = {0};
    struct world w;
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    char pid[32];

    world_open(&w, way);
    mine = front_lock(&w.a, "nightly");
    theirs = front_lock(&w.b, "nightly");
    grant = front_take(&w.a, mine);
    opts.on_wait = (struct hf_on_wait){on_wait, &heard, on_drop};
    front_acquire(&w.b, theirs, &opts, &outcome);
    front_until(&w.b, is_heard, &heard);
    assert_int_equal(heard.ahead, 1);
    snprintf(pid, sizeof(pid), "pid=%ld ", (long)getpid());
    assert_non_null(strstr(heard.holder, pid));
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    front_await(&outcome);
    assert_int_equal(atomic_load(&heard.drops), 0);
    assert_int_equal(front_give(&w.b, outcome.grant), HF_OK);
    front_until(&w.b, is_dropped, &heard);
    assert_int_equal(atomic_load(&heard.drops), 1);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct heard *heard = arg;

    heard->grant = grant;
    atomic_fetch_add(&heard->calls, 1);
}

static void a_holder_hears_of_its_loss(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct heard heard = {0};
    struct world w;
    struct outcome outcome;
    struct hf_lock *lock;
    struct pollfd loss = {.events = POLLIN};

    world_open(&w, way);
    lock = front_lock(&w.a, "nightly");
    opts.on_loss = (struct hf_on_loss){on_loss, &heard, on_drop};
    front_acquire(&w.a, lock, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(hf_grant_loss_fd(outcome.grant, &loss.fd), HF_OK);
    assert_int_equal(poll(&loss, 1, 0), 0);
    place_rob(&w.place);
    front_until(&w.a, is_heard, &heard);
    assert_ptr_equal(heard.grant, outcome.grant);
    assert_int_equal(poll(&loss, 1, 0), 1);
    assert_true(hf_grant_safe_until_ms(outcome.grant) == 0);
    assert_int_equal(hf_grant_check(outcome.grant), HF_ELOST);
    assert_int_equal(front_give(&w.a, outcome.grant), HF_ELOST);
    front_until(&w.a, is_dropped, &heard);
    assert_int_equal(atomic_load(&heard.calls), 1);
    hf_lock_free(lock);
    world_close(&w);
}

static void an_unheard_loss_shows_at_release(enum way way)
{
    struct world w;
    struct hf_lock *lock;
    struct hf_grant *grant;

    world_open(&w, way);
    lock = front_lock(&w.a, "nightly");
    grant = front_take(&w.a, lock);
    place_rob(&w.place);
    assert_int_equal(front_give(&w.a, grant), HF_ELOST);
    hf_lock_free(lock);
    world_close(&w);
}

static void states_on(void *arg, enum hf_state state)
{
    char *told = arg;

    strcat(told, hf_state_name(state));
    strcat(told, " ");
}

static void close_tells_everyone(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct heard heard = {0};
    char told[256] = "";
    struct place place;
    struct front front;
    struct outcome holder, waiter;
    struct hf_lock *lock;

    place_make(&place);
    front_open(&front, way, place.url,
               (struct hf_on_state){states_on, told, NULL});
    lock = front_lock(&front, "nightly");
    opts.on_loss = (struct hf_on_loss){on_loss, &heard, on_drop};
    front_acquire(&front, lock, &opts, &holder);
    front_await(&holder);
    front_acquire(&front, lock, NULL, &waiter);
    kit_await_tickets_with(&front, &place, 2);
    front_close(&front);
    assert_int_equal(atomic_load(&heard.calls), 1);
    /* A listener that was slow may have missed the first. */
    if (strcmp(told, "CLOSED ") != 0)
        assert_string_equal(told, "CONNECTED CLOSED ");
    if (way == WAY_BLOCKING)
        pthread_join(waiter.thread, NULL);
    assert_int_equal(atomic_load(&waiter.ended), 1);
    assert_int_equal(waiter.status, HF_ECLOSED);
    assert_int_equal(place_tickets(&place), 0);
    hf_op_free(waiter.op);
    assert_int_equal(hf_grant_check(holder.grant), HF_ELOST);
    assert_int_equal(hf_grant_release(holder.grant), HF_ELOST);
    assert_int_equal(atomic_load(&heard.drops), 1);
    hf_lock_free(lock);
    place_remove(&place);
}

/* ---------------------------------------------------------------------- */

#define STORIES(X)                                                             \
    X(tokens_rise)                                                             \
    X(try_is_busy)                                                             \
    X(a_wait_times_out)                                                        \
    X(waiters_are_served_in_order)                                             \
    X(a_cancel_ends_a_wait)                                                    \
    X(a_late_cancel_changes_nothing)                                           \
    X(a_waiter_knows_for_whom)                                                 \
    X(a_holder_hears_of_its_loss)                                              \
    X(an_unheard_loss_shows_at_release)                                        \
    X(close_tells_everyone)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {STORIES(STORY_TESTS)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
