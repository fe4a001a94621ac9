/* SPDX-License-Identifier: Apache-2.0 */
/* Names of ticket nodes in every dialect, and of other nodes below a lock. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "engines/zookeeper/node_name.h"

#define UUID "6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7d44"
#define HEX "6f2a6c1e6a0b4e9d9d0e2f5c3a1b7d44"

static const uint8_t uuid_bytes[] = {0x6f, 0x2a, 0x6c, 0x1e, 0x6a, 0x0b,
                                     0x4e, 0x9d, 0x9d, 0x0e, 0x2f, 0x5c,
                                     0x3a, 0x1b, 0x7d, 0x44};

static bool parse(const char *name, struct hf_zk_engine_node *node)
{
    return hf_zk_engine_node_parse(name, strlen(name), node);
}

TEST(every_dialect_is_read)
{
    static const struct {
        const char *name;
        enum hf_zk_engine_dialect dialect;
        enum hf_ticket_kind kind;
        int32_t sequence;
        bool named; /* its id is in the name */
    } rows[] = {
        {"_c_" UUID "-lock-0000000042", HF_ZK_CURATOR, HF_TICKET_MUTEX, 42,
         true},
        {"_c_" UUID "-__READ__0000000000", HF_ZK_CURATOR, HF_TICKET_READ, 0,
         true},
        {"_c_" UUID "-__WRIT__2147483647", HF_ZK_CURATOR, HF_TICKET_WRITE,
         INT32_MAX, true},
        {"_c_" UUID "-lock--2147483648", HF_ZK_CURATOR, HF_TICKET_MUTEX,
         INT32_MIN, true},
        {"_c_" UUID "-lock--000000001", HF_ZK_CURATOR, HF_TICKET_MUTEX, -1,
         true},
        {"_c_" UUID "-lease-0000000042", HF_ZK_CURATOR, HF_TICKET_LEASE, 42,
         true},
        {"lease-0000000007", HF_ZK_CURATOR, HF_TICKET_LEASE, 7, false},
        {"_c_" UUID "-latch-0000000042", HF_ZK_CURATOR, HF_TICKET_ELECTION, 42,
         true},
        {"latch-0000000007", HF_ZK_CURATOR, HF_TICKET_ELECTION, 7, false},
        {"lock-0000000007", HF_ZK_CURATOR, HF_TICKET_MUTEX, 7, false},
        {"__READ__0000000007", HF_ZK_CURATOR, HF_TICKET_READ, 7, false},
        {"__WRIT__0000000007", HF_ZK_CURATOR, HF_TICKET_WRITE, 7, false},
        {"_c_" HEX "-lock-0000000042", HF_ZK_GO, HF_TICKET_MUTEX, 42, true},
        {HEX "__lock__0000000042", HF_ZK_KAZOO, HF_TICKET_EXCLUSIVE, 42, true},
        {HEX "__rlock__0000000042", HF_ZK_KAZOO, HF_TICKET_READ, 42, true},
        {HEX "__lock__-2147483648", HF_ZK_KAZOO, HF_TICKET_EXCLUSIVE, INT32_MIN,
         true},
        {"x-72057594037927936-0000000003", HF_ZK_WRITELOCK, HF_TICKET_MUTEX, 3,
         false},
        {"x--1-0000000003", HF_ZK_WRITELOCK, HF_TICKET_MUTEX, 3, false},
        {"x-010000000000abcd-0000000003", HF_ZK_WRITELOCK, HF_TICKET_MUTEX, 3,
         false},
        {"x-12345678901234567890--000000009", HF_ZK_WRITELOCK, HF_TICKET_MUTEX,
         -9, false},
        {"x-" HEX "-0000000003", HF_ZK_WRITELOCK, HF_TICKET_MUTEX, 3, true},
        {"x-" HEX "--000000003", HF_ZK_WRITELOCK, HF_TICKET_MUTEX, -3, true},
    };
    struct hf_zk_engine_node node;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&node, 0x55, sizeof node);
        if (!parse(rows[i].name, &node))
            fail_msg("%s is no ticket", rows[i].name);
        assert_int_equal(node.dialect, rows[i].dialect);
        assert_int_equal(node.kind, rows[i].kind);
        assert_int_equal(node.sequence, rows[i].sequence);
        assert_int_equal(memcmp(node.id.bytes, uuid_bytes, sizeof uuid_bytes) ==
                             0,
                         rows[i].named);
    }
}

