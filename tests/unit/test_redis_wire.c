/* SPDX-License-Identifier: Apache-2.0 */
/* What a server may make us hold: its replies have a bound before they are
 * whole.  The link below is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engines/redis/wire.h"

struct hf_link {
    struct hf_link_user user;
    bool open;
};

static struct hf_link the_link;
static struct hf_redis_wire wire;
static unsigned replies;
static char down[HF_LINK_TEXT_BYTES];

struct hf_link *__wrap_hf_link_open(const struct hf_link_way *way,
                                    const struct hf_link_user *user,
                                    hf_status *status,
                                    char why[HF_LINK_TEXT_BYTES]);
void __wrap_hf_link_close(struct hf_link *closed, enum hf_link_end end);

struct hf_link *__wrap_hf_link_open(const struct hf_link_way *way,
                                    const struct hf_link_user *user,
                                    hf_status *status,
                                    char why[HF_LINK_TEXT_BYTES])
{
    (void)way;
    (void)status;
    (void)why;
    the_link = (struct hf_link){*user, true};
    return &the_link;
}

void __wrap_hf_link_close(struct hf_link *closed, enum hf_link_end end)
{
    (void)end;
    closed->open = false;
}

static void on_reply(void *arg, struct hf_redis_wire *from,
                     const struct redisReply *reply)
{
    (void)arg;
    (void)from;
    (void)reply;
    replies++;
}

static void on_down(void *arg, struct hf_redis_wire *from, hf_status status,
                    const char *why)
{
    (void)arg;
    assert_int_equal(status, HF_EPROTOCOL);
    strcpy(down, why);
    hf_redis_wire_close(from, HF_LINK_ABORT);
}

static void nothing(void *arg)
{
    (void)arg;
}

static const struct hf_redis_wire_user user = {
    .reply = on_reply, .down = on_down, .enter = nothing, .leave = nothing};

static int begin(void **state)
{
    char why[HF_LINK_TEXT_BYTES];
    hf_status status;

    (void)state;
    replies = 0;
    down[0] = '\0';
    return hf_redis_wire_open(&wire, NULL, &user, &status, why) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    hf_redis_wire_close(&wire, HF_LINK_ABORT);
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

/* ----------------------------------------------------------------- tests -- */

static void a_reply_without_an_end_is_hung_up_on(void **state)
{
    static char bytes[1 << 20];
    size_t sent = 0;

    (void)state;
    receive_text("$536870912\r\n");
    for (; the_link.open; sent += sizeof bytes) {
        assert_true(sent < HF_REDIS_REPLY_BYTES_MAX + sizeof bytes);
        receive(bytes, sizeof bytes);
    }
    assert_non_null(strstr(down, "more than 16 MiB"));
}

/* Each is its own. */
static void many_replies_have_no_bound(void **state)
{
    static char bytes[1 << 20];

    (void)state;
    memset(bytes, 'x', sizeof bytes);
    for (int i = 0; i < 20; i++) {
        receive_text("$1048576\r\n");
        receive(bytes, sizeof bytes);
        receive_text("\r\n");
    }
    assert_true(the_link.open);
    assert_int_equal(replies, 20);
}

static void an_array_has_a_bound(void **state)
{
    static const char *const arrays[] = {"*65537\r\n", "*2147483647\r\n",
                                         "*4294967295\r\n", "*-2\r\n",
                                         "*1\r\n*65537\r\n"};

    (void)state;
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

#define STORY(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_reply_without_an_end_is_hung_up_on),
        STORY(many_replies_have_no_bound),
        STORY(an_array_has_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
