/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of etcd's API.  The bytes that are given as hexadecimal digits were
 * recorded between etcdctl and a server of etcd 3.4.23, so they are what Go's
 * generated code writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "etcd/message.h"
#include "heap/heap.h"

/* The header of the recorded answers: cluster and member are those numbers. */
#define HEADER "0a1a0895a2b49b8bcff6e48c0110b0a786f6f0fda5beac01"
#define CLUSTER UINT64_C(10144879847569953045)
#define MEMBER UINT64_C(12428976124636271536)

struct recorded {
    unsigned char bytes[512];
    size_t count;
};

static struct hf_etcd_bytes decode(struct recorded *to, const char *hex)
{
    unsigned byte;

    for (to->count = 0; hex[2 * to->count] != '\0'; to->count++) {
        assert_true(to->count < sizeof to->bytes);
        assert_int_equal(sscanf(hex + 2 * to->count, "%2x", &byte), 1);
        to->bytes[to->count] = (unsigned char)byte;
    }
    return (struct hf_etcd_bytes){to->bytes, to->count};
}

/* ${request} is ${hex}; frees it. */
static void assert_written(struct hf_etcd_buffer *request, const char *hex)
{
    struct recorded expected;

    decode(&expected, hex);
    assert_false(request->failed);
    assert_int_equal(request->used, expected.count);
    if (expected.count > 0)
        assert_memory_equal(request->bytes, expected.bytes, expected.count);
    hf_etcd_buffer_free(request);
}

static void assert_bytes(struct hf_etcd_bytes bytes, const char *text)
{
    assert_int_equal(bytes.count, strlen(text));
    assert_memory_equal(bytes.bytes, text, bytes.count);
}

static void assert_header(const struct hf_etcd_header *header, int64_t revision)
{
    assert_true(header->cluster_id == CLUSTER);
    assert_true(header->member_id == MEMBER);
    assert_int_equal(header->revision, revision);
    assert_int_equal(header->raft_term, 2);
}

#define TEXT(text) ((struct hf_etcd_bytes){text, sizeof(text) - 1})

/* -------------------------------------------------------------- requests -- */

TEST(requests_are_written_as_go_writes_them)
{
    struct hf_etcd_buffer request = {0};

    hf_etcd_write_put(&request, &(struct hf_etcd_put){.key = TEXT("jobs/a/x"),
                                                      .value = TEXT("v1")});
    assert_true(request.writes);
    assert_written(&request, "0a086a6f62732f612f7812027631");
    hf_etcd_write_put(&request,
                      &(struct hf_etcd_put){.key = TEXT("k"),
                                            .value = TEXT("v"),
                                            .lease = 0x13b0a22baa21010b});
    assert_written(&request, "0a016b120176188b8284d1bac5a8d813");
    hf_etcd_write_put(&request, &(struct hf_etcd_put){.key = TEXT("k"),
                                                      .value = TEXT("w"),
                                                      .ignore_lease = true});
    assert_written(&request, "0a016b1201773001");
    hf_etcd_write_range(&request, &(struct hf_etcd_range){
                                      .key = TEXT("jobs/a/"),
                                      .range_end = TEXT("jobs/a0"),
                                      .limit = 4,
                                      .order = HF_ETCD_DESCENDING,
                                      .target = HF_ETCD_BY_CREATE_REVISION});
    assert_false(request.writes);
    assert_written(&request,
                   "0a076a6f62732f612f12076a6f62732f6130180428023002");
    hf_etcd_write_delete(
        &request,
        &(struct hf_etcd_delete){.key = TEXT("jobs/a/x"), .prev_kv = true});
    assert_true(request.writes);
    assert_written(&request, "0a086a6f62732f612f781801");
    hf_etcd_write_grant(&request, 0, 10);
    assert_true(request.writes);
    assert_written(&request, "080a");
    hf_etcd_write_keep_alive(&request, 0x13b0a22baa21010b);
    assert_false(request.writes);
    assert_written(&request, "088b8284d1bac5a8d813");
    hf_etcd_write_revoke(&request, 0x13b0a22baa21010b);
    assert_true(request.writes);
    assert_written(&request, "088b8284d1bac5a8d813");
    hf_etcd_write_time_to_live(&request, 0x13b0a22baa21010b, true);
    assert_written(&request, "088b8284d1bac5a8d8131001");
    hf_etcd_write_authenticate(&request, "root", "pw");
    assert_written(&request, "0a04726f6f7412027077");
    hf_etcd_write_alarm_get(&request);
    assert_written(&request, "");
}

