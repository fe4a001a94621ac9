/* SPDX-License-Identifier: Apache-2.0 */
/* A handle of ZooKeeper on a borrowed uv loop, with a real server: one thread,
 * and everything that comes is called by that loop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/uv.h>

#include "cmocka/runner.h"

#define WAIT_MS 10000

/* A server, a handle, and what its callbacks have reported. */
struct uv_fixture {
    char url[256];
    uv_loop_t loop;
    struct hf_zookeeper *zookeeper;
    unsigned connected;
    unsigned ended;
    hf_status status; /* of the operation that ended last */
    unsigned events;
    unsigned closed;
    unsigned drops;
};

static void on_drop(void *arg)
{
    struct uv_fixture *f = arg;

    f->drops++;
}

static void on_state(void *arg, enum hf_state state)
{
    struct uv_fixture *f = arg;

    f->connected += state == HF_STATE_CONNECTED;
}

static void on_ended(void *arg, const struct hf_zookeeper_result *result)
{
    struct uv_fixture *f = arg;

    f->ended++;
    f->status = result->status;
}

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    struct uv_fixture *f = arg;

    assert_int_equal(event->kind, HF_ZOOKEEPER_CHANGED);
    f->events++;
}

static void on_closed(void *arg, const struct hf_result *result)
{
    struct uv_fixture *f = arg;

    assert_int_equal(result->status, HF_OK);
    f->closed++;
}

static int setup(void **state)
{
    static struct uv_fixture f;
    const char *servers = getenv("HF_ZK");

    memset(&f, 0, sizeof f);
    if (servers == NULL)
        fail_msg("HF_ZK has no server; start this by tests/servers/serve.py");
    snprintf(f.url, sizeof f.url, "zk://%s", servers);
    assert_int_equal(uv_loop_init(&f.loop), 0);
    *state = &f;
    return 0;
}

/* The loop has no handle of the library any more. */
static int teardown(void **state)
{
    struct uv_fixture *f = *state;

    assert_int_equal(uv_loop_close(&f->loop), 0);
    return 0;
}

static void open_handle(struct uv_fixture *f)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    if (hf_zookeeper_open_uv(&f->loop, f->url, &opts, &f->zookeeper) != HF_OK)
        fail_msg("%s", hf_last_error()->text);
}

/* Run the loop until ${count} is ${expected}; a timer of the test bounds it. */
static void on_timer(uv_timer_t *timer)
{
    (void)timer;
    fail_msg("nothing came within %d ms", WAIT_MS);
}

static void run_until(struct uv_fixture *f, const unsigned *count,
                      unsigned expected)
{
    uv_timer_t timer;

    uv_timer_init(&f->loop, &timer);
    uv_timer_start(&timer, on_timer, WAIT_MS, 0);
    while (*count < expected)
        uv_run(&f->loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(*count, expected);
}

/* With nothing left to run the loop ends by itself. */
static void close_handle(struct uv_fixture *f)
{
    struct hf_done done = {on_closed, f, on_drop};

    assert_int_equal(hf_zookeeper_close_start(f->zookeeper, done), HF_OK);
    assert_int_equal(f->closed, 0);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->drops, 2);
}

TEST_WITH(the_loop_runs_every_callback, setup, teardown)
{
    struct uv_fixture *f = *state;
    struct hf_zookeeper_done done = {on_ended, f, NULL};
    struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/uv"};
    struct hf_zookeeper_on_event on = {on_event, f, NULL};

    open_handle(f);
    assert_int_equal(f->connected, 0);
    assert_int_equal(hf_zookeeper_create_start(f->zookeeper, "/uv", "a", 1,
                                               HF_ZOOKEEPER_EPHEMERAL, WAIT_MS,
                                               done),
                     HF_OK);
    run_until(f, &f->ended, 1);
    assert_int_equal(f->status, HF_OK);
    assert_int_equal(f->connected, 1);
    assert_int_equal(hf_zookeeper_watch_open(f->zookeeper, "/uv",
                                             HF_ZOOKEEPER_WATCH_DATA, on,
                                             &get.watch),
                     HF_OK);
    assert_int_equal(
        hf_zookeeper_start(f->zookeeper, &get, WAIT_MS, done, NULL), HF_OK);
    assert_int_equal(hf_zookeeper_set_start(f->zookeeper, "/uv", "b", 1,
                                            HF_ZOOKEEPER_ANY_VERSION, WAIT_MS,
                                            done),
                     HF_OK);
    run_until(f, &f->ended, 3);
    run_until(f, &f->events, 1);
    hf_zookeeper_watch_free(get.watch);
    close_handle(f);
}

