/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a ZooKeeper client as bytes: each request to the byte, each
 * answer, whole, cut off at every byte and with wrong contents, and without
 * memory. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper/op_codec.h"

#define ZXID 0x77

static const struct hf_zk_op_context rooted = {"/r", false, 1 << 20};
static const struct hf_zk_op_context bare = {"", true, 1 << 20};

/* ---------------------------------------------------------------- fields -- */

/* Append a Stat whose fields are 1 to 11. */
static void put_stat(struct hf_jute_writer *to)
{
    for (int i = 1; i <= 4; i++)
        hf_jute_put_long(to, i);
    for (int i = 5; i <= 7; i++)
        hf_jute_put_int(to, i);
    hf_jute_put_long(to, 8);
    hf_jute_put_int(to, 9);
    hf_jute_put_int(to, 10);
    hf_jute_put_long(to, 11);
}

/* Append fields: a letter of ${types} for each, and its value.
 *   i  int         l  long      b  bool      s  string or buffer
 *   n  null        S  a Stat    z  a string of two bytes with a NUL
 *   h  MultiHeader, as two values: type and err
 *   e  the MultiHeader behind the last operation */
static void put_fields(struct hf_jute_writer *to, const char *types,
                       va_list values)
{
    for (; *types != '\0'; types++) {
        switch (*types) {
        case 'i':
            hf_jute_put_int(to, va_arg(values, int));
            break;
        case 'l':
            hf_jute_put_long(to, va_arg(values, long long));
            break;
        case 'b':
            hf_jute_put_bool(to, va_arg(values, int) != 0);
            break;
        case 's':
            hf_jute_put_string(to, va_arg(values, const char *));
            break;
        case 'n':
            hf_jute_put_null(to);
            break;
        case 'S':
            put_stat(to);
            break;
        case 'z':
            hf_jute_put_buffer(to, "/\0", 2);
            break;
        case 'h':
            hf_jute_put_int(to, va_arg(values, int));
            hf_jute_put_bool(to, false);
            hf_jute_put_int(to, va_arg(values, int));
            break;
        default:
            hf_jute_put_int(to, -1);
            hf_jute_put_bool(to, true);
            hf_jute_put_int(to, -1);
        }
    }
}

/* -------------------------------------------------------------- requests -- */

/* The record of ${op} consists of these fields, and the request is as long as
 * it says. */
static void check_record(const struct hf_zookeeper_op *op,
                         const struct hf_zk_op_context *context,
                         enum hf_zk_opcode opcode, const char *types, ...)
{
    struct hf_jute_writer wanted = {0}, record = {0};
    va_list values;

    va_start(values, types);
    put_fields(&wanted, types, values);
    va_end(values);
    assert_int_equal(hf_zk_op_check(op, context, NULL), HF_OK);
    assert_int_equal(hf_zk_op_opcode(op), opcode);
    assert_int_equal(hf_zk_op_encode(op, context, &record, NULL), HF_OK);
    assert_int_equal(record.used, wanted.used);
    assert_memory_equal(record.bytes, wanted.bytes, wanted.used);
    assert_int_equal(hf_zk_op_bytes(op, context), record.used + 12);
    hf_jute_free(&record);
    hf_jute_free(&wanted);
}

TEST(a_create_is_what_its_mode_says)
{
    static const struct {
        enum hf_zookeeper_mode mode;
        enum hf_zk_opcode opcode;
        int flags; /* CreateMode */
    } rows[] = {
        {HF_ZOOKEEPER_PERSISTENT, HF_ZK_CREATE2, 0},
        {HF_ZOOKEEPER_EPHEMERAL, HF_ZK_CREATE2, 1},
        {HF_ZOOKEEPER_SEQUENTIAL, HF_ZK_CREATE2, 2},
        {HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL, HF_ZK_CREATE2, 3},
        {HF_ZOOKEEPER_CONTAINER, HF_ZK_CREATE_CONTAINER, 4},
    };
    struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_CREATE, .path = "/a", .data = "x", .bytes = 1};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        op.mode = rows[i].mode;
        check_record(&op, &rooted, rows[i].opcode, "ssiissi", "/r/a", "x", 1,
                     31, "world", "anyone", rows[i].flags);
    }
    op.ttl_ms = 0xffffffffff;
    op.mode = HF_ZOOKEEPER_TTL;
    check_record(&op, &rooted, HF_ZK_CREATE_TTL, "ssiissil", "/r/a", "x", 1, 31,
                 "world", "anyone", 5, 0xffffffffffLL);
    op.mode = HF_ZOOKEEPER_TTL_SEQUENTIAL;
    check_record(&op, &rooted, HF_ZK_CREATE_TTL, "ssiissil", "/r/a", "x", 1, 31,
                 "world", "anyone", 6, 0xffffffffffLL);
}

TEST(null_is_not_the_same_as_no_bytes)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SET, .path = "/a"};

    check_record(&op, &bare, HF_ZK_SET_DATA, "sni", "/a", 0);
    op.data = "";
    check_record(&op, &bare, HF_ZK_SET_DATA, "ssi", "/a", "", 0);
}

TEST(nodes_are_for_whom_the_handle_says)
{
    static const struct hf_zookeeper_acl acls[] = {{1, "world", "anyone"},
                                                   {12, "ip", "10.0.0.0/8"}};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE, .path = "/a"};

    check_record(&op, &bare, HF_ZK_CREATE2, "sniissi", "/a", 1, 31, "auth", "",
                 0);
    op.acls = acls;
    op.acl_count = 2;
    check_record(&op, &bare, HF_ZK_CREATE2, "sniississi", "/a", 2, 1, "world",
                 "anyone", 12, "ip", "10.0.0.0/8", 0);
}

