/* SPDX-License-Identifier: Apache-2.0 */
/* What the ticket of a waiting owner says about the other locks that the
 * owner holds, and about the limit of its semaphore (holds= and limit= in
 * the owner text). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "process.h"

#define WAIT_MS 10000
#define OWNER 7

/* Two clients in one directory: ours, which waits, and another. */
struct holdings_fixture {
    struct client_directory directory;
    struct client_fixture ours;
    struct client_fixture theirs;
    struct hf_lock *a, *b, *wanted; /* of ours */
    struct hf_lock *busy;           /* their "wanted", which they hold */
    struct hf_grant *busy_grant;
};

static void fixture_open(struct holdings_fixture *f)
{
    memset(f, 0, sizeof(*f));
    hosts_open(&f->directory, &f->ours, &f->theirs, WAY_THREAD);
    f->a = client_open_lock(&f->ours, "a");
    f->b = client_open_lock(&f->ours, "dir/b:,");
    f->wanted = client_open_lock(&f->ours, "wanted");
    f->busy = client_open_lock(&f->theirs, "wanted");
    f->busy_grant = client_take(&f->theirs, f->busy);
}

static void fixture_close(struct holdings_fixture *f)
{
    hf_lock_free(f->a);
    hf_lock_free(f->b);
    hf_lock_free(f->wanted);
    hf_lock_free(f->busy);
    hosts_close(&f->directory, &f->ours, &f->theirs);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f)                                                             \
    CLOSED_BY(fixture_close) struct holdings_fixture f;                        \
    fixture_open(&f)

static struct hf_grant *take(struct hf_lock *lock, uint64_t owner)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;

    opts.owner = owner;
    assert_int_equal(hf_lock_acquire(lock, &opts, &grant), HF_OK);
    return grant;
}

/* The text behind holds= of the one ticket that waits for ${lock}. */
static hf_status holds_of(struct hf_lock *lock, char *holds, size_t bytes)
{
    struct hf_tickets *tickets;
    hf_status status;

    assert_int_equal(
        hf_lock_tickets(lock, HF_TICKETS_WAITERS, WAIT_MS, &tickets), HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 1);
    status = hf_owner_text_get(hf_tickets_at(tickets, 0)->owner, "holds", holds,
                               bytes);
    hf_tickets_free(tickets);
    return status;
}

/* Add ${name} and the id of the ticket that holds ${lock} to ${expected}. */
static void expect(char *expected, size_t bytes, struct hf_lock *lock,
                   const char *name)
{
    size_t length = strlen(expected);
    struct hf_tickets *tickets;

    assert_int_equal(
        hf_lock_tickets(lock, HF_TICKETS_HOLDERS, WAIT_MS, &tickets), HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 1);
    (void)snprintf(expected + length, bytes - length, "%s%s:%.8s",
                   length == 0 ? "" : ",", name, hf_tickets_at(tickets, 0)->id);
    hf_tickets_free(tickets);
}

/* An acquire of ${locks} for ${owner} waits: there are ${tickets} tickets
 * then, and the one in "wanted" has holds= with ${expected}, or none if that
 * is "". */
static void assert_says(struct holdings_fixture *f,
                        struct hf_lock *const *locks, size_t count,
                        uint64_t owner, int tickets, const char *expected)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    char holds[HF_OWNER_VALUE_MAX];
    struct outcome outcome;

    opts.owner = owner;
    client_acquire_all(&f->ours, locks, count, &opts, &outcome);
    await_tickets(&f->directory, tickets);
    assert_int_equal(holds_of(f->busy, holds, sizeof(holds)),
                     expected[0] != '\0' ? HF_OK : HF_EGONE);
    assert_string_equal(holds, expected);
    hf_op_cancel(outcome.op);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_ECANCELLED);
    await_tickets(&f->directory, tickets - (int)count);
}

