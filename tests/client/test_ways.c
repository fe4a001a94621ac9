/* SPDX-License-Identifier: Apache-2.0 */
/* What every way to use a client must do: the basic cases of a lock, each
 * run in all ways. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

struct two_hosts_fixture {
    enum way way;
    struct client_directory directory;
    struct client_fixture a;
    struct client_fixture b;
};

static void fixture_open(struct two_hosts_fixture *f, enum way way)
{
    memset(f, 0, sizeof(*f));
    f->way = way;
    hosts_open(&f->directory, &f->a, &f->b, way);
}

static void fixture_close(struct two_hosts_fixture *f)
{
    hosts_close(&f->directory, &f->a, &f->b);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct two_hosts_fixture f;                       \
    fixture_open(&f, way)

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(tokens_rise)
{
    struct hf_lock *lock;
    uint64_t last = 0;
    int i;
    FIXTURE(f, way);
    lock = client_open_lock(&f.a, "nightly");
    for (i = 0; i < 20; i++) {
        struct hf_grant *grant = client_take(&f.a, lock);

        assert_true(hf_grant_token(grant) > last);
        last = hf_grant_token(grant);
        assert_true(hf_grant_safe_until_ms(grant) == HF_FOREVER);
        assert_int_equal(hf_grant_check(grant), HF_OK);
        assert_int_equal(client_give(&f.a, grant), HF_OK);
    }
    hf_lock_free(lock);
}

TEST_IN_EACH_WAY(try_is_busy)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    FIXTURE(f, way);
    mine = client_open_lock(&f.a, "nightly");
    theirs = client_open_lock(&f.b, "/nightly");
    assert_string_equal(hf_lock_name(theirs), "nightly");
    grant = client_take(&f.a, mine);
    opts.wait_ms = 0;
    client_acquire(&f.b, theirs, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_EBUSY);
    assert_null(outcome.grant);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    client_acquire(&f.b, theirs, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(client_give(&f.b, outcome.grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

TEST_IN_EACH_WAY(a_wait_times_out)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    FIXTURE(f, way);
    mine = client_open_lock(&f.a, "nightly");
    theirs = client_open_lock(&f.b, "nightly");
    grant = client_take(&f.a, mine);
    opts.wait_ms = 30;
    client_acquire(&f.b, theirs, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_ETIMEDOUT);
    assert_true(outcome.text[0] != '\0');
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

TEST_IN_EACH_WAY(waiters_are_served_in_order)
{
    enum { WAITERS = 8 };
    struct outcome outcomes[WAITERS];
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    uint64_t last;
    int i;
    FIXTURE(f, way);
    mine = client_open_lock(&f.a, "nightly");
    theirs = client_open_lock(&f.b, "nightly");
    grant = client_take(&f.a, mine);
    last = hf_grant_token(grant);
    for (i = 0; i < WAITERS; i++) {
        client_acquire(&f.b, theirs, NULL, &outcomes[i]);
        client_await_tickets(&f.b, &f.directory, i + 2);
    }
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    for (i = 0; i < WAITERS; i++) {
        client_await(&outcomes[i]);
        assert_int_equal(outcomes[i].status, HF_OK);
        assert_true(hf_grant_token(outcomes[i].grant) > last);
        last = hf_grant_token(outcomes[i].grant);
        if (i + 1 < WAITERS)
            assert_int_equal(atomic_load(&outcomes[i + 1].ended), 0);
        assert_int_equal(client_give(&f.b, outcomes[i].grant), HF_OK);
    }
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

TEST_WITH_CALLBACKS(a_cancel_ends_a_wait)
{
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    FIXTURE(f, way);
    mine = client_open_lock(&f.a, "nightly");
    theirs = client_open_lock(&f.b, "nightly");
    grant = client_take(&f.a, mine);
    client_acquire(&f.b, theirs, NULL, &outcome);
    client_await_tickets(&f.b, &f.directory, 2);
    hf_op_cancel(outcome.op);
    hf_op_cancel(outcome.op);
    if (way != WAY_THREAD) /* where the callback may have run by now */
        assert_int_equal(atomic_load(&outcome.ended), 0);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_ECANCELLED);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

TEST_WITH_CALLBACKS(a_late_cancel_changes_nothing)
{
    struct outcome outcome;
    struct hf_lock *lock;
    struct hf_op *op;
    FIXTURE(f, way);
    lock = client_open_lock(&f.a, "nightly");
    client_acquire(&f.a, lock, NULL, &outcome);
    op = outcome.op;
    outcome.op = NULL;
    hf_op_cancel(op); /* the file engine has granted it by now */
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    hf_op_cancel(op);
    assert_int_equal(hf_grant_check(outcome.grant), HF_OK);
    assert_int_equal(client_give(&f.a, outcome.grant), HF_OK);
    hf_op_cancel(op);
    hf_op_free(op);
    hf_lock_free(lock);
}

struct lock_record {
    _Atomic int calls;
    _Atomic int drops;
    uint32_t ahead;
    char holder[1024];
    struct hf_grant *grant;
};

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct lock_record *callback_record = arg;

    callback_record->ahead = wait->ahead;
    snprintf(callback_record->holder, sizeof(callback_record->holder), "%s",
             wait->holder);
    atomic_fetch_add(&callback_record->calls, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct lock_record *)arg)->drops, 1);
}