/* Go writes the branches behind the comparisons, and so does this order of
 * calls. */
TEST(a_transaction_is_written_as_go_writes_it)
{
    struct hf_etcd_buffer request = {0};
    struct hf_etcd_comparison comparison = {.key = TEXT("jobs/a/y"),
                                            .target = HF_ETCD_CREATE_REVISION};

    hf_etcd_txn_compare(&request, &comparison);
    comparison.key = TEXT("jobs/a/x");
    comparison.target = HF_ETCD_MOD_REVISION;
    comparison.number = 2;
    hf_etcd_txn_compare(&request, &comparison);
    comparison.target = HF_ETCD_VALUE;
    comparison.value = TEXT("v1");
    hf_etcd_txn_compare(&request, &comparison);
    assert_false(request.writes);
    hf_etcd_txn_put(
        &request, HF_ETCD_SUCCESS,
        &(struct hf_etcd_put){.key = TEXT("jobs/a/y"), .value = TEXT("hello")});
    assert_true(request.writes);
    hf_etcd_txn_range(&request, HF_ETCD_SUCCESS,
                      &(struct hf_etcd_range){.key = TEXT("jobs/a/"),
                                              .range_end = TEXT("jobs/a0")});
    hf_etcd_txn_range(&request, HF_ETCD_FAILURE,
                      &(struct hf_etcd_range){.key = TEXT("jobs/a/y")});
    hf_etcd_txn_delete(&request, HF_ETCD_FAILURE,
                       &(struct hf_etcd_delete){.key = TEXT("jobs/a/z")});
    assert_written(
        &request,
        "0a0e10011a086a6f62732f612f7928000a0e10021a086a6f62732f612f7830020a1010"
        "031a086a6f62732f612f783a027631121312110a086a6f62732f612f79120568656c6c"
        "6f12140a120a076a6f62732f612f12076a6f62732f61301a0c0a0a0a086a6f62732f61"
        "2f791a0c1a0a0a086a6f62732f612f7a");
}

TEST(watches_are_written_as_go_writes_them)
{
    struct hf_etcd_buffer request = {0};

    hf_etcd_write_watch_create(
        &request,
        &(struct hf_etcd_watch_create){.key = TEXT("k"), .start_revision = 1});
    assert_written(&request, "0a050a016b1801");
    hf_etcd_write_watch_create(
        &request, &(struct hf_etcd_watch_create){.key = TEXT("jobs/"),
                                                 .range_end = TEXT("jobs0"),
                                                 .start_revision = 1});
    assert_written(&request, "0a100a056a6f62732f12056a6f6273301801");
    hf_etcd_write_watch_create(&request, &(struct hf_etcd_watch_create){
                                             .key = TEXT("k"), .watch_id = 7});
    assert_written(&request, "0a050a016b3807");
    hf_etcd_write_watch_cancel(&request, 7);
    assert_written(&request, "12020807");
}