/* With digits appended, "/r" would become "/r0000000001". */
TEST(the_chroot_itself_is_the_root)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = "/"};

    check_record(&op, &rooted, HF_ZK_GET_DATA, "sb", "/r", 0);
    check_record(&op, &bare, HF_ZK_GET_DATA, "sb", "/", 0);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CREATE,
                                  .path = "/",
                                  .mode = HF_ZOOKEEPER_SEQUENTIAL};
    check_record(&op, &rooted, HF_ZK_CREATE2, "sniissi", "/r/", 1, 31, "world",
                 "anyone", 2);
}

TEST(every_other_kind_has_its_record)
{
    static const struct hf_zookeeper_acl acl = {31, "digest", "u:h="};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_DELETE,
                                 .path = "/a",
                                 .version = 7,
                                 .acls = &acl,
                                 .acl_count = 1};
    static const struct {
        enum hf_zookeeper_op_kind kind;
        enum hf_zk_opcode opcode;
        const char *types;
    } rows[] = {
        {HF_ZOOKEEPER_EXISTS, HF_ZK_EXISTS, "sb"},
        {HF_ZOOKEEPER_GET, HF_ZK_GET_DATA, "sb"},
        {HF_ZOOKEEPER_CHILDREN, HF_ZK_GET_CHILDREN2, "sb"},
        {HF_ZOOKEEPER_SYNC, HF_ZK_SYNC, "s"},
        {HF_ZOOKEEPER_GET_ACL, HF_ZK_GET_ACL, "s"},
        {HF_ZOOKEEPER_EPHEMERALS, HF_ZK_GET_EPHEMERALS, "s"},
        {HF_ZOOKEEPER_COUNT, HF_ZK_GET_ALL_CHILDREN_NUMBER, "s"},
        {HF_ZOOKEEPER_ADD_WATCH, HF_ZK_ADD_WATCH, "si"},
    };

    check_record(&op, &rooted, HF_ZK_DELETE, "si", "/r/a", 7);
    op.kind = HF_ZOOKEEPER_SET_ACL;
    check_record(&op, &rooted, HF_ZK_SET_ACL, "siissi", "/r/a", 1, 31, "digest",
                 "u:h=", 7);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        op.kind = rows[i].kind;
        check_record(&op, &rooted, rows[i].opcode, rows[i].types, "/r/a", 0);
    }
    op.kind = HF_ZOOKEEPER_WHO_AM_I;
    check_record(&op, &rooted, HF_ZK_WHO_AM_I, "");
    op.kind = HF_ZOOKEEPER_GET_CONFIG;
    check_record(&op, &rooted, HF_ZK_GET_DATA, "sb", "/zookeeper/config", 0);
}

TEST(a_reconfiguration_has_changes_or_servers)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_RECONFIG,
                                 .joining = "server.4=h:1:2;3",
                                 .leaving = "2,3",
                                 .servers = "",
                                 .config_version = 0x100000001};

    check_record(&op, &rooted, HF_ZK_RECONFIG, "ssnl", "server.4=h:1:2;3",
                 "2,3", 0x100000001LL);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_RECONFIG,
                                  .servers = "server.1=h:1:2;3",
                                  .config_version = HF_ZOOKEEPER_ANY_VERSION};
    check_record(&op, &bare, HF_ZK_RECONFIG, "nnsl", "server.1=h:1:2;3", -1LL);
}

TEST(credentials_are_not_in_a_record)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                 .scheme = "digest",
                                 .data = "u:p",
                                 .bytes = 3};
    struct hf_jute_writer record = {0};

    assert_int_equal(hf_zk_op_opcode(&op), HF_ZK_AUTH);
    assert_int_equal(hf_zk_op_encode(&op, &rooted, &record, NULL), HF_OK);
    assert_int_equal(record.used, 0);
}

static const struct hf_zookeeper_op multi_writes[] = {
    {.kind = HF_ZOOKEEPER_CREATE,
     .path = "/a",
     .data = "x",
     .bytes = 1,
     .mode = HF_ZOOKEEPER_SEQUENTIAL},
    {.kind = HF_ZOOKEEPER_DELETE, .path = "/b", .version = 1},
    {.kind = HF_ZOOKEEPER_SET, .path = "/c", .version = -1},
    {.kind = HF_ZOOKEEPER_CHECK, .path = "/d", .version = 3},
    {.kind = HF_ZOOKEEPER_CREATE, .path = "/e", .mode = HF_ZOOKEEPER_CONTAINER},
    {.kind = HF_ZOOKEEPER_CREATE,
     .path = "/f",
     .mode = HF_ZOOKEEPER_TTL,
     .ttl_ms = 9},
};
static const struct hf_zookeeper_op multi_write = {
    .kind = HF_ZOOKEEPER_MULTI, .ops = multi_writes, .op_count = 6};
