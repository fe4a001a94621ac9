/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a postgresql:// URL.  The texts for wrong ones are in
 * tests/chaos/test_pg_inputs.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/postgres/config.h"

static void parse(const char *text, struct hf_pg_config *config)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    memset(config, 0, sizeof *config); /* an analyser knows no fail_msg() */
    if (hf_url_parse(text, &url, &error) != HF_OK ||
        hf_pg_config_parse(config, &url, &error) != HF_OK)
        fail_msg("%s: %s", text, error.text);
    hf_url_free(&url);
}

static void assert_host(const struct hf_pg_config *config, size_t number,
                        const char *name, const char *address, const char *port)
{
    assert_true(number < config->host_count);
    assert_string_equal(config->hosts[number].name, name);
    assert_string_equal(config->hosts[number].address, address);
    assert_string_equal(config->hosts[number].port, port);
}

static const char *setting(const struct hf_pg_config *config, const char *key)
{
    for (size_t i = 0; i < config->setting_count; i++) {
        if (strcmp(config->settings[i].keyword, key) == 0)
            return config->settings[i].value;
    }
    return NULL;
}

TEST(usual_values)
{
    struct hf_pg_config config;

    parse("postgresql://h/d", &config);
    assert_int_equal(config.host_count, 1);
    assert_host(&config, 0, "h", "", "");
    assert_int_equal(config.ttl_ms, 10000);
    assert_int_equal(config.pooler, HF_PG_NO_POOLER);
    assert_string_equal(config.schema_owner, "");
    assert_string_equal(setting(&config, "dbname"), "d");
    assert_null(setting(&config, "user"));
    hf_pg_config_free(&config);
}

TEST(all_that_can_be_said)
{
    struct hf_pg_config config;

    parse("postgresql://u:p%40@h:1,[::1]:2,%2Frun%2Fpg:3,h/d"
          "?ttl=3s&clock_drift=2&pooler=session&schema_owner=A%20b&sslmode="
          "verify-full&"
          "keepalives_idle=7",
          &config);
    assert_int_equal(config.host_count, 4);
    assert_host(&config, 0, "h", "", "1");
    assert_host(&config, 1, "::1", "", "2");
    assert_host(&config, 2, "/run/pg", "", "3");
    assert_host(&config, 3, "h", "", "");
    assert_string_equal(setting(&config, "user"), "u");
    assert_string_equal(setting(&config, "password"), "p@");
    assert_string_equal(setting(&config, "sslmode"), "verify-full");
    assert_string_equal(setting(&config, "keepalives_idle"), "7");
    assert_null(setting(&config, "ttl"));
    assert_null(setting(&config, "pooler"));
    assert_null(setting(&config, "schema_owner"));
    assert_string_equal(config.schema_owner, "A b");
    assert_int_equal(config.ttl_ms, 3000);
    assert_int_equal(config.clock_drift, 2);
    assert_int_equal(config.pooler, 0);
    hf_pg_config_free(&config);
}

TEST(lists_of_libpq)
{
    struct hf_pg_config config;

    parse("postgresql:///d?host=a,b&hostaddr=1.2.3.4,&port=5", &config);
    assert_int_equal(config.host_count, 2);
    assert_host(&config, 0, "a", "1.2.3.4", "5");
    assert_host(&config, 1, "b", "", "5");
    hf_pg_config_free(&config);
    parse("postgresql:///d?hostaddr=1.2.3.4,5.6.7.8&port=5,6", &config);
    assert_host(&config, 0, "", "1.2.3.4", "5");
    assert_host(&config, 1, "", "5.6.7.8", "6");
    hf_pg_config_free(&config);
    parse("postgresql:?port=5", &config);
    assert_int_equal(config.host_count, 1);
    assert_host(&config, 0, "", "", "5");
    hf_pg_config_free(&config);
    parse("postgresql:?service=elsewhere", &config);
    assert_int_equal(config.host_count, 0);
    hf_pg_config_free(&config);
}

TEST(the_environment_says_the_rest)
{
    struct hf_pg_config config;

    assert_int_equal(setenv("PGHOST", "a,b", 1), 0);
    assert_int_equal(setenv("PGPORT", "7", 1), 0);
    parse("postgresql:", &config);
    assert_int_equal(config.host_count, 2);
    assert_host(&config, 1, "b", "", "7");
    hf_pg_config_free(&config);
    parse("postgresql://c", &config); /* libpq asks for the port itself */
    assert_int_equal(config.host_count, 1);
    assert_host(&config, 0, "c", "", "");
    hf_pg_config_free(&config);
    assert_int_equal(unsetenv("PGHOST"), 0);
    assert_int_equal(unsetenv("PGPORT"), 0);
}

static void refuse(const char *text, const char *part)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_pg_config config;
    struct hf_url url;

    assert_int_equal(hf_url_parse(text, &url, &error), HF_OK);
    assert_int_equal(hf_pg_config_parse(&config, &url, &error), HF_EURL);
    assert_non_null(strstr(error.text, part));
    hf_url_free(&url);
}

TEST(more_than_there_is_room_for_is_refused)
{
    static char name[16 * HF_URL_BYTES];

    refuse("postgresql:?host=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "16");
    memset(name, 'h', sizeof name - 1);
    assert_int_equal(setenv("PGHOST", name, 1), 0);
    refuse("postgresql:", "too long");
    assert_int_equal(unsetenv("PGHOST"), 0);
}

TEST(a_description_has_no_secret)
{
    struct hf_pg_config config;
    char text[64];

    parse("postgresql://u:sesame@h:1,[::1]:2/d?sslpassword=sesame", &config);
    hf_pg_config_describe(&config, text, sizeof text);
    assert_string_equal(text, "h:1,[::1]:2/d");
    hf_pg_config_describe(&config, text, 4);
    assert_string_equal(text, "h:1");
    hf_pg_config_free(&config);
}
