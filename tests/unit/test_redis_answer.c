/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of a Redis server, also nonsense: replies of the scripts, errors,
 * messages, INFO; and the text of calls. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmocka/runner.h"
#include "engines/redis/command.h"
#include "engines/redis/examine.h"
#include "engines/redis/reply.h"
#include "engines/redis/server_info.h"
#include "heap/heap.h"

#define ID "6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7d44"
#define OWNER "00112233445566778899aabbccddeeff"

static redisReply *reply;
static struct hf_redis_answer *answer;

static int finish(void **state)
{
    (void)state;
    if (answer != NULL)
        hf_redis_answer_free(answer);
    freeReplyObject(reply);
    answer = NULL;
    reply = NULL;
    return 0;
}

/* Read ${text} as a reply, and begin an answer. */
static void begin_answer(const char *text)
{
    redisReader *reader = redisReaderCreate();
    void *read = NULL;

    (void)finish(NULL);
    assert_int_equal(redisReaderFeed(reader, text, strlen(text)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &read), REDIS_OK);
    assert_non_null(read);
    reply = read;
    redisReaderFree(reader);
    answer = hf_alloc(sizeof *answer);
    assert_non_null(answer);
}

/* Read ${text} as the answer to a call of ${kind}. */
static const struct hf_store_answer *take(enum hf_store_call_kind kind,
                                          const char *text)
{
    struct hf_store_call call = {.kind = kind,
                                 .detailed = kind == HF_STORE_LIST};

    begin_answer(text);
    hf_redis_answer_add_reply(answer, &call, reply);
    return &answer->answer;
}

/* A bulk string. */
static const char *bulk(const char *text)
{
    static char texts[16][2 * HF_PAYLOAD_BYTES];
    static unsigned used;
    char *to = texts[used++ % 16];

    (void)snprintf(to, sizeof texts[0], "$%zu\r\n%s\r\n", strlen(text), text);
    return to;
}

/* The reply with one ticket. */
static const char *listed(const char *id, const char *sequence,
                          const char *expires, const char *data)
{
    static char text[8192];

    (void)snprintf(text, sizeof text, "*3\r\n%s%s*1\r\n*4\r\n%s%s%s%s",
                   bulk("1700000000000"), bulk("ok"), bulk(id), bulk(sequence),
                   bulk(expires), bulk(data));
    return text;
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, finish)

/* --------------------------------------------------------------- replies -- */

FIXTURE_TEST(a_ticket_is_read)
{
    const struct hf_store_answer *a =
        take(HF_STORE_LIST, listed(ID, "1700000000000001", "9000",
                                   "4 3 2 1700000000000 " OWNER " it is me"));

    assert_int_equal(a->status, HF_OK);
    assert_true(a->server_ms == UINT64_C(1700000000000));
    assert_int_equal(a->count, 1);
    assert_int_equal(a->tickets[0].kind, HF_TICKET_LEASE);
    assert_int_equal(a->tickets[0].weight, 3);
    assert_true(a->tickets[0].sequence == UINT64_C(1700000000000001));
    assert_true(a->tickets[0].token == UINT64_C(1700000000000001));
    assert_true(a->tickets[0].created_utc_ms == UINT64_C(1700000000000));
    assert_string_equal(a->tickets[0].payload, "it is me");
    assert_int_equal(a->leases[0].revoked, 2);
    assert_int_equal(a->leases[0].expires_in_ms, 9000);
}

/* How many more are ahead follows the rows. */
FIXTURE_TEST(a_part_says_how_many_more_there_are)
{
    static const char *const numbers[] = {"", "x", "-1", "1.5", "7 "};
    const struct hf_store_answer *a;
    char text[256];

    (void)snprintf(text, sizeof text, "*4\r\n%s%s*0\r\n%s",
                   bulk("1700000000000"), bulk("ok"), bulk("7"));
    a = take(HF_STORE_LIST, text);
    assert_int_equal(a->status, HF_OK);
    assert_true(a->partial);
    assert_int_equal(a->more_ahead, 7);
    a = take(HF_STORE_LIST,
             listed(ID, "1", "1", "1 1 0 1700000000000 " OWNER " x"));
    assert_false(a->partial);
    assert_int_equal(a->more_ahead, 0);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        (void)snprintf(text, sizeof text, "*4\r\n%s%s*0\r\n%s",
                       bulk("1700000000000"), bulk("ok"), bulk(numbers[i]));
        a = take(HF_STORE_LIST, text);
        assert_int_equal(a->failure, HF_FAILURE_UNSURE);
        assert_int_equal(a->status, HF_EPROTOCOL);
    }
}