static const struct hf_zookeeper_op multi_reads[] = {
    {.kind = HF_ZOOKEEPER_GET, .path = "/a"},
    {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/b"},
};
static const struct hf_zookeeper_op multi_read = {
    .kind = HF_ZOOKEEPER_MULTI_READ, .ops = multi_reads, .op_count = 2};

/* A create is a create, not a create2, and a CHILDREN is a getChildren. */
TEST(a_multi_has_a_header_for_each_operation)
{
    check_record(&multi_write, &rooted, HF_ZK_MULTI,
                 "hssiissihsihsnihsihsniissihsniissile",          /**/
                 1, -1, "/r/a", "x", 1, 31, "world", "anyone", 2, /**/
                 2, -1, "/r/b", 1,                                /**/
                 5, -1, "/r/c", -1,                               /**/
                 13, -1, "/r/d", 3,                               /**/
                 19, -1, "/r/e", 1, 31, "world", "anyone", 4,     /**/
                 21, -1, "/r/f", 1, 31, "world", "anyone", 5, 9LL);
    check_record(&multi_read, &rooted, HF_ZK_MULTI_READ, "hsbhsbe", 4, -1,
                 "/r/a", 0, 8, -1, "/r/b", 0);
}

/* What serialize() of kazoo 2.8.0 makes of the same operations. */
TEST(kazoo_sends_the_same_bytes)
{
    static const struct hf_zookeeper_acl acls[] = {{1, "world", "anyone"},
                                                   {31, "digest", "u:h="}};
    static const struct {
        struct hf_zookeeper_op op;
        int opcode;
        const char *hex;
    } rows[] = {
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .data = "x", .bytes = 1},
         15,
         "000000042f722f610000000178000000010000001f00000005776f726c640000"
         "0006616e796f6e6500000000"},
        {{.kind = HF_ZOOKEEPER_CREATE,
          .path = "/a",
          .acls = acls,
          .acl_count = 2,
          .mode = HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL},
         15,
         "000000042f722f61ffffffff000000020000000100000005776f726c64000000"
         "06616e796f6e650000001f0000000664696765737400000004753a683d000000"
         "03"},
        {{.kind = HF_ZOOKEEPER_DELETE, .path = "/a", .version = -1},
         2,
         "000000042f722f61ffffffff"},
        {{.kind = HF_ZOOKEEPER_EXISTS, .path = "/a"}, 3, "000000042f722f6100"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "/"}, 4, "000000022f7200"},
        {{.kind = HF_ZOOKEEPER_SET, .path = "/a", .data = "", .version = 7},
         5,
         "000000042f722f610000000000000007"},
        {{.kind = HF_ZOOKEEPER_CHILDREN, .path = "/a"},
         12,
         "000000042f722f6100"},
        {{.kind = HF_ZOOKEEPER_SYNC, .path = "/a"}, 9, "000000042f722f61"},
        {{.kind = HF_ZOOKEEPER_GET_ACL, .path = "/a"}, 6, "000000042f722f61"},
        {{.kind = HF_ZOOKEEPER_SET_ACL,
          .path = "/a",
          .acls = acls,
          .acl_count = 2,
          .version = 2},
         7,
         "000000042f722f61000000020000000100000005776f726c6400000006616e79"
         "6f6e650000001f0000000664696765737400000004753a683d00000002"},
        {{.kind = HF_ZOOKEEPER_MULTI, .ops = multi_writes, .op_count = 4},
         14,
         "0000000100ffffffff000000042f722f610000000178000000010000001f0000"
         "0005776f726c6400000006616e796f6e65000000020000000200ffffffff0000"
         "00042f722f62000000010000000500ffffffff000000042f722f63ffffffffff"
         "ffffff0000000d00ffffffff000000042f722f6400000003ffffffff01ffffff"
         "ff"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_jute_writer record = {0};
        char hex[512] = "";

        assert_int_equal(hf_zk_op_encode(&rows[i].op, &rooted, &record, NULL),
                         HF_OK);
        assert_true(record.used < sizeof hex / 2);
        for (size_t at = 0; at < record.used; at++)
            snprintf(hex + 2 * at, 3, "%02x", record.bytes[at]);
        assert_string_equal(hex, rows[i].hex);
        assert_int_equal(hf_zk_op_opcode(&rows[i].op), rows[i].opcode);
        hf_jute_free(&record);
    }
}

/* --------------------------------------------------------------- answers -- */

/* An operation, and the answer to it. */
struct exchange {
    const struct hf_zk_op_context *context;
    struct hf_jute_writer record;
    struct hf_jute_writer body;
    enum hf_zk_opcode opcode;
};

static void exchange_begin(struct exchange *x,
                           const struct hf_zk_op_context *context,
                           const struct hf_zookeeper_op *op, const char *types,
                           ...)
{
    va_list values;

    *x = (struct exchange){.context = context, .opcode = hf_zk_op_opcode(op)};
    assert_int_equal(hf_zk_op_encode(op, context, &x->record, NULL), HF_OK);
    va_start(values, types);
    put_fields(&x->body, types, values);
    va_end(values);
}

static void exchange_end(struct exchange *x)
{
    hf_jute_free(&x->record);
    hf_jute_free(&x->body);
    assert_int_equal(heap_live(), 0);
}

/* The result of the first ${bytes} of the answer, which has that ${error}.  The
 * answer has memory of its own, so that a sanitizer sees what reads behind
 * it.  NULL: there was no memory to begin with. */
static struct hf_zookeeper_result *result_of(const struct exchange *x,
                                             size_t bytes, int error)
{
    struct hf_zookeeper_result *reserved = hf_zk_op_reserve(), *result;
    uint8_t *answer = malloc(bytes + 1);
    struct hf_zk_reply reply = {
        (enum hf_zk_error)error, ZXID, {answer, bytes, false}};

    assert_non_null(answer);
    if (reserved == NULL) {
        free(answer);
        return NULL;
    }
    if (bytes > 0)
        memcpy(answer, x->body.bytes, bytes);
    result = hf_zk_op_result(x->opcode, &x->record, x->context->chroot, &reply,
                             reserved);
    free(answer); /* a result has copies */
    assert_non_null(result);
    return result;
}

