/* SPDX-License-Identifier: Apache-2.0 */
/* Grants of more than one ticket: semaphores, and several locks at once
 * (multi-locks). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

struct several_fixture {
    struct client_directory directory;
    struct client_fixture a;
    struct client_fixture b;
};

static void fixture_open(struct several_fixture *f, enum way way)
{
    memset(f, 0, sizeof(*f));
    hosts_open(&f->directory, &f->a, &f->b, way);
}

static void fixture_close(struct several_fixture *f)
{
    hosts_close(&f->directory, &f->a, &f->b);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct several_fixture f;                         \
    fixture_open(&f, way)

static struct hf_lock *lock_of(struct client_fixture *fixture, const char *name,
                               enum hf_kind kind, uint32_t permits,
                               uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    opts.permits = permits;
    opts.limit = limit;
    assert_int_equal(hf_lock_open(fixture->client, name, &opts, &lock), HF_OK);
    return lock;
}

static struct hf_lock *semaphore(struct client_fixture *fixture,
                                 uint32_t permits, uint32_t limit)
{
    return lock_of(fixture, "pool", HF_KIND_SEMAPHORE, permits, limit);
}

/* ------------------------------------------------------------ semaphores -- */

static hf_status try_it(struct client_fixture *fixture, struct hf_lock *lock,
                        struct hf_grant **grant)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.wait_ms = 0;
    client_acquire(fixture, lock, &opts, &outcome);
    client_await(&outcome);
    *grant = outcome.grant;
    return outcome.status;
}