TEST(a_waiter_says_what_its_owner_holds)
{
    struct hf_grant *a, *b;
    char expected[HF_OWNER_VALUE_MAX] = "", only_a[HF_OWNER_VALUE_MAX] = "";
    FIXTURE(f);
    assert_says(&f, &f.wanted, 1, OWNER, 2, "");
    a = take(f.a, OWNER);
    b = take(f.b, OWNER);
    expect(expected, sizeof(expected), f.b, "dir%2Fb%3A%2C");
    expect(expected, sizeof(expected), f.a, "a");
    assert_says(&f, &f.wanted, 1, OWNER, 4, expected);
    /* Nobody else holds it, so nothing is said about an unknown owner. */
    assert_says(&f, &f.wanted, 1, OWNER + 1, 4, "");
    assert_says(&f, &f.wanted, 1, 0, 4, "");
    assert_int_equal(hf_grant_release(b), HF_OK);
    expect(only_a, sizeof(only_a), f.a, "a");
    assert_says(&f, &f.wanted, 1, OWNER, 3, only_a);
    assert_int_equal(hf_grant_release(a), HF_OK);
    assert_says(&f, &f.wanted, 1, OWNER, 2, "");
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
}

static void evict_holder(struct hf_lock *lock)
{
    struct hf_tickets *tickets;

    assert_int_equal(
        hf_lock_tickets(lock, HF_TICKETS_HOLDERS, WAIT_MS, &tickets), HF_OK);
    assert_int_equal(hf_tickets_count(tickets), 1);
    assert_int_equal(
        hf_lock_evict(lock, hf_tickets_at(tickets, 0)->id, NULL, WAIT_MS),
        HF_OK);
    hf_tickets_free(tickets);
}

static bool is_lost(void *arg)
{
    return hf_grant_check(arg) == HF_ELOST;
}

TEST(a_lost_lock_is_not_held)
{
    struct hf_grant *a;
    FIXTURE(f);
    a = take(f.a, OWNER);
    evict_holder(f.a);
    wait_until(is_lost, a);
    assert_says(&f, &f.wanted, 1, OWNER, 2, "");
    (void)!hf_grant_release(a);
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
}

/* The locks of one acquire that it has already count as held. */
TEST(of_several_locks_the_first_are_held)
{
    struct hf_lock *both[2];
    char expected[HF_OWNER_VALUE_MAX] = "";
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    char holds[HF_OWNER_VALUE_MAX];
    struct outcome outcome;
    FIXTURE(f);
    both[0] = f.wanted;
    both[1] = f.a;
    opts.owner = OWNER;
    client_acquire_all(&f.ours, both, 2, &opts, &outcome);
    await_tickets(&f.directory, 3);
    expect(expected, sizeof(expected), f.a, "a");
    assert_int_equal(holds_of(f.busy, holds, sizeof(holds)), HF_OK);
    assert_string_equal(holds, expected);
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.ours, outcome.grant), HF_OK);
}

/* A thread that holds ${held} and waits for "wanted". */
struct other_owner {
    struct hf_mutex *held, *wanted;
    hf_status locked, waited;
};

static void *locker_main(void *arg)
{
    struct other_owner *other_owner = arg;

    other_owner->locked = hf_mutex_lock(other_owner->held);
    other_owner->waited = hf_mutex_lock(other_owner->wanted);
    if (other_owner->waited == HF_OK)
        (void)!hf_mutex_unlock(other_owner->wanted);
    (void)!hf_mutex_unlock(other_owner->held);
    return NULL;
}

