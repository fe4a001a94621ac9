/* SPDX-License-Identifier: Apache-2.0 */
/* detect_deadlock of the options of an acquire, with two clients of the file
 * engine. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "process.h"

#define WAIT_MS 10000
#define OURS 7
#define THEIRS 8

/* Our owner holds "a", theirs holds "b". */
struct deadlock_fixture {
    struct client_directory directory;
    struct client_fixture ours;
    struct client_fixture theirs;
    struct hf_lock *our_a, *our_b, *their_a, *their_b;
    struct hf_grant *a, *b;
};

static struct hf_acquire_opts opts_of(uint64_t owner, bool detect)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.owner = owner;
    opts.detect_deadlock = detect;
    return opts;
}

static struct hf_grant *take(struct hf_lock *lock, uint64_t owner)
{
    struct hf_acquire_opts opts = opts_of(owner, false);
    struct hf_grant *grant;

    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    return grant;
}

static void fixture_open(struct deadlock_fixture *f)
{
    memset(f, 0, sizeof(*f));
    hosts_open(&f->directory, &f->ours, &f->theirs, WAY_THREAD);
    f->our_a = client_open_lock(&f->ours, "a");
    f->our_b = client_open_lock(&f->ours, "b");
    f->their_a = client_open_lock(&f->theirs, "a");
    f->their_b = client_open_lock(&f->theirs, "b");
    f->a = take(f->our_a, OURS);
    f->b = take(f->their_b, THEIRS);
}

static void fixture_close(struct deadlock_fixture *f)
{
    hf_lock_free(f->our_a);
    hf_lock_free(f->our_b);
    hf_lock_free(f->their_a);
    hf_lock_free(f->their_b);
    hosts_close(&f->directory, &f->ours, &f->theirs);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct deadlock_fixture f;                        \
    fixture_open(&f)

/* The word "detect" in the one ticket that waits for ${lock}. */
static hf_status says_detect(struct hf_lock *lock)
{
    struct hf_tickets *tickets;
    hf_status status;
    char text[8];

    assert_int_equal(
        hf_lock_tickets(lock, HF_TICKETS_WAITERS, WAIT_MS, &tickets), HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 1);
    status = hf_owner_text_get(hf_tickets_at(tickets, 0)->owner, "detect", text,
                               sizeof(text));
    hf_tickets_free(tickets);
    return status;
}

/* Both wait for what the other one holds, ours first; each looks for a deadlock
 * or does not.  The one of ${loser} fails, and the other one is granted. */
static void check_opposite(bool ours_detects, bool theirs_detects)
{
    struct hf_acquire_opts opts = opts_of(OURS, ours_detects);
    struct outcome ours, theirs, *loser, *winner;
    struct deadlock_fixture f;

    fixture_open(&f);
    client_acquire(&f.ours, f.our_b, &opts, &ours);
    await_tickets(&f.directory, 3);
    assert_int_equal(says_detect(f.our_b), ours_detects ? HF_OK : HF_EGONE);
    opts = opts_of(THEIRS, theirs_detects);
    client_acquire(&f.theirs, f.their_a, &opts, &theirs);
    loser = theirs_detects ? &theirs : &ours;
    winner = theirs_detects ? &ours : &theirs;
    client_await(loser);
    assert_int_equal(loser->status, HF_EDEADLK);
    assert_null(loser->grant);
    assert_non_null(strstr(loser->text, "waits for \"a\" behind"));
    assert_non_null(strstr(loser->text, "waits for \"b\" behind"));
    assert_int_equal(winner->ended, 0);
    assert_int_equal(client_give(theirs_detects ? &f.theirs : &f.ours,
                                 theirs_detects ? f.b : f.a),
                     HF_OK);
    client_await(winner);
    assert_int_equal(winner->status, HF_OK);
    assert_int_equal(client_give(winner->fixture, winner->grant), HF_OK);
    assert_int_equal(client_give(theirs_detects ? &f.ours : &f.theirs,
                                 theirs_detects ? f.a : f.b),
                     HF_OK);
    fixture_close(&f);
}

TEST(one_of_two_fails)
{
    check_opposite(true, true);
}

TEST(one_that_does_not_look_never_fails)
{
    check_opposite(true, false);
}

TEST(a_cancelled_wait_leaves_nothing)
{
    struct hf_acquire_opts opts = opts_of(OURS, true);
    struct outcome outcome;
    FIXTURE(f);
    client_acquire(&f.ours, f.our_b, &opts, &outcome);
    await_tickets(&f.directory, 3);
    hf_op_cancel(outcome.op);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_ECANCELLED);
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
}

TEST(an_owner_that_holds_nothing_does_not_look)
{
    struct hf_acquire_opts opts = opts_of(OURS + 2, true);
    struct outcome outcome;
    FIXTURE(f);
    client_acquire(&f.ours, f.our_b, &opts, &outcome);
    await_tickets(&f.directory, 3);
    assert_int_equal(says_detect(f.our_b), HF_EGONE);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.ours, outcome.grant), HF_OK);
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
}

