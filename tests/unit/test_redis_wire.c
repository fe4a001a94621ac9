/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of a Redis server on the wire: they have a bound before they are
 * complete, and TLS is recognized where it was not expected.  The transport
 * link below is that of the test. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/redis/redis_connection.h"

struct hf_connection {
    struct hf_connection_callbacks user;
    bool open;
};

static struct hf_connection the_link;
static struct hf_redis_connection wire;
static struct hf_connection_config way;
static unsigned replies;
static unsigned tls_records;
static char down[HF_CONNECTION_TEXT_BYTES];

struct hf_connection *
__wrap_hf_connection_open(const struct hf_connection_config *opened,
                          const struct hf_connection_callbacks *user,
                          hf_status *status,
                          char why[HF_CONNECTION_TEXT_BYTES]);
void __wrap_hf_connection_close(struct hf_connection *closed,
                                enum hf_connection_close_mode end);

struct hf_connection *
__wrap_hf_connection_open(const struct hf_connection_config *opened,
                          const struct hf_connection_callbacks *user,
                          hf_status *status, char why[HF_CONNECTION_TEXT_BYTES])
{
    (void)opened;
    (void)status;
    (void)why;
    the_link = (struct hf_connection){*user, true};
    return &the_link;
}

void __wrap_hf_connection_close(struct hf_connection *closed,
                                enum hf_connection_close_mode end)
{
    (void)end;
    closed->open = false;
}

static void on_reply(void *arg, struct hf_redis_connection *from,
                     const struct redisReply *reply)
{
    (void)arg;
    (void)from;
    (void)reply;
    replies++;
}

static void on_met_tls(void *arg, struct hf_redis_connection *from)
{
    (void)arg;
    tls_records++;
    hf_redis_connection_close(from, HF_CONNECTION_ABORT);
}

static void on_down(void *arg, struct hf_redis_connection *from,
                    hf_status status, const char *why)
{
    (void)arg;
    assert_int_equal(status, HF_EPROTOCOL);
    strcpy(down, why);
    hf_redis_connection_close(from, HF_CONNECTION_ABORT);
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct hf_redis_connection_listener listener = {.reply = on_reply,
                                                             .got_tls_record =
                                                                 on_met_tls,
                                                             .down = on_down,
                                                             .enter = nothing,
                                                             .leave = nothing};

static int begin(void **state)
{
    char why[HF_CONNECTION_TEXT_BYTES];
    hf_status status;

    (void)state;
    replies = tls_records = 0;
    down[0] = '\0';
    return hf_redis_connection_open(&wire, &way, &listener, &status, why) ? 0
                                                                          : -1;
}

static int end(void **state)
{
    (void)state;
    hf_redis_connection_close(&wire, HF_CONNECTION_ABORT);
    return 0;
}

static void receive(const char *bytes, size_t count)
{
    the_link.user.received(the_link.user.arg, bytes, count);
}

static void receive_text(const char *text)
{
    receive(text, strlen(text));
}

#define FIXTURE_TEST(name) TEST_WITH(name, begin, end)

/* ----------------------------------------------------------------- tests -- */

FIXTURE_TEST(a_reply_without_an_end_is_hung_up_on)
{
    static char bytes[1 << 20];
    size_t sent = 0;

    receive_text("$536870912\r\n");
    for (; the_link.open; sent += sizeof bytes) {
        assert_true(sent < HF_RESP_REPLY_BYTES_MAX + sizeof bytes);
        receive(bytes, sizeof bytes);
    }
    assert_non_null(strstr(down, "more than 16 MiB"));
}

/* Each reply has its own bound. */
FIXTURE_TEST(many_replies_have_no_bound)
{
    static char bytes[1 << 20];

    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 20; i++) {
        receive_text("$1048576\r\n");
        receive(bytes, sizeof bytes);
        receive_text("\r\n");
    }
    assert_true(the_link.open);
    assert_int_equal(replies, 20);
}