/* An entry of the queue that is no ticket is reported, and does not count. */
FIXTURE_TEST(what_is_no_ticket_is_unknown)
{
    static const char *const data[] = {"",
                                       "1",
                                       "1 1 0 0",
                                       "1 1 0 0 no-space",
                                       "6 1 0 0 " OWNER " x",
                                       "10 1 0 0 " OWNER " x",
                                       "0 1 0 0 " OWNER " x",
                                       "1 0 0 0 " OWNER " x",
                                       "1 65 0 0 " OWNER " x",
                                       "1 1 4294967296 0 " OWNER " x",
                                       "1 1 -1 0 " OWNER " x",
                                       "1 99999999999999999999 0 0 " OWNER " x",
                                       "x 1 0 0 " OWNER " x"};
    const struct hf_store_answer *a;

    for (size_t i = 0; i < sizeof data / sizeof data[0]; i++) {
        a = take(HF_STORE_LIST, listed(ID, "1", "1", data[i]));
        assert_int_equal(a->status, HF_OK);
        assert_int_equal(a->count, 0);
        assert_int_equal(a->unknown_count, 1);
        assert_string_equal(a->unknown[0], ID);
    }
    a = take(HF_STORE_LIST, listed("something", "1", "1", "else"));
    assert_int_equal(a->count, 0);
    assert_string_equal(a->unknown[0], "something");
    a = take(HF_STORE_LIST, listed(ID, "1.5", "1", "1 1 0 0 " OWNER " x"));
    assert_int_equal(a->count, 0);
}

FIXTURE_TEST(a_payload_that_is_no_text_is_left_out)
{
    char data[2 * HF_PAYLOAD_BYTES] = "1 1 0 0 " OWNER " ";
    size_t used = strlen(data);
    const struct hf_store_answer *a;

    memset(data + used, 'x', HF_PAYLOAD_BYTES);
    data[used + HF_PAYLOAD_BYTES] = '\0';
    a = take(HF_STORE_LIST, listed(ID, "1", "1", data));
    assert_string_equal(a->tickets[0].payload, "");
    a = take(HF_STORE_LIST, listed(ID, "1", "1", "1 1 0 0 " OWNER " \xff"));
    assert_string_equal(a->tickets[0].payload, "");
}

#define SHORT(number) "$18\r\n2 " number "\r\n"

/* A queue that nobody else uses: what was asked for is what is there. */
FIXTURE_TEST(the_clock_alone_is_a_short_answer)
{
    struct hf_store_call call = {.kind = HF_STORE_ENQUEUE,
                                 .ticket_kind = HF_TICKET_WRITE,
                                 .weight = 1,
                                 .payload = "host=h",
                                 .ttl_ms = 7000};
    const struct hf_store_answer *a = NULL;

    call.ticket.bytes[0] = 1;
    for (unsigned mutexes = 0; mutexes < 2; mutexes++) {
        call.ticket_kind = mutexes ? HF_TICKET_WRITE : HF_TICKET_LEASE;
        begin_answer(SHORT("1764000000123456"));
        hf_redis_answer_add_reply(answer, &call, reply);
        a = &answer->answer;
        assert_int_equal(a->status, HF_OK);
        assert_int_equal(a->server_ms, 1764000000123);
        assert_int_equal(a->count, 1);
        assert_memory_equal(&a->tickets[0].id, &call.ticket,
                            sizeof call.ticket);
        assert_int_equal(a->tickets[0].kind, call.ticket_kind);
        assert_int_equal(a->tickets[0].sequence, 1764000000123456);
        assert_int_equal(a->tickets[0].token, 1764000000123456);
        assert_int_equal(a->tickets[0].created_utc_ms, 1764000000123);
        assert_string_equal(a->tickets[0].payload, "host=h");
        assert_int_equal(a->leases[0].expires_in_ms, 7000);
        assert_int_equal(a->partial, mutexes);
        assert_int_equal(a->more_ahead, 0);
    }
    a = take(HF_STORE_REMOVE, SHORT("1764000000123456"));
    assert_int_equal(a->status, HF_OK);
    assert_true(a->found);
    assert_int_equal(a->server_ms, 1764000000123);
    a = take(HF_STORE_DOWNGRADE, SHORT("1764000000123456"));
    assert_int_equal(a->status, HF_EPROTOCOL);
    a = take(HF_STORE_REMOVE, SHORT("9007199254740992"));
    assert_int_equal(a->status, HF_EPROTOCOL);
    a = take(HF_STORE_REMOVE, SHORT("0176400000012345"));
    assert_int_equal(a->status, HF_EPROTOCOL);
    a = take(HF_STORE_REMOVE, "$18\r\n3 1764000000123456\r\n");
    assert_int_equal(a->status, HF_EPROTOCOL);
    a = take(HF_STORE_REMOVE, "$17\r\n2 176400000012345\r\n");
    assert_int_equal(a->status, HF_EPROTOCOL);
}

