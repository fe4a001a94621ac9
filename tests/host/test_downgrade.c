/* SPDX-License-Identifier: Apache-2.0 */
/* A writer's grant becomes a reader's, in every way to use a client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kit.h"

#define NAME "ledger"

struct world {
    struct place place;
    struct front a;
    struct front b;
    struct hf_lock *writer; /* of a */
    struct hf_lock *others_reader;
    struct hf_lock *others_writer;
};

static struct hf_lock *lock_for(struct front *front, enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    assert_int_equal(hf_lock_open(front->client, NAME, &opts, &lock), HF_OK);
    return lock;
}

static void world_open(struct world *w, enum way way)
{
    fronts_open(&w->place, &w->a, &w->b, way);
    w->writer = lock_for(&w->a, HF_KIND_WRITE);
    w->others_reader = lock_for(&w->b, HF_KIND_READ);
    w->others_writer = lock_for(&w->b, HF_KIND_WRITE);
}

static void world_close(struct world *w)
{
    hf_lock_free(w->writer);
    hf_lock_free(w->others_reader);
    hf_lock_free(w->others_writer);
    fronts_close(&w->place, &w->a, &w->b);
}

static void queue_up(struct world *w, struct hf_lock *lock, int place,
                     struct outcome *outcome)
{
    front_acquire(&w->b, lock, NULL, outcome);
    kit_await_tickets_with(&w->b, &w->place, place);
}

/* ----------------------------------------------------------- the request -- */

struct told {
    _Atomic int calls;
    _Atomic int drops;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_grant *grant;
};

static void on_done(void *arg, const struct hf_result *result)
{
    struct told *told = arg;

    told->status = result->status;
    told->grant = result->grant;
    snprintf(told->text, sizeof(told->text), "%s", result->text);
    atomic_fetch_add(&told->calls, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct told *)arg)->drops, 1);
}

static bool is_told(void *arg)
{
    return atomic_load(&((struct told *)arg)->drops) > 0;
}

static struct hf_done done_of(struct told *told)
{
    memset(told, 0, sizeof(*told));
    return (struct hf_done){on_done, told, on_drop};
}

static void *downgrade_main(void *arg)
{
    struct told *told = arg;

    told->status = hf_grant_downgrade(told->grant);
    return NULL;
}

static hf_status downgrade(struct front *front, struct hf_grant *grant)
{
    struct told told = {.grant = grant};

    if (front->way == WAY_BLOCKING) {
        kit_elsewhere(downgrade_main, &told);
        return told.status;
    }
    if (front->way == WAY_UV)
        assert_int_equal(hf_grant_downgrade(grant), HF_EREENTRANT);
    assert_int_equal(hf_grant_downgrade_start(grant, done_of(&told)), HF_OK);
    front_until(front, is_told, &told);
    assert_int_equal(atomic_load(&told.calls), 1);
    assert_null(told.grant);
    return told.status;
}

/* ---------------------------------------------------------------------- */

