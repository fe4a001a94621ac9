/* SPDX-License-Identifier: Apache-2.0 */
/* URLs of engines, and durations in them. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include <holdfast/holdfast.h>

#include "base/quote.h"
#include "base/secret.h"
#include "base/url.h"
#include "base/utf8.h"

#define PASSWORD "hunter2"

static void assert_text(const char *got, const char *expected)
{
    if (expected == NULL)
        assert_null(got);
    else
        assert_string_equal(got, expected);
}

TEST(test_inner)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    assert_int_equal(
        hf_url_parse("quorum:redis://u:p%2C@a/1,redis:/b?ttl=1s", &url, &error),
        HF_OK);
    assert_string_equal(url.inner, "redis://u:p%2C@a/1,redis:/b");
    assert_string_equal(url.path, "");
    assert_null(url.authority);
    assert_string_equal(hf_url_option(&url, "ttl"), "1s");
    hf_url_free(&url);
    assert_int_equal(hf_url_parse("redis://a", &url, &error), HF_OK);
    assert_null(url.inner);
    hf_url_free(&url);
    assert_true(hf_url_has_secret("quorum:redis://a,redis://:p@b,redis://c"));
    assert_false(hf_url_has_secret("quorum:redis://a,redis://b,redis://c"));
}

/* After a bare '?' in a password the rest would be read as options. */
TEST(test_no_at_behind_the_inner)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    assert_int_equal(
        hf_url_parse("quorum:redis://u:a?" PASSWORD "=b@c", &url, &error),
        HF_EURL);
    assert_non_null(strstr(error.text, "has an '@' at offset"));
    assert_null(strstr(error.text, PASSWORD));
}