FIXTURE_TEST(nonsense_is_unsure)
{
    static const char *const texts[] = {"+OK\r\n",
                                        ":1\r\n",
                                        "$-1\r\n",
                                        "*0\r\n",
                                        "*1\r\n:1\r\n",
                                        "*2\r\n:1\r\n+ok\r\n",
                                        "*2\r\n$1\r\nx\r\n+ok\r\n",
                                        "*2\r\n$1\r\n1\r\n:3\r\n",
                                        "*2\r\n$1\r\n1\r\n+ok\r\n",
                                        "*3\r\n$1\r\n1\r\n+ok\r\n$1\r\nx\r\n"};
    const struct hf_store_answer *a;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        a = take(HF_STORE_ENQUEUE, texts[i]);
        assert_int_equal(a->status, HF_EPROTOCOL);
        assert_int_equal(a->failure, HF_FAILURE_UNSURE);
        assert_non_null(a->text);
    }
    a = take(HF_STORE_REMOVE, "*3\r\n$1\r\n1\r\n+ok\r\n+yes\r\n");
    assert_int_equal(a->status, HF_EPROTOCOL);
}

/* Its reply is released when a later one is answered. */
FIXTURE_TEST(only_the_first_payload_is_kept)
{
    const struct hf_store_answer *a;
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "*3\r\n$1\r\n5\r\n+ok\r\n*2\r\n*4\r\n%s%s%s%s*4\r\n%s%s%s%s",
                   bulk(ID), bulk("1"), bulk("1"), bulk("1 1 0 0 " OWNER " a"),
                   bulk(ID), bulk("2"), bulk("1"), bulk("1 1 0 0 " OWNER " b"));
    a = take(HF_STORE_ENQUEUE, text);
    freeReplyObject(reply);
    reply = NULL;
    assert_int_equal(a->count, 2);
    assert_string_equal(a->tickets[0].payload, "a");
    assert_string_equal(a->tickets[1].payload, "");
}

/* One reply for each queue that the session has a ticket in. */
FIXTURE_TEST(several_replies_with_strange_rows_are_one_fault)
{
    struct hf_store_call call = {.kind = HF_STORE_RENEW};

    (void)take(HF_STORE_RENEW, "*3\r\n$1\r\n5\r\n+ok\r\n*1\r\n*1\r\n+x\r\n");
    for (int i = 0; i < 64; i++)
        hf_redis_answer_add_reply(answer, &call, reply);
    assert_int_equal(answer->answer.status, HF_EPROTOCOL);
    assert_int_equal(answer->answer.unknown_count, 0);
}

