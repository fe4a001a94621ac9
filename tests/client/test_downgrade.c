/* SPDX-License-Identifier: Apache-2.0 */
/* A write grant becomes a read grant, in every way to use a client. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "in_each_way.h"
#include "process.h"

#define NAME "ledger"

struct downgrade_fixture {
    struct client_directory directory;
    struct client_fixture a;
    struct client_fixture b;
    struct hf_lock *writer; /* of a */
    struct hf_lock *others_reader;
    struct hf_lock *others_writer;
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

static void fixture_open(struct downgrade_fixture *f, enum way way)
{
    hosts_open(&f->directory, &f->a, &f->b, way);
    f->writer = lock_for(&f->a, HF_KIND_WRITE);
    f->others_reader = lock_for(&f->b, HF_KIND_READ);
    f->others_writer = lock_for(&f->b, HF_KIND_WRITE);
}

static void fixture_close(struct downgrade_fixture *f)
{
    hf_lock_free(f->writer);
    hf_lock_free(f->others_reader);
    hf_lock_free(f->others_writer);
    hosts_close(&f->directory, &f->a, &f->b);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct downgrade_fixture f;                       \
    fixture_open(&f, way)

static void queue_up(struct downgrade_fixture *f, struct hf_lock *lock,
                     int position, struct outcome *outcome)
{
    client_acquire(&f->b, lock, NULL, outcome);
    client_await_tickets(&f->b, &f->directory, position);
}

/* ----------------------------------------------------------- the request -- */

struct downgrade_record {
    _Atomic int calls;
    _Atomic int drops;
    hf_status status;
    char text[HF_ERROR_TEXT_BYTES];
    struct hf_grant *grant;
};

static void on_done(void *arg, const struct hf_result *result)
{
    struct downgrade_record *callback_record = arg;

    callback_record->status = result->status;
    callback_record->grant = result->grant;
    snprintf(callback_record->text, sizeof(callback_record->text), "%s",
             result->text);
    atomic_fetch_add(&callback_record->calls, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct downgrade_record *)arg)->drops, 1);
}

static bool is_notified(void *arg)
{
    return atomic_load(&((struct downgrade_record *)arg)->drops) > 0;
}

static struct hf_done done_of(struct downgrade_record *callback_record)
{
    memset(callback_record, 0, sizeof(*callback_record));
    return (struct hf_done){on_done, callback_record, on_drop};
}

static void *downgrade_main(void *arg)
{
    struct downgrade_record *callback_record = arg;

    callback_record->status = hf_grant_downgrade(callback_record->grant);
    return NULL;
}

static hf_status downgrade(struct client_fixture *fixture,
                           struct hf_grant *grant)
{
    struct downgrade_record callback_record = {.grant = grant};

    if (fixture->way == WAY_BLOCKING) {
        run_on_thread(downgrade_main, &callback_record);
        return callback_record.status;
    }
    if (fixture->way == WAY_UV)
        assert_int_equal(hf_grant_downgrade(grant), HF_EREENTRANT);
    assert_int_equal(hf_grant_downgrade_start(grant, done_of(&callback_record)),
                     HF_OK);
    client_wait_until(fixture, is_notified, &callback_record);
    assert_int_equal(atomic_load(&callback_record.calls), 1);
    assert_null(callback_record.grant);
    return callback_record.status;
}

/* ---------------------------------------------------------------------- */

TEST_IN_EACH_WAY(readers_enter_and_writers_wait)
{
    struct outcome reader, writer;
    struct hf_grant *grant;
    uint64_t token;
    FIXTURE(f, way);
    grant = client_take(&f.a, f.writer);
    token = hf_grant_token(grant);
    queue_up(&f, f.others_reader, 2, &reader);
    queue_up(&f, f.others_writer, 3, &writer);
    assert_int_equal(downgrade(&f.a, grant), HF_OK);
    client_await(&reader);
    assert_int_equal(reader.status, HF_OK);
    assert_true(hf_grant_token(grant) == token);
    assert_true(hf_grant_token(reader.grant) > token);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 3);
    assert_int_equal(client_give(&f.b, reader.grant), HF_OK);
    assert_int_equal(atomic_load(&writer.ended), 0);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    client_await(&writer);
    assert_int_equal(writer.status, HF_OK);
    assert_int_equal(client_give(&f.b, writer.grant), HF_OK);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    if (wait->ahead == 1)
        atomic_fetch_add((_Atomic int *)arg, 1);
}