/* A ticket that threads share says nothing, because it is not one owner's. */
static void a_thread_that_waits_says_it(uint32_t handoffs, bool says)
{
    struct holdings_fixture f;
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    char expected[HF_OWNER_VALUE_MAX] = "", holds[HF_OWNER_VALUE_MAX];
    struct other_owner other_owner;
    pthread_t thread;

    fixture_open(&f);
    assert_int_equal(hf_mutex_open(f.ours.client, "a", NULL, &other_owner.held),
                     HF_OK);
    opts.handoffs = handoffs;
    assert_int_equal(
        hf_mutex_open(f.ours.client, "wanted", &opts, &other_owner.wanted),
        HF_OK);
    thread = start_thread(locker_main, &other_owner);
    await_tickets(&f.directory, 3);
    expect(expected, sizeof(expected), f.a, "a");
    assert_int_equal(holds_of(f.busy, holds, sizeof(holds)),
                     says ? HF_OK : HF_EGONE);
    assert_string_equal(holds, says ? expected : "");
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(other_owner.locked, HF_OK);
    assert_int_equal(other_owner.waited, HF_OK);
    hf_mutex_free(other_owner.held);
    hf_mutex_free(other_owner.wanted);
    fixture_close(&f);
}

TEST(a_thread_with_its_own_ticket_says_it)
{
    a_thread_that_waits_says_it(0, true);
}

TEST(a_shared_ticket_does_not_say_it)
{
    a_thread_that_waits_says_it(HF_MUTEX_HANDOFFS, false);
}

/* ---------------------------------------------------------------- limits -- */

/* Counts warnings that "the limits of" something differ. */
static void on_log(void *arg, enum hf_log_level level, const char *line)
{
    _Atomic int *warnings = arg;

    (void)level;
    if (strstr(line, "the limits of \"pool\" differ: 2 here, 1 at a ticket "
                     "ahead") != NULL)
        atomic_fetch_add(warnings, 1);
}

static struct hf_lock *pool(struct hf_client *client, uint32_t permits,
                            uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = HF_KIND_SEMAPHORE;
    opts.permits = permits;
    opts.limit = limit;
    assert_int_equal(hf_lock_open(client, "pool", &opts, &lock), HF_OK);
    return lock;
}

static struct hf_client *open_logging(const struct client_directory *directory,
                                      _Atomic int *warnings)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;

    opts.on_log = (struct hf_on_log){on_log, (void *)warnings, HF_LOG_WARNING};
    assert_int_equal(hf_client_open(directory->url, &opts, &client), HF_OK);
    return client;
}

/* Two of two permits are wanted, and one is held through a handle with a
 * limit of one. */
TEST(handles_with_two_limits_are_notified)
{
    _Atomic int warnings = 0;
    struct hf_client *client;
    struct hf_lock *theirs, *ours;
    struct hf_grant *held, *grant;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    FIXTURE(f);
    client = open_logging(&f.directory, &warnings);
    theirs = pool(f.theirs.client, 1, 1);
    ours = pool(client, 2, 2);
    held = client_take(&f.theirs, theirs);
    for (int attempt = 0; attempt < 2; attempt++) {
        opts.wait_ms = attempt == 0 ? 0 : 1;
        assert_int_equal(hf_lock_acquire(ours, &opts, &grant),
                         attempt == 0 ? HF_EBUSY : HF_ETIMEDOUT);
        assert_non_null(strstr(hf_last_error()->text,
                               "the limits of \"pool\" differ (2 "
                               "here, 1 at a ticket ahead"));
    }
    /* A program may change its own limits. */
    assert_int_equal(hf_lock_set_limit(ours, 2), HF_OK);
    assert_int_equal(hf_lock_acquire(ours, &opts, &grant), HF_ETIMEDOUT);
    assert_null(strstr(hf_last_error()->text, "limits"));
    assert_int_equal(hf_grant_release(held), HF_OK);
    hf_lock_free(theirs);
    hf_lock_free(ours);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(atomic_load(&warnings), 1); /* once a handle */
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
}

/* The handle with the higher limit gets its permits at once, although the
 * other one expects to be alone. */
