/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a URL's options: what each reader takes, what it refuses and in
 * which words, and that a field whose option is not given stays as it is. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/url_options.h"
#include "cmocka/runner.h"

struct config {
    uint64_t ttl_ms;
    uint64_t number;
    int layout;
    char path[9];
};

static const char *const layouts[] = {"ours", "theirs", NULL};

static const struct hf_url_option_row rows[] = {
    {.key = "ttl",
     .read = hf_url_read_duration,
     .offset = offsetof(struct config, ttl_ms),
     .min = 500,
     .max = 3600000,
     .help = "how long it lives"},
    {.key = "number",
     .read = hf_url_read_number,
     .offset = offsetof(struct config, number),
     .min = 1,
     .max = UINT64_MAX,
     .help = "how many"},
    {.key = "layout",
     .read = hf_url_read_choice,
     .offset = offsetof(struct config, layout),
     .choices = layouts,
     .help = "whose"},
    {.key = "path",
     .read = hf_url_read_path,
     .offset = offsetof(struct config, path),
     .max = sizeof(((struct config *)NULL)->path) - 1,
     .help = "where"},
    {.key = "elsewhere"},
};

static hf_status read_options(const char *text, struct config *config,
                              struct hf_error *error)
{
    struct hf_url url;
    hf_status status;

    assert_int_equal(hf_url_parse(text, &url, error), HF_OK);
    status = hf_url_options_read(&url, rows, sizeof rows / sizeof rows[0],
                                 config, error);
    hf_url_free(&url);
    return status;
}

TEST(given_values_are_read)
{
    struct config config = {0};
    struct hf_error error;

    assert_int_equal(read_options("x:/?ttl=1h&number=18446744073709551615&"
                                  "layout=theirs&path=/1234567&elsewhere=1",
                                  &config, &error),
                     HF_OK);
    assert_int_equal(config.ttl_ms, 3600000);
    assert_true(config.number == UINT64_MAX);
    assert_int_equal(config.layout, 1);
    assert_string_equal(config.path, "/1234567");
}

TEST(others_stay)
{
    struct config config = {7, 8, 9, "/a"};
    struct hf_error error;

    assert_int_equal(read_options("x:/?number=1", &config, &error), HF_OK);
    assert_int_equal(config.ttl_ms, 7);
    assert_int_equal(config.number, 1);
    assert_int_equal(config.layout, 9);
    assert_string_equal(config.path, "/a");
}

TEST(wrong_values_are_refused)
{
    static const struct {
        const char *url;
        const char *text;
    } refused[] = {
        {"x:/?ttl=499ms", "ttl=\"499ms\" is not a duration in range; expected "
                          "one from 500ms to 1h: how long it lives"},
        {"x:/?ttl=3601s", "ttl=\"3601s\" is not a duration"},
        {"x:/?ttl=1", "ttl=\"1\" is not a duration"},
        {"x:/?number=0", "number=\"0\" is not a number in range; expected "
                         "digits, from 1 to 18446744073709551615: how many"},
        {"x:/?number=18446744073709551616", "is not a number"},
        {"x:/?number=99999999999999999999", "is not a number"},
        {"x:/?number=-1", "is not a number"},
        {"x:/?number=", "number=\"\" is not a number"},
        {"x:/?layout=Ours", "layout=\"Ours\" is not known; expected "
                            "layout=ours or theirs: whose"},
        {"x:/?path=a", "path=\"a\" is not an absolute path; expected one of "
                       "at most 8 bytes: where"},
        {"x:/?path=/12345678", "is not an absolute path"},
        {"x:/?nothing=1", "x: does not know the option \"nothing\"; expected "
                          "ttl, number, layout, path, elsewhere"},
    };

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct config config = {0};
        struct hf_error error;

        assert_int_equal(read_options(refused[i].url, &config, &error),
                         HF_EURL);
        if (strstr(error.text, refused[i].text) == NULL)
            assert_string_equal(error.text, refused[i].text);
        assert_int_equal(config.ttl_ms + config.number, 0);
        assert_string_equal(config.path, "");
    }
}
