/* SPDX-License-Identifier: Apache-2.0 */
/* The names of queues in Redis: which keys are theirs, what SCAN is asked, and
 * where the next page begins. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/redis/resp.h"
#include "engines/redis/scan.h"

TEST(keys)
{
    static const struct {
        const char *key;
        const char *queue; /* NULL: it is none of ours */
        enum hf_redis_scan_key which;
    } rows[] = {
        {"holdfast:{a/b}:queue", "a/b", HF_REDIS_SCAN_QUEUE},
        {"holdfast:{a/b}:participants", "a/b", HF_REDIS_SCAN_PARTICIPANTS},
        {"holdfast:{a/b}:last", "a/b", HF_REDIS_SCAN_LAST},
        {"holdfast:{100%25}:queue", "100%", HF_REDIS_SCAN_QUEUE},
        {"holdfast:{%7Bx%7D}:queue", "{x}", HF_REDIS_SCAN_QUEUE},
        {"holdfast:{a/b}:quorum:last", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{a/b}:until", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{a/b}:queued", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{a/b}:quorum:queue", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{a/b/}:queue", NULL,
         HF_REDIS_SCAN_NO_KEY}, /* of its flags */
        {"holdfast:{}:queue", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{%41}:queue", NULL,
         HF_REDIS_SCAN_NO_KEY}, /* not as we write it */
        {"holdfast:{%7b}:queue", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{%7}:queue", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{%}:queue", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{{}:queue", NULL, HF_REDIS_SCAN_NO_KEY},
        {"holdfast:{a", NULL, HF_REDIS_SCAN_NO_KEY},
        {"other", NULL, HF_REDIS_SCAN_NO_KEY},
        {"", NULL, HF_REDIS_SCAN_NO_KEY},
    };
    char queue[HF_REDIS_KEY_BYTES];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(hf_redis_scan_read_key(rows[i].key, queue),
                         rows[i].which);
        if (rows[i].queue != NULL)
            assert_string_equal(queue, rows[i].queue);
    }
}

/* A name is left out only if there is no ticket for sure. */
TEST(last_keys)
{
    static const struct {
        const char *text;
        bool open;
    } rows[] = {
        {"2 1764000000000000", false},
        {"2 1764000000000000 0123 4567 10000 1 1 host=h", true},
        {"2 1764000000000000 ", true},
        {"1764000000000000", true}, /* the other keys have the tickets */
        {"3 1764000000000000", true},
        {"", true},
        {NULL, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(hf_redis_scan_last_is_open(rows[i].text),
                         rows[i].open);
}

/* The command for ${prefix} behind ${cursor}, sent to the process "run2". */
static void expect_command(const char *prefix, const char *cursor,
                           const char *expected)
{
    struct hf_names_request names = {cursor, strlen(cursor), false};
    struct hf_store_call call = {
        .kind = HF_STORE_NAMES, .prefix = prefix, .names = &names};
    struct hf_resp resp = {0};

    hf_redis_scan_put(&resp, &call, "run2");
    assert_false(resp.failed);
    assert_int_equal(resp.used, strlen(expected));
    assert_memory_equal(resp.bytes, expected, resp.used);
    hf_resp_free(&resp);
}

TEST(commands)
{
    expect_command("", "",
                   "*6\r\n$4\r\nSCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$19\r\n"
                   "holdfast:{*}:[lqp]*\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n");
    expect_command("a*{", "7 run2 99",
                   "*6\r\n$4\r\nSCAN\r\n$2\r\n99\r\n$5\r\nMATCH\r\n$25\r\n"
                   "holdfast:{a\\*%7B*}:[lqp]*\r\n$5\r\nCOUNT\r\n"
                   "$4\r\n1000\r\n");
    /* Another process has another order of keys. */
    expect_command("", "7 run1 99",
                   "*6\r\n$4\r\nSCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$19\r\n"
                   "holdfast:{*}:[lqp]*\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n");
}

TEST(cursors)
{
    struct hf_names_request names = {"8192 run1 5", strlen("8192 run1 5"),
                                     false};
    struct hf_store_call call = {.kind = HF_STORE_NAMES, .names = &names};
    char cursor[HF_REDIS_CURSOR_BYTES];

    assert_int_equal(hf_redis_scan_slot(&call), 8192);
    assert_int_equal(hf_redis_scan_next(&call, "run2", "17", cursor),
                     strlen("8192 run2 17"));
    assert_string_equal(cursor, "8192 run2 17");
    assert_int_equal(hf_redis_scan_next(&call, "run2", "0", cursor), 0);
    assert_int_equal(hf_redis_scan_begin(9, cursor), strlen("9  0"));
    names = (struct hf_names_request){cursor, strlen(cursor), false};
    assert_int_equal(hf_redis_scan_slot(&call), 9);
    names = (struct hf_names_request){"99999 x 0", strlen("99999 x 0"), false};
    assert_int_equal(hf_redis_scan_slot(&call), 0);
    names.cursor_bytes = 0;
    assert_int_equal(hf_redis_scan_slot(&call), 0);
}