static bool is_notified(void *arg)
{
    return atomic_load(&((struct lock_record *)arg)->calls) > 0;
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct lock_record *)arg)->drops) > 0;
}

TEST_IN_EACH_WAY(a_waiter_knows_the_holder)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct lock_record callback_record = {0};
    struct outcome outcome;
    struct hf_lock *mine, *theirs;
    struct hf_grant *grant;
    char pid[32];
    FIXTURE(f, way);
    mine = client_open_lock(&f.a, "nightly");
    theirs = client_open_lock(&f.b, "nightly");
    grant = client_take(&f.a, mine);
    opts.on_wait = (struct hf_on_wait){on_wait, &callback_record, on_drop};
    client_acquire(&f.b, theirs, &opts, &outcome);
    client_wait_until(&f.b, is_notified, &callback_record);
    assert_int_equal(callback_record.ahead, 1);
    snprintf(pid, sizeof(pid), "pid=%ld ", (long)getpid());
    assert_non_null(strstr(callback_record.holder, pid));
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    client_await(&outcome);
    assert_int_equal(atomic_load(&callback_record.drops), 0);
    assert_int_equal(client_give(&f.b, outcome.grant), HF_OK);
    client_wait_until(&f.b, is_dropped, &callback_record);
    assert_int_equal(atomic_load(&callback_record.drops), 1);
    hf_lock_free(mine);
    hf_lock_free(theirs);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct lock_record *callback_record = arg;

    callback_record->grant = grant;
    atomic_fetch_add(&callback_record->calls, 1);
}

TEST_IN_EACH_WAY(a_holder_is_notified_of_its_loss)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct lock_record callback_record = {0};
    struct outcome outcome;
    struct hf_lock *lock;
    struct pollfd loss = {.events = POLLIN};
    FIXTURE(f, way);
    lock = client_open_lock(&f.a, "nightly");
    opts.on_loss = (struct hf_on_loss){on_loss, &callback_record, on_drop};
    client_acquire(&f.a, lock, &opts, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_OK);
    assert_int_equal(hf_grant_loss_fd(outcome.grant, &loss.fd), HF_OK);
    assert_int_equal(poll(&loss, 1, 0), 0);
    client_directory_remove_tickets(&f.directory);
    client_wait_until(&f.a, is_notified, &callback_record);
    assert_ptr_equal(callback_record.grant, outcome.grant);
    assert_int_equal(poll(&loss, 1, 0), 1);
    assert_true(hf_grant_safe_until_ms(outcome.grant) == 0);
    assert_int_equal(hf_grant_check(outcome.grant), HF_ELOST);
    assert_int_equal(client_give(&f.a, outcome.grant), HF_ELOST);
    client_wait_until(&f.a, is_dropped, &callback_record);
    assert_int_equal(atomic_load(&callback_record.calls), 1);
    hf_lock_free(lock);
}

TEST_IN_EACH_WAY(a_loss_without_callback_shows_at_release)
{
    struct hf_lock *lock;
    struct hf_grant *grant;
    FIXTURE(f, way);
    lock = client_open_lock(&f.a, "nightly");
    grant = client_take(&f.a, lock);
    client_directory_remove_tickets(&f.directory);
    assert_int_equal(client_give(&f.a, grant), HF_ELOST);
    hf_lock_free(lock);
}

static void on_state(void *arg, enum hf_state state)
{
    char *states = arg;

    strcat(states, hf_state_name(state));
    strcat(states, " ");
}

TEST_IN_EACH_WAY(close_notifies_everyone)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct lock_record callback_record = {0};
    char states[256] = "";
    struct client_directory directory;
    struct client_fixture fixture;
    struct outcome holder, waiter;
    struct hf_lock *lock;

    client_directory_create(&directory);
    client_open(&fixture, way, directory.url,
                (struct hf_on_state){on_state, states, NULL});
    lock = client_open_lock(&fixture, "nightly");
    opts.on_loss = (struct hf_on_loss){on_loss, &callback_record, on_drop};
    client_acquire(&fixture, lock, &opts, &holder);
    client_await(&holder);
    client_acquire(&fixture, lock, NULL, &waiter);
    client_await_tickets(&fixture, &directory, 2);
    client_close(&fixture);
    assert_int_equal(atomic_load(&callback_record.calls), 1);
    /* A slow listener may miss the first state. */
    if (strcmp(states, "CLOSED ") != 0)
        assert_string_equal(states, "CONNECTED CLOSED ");
    if (way == WAY_BLOCKING)
        pthread_join(waiter.thread, NULL);
    assert_int_equal(atomic_load(&waiter.ended), 1);
    assert_int_equal(waiter.status, HF_ECLOSED);
    assert_int_equal(client_directory_count_tickets(&directory), 0);
    hf_op_free(waiter.op);
    assert_int_equal(hf_grant_check(holder.grant), HF_ELOST);
    assert_int_equal(hf_grant_release(holder.grant), HF_ELOST);
    assert_int_equal(atomic_load(&callback_record.drops), 1);
    hf_lock_free(lock);
    client_directory_remove(&directory);
}
