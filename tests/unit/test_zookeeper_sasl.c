/* SPDX-License-Identifier: Apache-2.0 */
/* A handle that uses SASL, against a fake server, with a mechanism of the test:
 * what the mechanism is given, how its failures end operations, and each
 * allocation refused. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <holdfast/zookeeper.h>

#include "base/error.h"
#include "client/engines.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper_fake_server.h"

#define TIMEOUT_MS 20000

static struct zookeeper_fake_server server;

/* ------------------------------------------------------------- mechanism -- */

/* How the next steps end, and how often a first one was done. */
static _Atomic hf_status step_status;
static atomic_uint exchanges;

struct hf_sasl {
    struct hf_sasl_memory memory;
    char settings[128];
    int steps;
};

/* The last .settings; written before the first answer of the server. */
static char given[128];

static struct hf_sasl *open_fake(const struct hf_sasl_memory *memory,
                                 const struct hf_sasl_settings *settings)
{
    struct hf_sasl *sasl = memory->alloc(sizeof *sasl);

    if (sasl == NULL)
        return NULL;
    *sasl = (struct hf_sasl){.memory = *memory};
    (void)snprintf(given, sizeof given, "%s %s %s [%s] [%s]",
                   settings->mechanism, settings->service, settings->host,
                   settings->user, settings->password);
    return sasl;
}

static void close_fake(struct hf_sasl *sasl)
{
    sasl->memory.free(sasl);
}

/* Two tokens; the server sends the first one back. */
static hf_status step_fake(struct hf_sasl *sasl, const void *bytes,
                           size_t count, struct hf_sasl_token *token,
                           struct hf_error *error)
{
    bool last = sasl->steps++ > 0;

    if (!last)
        atomic_fetch_add(&exchanges, 1);
    if (atomic_load(&step_status) != HF_OK)
        return hf_error_set(error, atomic_load(&step_status), "not today");
    if (last && (count != 5 || memcmp(bytes, "first", 5) != 0))
        return hf_error_set(error, HF_EPROTOCOL, "another token");
    *token = last ? (struct hf_sasl_token){"last", 4, true}
                  : (struct hf_sasl_token){"first", 5, false};
    return HF_OK;
}

static hf_status check_fake(const char *mechanism, struct hf_error *error)
{
    if (strcmp(mechanism, "GSSAPI") == 0 ||
        strcmp(mechanism, "DIGEST-MD5") == 0)
        return HF_OK;
    return hf_error_set(error, HF_EUNSUPPORTED, "no such mechanism");
}

hf_status __wrap_hf_engines_sasl(const struct hf_sasl_ops **sasl,
                                 struct hf_error *error);

hf_status __wrap_hf_engines_sasl(const struct hf_sasl_ops **sasl,
                                 struct hf_error *error)
{
    static const struct hf_sasl_ops fake = {HF_SASL_ABI, check_fake, open_fake,
                                            close_fake, step_fake};

    (void)error;
    *sasl = &fake;
    return HF_OK;
}

/* --------------------------------------------------------------- fixture -- */

/* Open ${url}; NULL if there is no memory for it. */
static struct hf_zookeeper *open_url(const char *url)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *zookeeper;
    hf_status status;

    opts.reconnect.pause_ms = opts.reconnect.pause_max_ms = 1;
    status = hf_zookeeper_open(url, &opts, &zookeeper);
    if (status != HF_OK && status != HF_ENOMEM)
        fail_msg("%s: %s", url, hf_last_error()->text);
    return zookeeper;
}

static void await_memory(void)
{
    const struct timespec while_others_work = {0, 1000000};

    for (int ms = 0; heap_live() > 0; ms++) {
        assert_true(ms < TIMEOUT_MS);
        (void)nanosleep(&while_others_work, NULL);
    }
}

/* ----------------------------------------------------------------- tests -- */

