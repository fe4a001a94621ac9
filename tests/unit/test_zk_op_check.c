/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations of a ZooKeeper client are refused before anything is sent,
 * with which text; and paths: which are refused, and which part of one is below
 * another. */
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper/op_codec.h"
#include "zookeeper/zk_path.h"

static const struct hf_zk_op_context context = {"/r", false, 200};

/* ${op} is refused with ${status} and ${text}; ${text} NULL: it is not. */
static void check(const struct hf_zookeeper_op *op, hf_status status,
                  const char *text)
{
    struct hf_error error = {HF_OK, ""};

    assert_int_equal(hf_zk_op_check(op, &context, &error), status);
    assert_int_equal(error.status, status);
    assert_string_equal(error.text, text != NULL ? text : "");
    assert_int_equal(hf_zk_op_check(op, &context, NULL), status);
}

TEST(every_kind_with_what_it_needs_is_taken)
{
    static const struct hf_zookeeper_acl acl = {0, "auth", ""};
    static const struct hf_zookeeper_op writes[] = {
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .ttl_ms = 1, .mode = 5},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a", .version = -1},
        {.kind = HF_ZOOKEEPER_SET, .path = "/a", .data = "", .version = 3},
        {.kind = HF_ZOOKEEPER_CHECK, .path = "/a"},
    };
    static const struct hf_zookeeper_op reads[] = {
        {.kind = HF_ZOOKEEPER_GET, .path = "/"},
        {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/a"},
    };
    static const struct hf_zookeeper_op ops[] = {
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/a"},
        {.kind = HF_ZOOKEEPER_CREATE,
         .path = "/a",
         .acls = &acl,
         .acl_count = 1,
         .mode = HF_ZOOKEEPER_TTL_SEQUENTIAL,
         .ttl_ms = 0xffffffffff},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/", .mode = 2},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/a/", .mode = 3},
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/a"},
        {.kind = HF_ZOOKEEPER_EXISTS, .path = "/a", .priority = 2},
        {.kind = HF_ZOOKEEPER_GET, .path = "/"},
        {.kind = HF_ZOOKEEPER_SET, .path = "/a"},
        {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/a"},
        {.kind = HF_ZOOKEEPER_SYNC, .path = "/a"},
        {.kind = HF_ZOOKEEPER_GET_ACL, .path = "/a"},
        {.kind = HF_ZOOKEEPER_SET_ACL,
         .path = "/a",
         .acls = &acl,
         .acl_count = 1},
        {.kind = HF_ZOOKEEPER_MULTI, .ops = writes, .op_count = 4},
        {.kind = HF_ZOOKEEPER_MULTI_READ, .ops = reads, .op_count = 2},
        {.kind = HF_ZOOKEEPER_EPHEMERALS, .path = "/"},
        {.kind = HF_ZOOKEEPER_COUNT, .path = "/"},
        {.kind = HF_ZOOKEEPER_ADD_WATCH, .path = "/a"},
        {.kind = HF_ZOOKEEPER_ADD_AUTH,
         .scheme = "digest",
         .data = "u:p",
         .bytes = 3},
        {.kind = HF_ZOOKEEPER_WHO_AM_I},
        {.kind = HF_ZOOKEEPER_GET_CONFIG},
        {.kind = HF_ZOOKEEPER_RECONFIG,
         .joining = "server.2=h:1:2;3",
         .leaving = "3",
         .config_version = HF_ZOOKEEPER_ANY_VERSION},
        {.kind = HF_ZOOKEEPER_RECONFIG, .servers = "server.1=h:1:2;3"},
    };

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        check(&ops[i], HF_OK, NULL);
}

