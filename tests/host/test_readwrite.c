/* SPDX-License-Identifier: Apache-2.0 */
/* Readers and writers of one lock, in every way to use a client. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kit.h"

#define NAME "ledger"

/* Two clients, each with a handle of each kind. */
struct world {
    enum way way;
    struct place place;
    struct front fronts[2];
    struct hf_lock *readers[2];
    struct hf_lock *writers[2];
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
    memset(w, 0, sizeof(*w));
    w->way = way;
    fronts_open(&w->place, &w->fronts[0], &w->fronts[1], way);
    for (int i = 0; i < 2; i++) {
        w->readers[i] = lock_for(&w->fronts[i], HF_KIND_READ);
        w->writers[i] = lock_for(&w->fronts[i], HF_KIND_WRITE);
    }
}

static void world_close(struct world *w)
{
    for (int i = 0; i < 2; i++) {
        hf_lock_free(w->readers[i]);
        hf_lock_free(w->writers[i]);
    }
    fronts_close(&w->place, &w->fronts[0], &w->fronts[1]);
}

/* Begin a wait of client ${i}, which is then the ${place}th in the queue. */
static void queue_up(struct world *w, int i, struct hf_lock *lock,
                     const struct hf_acquire_opts *opts, int place,
                     struct outcome *outcome)
{
    front_acquire(&w->fronts[i], lock, opts, outcome);
    kit_await_tickets_with(&w->fronts[i], &w->place, place);
}

/* The end of a wait that takes no longer than ${wait_ms}. */
static hf_status ends(struct world *w, int i, struct hf_lock *lock,
                      uint64_t wait_ms)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.wait_ms = wait_ms;
    front_acquire(&w->fronts[i], lock, &opts, &outcome);
    front_await(&outcome);
    if (outcome.status == HF_OK)
        assert_int_equal(front_give(&w->fronts[i], outcome.grant), HF_OK);
    else
        assert_true(outcome.text[0] != '\0');
    return outcome.status;
}

static void give(struct world *w, int i, struct hf_grant *grant)
{
    assert_int_equal(front_give(&w->fronts[i], grant), HF_OK);
}

static struct hf_grant *granted(struct outcome *outcome)
{
    front_await(outcome);
    assert_int_equal(outcome->status, HF_OK);
    return outcome->grant;
}

static bool waits(struct outcome *outcome)
{
    return atomic_load(&outcome->ended) == 0;
}

/* ---------------------------------------------------------------------- */

static void readers_share(enum way way)
{
    struct world w;
    struct hf_grant *a, *b, *c;

    world_open(&w, way);
    a = front_take(&w.fronts[0], w.readers[0]);
    b = front_take(&w.fronts[1], w.readers[1]);
    c = front_take(&w.fronts[0], w.readers[0]);
    assert_true(hf_grant_token(a) < hf_grant_token(b));
    assert_true(hf_grant_token(b) < hf_grant_token(c));
    assert_int_equal(place_tickets(&w.place), 3);
    give(&w, 0, a);
    assert_int_equal(hf_grant_check(b), HF_OK);
    give(&w, 0, c);
    give(&w, 1, b);
    world_close(&w);
}

static void tries_are_busy_on_both_sides(enum way way)
{
    struct world w;
    struct hf_grant *grant;

    world_open(&w, way);
    grant = front_take(&w.fronts[0], w.readers[0]);
    assert_int_equal(ends(&w, 1, w.writers[1], 0), HF_EBUSY);
    assert_int_equal(ends(&w, 1, w.readers[1], 0), HF_OK);
    give(&w, 0, grant);
    grant = front_take(&w.fronts[0], w.writers[0]);
    assert_int_equal(ends(&w, 1, w.writers[1], 0), HF_EBUSY);
    assert_int_equal(ends(&w, 1, w.readers[1], 0), HF_EBUSY);
    /* Not even to its own client: nobody upgrades in passing. */
    assert_int_equal(ends(&w, 0, w.readers[0], 0), HF_EBUSY);
    give(&w, 0, grant);
    assert_int_equal(ends(&w, 1, w.writers[1], 0), HF_OK);
    world_close(&w);
}