static bool is_notified_again(void *arg)
{
    return atomic_exchange((_Atomic int *)arg, 0) > 0;
}

/* A reader that waits for the write ticket is notified of its end, and finds
 * a read ticket. */
TEST_IN_EACH_WAY(a_writer_right_behind_goes_on_waiting)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    _Atomic int looks = 0;
    struct outcome writer;
    struct hf_grant *grant;
    FIXTURE(f, way);
    grant = client_take(&f.a, f.writer);
    opts.on_wait = (struct hf_on_wait){on_wait, &looks, NULL};
    client_acquire(&f.b, f.others_writer, &opts, &writer);
    client_wait_until(&f.b, is_notified_again, &looks);
    assert_int_equal(downgrade(&f.a, grant), HF_OK);
    client_wait_until(&f.b, is_notified_again, &looks);
    assert_int_equal(atomic_load(&writer.ended), 0);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 2);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
    client_await(&writer);
    assert_int_equal(writer.status, HF_OK);
    assert_int_equal(client_give(&f.b, writer.grant), HF_OK);
}

TEST_IN_EACH_WAY(only_a_writer_can_be_downgraded)
{
    struct downgrade_record callback_record;
    struct hf_grant *grant;
    hf_status status;
    FIXTURE(f, way);
    grant = client_take(&f.b, f.others_reader);
    status = hf_grant_downgrade_start(grant, done_of(&callback_record));
    assert_int_equal(status, HF_ESTATE);
    assert_int_equal(atomic_load(&callback_record.drops), 1);
    assert_int_equal(atomic_load(&callback_record.calls), 0);
    assert_non_null(strstr(hf_last_error()->text, "grant of a reader"));
    assert_int_equal(client_give(&f.b, grant), HF_OK);
    grant = client_take(&f.a, f.writer);
    assert_int_equal(downgrade(&f.a, grant), HF_OK);
    if (way != WAY_UV)
        assert_int_equal(hf_grant_downgrade(grant), HF_ESTATE);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
}

/* A copy of the write ticket's descriptor would hold nothing. */
TEST_IN_EACH_WAY(not_after_its_descriptor_was_given_out)
{
    struct hf_grant *grant;
    int fd;
    FIXTURE(f, way);
    grant = client_take(&f.a, f.writer);
    assert_int_equal(hf_grant_hold_fd(grant, &fd), HF_OK);
    assert_int_equal(downgrade(&f.a, grant), HF_ESTATE);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(close(fd), 0);
    assert_int_equal(client_give(&f.a, grant), HF_OK);
}

TEST_IN_EACH_WAY(a_lost_grant_is_lost)
{
    struct hf_grant *grant;
    struct downgrade_record callback_record;
    hf_status status;
    FIXTURE(f, way);
    grant = client_take(&f.a, f.writer);
    client_directory_remove_tickets(&f.directory);
    status = hf_grant_downgrade_start(grant, done_of(&callback_record));
    if (status == HF_OK) { /* the request itself notices */
        client_wait_until(&f.a, is_notified, &callback_record);
        status = callback_record.status;
    }
    assert_int_equal(status, HF_ELOST);
    assert_int_equal(hf_grant_downgrade_start(grant, done_of(&callback_record)),
                     HF_ELOST);
    assert_int_equal(atomic_load(&callback_record.drops), 1);
    assert_int_equal(client_give(&f.a, grant), HF_ELOST);
}

/* Somebody deletes the read ticket, and its owner is notified. */
TEST_IN_EACH_WAY(a_later_loss_is_notified)
{
    struct hf_grant *grant;
    FIXTURE(f, way);
    grant = client_take(&f.a, f.writer);
    assert_int_equal(downgrade(&f.a, grant), HF_OK);
    assert_int_equal(client_directory_count_tickets(&f.directory), 1);
    client_directory_remove_tickets(&f.directory);
    assert_int_equal(client_give(&f.a, grant), HF_ELOST);
}