TEST(what_no_server_takes_is_refused)
{
    static const struct hf_zookeeper_acl bad_permissions[] = {
        {31, "world", "anyone"}, {32, "world", "anyone"}};
    static const struct hf_zookeeper_acl negative = {-1, "world", "anyone"};
    static const struct hf_zookeeper_acl no_scheme = {1, NULL, "anyone"};
    static const struct hf_zookeeper_acl no_id = {1, "world", NULL};
    static const struct {
        struct hf_zookeeper_op op;
        const char *text;
    } rows[] = {
        {{.kind = 0},
         "the kind of the operation is 0; expected 1 to 19, from enum "
         "hf_zookeeper_op_kind"},
        {{.kind = 20},
         "the kind of the operation is 20; expected 1 to 19, from enum "
         "hf_zookeeper_op_kind"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "/a", .priority = 3},
         "the priority of the operation is 3; expected 0 to 2, from enum "
         "hf_zookeeper_priority"},
        {{.kind = HF_ZOOKEEPER_GET},
         "the operation has no path; expected an absolute one such as "
         "\"/a/b\""},
        {{.kind = HF_ZOOKEEPER_GET, .path = "a"},
         "the path \"a\" has no '/' at its start; expected one that ZooKeeper "
         "takes, such as \"/a/b\""},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a/"},
         "the path \"/a/\" has an empty component, or a '/' at its end; "
         "expected one that ZooKeeper takes, such as \"/a/b\""},
        {{.kind = HF_ZOOKEEPER_SET, .path = "/a", .bytes = 1},
         "the data are NULL but have 1 bytes; expected 0 bytes of NULL"},
        {{.kind = HF_ZOOKEEPER_ADD_AUTH},
         "the credential has no scheme; expected one such as \"digest\""},
        {{.kind = HF_ZOOKEEPER_ADD_AUTH, .scheme = ""},
         "the credential has no scheme; expected one such as \"digest\""},
        {{.kind = HF_ZOOKEEPER_ADD_AUTH, .scheme = "digest", .bytes = 2},
         "the data are NULL but have 2 bytes; expected 0 bytes of NULL"},
        {{.kind = HF_ZOOKEEPER_DELETE, .path = "/a", .version = -2},
         "the version is -2; expected one from 0 on, or "
         "HF_ZOOKEEPER_ANY_VERSION, which is -1"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .mode = 7},
         "the mode is 7; expected 0 to 6, from enum hf_zookeeper_mode"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .mode = HF_ZOOKEEPER_TTL},
         "ttl_ms is 0; expected 1 to 1099511627775 for a mode with a time to "
         "live"},
        {{.kind = HF_ZOOKEEPER_CREATE,
          .path = "/a",
          .mode = HF_ZOOKEEPER_TTL,
          .ttl_ms = UINT64_C(1) << 40},
         "ttl_ms is 1099511627776; expected 1 to 1099511627775 for a mode "
         "with a time to live"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .ttl_ms = 5},
         "ttl_ms is 5; expected 0, or the mode HF_ZOOKEEPER_TTL or "
         "HF_ZOOKEEPER_TTL_SEQUENTIAL"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .acls = &no_id},
         "the access list has no entries; expected at least one, or acls NULL "
         "and acl_count 0"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .acl_count = 1},
         "the access list has no entries; expected at least one, or acls NULL "
         "and acl_count 0"},
        {{.kind = HF_ZOOKEEPER_SET_ACL, .path = "/a"},
         "the access list has no entries; expected at least one"},
        {{.kind = HF_ZOOKEEPER_SET_ACL,
          .path = "/a",
          .acls = bad_permissions,
          .acl_count = 2},
         "entry 1 of the access list has the permissions 32; expected 0 to "
         "31, a sum of HF_ZOOKEEPER_PERM_..."},
        {{.kind = HF_ZOOKEEPER_SET_ACL,
          .path = "/a",
          .acls = &negative,
          .acl_count = 1},
         "entry 0 of the access list has the permissions -1; expected 0 to "
         "31, a sum of HF_ZOOKEEPER_PERM_..."},
        {{.kind = HF_ZOOKEEPER_CREATE,
          .path = "/a",
          .acls = &no_scheme,
          .acl_count = 1},
         "entry 0 of the access list has no scheme; expected something like "
         "\"world\" and \"anyone\""},
        {{.kind = HF_ZOOKEEPER_CREATE,
          .path = "/a",
          .acls = &no_id,
          .acl_count = 1},
         "entry 0 of the access list has no id; expected something like "
         "\"world\" and \"anyone\""},
        {{.kind = HF_ZOOKEEPER_CHECK, .path = "/a"},
         "a CHECK by itself; expected it in ops of a MULTI"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i].op, HF_EINVAL, rows[i].text);
}

