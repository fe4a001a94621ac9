/* SPDX-License-Identifier: Apache-2.0 */
/* Read and write locks as kinds of hf_lock, in every way to use a client. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

#define NAME "ledger"

/* Two clients, each with a handle of each kind. */
struct readwrite_fixture {
    enum way way;
    struct client_directory directory;
    struct client_fixture hosts[2];
    struct hf_lock *readers[2];
    struct hf_lock *writers[2];
};

static struct hf_lock *lock_for(struct client_fixture *fixture,
                                enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_lock *lock;

    opts.kind = kind;
    assert_int_equal(hf_lock_open(fixture->client, NAME, &opts, &lock), HF_OK);
    return lock;
}

static void fixture_open(struct readwrite_fixture *f, enum way way)
{
    memset(f, 0, sizeof(*f));
    f->way = way;
    hosts_open(&f->directory, &f->hosts[0], &f->hosts[1], way);
    for (int i = 0; i < 2; i++) {
        f->readers[i] = lock_for(&f->hosts[i], HF_KIND_READ);
        f->writers[i] = lock_for(&f->hosts[i], HF_KIND_WRITE);
    }
}

static void fixture_close(struct readwrite_fixture *f)
{
    for (int i = 0; i < 2; i++) {
        hf_lock_free(f->readers[i]);
        hf_lock_free(f->writers[i]);
    }
    hosts_close(&f->directory, &f->hosts[0], &f->hosts[1]);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct readwrite_fixture f;                       \
    fixture_open(&f, way)

/* Start a wait of client ${i}, which is then number ${position} in the
 * queue. */
static void queue_up(struct readwrite_fixture *f, int i, struct hf_lock *lock,
                     const struct hf_acquire_opts *opts, int position,
                     struct outcome *outcome)
{
    client_acquire(&f->hosts[i], lock, opts, outcome);
    client_await_tickets(&f->hosts[i], &f->directory, position);
}

/* The end of a wait of at most ${wait_ms}. */
static hf_status ends(struct readwrite_fixture *f, int i, struct hf_lock *lock,
                      uint64_t wait_ms)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome outcome;

    opts.wait_ms = wait_ms;
    client_acquire(&f->hosts[i], lock, &opts, &outcome);
    client_await(&outcome);
    if (outcome.status == HF_OK)
        assert_int_equal(client_give(&f->hosts[i], outcome.grant), HF_OK);
    else
        assert_true(outcome.text[0] != '\0');
    return outcome.status;
}

static void give(struct readwrite_fixture *f, int i, struct hf_grant *grant)
{
    assert_int_equal(client_give(&f->hosts[i], grant), HF_OK);
}

static struct hf_grant *granted(struct outcome *outcome)
{
    client_await(outcome);
    assert_int_equal(outcome->status, HF_OK);
    return outcome->grant;
}

static bool waits(struct outcome *outcome)
{
    return atomic_load(&outcome->ended) == 0;
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(readers_share)
{
    struct hf_grant *a, *b, *c;
    FIXTURE(f, way);
    a = client_take(&f.hosts[0], f.readers[0]);
    b = client_take(&f.hosts[1], f.readers[1]);
    c = client_take(&f.hosts[0], f.readers[0]);
    assert_true(hf_grant_token(a) < hf_grant_token(b));
    assert_true(hf_grant_token(b) < hf_grant_token(c));
    assert_int_equal(client_directory_count_tickets(&f.directory), 3);
    give(&f, 0, a);
    assert_int_equal(hf_grant_check(b), HF_OK);
    give(&f, 0, c);
    give(&f, 1, b);
}

TEST_IN_EACH_WAY(tries_are_busy_on_both_sides)
{
    struct hf_grant *grant;
    FIXTURE(f, way);
    grant = client_take(&f.hosts[0], f.readers[0]);
    assert_int_equal(ends(&f, 1, f.writers[1], 0), HF_EBUSY);
    assert_int_equal(ends(&f, 1, f.readers[1], 0), HF_OK);
    give(&f, 0, grant);
    grant = client_take(&f.hosts[0], f.writers[0]);
    assert_int_equal(ends(&f, 1, f.writers[1], 0), HF_EBUSY);
    assert_int_equal(ends(&f, 1, f.readers[1], 0), HF_EBUSY);
    /* Not even by its own client: a reader does not become a writer. */
    assert_int_equal(ends(&f, 0, f.readers[0], 0), HF_EBUSY);
    give(&f, 0, grant);
    assert_int_equal(ends(&f, 1, f.writers[1], 0), HF_OK);
}

TEST_IN_EACH_WAY(waits_time_out_on_both_sides)
{
    struct hf_grant *grant;
    FIXTURE(f, way);
    grant = client_take(&f.hosts[0], f.readers[0]);
    assert_int_equal(ends(&f, 1, f.writers[1], 30), HF_ETIMEDOUT);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    give(&f, 0, grant);
    grant = client_take(&f.hosts[0], f.writers[0]);
    assert_int_equal(ends(&f, 1, f.readers[1], 30), HF_ETIMEDOUT);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    give(&f, 0, grant);
}

/* Readers behind a writer that gives up wait for it no longer. */
TEST_IN_EACH_WAY(a_writer_that_gives_up_lets_readers_in)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct outcome writer, reader;
    struct hf_grant *first, *second;
    FIXTURE(f, way);
    first = client_take(&f.hosts[0], f.readers[0]);
    if (way == WAY_BLOCKING)
        opts.wait_ms = 300; /* there is no handle to cancel it by */
    queue_up(&f, 1, f.writers[1], &opts, 2, &writer);
    queue_up(&f, 0, f.readers[0], NULL, 3, &reader);
    assert_true(waits(&reader));
    if (way != WAY_BLOCKING)
        hf_op_cancel(writer.op);
    client_await(&writer);
    assert_int_equal(writer.status,
                     way == WAY_BLOCKING ? HF_ETIMEDOUT : HF_ECANCELLED);
    second = granted(&reader);
    assert_int_equal(hf_grant_check(first), HF_OK);
    give(&f, 0, second);
    give(&f, 0, first);
}

