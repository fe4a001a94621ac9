/* SPDX-License-Identifier: Apache-2.0 */
/* The reconnect policy in the options of a client, against a port where
 * nobody listens. */
#include <stdatomic.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"

#define NOBODY "zk://127.0.0.1:1"

struct asked {
    atomic_uint times;
    atomic_uint retries;
};

static bool twice(void *arg, uint32_t retries, uint64_t elapsed_ms,
                  uint64_t *pause_ms)
{
    struct asked *asked = arg;

    (void)elapsed_ms;
    atomic_fetch_add(&asked->times, 1);
    atomic_store(&asked->retries, retries);
    *pause_ms = 10;
    return retries < 2;
}

static struct hf_client *open_with(const char *url,
                                   const struct hf_reconnect *policy)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;

    opts.connect_ms = HF_FOREVER;
    opts.reconnect = *policy;
    assert_int_equal(hf_client_open(url, &opts, &client), HF_OK);
    return client;
}

/* An acquire ends, and its text says how often the client tried. */
static void assert_gives_up(struct hf_client *client, const char *part)
{
    struct hf_grant *grant;
    struct hf_lock *lock;

    assert_int_equal(hf_lock_open(client, "x", NULL, &lock), HF_OK);
    assert_int_equal(hf_lock_acquire(lock, NULL, &grant), HF_EUNREACHABLE);
    assert_non_null(strstr(hf_last_error()->text, part));
    assert_non_null(strstr(hf_last_error()->text, "connection refused"));
    hf_lock_free(lock);
}

TEST(an_acquire_ends_when_the_policy_gives_up)
{
    const struct hf_reconnect policy = {
        .pause_ms = 10, .retries = 3, .elapsed_ms = HF_FOREVER};
    struct hf_client *client = open_with(NOBODY, &policy);

    assert_gives_up(client, "gave up after 3 retries");
    assert_gives_up(client, "gave up after 3 retries"); /* and begins again */
    assert_int_equal(hf_client_state(client), HF_STATE_CONNECTING);
    assert_int_equal(hf_client_close(client), HF_OK);
}

TEST(a_callback_is_asked_before_each_retry)
{
    struct asked asked = {0};
    const struct hf_reconnect policy = {
        .elapsed_ms = HF_FOREVER, .fn = twice, .arg = &asked};
    struct hf_client *client = open_with(NOBODY, &policy);

    assert_gives_up(client, "gave up after 2 retries");
    assert_true(atomic_load(&asked.times) >= 3);
    assert_int_equal(atomic_load(&asked.retries), 2);
    assert_int_equal(hf_client_close(client), HF_OK);
}

TEST(the_url_overrides_the_options)
{
    const struct hf_reconnect policy = {.pause_ms = 10,
                                        .retries = HF_RECONNECT_UNLIMITED,
                                        .elapsed_ms = HF_FOREVER};
    struct hf_client *client = open_with(NOBODY "?retry=1x10ms", &policy);

    assert_gives_up(client, "gave up after 1 retry");
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* A client that gave up is closed like any other, with and without an
 * acquire under way. */
TEST(a_client_that_gave_up_is_closed)
{
    const struct hf_reconnect policy = {.elapsed_ms = HF_FOREVER};
    struct hf_client *client = open_with(NOBODY, &policy);

    assert_gives_up(client, "gave up after 0 retries");
    assert_int_equal(hf_client_close(client), HF_OK);
}