TEST(test_parts)
{
    static const struct {
        const char *text, *scheme, *user, *password, *authority, *path;
    } rows[] = {
        {"file:", "file", NULL, NULL, NULL, ""},
        {"file:?mode=group", "file", NULL, NULL, NULL, ""},
        {"file:/run/holdfast", "file", NULL, NULL, NULL, "/run/holdfast"},
        {"FILE:/Run", "file", NULL, NULL, NULL, "/Run"},
        {"file:///run", "file", NULL, NULL, "", "/run"},
        {"file:/a%20b%2Fc%25", "file", NULL, NULL, NULL, "/a b/c%"},
        {"file:/a b", "file", NULL, NULL, NULL, "/a b"},
        {"file:/caf\u00e9@home", "file", NULL, NULL, NULL, "/caf\u00e9@home"},
        {"zk://h1", "zk", NULL, NULL, "h1", ""},
        {"zk://h1:2181,h2/chroot?timeout=10s", "zk", NULL, NULL, "h1:2181,h2",
         "/chroot"},
        {"zk://u:p@h1:2181,h2/c", "zk", "u", "p", "h1:2181,h2", "/c"},
        {"zk://u@h", "zk", "u", NULL, "h", ""},
        {"redis://:p@h/0", "redis", "", "p", "h", "/0"},
        {"redis://u:@h", "redis", "u", "", "h", ""},
        {"zk://u:a%40b%3A%2F%3F%23@h", "zk", "u", "a@b:/?#", "h", ""},
        {"zk://u:a@b@h", "zk", "u", "a@b", "h", ""},
        {"zk://u:a:b@h", "zk", "u", "a:b", "h", ""},
        {"zk://[::1]:2181/", "zk", NULL, NULL, "[::1]:2181", "/"},
        {"postgresql://%2Fvar%2Frun/db", "postgresql", NULL, NULL, "/var/run",
         "/db"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hf_error error = {HF_OK, ""};
        struct hf_url url;

        if (hf_url_parse(rows[i].text, &url, &error) != HF_OK)
            fail_msg("%s: %s", rows[i].text, error.text);
        assert_text(url.scheme, rows[i].scheme);
        assert_text(url.user, rows[i].user);
        assert_text(url.password, rows[i].password);
        assert_text(url.authority, rows[i].authority);
        assert_text(url.path, rows[i].path);
        hf_url_free(&url);
        assert_null(url.memory);
    }
}

TEST(test_options)
{
    struct hf_error error;
    struct hf_url url;

    assert_int_equal(
        hf_url_parse("zk://h?timeout=10s&a_file=/x%26y=z?+", &url, &error),
        HF_OK);
    assert_int_equal(url.option_count, 2);
    assert_string_equal(hf_url_option(&url, "timeout"), "10s");
    assert_string_equal(hf_url_option(&url, "a_file"), "/x&y=z?+");
    assert_null(hf_url_option(&url, "time"));
    hf_url_free(&url);

    assert_int_equal(hf_url_parse("file:/x?a=", &url, &error), HF_OK);
    assert_string_equal(hf_url_option(&url, "a"), "");
    hf_url_free(&url);
    assert_int_equal(hf_url_parse("file:/x?", &url, &error), HF_OK);
    assert_int_equal(url.option_count, 0);
    hf_url_free(&url);
}

/* The URL is refused with a text that has ${part} and no password. */
static void assert_refused(const char *text, const char *part)
{
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;

    if (hf_url_parse(text, &url, &error) != HF_EURL)
        fail_msg("%s was not refused", text);
    assert_int_equal(error.status, HF_EURL);
    assert_null(url.memory);
    if (strstr(error.text, part) == NULL)
        fail_msg("no %s in: %s", part, error.text);
    assert_non_null(strstr(error.text, "expected"));
    assert_null(strstr(error.text, PASSWORD));
    assert_null(strstr(error.text, "hunter"));
    assert_true(hf_utf8_valid(error.text, strlen(error.text)));
    assert_int_equal(hf_url_parse(text, &url, NULL), HF_EURL);
}

TEST(test_malformed)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"", "scheme"},
        {":", "scheme"},
        {"/run/holdfast", "scheme"},
        {"@prod", "profile"},
        {"1file:/run", "scheme"},
        {"fi le:/run", "scheme"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:/", "scheme"},
        {"file:run", "absolute path"},
        {"file:run/x", "\"file:\""},
        {"file:/a%", "at offset 7, in the path"},
        {"file:/a%4", "in the path"},
        {"file:/a%zz", "in the path"},
        {"file:/a%00b", "NUL (\"%00\") at offset 7, in the path"},
        {"file:/a%ff", "path of the URL is not valid UTF-8"},
        {"file:/a\xc3", "path of the URL is not valid UTF-8"},
        {"file:/a%c0%af", "not valid UTF-8"},
        {"file:/a\nb", "\\x0A at offset 7"},
        {"file:/a\x7f", "\\x7F"},
        {"file:/a#b", "'#' at offset 7"},
        {"file:/x?a", "option 1"},
        {"file:/x?=1", "option 1"},
        {"file:/x?A=1", "option 1"},
        {"file:/x?a=1&", "option 2"},
        {"file:/x?a=1&&b=2", "option 2"},
        {"file:/x?&a=1", "option 1"},
        {"file:/x?a=1&a=2", "\"a\" twice"},
        {"file:/x?a=1&%61=2", "\"a\" twice"},
        {"file:/x?a=%00", "value of the option \"a\""},
        {"file:/x?a=%x", "value of the option \"a\""},
        {"file:/x?%00=1", "key of option 1"},
        {"file:/x?a=%ff", "value of the option \"a\""},
        {"quorum:redis://a,\xff", "servers of the URL are not valid UTF-8"},
        {"zk://%zz", "host list"},
        {"zk://u%zz:p@h", "user"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_refused(rows[i].text, rows[i].part);
}

TEST(test_limits)
{
    char text[10001] = "file:/x?";
    struct hf_error error;
    struct hf_url url;
    size_t used = strlen(text);

    for (unsigned i = 0; i < HF_URL_OPTIONS; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%sk%u=v",
                                 i > 0 ? "&" : "", i);
    assert_int_equal(hf_url_parse(text, &url, &error), HF_OK);
    assert_int_equal(url.option_count, HF_URL_OPTIONS);
    hf_url_free(&url);
    snprintf(text + used, sizeof(text) - used, "&last=v");
    assert_refused(text, "more than 32 options");

    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "file:/", 6);
    text[sizeof(text) - 1] = '\0';
    assert_refused(text, "10000 bytes; expected at most 4096");
    text[HF_URL_BYTES] = '\0';
    assert_int_equal(hf_url_parse(text, &url, &error), HF_OK);
    assert_int_equal(strlen(url.path), HF_URL_BYTES - 5);
    hf_url_free(&url);

    memset(text, 'k', 200);
    memcpy(text, "file:?", 6);
    memcpy(text + 200, "=1", 3);
    assert_refused(text, "option 1");
}

