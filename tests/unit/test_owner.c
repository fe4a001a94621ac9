/* SPDX-License-Identifier: Apache-2.0 */
/* The description of the owner in a ticket: written, read, and made safe for
 * a terminal and for JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "base/url.h"
#include "base/utf8.h"
#include "client/owner_text.h"
#include "cmocka/runner.h"
#include "command/format.h"
#include "command/json.h"

TEST(what_is_written_is_read)
{
    static const char text[] = "gr\xc3\xbc\xc3\x9f dich = 100% %41";
    char payload[HF_PAYLOAD_BYTES];
    struct hf_owner owner;
    time_t now = time(NULL);

    hf_owner_text_write(payload, 5000, text);
    assert_true(hf_owner_text_parse(payload, 7500, &owner));
    assert_string_equal(owner.text, text);
    assert_int_equal(owner.pid, getpid());
    assert_int_equal(owner.thread, getpid());
    assert_string_equal(owner.command, "unit_client");
    assert_true(owner.host[0] != '\0');
    assert_int_equal(owner.age_ms, 2500);
    assert_true(owner.at_utc_ms / 1000 + 5 >= (uint64_t)now);
    assert_true(owner.at_utc_ms / 1000 <= (uint64_t)now + 5);
}

static int in_child(void)
{
    char payload[HF_PAYLOAD_BYTES];
    struct hf_owner owner;

    hf_owner_text_write(payload, 5000, NULL);
    return hf_owner_text_parse(payload, 5000, &owner) &&
                   owner.pid == (uint64_t)getpid() &&
                   owner.thread == (uint64_t)gettid()
               ? 0
               : 1;
}

/* Although its parent has written a text on the same thread. */
TEST(a_child_of_a_fork_names_itself)
{
    char payload[HF_PAYLOAD_BYTES];
    pid_t child;
    int status;

    hf_owner_text_write(payload, 5000, NULL);
    assert_true((child = test_fork()) >= 0);
    if (child == 0)
        _exit(in_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST(the_longest_text_fits)
{
    char payload[HF_PAYLOAD_BYTES];
    char text[HF_OWNER_TEXT_BYTES + 1];
    struct hf_owner owner;

    memset(text, ' ', sizeof text - 1); /* three bytes each */
    text[sizeof text - 1] = '\0';
    hf_owner_text_write(payload, UINT64_MAX - 1, text);
    assert_true(strlen(payload) < HF_PAYLOAD_BYTES);
    assert_true(hf_owner_text_parse(payload, UINT64_MAX, &owner));
    assert_string_equal(owner.text, text);
}

TEST(the_host_of_an_owner_is_recognized)
{
    static const char longest[] = "a-name-of-64-bytes-0123456789-0123456789-"
                                  "0123456789-0123456789-0";
    char payload[HF_PAYLOAD_BYTES];

    hf_owner_text_write(payload, 0, "text");
    assert_true(hf_owner_text_is_of_host(payload, NULL));
    assert_false(hf_owner_text_is_of_host(payload, "another"));
    assert_true(hf_owner_text_is_of_host("host=db1 pid=7", "db1"));
    assert_false(hf_owner_text_is_of_host("host=db10 pid=7", "db1"));
    assert_false(hf_owner_text_is_of_host("host=db1 pid=7", "db10"));
    assert_false(hf_owner_text_is_of_host("host=db1 pid=7", NULL));
    /* Encoded as by us, and as nobody has to. */
    assert_true(hf_owner_text_is_of_host("host=a%20b pid=7", "a b"));
    assert_true(hf_owner_text_is_of_host("host=db%31 pid=7", "db1"));
    (void)snprintf(payload, sizeof payload, "host=%s pid=7", longest);
    assert_true(hf_owner_text_is_of_host(payload, longest));
    /* What does not fit is cut on both sides. */
    assert_true(
        hf_owner_text_is_of_host("host=%20%20%20%20%20%20%20%20%20%20%20%20%20%"
                                 "20%20%20%20%20%20%20%20%20"
                                 " pid=7",
                                 "                                        "));
    /* No text of ours. */
    assert_false(hf_owner_text_is_of_host("db1", "db1"));
    assert_false(hf_owner_text_is_of_host("host=db1", "db1"));
    assert_false(hf_owner_text_is_of_host("", ""));
}

TEST(without_a_text_there_is_none)
{
    char payload[HF_PAYLOAD_BYTES];
    struct hf_owner owner;

    hf_owner_text_write(payload, 0, NULL);
    assert_null(strstr(payload, "text="));
    assert_true(hf_owner_text_parse(payload, 0, &owner));
    assert_string_equal(owner.text, "");
}

TEST(dates_are_the_calendars)
{
    static const struct {
        const char *at;
        uint64_t seconds;
    } rows[] = {{"1970-01-01T00:00:01Z", 1},
                {"2000-02-29T12:00:00Z", 951825600},
                {"2026-11-21T16:33:00Z", 1795278780},
                {"2100-03-01T00:00:00Z", 4107542400}};
    char payload[HF_PAYLOAD_BYTES];
    struct hf_owner owner;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(payload, sizeof payload, "host=h pid=1 at=%s", rows[i].at);
        assert_true(hf_owner_text_parse(payload, 0, &owner));
        assert_true(owner.at_utc_ms == rows[i].seconds * 1000);
    }
}

/* Of another boot, of another program, empty, hostile. */
TEST(what_is_not_known_is_not_guessed)
{
    static const char *const foreign[] = {
        "",      "10.0.0.7",  "__REVOKE__",    "Host=h pid=1",
        "host=", "host=h",    "host=h pid=x",  "pid=1 host=h",
        "host",  "x host=h ", "host=h pid=0 ",
    };
    struct hf_owner owner;

    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        assert_false(hf_owner_text_parse(foreign[i], 0, &owner));
    assert_true(
        hf_owner_text_parse("host=h pid=1 since=5@00000000 at=yesterday "
                            "text=%4 thread=18446744073709551616 new=x",
                            10, &owner));
    assert_true(owner.age_ms == HF_FOREVER);
    assert_true(owner.at_utc_ms == 0);
    assert_string_equal(owner.text, "%4");
    assert_int_equal(owner.thread, 0);
}

TEST(a_program_can_read_each_word)
{
    static const struct {
        const char *owner, *key, *value; /* NULL: it is not there */
    } rows[] = {
        {"host=h pid=12 text=a%20b", "host", "h"},
        {"host=h pid=12 text=a%20b", "pid", "12"},
        {"host=h pid=12 text=a%20b", "text", "a b"},
        {"host=h later=%25 text=", "later", "%"},
        {"host=h later=%25 text=", "text", ""},
        {"host=%00%0 text=%", "host", "%00%0"},
        {"host=h text=pid=7", "pid", NULL},
        {"host=h pid", "pid", ""},
        {"host=h detect pid=7", "detect", ""},
        {"host=h detected", "detect", NULL},
        {"host=h holds=a%2Cb:01234567,c:89abcdef+", "holds",
         "a%2Cb:01234567,c:89abcdef+"},
        {"host=h outer=a%2Cb:01234567,c:89abcdef+ ends", "outer",
         "a%2Cb:01234567,c:89abcdef+"},
        {"host=h apid=7", "pid", NULL},
        {"host=h pid=7", "pi", NULL},
        {"pid=7 host=h", "pid", NULL},
        {"10.0.0.7", "host", NULL},
        {"", "host", NULL},
    };
    char text[HF_OWNER_VALUE_MAX];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *value = rows[i].value;

        memset(text, 'x', sizeof text);
        assert_int_equal(
            hf_owner_text_get(rows[i].owner, rows[i].key, text, sizeof text),
            value != NULL ? HF_OK : HF_EGONE);
        assert_string_equal(text, value != NULL ? value : "");
    }
}