TEST(fn44_what_is_no_ticket_is_refused)
{
    static const char *const rows[] = {
        "",
        "lock",
        "lock-",
        "locks",
        "leases",
        "ready",
        "lease_holder",
        "_c_",
        "0000000042",
        "-0000000042",
        "lock-000000042",   /* 9 digits */
        "lock-00000000042", /* 11 */
        "lock-+000000042",
        "lock- 000000042",
        "lock-0000000042 ",
        "lock-000000004x",
        "lock-0x00000042",
        "lock-2147483648",
        "lock-9999999999",
        "lock--2147483649",
        "lock--9999999999",
        "lock---00000001",
        "lock--00000001", /* 8 */
        "lock-99999999999999999999999999999999999999",
        "Lock-0000000042",
        "x-lock-0000000042",
        "member_0000000042",
        "_c_" UUID "-latch-000000042",
        "_c_" UUID "-lease-000000042",
        "_c_" UUID "latch-0000000042",
        "_c_" UUID "lease-0000000042",
        "_c_" HEX "-lease-0000000042",
        "_c_" UUID "-0000000042",
        "_c_" UUID "lock-0000000042",
        "_c_" UUID,
        "_c_" UUID "-lock-",
        "_c_" UUID "-lock-000000042",
        "_c_" UUID "-lock-00000000042",
        "_c_" UUID "-lock-0000000042-",
        "_c_" UUID "-__READ__",
        "_c_" UUID "-__read__0000000042",
        "_c_" UUID "-__lock__0000000042",
        "_c_6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7d4-lock-0000000042",
        "_c_6f2a6c1e-6a0b-4e9d-9d0e_2f5c3a1b7d44-lock-0000000042",
        "_c_6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7dxy-lock-0000000042",
        "_c_" HEX "lock-0000000042",
        "_c_" HEX "-__READ__0000000042",
        HEX "-lock-0000000042",
        HEX "__lock__",
        HEX "__lock__000000042",
        HEX "__wlock__0000000042",
        "6f2a6c1e6a0b4e9d9d0e2f5c3a1b7d4__lock__0000000042", /* 31 digits */
        "x--0000000042",
        "x-0000000042",
        "x-1_0000000042",
        "x-1-000000042",
        "x-g-0000000042",
        "x-123456789012345678901-0000000042",
        "x---1-0000000042",
        "x-" HEX "0-0000000042",
        "x-" HEX "0000000042",
        "x--" HEX "-0000000042",
        "x-" UUID "-0000000042",
        "x-" HEX "__lock__0000000042",
        "\xff\xfe\xfd",
        "lock-\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "\xc3\xbclock-0000000042",
    };
    struct hf_zk_engine_node node;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (parse(rows[i], &node))
            fail_msg("\"%s\" is a ticket", rows[i]);
    }
    assert_false(hf_zk_engine_node_parse("lock-0000\00000042", 15, &node));
    assert_false(hf_zk_engine_node_parse("lock-0000000042\0", 16, &node));
}

/* Names are not terminated by a NUL. */
TEST(every_beginning_of_a_name_is_refused)
{
    static const char *const names[] = {
        "_c_" UUID "-__READ__0000000042", "_c_" HEX "-lock-0000000042",
        HEX "__rlock__0000000042",        "x-72057594037927936-0000000003",
        "x-" HEX "-0000000003",           "lock-0000000007",
    };
    struct hf_zk_engine_node node;
    char *exact;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t bytes = 0; bytes <= strlen(names[i]); bytes++) {
            exact = test_malloc(bytes + 1); /* and no byte behind is read */
            memcpy(exact + 1, names[i], bytes);
            assert_int_equal(hf_zk_engine_node_parse(exact + 1, bytes, &node),
                             bytes == strlen(names[i]));
            test_free(exact);
        }
    }
}

TEST(long_names_are_refused)
{
    static char name[1 << 20];
    struct hf_zk_engine_node node;

    memset(name, '0', sizeof name);
    assert_false(hf_zk_engine_node_parse(name, sizeof name, &node));
    memcpy(name, "lock-", 5);
    assert_false(hf_zk_engine_node_parse(name, sizeof name, &node));
    memcpy(name, "x-", 2);
    assert_false(hf_zk_engine_node_parse(name, sizeof name, &node));
}

/* Where a name has no id, an id is made of it: equal for equal names, and
 * never of version 4, as drawn ids are. */
TEST(names_without_an_id_get_one)
{
    struct hf_zk_engine_node one, same, other;

    assert_true(parse("lock-0000000007", &one));
    assert_true(parse("lock-0000000007", &same));
    assert_true(parse("lock-0000000008", &other));
    assert_true(hf_ticket_id_equal(&one.id, &same.id));
    assert_false(hf_ticket_id_equal(&one.id, &other.id));
    assert_int_equal(one.id.bytes[6] >> 4, 8);
    assert_int_equal(one.id.bytes[8] >> 6, 2);
    assert_true(parse("x-1-0000000007", &other));
    assert_false(hf_ticket_id_equal(&one.id, &other.id));
    assert_int_equal(other.id.bytes[6] >> 4, 8);
}

