/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of etcd clusters, and what is wrong with them. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "etcd/etcd_url.h"
#include "etcd/server_version.h"

static hf_status parse(const char *text, struct hf_etcd_url_config *config,
                       struct hf_error *error)
{
    struct hf_url url;
    hf_status status;

    assert_int_equal(hf_url_parse(text, &url, error), HF_OK);
    status = hf_etcd_url_parse(config, &url, error);
    hf_url_free(&url);
    return status;
}

TEST(the_defaults)
{
    struct hf_etcd_url_config config;
    struct hf_error error;

    assert_int_equal(parse("etcd://h1", &config, &error), HF_OK);
    assert_int_equal(config.session.server_count, 1);
    assert_string_equal(config.session.servers[0].host, "h1");
    assert_int_equal(config.session.servers[0].port, 2379);
    assert_string_equal(config.session.prefix, "");
    assert_string_equal(config.session.user, "");
    assert_int_equal(config.session.ttl_ms, 10000);
    assert_int_equal(config.session.clock_drift, HF_CLOCK_DRIFT);
    assert_int_equal(config.session.proof, HF_ETCD_PROOF_EAGER);
    assert_int_equal(config.session.lease_mode, HF_ETCD_LEASE_FOR_TICKETS);
    assert_false(config.session.tls);
    assert_int_equal(config.token_floor, 0);
}

TEST(everything)
{
    struct hf_etcd_url_config config;
    struct hf_error error;

    assert_int_equal(
        parse("etcds://alice:s%40cret@h1,[::1]:4001,10.0.0.1:1/a/b?ttl=30s&"
              "proof=lazy&clock_drift=3&token_floor=7&ca=/ca&cert=/c&key=/k&"
              "retry=once",
              &config, &error),
        HF_OK);
    assert_int_equal(config.session.server_count, 3);
    assert_string_equal(config.session.servers[1].host, "::1");
    assert_int_equal(config.session.servers[1].port, 4001);
    assert_string_equal(config.session.prefix, "a/b/");
    assert_string_equal(config.session.user, "alice");
    assert_string_equal(config.session.password, "s@cret");
    assert_int_equal(config.session.ttl_ms, 30000);
    assert_int_equal(config.session.clock_drift, 3);
    assert_int_equal(config.session.proof, HF_ETCD_PROOF_LAZY);
    assert_true(config.session.tls);
    assert_int_equal(config.token_floor, 7);
    assert_string_equal(config.files.ca, "/ca");
}

/* The path is the beginning of all keys, and ends with '/'. */
TEST(prefixes)
{
    static const struct {
        const char *url;
        const char *prefix;
    } rows[] = {
        {"etcd://h", ""},        {"etcd://h/", ""},
        {"etcd://h/a", "a/"},    {"etcd://h/a/", "a/"},
        {"etcd://h//a", "/a/"},  {"etcd://h/a/b", "a/b/"},
        {"etcd://h/a//", "a//"},
    };
    struct hf_etcd_url_config config;
    struct hf_error error;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(parse(rows[i].url, &config, &error), HF_OK);
        assert_string_equal(config.session.prefix, rows[i].prefix);
    }
}

/* Each with a piece of the text that says what is wrong. */
TEST(what_is_wrong_with_a_url)
{
    static const struct {
        const char *url;
        const char *text;
    } rows[] = {
        {"etcd:/locks", "names no server"},
        {"etcd://", "names no server"},
        {"etcd://h:", "server 1"},
        {"etcd://h:0", "no valid port"},
        {"etcd://h:65536", "no valid port"},
        {"etcd://h,", "server 2"},
        {"etcd://a:b:c", "more than one ':'"},
        {"etcd://[::1", "']'"},
        {"etcd://[x]", "IPv6"},
        {"etcd://[::1]x", "behind its ']'"},
        {"etcd://h%00x", NULL},
        {"etcd://h_%20", "characters"},
        {"etcd://a%40b", "'@'"},
        {"etcd://h?ttl=1s", "ttl=\"1s\""},
        {"etcd://h?ttl=301s", "ttl=\"301s\""},
        {"etcd://h?ttl=5m1ms", "ttl=\"5m1ms\""},
        {"etcd://h?proof=strict", "proof=\"strict\""},
        {"etcd://h?timeout=10s", "timeout"},
        {"etcd://h?ca=/x", "ca"},
        {"etcds://h?cert=/x", "key"},
        {"etcd://h?token_floor=9223372036854775808", "token_floor"},
        {"etcd://alice@h", "USER:PASSWORD@"},
        {"etcd://:secret@h", "USER:PASSWORD@"},
        {"etcd://alice:secret@h?auth_file=/x", "auth_file"},
    };
    struct hf_etcd_url_config config;
    struct hf_error error;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_url url;

        if (hf_url_parse(rows[i].url, &url, &error) != HF_OK)
            continue; /* refused for all engines */
        if (hf_etcd_url_parse(&config, &url, &error) != HF_EURL)
            fail_msg("%s was accepted", rows[i].url);
        if (rows[i].text == NULL || strstr(error.text, rows[i].text) == NULL)
            fail_msg("%s: %s", rows[i].url, error.text);
        assert_null(strstr(error.text, "secret"));
        hf_url_free(&url);
    }
}

TEST(the_longest_time_to_live)
{
    struct hf_etcd_url_config config;
    struct hf_error error;

    assert_int_equal(parse("etcd://h?ttl=300s", &config, &error), HF_OK);
    assert_int_equal(parse("etcd://h?ttl=2s", &config, &error), HF_OK);
}

TEST(thirty_two_servers_are_enough)
{
    struct hf_etcd_url_config config;
    struct hf_error error;
    char url[256] = "etcd://h";

    for (int i = 1; i < HF_ETCD_SERVERS_MAX; i++)
        strcat(url, ",h");
    assert_int_equal(parse(url, &config, &error), HF_OK);
    assert_int_equal(config.session.server_count, HF_ETCD_SERVERS_MAX);
    strcat(url, ",h");
    assert_int_equal(parse(url, &config, &error), HF_EURL);
}

TEST(shuffling_keeps_the_servers)
{
    struct hf_etcd_url_config config;
    struct hf_error error;
    unsigned seen = 0;

    assert_int_equal(parse("etcd://a,b,c,d", &config, &error), HF_OK);
    hf_random_seed(&config.session.random, 3);
    hf_etcd_url_shuffle(&config.session);
    for (size_t i = 0; i < 4; i++)
        seen |= 1u << (config.session.servers[i].host[0] - 'a');
    assert_int_equal(seen, 15);
}

TEST(which_servers_check_their_leader)
{
    static const struct {
        const char *version;
        bool checks;
    } rows[] = {
        {"3.4.23", false}, {"3.4.30", false},
        {"3.4.31", true},  {"3.5.0", false},
        {"3.5.12", false}, {"3.5.13", true},
        {"3.6.0", true},   {"3.3.25", false},
        {"2.3.8", false},  {"4.0.0", true},
        {"", true},        {"3.6.0-rc.1", true},
        {"next", true},    {"3.5.9-rc.0", false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (hf_etcd_version_checks_leader(rows[i].version) != rows[i].checks)
            fail_msg("%s", rows[i].version);
}