TEST(what_no_reconfiguration_is_is_refused)
{
    static const struct {
        struct hf_zookeeper_op op;
        const char *text;
    } rows[] = {
        {{.kind = HF_ZOOKEEPER_RECONFIG, .joining = ""},
         "the reconfiguration has neither changes nor servers; expected "
         "joining or leaving servers, or instead of both all servers"},
        {{.kind = HF_ZOOKEEPER_RECONFIG, .leaving = "2", .servers = "m"},
         "the reconfiguration has both changes and servers; expected joining "
         "or leaving servers, or instead of both all servers"},
        {{.kind = HF_ZOOKEEPER_RECONFIG, .leaving = "2", .config_version = -2},
         "config_version is -2; expected that of the configuration, or "
         "HF_ZOOKEEPER_ANY_VERSION, which is -1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(&rows[i].op, HF_EINVAL, rows[i].text);
}

TEST(fields_of_a_later_version_are_not_supported)
{
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_WHO_AM_I};
    struct hf_zookeeper_op multi = {.kind = HF_ZOOKEEPER_MULTI};

    op.reserved[3] = 1;
    check(&op, HF_EUNSUPPORTED,
          "reserved[3] of the operation is not 0; expected 0, or a later "
          "version of holdfast");
    multi.ops = &op;
    multi.op_count = 1;
    check(&multi, HF_EUNSUPPORTED,
          ".ops[0]: reserved[3] of the operation is not 0; expected 0, or a "
          "later version of holdfast");
}

/* ${op} in a multi of ${kind}, behind one that can be sent. */
static void check_in(enum hf_zookeeper_op_kind kind,
                     const struct hf_zookeeper_op *op, const char *text)
{
    struct hf_zookeeper_op ops[2] = {{.kind = kind == HF_ZOOKEEPER_MULTI
                                                  ? HF_ZOOKEEPER_DELETE
                                                  : HF_ZOOKEEPER_GET,
                                      .path = "/a"},
                                     *op};
    struct hf_zookeeper_op multi = {.kind = kind, .ops = ops, .op_count = 2};

    check(&multi, HF_EINVAL, text);
}

TEST(a_multi_takes_only_its_kinds)
{
    static const struct hf_zookeeper_op inner = {.kind = HF_ZOOKEEPER_DELETE,
                                                 .path = "/a"};
    struct hf_zookeeper_op op = {.path = "/a", .ops = &inner, .op_count = 1};
    char text[128];

    for (int kind = HF_ZOOKEEPER_CREATE; kind <= HF_ZOOKEEPER_RECONFIG;
         kind++) {
        bool reads = kind == HF_ZOOKEEPER_GET || kind == HF_ZOOKEEPER_CHILDREN;
        bool writes = kind == HF_ZOOKEEPER_CREATE ||
                      kind == HF_ZOOKEEPER_DELETE || kind == HF_ZOOKEEPER_SET ||
                      kind == HF_ZOOKEEPER_CHECK;

        op.kind = (enum hf_zookeeper_op_kind)kind;
        snprintf(text, sizeof text,
                 ".ops[1]: an operation of kind %d; expected a CREATE, DELETE, "
                 "SET or CHECK",
                 kind);
        if (!writes)
            check_in(HF_ZOOKEEPER_MULTI, &op, text);
        snprintf(text, sizeof text,
                 ".ops[1]: an operation of kind %d; expected a GET or CHILDREN",
                 kind);
        if (!reads)
            check_in(HF_ZOOKEEPER_MULTI_READ, &op, text);
    }
}

TEST(each_operation_of_a_multi_is_checked)
{
    static char watch;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_DELETE, .path = "a"};
    struct hf_zookeeper_op multi = {.kind = HF_ZOOKEEPER_MULTI, .ops = &op};

    check_in(HF_ZOOKEEPER_MULTI, &op,
             ".ops[1]: the path \"a\" has no '/' at its start; expected one "
             "that ZooKeeper takes, such as \"/a/b\"");
    op = (struct hf_zookeeper_op){
        .kind = HF_ZOOKEEPER_GET, .path = "/a", .watch = (void *)&watch};
    check_in(HF_ZOOKEEPER_MULTI_READ, &op,
             ".ops[1]: an operation with a watch; expected it outside of a "
             "multi, where servers set watches");
    check(&multi, HF_EINVAL,
          "the multi has no operations; expected at least one in ops");
    multi.ops = NULL;
    multi.op_count = 1;
    check(&multi, HF_EINVAL,
          "the multi has no operations; expected at least one in ops");
}