/* A URL with a password is never printed, whatever is wrong with it. */
TEST(test_password_is_never_printed)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"zk://u:" PASSWORD "%zz@h", "in the password"},
        {"zk://u:" PASSWORD "%00@h", "in the password"},
        {"zk://u:" PASSWORD "%ff@h", "password of the URL"},
        {"zk://u:" PASSWORD "\n@h", "\\x0A"},
        {"zk://u:" PASSWORD "#@h", "'#'"},
        {"zk://u:" PASSWORD "/@h", "'@'"},
        {"zk://u:x/" PASSWORD "@h", "'@'"},
        {"zk://u:x?" PASSWORD "@h", "'@'"},
        {"zk://u:x@y/" PASSWORD "@h", "'@'"},
        {"zk://u:x@y?" PASSWORD "=@h", "'@'"},
        {"zk:u:" PASSWORD "@h", "absolute path"},
        {"u:" PASSWORD "@h", "absolute path"},
        {"//u:" PASSWORD "@h", "scheme"},
        {"z k://u:" PASSWORD "@h", "scheme"},
        {PASSWORD "@h", "scheme"},
        {"zk://u:" PASSWORD "@h?a", "option 1"},
        {"zk://u:" PASSWORD "@h?a=1&a=2", "\"a\" twice"},
        {"redis://h?password=" PASSWORD "%zz", "\"password\""},
        {"redis://h?password=" PASSWORD "&password=" PASSWORD, "twice"},
        {"redis://h?password" PASSWORD, "option 1"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_refused(rows[i].text, rows[i].part);
        if (strchr(rows[i].text, '@') != NULL && i != 14)
            assert_true(hf_url_has_secret(rows[i].text));
    }
}

TEST(test_has_secret)
{
    static const char *const with[] = {
        "zk://u:p@h",
        "zk://:p@h/c?x=y",
        "zk://u:p/q@h",
        "zk://u:p?q@h",
        "u:p@h",
        "u:/p@h",
        "redis://h/?password=p",
        "redis://h/?a=b&PASSWORD=p",
        "redis://h/?pass%77ord=p",
        "zk://h?auth=digest:u:p",
        "postgresql://h/db?sslpassword=p",
    };
    static const char *const without[] = {
        "",
        "file:",
        "file:/run/holdfast",
        "file:/home/a@b",
        "zk://h1:2181,h2:2181/chroot?timeout=10s",
        "zk://u@h:2181",
        "zk://h?auth_file=/etc/holdfast.auth",
        "redis://u@[::1]:6379",
        "nonsense",
    };

    for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
        if (!hf_url_has_secret(with[i]))
            fail_msg("no secret seen in %s", with[i]);
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
        if (hf_url_has_secret(without[i]))
            fail_msg("a secret seen in %s", without[i]);
}