/* Without a request, so the grants of both are still there. */
TEST(an_owner_does_not_wait_for_itself)
{
    struct hf_acquire_opts opts = opts_of(OURS, true);
    struct hf_lock_opts semaphore = HF_LOCK_OPTS_INIT;
    struct hf_grant *grant, *permits;
    struct hf_lock *lock;
    FIXTURE(f);
    assert_int_equal(hf_lock_acquire(f.our_a, &opts, &grant), HF_EDEADLK);
    assert_non_null(strstr(hf_last_error()->text, "holds \"a\" already"));
    opts.wait_ms = 0;
    assert_int_equal(hf_lock_acquire(f.our_a, &opts, &grant), HF_EBUSY);
    semaphore.kind = HF_KIND_SEMAPHORE;
    semaphore.limit = 2;
    assert_int_equal(hf_lock_open(f.ours.client, "s", &semaphore, &lock),
                     HF_OK);
    opts.wait_ms = HF_FOREVER;
    assert_int_equal(hf_lock_acquire(lock, &opts, &permits), HF_OK);
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    assert_int_equal(hf_grant_release(permits), HF_OK);
    hf_lock_free(lock);
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
}

/* What it waits for is the second of the locks that it took at once. */
TEST(an_owner_does_not_wait_for_one_of_several)
{
    struct hf_acquire_opts opts = opts_of(OURS, true);
    struct hf_lock *locks[2];
    struct hf_grant *both, *grant;
    FIXTURE(f);
    locks[0] = client_open_lock(&f.ours, "c");
    locks[1] = client_open_lock(&f.ours, "d");
    assert_int_equal(hf_locks_acquire(locks, 2, &opts, &both), HF_OK);
    opts.wait_ms = 1;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(hf_lock_acquire(locks[i], &opts, &grant), HF_EDEADLK);
    assert_int_equal(hf_grant_release(both), HF_OK);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
}

TEST(the_owner_has_to_be_known)
{
    struct hf_acquire_opts opts = opts_of(0, true);
    struct hf_grant *grant;
    FIXTURE(f);
    assert_int_equal(hf_lock_acquire(f.our_b, &opts, &grant), HF_EINVAL);
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
}

/* Theirs holds both permits of "s" and waits for "a". */
TEST(permits_are_held_too)
{
    struct hf_lock_opts semaphore = HF_LOCK_OPTS_INIT;
    struct hf_acquire_opts opts = opts_of(THEIRS, false);
    struct hf_grant *permits;
    struct hf_lock *ours, *theirs;
    struct outcome waits, fails;
    FIXTURE(f);
    semaphore.kind = HF_KIND_SEMAPHORE;
    semaphore.limit = semaphore.permits = 2;
    assert_int_equal(hf_lock_open(f.theirs.client, "s", &semaphore, &theirs),
                     HF_OK);
    semaphore.permits = 1;
    assert_int_equal(hf_lock_open(f.ours.client, "s", &semaphore, &ours),
                     HF_OK);
    permits = take(theirs, THEIRS);
    client_acquire(&f.theirs, f.their_a, &opts, &waits);
    opts = opts_of(OURS, true);
    client_acquire(&f.ours, ours, &opts, &fails);
    client_await(&fails);
    assert_int_equal(fails.status, HF_EDEADLK);
    assert_non_null(strstr(fails.text, "waits for \"s\" behind"));
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
    client_await(&waits);
    assert_int_equal(waits.status, HF_OK);
    assert_int_equal(client_give(&f.theirs, waits.grant), HF_OK);
    assert_int_equal(client_give(&f.theirs, permits), HF_OK);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
    hf_lock_free(ours);
    hf_lock_free(theirs);
}

/* A mutex whose owners usually share tickets. */
TEST(owners_of_a_mutex_queue_by_themselves)
{
    struct hf_mutex_opts mutex_opts = HF_MUTEX_OPTS_INIT;
    struct hf_acquire_opts opts = opts_of(THEIRS, false);
    struct hf_mutex *mutex, *other;
    struct outcome waits;
    FIXTURE(f);
    mutex_opts.detect_deadlock = true;
    assert_int_equal(hf_mutex_open(f.ours.client, "m", &mutex_opts, &other),
                     HF_OK);
    assert_int_equal(hf_mutex_open(f.ours.client, "b", &mutex_opts, &mutex),
                     HF_OK);
    assert_int_equal(hf_mutex_lock(other), HF_OK);
    hf_lock_free(f.their_a);
    f.their_a = client_open_lock(&f.theirs, "m");
    client_acquire(&f.theirs, f.their_a, &opts, &waits);
    assert_int_equal(hf_mutex_lock(mutex), HF_EDEADLK);
    assert_int_equal(hf_mutex_unlock(other), HF_OK);
    client_await(&waits);
    assert_int_equal(waits.status, HF_OK);
    assert_int_equal(client_give(&f.theirs, waits.grant), HF_OK);
    hf_mutex_free(mutex);
    hf_mutex_free(other);
    assert_int_equal(client_give(&f.ours, f.a), HF_OK);
    assert_int_equal(client_give(&f.theirs, f.b), HF_OK);
}
