/* SPDX-License-Identifier: Apache-2.0 */
/* Which names a lock may have. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include <holdfast/holdfast.h>

#include "base/utf8.h"
#include "core/lock_name.h"

#define GUID "_c_0c6ac0f4-1d10-4eb5-8f19-1df2b9f3a3c1-"
#define HEX32 "0c6ac0f41d104eb58f191df2b9f3a3c1"

static void assert_accepted(const char *name, const char *expected)
{
    struct hf_error error = {HF_OK, ""};
    const char *canonical = NULL;

    if (hf_lock_name_check(name, &canonical, &error) != HF_OK)
        fail_msg("\"%s\" was refused: %s", name, error.text);
    assert_string_equal(canonical, expected);
    assert_int_equal(error.status, HF_OK);
}

/* The name is refused, with a text that has ${part} and says what was
 * expected. */
static void assert_refused(const char *name, const char *part)
{
    static const char untouched[] = "untouched";
    const char *canonical = untouched;
    struct hf_error error = {HF_OK, ""};

    if (hf_lock_name_check(name, &canonical, &error) != HF_ENAME)
        fail_msg("\"%s\" was not refused", name);
    assert_int_equal(error.status, HF_ENAME);
    if (strstr(error.text, part) == NULL)
        fail_msg("no %s in: %s", part, error.text);
    assert_non_null(strstr(error.text, "expected"));
    assert_true(hf_utf8_valid(error.text, strlen(error.text)));
    assert_ptr_equal(canonical, untouched);
    assert_int_equal(hf_lock_name_check(name, &canonical, NULL), HF_ENAME);
}

