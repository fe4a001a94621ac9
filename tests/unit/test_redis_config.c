/* SPDX-License-Identifier: Apache-2.0 */
/* The URLs of the Redis engine: what is read, and in which words a wrong part
 * is refused.  No text has a password in it. */
#include <string.h>

#include "cmocka/runner.h"
#include "engines/redis/config.h"

static hf_status parse(const char *text, struct hf_redis_config *config,
                       struct hf_error *error)
{
    struct hf_url url;
    hf_status status = hf_url_parse(text, &url, error);

    memset(config, 0, sizeof *config);
    if (status != HF_OK)
        return status;
    status = hf_redis_config_parse(config, &url, error);
    hf_url_free(&url);
    return status;
}

TEST(everything_is_read)
{
    struct hf_redis_config config;
    struct hf_error error;

    assert_int_equal(parse("redis://u:p%40@a:1,[::1]:2/3?ttl=3s&wait=2&"
                           "layout=redis-py&clock_drift=50",
                           &config, &error),
                     HF_OK);
    assert_int_equal(config.host_count, 2);
    assert_string_equal(config.hosts[0].name, "a");
    assert_int_equal(config.hosts[0].port, 1);
    assert_string_equal(config.hosts[1].name, "::1");
    assert_int_equal(config.hosts[1].port, 2);
    assert_int_equal(config.db, 3);
    assert_int_equal(config.ttl_ms, 3000);
    assert_int_equal(config.clock_drift, 50);
    assert_int_equal(config.wait, 2);
    assert_int_equal(config.layout, HF_REDIS_LAYOUT_REDIS_PY);
    assert_string_equal(config.user, "u");
    assert_string_equal(config.password, "p@");
    assert_false(config.tls);
}

TEST(defaults_stand_for_the_rest)
{
    struct hf_redis_config config;
    struct hf_error error;

    assert_int_equal(parse("rediss://h", &config, &error), HF_OK);
    assert_int_equal(config.host.port, HF_REDIS_PORT);
    assert_int_equal(config.db, 0);
    assert_int_equal(config.ttl_ms, 10000);
    assert_int_equal(config.wait, 0);
    assert_int_equal(config.layout, HF_REDIS_LAYOUT_QUEUE);
    assert_false(config.authenticates);
    assert_true(config.tls);
    assert_int_equal(parse("redis:/run/redis.sock?db=4", &config, &error),
                     HF_OK);
    assert_string_equal(config.path, "/run/redis.sock");
    assert_int_equal(config.db, 4);
}

TEST(wrong_parts_are_refused)
{
    static const struct {
        const char *url;
        const char *text;
    } rows[] = {
        {"redis://", "the server of the URL is empty"},
        {"redis:relative", "neither \"//\" nor a path"},
        {"redis://h:0", "has no valid port"},
        {"redis://h:65536", "has no valid port"},
        {"redis://a,,b", "is empty"},
        {"redis://h/x", "db=\"x\" is not a number in range"},
        {"redis://h/65536", "from 0 to 65535: the number of the database"},
        {"redis://h/1?db=2", "both a database in its path and db="},
        {"redis://h?ttl=999ms", "from 1s to 1h"},
        {"redis://h?ttl=2h", "ttl=\"2h\" is not a duration in range"},
        {"redis://h?clock_drift=0", "from 1 to 50: by how many percent clocks"},
        {"redis://h?clock_drift=51", "clock_drift=\"51\" is not a number"},
        {"redis://h?clock_drift=9%25", "clock_drift=\"9%\" is not a number"},
        {"redis://h?wait=17", "from 0 to 16: how many replicas"},
        {"redis://h?layout=other", "expected layout=queue or redis-py"},
        {"redis://h?ca=/ca.pem", "does not know the option \"ca\""},
        {"rediss://h?ca=ca.pem", "ca=\"ca.pem\" is not an absolute path"},
        {"rediss://h?key=/k.pem", "only one of cert= and key="},
        {"rediss:/run/redis.sock", "TLS over a unix socket"},
        {"redis://QJXZW@h", "not a password in front of it"},
        {"redis://u:QJXZW@h?auth_file=/f", "both a user and auth_file="},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_redis_config config;
        struct hf_error error;

        assert_int_equal(parse(rows[i].url, &config, &error), HF_EURL);
        if (strstr(error.text, rows[i].text) == NULL)
            assert_string_equal(error.text, rows[i].text);
        assert_null(strstr(error.text, "QJXZW"));
    }
}
