/* SPDX-License-Identifier: Apache-2.0 */
/* A link checks the setup of its server once a minute, beside a renewal.
 * There is no connection, so that a minute takes no time. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include <hiredis/hiredis.h>
#include <uv.h>

#include "base/memory.h"
#include "engines/redis/redis_link.h"

static uint64_t now_ms;
static unsigned warnings;
static struct hf_engine engine;
static struct hf_redis_link_shared base;
static struct hf_redis_link *ours;
static hf_status down; /* HF_OK: it is not */
static char why[HF_CONNECTION_TEXT_BYTES];
static struct hf_store_call call;

static uint64_t get_now_ms(void *arg)
{
    (void)arg;
    return now_ms;
}

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    (void)arg;
    (void)format;
    assert_int_equal(level, HF_LOG_WARNING);
    warnings++;
}

static void on_up(void *arg, struct hf_redis_link *events, uint64_t server_ms)
{
    (void)arg;
    (void)events;
    (void)server_ms;
}

static void on_down(void *arg, struct hf_redis_link *events, hf_status status,
                    const char *text)
{
    (void)arg;
    (void)events;
    down = status;
    (void)snprintf(why, sizeof why, "%s", text);
}

static void on_answered(void *arg, struct hf_redis_link *events,
                        struct hf_store_call *answered,
                        const struct hf_store_answer *answer)
{
    (void)arg;
    (void)events;
    assert_ptr_equal(answered, &call);
    assert_true(answer->ok);
}

static void receive_reply(struct hf_redis_connection *wire, const char *text)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    ours->connection_listener.reply(ours, wire, reply);
    freeReplyObject(reply);
    redisReaderFree(reader);
}

static void receive_info(const char *info)
{
    char text[512];

    (void)snprintf(text, sizeof text, "$%zu\r\n%s\r\n", strlen(info), info);
    receive_reply(&ours->calls, text);
}

#define GOOD "redis_version:7.0.0\r\nrole:master\r\naof_enabled:1\r\n"

/* The link is up, as after a handshake in which the server said ${info}. */
static void rise(const char *info)
{
    ours->state = HF_REDIS_LINK_CONNECTING;
    ours->connection_listener.up(ours, &ours->calls);
    ours->connection_listener.up(ours, &ours->notices);
    receive_info(info);
    receive_reply(&ours->calls,
                  "$40\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
    receive_reply(&ours->calls, "*0\r\n"); /* what the user may do */
    receive_reply(&ours->calls, "*2\r\n$1\r\n1\r\n$1\r\n0\r\n");
    receive_reply(&ours->notices, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    assert_int_equal(ours->state, HF_REDIS_LINK_UP);
    assert_int_equal(down, HF_OK);
}

static int begin(void **state)
{
    static const struct hf_redis_link_listener listener = {
        .up = on_up, .down = on_down, .answered = on_answered};
    static struct hf_redis_config config;

    (void)state;
    now_ms = 5000;
    warnings = 0;
    down = HF_OK;
    engine = (struct hf_engine){.loop = uv_default_loop()};
    engine.host.now_ms = get_now_ms;
    engine.host.log = on_log;
    base = (struct hf_redis_link_shared){.engine = &engine};
    config.ttl_ms = 10000;
    ours = hf_redis_link_new(&base, &config, &listener);
    assert_non_null(ours);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    hf_redis_link_free(ours);
    (void)uv_run(engine.loop, UV_RUN_DEFAULT);
    return 0;
}

/* Answer a renewal without tickets.  True if the server was asked for more. */
static bool renew(void)
{
    bool asked;

    ours->calls.out.used = 0;
    call = (struct hf_store_call){.kind = HF_STORE_RENEW};
    hf_redis_link_call(ours, &call);
    asked = memmem(ours->calls.out.bytes, ours->calls.out.used, "INFO", 4);
    receive_reply(&ours->calls, "*2\r\n$1\r\n1\r\n$1\r\n0\r\n");
    receive_reply(&ours->notices, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    return asked;
}

#define FIXTURE_TEST(name) TEST_WITH(name, begin, finish)

FIXTURE_TEST(it_looks_once_a_minute)
{
    rise(GOOD);
    assert_false(renew());
    now_ms += 59999;
    assert_false(renew());
    now_ms++;
    assert_true(renew());
    receive_info(GOOD);
    assert_false(renew());
    now_ms += 60000;
    assert_true(renew());
    receive_info(GOOD);
    assert_int_equal(ours->state, HF_REDIS_LINK_UP);
    assert_int_equal(warnings, 0);
}

FIXTURE_TEST(what_it_sees_counts_as_on_connecting)
{
    static const struct {
        const char *info;
        hf_status status;
        const char *part;
    } rows[] = {
        {GOOD "maxmemory_policy:allkeys-lru\r\n", HF_EUNSUPPORTED,
         "expected maxmemory-policy noeviction"},
        {"redis_version:7.0.0\r\nrole:slave\r\n", HF_EUNREACHABLE,
         "expected the address of its primary"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rise(GOOD);
        now_ms += 60000;
        assert_true(renew());
        receive_info(rows[i].info);
        assert_int_equal(down, rows[i].status);
        assert_non_null(strstr(why, rows[i].part));
        assert_int_not_equal(ours->state, HF_REDIS_LINK_UP);
        down = HF_OK;
    }
}

FIXTURE_TEST(an_error_is_no_sight)
{
    static const char *const errors[] = {"-NOPERM not any more\r\n",
                                         "-BUSY with a script\r\n", ":1\r\n"};

    rise(GOOD);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        now_ms += 60000;
        assert_true(renew());
        receive_reply(&ours->calls, errors[i]);
        assert_int_equal(ours->state, HF_REDIS_LINK_UP);
    }
}

FIXTURE_TEST(that_it_forgets_is_said_once)
{
    rise("redis_version:7.0.0\r\naof_enabled:0\r\n");
    assert_int_equal(warnings, 1);
    now_ms += 60000;
    assert_true(renew());
    receive_info("redis_version:7.0.0\r\naof_enabled:0\r\n");
    assert_int_equal(ours->state, HF_REDIS_LINK_UP);
    assert_int_equal(warnings, 1);
}

FIXTURE_TEST(that_it_forgets_since_now_too)
{
    rise(GOOD);
    now_ms += 60000;
    assert_true(renew());
    receive_info("redis_version:7.0.0\r\naof_enabled:0\r\n");
    assert_int_equal(ours->state, HF_REDIS_LINK_UP);
    assert_int_equal(warnings, 1);
}

FIXTURE_TEST(what_may_not_be_seen_is_not_asked_for)
{
    ours->state = HF_REDIS_LINK_CONNECTING;
    ours->connection_listener.up(ours, &ours->calls);
    ours->connection_listener.up(ours, &ours->notices);
    receive_reply(&ours->calls, "-NOPERM this user\r\n");
    receive_reply(&ours->calls,
                  "$40\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
    receive_reply(&ours->calls, "*0\r\n"); /* what the user may do */
    receive_reply(&ours->calls, "*2\r\n$1\r\n1\r\n$1\r\n0\r\n");
    receive_reply(&ours->notices, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    assert_int_equal(ours->state, HF_REDIS_LINK_UP);
    assert_int_equal(warnings, 1);
    now_ms += 60000;
    assert_false(renew());
}
