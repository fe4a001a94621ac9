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
        bool participants;
    } rows[] = {
        {"holdfast:{a/b}:queue", "a/b", false},
        {"holdfast:{a/b}:participants", "a/b", true},
        {"holdfast:{100%25}:queue", "100%", false},
        {"holdfast:{%7Bx%7D}:queue", "{x}", false},
        {"holdfast:{a/b}:until", NULL, false},
        {"holdfast:{a/b}:queued", NULL, false},
        {"holdfast:{a/b}:quorum:queue", NULL, false},
        {"holdfast:{a/b/}:queue", NULL, false}, /* of its flags */
        {"holdfast:{}:queue", NULL, false},
        {"holdfast:{%41}:queue", NULL, false}, /* not as we write it */
        {"holdfast:{%7b}:queue", NULL, false},
        {"holdfast:{%7}:queue", NULL, false},
        {"holdfast:{%}:queue", NULL, false},
        {"holdfast:{{}:queue", NULL, false},
        {"holdfast:{a", NULL, false},
        {"other", NULL, false},
        {"", NULL, false},
    };
    char queue[HF_REDIS_KEY_BYTES];
    bool participants;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool ours = hf_redis_scan_read_key(rows[i].key, queue, &participants);

        assert_int_equal(ours, rows[i].queue != NULL);
        if (!ours)
            continue;
        assert_string_equal(queue, rows[i].queue);
        assert_int_equal(participants, rows[i].participants);
    }
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
                   "*6\r\n$4\r\nSCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$18\r\n"
                   "holdfast:{*}:[qm]*\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n");
    expect_command("a*{", "7 run2 99",
                   "*6\r\n$4\r\nSCAN\r\n$2\r\n99\r\n$5\r\nMATCH\r\n$24\r\n"
                   "holdfast:{a\\*%7B*}:[qm]*\r\n$5\r\nCOUNT\r\n"
                   "$4\r\n1000\r\n");
    /* Another process has another order of keys. */
    expect_command("", "7 run1 99",
                   "*6\r\n$4\r\nSCAN\r\n$1\r\n0\r\n$5\r\nMATCH\r\n$18\r\n"
                   "holdfast:{*}:[qm]*\r\n$5\r\nCOUNT\r\n$4\r\n1000\r\n");
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