TEST_WITH(a_call_that_waits_is_refused_on_the_loop, setup, teardown)
{
    struct uv_fixture *f = *state;

    open_handle(f);
    assert_int_equal(hf_zookeeper_get(f->zookeeper, "/", WAIT_MS, NULL),
                     HF_EREENTRANT);
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_EREENTRANT);
    close_handle(f);
}

/* Before the session has begun, and with operations that wait for it. */
TEST_WITH(a_close_at_once_ends_what_waits, setup, teardown)
{
    struct uv_fixture *f = *state;
    struct hf_zookeeper_done done = {on_ended, f, NULL};

    open_handle(f);
    assert_int_equal(hf_zookeeper_get_start(f->zookeeper, "/", WAIT_MS, done),
                     HF_OK);
    close_handle(f);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->status, HF_ECLOSED);
}

/* A client of locks on the loop, and a handle on its session. */
static struct hf_client *open_shared(struct uv_fixture *f)
{
    struct hf_client *client;

    if (hf_client_open_uv(&f->loop, f->url, NULL, &client) != HF_OK)
        fail_msg("%s", hf_last_error()->text);
    assert_int_equal(hf_client_zookeeper(client, &f->zookeeper), HF_OK);
    return client;
}

/* The handle is closed first, with an operation under way, and then the client.
 */
TEST_WITH(a_handle_on_a_session_of_locks, setup, teardown)
{
    struct uv_fixture *f = *state;
    struct hf_zookeeper_done done = {on_ended, f, NULL};
    struct hf_done closed = {on_closed, f, on_drop};
    struct hf_client *client = open_shared(f);

    assert_int_equal(hf_zookeeper_get_start(f->zookeeper, "/", WAIT_MS, done),
                     HF_OK);
    run_until(f, &f->ended, 1);
    assert_int_equal(f->status, HF_OK);
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_EREENTRANT);
    assert_int_equal(hf_zookeeper_get_start(f->zookeeper, "/", WAIT_MS, done),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close_start(f->zookeeper, closed), HF_OK);
    run_until(f, &f->closed, 1);
    assert_int_equal(f->ended, 2);
    assert_int_equal(f->status, HF_OK);
    assert_int_equal(hf_client_close_start(client, closed), HF_OK);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->closed, 2);
    assert_int_equal(f->drops, 2);
}

/* In the callback of the client's close, which is the last one. */
static void on_client_closed(void *arg, const struct hf_result *result)
{
    struct uv_fixture *f = arg;

    on_closed(arg, result);
    assert_int_equal(hf_zookeeper_state(f->zookeeper), HF_STATE_CLOSED);
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_OK);
}

TEST_WITH(a_handle_is_closed_when_its_client_was, setup, teardown)
{
    struct uv_fixture *f = *state;
    struct hf_zookeeper_done done = {on_ended, f, NULL};
    struct hf_done closed = {on_client_closed, f, on_drop};
    struct hf_client *client = open_shared(f);

    assert_int_equal(hf_zookeeper_get_start(f->zookeeper, "/", WAIT_MS, done),
                     HF_OK);
    assert_int_equal(hf_client_close_start(client, closed), HF_OK);
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_EREENTRANT);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(f->closed, 1);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->status, HF_ECLOSED);
}

TEST_WITH(dispatch_does_not_go_with_a_borrowed_loop, setup, teardown)
{
    struct uv_fixture *f = *state;
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.on_state = (struct hf_on_state){on_state, f, on_drop};
    assert_int_equal(
        hf_zookeeper_open_uv(&f->loop, f->url, &opts, &f->zookeeper),
        HF_EINVAL);
    assert_non_null(strstr(hf_last_error()->text, "borrowed loop"));
    assert_null(f->zookeeper);
    assert_int_equal(f->drops, 1);
}

TEST_WITH(a_url_that_is_wrong_leaves_nothing_on_the_loop, setup, teardown)
{
    struct uv_fixture *f = *state;

    assert_int_equal(hf_zookeeper_open_uv(&f->loop, "zk://a?colour=red", NULL,
                                          &f->zookeeper),
                     HF_EURL);
    assert_null(f->zookeeper);
    assert_int_equal(uv_loop_alive(&f->loop), 0);
}