FIXTURE_TEST(an_array_has_a_bound)
{
    static const char *const arrays[] = {"*65537\r\n", "*2147483647\r\n",
                                         "*4294967295\r\n", "*-2\r\n",
                                         "*1\r\n*65537\r\n"};

    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        (void)end(NULL);
        assert_int_equal(begin(NULL), 0);
        receive_text(arrays[i]);
        assert_false(the_link.open);
        assert_true(down[0] != '\0');
    }
    (void)end(NULL);
    assert_int_equal(begin(NULL), 0);
    receive_text("*65536\r\n:1\r\n");
    assert_true(the_link.open);
}

/* hiredis makes an object of 100 bytes for each element, of three bytes here.
 */
FIXTURE_TEST(all_arrays_of_a_reply_have_a_bound)
{
    size_t sent = 0;

    for (int reply = 0; reply < 20; reply++) { /* of each its own */
        receive_text("*65536\r\n");
        for (size_t i = 0; i < 65536; i++)
            receive_text("+\r\n");
    }
    assert_true(the_link.open);
    assert_int_equal(replies, 20);
    receive_text("*65536\r\n");
    while (the_link.open) {
        assert_true(sent < HF_RESP_ELEMENTS_ALL_MAX);
        receive_text("*1024\r\n");
        for (size_t i = 0; i < 1024 && the_link.open; i++, sent++)
            receive_text("+\r\n");
    }
    assert_non_null(strstr(down, "524288 in all"));
    assert_int_equal(replies, 20);
}

/* ------------------------------------------------------------------- TLS -- */

/* True if the first bytes begin a TLS record. */
static bool meets_tls(const char *bytes, size_t count)
{
    bool met;

    (void)end(NULL);
    assert_int_equal(begin(NULL), 0);
    receive(bytes, count);
    met = tls_records == 1;
    assert_true(!met || (!the_link.open && down[0] == '\0' && replies == 0));
    return met;
}

FIXTURE_TEST(a_tls_record_comes_instead_of_the_first_reply)
{
    assert_true(meets_tls("\x15\x03\x01\x00\x02\x02\x0a", 7));
    assert_true(meets_tls("\x15\x03\x03", 3));
    assert_true(meets_tls("\x16\x03\x03\x00\x7a\x02", 6));
    assert_true(meets_tls("\x15", 1));
    assert_true(meets_tls("\x16", 1));
    assert_false(meets_tls("\x15x\r\n", 4));
    assert_false(meets_tls("\x17\x03\x03", 3));
    assert_false(meets_tls("+\x15\x03\r\n", 5));
    assert_false(meets_tls("-ERR no\r\n", 9));
    assert_int_equal(replies, 1);
}

FIXTURE_TEST(later_it_is_nonsense)
{
    receive_text("+OK\r\n");
    receive_text("\x15\x03\x03");
    assert_int_equal(tls_records, 0);
    assert_int_equal(replies, 1);
    assert_non_null(strstr(down, "not Redis'"));
}

/* Through TLS, and over a socket file, there is no port for TLS to name. */
FIXTURE_TEST(where_it_cannot_be_it_is_nonsense)
{
    static const struct hf_tls_ops tls = {.abi = HF_TLS_ABI};

    way.tls = &tls;
    assert_false(meets_tls("\x15\x03\x03", 3));
    assert_non_null(strstr(down, "not Redis'"));
    way = (struct hf_connection_config){.path = "/redis.sock"};
    assert_false(meets_tls("\x15\x03\x03", 3));
    assert_non_null(strstr(down, "not Redis'"));
    way = (struct hf_connection_config){0};
}

/* A handshake record, complete to its last byte and of no known message,
 * which is also one line without a byte 0. */
FIXTURE_TEST(the_question_is_a_record_and_a_line)
{
    const unsigned char *asked = (const unsigned char *)hf_redis_tls_probe;
    size_t count = HF_REDIS_TLS_PROBE_BYTES;

    assert_int_equal(strlen(hf_redis_tls_probe), count);
    assert_true(hf_redis_is_tls_record(asked, count));
    assert_int_equal(asked[0], 0x16);
    assert_int_equal(asked[3] << 8 | asked[4], count - 5);
    assert_true(asked[5] > 24 && asked[5] < 254); /* RFC 8446, B.3 */
    assert_ptr_equal(strchr(hf_redis_tls_probe, '\r'), asked + count - 2);
    assert_ptr_equal(strchr(hf_redis_tls_probe, '\n'), asked + count - 1);
}