TEST(lengths_of_more_than_one_byte)
{
    static char value[300];
    struct hf_etcd_buffer request = {0};
    struct hf_etcd_reader reader;
    struct hf_etcd_field field;

    memset(value, 'x', sizeof value);
    hf_etcd_txn_put(&request, HF_ETCD_SUCCESS,
                    &(struct hf_etcd_put){.key = TEXT("k"),
                                          .value = {value, sizeof value}});
    reader =
        hf_etcd_reader_of((struct hf_etcd_bytes){request.bytes, request.used});
    assert_true(hf_etcd_reader_next(&reader, &field));
    assert_int_equal(field.number, HF_ETCD_SUCCESS);
    assert_true(reader.at == reader.end);
    reader = hf_etcd_reader_of(field.bytes);
    assert_true(hf_etcd_reader_next(&reader, &field));
    assert_int_equal(field.number, 2);
    reader = hf_etcd_reader_of(field.bytes);
    assert_true(hf_etcd_reader_next(&reader, &field));
    assert_true(hf_etcd_reader_next(&reader, &field));
    assert_int_equal(field.bytes.count, sizeof value);
    assert_false(hf_etcd_reader_next(&reader, &field));
    assert_false(reader.failed);
    hf_etcd_buffer_free(&request);
}

/* A buffer that there was no memory for stays failed, whatever is written. */
TEST(without_memory_a_request_fails)
{
    struct hf_etcd_buffer request = {0};

    heap_fail(1, true);
    hf_etcd_txn_put(&request, HF_ETCD_SUCCESS,
                    &(struct hf_etcd_put){.key = TEXT("k")});
    heap_fail(0, false);
    assert_true(request.failed);
    hf_etcd_write_revoke(&request, 1);
    assert_true(request.failed);
    hf_etcd_buffer_free(&request);
    assert_int_equal(heap_live(), 0);
}

/* --------------------------------------------------------------- answers -- */

TEST(the_answer_to_a_range)
{
    struct hf_etcd_range_answer answer;
    struct hf_etcd_key_value kv;
    struct recorded recorded;

    assert_true(hf_etcd_read_range(
        decode(&recorded, HEADER
               "1802200212140a086a6f62732f612f781002180220012a0276312001"),
        &answer));
    assert_header(&answer.header, 2);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.kvs.count, 1);
    assert_false(answer.more);
    assert_true(hf_etcd_next_kv(&answer.kvs, &kv));
    assert_bytes(kv.key, "jobs/a/x");
    assert_bytes(kv.value, "v1");
    assert_int_equal(kv.create_revision, 2);
    assert_int_equal(kv.mod_revision, 2);
    assert_int_equal(kv.version, 1);
    assert_int_equal(kv.lease, 0);
    assert_false(hf_etcd_next_kv(&answer.kvs, &kv));
    assert_false(hf_etcd_next_kv(&answer.kvs, &kv));
}

TEST(the_answer_to_a_transaction_that_succeeded)
{
    struct hf_etcd_txn_answer answer;
    struct hf_etcd_response response;
    struct hf_etcd_key_value kv;
    struct recorded recorded;

    assert_true(hf_etcd_read_txn(
        decode(&recorded,
               HEADER "1803200210011a0612040a0218031a370a350a02180312140a086a6f"
                      "62732f612f781002180220012a02763112170a086a6f62732f612f79"
                      "1003180320012a0568656c6c6f2002"),
        &answer));
    assert_header(&answer.header, 3);
    assert_true(answer.succeeded);
    assert_int_equal(answer.responses.count, 2);
    assert_true(hf_etcd_next_response(&answer.responses, &response));
    assert_int_equal(response.kind, HF_ETCD_PUT_RESPONSE);
    assert_true(hf_etcd_next_response(&answer.responses, &response));
    assert_int_equal(response.kind, HF_ETCD_RANGE_RESPONSE);
    assert_int_equal(response.range.count, 2);
    assert_true(hf_etcd_next_kv(&response.range.kvs, &kv));
    assert_bytes(kv.key, "jobs/a/x");
    assert_true(hf_etcd_next_kv(&response.range.kvs, &kv));
    assert_bytes(kv.key, "jobs/a/y");
    assert_int_equal(kv.create_revision, 3);
    assert_false(hf_etcd_next_response(&answer.responses, &response));
}

