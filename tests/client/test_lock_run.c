/* SPDX-License-Identifier: Apache-2.0 */
/* hf_lock_run(): open, acquire, call, release and close in one call; with files
 * and, started beside a server, there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "process.h"
#include "server_url.h"

struct run_fixture {
    struct client_directory directory;
    char url[256];
    int calls;
    hf_status inside; /* what a call had that was made meanwhile */
    char text[HF_ERROR_TEXT_BYTES];
};

static int setup(void **state)
{
    static struct run_fixture f;

    memset(&f, 0, sizeof f);
    client_directory_create(&f.directory);
    server_url(f.url, sizeof f.url, f.directory.url);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct run_fixture *f = *state;

    assert_int_equal(client_directory_count_tickets(&f->directory), 0);
    client_directory_remove(&f->directory);
    return 0;
}

static int count(void *arg, struct hf_grant *grant)
{
    struct run_fixture *f = arg;

    assert_true(hf_grant_token(grant) != 0);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    f->calls++;
    return 42;
}

TEST_WITH(the_result_of_the_function, setup, teardown)
{
    struct run_fixture *f = *state;
    int result = 0;

    assert_int_equal(hf_lock_run(f->url, "run", HF_FOREVER, count, f, &result),
                     HF_OK);
    assert_int_equal(result, 42);
    assert_int_equal(hf_lock_run(f->url, "run", 10000, count, f, NULL), HF_OK);
    assert_int_equal(f->calls, 2);
}

/* The same lock again, which is not recursive. */
static int run_again(void *arg, struct hf_grant *grant)
{
    struct run_fixture *f = arg;

    (void)grant;
    f->inside = hf_lock_run(f->url, "run", 0, count, f, NULL);
    strcpy(f->text, hf_last_error()->text);
    return 1;
}

TEST_WITH(the_lock_is_held_meanwhile, setup, teardown)
{
    struct run_fixture *f = *state;
    int result = 0;

    assert_int_equal(
        hf_lock_run(f->url, "run", HF_FOREVER, run_again, f, &result), HF_OK);
    assert_int_equal(result, 1);
    assert_int_equal(f->calls, 0);
    assert_int_equal(f->inside, HF_EBUSY);
    assert_non_null(strstr(f->text, "hf_lock_run: hf_lock_acquire: "));
}

static int lose(void *arg, struct hf_grant *grant)
{
    struct run_fixture *f = arg;

    client_directory_remove_tickets(&f->directory);
    while (hf_grant_check(grant) == HF_OK)
        continue;
    return 7;
}

/* A ticket is removed only where it is a file. */
TEST_WITH(a_loss_is_its_status, setup, teardown)
{
    struct run_fixture *f = *state;
    int result = 0;

    assert_int_equal(
        hf_lock_run(f->directory.url, "run", HF_FOREVER, lose, f, &result),
        HF_ELOST);
    assert_int_equal(result, 7);
    assert_int_equal(hf_last_error()->status, HF_ELOST);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_lock_run: hf_grant_release: "));
}

TEST_WITH(what_fails_before_it_is_called, setup, teardown)
{
    struct run_fixture *f = *state;
    int result = 3;

    assert_int_equal(
        hf_lock_run("file:?colour=red", "run", 0, count, f, &result), HF_EURL);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_lock_run: hf_client_open: "));
    assert_int_equal(hf_lock_run(f->url, "", 0, count, f, &result), HF_ENAME);
    assert_non_null(
        strstr(hf_last_error()->text, "hf_lock_run: hf_lock_open: "));
    assert_int_equal(f->calls, 0);
    assert_int_equal(result, 3);
}

static void run_inside(void *arg, const struct hf_result *result)
{
    struct run_fixture *f = arg;

    hf_tickets_free(result->tickets);
    f->inside = hf_lock_run(f->url, "run", 0, count, f, NULL);
}

/* It waits, so it is refused, and leaves nothing open. */
TEST_WITH(in_a_callback, setup, teardown)
{
    struct run_fixture *f = *state;
    struct hf_client *client = open_client(f->url);
    struct hf_lock *lock;

    assert_int_equal(hf_lock_open(client, "another", NULL, &lock), HF_OK);
    assert_int_equal(
        hf_lock_tickets_start(lock, HF_TICKETS_ALL, 10000,
                              (struct hf_done){run_inside, f, NULL}),
        HF_OK);
    hf_lock_free(lock);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(f->inside, HF_EREENTRANT);
    assert_int_equal(f->calls, 0);
}
