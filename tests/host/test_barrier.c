/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, in each way to use a client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "errand.h"

#define WAIT_MS 10000

struct world {
    struct place place;
    struct front a;
    struct front b;
    struct hf_barrier *mine;
    struct hf_barrier *theirs;
};

static struct hf_barrier *barrier_of(struct hf_client *client)
{
    struct hf_barrier *barrier;

    assert_int_equal(hf_barrier_open(client, "gate", &barrier), HF_OK);
    return barrier;
}

static void world_open(struct world *world, enum way way)
{
    fronts_open(&world->place, &world->a, &world->b, way);
    world->mine = barrier_of(world->a.client);
    world->theirs = barrier_of(world->b.client);
}

static void world_close(struct world *world)
{
    hf_barrier_free(world->mine);
    hf_barrier_free(world->theirs);
    front_close(&world->a);
    front_close(&world->b);
    place_remove(&world->place);
}

/* -------------------------------------------------- one call in each way -- */

enum call { RAISE, LOWER, WAIT };

static hf_status wait_for(struct errand *e)
{
    switch ((enum call)e->call) {
    case RAISE:
        return hf_barrier_raise(e->subject, e->wait_ms);
    case LOWER:
        return hf_barrier_lower(e->subject, e->wait_ms);
    case WAIT:
        break;
    }
    return hf_barrier_wait(e->subject, e->wait_ms);
}

static hf_status start(struct errand *e, struct hf_done done)
{
    switch ((enum call)e->call) {
    case RAISE:
        return hf_barrier_raise_start(e->subject, e->wait_ms, done);
    case LOWER:
        return hf_barrier_lower_start(e->subject, e->wait_ms, done);
    case WAIT:
        break;
    }
    return hf_barrier_wait_start(e->subject, e->wait_ms, done, &e->op);
}

static void error_of(const struct errand *e, struct hf_error *error)
{
    hf_barrier_error(e->subject, error);
}

static const struct errand_calls calls = {wait_for, start, error_of};

static void begin(struct errand *e, struct front *front,
                  struct hf_barrier *barrier, enum call call, uint64_t wait_ms)
{
    *e = (struct errand){.front = front,
                         .calls = &calls,
                         .subject = barrier,
                         .call = (int)call,
                         .wait_ms = wait_ms};
    errand_begin(e);
}

static hf_status end(struct errand *e)
{
    hf_status status = errand_end(e);

    assert_null(e->tickets);
    return status;
}

static hf_status run(struct front *front, struct hf_barrier *barrier,
                     enum call call, uint64_t wait_ms)
{
    struct errand e;

    begin(&e, front, barrier, call, wait_ms);
    return end(&e);
}

/* --------------------------------------------------------------- stories -- */

static void it_holds_up_until_it_is_lowered(enum way way)
{
    struct errand waits[3];
    struct world w;

    world_open(&w, way);
    assert_int_equal(run(&w.a, w.mine, WAIT, HF_FOREVER), HF_OK);
    assert_int_equal(run(&w.a, w.mine, RAISE, WAIT_MS), HF_OK);
    assert_int_equal(run(&w.b, w.theirs, RAISE, WAIT_MS), HF_OK);
    begin(&waits[0], &w.a, w.mine, WAIT, HF_FOREVER);
    begin(&waits[1], &w.b, w.theirs, WAIT, HF_FOREVER);
    begin(&waits[2], &w.b, w.theirs, WAIT, HF_FOREVER);
    assert_int_equal(run(&w.a, w.mine, WAIT, 0), HF_EBUSY);
    assert_int_equal(run(&w.b, w.theirs, WAIT, 20), HF_ETIMEDOUT);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&waits[i].ended), 0);
    assert_int_equal(run(&w.b, w.theirs, LOWER, WAIT_MS), HF_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(end(&waits[i]), HF_OK);
    assert_int_equal(run(&w.a, w.mine, LOWER, WAIT_MS), HF_OK);
    assert_int_equal(run(&w.a, w.mine, WAIT, 0), HF_OK);
    world_close(&w);
}