/* A row that makes no sense makes all of the reply useless. */
FIXTURE_TEST(rows_that_make_no_sense_are_unsure)
{
    static const struct {
        enum hf_store_call_kind kind;
        const char *row;
    } rows[] = {
        {HF_STORE_EXISTS, "*2\r\n$36\r\n" ID "\r\n$1\r\n5\r\n"},
        {HF_STORE_EXISTS, "*3\r\n$36\r\n" ID "\r\n$1\r\n5\r\n$2\r\n77\r\n"},
        {HF_STORE_EXISTS,
         "*4\r\n$36\r\n" ID "\r\n$1\r\n5\r\n$1\r\n1\r\n$1\r\nx\r\n"},
        {HF_STORE_RENEW, "*1\r\n$36\r\n" ID "\r\n"},
        {HF_STORE_RENEW, "*2\r\n$36\r\n" ID "\r\n:7\r\n"},
        {HF_STORE_RENEW, "*2\r\n$36\r\n" ID "\r\n$2\r\n-2\r\n"},
        {HF_STORE_RENEW, "*2\r\n$36\r\n" ID "\r\n$10\r\n4294967296\r\n"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, "*3\r\n$1\r\n5\r\n+ok\r\n*1\r\n%s",
                       rows[i].row);
        assert_int_equal(take(rows[i].kind, text)->count, 0);
        assert_int_equal(answer->answer.status, HF_EPROTOCOL);
        assert_int_equal(answer->answer.failure, HF_FAILURE_UNSURE);
    }
}

FIXTURE_TEST(an_error_without_a_word_has_a_text)
{
    assert_true(strlen(take(HF_STORE_ENQUEUE, "-\r\n")->text) > 0);
}

FIXTURE_TEST(what_was_late_did_not_happen)
{
    const struct hf_store_answer *a =
        take(HF_STORE_ENQUEUE, "*2\r\n$4\r\n1000\r\n+late\r\n");

    assert_int_equal(a->failure, HF_FAILURE_RETRY);
    assert_int_equal(a->status, HF_EUNREACHABLE);
    assert_true(a->server_ms == 1000);
}

FIXTURE_TEST(the_keys_of_another_release_are_refused)
{
    const struct hf_store_answer *a =
        take(HF_STORE_ENQUEUE, "*3\r\n$4\r\n1000\r\n+layout\r\n+2 \a1\r\n");

    assert_int_equal(a->failure, HF_FAILURE_FATAL);
    assert_int_equal(a->status, HF_EUNSUPPORTED);
    assert_non_null(strstr(a->text, "has \"2 \\x071\""));
    a = take(HF_STORE_ENQUEUE, "*2\r\n$4\r\n1000\r\n+layout\r\n");
    assert_int_equal(a->status, HF_EPROTOCOL);
}

FIXTURE_TEST(errors_have_a_status)
{
    static const struct {
        const char *text;
        hf_status status;
        enum hf_failure failure;
    } rows[] = {
        {"-NOSCRIPT No matching script.\r\n", HF_EUNREACHABLE,
         HF_FAILURE_RETRY},
        {"-OOM command not allowed\r\n", HF_EFULL, HF_FAILURE_FATAL},
        {"-ERR Error running script: @user_script:1: -OOM command\r\n",
         HF_EFULL, HF_FAILURE_FATAL},
        {"-NOPERM no rights\r\n", HF_EDENIED, HF_FAILURE_FATAL},
        {"-NOAUTH Authentication required.\r\n", HF_EDENIED, HF_FAILURE_FATAL},
        {"-READONLY You can't write\r\n", HF_EUNREACHABLE, HF_FAILURE_RETRY},
        {"-MOVED 1 127.0.0.1:7001\r\n", HF_EUNSUPPORTED, HF_FAILURE_FATAL},
        {"-ASK 1 127.0.0.1:7001\r\n", HF_EUNREACHABLE, HF_FAILURE_RETRY},
        {"-TRYAGAIN Multiple keys request\r\n", HF_EUNREACHABLE,
         HF_FAILURE_RETRY},
        {"-CROSSSLOT Keys in request don't hash to the same slot\r\n",
         HF_EUNSUPPORTED, HF_FAILURE_FATAL},
        {"-WRONGTYPE Operation\r\n", HF_EKIND, HF_FAILURE_FATAL},
        {"-BUSY Redis is busy\r\n", HF_EUNREACHABLE, HF_FAILURE_RETRY},
        {"-ERR unknown command 'EVALSHA'\r\n", HF_EUNSUPPORTED,
         HF_FAILURE_FATAL},
    };
    const struct hf_store_answer *a;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        a = take(HF_STORE_ENQUEUE, rows[i].text);
        assert_int_equal(a->status, rows[i].status);
        assert_int_equal(a->failure, rows[i].failure);
        assert_true(strlen(a->text) > 0);
    }
}

