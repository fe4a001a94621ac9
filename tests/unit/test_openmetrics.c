/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of metrics: what may be in a label, and users that stop it.  And
 * which names are kept when there are too many. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "metrics/metrics_sum.h"
#include "metrics/openmetrics.h"

static const struct hf_metric_family family = {"locks", HF_METRIC_GAUGE,
                                               "How many there are."};

/* What was written. */
struct text {
    char bytes[16384];
    size_t used;
    unsigned calls;
    unsigned calls_max; /* false from then on; 0: never */
};

static bool write_text(void *arg, const char *bytes, size_t count)
{
    struct text *text = arg;

    text->calls++;
    assert_true(text->used + count < sizeof(text->bytes));
    memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
    return text->calls != text->calls_max;
}

static struct hf_openmetrics writer_to(struct text *text, bool json)
{
    return (struct hf_openmetrics){.write = {write_text, text}, .json = json};
}

/* A sample with that label is written so by ${out}. */
static void assert_written(struct text *text, struct hf_openmetrics *out,
                           const char *value, const char *expected)
{
    hf_openmetrics_number(out, &family, (struct hf_metric_label){"name", value},
                          7);
    assert_true(hf_openmetrics_end(out));
    text->bytes[text->used] = '\0';
    assert_string_equal(text->bytes, expected);
}

static void assert_label(const char *value, bool json, const char *expected)
{
    struct text text = {.used = 0};
    struct hf_openmetrics out = writer_to(&text, json);

    assert_written(&text, &out, value, expected);
}

/* U+202E, U+200B, U+3164, a tag and U+00E9, which can be seen. */
#define DECEIVING                                                              \
    "a\xe2\x80\xae\xe2\x80\x8b\xe3\x85\xa4\xf3\xa0\x80\x81\xc3\xa9"

static void a_terminal_gets_nothing_that_deceives(void **state)
{
    struct text text = {.used = 0};
    struct hf_openmetrics out = writer_to(&text, false);

    (void)state;
    out.terminal = true;
    assert_written(&text, &out, DECEIVING,
                   "locks{name=\"a????\xc3\xa9\"} 7\n# EOF\n");
    assert_label(DECEIVING, false, "locks{name=\"" DECEIVING "\"} 7\n# EOF\n");
    assert_label(DECEIVING, true,
                 "{\"metric\":\"locks\",\"labels\":{\"name\":"
                 "\"a\\u202e\\u200b\\u3164\\udb40\\udc01\xc3\xa9\"},"
                 "\"value\":7}\n");
}

static void a_label_can_be_any_text(void **state)
{
    (void)state;
    assert_label("a/b", false, "locks{name=\"a/b\"} 7\n# EOF\n");
    assert_label("a\"} 9\n#\\", false,
                 "locks{name=\"a\\\"} 9\\n#\\\\\"} 7\n# EOF\n");
    assert_label("a\"\\\n\t\x1f", true,
                 "{\"metric\":\"locks\",\"labels\":{\"name\":"
                 "\"a\\\"\\\\\\n\\u0009\\u001f\"},\"value\":7}\n");
}

static void a_long_label_is_written_whole(void **state)
{
    struct text text = {.used = 0};
    struct hf_openmetrics out = writer_to(&text, false);
    char value[5001];

    (void)state;
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    hf_openmetrics_number(&out, &family,
                          (struct hf_metric_label){"name", value}, 7);
    assert_true(hf_openmetrics_end(&out));
    text.bytes[text.used] = '\0';
    assert_int_equal(text.used, strlen("locks{name=\"\"} 7\n# EOF\n") + 5000);
    assert_non_null(strstr(text.bytes, value));
}

static void nothing_is_written_after_a_failure(void **state)
{
    struct text text = {.used = 0, .calls_max = 1};
    struct hf_openmetrics out = writer_to(&text, false);

    (void)state;
    for (int i = 0; i < 1000; i++)
        hf_openmetrics_number(&out, &family,
                              (struct hf_metric_label){NULL, NULL}, 7);
    assert_false(hf_openmetrics_end(&out));
    assert_int_equal(text.calls, 1);
}

static void the_names_of_least_weight_are_left_out(void **state)
{
    enum { COUNT = HF_METRICS_SUM_NAMES + 10 };
    struct hf_metrics_sum sum = {.count = COUNT};

    (void)state;
    sum.names = calloc(COUNT, sizeof(*sum.names));
    assert_non_null(sum.names);
    for (unsigned i = 0; i < COUNT; i++)
        sum.names[i].weight = i * 7 % COUNT; /* each weight once */
    hf_metrics_sum_trim(&sum);
    assert_int_equal(sum.count, HF_METRICS_SUM_NAMES);
    for (size_t i = 0; i < sum.count; i++)
        assert_int_equal(sum.names[i].weight, COUNT - 1 - i);
    hf_metrics_sum_trim(&sum);
    assert_int_equal(sum.count, HF_METRICS_SUM_NAMES);
    free(sum.names);
}

/* An event without a name, such as the end of an acquire of several locks, is
 * in the sum of all, and not in that of the names. */
static void what_has_no_name_is_no_other_name(void **state)
{
    struct hf_metrics_sum_name name = {.stats = {.acquired = 4}};
    struct hf_metrics_sum sum = {.all = {.acquired = 12, .lost = 3},
                                 .named = {.acquired = 9, .lost = 1},
                                 .names = &name,
                                 .count = 1};
    struct hf_lock_stats others;

    (void)state;
    hf_metrics_sum_others(&sum, &others);
    assert_int_equal(others.acquired, 5);
    assert_int_equal(others.lost, 1);
}

TEST_FILE(openmetrics)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_gets_nothing_that_deceives),
        cmocka_unit_test(a_label_can_be_any_text),
        cmocka_unit_test(a_long_label_is_written_whole),
        cmocka_unit_test(nothing_is_written_after_a_failure),
        cmocka_unit_test(the_names_of_least_weight_are_left_out),
        cmocka_unit_test(what_has_no_name_is_no_other_name),
    };

    return RUN_TESTS(tests, NULL, NULL);
}