/* Each part of the answer is no answer, and each allocation may fail. */
static void check_faults(const struct exchange *x)
{
    struct hf_zookeeper_result *result;

    for (size_t bytes = 0; bytes < x->body.used; bytes++) {
        result = result_of(x, bytes, 0);
        assert_int_equal(result->status, HF_EPROTOCOL);
        assert_int_equal(result->error, 0);
        assert_int_equal(result->zxid, ZXID);
        assert_null(result->results);
        hf_zookeeper_result_free(result);
    }
    for (unsigned long nth = 1;; nth++) {
        heap_fail(nth, false);
        result = result_of(x, x->body.used, 0);
        assert_true((result == NULL) == (nth == 1));
        if (!heap_failed())
            break;
        if (result != NULL) {
            assert_int_equal(result->status, HF_ENOMEM);
            assert_non_null(strstr(result->text, ": no memory for the answer"));
        }
        hf_zookeeper_result_free(result);
    }
    heap_fail(0, false);
    hf_zookeeper_result_free(result);
}

/* The whole answer, after check_faults(), which must be a success. */
static struct hf_zookeeper_result *success_of(const struct exchange *x)
{
    struct hf_zookeeper_result *result;

    check_faults(x);
    result = result_of(x, x->body.used, 0);
    assert_int_equal(result->status, HF_OK);
    assert_int_equal(result->error, 0);
    assert_string_equal(result->text, "");
    assert_int_equal(result->zxid, ZXID);
    assert_false(result->watching);
    return result;
}

static void check_stat(const struct hf_zookeeper_result *result)
{
    assert_true(result->has_stat);
    assert_int_equal(result->stat.czxid, 1);
    assert_int_equal(result->stat.mzxid, 2);
    assert_int_equal(result->stat.created_utc_ms, 3);
    assert_int_equal(result->stat.modified_utc_ms, 4);
    assert_int_equal(result->stat.version, 5);
    assert_int_equal(result->stat.cversion, 6);
    assert_int_equal(result->stat.aversion, 7);
    assert_int_equal(result->stat.ephemeral_owner, 8);
    assert_int_equal(result->stat.bytes, 9);
    assert_int_equal(result->stat.children, 10);
    assert_int_equal(result->stat.pzxid, 11);
}

TEST(a_created_node_has_its_path)
{
    static const enum hf_zookeeper_mode modes[] = {
        HF_ZOOKEEPER_SEQUENTIAL, HF_ZOOKEEPER_CONTAINER, HF_ZOOKEEPER_TTL};
    struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_CREATE, .path = "/a", .ttl_ms = 1};
    struct hf_zookeeper_result *result;
    struct exchange x;

    for (size_t i = 0; i < 3; i++) {
        op.mode = modes[i];
        exchange_begin(&x, &rooted, &op, "sS", "/r/a0000000001");
        result = success_of(&x);
        assert_string_equal(result->path, "/a0000000001");
        check_stat(result);
        hf_zookeeper_result_free(result);
        exchange_end(&x);
    }
    exchange_begin(&x, &bare, &op, "sS", "/a");
    result = success_of(&x);
    assert_string_equal(result->path, "/a");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(an_answer_with_a_stat_only)
{
    static const struct hf_zookeeper_acl acl = {1, "world", "anyone"};
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_EXISTS, HF_ZOOKEEPER_SET, HF_ZOOKEEPER_SET_ACL};
    struct hf_zookeeper_op op = {.path = "/a", .acls = &acl, .acl_count = 1};
    struct hf_zookeeper_result *result;
    struct exchange x;

    for (size_t i = 0; i < 3; i++) {
        op.kind = kinds[i];
        exchange_begin(&x, &rooted, &op, "S");
        result = success_of(&x);
        check_stat(result);
        assert_null(result->path);
        assert_null(result->data);
        hf_zookeeper_result_free(result);
        exchange_end(&x);
    }
}

/* No memory is needed for these once the operation is sent. */
TEST(an_answer_without_content)
{
    static const struct {
        enum hf_zookeeper_op_kind kind;
        const char *types;
    } rows[] = {{HF_ZOOKEEPER_DELETE, ""},
                {HF_ZOOKEEPER_SYNC, "s"},
                {HF_ZOOKEEPER_ADD_WATCH, "s"}}; /* it has an ErrorResponse */
    struct hf_zookeeper_op op = {.path = "/a"};
    struct hf_zookeeper_result *result;
    struct exchange x;

    for (size_t i = 0; i < 3; i++) {
        op.kind = rows[i].kind;
        exchange_begin(&x, &rooted, &op, rows[i].types, "");
        heap_fail(2, true);
        result = result_of(&x, x.body.used, 0);
        heap_fail(0, false);
        assert_int_equal(result->status, HF_OK);
        assert_int_equal(result->zxid, ZXID);
        assert_string_equal(result->text, "");
        assert_false(result->has_stat);
        hf_zookeeper_result_free(result);
        exchange_end(&x);
    }
}