/* The longest payload that can be in front of "holds=". */
static void longest(char payload[HF_PAYLOAD_BYTES])
{
    char text[HF_OWNER_TEXT_BYTES + 1];

    memset(text, '/', HF_OWNER_TEXT_BYTES);
    text[HF_OWNER_TEXT_BYTES] = '\0';
    hf_owner_text_write(payload, UINT64_MAX, text);
    hf_owner_text_add_limit(payload, UINT32_MAX, HF_WEIGHT_MAX);
    hf_owner_text_add_detect(payload);
}

TEST(what_is_held_is_said_as_far_as_it_fits)
{
    static const char id[] = "01234567-89ab-cdef-0123-456789abcdef";
    char payload[HF_PAYLOAD_BYTES], holds[HF_OWNER_VALUE_MAX];
    unsigned added = 0;

    longest(payload);
    while (hf_owner_text_add_hold(payload, HF_OWNER_HOLDS_END, "dir/name", id))
        added++;
    assert_true(added > 10);
    assert_true(strlen(payload) < HF_OWNER_HOLDS_END);
    assert_int_equal(hf_owner_text_get(payload, "holds", holds, sizeof holds),
                     HF_OK);
    assert_int_equal(strlen(holds), added * strlen("dir%2Fname:01234567,"));
    assert_memory_equal(holds, "dir%2Fname:01234567,dir", 23);
    assert_string_equal(holds + strlen(holds) - 10, ":01234567+");
    /* Nothing is added behind the sign that says that something is missing. */
    assert_false(hf_owner_text_add_hold(payload, HF_OWNER_HOLDS_END, "a", id));
    assert_int_equal(payload[strlen(payload) - 1], '+');
}

