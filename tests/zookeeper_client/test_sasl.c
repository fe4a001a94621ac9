/* SPDX-License-Identifier: Apache-2.0 */
/* SASL by DIGEST-MD5 on a server that requires it, for the client of ZooKeeper
 * and for locks.  The server has one address and two names, so that a session
 * is moved from one name to the other to have it connect again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <holdfast/holdfast.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

/* "127.0.0.1:PORT". */
static const char *address(void)
{
    const char *found = getenv("HF_ZK");

    if (found == NULL)
        fail_msg("HF_ZK is not set");
    return found != NULL ? found : "";
}

static struct hf_zookeeper *open_as(const char *user, const char *options)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *zookeeper;
    char url[256];

    opts.connect_ms = WAIT_MS;
    (void)snprintf(url, sizeof url, "zk://%s%s/%s", user, address(), options);
    if (hf_zookeeper_open(url, &opts, &zookeeper) != HF_OK)
        fail_msg("%s: %s", url, hf_last_error()->text);
    return zookeeper;
}

static struct hf_zookeeper *open_alice(void)
{
    return open_as("alice:secret@", "?sasl=DIGEST-MD5&timeout=4s");
}

/* Have the session make another connection, to the other name of the server. */
static void reconnect(struct hf_zookeeper *zookeeper, const char *name)
{
    const char *port = strchr(address(), ':');
    char servers[64];

    assert_non_null(port);
    (void)snprintf(servers, sizeof servers, "%s%s", name, port);
    assert_int_equal(hf_zookeeper_set_servers(zookeeper, servers), HF_OK);
}

/* The session must be alice, by SASL and by nothing else. */
static void expect_alice(struct hf_zookeeper *zookeeper)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_WHO_AM_I};
    struct hf_zookeeper_result *result = zookeeper_do(zookeeper, &op, HF_OK);

    for (size_t i = 0; i < result->acl_count; i++) {
        assert_string_not_equal(result->acls[i].scheme, "digest");
        if (strcmp(result->acls[i].scheme, "sasl") == 0) {
            assert_string_equal(result->acls[i].id, "alice");
            hf_zookeeper_result_free(result);
            return;
        }
    }
    fail_msg("the session has no identity by SASL");
}

