/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, in each way to use a client (src/client/barrier.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_operation.h"
#include "cmocka/runner.h"
#include "in_each_way.h"

#define WAIT_MS 10000

struct barrier_fixture {
    struct client_directory directory;
    struct client_fixture a;
    struct client_fixture b;
    struct hf_barrier *mine;
    struct hf_barrier *theirs;
};

static struct hf_barrier *barrier_of(struct hf_client *client)
{
    struct hf_barrier *barrier;

    assert_int_equal(hf_barrier_open(client, "gate", &barrier), HF_OK);
    return barrier;
}

static void fixture_open(struct barrier_fixture *f, enum way way)
{
    hosts_open(&f->directory, &f->a, &f->b, way);
    f->mine = barrier_of(f->a.client);
    f->theirs = barrier_of(f->b.client);
}

static void fixture_close(struct barrier_fixture *f)
{
    hf_barrier_free(f->mine);
    hf_barrier_free(f->theirs);
    client_close(&f->a);
    client_close(&f->b);
    client_directory_remove(&f->directory);
}

/* A fixture ${f} until the end of the test. */
#define FIXTURE(f, way)                                                        \
    CLOSED_BY(fixture_close) struct barrier_fixture f;                         \
    fixture_open(&f, way)

/* -------------------------------------------------- one call in each way -- */

enum call { SET, CLEAR, WAIT };

static hf_status wait_for(struct client_operation *operation)
{
    switch ((enum call)operation->call) {
    case SET:
        return hf_barrier_set(operation->subject, operation->wait_ms);
    case CLEAR:
        return hf_barrier_clear(operation->subject, operation->wait_ms);
    case WAIT:
        break;
    }
    return hf_barrier_wait(operation->subject, operation->wait_ms);
}

static hf_status start(struct client_operation *operation, struct hf_done done)
{
    switch ((enum call)operation->call) {
    case SET:
        return hf_barrier_set_start(operation->subject, operation->wait_ms,
                                    done);
    case CLEAR:
        return hf_barrier_clear_start(operation->subject, operation->wait_ms,
                                      done);
    case WAIT:
        break;
    }
    return hf_barrier_wait_start(operation->subject, operation->wait_ms, done,
                                 &operation->op);
}

static const struct client_operation_calls calls = {wait_for, start};

static void begin(struct client_operation *operation,
                  struct client_fixture *fixture, struct hf_barrier *barrier,
                  enum call call, uint64_t wait_ms)
{
    *operation = (struct client_operation){.fixture = fixture,
                                           .calls = &calls,
                                           .subject = barrier,
                                           .call = (int)call,
                                           .wait_ms = wait_ms};
    client_operation_begin(operation);
}

static hf_status end(struct client_operation *operation)
{
    hf_status status = client_operation_await(operation);

    assert_null(operation->tickets);
    return status;
}

static hf_status run(struct client_fixture *fixture, struct hf_barrier *barrier,
                     enum call call, uint64_t wait_ms)
{
    struct client_operation operation;

    begin(&operation, fixture, barrier, call, wait_ms);
    return end(&operation);
}

/* ----------------------------------------------------------------- cases -- */

TEST_IN_EACH_WAY(waiters_wait_until_it_is_cleared)
{
    struct client_operation waits[3];
    FIXTURE(f, way);
    assert_int_equal(run(&f.a, f.mine, WAIT, HF_FOREVER), HF_OK);
    assert_int_equal(run(&f.a, f.mine, SET, WAIT_MS), HF_OK);
    assert_int_equal(run(&f.b, f.theirs, SET, WAIT_MS), HF_OK);
    begin(&waits[0], &f.a, f.mine, WAIT, HF_FOREVER);
    begin(&waits[1], &f.b, f.theirs, WAIT, HF_FOREVER);
    begin(&waits[2], &f.b, f.theirs, WAIT, HF_FOREVER);
    assert_int_equal(run(&f.a, f.mine, WAIT, 0), HF_EBUSY);
    assert_int_equal(run(&f.b, f.theirs, WAIT, 20), HF_ETIMEDOUT);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(atomic_load(&waits[i].ended), 0);
    assert_int_equal(run(&f.b, f.theirs, CLEAR, WAIT_MS), HF_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(end(&waits[i]), HF_OK);
    assert_int_equal(run(&f.a, f.mine, CLEAR, WAIT_MS), HF_OK);
    assert_int_equal(run(&f.a, f.mine, WAIT, 0), HF_OK);
}

TEST_IN_EACH_WAY(it_outlives_its_client)
{
    FIXTURE(f, way);
    assert_int_equal(run(&f.a, f.mine, SET, WAIT_MS), HF_OK);
    hf_barrier_free(f.mine);
    client_close(&f.a);
    client_open(&f.a, way, f.directory.url, no_listener);
    f.mine = barrier_of(f.a.client);
    assert_int_equal(run(&f.a, f.mine, WAIT, 0), HF_EBUSY);
    assert_int_equal(run(&f.a, f.mine, CLEAR, WAIT_MS), HF_OK);
}

TEST_IN_EACH_WAY(a_failure_has_a_text)
{
    FIXTURE(f, way);
    assert_int_equal(run(&f.a, f.mine, SET, WAIT_MS), HF_OK);
    assert_int_equal(hf_barrier_wait(f.mine, 0),
                     way == WAY_UV ? HF_EREENTRANT : HF_EBUSY);
    if (way != WAY_UV)
        assert_string_equal(hf_last_error()->text,
                            "hf_barrier_wait: the barrier is up");
    assert_int_equal(run(&f.a, f.mine, CLEAR, WAIT_MS), HF_OK);
}

/* A wait that is cancelled does not end the other waits. */
TEST_IN_EACH_WAY(a_wait_can_be_cancelled)
{
    struct client_operation first, second;
    FIXTURE(f, way);
    assert_int_equal(run(&f.a, f.mine, SET, WAIT_MS), HF_OK);
    begin(&first, &f.a, f.mine, WAIT, HF_FOREVER);
    begin(&second, &f.a, f.mine, WAIT, HF_FOREVER);
    if (way != WAY_BLOCKING) {
        hf_op_cancel(first.op);
        hf_op_cancel(first.op);
        assert_int_equal(end(&first), HF_ECANCELLED);
        assert_int_equal(atomic_load(&second.ended), 0);
    }
    assert_int_equal(run(&f.a, f.mine, CLEAR, WAIT_MS), HF_OK);
    assert_int_equal(end(&second), HF_OK);
    if (way == WAY_BLOCKING)
        assert_int_equal(end(&first), HF_OK);
}

TEST_IN_EACH_WAY(a_close_ends_waits)
{
    struct client_operation wait;
    FIXTURE(f, way);
    assert_int_equal(run(&f.a, f.mine, SET, WAIT_MS), HF_OK);
    if (way ==
        WAY_BLOCKING) { /* a second wait shows that the first one still waits */
        begin(&wait, &f.b, f.theirs, WAIT, 100);
        assert_int_equal(end(&wait), HF_ETIMEDOUT);
    } else {
        begin(&wait, &f.b, f.theirs, WAIT, HF_FOREVER);
        client_close(&f.b);
        assert_int_equal(atomic_load(&wait.ended), 1);
        assert_int_equal(wait.status, HF_ECLOSED);
        hf_barrier_free(f.theirs);
        hf_op_cancel(wait.op); /* nothing to cancel any more */
        hf_op_free(wait.op);   /* the last reference to the client */
        client_open(&f.b, way, f.directory.url, no_listener);
        f.theirs = barrier_of(f.b.client);
    }
    assert_int_equal(run(&f.a, f.mine, CLEAR, WAIT_MS), HF_OK);
}

/* The caller passes no callback. */
TEST_IN_EACH_WAY(the_end_needs_no_callback)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    FIXTURE(f, way);
    assert_int_equal(hf_barrier_set_start(f.mine, WAIT_MS, nobody), HF_OK);
    assert_int_equal(run(&f.a, f.mine, WAIT, 0), HF_EBUSY);
    assert_int_equal(hf_barrier_wait_start(f.mine, HF_FOREVER, nobody, NULL),
                     HF_OK);
    assert_int_equal(hf_barrier_clear_start(f.mine, WAIT_MS, nobody), HF_OK);
    assert_int_equal(run(&f.a, f.mine, WAIT, 0), HF_OK);
}

/* ------------------------------------------------------------- processes -- */

static int clear_it(void *arg)
{
    struct hf_client *client = open_client(arg);
    struct hf_barrier *barrier;

    CHILD_CHECK(client != NULL);
    CHILD_CHECK(hf_barrier_open(client, "gate", &barrier) == HF_OK);
    CHILD_CHECK(hf_barrier_wait(barrier, 0) == HF_EBUSY);
    CHILD_CHECK(hf_barrier_clear(barrier, WAIT_MS) == HF_OK);
    hf_barrier_free(barrier);
    CHILD_CHECK(hf_client_close(client) == HF_OK);
    return 0;
}

static void *run_child(void *arg)
{
    run_in_child(clear_it, arg);
    return NULL;
}

TEST(it_holds_between_processes)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    struct client_directory directory;
    pthread_t thread;

    client_directory_create(&directory);
    client = open_client(directory.url);
    barrier = barrier_of(client);
    assert_int_equal(hf_barrier_set(barrier, WAIT_MS), HF_OK);
    thread = start_thread(run_child, directory.url);
    assert_int_equal(hf_barrier_wait(barrier, WAIT_MS), HF_OK);
    pthread_join(thread, NULL);
    hf_barrier_free(barrier);
    assert_int_equal(hf_client_close(client), HF_OK);
    client_directory_remove(&directory);
}