#define INSIDE                                                                 \
    " script: 64f5862a6757cf509fde4b0e8fd709f09ef640b3, on @user_script:1."
#define INSIDE_6                                                               \
    "ERR Error running script (call to f_64f5862a6757cf509fde4b0e8fd709f09ef6" \
    "40b3): @user_script:88: "

/* A script is not rolled back.  Redis refuses a first write for lack of memory,
 * of a disk, of replicas or of a primary, and kills no script that has written;
 * no other error of a script shows that it had not written before. */
FIXTURE_TEST(an_error_inside_a_script_may_leave_a_part_done)
{
    static const struct {
        const char *text;
        hf_status status;
        enum hf_failure failure;
    } rows[] = {
        {"-OOM command not allowed" INSIDE "\r\n", HF_EFULL, HF_FAILURE_FATAL},
        {"-READONLY You can't write" INSIDE "\r\n", HF_EUNREACHABLE,
         HF_FAILURE_RETRY},
        {"-MISCONF Redis is configured to" INSIDE "\r\n", HF_EFULL,
         HF_FAILURE_RETRY},
        {"-NOREPLICAS Not enough good replicas" INSIDE "\r\n", HF_EUNREACHABLE,
         HF_FAILURE_RETRY},
        {"-ERR Script killed by user with SCRIPT KILL..." INSIDE "\r\n",
         HF_EUNREACHABLE, HF_FAILURE_RETRY},
        {"-" INSIDE_6 "Script killed by user with SCRIPT KILL... \r\n",
         HF_EUNREACHABLE, HF_FAILURE_RETRY},
        {"-WRONGTYPE Operation" INSIDE "\r\n", HF_EKIND, HF_FAILURE_UNSURE},
        {"-" INSIDE_6 "WRONGTYPE Operation\r\n", HF_EKIND, HF_FAILURE_UNSURE},
        {"-ERR The user executing the script can't run this command or "
         "subcommand" INSIDE "\r\n",
         HF_EDENIED, HF_FAILURE_UNSURE},
        {"-" INSIDE_6 "The user executing the script can't run this command or "
         "subcommand\r\n",
         HF_EDENIED, HF_FAILURE_UNSURE},
        {"-ERR Script attempted to access a non local key in a cluster "
         "node" INSIDE "\r\n",
         HF_EPROTOCOL, HF_FAILURE_UNSURE},
        {"-ERR user_script:1: attempt to index a nil value" INSIDE "\r\n",
         HF_EPROTOCOL, HF_FAILURE_UNSURE},
    };
    const struct hf_store_answer *a;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        a = take(HF_STORE_ENQUEUE, rows[i].text);
        assert_int_equal(a->status, rows[i].status);
        assert_int_equal(a->failure, rows[i].failure);
    }
    /* A call that only reads leaves nothing. */
    a = take(HF_STORE_LIST, "-WRONGTYPE Operation" INSIDE "\r\n");
    assert_int_equal(a->failure, HF_FAILURE_FATAL);
}

FIXTURE_TEST(renewals_report_some)
{
    const struct hf_store_answer *a = take(
        HF_STORE_RENEW, "*3\r\n$1\r\n5\r\n+ok\r\n*2\r\n*2\r\n$36\r\n" ID
                        "\r\n$2\r\n-1\r\n*2\r\n$36\r\n" ID "\r\n$1\r\n7\r\n");

    assert_int_equal(a->count, 2);
    assert_true(a->leases[0].missing);
    assert_false(a->leases[1].missing);
    assert_int_equal(a->leases[1].revoked, 7);
}

FIXTURE_TEST(too_few_replicas_are_unsure)
{
    redisReply few = {.type = REDIS_REPLY_INTEGER, .integer = 1};

    (void)take(HF_STORE_ENQUEUE, "*3\r\n$1\r\n5\r\n+ok\r\n*0\r\n");
    hf_redis_answer_add_wait_reply(answer, 1, &few);
    assert_int_equal(answer->answer.status, HF_OK);
    hf_redis_answer_add_wait_reply(answer, 2, &few);
    assert_int_equal(answer->answer.status, HF_EUNREACHABLE);
    assert_int_equal(answer->answer.failure, HF_FAILURE_UNSURE);
}