static void waits_time_out_on_both_sides(enum way way)
{
    struct world w;
    struct hf_grant *grant;

    world_open(&w, way);
    grant = front_take(&w.fronts[0], w.readers[0]);
    assert_int_equal(ends(&w, 1, w.writers[1], 30), HF_ETIMEDOUT);
    assert_int_equal(place_tickets(&w.place), 1);
    give(&w, 0, grant);
    grant = front_take(&w.fronts[0], w.writers[0]);
    assert_int_equal(ends(&w, 1, w.readers[1], 30), HF_ETIMEDOUT);
    assert_int_equal(place_tickets(&w.place), 1);
    give(&w, 0, grant);
    world_close(&w);
}

/* Whoever waits behind a writer that gives up waits for it no longer. */
static void a_writer_that_gives_up_lets_readers_in(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct outcome writer, reader;
    struct hf_grant *first, *second;

    world_open(&w, way);
    first = front_take(&w.fronts[0], w.readers[0]);
    if (way == WAY_BLOCKING)
        opts.wait_ms = 300; /* there is nothing to cancel it by */
    queue_up(&w, 1, w.writers[1], &opts, 2, &writer);
    queue_up(&w, 0, w.readers[0], NULL, 3, &reader);
    assert_true(waits(&reader));
    if (way != WAY_BLOCKING)
        hf_op_cancel(writer.op);
    front_await(&writer);
    assert_int_equal(writer.status,
                     way == WAY_BLOCKING ? HF_ETIMEDOUT : HF_ECANCELLED);
    second = granted(&reader);
    assert_int_equal(hf_grant_check(first), HF_OK);
    give(&w, 0, second);
    give(&w, 0, first);
    world_close(&w);
}

static void a_reader_can_be_cancelled(enum way way)
{
    struct world w;
    struct outcome reader, writer;
    struct hf_grant *grant;

    if (way == WAY_BLOCKING)
        return; /* nothing to cancel by */
    world_open(&w, way);
    grant = front_take(&w.fronts[0], w.writers[0]);
    queue_up(&w, 1, w.readers[1], NULL, 2, &reader);
    queue_up(&w, 1, w.writers[1], NULL, 3, &writer);
    hf_op_cancel(reader.op);
    front_await(&reader);
    assert_int_equal(reader.status, HF_ECANCELLED);
    assert_true(waits(&writer));
    give(&w, 0, grant);
    give(&w, 1, granted(&writer));
    world_close(&w);
}

static void everybody_has_a_turn(enum way way)
{
    struct world w;
    struct outcome w2, r3, r4, w5, r6;
    struct hf_grant *r1, *three, *four;

    world_open(&w, way);
    r1 = front_take(&w.fronts[0], w.readers[0]);
    queue_up(&w, 1, w.writers[1], NULL, 2, &w2);
    queue_up(&w, 0, w.readers[0], NULL, 3, &r3);
    queue_up(&w, 1, w.readers[1], NULL, 4, &r4);
    queue_up(&w, 0, w.writers[0], NULL, 5, &w5);
    queue_up(&w, 1, w.readers[1], NULL, 6, &r6);
    assert_true(waits(&w2) && waits(&r3) && waits(&r4));
    give(&w, 0, r1);
    (void)granted(&w2);
    assert_true(waits(&r3) && waits(&r4) && waits(&w5));
    give(&w, 1, w2.grant);
    three = granted(&r3);
    four = granted(&r4);
    assert_true(waits(&w5) && waits(&r6));
    give(&w, 0, three);
    assert_int_equal(hf_grant_check(four), HF_OK);
    assert_true(waits(&w5));
    give(&w, 1, four);
    (void)granted(&w5);
    assert_true(waits(&r6));
    give(&w, 0, w5.grant);
    give(&w, 1, granted(&r6));
    world_close(&w);
}