TEST(a_handle_that_need_not_wait_is_notified)
{
    _Atomic int warnings = 0;
    struct hf_client *client;
    struct hf_lock *theirs, *ours;
    struct hf_grant *held, *grant;
    FIXTURE(f);
    client = open_logging(&f.directory, &warnings);
    theirs = pool(f.theirs.client, 1, 1);
    ours = pool(client, 1, 2);
    held = client_take(&f.theirs, theirs);
    assert_int_equal(hf_lock_acquire(ours, NULL, &grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    assert_int_equal(hf_grant_release(held), HF_OK);
    hf_lock_free(theirs);
    hf_lock_free(ours);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(atomic_load(&warnings), 1);
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
}

TEST(those_at_the_entry_mutex_are_notified_too)
{
    struct hf_lock *full, *first, *second;
    struct hf_grant *held, *grant;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;
    FIXTURE(f);
    full = pool(f.theirs.client, 1, 1);
    first = pool(f.theirs.client, 1, 1);
    second = pool(f.ours.client, 1, 3);
    held = client_take(&f.theirs, full);
    client_acquire(&f.theirs, first, NULL, &outcome);
    await_tickets(&f.directory, 3); /* it has the entry mutex, and waits */
    opts.wait_ms = 0;
    assert_int_equal(hf_lock_acquire(second, &opts, &grant), HF_EBUSY);
    assert_non_null(
        strstr(hf_last_error()->text, "(3 here, 1 at a ticket ahead"));
    assert_int_equal(hf_grant_release(held), HF_OK);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.theirs, outcome.grant), HF_OK);
    hf_lock_free(full);
    hf_lock_free(first);
    hf_lock_free(second);
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
}

/* What the one waiter for .lock is to say: holds=, and whether its release was
 * asked for. */
struct expected_text {
    struct hf_lock *lock;
    char holds[HF_OWNER_VALUE_MAX];
    bool asked;
};

static bool is_said(void *arg)
{
    const struct expected_text *expected = arg;
    char holds[HF_OWNER_VALUE_MAX], at[HF_OWNER_VALUE_MAX];
    struct hf_tickets *tickets;
    bool is_so = false;

    assert_int_equal(
        hf_lock_tickets(expected->lock, HF_TICKETS_WAITERS, WAIT_MS, &tickets),
        HF_OK);
    if (hf_tickets_count(tickets) == 1) {
        const char *owner = hf_tickets_at(tickets, 0)->owner;

        is_so =
            hf_owner_text_get(owner, "holds", holds, sizeof holds) == HF_OK &&
            strcmp(holds, expected->holds) == 0 &&
            (hf_owner_text_get(owner, "asked", at, sizeof at) == HF_OK) ==
                expected->asked;
    }
    hf_tickets_free(tickets);
    return is_so;
}

/* It has the entry mutex, and waits for permits.  Its text is written again
 * because somebody asks for a release. */
TEST(what_waits_for_permits_goes_on_saying_it)
{
    struct hf_lock *full, *ours;
    struct hf_grant *held, *a;
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_tickets *tickets;
    struct outcome outcome;
    struct expected_text expected = {0};
    FIXTURE(f);
    full = pool(f.theirs.client, 1, 1);
    ours = pool(f.ours.client, 1, 1);
    expected.lock = full;
    held = client_take(&f.theirs, full);
    a = take(f.a, OWNER);
    expect(expected.holds, sizeof(expected.holds), f.a, "a");
    opts.owner = OWNER;
    client_acquire(&f.ours, ours, &opts, &outcome);
    wait_until(is_said, &expected);
    assert_int_equal(
        hf_lock_tickets(full, HF_TICKETS_WAITERS, WAIT_MS, &tickets), HF_OK);
    assert_int_equal(
        hf_lock_revoke(full, hf_tickets_at(tickets, 0)->id, WAIT_MS), HF_OK);
    hf_tickets_free(tickets);
    expected.asked = true;
    wait_until(is_said, &expected);
    hf_op_cancel(outcome.op);
    client_await(&outcome);
    assert_int_equal(hf_grant_release(a), HF_OK);
    assert_int_equal(hf_grant_release(held), HF_OK);
    hf_lock_free(full);
    hf_lock_free(ours);
    assert_int_equal(hf_grant_release(f.busy_grant), HF_OK);
}