TEST_WITH_CALLBACKS(a_reader_can_be_cancelled)
{
    struct outcome reader, writer;
    struct hf_grant *grant;
    FIXTURE(f, way);
    grant = client_take(&f.hosts[0], f.writers[0]);
    queue_up(&f, 1, f.readers[1], NULL, 2, &reader);
    queue_up(&f, 1, f.writers[1], NULL, 3, &writer);
    hf_op_cancel(reader.op);
    client_await(&reader);
    assert_int_equal(reader.status, HF_ECANCELLED);
    assert_true(waits(&writer));
    give(&f, 0, grant);
    give(&f, 1, granted(&writer));
}

TEST_IN_EACH_WAY(everybody_is_granted)
{
    struct outcome w2, r3, r4, w5, r6;
    struct hf_grant *r1, *three, *four;
    FIXTURE(f, way);
    r1 = client_take(&f.hosts[0], f.readers[0]);
    queue_up(&f, 1, f.writers[1], NULL, 2, &w2);
    queue_up(&f, 0, f.readers[0], NULL, 3, &r3);
    queue_up(&f, 1, f.readers[1], NULL, 4, &r4);
    queue_up(&f, 0, f.writers[0], NULL, 5, &w5);
    queue_up(&f, 1, f.readers[1], NULL, 6, &r6);
    assert_true(waits(&w2) && waits(&r3) && waits(&r4));
    give(&f, 0, r1);
    (void)granted(&w2);
    assert_true(waits(&r3) && waits(&r4) && waits(&w5));
    give(&f, 1, w2.grant);
    three = granted(&r3);
    four = granted(&r4);
    assert_true(waits(&w5) && waits(&r6));
    give(&f, 0, three);
    assert_int_equal(hf_grant_check(four), HF_OK);
    assert_true(waits(&w5));
    give(&f, 1, four);
    (void)granted(&w5);
    assert_true(waits(&r6));
    give(&f, 0, w5.grant);
    give(&f, 1, granted(&r6));
}

/* --------------------------------------------------------------- on_wait -- */

struct wait_record {
    _Atomic int calls;
    uint32_t ahead;
    char holder[1024];
};

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct wait_record *callback_record = arg;

    callback_record->ahead = wait->ahead;
    snprintf(callback_record->holder, sizeof(callback_record->holder), "%s",
             wait->holder);
    atomic_fetch_add(&callback_record->calls, 1);
}

static bool is_notified(void *arg)
{
    return atomic_load(&((struct wait_record *)arg)->calls) > 0;
}

/* All tickets ahead are counted, also those that it need not wait for. */
TEST_IN_EACH_WAY(a_waiter_knows_its_position)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct wait_record writer_record = {0}, reader_record = {0};
    struct outcome writer, reader;
    struct hf_grant *first, *second;
    FIXTURE(f, way);
    first = client_take(&f.hosts[0], f.readers[0]);
    second = client_take(&f.hosts[0], f.readers[0]);
    opts.on_wait = (struct hf_on_wait){on_wait, &writer_record, NULL};
    client_acquire(&f.hosts[1], f.writers[1], &opts, &writer);
    client_wait_until(&f.hosts[1], is_notified, &writer_record);
    assert_int_equal(writer_record.ahead, 2);
    opts.on_wait.arg = &reader_record;
    client_acquire(&f.hosts[1], f.readers[1], &opts, &reader);
    client_wait_until(&f.hosts[1], is_notified, &reader_record);
    assert_int_equal(reader_record.ahead, 3);
    assert_non_null(strstr(reader_record.holder, "pid="));
    give(&f, 0, second);
    give(&f, 0, first);
    give(&f, 1, granted(&writer));
    give(&f, 1, granted(&reader));
}

static void refused(struct readwrite_fixture *f, struct hf_lock *lock,
                    const char *is, const char *wants)
{
    struct outcome outcome;

    client_acquire(&f->hosts[1], lock, NULL, &outcome);
    client_await(&outcome);
    assert_int_equal(outcome.status, HF_EKIND);
    assert_non_null(strstr(outcome.text, is));
    assert_non_null(strstr(outcome.text, wants));
    assert_non_null(strstr(outcome.text, "use another name"));
}

TEST_IN_EACH_WAY(a_mutex_is_another_kind)
{
    struct hf_lock *mutex;
    struct hf_grant *grant;
    FIXTURE(f, way);
    mutex = lock_for(&f.hosts[1], HF_KIND_MUTEX);
    grant = client_take(&f.hosts[0], f.readers[0]);
    refused(&f, mutex, "in use as a read/write lock", "this is a mutex");
    give(&f, 0, grant);
    grant = client_take(&f.hosts[0], f.writers[0]);
    refused(&f, mutex, "in use as a read/write lock", "this is a mutex");
    give(&f, 0, grant);
    grant = client_take(&f.hosts[1], mutex);
    refused(&f, f.readers[1], "in use as a mutex", "this is a read/write lock");
    refused(&f, f.writers[1], "in use as a mutex", "this is a read/write lock");
    give(&f, 1, grant);
    assert_int_equal(ends(&f, 1, f.readers[1], 0), HF_OK);
    hf_lock_free(mutex);
}