TEST(a_user_is_known_on_each_connection)
{
    struct hf_zookeeper *zookeeper = open_alice();

    expect_alice(zookeeper);
    for (int i = 0; i < 3; i++) {
        reconnect(zookeeper, i % 2 == 0 ? "localhost" : "127.0.0.1");
        expect_alice(zookeeper);
    }
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

/* The rounds come before SetWatches, which is no call that a server takes from
 * anybody. */
TEST(watches_and_ephemerals_survive)
{
    struct hf_zookeeper *zookeeper = open_alice();
    struct hf_zookeeper *other = open_alice();
    struct callback_log *log = calloc(1, sizeof *log);
    struct log_name name = {log, "w"};
    struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/watched"};
    struct hf_zookeeper_result *result;
    struct hf_zookeeper_session before, after;

    assert_non_null(log);
    pthread_mutex_init(&log->lock, NULL);
    zookeeper_make(zookeeper, "/watched", "");
    result = NULL;
    assert_int_equal(hf_zookeeper_create(zookeeper, "/mine", NULL, 0,
                                         HF_ZOOKEEPER_EPHEMERAL, WAIT_MS,
                                         &result),
                     HF_OK);
    hf_zookeeper_result_free(result);
    assert_int_equal(hf_zookeeper_watch_open(zookeeper, "/watched",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             log_events(&name), &get.watch),
                     HF_OK);
    zookeeper_expect(zookeeper, &get, HF_OK);
    assert_int_equal(hf_zookeeper_session(zookeeper, &before), HF_OK);
    reconnect(zookeeper, "localhost");
    expect_alice(zookeeper);
    assert_int_equal(hf_zookeeper_session(zookeeper, &after), HF_OK);
    assert_int_equal(before.id, after.id);
    assert_int_equal(
        hf_zookeeper_set(other, "/watched", "new", 3, 0, WAIT_MS, NULL), HF_OK);
    (void)log_await_line(log, 0, "w CHANGED /watched");
    assert_int_equal(hf_zookeeper_exists(other, "/mine", WAIT_MS, NULL), HF_OK);
    hf_zookeeper_watch_free(get.watch);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    assert_int_equal(hf_zookeeper_exists(other, "/mine", WAIT_MS, NULL),
                     HF_EGONE);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

/* Nodes are for their creator, as with other credentials. */
TEST(nodes_belong_to_the_user)
{
    struct hf_zookeeper *alice = open_alice();
    struct hf_zookeeper *bob = open_as("bob:word@", "?sasl=DIGEST-MD5");
    struct hf_zookeeper_result *result;

    zookeeper_make(alice, "/private", "x");
    assert_int_equal(hf_zookeeper_get(bob, "/private", WAIT_MS, NULL),
                     HF_EDENIED);
    assert_int_equal(hf_zookeeper_get_acl(alice, "/private", WAIT_MS, &result),
                     HF_OK);
    assert_int_equal(result->acl_count, 1);
    assert_string_equal(result->acls[0].scheme, "sasl");
    assert_string_equal(result->acls[0].id, "alice");
    hf_zookeeper_result_free(result);
    assert_int_equal(hf_zookeeper_close(alice), HF_OK);
    assert_int_equal(hf_zookeeper_close(bob), HF_OK);
}

TEST(who_is_refused)
{
    static const struct {
        const char *user, *options, *text;
    } rows[] = {
        {"alice:wrong@", "?sasl=DIGEST-MD5", "did not accept the client by"},
        {"carol:other@", "?sasl=DIGEST-MD5", "did not accept the client by"},
        {"alice:secret@", "?sasl=DIGEST-MD5&sasl_host=other", "SASL"},
        {"", "", "the server expects SASL; expected sasl= in the URL"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_zookeeper *zookeeper = open_as(rows[i].user, rows[i].options);

        hf_status status = hf_zookeeper_get(zookeeper, "/", WAIT_MS, NULL);

        if (status != HF_EDENIED)
            fail_msg("row %zu: %s", i, hf_status_name(status));
        zookeeper_expect_error(rows[i].text);
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    }
}

/* Beside SASL other credentials may be used, which come after it. */
TEST(another_credential_comes_after_it)
{
    struct hf_zookeeper *zookeeper = open_alice();
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_WHO_AM_I};
    struct hf_zookeeper_result *result;
    bool found = false;

    assert_int_equal(
        hf_zookeeper_add_auth(zookeeper, "digest", "dora:d", 6, WAIT_MS),
        HF_OK);
    reconnect(zookeeper, "localhost");
    result = zookeeper_do(zookeeper, &op, HF_OK);
    for (size_t i = 0; i < result->acl_count; i++)
        found |= strcmp(result->acls[i].scheme, "digest") == 0;
    assert_true(found);
    hf_zookeeper_result_free(result);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

/* ----------------------------------------------------------------- locks -- */

static struct hf_client *open_client(const char *user)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client;
    char url[256];

    opts.connect_ms = WAIT_MS;
    (void)snprintf(url, sizeof url, "zk://%s%s/?sasl=DIGEST-MD5", user,
                   address());
    if (hf_client_open(url, &opts, &client) != HF_OK)
        fail_msg("%s: %s", url, hf_last_error()->text);
    return client;
}

static hf_status take_lock(struct hf_client *client, struct hf_grant **grant)
{
    struct hf_acquire_opts acquire = HF_ACQUIRE_OPTS_INIT;
    struct hf_lock *lock;
    hf_status status;

    acquire.wait_ms = WAIT_MS;
    assert_int_equal(hf_lock_open(client, "name", NULL, &lock), HF_OK);
    status = hf_lock_acquire(lock, &acquire, grant);
    hf_lock_free(lock);
    return status;
}

TEST(a_lock_is_taken)
{
    struct hf_client *client = open_client("alice:secret@");
    struct hf_grant *grant;

    assert_int_equal(take_lock(client, &grant), HF_OK);
    assert_int_equal(hf_grant_check(grant), HF_OK);
    assert_int_equal(hf_grant_release(grant), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
}

TEST(a_lock_is_denied_to_a_wrong_password)
{
    struct hf_client *client = open_client("alice:wrong@");
    struct hf_grant *grant;

    assert_int_equal(take_lock(client, &grant), HF_EDENIED);
    assert_non_null(
        strstr(hf_last_error()->text, "did not accept the client by SASL"));
    assert_int_equal(hf_client_close(client), HF_OK);
}