TEST_IN_EACH_WAY(fn34_as_many_as_there_are)
{
    struct hf_lock *mine, *theirs;
    struct hf_grant *one, *two, *three;
    FIXTURE(f, way);
    mine = semaphore(&f.a, 1, 2);
    theirs = semaphore(&f.b, 1, 2);
    one = client_take(&f.a, mine);
    two = client_take(&f.b, theirs);
    assert_true(hf_grant_token(two) > hf_grant_token(one));
    assert_int_equal(try_it(&f.b, theirs, &three), HF_EBUSY);
    assert_int_equal(client_give(&f.a, one), HF_OK);
    assert_int_equal(try_it(&f.b, theirs, &three), HF_OK);
    assert_int_equal(try_it(&f.a, mine, &one), HF_EBUSY);
    assert_int_equal(client_give(&f.b, two), HF_OK);
    one = client_take(&f.a, mine); /* no try has kept the entry mutex */
    assert_int_equal(client_give(&f.b, three), HF_OK);
    assert_int_equal(client_give(&f.a, one), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

TEST_IN_EACH_WAY(all_permits_or_none)
{
    struct hf_lock *mine, *theirs;
    struct hf_grant *one, *two;
    struct outcome outcome;
    FIXTURE(f, way);
    mine = semaphore(&f.a, 1, 3);
    theirs = semaphore(&f.b, 3, 3);
    one = client_take(&f.a, mine);
    two = client_take(&f.a, mine);
    await_tickets(&f.directory, 2); /* without the one of the entry mutex */
    client_acquire(&f.b, theirs, NULL, &outcome);
    await_tickets(&f.directory, 3); /* two leases, and the next one */
    assert_int_equal(client_give(&f.a, one), HF_OK);
    /* One permit is not enough, and nobody takes those that are free. */
    assert_int_equal(try_it(&f.a, mine, &one), HF_EBUSY);
    assert_int_equal(client_give(&f.a, two), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(try_it(&f.a, mine, &one), HF_EBUSY);
    assert_int_equal(client_give(&f.b, outcome.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

/* A try fails, and its text contains ${by}. */
static void refused_by(struct client_fixture *fixture, struct hf_lock *lock,
                       const char *by)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.wait_ms = 0;
    client_acquire(fixture, lock, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_EKIND);
    assert_non_null(strstr(outcome.text, by));
    hf_lock_free(lock);
}

/* The queues of a semaphore have names that a lock may have too, but not at
 * the same time. */
TEST_IN_EACH_WAY(a_lock_may_be_called_as_a_queue_of_a_semaphore)
{
    static const char *const names[] = {"pool/locks", "pool/leases"};
    struct hf_lock *locks[2], *pool;
    struct hf_grant *grants[2], *one;
    struct outcome outcome;
    FIXTURE(f, way);
    for (size_t i = 0; i < 2; i++) {
        locks[i] = lock_of(&f.a, names[i], HF_KIND_MUTEX, 1, 1);
        grants[i] = client_take(&f.a, locks[i]);
        refused_by(&f.b, semaphore(&f.b, 1, 1), names[i]);
        assert_int_equal(client_give(&f.a, grants[i]), HF_OK);
    }
    pool = semaphore(&f.b, 1, 1);
    one = client_take(&f.b, pool);
    grants[0] = client_take(&f.a, locks[0]); /* no ticket is in that queue */
    assert_int_equal(client_give(&f.a, grants[0]), HF_OK);
    client_acquire(&f.b, pool, NULL, &outcome);
    await_tickets(&f.directory, 2); /* a lease, and the next one */
    for (size_t i = 0; i < 2; i++)
        refused_by(&f.a, locks[i], "as a semaphore");
    refused_by(&f.a, lock_of(&f.a, names[0], HF_KIND_READ, 1, 1),
               "as a semaphore");
    assert_int_equal(client_give(&f.b, one), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.b, outcome.grant), HF_OK);
    hf_lock_free(pool);
}

TEST_IN_EACH_WAY(a_wait_for_permits_ends_in_time)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_lock *mine, *theirs, *others; /* a row for each wrong list */
    struct hf_grant *grant;
    struct outcome first, second;
    FIXTURE(f, way);
    mine = semaphore(&f.a, 1, 1);
    theirs = semaphore(&f.b, 1, 1);
    others = semaphore(&f.b, 1, 1);
    grant = client_take(&f.a, mine);
    await_tickets(&f.directory, 1); /* without the one of the entry mutex */
    opts.wait_ms = 300;
    client_acquire(&f.b, theirs, &opts, &first);
    await_tickets(&f.directory, 2);
    client_acquire(&f.b, others, &opts, &second);
    client_await(&first);
    client_await(&second);
    assert_int_equal(first.status, HF_ETIMEDOUT);
    assert_int_equal(second.status, HF_ETIMEDOUT);
    assert_non_null(strstr(first.text, "permits"));
    await_tickets(&f.directory, 1);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    hf_lock_free(others);
}

TEST_IN_EACH_WAY(fn33_a_waiter_uses_the_new_limit)
{
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    struct outcome outcome;
    FIXTURE(f, way);
    mine = semaphore(&f.a, 1, 1);
    theirs = semaphore(&f.b, 1, 1);
    grant = client_take(&f.a, mine);
    await_tickets(&f.directory, 1); /* without the one of the entry mutex */
    client_acquire(&f.b, theirs, NULL, &outcome);
    await_tickets(&f.directory, 2);
    assert_int_equal(hf_lock_set_limit(theirs, 2), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    assert_int_equal(client_give(&f.b, outcome.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

/* It still waits behind another one, and asks for permits only after that. */
TEST_IN_EACH_WAY(a_waiter_at_the_entry_mutex_uses_the_new_limit)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_lock *mine, *theirs, *others;
    struct hf_grant *grant;
    struct outcome first, second;
    FIXTURE(f, way);
    mine = semaphore(&f.a, 1, 1);
    theirs = semaphore(&f.b, 1, 1);
    others = semaphore(&f.b, 1, 1);
    grant = client_take(&f.a, mine);
    await_tickets(&f.directory, 1);
    opts.wait_ms = 300;
    client_acquire(&f.b, theirs, &opts, &first);
    await_tickets(&f.directory, 2);
    client_acquire(&f.b, others, NULL, &second);
    await_tickets(&f.directory, 3);
    assert_int_equal(hf_lock_set_limit(others, 2), HF_OK);
    client_await(&first);
    assert_int_equal(first.status, HF_ETIMEDOUT);
    client_await(&second);
    assert_int_equal(second.status, HF_OK);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
    hf_lock_free(others);
}

/* A child that is not granted yet is acquired with the new limit. */
TEST_IN_EACH_WAY(a_child_that_comes_later_uses_the_new_limit)
{
    struct hf_lock *mine[2], *theirs[2];
    struct hf_grant *grants[2];
    struct outcome outcome;
    FIXTURE(f, way);
    mine[0] = client_open_lock(&f.a, "a"); /* before the semaphore */
    mine[1] = semaphore(&f.a, 1, 1);
    theirs[0] = client_open_lock(&f.b, "a");
    theirs[1] = semaphore(&f.b, 1, 1);
    for (size_t i = 0; i < 2; i++)
        grants[i] = client_take(&f.a, mine[i]);
    client_acquire_all(&f.b, theirs, 2, NULL, &outcome);
    await_tickets(&f.directory, 3);
    assert_int_equal(hf_lock_set_limit(theirs[1], 2), HF_OK);
    assert_int_equal(client_give(&f.a, grants[0]), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.a, grants[1]), HF_OK);
    assert_int_equal(client_give(&f.b, outcome.grant), HF_OK);
    for (size_t i = 0; i < 2; i++) {
        hf_lock_free(mine[i]);
        hf_lock_free(theirs[i]);
    }
}

/* --------------------------------------------------------- several locks -- */

TEST_IN_EACH_WAY(fn63_all_of_them_or_none)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_lock *locks[3], *theirs;
    struct hf_grant *grant;
    struct outcome outcome;
    FIXTURE(f, way);
    locks[0] = lock_of(&f.a, "c", HF_KIND_MUTEX, 1, 1);
    locks[1] = lock_of(&f.a, "a", HF_KIND_WRITE, 1, 1);
    locks[2] = lock_of(&f.a, "b", HF_KIND_SEMAPHORE, 2, 2);
    theirs = lock_of(&f.b, "c", HF_KIND_MUTEX, 1, 1);
    grant = client_take(&f.b, theirs);
    opts.wait_ms = 30;
    client_acquire_all(&f.a, locks, 3, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_ETIMEDOUT);
    await_tickets(&f.directory, 1); /* the others were released */
    client_acquire_all(&f.a, locks, 3, NULL, &outcome);
    await_tickets(&f.directory, 4); /* a, the leases of b, and two for c */
    assert_int_equal(client_give(&f.b, grant), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(hf_grant_token(outcome.grant),
                     hf_grant_token_of(outcome.grant, locks[0]));
    assert_true(hf_grant_token_of(outcome.grant, locks[1]) > 0);
    assert_true(hf_grant_token_of(outcome.grant, locks[2]) > 0);
    assert_int_equal(hf_grant_token_of(outcome.grant, theirs), 0);
    assert_int_equal(hf_grant_check(outcome.grant), HF_OK);
    assert_int_equal(client_give(&f.a, outcome.grant), HF_OK);
    for (int i = 0; i < 3; i++)
        hf_lock_free(locks[i]);
    hf_lock_free(theirs);
}

/* Callers that take several locks, in any order. */
struct multi_lock_cycle {
    struct hf_lock *locks[2];
    size_t count;
};

static void *cycle_main(void *arg)
{
    const struct multi_lock_cycle *lock_cycle = arg;
    struct hf_grant *grant;
    uintptr_t repeats;

    for (repeats = 0; repeats < 200; repeats++) {
        if (hf_locks_acquire(lock_cycle->locks, lock_cycle->count, NULL,
                             &grant) != HF_OK ||
            hf_grant_release(grant) != HF_OK)
            break;
    }
    return (void *)repeats;
}

static void both_cycle(struct multi_lock_cycle *mine,
                       struct multi_lock_cycle *theirs)
{
    pthread_t threads[2];
    void *repeats;

    threads[0] = start_thread(cycle_main, mine);
    threads[1] = start_thread(cycle_main, theirs);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], &repeats), 0);
        assert_int_equal((uintptr_t)repeats, 200);
    }
}

TEST(fn63_opposite_orders_do_not_deadlock)
{
    struct multi_lock_cycle mine = {.count = 2}, theirs = {.count = 2};
    FIXTURE(f, WAY_BLOCKING);
    mine.locks[0] = client_open_lock(&f.a, "left");
    mine.locks[1] = client_open_lock(&f.a, "right");
    theirs.locks[0] = client_open_lock(&f.b, "right");
    theirs.locks[1] = client_open_lock(&f.b, "left");
    both_cycle(&mine, &theirs);
    for (int i = 0; i < 2; i++) {
        hf_lock_free(mine.locks[i]);
        hf_lock_free(theirs.locks[i]);
    }
}

/* If locks were taken one by one, each would hold one and wait for the
 * other. */
TEST(fn62_two_that_take_all_permits_do_not_deadlock)
{
    struct multi_lock_cycle mine = {.count = 1}, theirs = {.count = 1};
    FIXTURE(f, WAY_BLOCKING);
    mine.locks[0] = semaphore(&f.a, 2, 2);
    theirs.locks[0] = semaphore(&f.b, 2, 2);
    both_cycle(&mine, &theirs);
    hf_lock_free(mine.locks[0]);
    hf_lock_free(theirs.locks[0]);
}

static bool is_lost(void *arg)
{
    return hf_grant_check(arg) == HF_ELOST;
}

TEST_IN_EACH_WAY(lost_with_the_first_that_is)
{
    struct hf_lock *locks[2];
    struct outcome outcome;
    int fd;
    FIXTURE(f, way);
    locks[0] = client_open_lock(&f.a, "one");
    locks[1] = client_open_lock(&f.a, "two");
    client_acquire_all(&f.a, locks, 2, NULL, &outcome);
    client_await(&outcome);
    assert_int_equal(hf_grant_hold_fd_of(outcome.grant, locks[1], &fd), HF_OK);
    close(fd);
    client_directory_remove_tickets(&f.directory);
    client_wait_until(&f.a, is_lost, outcome.grant);
    assert_int_equal(hf_grant_safe_until_ms(outcome.grant), 0);
    assert_int_equal(client_give(&f.a, outcome.grant), HF_ELOST);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
}

/* ------------------------------------------------- owners and downgrades -- */

static void on_revoke(void *arg, struct hf_grant *grant)
{
    (void)grant;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool was_asked(void *arg)
{
    return atomic_load((_Atomic int *)arg) > 0;
}

static struct hf_grant *take_asked(struct client_fixture *fixture,
                                   struct hf_lock *const *locks, size_t count,
                                   _Atomic int *expected_request)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    atomic_init(expected_request, 0);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, expected_request, NULL};
    client_acquire_all(fixture, locks, count, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    return outcome.grant;
}

TEST(holders_of_permits_are_listed_and_asked)
{
    const struct hf_ticket_view *view;
    struct hf_tickets *tickets;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    _Atomic int expected_request;
    FIXTURE(f, WAY_BLOCKING);
    mine = semaphore(&f.a, 2, 3);
    theirs = semaphore(&f.b, 1, 3);
    grant = take_asked(&f.a, &mine, 1, &expected_request);
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
    client_wait_until(&f.a, was_asked, &expected_request);
    assert_int_equal(hf_grant_downgrade(grant), HF_ESTATE);
    assert_int_equal(hf_lock_evict(theirs, view->id, NULL, HF_FOREVER), HF_OK);
    client_wait_until(&f.a, is_lost, grant);
    hf_tickets_free(tickets);
    assert_int_equal(client_give(&f.a, grant), HF_ELOST);
    hf_lock_free(mine);
    hf_lock_free(theirs);
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

/* Holders of permits come first in the list; waiters are listed too. */
/* A ticket whose owner is to be asked for a release. */
struct asked_ticket {
    struct hf_lock *lock;
    const char *id;
};

static bool says_asked(void *arg)
{
    struct asked_ticket *expected_request = arg;
    struct hf_tickets *tickets;
    char at[HF_OWNER_VALUE_MAX];
    bool says = false;

    assert_int_equal(hf_lock_tickets(expected_request->lock, HF_TICKETS_ALL,
                                     HF_FOREVER, &tickets),
                     HF_OK);
    for (size_t i = 0; i < hf_tickets_count(tickets); i++) {
        const struct hf_ticket_view *view = hf_tickets_at(tickets, i);

        says |=
            strcmp(view->id, expected_request->id) == 0 &&
            hf_owner_text_get(view->owner, "asked", at, sizeof(at)) == HF_OK;
    }
    hf_tickets_free(tickets);
    return says;
}

TEST(waiters_for_permits_are_listed_and_asked)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    const struct hf_ticket_view *view;
    struct hf_tickets *tickets;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    struct asked_ticket notified;
    struct outcome first, second;
    _Atomic int expected_request = 0;
    FIXTURE(f, WAY_THREAD);
    mine = semaphore(&f.a, 2, 2);
    theirs = semaphore(&f.b, 1, 2);
    assert_int_equal(count_of(theirs, HF_TICKETS_ALL), 0);
    assert_int_equal(count_of(theirs, HF_TICKETS_WAITERS), 0);
    grant = client_take(&f.a, mine);
    await_tickets(&f.directory, 1);
    opts.on_revoke = (struct hf_on_revoke){on_revoke, &expected_request, NULL};
    client_acquire(&f.b, theirs, &opts, &first);
    await_tickets(&f.directory, 2);
    client_acquire(&f.b, theirs, NULL, &second);
    await_tickets(&f.directory, 3);
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
    notified.lock = mine;
    notified.id = view->id;
    client_wait_until(&f.a, says_asked, &notified);
    /* An evicted child notices when the one ahead of it has gone, and goes
     * to the tail. */
    view = hf_tickets_at(tickets, 2);
    assert_int_equal(hf_lock_evict(mine, view->id, NULL, HF_FOREVER), HF_OK);
    assert_int_equal(hf_lock_evict(mine, view->id, NULL, HF_FOREVER), HF_EGONE);
    await_tickets(&f.directory, 2);
    hf_tickets_free(tickets);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    client_await(&first);
    client_await(&second);
    client_wait_until(&f.b, was_asked, &expected_request);
    assert_int_equal(client_give(&f.b, first.grant), HF_OK);
    assert_int_equal(client_give(&f.b, second.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

TEST(a_holder_of_several_is_asked_for_one)
{
    struct hf_lock *locks[2], *theirs;
    struct hf_grant *grant;
    _Atomic int expected_request;
    FIXTURE(f, WAY_BLOCKING);
    locks[0] = client_open_lock(&f.a, "one");
    locks[1] = lock_of(&f.a, "two", HF_KIND_WRITE, 1, 1);
    theirs = client_open_lock(&f.b, "two");
    grant = take_asked(&f.a, locks, 2, &expected_request);
    assert_int_equal(hf_grant_downgrade(grant), HF_ESTATE);
    assert_int_equal(hf_lock_revoke(theirs, NULL, HF_FOREVER), HF_OK);
    client_wait_until(&f.a, was_asked, &expected_request);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    hf_lock_free(theirs);
}

/* ---------------------------------------------------------------- misuse -- */

TEST(wrong_lists_are_refused)
{
    struct hf_lock *locks[2], *theirs, *again;
    struct hf_grant *grant;
    FIXTURE(f, WAY_BLOCKING);
    locks[0] = client_open_lock(&f.a, "one");
    again = client_open_lock(&f.a, "/one");
    theirs = client_open_lock(&f.b, "two");
    assert_int_equal(hf_locks_acquire(locks, 0, NULL, &grant), HF_EINVAL);
    locks[1] = again;
    assert_int_equal(hf_locks_acquire(locks, 2, NULL, &grant), HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "hf_locks_acquire"));
    assert_non_null(strstr(hf_last_error()->text, "\"one\" is given twice"));
    locks[1] = theirs;
    assert_int_equal(hf_locks_acquire(locks, 2, NULL, &grant), HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "another client"));
    assert_null(grant);
    hf_lock_free(locks[0]);
    hf_lock_free(again);
    hf_lock_free(theirs);
}

TEST(as_many_locks_as_there_may_be)
{
    struct hf_lock *locks[HF_LOCKS_MAX + 1];
    struct hf_grant *grant;
    char name[16];
    FIXTURE(f, WAY_BLOCKING);
    for (int i = 0; i <= HF_LOCKS_MAX; i++) {
        snprintf(name, sizeof name, "%d", i);
        locks[i] = client_open_lock(&f.a, name);
    }
    assert_int_equal(hf_locks_acquire(locks, HF_LOCKS_MAX + 1, NULL, &grant),
                     HF_EINVAL);
    assert_int_equal(hf_locks_acquire(locks, HF_LOCKS_MAX, NULL, &grant),
                     HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    for (int i = 0; i <= HF_LOCKS_MAX; i++)
        hf_lock_free(locks[i]);
}

TEST(wrong_permits_are_refused)
{
    static const struct {
        uint32_t permits, limit;
    } rows[] = {{0, 1}, {2, 1}, {HF_PERMITS_MAX + 1, 1000}};
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;
    FIXTURE(f, WAY_BLOCKING);
    opts.kind = HF_KIND_SEMAPHORE;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        opts.permits = rows[i].permits;
        opts.limit = rows[i].limit;
        assert_int_equal(hf_lock_open(f.a.client, "pool", &opts, &lock),
                         HF_EINVAL);
        assert_null(lock);
    }
    lock = semaphore(&f.a, 2, 4);
    assert_int_equal(hf_lock_set_limit(lock, 1), HF_EINVAL);
    assert_int_equal(hf_lock_set_limit(lock, 2), HF_OK);
    hf_lock_free(lock);
    lock = client_open_lock(&f.a, "pool");
    assert_int_equal(hf_lock_set_limit(lock, 2), HF_EINVAL);
    hf_lock_free(lock);
}