/* Other clients understand what we write: not always the kind, but always
 * whose it is. */
TEST(each_layout_is_written_as_others_do)
{
    static const struct {
        enum hf_zk_engine_dialect layout;
        enum hf_ticket_kind kind;
        const char *prefix;
        enum hf_ticket_kind seen;
    } rows[] = {
        {HF_ZK_CURATOR, HF_TICKET_MUTEX, "_c_" UUID "-lock-", HF_TICKET_MUTEX},
        {HF_ZK_CURATOR, HF_TICKET_READ, "_c_" UUID "-__READ__", HF_TICKET_READ},
        {HF_ZK_CURATOR, HF_TICKET_WRITE, "_c_" UUID "-__WRIT__",
         HF_TICKET_WRITE},
        {HF_ZK_CURATOR, HF_TICKET_ELECTION, "_c_" UUID "-latch-",
         HF_TICKET_ELECTION},
        {HF_ZK_KAZOO, HF_TICKET_ELECTION, HEX "__lock__", HF_TICKET_EXCLUSIVE},
        {HF_ZK_KAZOO, HF_TICKET_MUTEX, HEX "__lock__", HF_TICKET_EXCLUSIVE},
        {HF_ZK_KAZOO, HF_TICKET_READ, HEX "__rlock__", HF_TICKET_READ},
        {HF_ZK_KAZOO, HF_TICKET_WRITE, HEX "__lock__", HF_TICKET_EXCLUSIVE},
        {HF_ZK_WRITELOCK, HF_TICKET_MUTEX, "x-" HEX "-", HF_TICKET_MUTEX},
    };
    char prefix[HF_ZK_PREFIX_BYTES], name[HF_ZK_NODE_BYTES];
    struct hf_ticket_id id;
    struct hf_zk_engine_node node;

    memcpy(id.bytes, uuid_bytes, sizeof id.bytes);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(hf_zk_engine_node_prefix(rows[i].layout, &id, rows[i].kind,
                                             prefix));
        assert_string_equal(prefix, rows[i].prefix);
        assert_true(snprintf(name, sizeof name, "%s%010" PRId32, prefix,
                             (int32_t)INT32_MIN) < (int)sizeof name);
        assert_true(parse(name, &node));
        assert_int_equal(node.dialect, rows[i].layout);
        assert_int_equal(node.kind, rows[i].seen);
        assert_int_equal(node.sequence, INT32_MIN);
        assert_true(hf_ticket_id_equal(&node.id, &id));
    }
    assert_false(
        hf_zk_engine_node_prefix(HF_ZK_WRITELOCK, &id, HF_TICKET_READ, prefix));
    assert_false(hf_zk_engine_node_prefix(HF_ZK_WRITELOCK, &id, HF_TICKET_WRITE,
                                          prefix));
    assert_false(hf_zk_engine_node_prefix(HF_ZK_WRITELOCK, &id,
                                          HF_TICKET_ELECTION, prefix));
}

TEST(who_sees_whom)
{
    static const bool sees[][HF_ZK_DIALECTS] = {
        /*                    Curator go     kazoo  WriteLock */
        [HF_ZK_CURATOR] = {true, true, false, true},
        [HF_ZK_KAZOO] = {false, true, true, false},
        [HF_ZK_WRITELOCK] = {false, true, false, true},
    };
    static const enum hf_zk_engine_dialect dialects[] = {
        HF_ZK_CURATOR, HF_ZK_GO, HF_ZK_KAZOO, HF_ZK_WRITELOCK};

    for (size_t i = 0; i < HF_ZK_DIALECTS; i++) {
        assert_int_equal(hf_zk_engine_dialect_sees(dialects[i], HF_ZK_CURATOR),
                         sees[HF_ZK_CURATOR][i]);
        assert_int_equal(hf_zk_engine_dialect_sees(dialects[i], HF_ZK_KAZOO),
                         sees[HF_ZK_KAZOO][i]);
        assert_int_equal(
            hf_zk_engine_dialect_sees(dialects[i], HF_ZK_WRITELOCK),
            sees[HF_ZK_WRITELOCK][i]);
    }
}

TEST(what_turned_negative_came_last)
{
    static const int32_t in_order[] = {
        0, 1, 1 << 30, INT32_MAX, INT32_MIN, INT32_MIN + 1, -1};

    for (size_t i = 1; i < sizeof in_order / sizeof in_order[0]; i++)
        assert_true(hf_zk_engine_node_order(in_order[i - 1]) <
                    hf_zk_engine_node_order(in_order[i]));
}