static void readers_enter_and_writers_wait(enum way way)
{
    struct world w;
    struct outcome reader, writer;
    struct hf_grant *grant;
    uint64_t token;

    world_open(&w, way);
    grant = front_take(&w.a, w.writer);
    token = hf_grant_token(grant);
    queue_up(&w, w.others_reader, 2, &reader);
    queue_up(&w, w.others_writer, 3, &writer);
    assert_int_equal(downgrade(&w.a, grant), HF_OK);
    front_await(&reader);
    assert_int_equal(reader.status, HF_OK);
    assert_true(hf_grant_token(grant) == token);
    assert_true(hf_grant_token(reader.grant) > token);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(place_tickets(&w.place), 3);
    assert_int_equal(front_give(&w.b, reader.grant), HF_OK);
    assert_int_equal(atomic_load(&writer.ended), 0);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    front_await(&writer);
    assert_int_equal(writer.status, HF_OK);
    assert_int_equal(front_give(&w.b, writer.grant), HF_OK);
    world_close(&w);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    if (wait->ahead == 1)
        atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool is_told_again(void *arg)
{
    return atomic_exchange((_Atomic int *)arg, 0) > 0;
}

/* One that waits for the writer itself hears of its end, and finds a reader. */
static void a_writer_right_behind_goes_on_waiting(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    _Atomic int looks = 0;
    struct world w;
    struct outcome writer;
    struct hf_grant *grant;

    world_open(&w, way);
    grant = front_take(&w.a, w.writer);
    opts.on_wait = (struct hf_on_wait){on_wait, &looks, NULL};
    front_acquire(&w.b, w.others_writer, &opts, &writer);
    front_until(&w.b, is_told_again, &looks);
    assert_int_equal(downgrade(&w.a, grant), HF_OK);
    front_until(&w.b, is_told_again, &looks);
    assert_int_equal(atomic_load(&writer.ended), 0);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(place_tickets(&w.place), 2);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    front_await(&writer);
    assert_int_equal(writer.status, HF_OK);
    assert_int_equal(front_give(&w.b, writer.grant), HF_OK);
    world_close(&w);
}

static void only_a_writer_can_be_downgraded(enum way way)
{
    struct world w;
    struct hf_error error;
    struct told told;
    struct hf_grant *grant;
    hf_status status;

    world_open(&w, way);
    grant = front_take(&w.b, w.others_reader);
    status = hf_grant_downgrade_start(grant, done_of(&told));
    assert_int_equal(status, HF_ESTATE);
    assert_int_equal(atomic_load(&told.drops), 1);
    assert_int_equal(atomic_load(&told.calls), 0);
    hf_lock_error(w.others_reader, &error);
    assert_non_null(strstr(error.text, "grant of a reader"));
    assert_int_equal(front_give(&w.b, grant), HF_OK);
    grant = front_take(&w.a, w.writer);
    assert_int_equal(downgrade(&w.a, grant), HF_OK);
    if (way != WAY_UV)
        assert_int_equal(hf_grant_downgrade(grant), HF_ESTATE);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    world_close(&w);
}

/* Copies of the write ticket's descriptor would keep nothing. */
static void not_after_its_descriptor_was_given_out(enum way way)
{
    struct world w;
    struct hf_grant *grant;
    int fd;

    world_open(&w, way);
    grant = front_take(&w.a, w.writer);
    assert_int_equal(hf_grant_hold_fd(grant, &fd), HF_OK);
    assert_int_equal(downgrade(&w.a, grant), HF_ESTATE);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(close(fd), 0);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    world_close(&w);
}

static void a_lost_grant_is_lost(enum way way)
{
    struct world w;
    struct hf_grant *grant;
    struct told told;
    hf_status status;

    world_open(&w, way);
    grant = front_take(&w.a, w.writer);
    place_rob(&w.place);
    status = hf_grant_downgrade_start(grant, done_of(&told));
    if (status == HF_OK) { /* noticed by the request itself */
        front_until(&w.a, is_told, &told);
        status = told.status;
    }
    assert_int_equal(status, HF_ELOST);
    assert_int_equal(hf_grant_downgrade_start(grant, done_of(&told)), HF_ELOST);
    assert_int_equal(atomic_load(&told.drops), 1);
    assert_int_equal(front_give(&w.a, grant), HF_ELOST);
    world_close(&w);
}

/* Somebody removes the read ticket: its owner hears, as any. */
static void a_loss_afterwards_is_told(enum way way)
{
    struct world w;
    struct hf_grant *grant;

    world_open(&w, way);
    grant = front_take(&w.a, w.writer);
    assert_int_equal(downgrade(&w.a, grant), HF_OK);
    assert_int_equal(place_tickets(&w.place), 1);
    place_rob(&w.place);
    assert_int_equal(front_give(&w.a, grant), HF_ELOST);
    world_close(&w);
}

#define STORIES(X)                                                             \
    X(readers_enter_and_writers_wait)                                          \
    X(a_writer_right_behind_goes_on_waiting)                                   \
    X(only_a_writer_can_be_downgraded)                                         \
    X(not_after_its_descriptor_was_given_out)                                  \
    X(a_lost_grant_is_lost)                                                    \
    X(a_loss_afterwards_is_told)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {STORIES(STORY_TESTS)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