/* For a call of several commands. */
FIXTURE_TEST(the_first_of_several_faults_is_reported)
{
    static char word[] = "NOPERM no rights";
    redisReply few = {.type = REDIS_REPLY_INTEGER, .integer = 0};
    redisReply denied = {
        .type = REDIS_REPLY_ERROR, .str = word, .len = sizeof word - 1};

    (void)take(HF_STORE_ENQUEUE, "-READONLY You can't write\r\n");
    hf_redis_answer_add_wait_reply(answer, 1, &few);
    assert_non_null(strstr(answer->answer.text, "READONLY"));
    (void)take(HF_STORE_ENQUEUE, "*3\r\n$1\r\n5\r\n+ok\r\n*0\r\n");
    hf_redis_answer_add_wait_reply(answer, 1, &denied);
    assert_int_equal(answer->answer.status, HF_EDENIED);
}

/* The script has run before WAIT, so no error of WAIT undoes it. */
FIXTURE_TEST(an_error_of_wait_is_unsure)
{
    static char words[][64] = {
        "NOPERM no rights",
        "ERR WAIT cannot be used with replica instances",
        "UNBLOCKED force unblock from blocking operation",
        "READONLY You can't write",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        redisReply refused = {.type = REDIS_REPLY_ERROR,
                              .str = words[i],
                              .len = strlen(words[i])};

        (void)take(HF_STORE_DOWNGRADE, "*3\r\n$1\r\n5\r\n+ok\r\n:1\r\n");
        hf_redis_answer_add_wait_reply(answer, 1, &refused);
        assert_int_equal(answer->answer.failure, HF_FAILURE_UNSURE);
        assert_int_not_equal(answer->answer.status, HF_OK);
    }
}

/* --------------------------------------------------------------- notices -- */

FIXTURE_TEST(messages_are_read)
{
    struct hf_store_notice notice;

    assert_true(hf_redis_notice_read(&notice, "gone 0 " ID " a b/c"));
    assert_int_equal(notice.kind, HF_STORE_GONE);
    assert_int_equal(notice.ticket_kind, 0);
    assert_string_equal(notice.queue, "a b/c");
    assert_true(hf_redis_notice_read(&notice, "gone 3 " ID " q"));
    assert_int_equal(notice.ticket_kind, HF_TICKET_WRITE);
    assert_true(hf_redis_notice_read(&notice, "revoked 12 " ID " q"));
    assert_int_equal(notice.kind, HF_STORE_REVOKED);
    assert_int_equal(notice.revoked, 12);
    assert_true(hf_redis_notice_read(&notice, "evicted 613a2062 " ID " a b"));
    assert_int_equal(notice.kind, HF_STORE_GONE);
    assert_int_equal(notice.ticket_kind, 0);
    assert_string_equal(notice.why, "its ticket was evicted by a: b");
    assert_string_equal(notice.queue, "a b");
    assert_true(hf_redis_notice_read(&notice, "gone 0 " ID " q"));
    assert_string_equal(notice.why, "");
    assert_true(hf_redis_notice_read(&notice, "changed q"));
    assert_string_equal(notice.queue, "q");
}

/* Anybody may send them.  The ticket is gone, whatever they say of that. */
FIXTURE_TEST(a_wrong_text_of_an_eviction_hides_no_loss)
{
    static const char *const texts[] = {
        "evicted  " ID " q", "evicted x " ID " q", "evicted 6 " ID " q",
        "evicted 0061 " ID " q", "evicted 1G " ID " q"};
    struct hf_store_notice notice;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(hf_redis_notice_read(&notice, texts[i]));
        assert_int_equal(notice.kind, HF_STORE_GONE);
        assert_string_equal(notice.why, "");
        assert_string_equal(notice.queue, "q");
    }
}

FIXTURE_TEST(other_messages_are_not)
{
    static const char *const texts[] = {
        "",
        "gone",
        "gone ",
        "gone 0",
        "gone 0 ",
        "gone 0 " ID,
        "gone x " ID " q",
        "gone 2 " ID " q",
        "gone -1 " ID " q",
        "gone 0 6f2a6c1e q",
        "gone 0 zzzzzzzz-6a0b-4e9d-9d0e-2f5c3a1b7d44 q",
        "revoked 4294967296 " ID " q",
        "evicted",
        "evicted 61",
        "evicted 61 " ID,
        "evicted 61 0 q",
        "hello " ID " q"};
    struct hf_store_notice notice;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        assert_false(hf_redis_notice_read(&notice, texts[i]));
}

