/* SPDX-License-Identifier: Apache-2.0 */
/* Grants of more than one ticket: semaphores, and several locks at once. */
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
    struct place place;
    struct front a;
    struct front b;
};

static void world_open(struct world *world, enum way way)
{
    memset(world, 0, sizeof(*world));
    fronts_open(&world->place, &world->a, &world->b, way);
}

static void world_close(struct world *world)
{
    fronts_close(&world->place, &world->a, &world->b);
}

static struct hf_lock *lock_of(struct front *front, const char *name,
                               enum hf_kind kind, uint32_t permits,
                               uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    opts.permits = permits;
    opts.limit = limit;
    assert_int_equal(hf_lock_open(front->client, name, &opts, &lock), HF_OK);
    return lock;
}

static struct hf_lock *semaphore(struct front *front, uint32_t permits,
                                 uint32_t limit)
{
    return lock_of(front, "pool", HF_KIND_SEMAPHORE, permits, limit);
}

/* ------------------------------------------------------------ semaphores */

static hf_status try_it(struct front *front, struct hf_lock *lock,
                        struct hf_grant **grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.wait_ms = 0;
    front_acquire(front, lock, &opts, &outcome);
    front_await(&outcome);
    *grant = outcome.grant;
    return outcome.status;
}

static void fn34_as_many_as_there_are(enum way way)
{
    struct world w;
    struct hf_lock *mine, *theirs;
    struct hf_grant *one, *two, *three;

    world_open(&w, way);
    mine = semaphore(&w.a, 1, 2);
    theirs = semaphore(&w.b, 1, 2);
    one = front_take(&w.a, mine);
    two = front_take(&w.b, theirs);
    assert_true(hf_grant_token(two) > hf_grant_token(one));
    assert_int_equal(try_it(&w.b, theirs, &three), HF_EBUSY);
    assert_int_equal(front_give(&w.a, one), HF_OK);
    assert_int_equal(try_it(&w.b, theirs, &three), HF_OK);
    assert_int_equal(try_it(&w.a, mine, &one), HF_EBUSY);
    assert_int_equal(front_give(&w.b, two), HF_OK);
    one = front_take(&w.a, mine); /* no try has kept the queue in front */
    assert_int_equal(front_give(&w.b, three), HF_OK);
    assert_int_equal(front_give(&w.a, one), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void all_permits_or_none(enum way way)
{
    struct world w;
    struct hf_lock *mine, *theirs;
    struct hf_grant *one, *two;
    struct outcome outcome;

    world_open(&w, way);
    mine = semaphore(&w.a, 1, 3);
    theirs = semaphore(&w.b, 3, 3);
    one = front_take(&w.a, mine);
    two = front_take(&w.a, mine);
    kit_await_tickets(&w.place, 2); /* without the one at the gate */
    front_acquire(&w.b, theirs, NULL, &outcome);
    kit_await_tickets(&w.place, 3); /* two leases, and who is next */
    assert_int_equal(front_give(&w.a, one), HF_OK);
    /* One permit is not enough; and nobody takes those that are free. */
    assert_int_equal(try_it(&w.a, mine, &one), HF_EBUSY);
    assert_int_equal(front_give(&w.a, two), HF_OK);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(try_it(&w.a, mine, &one), HF_EBUSY);
    assert_int_equal(front_give(&w.b, outcome.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

/* A try fails, and its text has ${by}. */
static void refused_by(struct front *front, struct hf_lock *lock,
                       const char *by)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.wait_ms = 0;
    front_acquire(front, lock, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_EKIND);
    assert_non_null(strstr(outcome.text, by));
    hf_lock_free(lock);
}

/* Names of a semaphore's queues are names of locks as well, but not both at
 * once. */
static void a_lock_may_be_called_as_a_queue_of_a_semaphore(enum way way)
{
    static const char *const names[] = {"pool/locks", "pool/leases"};
    struct world w;
    struct hf_lock *locks[2], *pool;
    struct hf_grant *grants[2], *one;
    struct outcome outcome;

    world_open(&w, way);
    for (size_t i = 0; i < 2; i++) {
        locks[i] = lock_of(&w.a, names[i], HF_KIND_MUTEX, 1, 1);
        grants[i] = front_take(&w.a, locks[i]);
        refused_by(&w.b, semaphore(&w.b, 1, 1), names[i]);
        assert_int_equal(front_give(&w.a, grants[i]), HF_OK);
    }
    pool = semaphore(&w.b, 1, 1);
    one = front_take(&w.b, pool);
    grants[0] = front_take(&w.a, locks[0]); /* nobody is at that queue */
    assert_int_equal(front_give(&w.a, grants[0]), HF_OK);
    front_acquire(&w.b, pool, NULL, &outcome);
    kit_await_tickets(&w.place, 2); /* a lease, and the one who is next */
    for (size_t i = 0; i < 2; i++)
        refused_by(&w.a, locks[i], "as a semaphore");
    refused_by(&w.a, lock_of(&w.a, names[0], HF_KIND_READ, 1, 1),
               "as a semaphore");
    assert_int_equal(front_give(&w.b, one), HF_OK);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(front_give(&w.b, outcome.grant), HF_OK);
    hf_lock_free(pool);
    world_close(&w);
}

static void a_wait_for_permits_ends_in_time(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct hf_lock *mine, *theirs, *others; /* each tells one story */
    struct hf_grant *grant;
    struct outcome first, second;

    world_open(&w, way);
    mine = semaphore(&w.a, 1, 1);
    theirs = semaphore(&w.b, 1, 1);
    others = semaphore(&w.b, 1, 1);
    grant = front_take(&w.a, mine);
    kit_await_tickets(&w.place, 1); /* without the one at the gate */
    opts.wait_ms = 300;
    front_acquire(&w.b, theirs, &opts, &first);
    kit_await_tickets(&w.place, 2);
    front_acquire(&w.b, others, &opts, &second);
    front_await(&first);
    front_await(&second);
    assert_int_equal(first.status, HF_ETIMEDOUT);
    assert_int_equal(second.status, HF_ETIMEDOUT);
    assert_non_null(strstr(first.text, "permits"));
    kit_await_tickets(&w.place, 1);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    hf_lock_free(others);
    world_close(&w);
}

static void fn33_who_waits_hears_of_another_size(enum way way)
{
    struct world w;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    struct outcome outcome;

    world_open(&w, way);
    mine = semaphore(&w.a, 1, 1);
    theirs = semaphore(&w.b, 1, 1);
    grant = front_take(&w.a, mine);
    kit_await_tickets(&w.place, 1); /* without the one at the gate */
    front_acquire(&w.b, theirs, NULL, &outcome);
    kit_await_tickets(&w.place, 2);
    assert_int_equal(hf_lock_set_limit(theirs, 2), HF_OK);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    assert_int_equal(front_give(&w.b, outcome.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

/* It waits behind another one yet, and asks for permits only after it. */
static void who_waits_at_the_gate_hears_of_another_size(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct hf_lock *mine, *theirs, *others;
    struct hf_grant *grant;
    struct outcome first, second;

    world_open(&w, way);
    mine = semaphore(&w.a, 1, 1);
    theirs = semaphore(&w.b, 1, 1);
    others = semaphore(&w.b, 1, 1);
    grant = front_take(&w.a, mine);
    kit_await_tickets(&w.place, 1);
    opts.wait_ms = 300;
    front_acquire(&w.b, theirs, &opts, &first);
    kit_await_tickets(&w.place, 2);
    front_acquire(&w.b, others, NULL, &second);
    kit_await_tickets(&w.place, 3);
    assert_int_equal(hf_lock_set_limit(others, 2), HF_OK);
    front_await(&first);
    assert_int_equal(first.status, HF_ETIMEDOUT);
    front_await(&second);
    assert_int_equal(second.status, HF_OK);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    hf_lock_free(others);
    world_close(&w);
}

/* A part that is not taken yet is taken by the new limit. */
static void who_waits_for_another_lock_first_hears_of_another_size(enum way way)
{
    struct world w;
    struct hf_lock *mine[2], *theirs[2];
    struct hf_grant *grants[2];
    struct outcome outcome;

    world_open(&w, way);
    mine[0] = front_lock(&w.a, "a"); /* before the semaphore */
    mine[1] = semaphore(&w.a, 1, 1);
    theirs[0] = front_lock(&w.b, "a");
    theirs[1] = semaphore(&w.b, 1, 1);
    for (size_t i = 0; i < 2; i++)
        grants[i] = front_take(&w.a, mine[i]);
    front_acquire_all(&w.b, theirs, 2, NULL, &outcome);
    kit_await_tickets(&w.place, 3);
    assert_int_equal(hf_lock_set_limit(theirs[1], 2), HF_OK);
    assert_int_equal(front_give(&w.a, grants[0]), HF_OK);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(front_give(&w.a, grants[1]), HF_OK);
    assert_int_equal(front_give(&w.b, outcome.grant), HF_OK);
    for (size_t i = 0; i < 2; i++) {
        hf_lock_free(mine[i]);
        hf_lock_free(theirs[i]);
    }
    world_close(&w);
}

/* ---------------------------------------------------------- several locks */

static void fn63_all_of_them_or_none(enum way way)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct world w;
    struct hf_lock *locks[3], *theirs;
    struct hf_grant *grant;
    struct outcome outcome;

    world_open(&w, way);
    locks[0] = lock_of(&w.a, "c", HF_KIND_MUTEX, 1, 1);
    locks[1] = lock_of(&w.a, "a", HF_KIND_WRITE, 1, 1);
    locks[2] = lock_of(&w.a, "b", HF_KIND_SEMAPHORE, 2, 2);
    theirs = lock_of(&w.b, "c", HF_KIND_MUTEX, 1, 1);
    grant = front_take(&w.b, theirs);
    opts.wait_ms = 30;
    front_acquire_all(&w.a, locks, 3, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_ETIMEDOUT);
    kit_await_tickets(&w.place, 1); /* the others were given back */
    front_acquire_all(&w.a, locks, 3, NULL, &outcome);
    kit_await_tickets(&w.place, 4); /* a, the leases of b, and two for c */
    assert_int_equal(front_give(&w.b, grant), HF_OK);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(hf_grant_token(outcome.grant),
                     hf_grant_token_of(outcome.grant, locks[0]));
    assert_true(hf_grant_token_of(outcome.grant, locks[1]) > 0);
    assert_true(hf_grant_token_of(outcome.grant, locks[2]) > 0);
    assert_int_equal(hf_grant_token_of(outcome.grant, theirs), 0);
    assert_int_equal(hf_grant_check(outcome.grant), HF_OK);
    assert_int_equal(front_give(&w.a, outcome.grant), HF_OK);
    for (int i = 0; i < 3; i++)
        hf_lock_free(locks[i]);
    hf_lock_free(theirs);
    world_close(&w);
}

/* Callers that take several, in whichever order they name them. */
struct round {
    struct hf_lock *locks[2];
    size_t count;
};

static void *go_round(void *arg)
{
    const struct round *round = arg;
    struct hf_grant *grant;
    uintptr_t rounds;

    for (rounds = 0; rounds < 200; rounds++) {
        if (hf_locks_acquire(round->locks, round->count, NULL, &grant) !=
                HF_OK ||
            hf_grant_release(grant) != HF_OK)
            break;
    }
    return (void *)rounds;
}

static void both_go_round(struct round *mine, struct round *theirs)
{
    pthread_t threads[2];
    void *rounds;

    threads[0] = kit_thread(go_round, mine);
    threads[1] = kit_thread(go_round, theirs);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &rounds), 0);
        assert_int_equal((uintptr_t)rounds, 200);
    }
}

static void fn63_opposite_orders_do_not_deadlock(void **state)
{
    struct round mine = {.count = 2}, theirs = {.count = 2};
    struct world w;

    (void)state;
    world_open(&w, WAY_BLOCKING);
    mine.locks[0] = front_lock(&w.a, "left");
    mine.locks[1] = front_lock(&w.a, "right");
    theirs.locks[0] = front_lock(&w.b, "right");
    theirs.locks[1] = front_lock(&w.b, "left");
    both_go_round(&mine, &theirs);
    for (int i = 0; i < 2; i++) {
        hf_lock_free(mine.locks[i]);
        hf_lock_free(theirs.locks[i]);
    }
    world_close(&w);
}

/* Each would have one and wait for the other's, were they taken one by one. */
static void fn62_two_that_take_all_permits_do_not_deadlock(void **state)
{
    struct round mine = {.count = 1}, theirs = {.count = 1};
    struct world w;

    (void)state;
    world_open(&w, WAY_BLOCKING);
    mine.locks[0] = semaphore(&w.a, 2, 2);
    theirs.locks[0] = semaphore(&w.b, 2, 2);
    both_go_round(&mine, &theirs);
    hf_lock_free(mine.locks[0]);
    hf_lock_free(theirs.locks[0]);
    world_close(&w);
}

static bool is_lost(void *arg)
{
    return hf_grant_check(arg) == HF_ELOST;
}

static void lost_with_the_first_that_is(enum way way)
{
    struct world w;
    struct hf_lock *locks[2];
    struct outcome outcome;
    int fd;

    world_open(&w, way);
    locks[0] = front_lock(&w.a, "one");
    locks[1] = front_lock(&w.a, "two");
    front_acquire_all(&w.a, locks, 2, NULL, &outcome);
    front_await(&outcome);
    assert_int_equal(hf_grant_hold_fd_of(outcome.grant, locks[1], &fd), HF_OK);
    close(fd);
    place_rob(&w.place);
    front_until(&w.a, is_lost, outcome.grant);
    assert_int_equal(hf_grant_safe_until_ms(outcome.grant), 0);
    assert_int_equal(front_give(&w.a, outcome.grant), HF_ELOST);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    world_close(&w);
}

/* ------------------------------------------------- who has what, and may go */

static void on_revoke(void *arg, struct hf_grant *grant)
{
    (void)grant;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool was_asked(void *arg)
{
    return atomic_load((_Atomic int *)arg) > 0;
}

static struct hf_grant *take_asked(struct front *front,
                                   struct hf_lock *const *locks, size_t count,
                                   _Atomic int *asked)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    atomic_init(asked, 0);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, asked, NULL};
    front_acquire_all(front, locks, count, &opts, &outcome);
    front_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    return outcome.grant;
}

static void who_has_permits_is_seen_and_asked(void **state)
{
    const struct hf_ticket_view *view;
    struct hf_tickets *tickets;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    struct world w;
    _Atomic int asked;

    (void)state;
    world_open(&w, WAY_BLOCKING);
    mine = semaphore(&w.a, 2, 3);
    theirs = semaphore(&w.b, 1, 3);
    grant = take_asked(&w.a, &mine, 1, &asked);
    assert_int_equal(
        hf_lock_tickets(theirs, HF_TICKETS_HOLDERS, HF_FOREVER, &tickets),
        HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 1);
    view = hf_tickets_at(tickets, 0);
    assert_int_equal(view->kind, HF_KIND_SEMAPHORE);
    assert_int_equal(view->permits, 2);
    assert_true(view->holds && !view->own);
    assert_int_equal(view->token, hf_grant_token(grant));
    assert_int_equal(hf_lock_revoke(theirs, NULL, HF_FOREVER), HF_OK);
    front_until(&w.a, was_asked, &asked);
    assert_int_equal(hf_grant_downgrade(grant), HF_ESTATE);
    assert_int_equal(hf_lock_evict(theirs, view->id, HF_FOREVER), HF_OK);
    front_until(&w.a, is_lost, grant);
    hf_tickets_free(tickets);
    assert_int_equal(front_give(&w.a, grant), HF_ELOST);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static size_t count_of(struct hf_lock *lock, enum hf_tickets_which which)
{
    struct hf_tickets *tickets;
    size_t count;

    assert_int_equal(hf_lock_tickets(lock, which, HF_FOREVER, &tickets), HF_OK);
    count = hf_tickets_count(tickets);
    hf_tickets_free(tickets);
    return count;
}

/* Those who have permits stand first, and those who wait are as good as any. */
/* A ticket whose owner is to hear of a request. */
struct asked_ticket {
    struct hf_lock *lock;
    const char *id;
};

static bool says_asked(void *arg)
{
    struct asked_ticket *asked = arg;
    struct hf_tickets *tickets;
    char at[HF_OWNER_VALUE_MAX];
    bool says = false;

    assert_int_equal(
        hf_lock_tickets(asked->lock, HF_TICKETS_ALL, HF_FOREVER, &tickets),
        HF_OK);
    for (size_t i = 0; i < hf_tickets_count(tickets); i++) {
        const struct hf_ticket_view *view = hf_tickets_at(tickets, i);

        says |=
            strcmp(view->id, asked->id) == 0 &&
            hf_owner_text_get(view->owner, "asked", at, sizeof(at)) == HF_OK;
    }
    hf_tickets_free(tickets);
    return says;
}

static void who_waits_for_permits_is_seen_and_asked(void **state)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    const struct hf_ticket_view *view;
    struct hf_tickets *tickets;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    struct asked_ticket heard;
    struct outcome first, second;
    struct world w;
    _Atomic int asked = 0;

    (void)state;
    world_open(&w, WAY_THREAD);
    mine = semaphore(&w.a, 2, 2);
    theirs = semaphore(&w.b, 1, 2);
    assert_int_equal(count_of(theirs, HF_TICKETS_ALL), 0);
    assert_int_equal(count_of(theirs, HF_TICKETS_WAITERS), 0);
    grant = front_take(&w.a, mine);
    kit_await_tickets(&w.place, 1);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &asked, NULL};
    front_acquire(&w.b, theirs, &opts, &first);
    kit_await_tickets(&w.place, 2);
    front_acquire(&w.b, theirs, NULL, &second);
    kit_await_tickets(&w.place, 3);
    assert_int_equal(count_of(theirs, HF_TICKETS_HOLDERS), 1);
    assert_int_equal(count_of(theirs, HF_TICKETS_WAITERS), 2);
    assert_int_equal(
        hf_lock_tickets(theirs, HF_TICKETS_ALL, HF_FOREVER, &tickets), HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 3);
    view = hf_tickets_at(tickets, 0);
    assert_true(view->holds && !view->own && view->permits == 2);
    for (size_t i = 1; i < 3; i++) {
        view = hf_tickets_at(tickets, i);
        assert_int_equal(view->kind, HF_KIND_SEMAPHORE);
        assert_true(!view->holds && view->own && view->permits == 0);
    }
    assert_null(hf_tickets_at(tickets, 3));
    view = hf_tickets_at(tickets, 1);
    assert_int_equal(hf_lock_revoke(mine, view->id, HF_FOREVER), HF_OK);
    heard.lock = mine;
    heard.id = view->id;
    front_until(&w.a, says_asked, &heard);
    /* One who is evicted hears of it when the one ahead has gone, and goes to
     * the tail. */
    view = hf_tickets_at(tickets, 2);
    assert_int_equal(hf_lock_evict(mine, view->id, HF_FOREVER), HF_OK);
    assert_int_equal(hf_lock_evict(mine, view->id, HF_FOREVER), HF_EGONE);
    kit_await_tickets(&w.place, 2);
    hf_tickets_free(tickets);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    front_await(&first);
    front_await(&second);
    front_until(&w.b, was_asked, &asked);
    assert_int_equal(front_give(&w.b, first.grant), HF_OK);
    assert_int_equal(front_give(&w.b, second.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    world_close(&w);
}

static void who_has_several_is_asked_for_one(void **state)
{
    struct hf_lock *locks[2], *theirs;
    struct hf_grant *grant;
    struct world w;
    _Atomic int asked;

    (void)state;
    world_open(&w, WAY_BLOCKING);
    locks[0] = front_lock(&w.a, "one");
    locks[1] = lock_of(&w.a, "two", HF_KIND_WRITE, 1, 1);
    theirs = front_lock(&w.b, "two");
    grant = take_asked(&w.a, locks, 2, &asked);
    assert_int_equal(hf_grant_downgrade(grant), HF_ESTATE);
    assert_int_equal(hf_lock_revoke(theirs, NULL, HF_FOREVER), HF_OK);
    front_until(&w.a, was_asked, &asked);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(front_give(&w.a, grant), HF_OK);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    hf_lock_free(theirs);
    world_close(&w);
}

/* ----------------------------------------------------------------- misuse */

static void wrong_lists_are_refused(void **state)
{
    struct world w;
    struct hf_lock *locks[2], *theirs, *again;
    struct hf_grant *grant;
    struct hf_error error;

    (void)state;
    world_open(&w, WAY_BLOCKING);
    locks[0] = front_lock(&w.a, "one");
    again = front_lock(&w.a, "/one");
    theirs = front_lock(&w.b, "two");
    assert_int_equal(hf_locks_acquire(locks, 0, NULL, &grant), HF_EINVAL);
    locks[1] = again;
    assert_int_equal(hf_locks_acquire(locks, 2, NULL, &grant), HF_EINVAL);
    hf_lock_error(locks[0], &error);
    assert_non_null(strstr(error.text, "hf_locks_acquire"));
    assert_non_null(strstr(error.text, "\"one\" is given twice"));
    locks[1] = theirs;
    assert_int_equal(hf_locks_acquire(locks, 2, NULL, &grant), HF_EINVAL);
    hf_lock_error(locks[0], &error);
    assert_non_null(strstr(error.text, "another client"));
    assert_null(grant);
    hf_lock_free(locks[0]);
    hf_lock_free(again);
    hf_lock_free(theirs);
    world_close(&w);
}

static void wrong_permits_are_refused(void **state)
{
    static const struct {
        uint32_t permits, limit;
    } rows[] = {{0, 1}, {2, 1}, {HF_PERMITS_MAX + 1, 1000}};
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct world w;
    struct hf_lock *lock;

    (void)state;
    world_open(&w, WAY_BLOCKING);
    opts.kind = HF_KIND_SEMAPHORE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        opts.permits = rows[i].permits;
        opts.limit = rows[i].limit;
        assert_int_equal(hf_lock_open(w.a.client, "pool", &opts, &lock),
                         HF_EINVAL);
        assert_null(lock);
    }
    lock = semaphore(&w.a, 2, 4);
    assert_int_equal(hf_lock_set_limit(lock, 1), HF_EINVAL);
    assert_int_equal(hf_lock_set_limit(lock, 2), HF_OK);
    hf_lock_free(lock);
    lock = front_lock(&w.a, "pool");
    assert_int_equal(hf_lock_set_limit(lock, 2), HF_EINVAL);
    hf_lock_free(lock);
    world_close(&w);
}

#define STORIES(X)                                                             \
    X(fn34_as_many_as_there_are)                                               \
    X(all_permits_or_none)                                                     \
    X(a_lock_may_be_called_as_a_queue_of_a_semaphore)                          \
    X(a_wait_for_permits_ends_in_time)                                         \
    X(fn33_who_waits_hears_of_another_size)                                    \
    X(who_waits_at_the_gate_hears_of_another_size)                             \
    X(who_waits_for_another_lock_first_hears_of_another_size)                  \
    X(fn63_all_of_them_or_none)                                                \
    X(lost_with_the_first_that_is)
#include "in_each_way.h"

int main(void)
{
    static const struct CMUnitTest tests[] = {
        STORIES(STORY_TESTS)
            cmocka_unit_test(who_has_permits_is_seen_and_asked),
        cmocka_unit_test(who_waits_for_permits_is_seen_and_asked),
        cmocka_unit_test(who_has_several_is_asked_for_one),
        cmocka_unit_test(wrong_lists_are_refused),
        cmocka_unit_test(wrong_permits_are_refused),
        cmocka_unit_test(fn63_opposite_orders_do_not_deadlock),
        cmocka_unit_test(fn62_two_that_take_all_permits_do_not_deadlock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
