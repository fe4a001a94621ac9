/* SPDX-License-Identifier: Apache-2.0 */
/* The client through TLS, and at the port without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

#define LONG_BYTES 300000

/* A handle that gives up after ${retries} attempts but the first. */
static struct hf_zookeeper *open_tls(const char *scheme, const char *servers,
                                     const char *ca, uint32_t retries)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *zookeeper;
    char url[512];

    opts.connect_ms = WAIT_MS;
    opts.reconnect.retries = retries;
    if (ca != NULL)
        (void)snprintf(url, sizeof url, "%s://%s/?ca=%s/%s", scheme, servers,
                       getenv("HF_ZK_CERTS"), ca);
    else
        (void)snprintf(url, sizeof url, "%s://%s/", scheme, servers);
    if (hf_zookeeper_open(url, &opts, &zookeeper) != HF_OK)
        fail_msg("%s", hf_last_error()->text);
    return zookeeper;
}

TEST(operations_and_watches_through_tls)
{
    struct hf_zookeeper *zookeeper =
        open_tls("zks", getenv("HF_ZK_TLS"), "ca.pem", HF_RECONNECT_UNLIMITED);
    struct callback_log *log = calloc(1, sizeof *log);
    struct log_name name = {log, "w"};
    struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/tls"};
    struct hf_zookeeper_result *result;
    char *data = calloc(1, LONG_BYTES);

    assert_non_null(log);
    assert_non_null(data);
    pthread_mutex_init(&log->lock, NULL);
    memset(data, 'x', LONG_BYTES);
    zookeeper_make(zookeeper, "/tls", "");
    assert_int_equal(hf_zookeeper_watch_open(zookeeper, "/tls",
                                             HF_ZOOKEEPER_WATCH_DATA,
                                             log_events(&name), &get.watch),
                     HF_OK);
    zookeeper_expect(zookeeper, &get, HF_OK);
    assert_int_equal(
        hf_zookeeper_set(zookeeper, "/tls", data, LONG_BYTES, 0, WAIT_MS, NULL),
        HF_OK);
    (void)log_await_line(log, 0, "w CHANGED /tls");
    result = zookeeper_do(zookeeper, &get, HF_OK);
    assert_int_equal(result->bytes, LONG_BYTES);
    assert_memory_equal(result->data, data, LONG_BYTES);
    hf_zookeeper_result_free(result);
    hf_zookeeper_watch_free(get.watch);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    pthread_mutex_destroy(&log->lock);
    free(data);
    free(log);
}

/* A certificate that the client does not trust, and the wrong port. */
TEST(a_server_that_is_not_the_right_one)
{
    static const struct {
        const char *scheme, *servers, *ca;
    } rows[] = {
        {"zks", "HF_ZK_TLS", "other_ca.pem"},
        {"zks", "HF_ZK", "ca.pem"},
        {"zk", "HF_ZK_TLS", NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_zookeeper *zookeeper =
            open_tls(rows[i].scheme, getenv(rows[i].servers), rows[i].ca, 1);
        hf_status status = hf_zookeeper_get(zookeeper, "/", WAIT_MS, NULL);

        if (status != HF_EURL && status != HF_EDENIED &&
            status != HF_EUNREACHABLE)
            fail_msg("row %zu: %s", i, hf_status_name(status));
        assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
    }
}