TEST(a_name_too_long_to_be_said_leaves_a_sign)
{
    static const char id[] = "01234567-89ab-cdef-0123-456789abcdef";
    char payload[HF_PAYLOAD_BYTES], holds[HF_OWNER_VALUE_MAX];
    char name[HF_NAME_BYTES + 1];

    memset(name, '%', HF_NAME_BYTES);
    name[HF_NAME_BYTES] = '\0';
    longest(payload);
    assert_false(hf_owner_text_add_hold(payload, HF_OWNER_HOLDS_END, name, id));
    assert_int_equal(hf_owner_text_get(payload, "holds", holds, sizeof holds),
                     HF_OK);
    assert_string_equal(holds, "+");
}

TEST(a_value_without_room_is_cut)
{
    char text[5] = "####";

    assert_int_equal(hf_owner_text_get("host=a%20b", "host", text, 4), HF_OK);
    assert_string_equal(text, "a b");
    assert_int_equal(hf_owner_text_get("host=a%20b", "host", text, 3),
                     HF_EINVAL);
    assert_string_equal(text, "a ");
    assert_int_equal(hf_owner_text_get("host=a%20b", "host", text, 0),
                     HF_EINVAL);
    assert_string_equal(text, "a ");
}

TEST(words_are_for_people)
{
    char words[HF_FORMAT_BYTES];

    hf_format_owner("host=db1 pid=4711 command=backup", words);
    assert_string_equal(words, "backup (pid 4711 on db1)");
    hf_format_owner("host=db1 pid=4711 command=backup text=all%20of%20it",
                    words);
    assert_string_equal(words, "backup (pid 4711 on db1): all of it");
    hf_format_owner("10.0.0.7", words);
    assert_string_equal(words, "10.0.0.7");
}

TEST(no_owner_steers_a_terminal)
{
    static const char *const hostile[] = {
        "\033[2Jhi",
        ("\xc2\x9b"
         "31m"),
        "a\r\nb\x07\x7f",
        "\xff\xc0\x80",
        "host=%1B%5B2J pid=1 command=%0A text=%C2%9B%FF",
        /* "txt.exe" written from right to left, and characters that are not
         * visible */
        "host=h pid=1 command=%E2%80%AEexe.txt text=%E2%81%A6a%E2%81%A9",
        "\u202d\u200f\u061c\u2028\u2029\ufeff\u200b",
    };
    char words[HF_FORMAT_BYTES];
    uint32_t code;

    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        size_t bytes;

        hf_format_owner(hostile[i], words);
        bytes = strlen(words);
        for (size_t at = 0, length; at < bytes; at += length) {
            length = hf_utf8_decode(words + at, bytes - at, &code);
            assert_true(length > 0 && !hf_utf8_unprintable(code));
        }
    }
    hf_format_owner("a\u202eb\u00e9", words);
    assert_string_equal(words, "a???b\u00e9");
}