static void it_outlives_its_client(enum way way)
{
    struct world w;

    world_open(&w, way);
    assert_int_equal(run(&w.a, w.mine, RAISE, WAIT_MS), HF_OK);
    hf_barrier_free(w.mine);
    front_close(&w.a);
    front_open(&w.a, way, w.place.url, no_listener);
    w.mine = barrier_of(w.a.client);
    assert_int_equal(run(&w.a, w.mine, WAIT, 0), HF_EBUSY);
    assert_int_equal(run(&w.a, w.mine, LOWER, WAIT_MS), HF_OK);
    world_close(&w);
}

static void a_failure_tells_its_story(enum way way)
{
    struct hf_error error;
    struct world w;

    world_open(&w, way);
    assert_int_equal(run(&w.a, w.mine, RAISE, WAIT_MS), HF_OK);
    assert_int_equal(hf_barrier_wait(w.mine, 0),
                     way == WAY_UV ? HF_EREENTRANT : HF_EBUSY);
    hf_barrier_error(w.mine, &error);
    if (way != WAY_UV)
        assert_string_equal(error.text, "hf_barrier_wait: the barrier is up");
    assert_int_equal(run(&w.a, w.mine, LOWER, WAIT_MS), HF_OK);
    world_close(&w);
}

/* A wait that is given up leaves the others be. */
static void a_wait_can_be_cancelled(enum way way)
{
    struct errand first, second;
    struct world w;

    world_open(&w, way);
    assert_int_equal(run(&w.a, w.mine, RAISE, WAIT_MS), HF_OK);
    begin(&first, &w.a, w.mine, WAIT, HF_FOREVER);
    begin(&second, &w.a, w.mine, WAIT, HF_FOREVER);
    if (way != WAY_BLOCKING) {
        hf_op_cancel(first.op);
        hf_op_cancel(first.op);
        assert_int_equal(end(&first), HF_ECANCELLED);
        assert_int_equal(atomic_load(&second.ended), 0);
    }
    assert_int_equal(run(&w.a, w.mine, LOWER, WAIT_MS), HF_OK);
    assert_int_equal(end(&second), HF_OK);
    if (way == WAY_BLOCKING)
        assert_int_equal(end(&first), HF_OK);
    world_close(&w);
}

static void a_close_ends_waits(enum way way)
{
    struct errand wait;
    struct world w;

    world_open(&w, way);
    assert_int_equal(run(&w.a, w.mine, RAISE, WAIT_MS), HF_OK);
    if (way == WAY_BLOCKING) { /* seen to wait: it does not pass */
        begin(&wait, &w.b, w.theirs, WAIT, 100);
        assert_int_equal(end(&wait), HF_ETIMEDOUT);
    } else {
        begin(&wait, &w.b, w.theirs, WAIT, HF_FOREVER);
        front_close(&w.b);
        assert_int_equal(atomic_load(&wait.ended), 1);
        assert_int_equal(wait.status, HF_ECLOSED);
        hf_barrier_free(w.theirs);
        hf_op_cancel(wait.op); /* nothing to be cancelled any more */
        hf_op_free(wait.op);   /* the last that was left of the client */
        front_open(&w.b, way, w.place.url, no_listener);
        w.theirs = barrier_of(w.b.client);
    }
    assert_int_equal(run(&w.a, w.mine, LOWER, WAIT_MS), HF_OK);
    world_close(&w);
}

/* Who must not be told is not. */
static void the_end_need_not_be_heard(enum way way)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct world w;

    world_open(&w, way);
    assert_int_equal(hf_barrier_raise_start(w.mine, WAIT_MS, nobody), HF_OK);
    assert_int_equal(run(&w.a, w.mine, WAIT, 0), HF_EBUSY);
    assert_int_equal(hf_barrier_wait_start(w.mine, HF_FOREVER, nobody, NULL),
                     HF_OK);
    assert_int_equal(hf_barrier_lower_start(w.mine, WAIT_MS, nobody), HF_OK);
    assert_int_equal(run(&w.a, w.mine, WAIT, 0), HF_OK);
    world_close(&w);
}