/* ------------------------------------------------------------------ INFO -- */

FIXTURE_TEST(servers_are_checked_by_their_answers)
{
    static const struct {
        const char *info;
        const char *fault; /* a part of it, or NULL */
    } rows[] = {
        {"# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:"
         "noeviction\r\n# Replication\r\nrole:master\r\n",
         NULL},
        {"redis_version:6.0.16\r\n", NULL},
        {"redis_version:10.1.0\r\n", NULL},
        {"redis_version:5.0.14\r\n", "6.0 or later"},
        {"redis_version:7.0.15\r\nmaxmemory_policy:allkeys-lru\r\n",
         "noeviction"},
        {"redis_version:7.0.15\r\nmaxmemory_policy:noeviction-not\r\n",
         "noeviction"},
        {"redis_version:7.0.15\r\nrole:slave\r\n", "primary"},
        {"redis_version:7.0.15\r\nloading:1\r\n", "loading"},
        {"", NULL},
    };
    hf_status status;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *fault = hf_redis_info_problem(rows[i].info, &status);

        if (rows[i].fault == NULL)
            assert_null(fault);
        else
            assert_non_null(strstr(fault, rows[i].fault));
    }
}

FIXTURE_TEST(how_long_a_server_has_served_is_never_guessed)
{
    static const struct {
        const char *info;
        uint64_t served_ms;
    } rows[] = {
        {"# Server\r\nuptime_in_seconds:61\r\nuptime_in_days:0\r\n", 61000},
        {"uptime_in_seconds:0\r\n", 0},
        {"uptime_in_seconds:-3600\r\n", 0},
        {"uptime_in_seconds:soon\r\n", 0},
        {"uptime_in_seconds:99999999999999999999\r\n", UINT64_MAX},
        {"redis_version:7.0.15\r\n", 0},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(hf_redis_info_served_ms(rows[i].info) == rows[i].served_ms);
}

FIXTURE_TEST(a_restarted_server_is_recognized)
{
    char run[HF_REDIS_RUN_ID_BYTES] = "";

    assert_false(hf_redis_info_same_run("redis_version:7.0.15\r\n", run));
    assert_false(hf_redis_info_same_run("# Server\r\nrun_id:abcd\r\n", run));
    assert_true(hf_redis_info_same_run("# Server\r\nrun_id:abcd\r\n", run));
    assert_false(hf_redis_info_same_run("# Server\r\nrun_id:abc\r\n", run));
    assert_false(hf_redis_info_same_run("# Server\r\nrun_id:\r\n", run));
    assert_false(hf_redis_info_same_run("redis_version:7.0.15\r\n", run));
    assert_false(hf_redis_info_same_run("# Server\r\nrun_id:abcd\r\n", run));
    assert_string_equal(run, "abcd");
}

/* A page that lacks a name would look like one without that lock. */
FIXTURE_TEST(names_without_memory_are_no_page)
{
    const struct hf_names_request names = {"", 0, false};
    const struct hf_store_call call = {
        .kind = HF_STORE_NAMES, .prefix = "", .names = &names};

    static const char *const pages[] = {
        "*2\r\n$1\r\n0\r\n*1\r\n$20\r\nholdfast:{a/b}:queue\r\n",
        "*2\r\n$1\r\n0\r\n*1\r\n$19\r\nholdfast:{a/b}:last\r\n"};

    for (unsigned fails = 0; fails < 4; fails++) {
        begin_answer(pages[fails / 2]);
        heap_fail(fails % 2, true);
        hf_redis_answer_add_scan_reply(answer, &call, "run", reply);
        heap_fail(0, false);
        assert_int_equal(answer->answer.status, fails % 2 ? HF_ENOMEM : HF_OK);
        assert_int_equal(answer->answer.names == NULL, fails % 2);
    }
}

/* The keys "last" of a page name their queues, unless nothing is there. */
FIXTURE_TEST(a_last_key_names_its_queue)
{
    const struct hf_names_request names = {"", 0, false};
    const struct hf_store_call call = {
        .kind = HF_STORE_NAMES, .prefix = "", .names = &names};
    static const struct {
        const char *reply;
        size_t count;
    } rows[] = {{"$18\r\n2 1764000000000000\r\n", 0},
                {"$20\r\n2 1764000000000000 x\r\n", 1},
                {"$16\r\n1764000000000000\r\n", 1},
                {"$-1\r\n", 0},
                {"-MOVED 1 127.0.0.1:7\r\n", 1}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_redis_answer *page;

        begin_answer("*2\r\n$1\r\n0\r\n*1\r\n$19\r\nholdfast:{a/b}:last\r\n");
        hf_redis_answer_add_scan_reply(answer, &call, "run", reply);
        assert_int_equal(answer->answer.names->count, 0);
        assert_string_equal(hf_redis_answer_next_last(answer, 0), "a/b");
        assert_null(hf_redis_answer_next_last(answer, 1));
        page = answer;
        answer = NULL;
        begin_answer(rows[i].reply);
        hf_redis_answer_add_last_reply(page, reply);
        assert_int_equal(page->answer.status, HF_OK);
        assert_int_equal(page->answer.names->count, rows[i].count);
        if (rows[i].count > 0)
            assert_string_equal(page->answer.names->queues[0].queue, "a/b");
        hf_redis_answer_free(page);
    }
}

/* What doctor says of a node whose CLUSTER INFO is ${info}. */
static enum hf_severity examine_cluster(const char *info)
{
    static struct hf_redis_link link;
    struct hf_store_call call = {.kind = HF_STORE_EXAMINE};
    const struct hf_finding_list *findings;
    redisReply *cluster;

    begin_answer(bulk(info));
    cluster = reply;
    reply = NULL;
    call.store_data = answer;
    link.info = HF_REDIS_INFO_CLUSTER_NODE;
    for (unsigned i = 0; i < 3; i++) { /* INFO, TIME and CONFIG GET */
        static redisReply refused = {
            .type = REDIS_REPLY_ERROR, .str = "NOPERM", .len = 6};

        hf_redis_examine_reply(&link, &call, &refused);
    }
    hf_redis_examine_reply(&link, &call, cluster);
    freeReplyObject(cluster);
    findings = &answer->examination.findings;
    assert_string_equal(findings->items[findings->count - 1].id,
                        "redis-cluster");
    return findings->items[findings->count - 1].severity;
}

/* Without full coverage a cluster is ok although nodes do not answer. */
FIXTURE_TEST(slots_without_a_node_are_an_error)
{
    static const struct {
        const char *info;
        enum hf_severity severity;
    } rows[] = {
        {"cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
         "cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n",
         HF_SEVERITY_OK},
        {"cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
         "cluster_slots_pfail:1\r\ncluster_slots_fail:0\r\n",
         HF_SEVERITY_ERROR},
        {"cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
         "cluster_slots_pfail:0\r\ncluster_slots_fail:1\r\n",
         HF_SEVERITY_ERROR},
        {"cluster_state:ok\r\ncluster_slots_assigned:16383\r\n"
         "cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n",
         HF_SEVERITY_ERROR},
        {"cluster_state:fail\r\ncluster_slots_assigned:16384\r\n"
         "cluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n",
         HF_SEVERITY_ERROR},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(examine_cluster(rows[i].info), rows[i].severity);
}

/* ------------------------------------------------------------------ keys -- */

FIXTURE_TEST(names_cannot_leave_their_braces)
{
    char key[HF_REDIS_KEY_BYTES];
    char longest[HF_NAME_BYTES + 1];

    hf_redis_key("a/b", "queue", key);
    assert_string_equal(key, "holdfast:{a/b}:queue");
    hf_redis_key("a}b{c%d", "last", key);
    assert_string_equal(key, "holdfast:{a%7Db%7Bc%25d}:last");
    memset(longest, '}', HF_NAME_BYTES);
    longest[HF_NAME_BYTES] = '\0';
    hf_redis_key(longest, "tickets", key);
    assert_int_equal(strlen(key), 3 * HF_NAME_BYTES + 19);
}

TEST_FILE(redis_answer)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