static int use_parents(void *arg)
{
    struct hf_done nobody = {NULL, NULL, NULL};
    struct hf_barrier *barrier = arg;
    struct hf_op *op;

    CHILD_CHECK(hf_barrier_set(barrier, 0) == HF_EFORKED);
    CHILD_CHECK(hf_barrier_clear(barrier, 0) == HF_EFORKED);
    CHILD_CHECK(hf_barrier_wait(barrier, 0) == HF_EFORKED);
    CHILD_CHECK(hf_barrier_wait_start(barrier, 0, nobody, &op) == HF_EFORKED);
    CHILD_CHECK(op == NULL);
    CHILD_CHECK(hf_last_error()->status == HF_EFORKED);
    hf_barrier_free(barrier);
    return 0;
}

TEST(a_child_leaves_it_alone)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    struct client_directory directory;

    client_directory_create(&directory);
    client = open_client(directory.url);
    barrier = barrier_of(client);
    assert_int_equal(hf_barrier_set(barrier, WAIT_MS), HF_OK);
    run_in_child(use_parents, barrier);
    assert_int_equal(hf_barrier_wait(barrier, 0), HF_EBUSY);
    assert_int_equal(hf_barrier_clear(barrier, WAIT_MS), HF_OK);
    hf_barrier_free(barrier);
    assert_int_equal(hf_client_close(client), HF_OK);
    client_directory_remove(&directory);
}