TEST(the_answer_to_a_transaction_that_did_not)
{
    struct hf_etcd_txn_answer answer;
    struct hf_etcd_response response;
    struct recorded recorded;

    assert_true(hf_etcd_read_txn(
        decode(&recorded,
               HEADER "180320021a210a1f0a02180312170a086a6f62732f612f7910031803"
                      "20012a0568656c6c6f20011a061a040a021803"),
        &answer));
    assert_false(answer.succeeded);
    assert_true(hf_etcd_next_response(&answer.responses, &response));
    assert_int_equal(response.kind, HF_ETCD_RANGE_RESPONSE);
    assert_true(hf_etcd_next_response(&answer.responses, &response));
    assert_int_equal(response.kind, HF_ETCD_DELETE_RESPONSE);
    assert_int_equal(response.deleted.deleted, 0);
}

TEST(answers_about_leases)
{
    struct hf_etcd_time_to_live_answer left;
    struct hf_etcd_delete_answer deleted;
    struct hf_etcd_lease_answer answer;
    struct hf_etcd_key_value kv;
    struct hf_etcd_bytes key;
    struct recorded recorded;

    assert_true(hf_etcd_read_lease(
        decode(&recorded, HEADER "1802200210878284d1bac5a8d813180a"), &answer));
    assert_header(&answer.header, 2);
    assert_true(answer.lease == INT64_C(0x13b0a22baa210107));
    assert_int_equal(answer.ttl_s, 10);
    /* A keep-alive of a lease that is not there: the TTL is left out. */
    assert_true(hf_etcd_read_lease(
        decode(&recorded, HEADER "18022002108b8284d1bac5a8d813"), &answer));
    assert_int_equal(answer.ttl_s, 0);
    assert_true(hf_etcd_read_time_to_live(
        decode(&recorded, HEADER "18052002108b8284d1bac5a8d813186320642a016b"),
        &left));
    assert_int_equal(left.ttl_s, 99);
    assert_int_equal(left.granted_ttl_s, 100);
    assert_true(hf_etcd_next_text(&left.keys, &key));
    assert_bytes(key, "k");
    assert_false(hf_etcd_next_text(&left.keys, &key));
    assert_true(hf_etcd_read_delete(
        decode(&recorded,
               HEADER "1807200210011a140a086a6f62732f612f781002180220"
                      "012a027631"),
        &deleted));
    assert_int_equal(deleted.deleted, 1);
    assert_true(hf_etcd_next_kv(&deleted.prev_kvs, &kv));
    assert_bytes(kv.value, "v1");
}

TEST(answers_of_watches)
{
    struct hf_etcd_watch_answer answer;
    struct hf_etcd_event event;
    struct recorded recorded;

    assert_true(
        hf_etcd_read_watch(decode(&recorded, HEADER "180520021801"), &answer));
    assert_true(answer.created && !answer.canceled);
    assert_int_equal(answer.watch_id, 0);
    assert_true(hf_etcd_read_watch(
        decode(&recorded,
               HEADER "180520025a1812160a016b1004180420012a0176308b8284d1bac5a8"
                      "d8135a1812160a016b1004180520022a0177308b8284d1bac5a8d81"
                      "3"),
        &answer));
    assert_int_equal(answer.events.count, 2);
    assert_true(hf_etcd_next_event(&answer.events, &event));
    assert_false(event.deleted);
    assert_int_equal(event.kv.mod_revision, 4);
    assert_true(hf_etcd_next_event(&answer.events, &event));
    assert_int_equal(event.kv.mod_revision, 5);
    assert_bytes(event.kv.value, "w");
    assert_false(hf_etcd_next_event(&answer.events, &event));
    assert_true(hf_etcd_read_watch(
        decode(&recorded, HEADER "180620025a09080112050a016b1806"), &answer));
    assert_true(hf_etcd_next_event(&answer.events, &event));
    assert_true(event.deleted);
    assert_bytes(event.kv.key, "k");
    assert_int_equal(event.kv.mod_revision, 6);
    /* Compacted, and refused. */
    assert_true(hf_etcd_read_watch(
        decode(&recorded, "0a180895a2b49b8bcff6e48c0110b0a786f6f0fda5beac012002"
                          "20012804"),
        &answer));
    assert_true(answer.canceled && !answer.created);
    assert_int_equal(answer.compact_revision, 4);
    assert_true(hf_etcd_read_watch(
        decode(&recorded,
               HEADER "1807200210ffffffffffffffffff01180120013247727063206572"
                      "726f723a20636f6465203d20496e76616c6964417267756d656e7420"
                      "64657363203d20657463647365727665723a2075736572206e616d65"
                      "20697320656d707479"),
        &answer));
    assert_true(answer.canceled && answer.created);
    assert_int_equal(answer.watch_id, -1);
    assert_bytes(answer.cancel_reason,
                 "rpc error: code = InvalidArgument desc = etcdserver: user "
                 "name is empty");
}