TEST(durations_are_short)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {{0, "0s"},           {59999, "59s"},
                {60000, "1m00s"},    {3599999, "59m59s"},
                {3600000, "1h00m"},  {86399999, "23h59m"},
                {86400000, "1d00h"}, {UINT64_MAX, "213503982334d14h"}};
    char text[HF_DURATION_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hf_duration_format(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

TEST(durations_can_be_recognized)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {{0, "0ms"},
                {250, "250ms"},
                {999, "999ms"},
                {1000, "1s"},
                {1099, "1s"},
                {1500, "1.5s"},
                {59999, "59.9s"},
                {60000, "1m"},
                {65001, "1m05s"},
                {1800001, "30m"},
                {3661000, "1h01m"},
                {UINT64_C(2) * 86400 * 1000, "2d"},
                {UINT64_MAX, "213503982334d14h"}};
    char text[HF_DURATION_BYTES];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hf_duration_format_short(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

TEST(json_is_json)
{
    struct hf_json json = {0};
    char *text;
    size_t bytes;

    json.out = open_memstream(&text, &bytes);
    assert_non_null(json.out);
    hf_json_begin_object(&json, NULL);
    hf_json_string(&json, "a",
                   "q\"b\\s/\n\t\r\x01\x7f\xc2\x9f\xc3\xbc\xff."
                   "\u202e\u2069\xf3\xa0\x81\x81");
    hf_json_number(&json, "b", UINT64_MAX);
    hf_json_begin_list(&json, "c");
    hf_json_null(&json, NULL);
    hf_json_begin_object(&json, NULL);
    hf_json_end_object(&json);
    hf_json_end_list(&json);
    hf_json_begin_list(&json, "\xed\xa0\x80");
    hf_json_end_list(&json);
    hf_json_end_object(&json);
    assert_int_equal(fclose(json.out), 0);
    assert_string_equal(
        text, "{\n"
              "  \"a\": \"q\\\"b\\\\s/\\n\\t\\u000d\\u0001\\u007f\\u009f"
              "\xc3\xbc\\ufffd.\\u202e\\u2069\\udb40\\udc41\",\n"
              "  \"b\": 18446744073709551615,\n"
              "  \"c\": [\n"
              "    null,\n"
              "    {}\n"
              "  ],\n"
              "  \"\\ufffd\\ufffd\\ufffd\": []\n"
              "}\n");
    free(text);
}

/* ----------------------------------------------------------------- asked -- */

TEST(that_the_owner_was_asked_is_read)
{
    char payload[HF_PAYLOAD_BYTES], once[HF_PAYLOAD_BYTES];
    char at[HF_OWNER_VALUE_MAX], words[HF_FORMAT_BYTES];
    struct hf_owner owner;

    hf_owner_text_write(payload, 5000, "nightly");
    assert_int_equal(hf_owner_text_get(payload, "asked", at, sizeof at),
                     HF_EGONE);
    hf_owner_text_add_asked(payload);
    assert_int_equal(hf_owner_text_get(payload, "asked", at, sizeof at), HF_OK);
    assert_int_equal(strlen(at), strlen("2026-11-21T16:33:00Z"));
    assert_int_equal(at[10], 'T');
    assert_true(hf_owner_text_parse(payload, 5000, &owner));
    assert_string_equal(owner.text, "nightly");
    strcpy(once, payload);
    hf_owner_text_add_asked(payload);
    assert_string_equal(payload, once);
    hf_format_owner(payload, words);
    assert_non_null(strstr(words, "): nightly, asked to release"));
}

/* A text that is not ours is left as it is. */
TEST(nothing_is_added_to_another_text)
{
    char payload[HF_PAYLOAD_BYTES] = "candidate 7";

    hf_owner_text_add_asked(payload);
    assert_string_equal(payload, "candidate 7");
}

/* The whole text is added, or nothing. */
TEST(there_has_to_be_room_for_it)
{
    size_t word = strlen(" asked=2026-11-21T16:33:00Z");

    for (size_t spare = word - 1; spare <= word; spare++) {
        size_t bytes = HF_PAYLOAD_BYTES - 1 - spare;
        char payload[HF_PAYLOAD_BYTES] = "host=";

        memset(payload + 5, 'x', bytes - 5);
        payload[bytes] = '\0';
        hf_owner_text_add_asked(payload);
        assert_int_equal(strlen(payload),
                         spare == word ? HF_PAYLOAD_BYTES - 1 : bytes);
    }
}