TEST(the_mechanism_is_given_what_the_url_says)
{
    static const struct {
        const char *user, *options, *given;
    } rows[] = {
        {"u:p@", "sasl=DIGEST-MD5", "DIGEST-MD5 zookeeper zk-sasl-md5 [u] [p]"},
        {"u:p:q@", "sasl=DIGEST-MD5&sasl_service=s&sasl_host=h",
         "DIGEST-MD5 s h [u] [p:q]"},
        {"", "sasl=GSSAPI", "GSSAPI zookeeper 127.0.0.1 [] []"},
        {"u:p@", "sasl=GSSAPI&sasl_service=s&sasl_host=h", "GSSAPI s h [] []"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_zookeeper *zookeeper;
        char url[256];

        (void)snprintf(url, sizeof url, "zk://%s%s/?%s", rows[i].user,
                       strchr(server.url, '@') + 1, rows[i].options);
        zookeeper = open_url(url);
        assert_non_null(zookeeper);
        assert_int_equal(hf_zookeeper_get(zookeeper, "/a", TIMEOUT_MS, NULL),
                         HF_OK);
        assert_string_equal(given, rows[i].given);
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
        await_memory();
    }
}

TEST(a_password_is_needed_for_digest_md5)
{
    struct hf_zookeeper *zookeeper;

    assert_int_equal(hf_zookeeper_open("zk://127.0.0.1:1/?sasl=DIGEST-MD5",
                                       NULL, &zookeeper),
                     HF_EURL);
    assert_non_null(
        strstr(hf_last_error()->text, "needs a user and a password"));
    await_memory();
}

/* Another exchange on each connection. */
TEST(each_connection_has_an_exchange)
{
    struct hf_zookeeper *zookeeper;
    char url[128];

    (void)snprintf(url, sizeof url, "%s/?sasl=DIGEST-MD5", server.url);
    zookeeper = open_url(url);
    assert_non_null(zookeeper);
    atomic_store(&exchanges, 0);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(hf_zookeeper_get(zookeeper, "/a", TIMEOUT_MS, NULL),
                         HF_OK);
        assert_true(atomic_load(&exchanges) <= i);
        zookeeper_fake_cut(&server);
    }
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    await_memory();
}

TEST(a_step_that_fails_ends_or_delays_operations)
{
    static const struct {
        hf_status step, ends;
    } rows[] = {
        {HF_EDENIED, HF_EDENIED},
        {HF_EPROTOCOL, HF_EPROTOCOL},
        {HF_EUNREACHABLE, HF_ETIMEDOUT},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool waits = rows[i].ends == HF_ETIMEDOUT;
        struct hf_zookeeper *zookeeper;
        char url[128];

        (void)snprintf(url, sizeof url, "%s/?sasl=DIGEST-MD5", server.url);
        atomic_store(&step_status, rows[i].step);
        zookeeper = open_url(url);
        assert_non_null(zookeeper);
        assert_int_equal(
            hf_zookeeper_get(zookeeper, "/a", waits ? 50 : TIMEOUT_MS, NULL),
            rows[i].ends);
        atomic_store(&step_status, HF_OK);
        if (waits) /* it goes on by itself */
            assert_int_equal(
                hf_zookeeper_get(zookeeper, "/a", TIMEOUT_MS, NULL), HF_OK);
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
        await_memory();
    }
}

TEST(each_allocation_may_fail)
{
    unsigned long nth = 0;
    char url[128];
    bool failed;

    (void)snprintf(url, sizeof url, "%s/?sasl=DIGEST-MD5", server.url);
    do {
        struct hf_zookeeper *zookeeper;
        hf_status status;

        heap_fail(++nth, false);
        zookeeper = open_url(url);
        if (zookeeper != NULL) {
            status = hf_zookeeper_get(zookeeper, "/a", TIMEOUT_MS, NULL);
            if (status != HF_OK && status != HF_ENOMEM)
                fail_msg("allocation %lu: %s", nth, hf_status_name(status));
            assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
        }
        await_memory();
        failed = heap_failed();
        heap_fail(0, false);
        assert_true(nth < 1000);
    } while (failed);
    assert_true(nth > 10);
}

TEST_FILE(zookeeper_sasl)
{
    int failed;

    heap_install();
    zookeeper_fake_start(&server);
    failed = RUN_TESTS(NULL, NULL);
    zookeeper_fake_stop(&server);
    return failed;
}