#define STORIES(X)                                                             \
    X(it_holds_up_until_it_is_lowered)                                         \
    X(it_outlives_its_client)                                                  \
    X(a_failure_tells_its_story)                                               \
    X(a_wait_can_be_cancelled)                                                 \
    X(a_close_ends_waits)                                                      \
    X(the_end_need_not_be_heard)

#include "in_each_way.h"

/* ------------------------------------------------------------- processes -- */

static int lower_it(void *arg)
{
    struct hf_client *client = kit_client(arg);
    struct hf_barrier *barrier;

    KIT_CHECK(client != NULL);
    KIT_CHECK(hf_barrier_open(client, "gate", &barrier) == HF_OK);
    KIT_CHECK(hf_barrier_wait(barrier, 0) == HF_EBUSY);
    KIT_CHECK(hf_barrier_lower(barrier, WAIT_MS) == HF_OK);
    hf_barrier_free(barrier);
    KIT_CHECK(hf_client_close(client) == HF_OK);
    return 0;
}

static void *run_child(void *arg)
{
    kit_in_child(lower_it, arg);
    return NULL;
}

static void it_holds_between_processes(void **state)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    struct place place;
    pthread_t thread;

    (void)state;
    place_make(&place);
    client = kit_client(place.url);
    barrier = barrier_of(client);
    assert_int_equal(hf_barrier_raise(barrier, WAIT_MS), HF_OK);
    thread = kit_thread(run_child, place.url);
    assert_int_equal(hf_barrier_wait(barrier, WAIT_MS), HF_OK);
    pthread_join(thread, NULL);
    hf_barrier_free(barrier);
    assert_int_equal(hf_client_close(client), HF_OK);
    place_remove(&place);
}

static int use_parents(void *arg)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct hf_barrier *barrier = arg;
    struct hf_error error;
    struct hf_op *op;

    KIT_CHECK(hf_barrier_raise(barrier, 0) == HF_EFORKED);
    KIT_CHECK(hf_barrier_lower(barrier, 0) == HF_EFORKED);
    KIT_CHECK(hf_barrier_wait(barrier, 0) == HF_EFORKED);
    KIT_CHECK(hf_barrier_wait_start(barrier, 0, nobody, &op) == HF_EFORKED);
    KIT_CHECK(op == NULL);
    hf_barrier_error(barrier, &error);
    KIT_CHECK(error.status == HF_EFORKED);
    hf_barrier_free(barrier);
    return 0;
}

static void a_child_leaves_it_alone(void **state)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    struct place place;

    (void)state;
    place_make(&place);
    client = kit_client(place.url);
    barrier = barrier_of(client);
    assert_int_equal(hf_barrier_raise(barrier, WAIT_MS), HF_OK);
    kit_in_child(use_parents, barrier);
    assert_int_equal(hf_barrier_wait(barrier, 0), HF_EBUSY);
    assert_int_equal(hf_barrier_lower(barrier, WAIT_MS), HF_OK);
    hf_barrier_free(barrier);
    assert_int_equal(hf_client_close(client), HF_OK);
    place_remove(&place);
}

static void wrong_calls_are_refused(void **state)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    struct hf_error error;
    struct place place;

    (void)state;
    place_make(&place);
    client = kit_client(place.url);
    assert_int_equal(hf_barrier_open(client, "a//b", &barrier), HF_ENAME);
    assert_null(barrier);
    hf_client_error(client, &error);
    assert_non_null(strstr(error.text, "hf_barrier_open: "));
    hf_barrier_free(NULL);
    barrier = barrier_of(client);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_barrier_raise(barrier, WAIT_MS), HF_ECLOSED);
    assert_int_equal(hf_barrier_wait(barrier, WAIT_MS), HF_ECLOSED);
    hf_barrier_free(barrier);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS) cmocka_unit_test(it_holds_between_processes),
        cmocka_unit_test(a_child_leaves_it_alone),
        cmocka_unit_test(wrong_calls_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