TEST(data_may_be_null_or_empty)
{
    static const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET,
                                              .path = "/a"};
    static const struct hf_zookeeper_op config = {.kind =
                                                      HF_ZOOKEEPER_GET_CONFIG};
    static const struct hf_zookeeper_op reconfig = {
        .kind = HF_ZOOKEEPER_RECONFIG, .leaving = "2"};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &op, "sS", "some");
    result = success_of(&x);
    assert_int_equal(result->bytes, 4);
    assert_memory_equal(result->data, "some", 4);
    check_stat(result);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &rooted, &op, "sS", "");
    result = success_of(&x);
    assert_int_equal(result->bytes, 0);
    assert_non_null(result->data);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &rooted, &op, "nS");
    result = success_of(&x);
    assert_int_equal(result->bytes, 0);
    assert_null(result->data);
    check_stat(result);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &rooted, &config, "sS", "server.1=h");
    result = success_of(&x);
    assert_memory_equal(result->data, "server.1=h", 10);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &rooted, &reconfig, "sS", "server.1=h");
    result = success_of(&x);
    assert_memory_equal(result->data, "server.1=h", 10);
    check_stat(result);
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(children_are_names)
{
    static const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CHILDREN,
                                              .path = "/a"};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &op, "isssS", 3, "one", "", "three");
    result = success_of(&x);
    assert_int_equal(result->child_count, 3);
    assert_string_equal(result->children[0], "one");
    assert_string_equal(result->children[1], "");
    assert_string_equal(result->children[2], "three");
    check_stat(result);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    for (int null = 0; null < 2; null++) {
        exchange_begin(&x, &rooted, &op, null ? "nS" : "iS", 0);
        result = success_of(&x);
        assert_int_equal(result->child_count, 0);
        check_stat(result);
        hf_zookeeper_result_free(result);
        exchange_end(&x);
    }
}

/* Servers compare the first characters only. */
TEST(ephemerals_are_those_at_and_below_a_path)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EPHEMERALS, .path = "/a"};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &op, "isss", 3, "/r/ab/1", "/r/a", "/r/a/2");
    result = success_of(&x);
    assert_int_equal(result->child_count, 2);
    assert_string_equal(result->children[0], "/a");
    assert_string_equal(result->children[1], "/a/2");
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    op.path = "/";
    exchange_begin(&x, &rooted, &op, "isss", 3, "/r", "/rest", "/r/1");
    result = success_of(&x);
    assert_int_equal(result->child_count, 2);
    assert_string_equal(result->children[0], "/");
    assert_string_equal(result->children[1], "/1");
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &bare, &op, "iss", 2, "/r", "/s/1");
    result = success_of(&x);
    assert_int_equal(result->child_count, 2);
    assert_string_equal(result->children[1], "/s/1");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(a_number_of_nodes)
{
    static const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_COUNT,
                                              .path = "/a"};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &op, "i", 0x7fffffff);
    result = success_of(&x);
    assert_int_equal(result->count, 0x7fffffff);
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(access_lists_and_identities)
{
    static const struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET_ACL,
                                               .path = "/a"};
    static const struct hf_zookeeper_op who = {.kind = HF_ZOOKEEPER_WHO_AM_I};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &get, "iississS", 2, 31, "digest", "u:x", 1,
                   "world", "anyone");
    result = success_of(&x);
    assert_int_equal(result->acl_count, 2);
    assert_int_equal(result->acls[0].permissions, 31);
    assert_string_equal(result->acls[0].scheme, "digest");
    assert_string_equal(result->acls[0].id, "u:x");
    assert_int_equal(result->acls[1].permissions, 1);
    assert_string_equal(result->acls[1].scheme, "world");
    assert_string_equal(result->acls[1].id, "anyone");
    check_stat(result);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &rooted, &who, "isssn", 2, "ip", "127.0.0.1", "x509");
    result = success_of(&x);
    assert_int_equal(result->acl_count, 2);
    assert_int_equal(result->acls[0].permissions, 0);
    assert_string_equal(result->acls[0].scheme, "ip");
    assert_string_equal(result->acls[0].id, "127.0.0.1");
    assert_string_equal(result->acls[1].scheme, "x509");
    assert_string_equal(result->acls[1].id, "");
    assert_false(result->has_stat);
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

/* A later version may append fields. */
TEST(bytes_behind_a_record_are_ignored)
{
    static const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                              .path = "/a"};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &op, "Sl", 5LL);
    result = result_of(&x, x.body.used, 0);
    assert_int_equal(result->status, HF_OK);
    check_stat(result);
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

/* ------------------------------------------------------ answers that lie -- */

/* The answer to ${kind} of "/a" that consists of these fields is refused. */
#define CHECK_LIE(kind_, ...)                                                  \
    do {                                                                       \
        struct hf_zookeeper_op op_ = {.kind = (kind_), .path = "/a"};          \
        struct exchange x_;                                                    \
                                                                               \
        exchange_begin(&x_, &rooted, &op_, __VA_ARGS__);                       \
        check_lie(&x_);                                                        \
    } while (0)

static void check_lie(struct exchange *x)
{
    struct hf_zookeeper_result *result = result_of(x, x->body.used, 0);

    assert_int_equal(result->status, HF_EPROTOCOL);
    assert_non_null(
        strstr(result->text, ": the answer does not fit the operation"));
    assert_int_equal(result->zxid, ZXID);
    hf_zookeeper_result_free(result);
    exchange_end(x);
}