TEST(answers_about_the_cluster)
{
    struct hf_etcd_member_list_answer members;
    struct hf_etcd_status_answer status;
    struct hf_etcd_alarm_answer alarms;
    struct hf_etcd_member member;
    struct hf_etcd_alarm alarm;
    struct hf_etcd_bytes text;
    struct recorded recorded;

    assert_true(hf_etcd_read_status(
        decode(&recorded,
               HEADER "180720021206332e342e32331880e00120b0a786f6f0fda5beac0128"
                      "0e3002380e4880a001"),
        &status));
    assert_bytes(status.version, "3.4.23");
    assert_int_equal(status.db_size, 28672);
    assert_int_equal(status.db_size_in_use, 20480);
    assert_true(status.leader == MEMBER);
    assert_int_equal(status.raft_index, 14);
    assert_int_equal(status.raft_term, 2);
    assert_int_equal(status.raft_applied_index, 14);
    assert_false(status.is_learner);
    assert_true(hf_etcd_read_member_list(
        decode(&recorded,
               "0a180895a2b49b8bcff6e48c0110b0a786f6f0fda5beac012002124408b0a7"
               "86f6f0fda5beac01120764656661756c741a16687474703a2f2f3132372e30"
               "2e302e313a32333739312216687474703a2f2f3132372e302e302e313a3233"
               "373930"),
        &members));
    assert_true(hf_etcd_next_member(&members.members, &member));
    assert_true(member.id == MEMBER);
    assert_bytes(member.name, "default");
    assert_true(hf_etcd_next_text(&member.client_urls, &text));
    assert_bytes(text, "http://127.0.0.1:23790");
    assert_false(hf_etcd_next_text(&member.client_urls, &text));
    assert_true(hf_etcd_next_text(&member.peer_urls, &text));
    assert_bytes(text, "http://127.0.0.1:23791");
    assert_false(hf_etcd_next_member(&members.members, &member));
    assert_true(
        hf_etcd_read_alarms(decode(&recorded, "120408051001"), &alarms));
    assert_true(hf_etcd_next_alarm(&alarms.alarms, &alarm));
    assert_int_equal(alarm.member_id, 5);
    assert_int_equal(alarm.type, HF_ETCD_ALARM_NOSPACE);
    assert_true(hf_etcd_read_authenticate(
        decode(&recorded,
               HEADER "18072002121377627645566a4362646e50494644444c2e3230"),
        &text));
    assert_bytes(text, "wbvEVjCbdnPIFDDL.20");
}

/* ----------------------------------------------------------- bad answers -- */