TEST(test_secrets_are_hidden)
{
    static const char *const rows[][2] = {
        {"no URL: a@b, 12:30 or mail:u@h", "no URL: a@b, 12:30 or mail:u@h"},
        {"zk://u:pwd@h1:2181,h2/c", "zk://u:***@h1:2181,h2/c"},
        {"zk://h1:2181,h2/c?timeout=10s", "zk://h1:2181,h2/c?timeout=10s"},
        {"cannot open 'postgres:/u:pwd@h/db', twice",
         "cannot open 'postgres:/u:***@h/db', twice"},
        {"postgres:u:pwd@h", "postgres:u:***@h"},
        {"etcd:u:pwd@h", "etcd:u:***@h"},
        {"etcds:u:pwd@h", "etcds:u:***@h"},
        {"redis:/:pw@h: no", "redis:/:**@h: no"},
        {"postgresql://:5432/u:pwd@h", "postgresql://:***@h"},
        {"quorum:redis://:a@x,redis://:bcde@y", "quorum:redis:***@y"},
        {"/x/redis:/u:p:w@z@h", "/x/redis:/u:***@h"},
        {"postgresql:/db?a=b&password=secret&c=d and foo:/u:pwd@h",
         "postgresql:/db?a=b&password=***&c=d and foo:/u:***@h"},
        {"redis://h?PASSWD=secret", "redis://h?PASSWD=***"},
        {"redis://h?pass%77d=secret&a=b", "redis://h?pass%77d=***&a=b"},
        {"crawl:/h?filter%5Bid%5D=3&a%b=1", "crawl:/h?filter%5Bid%5D=3&a%b=1"},
        {"redis://h?P%61ss=secret&pass%00=a", "redis://h?P%61ss=***&pass%00=a"},
        {"postgresql://u:pw@h/db?password=one&a=b&sslpassword=two bad",
         "postgresql://u:**@h/db?password=***&a=b&sslpassword=*** bad"},
        {"postgresql://u:***@h/db?sslpassword=two",
         "postgresql://u:***@h/db?sslpassword=***"},
        {"redis://h?password=one&a=b:two@c",
         "redis://h?password=***&a=b:***@c"},
        {"redis://h?password=one:1&a=two@c&auth=e",
         "redis://h?password=***&auth=*"},
        {"postgresql://u:pw@h/db?password=one@two&pwd=three&d=e",
         "postgresql://u:***&pwd=***&d=e"},
        {"h?password=a:/b&auth=two&x=c:three@d",
         "h?password=***&auth=***&x=c:***@d"},
        {"redis://h?auth=", "redis://h?auth="},
        {"file:/home/a@b: zk://u@h", "file:/home/a@b: zk://u@h"},
    };
    char text[200];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)snprintf(text, sizeof(text), "%s", rows[i][0]);
        hf_secret_hide(text);
        assert_string_equal(text, rows[i][1]);
        hf_secret_hide(text); /* of what is hidden nothing more */
        assert_string_equal(text, rows[i][1]);
    }
}

/* The password of a text is hidden before it is cut. */
TEST(test_quoted_secrets_are_hidden)
{
    char text[300];

    assert_string_equal(hf_quote("zk:/u:p w@h", 11).text, "\"zk:/u:***@h\"");
    assert_string_equal(
        hf_quote("postgres:/u:p@h?password=one&sslpassword=two", 44).text,
        "\"postgres:/u:***@h?password=***&sslpassword=***\"");
    assert_string_equal(
        hf_quote("postgres:/u:p@h?password=one@two&pwd=three", 42).text,
        "\"postgres:/u:***&pwd=***\"");
    memset(text, 'x', sizeof(text));
    memcpy(text, "redis://:", 9);
    text[290] = '@';
    assert_string_equal(hf_quote(text, sizeof(text)).text,
                        "\"redis://:***@xxxxxxxxx\"");
}

TEST(test_durations)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {
        {"0s", 0},
        {"0ms", 0},
        {"250ms", 250},
        {"10s", 10000},
        {"5m", 300000},
        {"2h", 7200000},
        {"1d", 86400000},
        {"007s", 7000},
        {"1m30s", 90000},
        {"2h500ms", 7200500},
        {"1d2h3m4s5ms", 93784005},
        {"1m90s", 150000},
        {"18446744073709551615ms", UINT64_MAX},
        {"18446744073709551s", UINT64_C(18446744073709551000)},
    };
    static const char *const bad[] = {
        "",
        "s",
        "10",
        "10 s",
        " 10s",
        "10s ",
        "+10s",
        "-10s",
        "1.5s",
        "1e3s",
        "10S",
        "10sec",
        "10w",
        "0x10s",
        "10ms5s",
        "30s1m",
        "1m1m",
        "1m30",
        "1m 30s",
        "1m-30s",
        "1ms1m",
        "213503982334d9999999999999h",
        "18446744073709551615ms1ms",
        "ms",
        "18446744073709551616ms",
        "18446744073709552s",
        "99999999999999999999999999s",
        "213503982335d",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        uint64_t ms = 1;

        if (!hf_duration_parse(good[i].text, &ms))
            fail_msg("%s was refused", good[i].text);
        assert_true(ms == good[i].ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint64_t ms;

        if (hf_duration_parse(bad[i], &ms))
            fail_msg("\"%s\" was taken", bad[i]);
    }
}
