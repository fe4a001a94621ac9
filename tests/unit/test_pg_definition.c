/* SPDX-License-Identifier: Apache-2.0 */
/* The text for a schema that differs from ours, whatever a server sends as
 * its definition.  Real schemas are in tests/chaos/test_pg_rights.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/postgres/pg_private.h"
#include "engines/postgres/schema.h"

#define FOUND_BYTES 20000

static char found[FOUND_BYTES];

static void assert_differs(const char *expected)
{
    char text[HF_PG_TEXT_BYTES] = "";

    assert_true(hf_pg_definition_differs(found, true, text));
    assert_string_equal(text, expected);
}

static void put(const char *before, const char *after)
{
    assert_true((size_t)snprintf(found, sizeof found, "%s%s%s", before,
                                 hf_pg_definition, after) < sizeof found);
}

TEST(ours_does_not_differ)
{
    char text[HF_PG_TEXT_BYTES];

    put("", "");
    assert_false(hf_pg_definition_differs(found, true, text));
}

TEST(a_line_more_is_shown)
{
    put("a rule\n", "");
    assert_differs("it has \"a rule\"");
    put("", "trigger\n");
    assert_differs("it has \"trigger\"");
    put("", "cut");
    assert_differs("it has \"cut\"");
}

TEST(a_line_less_is_shown)
{
    put("", "");
    *strstr(found, "type holdfast_4.answer") = '\0';
    assert_differs("it lacks \"type holdfast_4.answer\"");
}

TEST(what_is_more_is_shown_before_what_is_less)
{
    put("", "");
    memcpy(strstr(found, "type holdfast_4.answer"), "view", 4);
    assert_differs("it has \"view holdfast_4.answer\"");
}

TEST(nothing_lacks_the_first_line)
{
    char text[HF_PG_TEXT_BYTES];

    assert_true(hf_pg_definition_differs("", true, text));
    assert_ptr_equal(strstr(text, "it lacks \"CREATE INDEX ON"), text);
}

TEST(a_line_of_others_is_cut_and_has_no_control_characters)
{
    char text[HF_PG_TEXT_BYTES];

    put("\x1b[2Jrule\n", "");
    assert_differs("it has \" [2Jrule\"");
    memset(found, 'x', sizeof found - 1);
    assert_true(hf_pg_definition_differs(found, true, text));
    assert_true(strlen(text) < 120);
    for (size_t i = 0; i + 2 < sizeof found; i += 2)
        memcpy(found + i, "\xC3\x84", 2);
    assert_true(hf_pg_definition_differs(found, true, text));
    assert_string_equal(strrchr(text, 0xC3), "\xC3\x84\"");
}
