/* SPDX-License-Identifier: Apache-2.0 */
/* Who evicted a ticket: what others wrote is cut, and cannot deceive. */
#include <string.h>

#include "cmocka/runner.h"
#include "core/evicted_by.h"

#define SAYS "its ticket was evicted by "

/* As it comes: from a notice in hexadecimal digits, and as it is. */
static void check(const char *text, const char *shown)
{
    char hex[HF_EVICTED_BY_HEX_BYTES];
    char why[HF_EVICTED_WHY_BYTES];

    assert_ptr_equal(hf_evicted_by_explain(text, strlen(text), why), why);
    assert_string_equal(why, shown);
    hf_evicted_by_encode(text, hex);
    assert_ptr_equal(hf_evicted_by_explain_hex(hex, strlen(hex), why), why);
    assert_string_equal(why, shown);
}

TEST(texts_are_shown)
{
    check("alice@db1", SAYS "alice@db1");
    check("alice@db1: 100 % \"full\" \xc3\xa9 \\n",
          SAYS "alice@db1: 100 % \"full\" \xc3\xa9 \\n");
}

TEST(what_could_deceive_is_not)
{
    check("a\x1b[2J\r\nb\x7f", SAYS "a?[2J??b?");
    check("\xff\xc3", SAYS "??");
    check("\xe2\x80\xae"
          "evil",
          SAYS "???evil");
    check("\xc2\x9b"
          "1m",
          SAYS "??1m");
}

/* The last character, which does not fit, is not split. */
TEST(long_texts_are_cut)
{
    char text[2 * HF_EVICTED_BY_BYTES];
    char why[HF_EVICTED_WHY_BYTES];
    char hex[4 * HF_EVICTED_BY_BYTES];

    memset(text, 'x', sizeof text);
    assert_non_null(hf_evicted_by_explain(text, sizeof text, why));
    assert_int_equal(strlen(why), strlen(SAYS) + HF_EVICTED_BY_BYTES);
    memcpy(text + HF_EVICTED_BY_BYTES - 1, "\xc3\xa9", 2);
    assert_non_null(hf_evicted_by_explain(text, sizeof text, why));
    assert_int_equal(strlen(why), strlen(SAYS) + HF_EVICTED_BY_BYTES - 1);
    memset(hex, '6', sizeof hex);
    assert_non_null(hf_evicted_by_explain_hex(hex, sizeof hex, why));
    assert_int_equal(strlen(why), strlen(SAYS) + HF_EVICTED_BY_BYTES);
}

TEST(what_is_no_text_says_nothing)
{
    static const char *const digits[] = {"",   "6",    "x1", "1x",
                                         "00", "0061", "GG", "  "};
    char why[HF_EVICTED_WHY_BYTES];

    assert_null(hf_evicted_by_explain("", 0, why));
    assert_null(hf_evicted_by_explain("\0a", 2, why));
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++)
        assert_null(
            hf_evicted_by_explain_hex(digits[i], strlen(digits[i]), why));
}