/* A length, a header, "/r/a", data and a version: 12 + 8 + 4 + n + 4. */
TEST(what_is_too_long_is_refused)
{
    static const char data[256];
    struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_SET, .path = "/a", .data = data, .bytes = 172};
    struct hf_zookeeper_op auth = {
        .kind = HF_ZOOKEEPER_ADD_AUTH, .scheme = "digest", .data = data};
    char text[128];

    check(&op, HF_OK, NULL);
    op.bytes++;
    check(&op, HF_EINVAL,
          "the operation has 201 bytes as it is sent; expected at most 200, "
          "which is max_request_bytes");
    op.bytes = SIZE_MAX; /* a length that nobody can have */
    snprintf(text, sizeof text,
             "the operation has %zu bytes as it is sent; expected at most 200, "
             "which is max_request_bytes",
             SIZE_MAX);
    check(&op, HF_EINVAL, text);
    auth.bytes = 200 - 12 - 4 - 10 - 4; /* the type, the scheme, the length */
    check(&auth, HF_OK, NULL);
    auth.bytes++;
    check(&auth, HF_EINVAL,
          "the operation has 201 bytes as it is sent; expected at most 200, "
          "which is max_request_bytes");
}

/* ----------------------------------------------------------------- paths -- */

TEST(paths_are_those_of_zookeeper)
{
    static const struct {
        const char *path;
        const char *why;        /* or NULL */
        const char *sequential; /* the same where digits are appended */
    } rows[] = {
        {"/", NULL, NULL},
        {"/a/b.c/...", NULL, NULL},
        {"/\xc3\xa9", NULL, NULL},
        {"", "no '/' at its start", "no '/' at its start"},
        {"a/b", "no '/' at its start", "no '/' at its start"},
        {"/a/", "an empty component, or a '/' at its end", NULL},
        {"/a//b", "an empty component, or a '/' at its end",
         "an empty component, or a '/' at its end"},
        {"//", "an empty component, or a '/' at its end",
         "an empty component, or a '/' at its end"},
        {"/.", "a component \".\" or \"..\"", NULL},
        {"/a/..", "a component \".\" or \"..\"", NULL},
        {"/../a", "a component \".\" or \"..\"", "a component \".\" or \"..\""},
        {"/a\n", "a control character", "a control character"},
        {"/\xff", "bytes that are not UTF-8", "bytes that are not UTF-8"},
        {"/\xc3", "bytes that are not UTF-8", "bytes that are not UTF-8"},
        {"/\xee\x80\x80/a",
         "a character of the private use area, which ZooKeeper refuses",
         "a character of the private use area, which ZooKeeper refuses"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int sequential = 0; sequential < 2; sequential++) {
            const char *wanted = sequential ? rows[i].sequential : rows[i].why;
            const char *why =
                hf_zk_path_why_refused(rows[i].path, sequential == 1);

            if (wanted == NULL)
                assert_null(why);
            else
                assert_string_equal(why, wanted);
        }
    }
}

TEST(a_path_below_another)
{
    static const struct {
        const char *path;
        const char *top;
        const char *below; /* or NULL */
    } rows[] = {
        {"/a", "", "/a"},     {"/", "", "/"},       {"/a", "/", "/a"},
        {"/a/b", "/a", "/b"}, {"/a", "/a", "/"},    {"/ab", "/a", NULL},
        {"/b", "/a", NULL},   {"/a", "/a/b", NULL}, {"", "", NULL},
        {"a", "", NULL},      {"/", "/", "/"},
    };
    static const struct hf_jute_piece null = {NULL, 0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hf_jute_piece below = hf_zk_path_below(
            hf_zk_path_piece(rows[i].path), hf_zk_path_piece(rows[i].top));

        if (rows[i].below == NULL) {
            assert_null(below.bytes);
            continue;
        }
        assert_int_equal(below.count, strlen(rows[i].below));
        assert_memory_equal(below.bytes, rows[i].below, below.count);
    }
    assert_null(hf_zk_path_below(null, hf_zk_path_piece("")).bytes);
}