TEST(what_is_no_message_is_refused)
{
    static const char *const rows[] = {
        "0a",                       /* no length */
        "0a05",                     /* no bytes */
        "0a0201",                   /* one byte is missing */
        "08",                       /* no number */
        "0880",                     /* the number goes on */
        "08ffffffffffffffffff02",   /* of more than 64 bits */
        "08ffffffffffffffffffff01", /* of more than ten bytes */
        "0b",                       /* a group */
        "0c",                       /* its end */
        "0f",                       /* a wire type that there is not */
        "02",                       /* the field 0 */
        "8080808010",               /* a field above 2^29 */
        "0d010203",                 /* 32 bits need four bytes */
        "0901020304050607",         /* 64 bits need eight */
        "0801",                     /* the header is no number */
        "1a02ff",                   /* a length behind the end */
        "1affffffffffffffffff01",   /* a length of 2^64 - 1 */
        "1a041a020a05",             /* a header that is cut off */
        "1a0422020a00",             /* an answer to a transaction inside */
        "1a00",                     /* an answer to nothing */
        "1a040a021205",             /* a pair that is cut off */
        "1a060a0412020a05",         /* a key in it that is cut off */
    };
    struct hf_etcd_txn_answer answer;
    struct recorded recorded;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (hf_etcd_read_txn(decode(&recorded, rows[i]), &answer))
            fail_msg("%s was accepted", rows[i]);
}

/* A header with a field of each wire type that nobody knows. */
TEST(what_is_not_known_is_skipped)
{
    struct hf_etcd_header header;
    struct recorded recorded;

    assert_true(hf_etcd_read_header(decode(&recorded,
                                           "0a1c"       /* the header: */
                                           "0801"       /* its cluster, */
                                           "9a0602abcd" /* bytes, */
                                           "99060102030405060708" /* 64 bits, */
                                           "9d0601020304"         /* 32 bits, */
                                           "980605"   /* a number, */
                                           "1805"     /* and its revision; */
                                           "980605"), /* a number behind it */
                                    &header));
    assert_int_equal(header.cluster_id, 1);
    assert_int_equal(header.revision, 5);
}

/* Every prefix of a message is either a message or refused, and no read goes
 * behind it, which memory of exactly that size shows. */
TEST(messages_that_are_cut_off)
{
    static const char *const rows[] = {
        HEADER "1803200210011a0612040a0218031a370a350a02180312140a086a6f62732f"
               "612f781002180220012a02763112170a086a6f62732f612f79100318032001"
               "2a0568656c6c6f2002",
        HEADER "180520025a1812160a016b1004180420012a0176308b8284d1bac5a8d8135a"
               "1812160a016b1004180520022a0177308b8284d1bac5a8d813",
    };
    struct hf_etcd_watch_answer watch;
    struct hf_etcd_txn_answer txn;
    struct hf_etcd_response response;
    struct hf_etcd_event event;
    struct recorded recorded;
    unsigned char *copy;

    for (size_t i = 0; i < 2; i++) {
        decode(&recorded, rows[i]);
        for (size_t count = 0; count <= recorded.count; count++) {
            struct hf_etcd_bytes message;

            copy = malloc(count > 0 ? count : 1);
            assert_non_null(copy);
            memcpy(copy, recorded.bytes, count);
            message = (struct hf_etcd_bytes){copy, count};
            if (hf_etcd_read_txn(message, &txn))
                while (hf_etcd_next_response(&txn.responses, &response))
                    ;
            if (hf_etcd_read_watch(message, &watch))
                while (hf_etcd_next_event(&watch.events, &event))
                    ;
            free(copy);
        }
    }
}

/* ------------------------------------------------------------------ keys -- */

TEST(the_end_of_a_prefix)
{
    static const struct {
        struct hf_etcd_bytes prefix;
        struct hf_etcd_bytes end;
    } rows[] = {
        {TEXT("jobs/a/"), TEXT("jobs/a0")},
        {TEXT("a\xff"), TEXT("b")},
        {TEXT("a\xff\xff"), TEXT("b")},
        {TEXT("\xff\xff"), {"", 1}},
        {TEXT(""), {"", 1}},
        {TEXT("a\xfe"), TEXT("a\xff")},
    };
    char end[16];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(hf_etcd_bytes_equal(hf_etcd_prefix_end(rows[i].prefix, end),
                                        rows[i].end));
}

TEST_FILE(etcd_message)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
