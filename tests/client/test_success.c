/* SPDX-License-Identifier: Apache-2.0 */
/* The success of a lock is read and written, in every way to use a client. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

#define NAME "nightly"

struct success_fixture {
    struct client_directory directory;
    struct client_fixture a;
    struct client_fixture b;
    struct hf_lock *lock;        /* of a */
    struct hf_lock *others_lock; /* of b */
};

static void fixture_open(struct success_fixture *f, enum way way)
{
    hosts_open(&f->directory, &f->a, &f->b, way);
    f->lock = client_open_lock(&f->a, NAME);
    f->others_lock = client_open_lock(&f->b, NAME);
}

static void fixture_close(struct success_fixture *f)
{
    hf_lock_free(f->lock);
    hf_lock_free(f->others_lock);
    hosts_close(&f->directory, &f->a, &f->b);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct success_fixture f;                         \
    fixture_open(&f, way)

/* ------------------------------------------------------------- the calls -- */

enum action { READ, WRITE, LOOK };

/* A call, and what has come of it. */
struct success_record {
    enum action action;
    struct hf_grant *grant;
    struct hf_lock *lock;
    _Atomic int calls;
    _Atomic int drops;
    hf_status status;
    struct hf_success success;
};

static void on_done(void *arg, const struct hf_result *result)
{
    struct success_record *record = arg;

    record->status = result->status;
    record->success = result->success;
    atomic_fetch_add(&record->calls, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct success_record *)arg)->drops, 1);
}

static bool is_notified(void *arg)
{
    return atomic_load(&((struct success_record *)arg)->drops) > 0;
}

static void *blocking_main(void *arg)
{
    struct success_record *record = arg;

    if (record->action == READ)
        record->status =
            hf_grant_last_success(record->grant, HF_FOREVER, &record->success);
    else if (record->action == WRITE)
        record->status = hf_grant_write_success(record->grant, HF_FOREVER);
    else
        record->status =
            hf_lock_last_success(record->lock, HF_FOREVER, &record->success);
    return NULL;
}

static hf_status start(struct success_record *record)
{
    struct hf_done done = {on_done, record, on_drop};

    if (record->action == READ)
        return hf_grant_last_success_start(record->grant, HF_FOREVER, done);
    if (record->action == WRITE)
        return hf_grant_write_success_start(record->grant, HF_FOREVER, done);
    return hf_lock_last_success_start(record->lock, HF_FOREVER, done);
}

/* Make the call and wait for its end. */
static struct success_record run(struct client_fixture *fixture,
                                 enum action action, struct hf_grant *grant,
                                 struct hf_lock *lock)
{
    struct success_record record = {
        .action = action, .grant = grant, .lock = lock};
    hf_status status;

    if (fixture->way == WAY_BLOCKING) {
        run_on_thread(blocking_main, &record);
        return record;
    }
    status = start(&record);
    if (status != HF_OK) {
        assert_int_equal(atomic_load(&record.calls), 0);
        record.status = status;
        return record;
    }
    client_wait_until(fixture, is_notified, &record);
    assert_int_equal(atomic_load(&record.calls), 1);
    return record;
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(what_a_holder_writes_the_next_one_reads)
{
    struct success_record record;
    struct hf_grant *grant;
    uint64_t token;
    FIXTURE(f, way);

    grant = client_take(&f.a, f.lock);
    record = run(&f.a, READ, grant, NULL);
    assert_int_equal(record.status, HF_OK);
    assert_true(record.success.token == 0);
    assert_int_equal(run(&f.a, WRITE, grant, NULL).status, HF_OK);
    token = hf_grant_token(grant);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    record = run(&f.b, LOOK, NULL, f.others_lock);
    assert_int_equal(record.status, HF_OK);
    assert_true(record.success.token == token);
    grant = client_take(&f.b, f.others_lock);
    record = run(&f.b, READ, grant, NULL);
    assert_int_equal(record.status, HF_OK);
    assert_true(record.success.token == token);
    assert_in_range(record.success.age_ms, 0, 60000);
    assert_true(record.success.at_utc_ms > 0);
    assert_int_equal(client_give(&f.b, grant), HF_OK);
}

TEST_IN_EACH_WAY(a_grant_that_is_lost_writes_nothing)
{
    struct success_record record;
    struct hf_grant *grant;
    FIXTURE(f, way);

    grant = client_take(&f.a, f.lock);
    client_directory_remove_tickets(&f.directory);
    record = run(&f.a, WRITE, grant, NULL);
    assert_int_equal(record.status, HF_ELOST);
    assert_int_equal(run(&f.a, READ, grant, NULL).status, HF_ELOST);
    record = run(&f.a, LOOK, NULL, f.lock);
    assert_int_equal(record.status, HF_OK);
    assert_true(record.success.token == 0);
    assert_int_equal(client_give(&f.a, grant), HF_ELOST);
}

TEST_IN_EACH_WAY(only_who_excludes_all_others_has_a_success)
{
    static const enum hf_kind kinds[] = {HF_KIND_READ, HF_KIND_SEMAPHORE};
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    struct hf_grant *grant;
    struct hf_lock *lock;
    char name[16];
    FIXTURE(f, way);

    opts.limit = opts.permits = 1;
    for (size_t i = 0; i < 2; i++) {
        opts.kind = kinds[i];
        (void)snprintf(name, sizeof name, "other-%zu", i);
        assert_int_equal(hf_lock_open(f.a.client, name, &opts, &lock), HF_OK);
        grant = client_take(&f.a, lock);
        assert_int_equal(run(&f.a, READ, grant, NULL).status, HF_ESTATE);
        assert_int_equal(run(&f.a, WRITE, grant, NULL).status, HF_ESTATE);
        assert_int_equal(run(&f.a, LOOK, NULL, lock).status,
                         kinds[i] == HF_KIND_READ ? HF_OK : HF_ESTATE);
        assert_int_equal(client_give(&f.a, grant), HF_OK);
        hf_lock_free(lock);
    }
}

/* Without one the answer would be lost. */
TEST(a_read_needs_a_callback)
{
    struct hf_grant *grant;
    FIXTURE(f, WAY_THREAD);

    grant = client_take(&f.a, f.lock);
    assert_int_equal(
        hf_grant_last_success_start(grant, HF_FOREVER, (struct hf_done){0}),
        HF_EINVAL);
    assert_int_equal(
        hf_lock_last_success_start(f.lock, HF_FOREVER, (struct hf_done){0}),
        HF_EINVAL);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
}