TEST(answers_that_do_not_fit)
{
    CHECK_LIE(HF_ZOOKEEPER_CREATE, "nS");
    CHECK_LIE(HF_ZOOKEEPER_CREATE, "sS", "");
    CHECK_LIE(HF_ZOOKEEPER_CREATE, "sS", "/s/a"); /* not below the chroot */
    CHECK_LIE(HF_ZOOKEEPER_CREATE, "sS", "/ra");
    CHECK_LIE(HF_ZOOKEEPER_CREATE, "zS");
    CHECK_LIE(HF_ZOOKEEPER_GET, "iS", -2);
    CHECK_LIE(HF_ZOOKEEPER_GET, "iS", 0x7fffffff);
    CHECK_LIE(HF_ZOOKEEPER_CHILDREN, "inS", 1);
    CHECK_LIE(HF_ZOOKEEPER_CHILDREN, "izS", 1);
    CHECK_LIE(HF_ZOOKEEPER_CHILDREN, "isS", 2, "a");
    CHECK_LIE(HF_ZOOKEEPER_CHILDREN, "iS", 0x7fffffff);
    CHECK_LIE(HF_ZOOKEEPER_CHILDREN, "iS", -2);
    CHECK_LIE(HF_ZOOKEEPER_CHILDREN, "iiS", 1, -2);
    CHECK_LIE(HF_ZOOKEEPER_EPHEMERALS, "in", 1);
    CHECK_LIE(HF_ZOOKEEPER_EPHEMERALS, "iz", 1);
    CHECK_LIE(HF_ZOOKEEPER_COUNT, "i", -1);
    CHECK_LIE(HF_ZOOKEEPER_GET_ACL, "iS", 0x7fffffff);
    CHECK_LIE(HF_ZOOKEEPER_GET_ACL, "iizsS", 1, 31, "anyone");
    CHECK_LIE(HF_ZOOKEEPER_WHO_AM_I, "isz", 1, "ip");
    CHECK_LIE(HF_ZOOKEEPER_WHO_AM_I, "iss", 2, "ip", "here");
    CHECK_LIE(HF_ZOOKEEPER_SYNC, "i", -2);
}

/* ----------------------------------------------------------------- multi -- */

static void begin_multi(struct exchange *x)
{
    exchange_begin(x, &rooted, &multi_write, "hshhShhsShsSe", /**/
                   1, 0, "/r/a0000000007", 2, 0, 5, 0, 13, 0, 15, 0, "/r/e", 15,
                   0, "/r/f");
}