TEST(test_plain_names)
{
    static const char *const names[] = {
        "a",
        "nightly-report",
        "team/app/nightly",
        "a b",
        "a.b",
        ".a",
        "a.",
        "...",
        "..a",
        "a..",
        "caf\u00e9",
        "\u9501/\u20ac",
        "%2F",
        "a\\b",
        "{tag}",
        "-",
        "_",
        "~",
        "a\u00a0b",
        "\u2028",
        "\ud7ff",
        "\uf900",
        "\uffef",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_accepted(names[i], names[i]);
}

TEST(test_one_leading_slash_is_dropped)
{
    assert_accepted("/a", "a");
    assert_accepted("/team/a", "team/a");
    assert_refused("//a", "empty component");
}

TEST(test_components)
{
    assert_refused("", "\"\" is empty");
    assert_refused("/", "\"/\" is empty");
    assert_refused("//", "empty component");
    assert_refused("a/", "\"a/\"");
    assert_refused("a//b", "\"a//b\" has an empty component");
    assert_refused("a/b/", "\"a/b/\"");
    assert_refused(".", "\".\"");
    assert_refused("..", "\"..\"");
    assert_refused("/..", "\"..\"");
    assert_refused("a/./b", "\".\"");
    assert_refused("../../etc/passwd", "\"..\"");
    assert_refused("a/..", "\"..\"");
}

TEST(test_lengths)
{
    char name[10001];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_refused(name, "has 10000 bytes; expected at most 1024");
    name[HF_NAME_COMPONENT_BYTES + 1] = '\0';
    assert_refused(name, "has 256 bytes; expected at most 255");
    name[HF_NAME_COMPONENT_BYTES] = '\0';
    assert_accepted(name, name);

    /* Four components of 255 and their slashes are 1023. */
    memset(name, 'x', sizeof(name) - 1);
    for (size_t i = 0; i < 3; i++)
        name[i * 256 + 255] = '/';
    name[1023] = '\0';
    assert_accepted(name, name);
    memcpy(name + 1022, "/x", 3);
    assert_accepted(name, name);
    memcpy(name + 1022, "/xx", 4);
    assert_refused(name, "has 1025 bytes");

    /* The slash at the end is dropped and does not count. */
    memset(name, 'x', 1025);
    for (size_t i = 0; i < 5; i++)
        name[i * 205] = '/';
    name[1025] = '\0';
    assert_accepted(name, name + 1);
}

TEST(test_characters)
{
    for (int byte = 1; byte < 0x20; byte++) {
        char name[4] = {'a', (char)byte, 'b', '\0'};
        char code[16];

        snprintf(code, sizeof(code), "U+%04X", (unsigned)byte);
        assert_refused(name, code);
    }
    assert_refused("a\x7f", "U+007F at offset 1");
    assert_refused("a\x7f", "\"a\\x7F\"");
    assert_refused("\xc2\x80", "U+0080");
    assert_refused("\xc2\x9f", "U+009F");
    assert_refused("\ue000", "U+E000");
    assert_refused("\uf8ff", "U+F8FF");
    assert_refused("\ufff0", "U+FFF0");
    assert_refused("\ufffd", "U+FFFD");
    assert_refused("\xef\xbf\xbf", "U+FFFF");
    assert_refused("\U0001F511", "U+1F511");
    assert_refused("\xf4\x8f\xbf\xbf", "U+10FFFF");
}

TEST(test_bytes_that_are_no_utf8)
{
    assert_refused("a\xff", "byte \\xFF at offset 1");
    assert_refused("a/\xc0\xaf", "byte \\xC0 at offset 2");
    assert_refused("\xe0\x80\xaf", "\\xE0");
    assert_refused("\xed\xa0\x80", "\\xED");
    assert_refused("\xf4\x90\x80\x80", "\\xF4");
    assert_refused("caf\xc3", "byte \\xC3 at offset 3");
    assert_refused("\x80", "\\x80");
}

TEST(test_reserved_words)
{
    assert_refused("zookeeper", "\"zookeeper\"");
    assert_refused("/zookeeper/quota", "\"zookeeper\"");
    assert_accepted("a/zookeeper", "a/zookeeper");
    assert_accepted("zookeepers", "zookeepers");
    assert_accepted("locks", "locks");
    assert_accepted("/examples/locks", "examples/locks");
    assert_accepted("a/leases", "a/leases");
    assert_accepted("locks/nightly", "locks/nightly");
    assert_accepted("leases/nightly", "leases/nightly");
    assert_accepted("Locks", "Locks");
}

TEST(test_tickets_of_every_dialect)
{
    static const char *const tickets[] = {
        GUID "lock-0000000007",           /* Curator */
        GUID "lock--2147483648",          /* after the counter went negative */
        GUID "lock--000000001",           /* -1 as "%010d" */
        GUID "__READ__0000000007",        /* its readers */
        GUID "__WRIT__0000000007",        /* its writers */
        GUID "lease-0000000007",          /* its semaphores */
        GUID "latch-0000000007",          /* its leader latches */
        "lock-0000000007",                /* without protection */
        "_c_" HEX32 "-lock-0000000007",   /* go-zookeeper */
        HEX32 "__lock__0000000007",       /* kazoo */
        HEX32 "__rlock__0000000007",      /* its readers */
        "x-72057594037927936-0000000007", /* WriteLock in Java */
        "x-0100000000000000-0000000007",  /* and in C */
        "x-72057594037927936--2147483648",
    };
    char name[100];

    for (size_t i = 0; i < sizeof(tickets) / sizeof(tickets[0]); i++) {
        assert_refused(tickets[i], "looks like a ticket");
        snprintf(name, sizeof(name), "team/%s", tickets[i]);
        assert_refused(name, "looks like a ticket");
        snprintf(name, sizeof(name), "team/%s/deep", tickets[i]);
        assert_refused(name, tickets[i]);
    }
}

TEST(test_names_near_a_ticket)
{
    static const char *const names[] = {
        "lock-7",
        "lock-20240131",
        "lock-00000000007",
        "lock-0000000007a",
        "lock0000000007",
        "block_0000000007",
        "lock-",
        "__lock__",
        "backup-0000000007",
        "0000000007",
        "-0000000007",
        "x-0000000007",
        "x--000000007",

        "y-1-0000000007",
        "lock-000000007",
        "lock---2147483648",
        "order-lock-2024-01",
        "x-",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_accepted(names[i], names[i]);
}