/* ---------------------------------------------------------- what is told -- */

struct heard {
    _Atomic int calls;
    uint32_t ahead;
    char holder[1024];
};

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct heard *heard = arg;

    heard->ahead = wait->ahead;
    snprintf(heard->holder, sizeof(heard->holder), "%s", wait->holder);
    atomic_fetch_add(&heard->calls, 1);
}

static bool is_heard(void *arg)
{
    return atomic_load(&((struct heard *)arg)->calls) > 0;
}

/* All who stand before are counted, also those who are not waited for. */
static void a_waiter_knows_its_place(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct heard writer_heard = {0}, reader_heard = {0};
    struct world w;
    struct outcome writer, reader;
    struct hf_grant *first, *second;

    world_open(&w, way);
    first = front_take(&w.fronts[0], w.readers[0]);
    second = front_take(&w.fronts[0], w.readers[0]);
    opts.on_wait = (struct hf_on_wait){on_wait, &writer_heard, NULL};
    front_acquire(&w.fronts[1], w.writers[1], &opts, &writer);
    front_until(&w.fronts[1], is_heard, &writer_heard);
    assert_int_equal(writer_heard.ahead, 2);
    opts.on_wait.arg = &reader_heard;
    front_acquire(&w.fronts[1], w.readers[1], &opts, &reader);
    front_until(&w.fronts[1], is_heard, &reader_heard);
    assert_int_equal(reader_heard.ahead, 3);
    assert_non_null(strstr(reader_heard.holder, "pid="));
    give(&w, 0, second);
    give(&w, 0, first);
    give(&w, 1, granted(&writer));
    give(&w, 1, granted(&reader));
    world_close(&w);
}

static void refused(struct world *w, struct hf_lock *lock, const char *is,
                    const char *wants)
{
    struct outcome outcome;

    front_acquire(&w->fronts[1], lock, NULL, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_EKIND);
    assert_non_null(strstr(outcome.text, is));
    assert_non_null(strstr(outcome.text, wants));
    assert_non_null(strstr(outcome.text, "use another name"));
}

static void a_mutex_is_another_kind(enum way way)
{
    struct world w;
    struct hf_lock *mutex;
    struct hf_grant *grant;

    world_open(&w, way);
    mutex = lock_for(&w.fronts[1], HF_KIND_MUTEX);
    grant = front_take(&w.fronts[0], w.readers[0]);
    refused(&w, mutex, "in use as a read/write lock", "this is a mutex");
    give(&w, 0, grant);
    grant = front_take(&w.fronts[0], w.writers[0]);
    refused(&w, mutex, "in use as a read/write lock", "this is a mutex");
    give(&w, 0, grant);
    grant = front_take(&w.fronts[1], mutex);
    refused(&w, w.readers[1], "in use as a mutex", "this is a read/write lock");
    refused(&w, w.writers[1], "in use as a mutex", "this is a read/write lock");
    give(&w, 1, grant);
    assert_int_equal(ends(&w, 1, w.readers[1], 0), HF_OK);
    hf_lock_free(mutex);
    world_close(&w);
}

#define STORIES(X)                                                             \
    X(readers_share)                                                           \
    X(tries_are_busy_on_both_sides)                                            \
    X(waits_time_out_on_both_sides)                                            \
    X(a_writer_that_gives_up_lets_readers_in)                                  \
    X(a_reader_can_be_cancelled)                                               \
    X(everybody_has_a_turn)                                                    \
    X(a_waiter_knows_its_place)                                                \
    X(a_mutex_is_another_kind)

#include "in_each_way.h"

int main(void)
{
    const struct CMUnitTest tests[] = {STORIES(STORY_TESTS)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