TEST(a_multi_has_a_result_for_each_operation)
{
    struct hf_zookeeper_result *result;
    struct exchange x;

    begin_multi(&x);
    result = success_of(&x);
    assert_int_equal(result->result_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(result->results[i]->status, HF_OK);
        assert_int_equal(result->results[i]->zxid, ZXID);
        assert_string_equal(result->results[i]->text, "");
    }
    assert_string_equal(result->results[0]->path, "/a0000000007");
    assert_false(result->results[0]->has_stat);
    check_stat(result->results[2]);
    assert_string_equal(result->results[4]->path, "/e");
    check_stat(result->results[4]);
    assert_string_equal(result->results[5]->path, "/f");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(a_failed_multi_says_which_operation_failed)
{
    static const char *const text =
        ".ops[3]: /d: another version; expected version 3";
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &multi_write, "hihihihihihie", /**/
                   -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, -103, -103, -1, -2, -2, -1,
                   -2, -2);
    check_faults(&x);
    result = result_of(&x, x.body.used, 0);
    assert_int_equal(result->status, HF_EVERSION);
    assert_int_equal(result->error, -103);
    assert_string_equal(result->text, text);
    assert_int_equal(result->result_count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(result->results[i]->status,
                         i == 3 ? HF_EVERSION : HF_ECANCELLED);
        assert_int_equal(result->results[i]->error, i == 3 ? -103 : 0);
        assert_string_equal(result->results[i]->text,
                            i == 3 ? text
                                   : "not carried out, because .ops[3] failed");
    }
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

/* As when the server could not read the request. */
TEST(a_multi_that_failed_as_a_whole)
{
    struct hf_zookeeper_result *result;
    struct exchange x;

    begin_multi(&x);
    result = result_of(&x, x.body.used, HF_ZK_MARSHALLING);
    assert_int_equal(result->status, HF_EUNSURE);
    assert_int_equal(result->error, -5);
    assert_string_equal(result->text,
                        "the multi: the server could not read the request");
    assert_int_equal(result->result_count, 0);
    hf_zookeeper_result_free(result);
    result = result_of(&x, 0, HF_ZK_ANSWER_TOO_LONG);
    assert_int_equal(result->status, HF_ELIMIT);
    assert_string_equal(result->text,
                        "the multi: the answer is longer than "
                        "max_answer_bytes; the multi may have been carried "
                        "out");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(reads_of_a_multi_fail_one_by_one)
{
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &multi_read, "hsShisse", 4, 0, "data", 8, 0, 2,
                   "b1", "b2");
    result = success_of(&x);
    assert_int_equal(result->result_count, 2);
    assert_memory_equal(result->results[0]->data, "data", 4);
    check_stat(result->results[0]);
    assert_int_equal(result->results[1]->child_count, 2);
    assert_string_equal(result->results[1]->children[1], "b2");
    assert_false(result->results[1]->has_stat);
    hf_zookeeper_result_free(result);
    exchange_end(&x);

    exchange_begin(&x, &rooted, &multi_read, "hihise", -1, -101, -101, 8, 0, 1,
                   "b1");
    result = success_of(&x);
    assert_int_equal(result->results[0]->status, HF_EGONE);
    assert_int_equal(result->results[0]->error, -101);
    assert_string_equal(result->results[0]->text, ".ops[0]: /a: no such node");
    assert_int_equal(result->results[1]->status, HF_OK);
    assert_string_equal(result->results[1]->children[0], "b1");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

/* The answer to ${op} that consists of these fields is refused. */
#define CHECK_MULTI_LIE(op, ...)                                               \
    do {                                                                       \
        struct exchange x_;                                                    \
                                                                               \
        exchange_begin(&x_, &rooted, &(op), __VA_ARGS__);                      \
        check_lie(&x_);                                                        \
    } while (0)

TEST(multis_that_do_not_fit)
{
    static const struct hf_zookeeper_op two = {
        .kind = HF_ZOOKEEPER_MULTI, .ops = multi_writes, .op_count = 2};

    CHECK_MULTI_LIE(two, "e"); /* too few */
    CHECK_MULTI_LIE(two, "hse", 1, 0, "/r/a");
    CHECK_MULTI_LIE(two, "hshhe", 1, 0, "/r/a", 2, 0, 2, 0); /* too many */
    CHECK_MULTI_LIE(two, "hshe", 1, 0, "/r/a", 13, 0);       /* another type */
    CHECK_MULTI_LIE(two, "hshe", 1, 0, "/s/a", 2, 0);
    CHECK_MULTI_LIE(two, "hihie", -1, 0, 0, -1, 0, 0);  /* nothing failed */
    CHECK_MULTI_LIE(two, "hihie", -1, 0, 0, -1, 5, 5);  /* no error of theirs */
    CHECK_MULTI_LIE(two, "hihe", -1, -101, -101, 2, 0); /* half carried out */
    CHECK_MULTI_LIE(two, "hshie", 1, 0, "/r/a", -1, -101, -101);
    CHECK_MULTI_LIE(multi_read, "hihise", -1, 0, 0, 8, 0, 1, "b1");
    CHECK_MULTI_LIE(multi_read, "hsShisse", 4, 0, "data", 12, 0, 2, "b", "c");
}

/* ---------------------------------------------------------------- errors -- */

/* Errors of operations on "/a", whose expected version is 7. */
static const struct {
    enum hf_zookeeper_op_kind kind;
    int error;
    hf_status status;
    const char *text;
} error_rows[] = {
    {HF_ZOOKEEPER_GET, -101, HF_EGONE, "/a: no such node"},
    {HF_ZOOKEEPER_CREATE, -101, HF_EGONE,
     "/a: there is no node above it; create that first"},
    {HF_ZOOKEEPER_CREATE, -110, HF_EEXISTS, "/a: the node is there already"},
    {HF_ZOOKEEPER_SET, -103, HF_EVERSION,
     "/a: another version; expected version 7"},
    {HF_ZOOKEEPER_SET_ACL, -103, HF_EVERSION,
     "/a: another version; expected version 7"},
    {HF_ZOOKEEPER_DELETE, -103, HF_EVERSION,
     "/a: another version; expected version 7"},
    {HF_ZOOKEEPER_DELETE, -111, HF_ENOTEMPTY,
     "/a: the node has children; delete them first"},
    {HF_ZOOKEEPER_GET, -102, HF_EDENIED,
     "/a: no permission; see the access list of the node, and the "
     "credentials of this client"},
    {HF_ZOOKEEPER_GET, -115, HF_EDENIED,
     "/a: the server did not accept the credentials"},
    {HF_ZOOKEEPER_ADD_AUTH, -115, HF_EDENIED,
     "add auth: the server did not accept the credentials"},
    {HF_ZOOKEEPER_SET, -119, HF_EREADONLY,
     "/a: the server is read-only; try again later"},
    {HF_ZOOKEEPER_CREATE, -6, HF_EUNSUPPORTED,
     "/a: the server does not know this operation; expected ZooKeeper 3.5 "
     "or later"},
    {HF_ZOOKEEPER_COUNT, -6, HF_EUNSUPPORTED,
     "/a: the server does not know this operation; expected ZooKeeper 3.6 "
     "or later"},
    {HF_ZOOKEEPER_WHO_AM_I, -6, HF_EUNSUPPORTED,
     "who am I: the server does not know this operation; expected "
     "ZooKeeper 3.7 or later"},
    {HF_ZOOKEEPER_GET_ACL, -6, HF_EUNSUPPORTED,
     "/a: the server does not know this operation; expected a later "
     "version of ZooKeeper"},
    {HF_ZOOKEEPER_GET_CONFIG, -101, HF_EGONE,
     "/zookeeper/config: no such node"},
    {HF_ZOOKEEPER_RECONFIG, -123, HF_EUNSUPPORTED,
     "/zookeeper/config: the servers do not allow reconfiguration; expected "
     "reconfigEnabled=true on all servers"},
    {HF_ZOOKEEPER_RECONFIG, -6, HF_EUNSUPPORTED,
     "/zookeeper/config: the server is not one of an ensemble; expected "
     "standaloneEnabled=false, if it has to be alone"},
    {HF_ZOOKEEPER_RECONFIG, -13, HF_EUNREACHABLE,
     "/zookeeper/config: no quorum of the new configuration has the leader's "
     "data; start the servers that join, and try again when they have the "
     "data"},
    {HF_ZOOKEEPER_RECONFIG, -14, HF_EUNREACHABLE,
     "/zookeeper/config: another reconfiguration is in progress; try again "
     "later"},
    {HF_ZOOKEEPER_RECONFIG, -103, HF_EVERSION,
     "/zookeeper/config: another version; expected version 0x10"},
    {HF_ZOOKEEPER_RECONFIG, -102, HF_EDENIED,
     "/zookeeper/config: no permission; see the access list of the node, and "
     "the credentials of this client"},
    {HF_ZOOKEEPER_RECONFIG, -7, HF_EUNSURE,
     "/zookeeper/config: the server ran out of time"},
    {HF_ZOOKEEPER_CREATE, -114, HF_EINVAL,
     "/a: the server does not accept the access list; expected schemes "
     "that it knows, with ids of their form; the scheme \"auth\" needs "
     "credentials"},
    {HF_ZOOKEEPER_CREATE, -8, HF_EINVAL, "/a: bad arguments"},
    {HF_ZOOKEEPER_DELETE, -8, HF_EINVAL,
     "/a: bad arguments; the servers need that node"},
    {HF_ZOOKEEPER_RECONFIG, -8, HF_EINVAL,
     "/zookeeper/config: bad arguments; expected servers such as "
     "server.4=h4:2888:3888;2181, and enough of them that may vote"},
    {HF_ZOOKEEPER_CREATE, -5, HF_EUNSURE,
     "/a: the server could not read the request"},
    {HF_ZOOKEEPER_CREATE, -108, HF_EINVAL,
     "/a: the parent is an ephemeral node"},
    {HF_ZOOKEEPER_CREATE, -125, HF_EFULL,
     "/a: the quota is used up; see the quota in /zookeeper/quota"},
    {HF_ZOOKEEPER_CREATE, -127, HF_EUNREACHABLE,
     "/a: the server has too much to do; try again later"},
    {HF_ZOOKEEPER_CREATE, -7, HF_EUNSURE, "/a: the server ran out of time"},
    {HF_ZOOKEEPER_SET_ACL, -4, HF_EUNSURE,
     "/a: the server lost its own connection"},
    {HF_ZOOKEEPER_GET, -7, HF_EUNREACHABLE, "/a: the server ran out of time"},
    {HF_ZOOKEEPER_GET, -112, HF_ELOST, "/a: the session has expired"},
    {HF_ZOOKEEPER_GET, -1, HF_EPROTOCOL, "/a: a fault of the server (-1)"},
    {HF_ZOOKEEPER_GET, -999, HF_EPROTOCOL,
     "/a: an error that this version of holdfast does not know (-999)"},
    {HF_ZOOKEEPER_GET, HF_ZK_MALFORMED, HF_EPROTOCOL,
     "/a: the answer does not fit the operation"},
    {HF_ZOOKEEPER_GET, HF_ZK_OUT_OF_MEMORY, HF_ENOMEM,
     "/a: no memory for the answer"},
    {HF_ZOOKEEPER_DELETE, HF_ZK_MALFORMED, HF_EPROTOCOL,
     "/a: the answer does not fit the operation; the operation was carried "
     "out"},
    {HF_ZOOKEEPER_GET, HF_ZK_ANSWER_TOO_LONG, HF_ELIMIT,
     "/a: the answer is longer than max_answer_bytes"},
    {HF_ZOOKEEPER_CREATE, HF_ZK_ANSWER_TOO_LONG, HF_ELIMIT,
     "/a: the answer is longer than max_answer_bytes; the operation was "
     "carried out"},
};

TEST(errors_are_statuses_with_a_text)
{
    static const struct hf_zookeeper_acl acl = {1, "world", "anyone"};
    struct exchange x;

    for (size_t i = 0; i < sizeof error_rows / sizeof error_rows[0]; i++) {
        struct hf_zookeeper_op op = {.kind = error_rows[i].kind,
                                     .path = "/a",
                                     .version = 7,
                                     .acls = &acl,
                                     .acl_count = 1,
                                     .leaving = "2",
                                     .config_version = 16};
        struct hf_zookeeper_result *result;

        exchange_begin(&x, &rooted, &op, "");
        heap_fail(2, true); /* no memory is needed */
        result = result_of(&x, 0, error_rows[i].error);
        heap_fail(0, false);
        assert_int_equal(result->status, error_rows[i].status);
        assert_int_equal(result->error,
                         error_rows[i].error < 0 ? error_rows[i].error : 0);
        assert_string_equal(result->text, error_rows[i].text);
        assert_int_equal(result->zxid, ZXID);
        hf_zookeeper_result_free(result);
        exchange_end(&x);
    }
}

TEST(a_server_without_times_to_live)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                 .path = "/a",
                                 .mode = HF_ZOOKEEPER_TTL,
                                 .ttl_ms = 5};
    struct hf_zookeeper_result *result;
    struct exchange x;

    exchange_begin(&x, &rooted, &op, "");
    result = result_of(&x, 0, HF_ZK_UNIMPLEMENTED);
    assert_int_equal(result->status, HF_EUNSUPPORTED);
    assert_string_equal(result->text,
                        "/a: the server does not know nodes with a time to "
                        "live, or has them switched off; expected ZooKeeper "
                        "3.5.3 or later with "
                        "zookeeper.extendedTypesEnabled=true");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

/* A long path does not push the reason out of the text. */
TEST(a_long_path_is_cut)
{
    char path[1000];
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = path};
    struct hf_zookeeper_result *result;
    struct exchange x;

    memset(path, 'a', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    exchange_begin(&x, &rooted, &op, "");
    result = result_of(&x, 0, HF_ZK_NO_NODE);
    assert_int_equal(strlen(result->text), 200 + strlen("...: no such node"));
    assert_string_equal(result->text + 198, "aa...: no such node");
    hf_zookeeper_result_free(result);
    exchange_end(&x);
}

TEST(an_operation_without_an_answer)
{
    struct hf_zookeeper_result *result = hf_zk_op_reserve();

    hf_zk_op_end(result, HF_ETIMEDOUT, "no answer for %d ms", 5);
    assert_int_equal(result->status, HF_ETIMEDOUT);
    assert_string_equal(result->text, "no answer for 5 ms");
    assert_int_equal(result->error, 0);
    assert_int_equal(result->zxid, 0);
    hf_zookeeper_result_free(result);
    hf_zookeeper_result_free(NULL);
    assert_int_equal(heap_live(), 0);
}

TEST(a_request_without_memory)
{
    static const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_DELETE,
                                              .path = "/a"};
    struct hf_jute_writer record = {0};
    struct hf_error error;

    heap_fail(1, true);
    assert_int_equal(hf_zk_op_encode(&op, &rooted, &record, &error), HF_ENOMEM);
    heap_fail(0, false);
    assert_string_equal(error.text, "out of memory");
    hf_jute_free(&record);
}

TEST_FILE(zk_op_codec)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