TEST(wrong_calls_are_refused)
{
    struct hf_barrier *barrier;
    struct hf_client *client;
    struct client_directory directory;

    client_directory_create(&directory);
    client = open_client(directory.url);
    assert_int_equal(hf_barrier_open(client, "a//b", &barrier), HF_ENAME);
    assert_null(barrier);
    assert_non_null(strstr(hf_last_error()->text, "hf_barrier_open: "));
    hf_barrier_free(NULL);
    barrier = barrier_of(client);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(hf_barrier_set(barrier, WAIT_MS), HF_ECLOSED);
    assert_int_equal(hf_barrier_wait(barrier, WAIT_MS), HF_ECLOSED);
    hf_barrier_free(barrier);
    client_directory_remove(&directory);
}

/* The file engine answers inside the request, so that the wait has ended before
 * its call returns. */
TEST(a_wait_that_ends_at_once_without_a_callback_has_a_handle)
{
    const struct hf_done nobody = {NULL, NULL, NULL};
    struct hf_op *op;
    FIXTURE(f, WAY_BLOCKING);
    assert_int_equal(hf_barrier_wait_start(f.mine, HF_FOREVER, nobody, &op),
                     HF_OK);
    assert_non_null(op);
    hf_op_cancel(op);
    hf_op_free(op);
}
