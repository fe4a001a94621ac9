/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation on a real server: what its result has, and how it fails.  The
 * server has nodes with a time to live switched off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* ---------------------------------------------------------------- create -- */

static struct hf_zookeeper_result *create(struct hf_zookeeper *zookeeper,
                                          const char *path,
                                          enum hf_zookeeper_mode mode)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_CREATE, .path = path, .mode = mode};
    struct hf_zookeeper_result *result = zookeeper_do(zookeeper, &op, HF_OK);

    assert_true(result->has_stat);
    assert_int_equal(result->stat.czxid, result->zxid);
    return result;
}

static struct hf_zookeeper_stat stat_of(struct hf_zookeeper *zookeeper,
                                        const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EXISTS,
                                       .path = path};
    struct hf_zookeeper_result *result = zookeeper_do(zookeeper, &op, HF_OK);
    struct hf_zookeeper_stat stat = result->stat;

    assert_true(result->has_stat);
    hf_zookeeper_result_free(result);
    return stat;
}

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

FIXTURE_TEST(a_node_of_each_mode)
{
    struct zookeeper_fixture *f = *state;
    static const struct {
        enum hf_zookeeper_mode mode;
        const char *path; /* that is asked for */
        const char *made;
        bool ephemeral;
    } rows[] = {
        {HF_ZOOKEEPER_PERSISTENT, "/a", "/a", false},
        {HF_ZOOKEEPER_EPHEMERAL, "/b", "/b", true},
        {HF_ZOOKEEPER_SEQUENTIAL, "/c-", "/c-0000000002", false},
        {HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL, "/", "/0000000003", true},
        {HF_ZOOKEEPER_CONTAINER, "/e", "/e", false},
    };
    struct hf_zookeeper_session session;

    assert_int_equal(hf_zookeeper_session(f->zookeeper, &session), HF_OK);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hf_zookeeper_result *result =
            create(f->zookeeper, rows[i].path, rows[i].mode);
        struct hf_zookeeper_stat stat = stat_of(f->zookeeper, rows[i].made);

        assert_string_equal(result->path, rows[i].made);
        assert_memory_equal(&result->stat, &stat, sizeof stat);
        assert_int_equal(stat.ephemeral_owner,
                         rows[i].ephemeral ? session.id : 0);
        hf_zookeeper_result_free(result);
    }
}

/* The server says so, and the connection goes on. */
FIXTURE_TEST(a_ttl_that_is_switched_off)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                 .path = "/ttl",
                                 .mode = HF_ZOOKEEPER_TTL,
                                 .ttl_ms = 1000};

    zookeeper_expect(f->zookeeper, &op, HF_EUNSUPPORTED);
    zookeeper_expect_error("extendedTypesEnabled");
    op.mode = HF_ZOOKEEPER_TTL_SEQUENTIAL;
    zookeeper_expect(f->zookeeper, &op, HF_EUNSUPPORTED);
    zookeeper_make(f->zookeeper, "/after", "");
    assert_int_equal(log_find(&f->states, 0, "SUSPENDED"), LOG_LINES);
}

FIXTURE_TEST(a_create_that_fails)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_result *result;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE, .path = "/a"};

    hf_zookeeper_result_free(
        create(f->zookeeper, "/e", HF_ZOOKEEPER_EPHEMERAL));
    zookeeper_expect(f->zookeeper, &op, HF_OK);
    result = zookeeper_do(f->zookeeper, &op, HF_EEXISTS);
    assert_int_equal(result->error, -110);
    assert_null(result->path);
    assert_false(result->has_stat);
    hf_zookeeper_result_free(result);
    op.path = "/nowhere/a";
    zookeeper_expect(f->zookeeper, &op, HF_EGONE);
    op.path = "/e/a";
    zookeeper_expect(f->zookeeper, &op, HF_EINVAL);
    op.path = "/";
    zookeeper_expect(f->zookeeper, &op, HF_EEXISTS);
}

/* ------------------------------------------------------------------ data -- */

/* The data of ${path}: NULL, or no bytes. */
static void expect_no_bytes(struct hf_zookeeper *zookeeper, const char *path,
                            bool null)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = path};
    struct hf_zookeeper_result *result = zookeeper_do(zookeeper, &op, HF_OK);

    assert_int_equal(result->bytes, 0);
    assert_int_equal(result->data == NULL, null);
    assert_int_equal(result->stat.bytes, 0);
    hf_zookeeper_result_free(result);
}

FIXTURE_TEST(null_is_not_the_same_as_no_bytes)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *zookeeper = f->zookeeper;

    assert_int_equal(hf_zookeeper_create(zookeeper, "/null", NULL, 0,
                                         HF_ZOOKEEPER_PERSISTENT, WAIT_MS,
                                         NULL),
                     HF_OK);
    zookeeper_make(zookeeper, "/empty", "");
    expect_no_bytes(zookeeper, "/null", true);
    expect_no_bytes(zookeeper, "/empty", false);
    assert_int_equal(
        hf_zookeeper_set(zookeeper, "/null", "", 0, -1, WAIT_MS, NULL), HF_OK);
    assert_int_equal(
        hf_zookeeper_set(zookeeper, "/empty", NULL, 0, -1, WAIT_MS, NULL),
        HF_OK);
    expect_no_bytes(zookeeper, "/null", false);
    expect_no_bytes(zookeeper, "/empty", true);
}

FIXTURE_TEST(bytes_of_every_value_come_back)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/a"};
    struct hf_zookeeper_result *result;
    unsigned char bytes[256];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)i;
    assert_int_equal(hf_zookeeper_create(f->zookeeper, "/a", bytes,
                                         sizeof bytes, HF_ZOOKEEPER_PERSISTENT,
                                         WAIT_MS, NULL),
                     HF_OK);
    result = zookeeper_do(f->zookeeper, &get, HF_OK);
    assert_int_equal(result->bytes, sizeof bytes);
    assert_memory_equal(result->data, bytes, sizeof bytes);
    hf_zookeeper_result_free(result);
}

FIXTURE_TEST(versions_are_compared)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *zookeeper = f->zookeeper;
    struct hf_zookeeper_result *result;

    zookeeper_make(zookeeper, "/a", "0");
    assert_int_equal(
        hf_zookeeper_set(zookeeper, "/a", "1", 1, 0, WAIT_MS, &result), HF_OK);
    assert_int_equal(result->stat.version, 1);
    assert_int_equal(result->stat.mzxid, result->zxid);
    hf_zookeeper_result_free(result);
    assert_int_equal(
        hf_zookeeper_set(zookeeper, "/a", "2", 1, 0, WAIT_MS, NULL),
        HF_EVERSION);
    zookeeper_expect_error("hf_zookeeper_set: /a: ");
    zookeeper_expect_error("expected version 0");
    assert_int_equal(hf_zookeeper_delete(zookeeper, "/a", 0, WAIT_MS),
                     HF_EVERSION);
    zookeeper_expect_data(zookeeper, "/a", "1");
    assert_int_equal(hf_zookeeper_delete(zookeeper, "/a", 1, WAIT_MS), HF_OK);
    assert_int_equal(hf_zookeeper_delete(zookeeper, "/a", 1, WAIT_MS),
                     HF_EGONE);
    assert_int_equal(hf_zookeeper_set(zookeeper, "/a", "2", 1,
                                      HF_ZOOKEEPER_ANY_VERSION, WAIT_MS, NULL),
                     HF_EGONE);
}

FIXTURE_TEST(only_a_node_without_children_is_deleted)
{
    struct zookeeper_fixture *f = *state;

    zookeeper_make(f->zookeeper, "/a", "");
    zookeeper_make(f->zookeeper, "/a/b", "");
    assert_int_equal(hf_zookeeper_delete(f->zookeeper, "/a", -1, WAIT_MS),
                     HF_ENOTEMPTY);
    assert_int_equal(hf_zookeeper_delete(f->zookeeper, "/a/b", -1, WAIT_MS),
                     HF_OK);
    assert_int_equal(hf_zookeeper_delete(f->zookeeper, "/a", -1, WAIT_MS),
                     HF_OK);
}

FIXTURE_TEST(a_read_of_a_missing_node)
{
    struct zookeeper_fixture *f = *state;
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_EXISTS,  HF_ZOOKEEPER_GET,   HF_ZOOKEEPER_CHILDREN,
        HF_ZOOKEEPER_GET_ACL, HF_ZOOKEEPER_COUNT,
    };

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct hf_zookeeper_op op = {.kind = kinds[i], .path = "/nope"};
        struct hf_zookeeper_result *result;

        result = zookeeper_do(f->zookeeper, &op, HF_EGONE);
        assert_int_equal(result->error, -101);
        assert_non_null(strstr(result->text, "/nope"));
        assert_null(strstr(result->text, f->chroot));
        hf_zookeeper_result_free(result);
    }
    assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/nope", WAIT_MS), HF_OK);
}

/* --------------------------------------------------------------- queries -- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The children of ${result}, sorted, are ${names}. */
static void expect_children(const struct hf_zookeeper_result *result,
                            const char *const *names, size_t count)
{
    const char *sorted[8];

    assert_int_equal(result->child_count, count);
    assert_true(count <= COUNT_OF(sorted));
    memcpy(sorted, result->children, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(sorted[i], names[i]);
}

FIXTURE_TEST(children_have_their_names)
{
    struct zookeeper_fixture *f = *state;
    static const char *const names[] = {"x", "y", "z"};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/"};
    struct hf_zookeeper_result *result;
    struct hf_zookeeper_stat stat;

    zookeeper_make(f->zookeeper, "/z", "");
    zookeeper_make(f->zookeeper, "/x", "");
    zookeeper_make(f->zookeeper, "/y", "");
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    expect_children(result, names, 3);
    assert_int_equal(result->stat.children, 3);
    assert_int_equal(result->stat.cversion, 3);
    stat = stat_of(f->zookeeper, "/");
    assert_memory_equal(&result->stat, &stat, sizeof stat);
    hf_zookeeper_result_free(result);
    op.path = "/x";
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_int_equal(result->child_count, 0);
    hf_zookeeper_result_free(result);
}

FIXTURE_TEST(ephemerals_and_counts_are_below_the_path)
{
    struct zookeeper_fixture *f = *state;
    static const char *const all[] = {"/a/e", "/e"};
    static const char *const below[] = {"/a/e"};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EPHEMERALS, .path = "/"};
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/a", "");
    hf_zookeeper_result_free(
        create(f->zookeeper, "/e", HF_ZOOKEEPER_EPHEMERAL));
    hf_zookeeper_result_free(
        create(f->zookeeper, "/a/e", HF_ZOOKEEPER_EPHEMERAL));
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    expect_children(result, all, 2);
    hf_zookeeper_result_free(result);
    op.path = "/a";
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    expect_children(result, below, 1);
    hf_zookeeper_result_free(result);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_COUNT, .path = "/"};
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_int_equal(result->count, 3);
    hf_zookeeper_result_free(result);
}

/* Not only those at and below the path, but those whose paths begin so: the
 * server compares strings. */
FIXTURE_TEST(ephemerals_of_a_neighbour_are_left_out)
{
    struct zookeeper_fixture *f = *state;
    static const char *const names[] = {"/a/e"};
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_EPHEMERALS,
                                       .path = "/a"};
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/a", "");
    hf_zookeeper_result_free(
        create(f->zookeeper, "/a/e", HF_ZOOKEEPER_EPHEMERAL));
    hf_zookeeper_result_free(
        create(f->zookeeper, "/ab", HF_ZOOKEEPER_EPHEMERAL));
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    expect_children(result, names, 1);
    hf_zookeeper_result_free(result);
}

/* A server that is alone has the node without data, or with them. */
FIXTURE_TEST(the_configuration_is_read)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET_CONFIG};
    struct hf_zookeeper_result *result;

    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_true(result->has_stat);
    hf_zookeeper_result_free(result);
}

/* Servers allow it only if they are configured to. */
FIXTURE_TEST(a_configuration_that_must_not_be_changed)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_RECONFIG,
                                       .leaving = "2",
                                       .config_version =
                                           HF_ZOOKEEPER_ANY_VERSION};

    zookeeper_expect(f->zookeeper, &op, HF_EUNSUPPORTED);
    zookeeper_expect_error("expected reconfigEnabled=true");
    zookeeper_make(f->zookeeper, "/a", ""); /* the connection is fine */
}

/* ---------------------------------------------------------- access lists -- */

static void add_auth(struct hf_zookeeper *zookeeper, const char *credential)
{
    assert_int_equal(hf_zookeeper_add_auth(zookeeper, "digest", credential,
                                           strlen(credential), WAIT_MS),
                     HF_OK);
}

/* A node that only its maker may read, by credential "u:p". */
static void make_private(struct zookeeper_fixture *f, const char *path)
{
    static const struct hf_zookeeper_acl creator = {HF_ZOOKEEPER_PERM_ALL,
                                                    "auth", ""};
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = path,
                                       .data = "secret",
                                       .bytes = 6,
                                       .acls = &creator,
                                       .acl_count = 1};

    add_auth(f->zookeeper, "u:p");
    zookeeper_expect(f->zookeeper, &op, HF_OK);
}

FIXTURE_TEST(an_access_list_is_set_and_read)
{
    struct zookeeper_fixture *f = *state;
    static const struct hf_zookeeper_acl acls[] = {
        {HF_ZOOKEEPER_PERM_READ | HF_ZOOKEEPER_PERM_ADMIN, "world", "anyone"},
        {HF_ZOOKEEPER_PERM_ALL, "ip", "192.0.2.1"},
    };
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/a", "");
    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, "/a", acls, 2, 0, WAIT_MS), HF_OK);
    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, "/a", acls, 2, 0, WAIT_MS),
        HF_EVERSION);
    assert_int_equal(hf_zookeeper_get_acl(f->zookeeper, "/a", WAIT_MS, &result),
                     HF_OK);
    assert_int_equal(result->acl_count, 2);
    assert_int_equal(result->stat.aversion, 1);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(result->acls[i].permissions, acls[i].permissions);
        assert_string_equal(result->acls[i].scheme, acls[i].scheme);
        assert_string_equal(result->acls[i].id, acls[i].id);
    }
    hf_zookeeper_result_free(result);
    assert_int_equal(
        hf_zookeeper_set(f->zookeeper, "/a", "x", 1, -1, WAIT_MS, NULL),
        HF_EDENIED);
}

FIXTURE_TEST(an_access_list_that_the_server_does_not_take)
{
    struct zookeeper_fixture *f = *state;
    static const struct hf_zookeeper_acl acl = {HF_ZOOKEEPER_PERM_ALL,
                                                "nonsense", "x"};
    /* Nobody has proved an identity that "auth" could stand for. */
    static const struct hf_zookeeper_acl nobody = {HF_ZOOKEEPER_PERM_ALL,
                                                   "auth", ""};

    zookeeper_make(f->zookeeper, "/a", "");
    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, "/a", &acl, 1, -1, WAIT_MS),
        HF_EINVAL);
    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, "/a", &nobody, 1, -1, WAIT_MS),
        HF_EINVAL);
}

FIXTURE_TEST(credentials_open_a_private_node)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_credential wrong = {"digest", "u:wrong", 7};
    const struct hf_zookeeper_credential right = {"digest", "u:p", 3};
    const struct hf_zookeeper_credential both[] = {wrong, right};
    const struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/s"};
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *other = zookeeper_open(f, "", "", NULL);

    make_private(f, "/s");
    zookeeper_expect(other, &get, HF_EDENIED);
    add_auth(other, "u:wrong");
    zookeeper_expect(other, &get, HF_EDENIED);
    add_auth(other, "u:p");
    zookeeper_expect_data(other, "/s", "secret");
    assert_int_equal(hf_zookeeper_close(other), HF_OK);

    opts.credentials = both;
    opts.credential_count = 2;
    other = zookeeper_open(f, "", "", &opts);
    zookeeper_expect_data(other, "/s", "secret");
    assert_int_equal(hf_zookeeper_close(other), HF_OK);

    other = zookeeper_open(f, "u:p@", "", NULL);
    zookeeper_expect_data(other, "/s", "secret");
    /* acl=creator is the default with a user in the URL. */
    zookeeper_make(other, "/mine", "x");
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
    other = zookeeper_open(f, "", "", NULL);
    assert_int_equal(hf_zookeeper_get(other, "/mine", WAIT_MS, NULL),
                     HF_EDENIED);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

FIXTURE_TEST(an_added_credential_that_is_refused)
{
    struct zookeeper_fixture *f = *state;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            hf_zookeeper_add_auth(f->zookeeper, "nonsense", "x", 1, WAIT_MS),
            HF_EDENIED);
        zookeeper_expect_error("hf_zookeeper_add_auth");
        /* The next connection does without it. */
        assert_int_equal(hf_zookeeper_exists(f->zookeeper, "/", WAIT_MS, NULL),
                         HF_OK);
    }
    assert_int_equal(log_find(&f->states, 0, "LOST"), LOG_LINES);
}

FIXTURE_TEST(a_credential_of_the_options_that_is_refused)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_credential credential = {"nonsense", "x", 1};
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *other;

    opts.credentials = &credential;
    opts.credential_count = 1;
    other = zookeeper_open(f, "", "", &opts);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hf_zookeeper_get(other, "/", WAIT_MS, NULL),
                         HF_EDENIED);
    zookeeper_expect_error("nonsense");
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

/* The server takes them, and they open nothing: an address is known without a
 * proof, and a user needs a name. */
FIXTURE_TEST(credentials_that_open_nothing)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op get = {.kind = HF_ZOOKEEPER_GET, .path = "/s"};
    struct hf_zookeeper *other = zookeeper_open(f, "", "", NULL);

    make_private(f, "/s");
    assert_int_equal(hf_zookeeper_add_auth(other, "ip", "none", 4, WAIT_MS),
                     HF_OK);
    assert_int_equal(hf_zookeeper_add_auth(other, "digest", "", 0, WAIT_MS),
                     HF_OK);
    assert_int_equal(hf_zookeeper_add_auth(other, "digest", "", 0, WAIT_MS),
                     HF_OK);
    zookeeper_expect(other, &get, HF_EDENIED);
    add_auth(other, "u:p");
    zookeeper_expect_data(other, "/s", "secret");
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

static bool is_identity(const struct hf_zookeeper_result *result,
                        const char *scheme, const char *id)
{
    for (size_t i = 0; i < result->acl_count; i++) {
        if (strcmp(result->acls[i].scheme, scheme) == 0 &&
            strcmp(result->acls[i].id, id) == 0)
            return true;
    }
    return false;
}

FIXTURE_TEST(who_am_i)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_WHO_AM_I};
    struct hf_zookeeper_result *result;

    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_true(is_identity(result, "ip", "127.0.0.1"));
    assert_false(is_identity(result, "digest", "u"));
    hf_zookeeper_result_free(result);
    add_auth(f->zookeeper, "u:p");
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_true(is_identity(result, "digest", "u"));
    hf_zookeeper_result_free(result);
}

/* ----------------------------------------------------------------- multi -- */

#define MULTI_OPS 4

/* Four operations that succeed together on the nodes of prepare_multi(). */
static const struct hf_zookeeper_op multi_ops[MULTI_OPS] = {
    {.kind = HF_ZOOKEEPER_CHECK, .path = "/checked", .version = 0},
    {.kind = HF_ZOOKEEPER_CREATE,
     .path = "/made-",
     .mode = HF_ZOOKEEPER_SEQUENTIAL},
    {.kind = HF_ZOOKEEPER_SET,
     .path = "/set",
     .data = "new",
     .bytes = 3,
     .version = 0},
    {.kind = HF_ZOOKEEPER_DELETE, .path = "/deleted", .version = 0},
};

static void prepare_multi(struct zookeeper_fixture *f)
{
    zookeeper_make(f->zookeeper, "/checked", "");
    zookeeper_make(f->zookeeper, "/set", "old");
    zookeeper_make(f->zookeeper, "/deleted", "");
}

FIXTURE_TEST(a_multi_carries_out_all)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_result *result;

    prepare_multi(f);
    assert_int_equal(hf_zookeeper_multi(f->zookeeper, multi_ops, MULTI_OPS,
                                        WAIT_MS, &result),
                     HF_OK);
    assert_int_equal(result->result_count, MULTI_OPS);
    for (size_t i = 0; i < MULTI_OPS; i++)
        assert_int_equal(result->results[i]->status, HF_OK);
    assert_string_equal(result->results[1]->path, "/made-0000000003");
    assert_int_equal(result->results[2]->stat.version, 1);
    hf_zookeeper_result_free(result);
    zookeeper_expect_data(f->zookeeper, "/set", "new");
    assert_int_equal(
        hf_zookeeper_exists(f->zookeeper, "/deleted", WAIT_MS, NULL), HF_EGONE);
}

/* The operation at ${position} is about a node that is not there. */
static void multi_fails_at(struct zookeeper_fixture *f, size_t position)
{
    struct hf_zookeeper_op ops[MULTI_OPS];
    struct hf_zookeeper_result *result;

    memcpy(ops, multi_ops, sizeof ops);
    ops[position].path = "/nowhere/x";
    assert_int_equal(
        hf_zookeeper_multi(f->zookeeper, ops, MULTI_OPS, WAIT_MS, &result),
        HF_EGONE);
    assert_non_null(strstr(result->text, "/nowhere/x"));
    assert_int_equal(result->result_count, MULTI_OPS);
    for (size_t i = 0; i < MULTI_OPS; i++) {
        assert_int_equal(result->results[i]->status,
                         i == position ? HF_EGONE : HF_ECANCELLED);
        assert_null(result->results[i]->path);
    }
    hf_zookeeper_result_free(result);
    zookeeper_expect_data(f->zookeeper, "/set", "old");
    assert_int_equal(
        hf_zookeeper_exists(f->zookeeper, "/deleted", WAIT_MS, NULL), HF_OK);
}

FIXTURE_TEST(a_multi_fails_at_each_position)
{
    prepare_multi(*state);
    for (size_t i = 0; i < MULTI_OPS; i++)
        multi_fails_at(*state, i);
}

FIXTURE_TEST(a_multi_read_has_a_status_for_each)
{
    struct zookeeper_fixture *f = *state;
    static const char *const names[] = {"b"};
    static const struct hf_zookeeper_op reads[] = {
        {.kind = HF_ZOOKEEPER_GET, .path = "/a"},
        {.kind = HF_ZOOKEEPER_GET, .path = "/nope"},
        {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/nope"},
        {.kind = HF_ZOOKEEPER_CHILDREN, .path = "/a"},
    };
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_MULTI_READ, .ops = reads, .op_count = 4};
    struct hf_zookeeper_result *result;

    zookeeper_make(f->zookeeper, "/a", "data");
    zookeeper_make(f->zookeeper, "/a/b", "");
    result = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_int_equal(result->result_count, 4);
    assert_int_equal(result->results[0]->status, HF_OK);
    assert_memory_equal(result->results[0]->data, "data", 4);
    assert_int_equal(result->results[0]->stat.children, 1);
    assert_int_equal(result->results[1]->status, HF_EGONE);
    assert_int_equal(result->results[2]->status, HF_EGONE);
    assert_int_equal(result->results[3]->status, HF_OK);
    expect_children(result->results[3], names, 1);
    hf_zookeeper_result_free(result);
}

/* ---------------------------------------------------------------- chroot -- */

FIXTURE_TEST(slash_is_the_node_of_the_chroot)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_op ops[] = {
        {.kind = HF_ZOOKEEPER_CHECK, .path = "/", .version = 1},
        {.kind = HF_ZOOKEEPER_SET,
         .path = "/",
         .data = "two",
         .bytes = 3,
         .version = 1},
    };
    struct hf_zookeeper_result *result;

    assert_int_equal(
        hf_zookeeper_set(f->zookeeper, "/", "one", 3, 0, WAIT_MS, NULL), HF_OK);
    zookeeper_expect_data(f->zookeeper, "/", "one");
    assert_int_equal(hf_zookeeper_multi(f->zookeeper, ops, 2, WAIT_MS, NULL),
                     HF_OK);
    zookeeper_expect_data(f->zookeeper, "/", "two");
    assert_int_equal(hf_zookeeper_get_acl(f->zookeeper, "/", WAIT_MS, &result),
                     HF_OK);
    assert_int_equal(result->acl_count, 1);
    hf_zookeeper_result_free(result);
    assert_int_equal(hf_zookeeper_delete(f->zookeeper, "/", 2, WAIT_MS), HF_OK);
    assert_int_equal(hf_zookeeper_create(f->zookeeper, "/a", NULL, 0,
                                         HF_ZOOKEEPER_PERSISTENT, WAIT_MS,
                                         NULL),
                     HF_EGONE);
    assert_int_equal(hf_zookeeper_create(f->zookeeper, "/", NULL, 0,
                                         HF_ZOOKEEPER_PERSISTENT, WAIT_MS,
                                         &result),
                     HF_OK);
    assert_string_equal(result->path, "/");
    hf_zookeeper_result_free(result);
}

/* ----------------------------------------------------------------- names -- */

FIXTURE_TEST(a_server_by_its_name)
{
    struct zookeeper_fixture *f = *state;
    const char *address = getenv("HF_ZK");
    const char *port = "";
    struct hf_zookeeper *zookeeper;
    char url[256];

    if (address == NULL || (port = strchr(address, ':')) == NULL)
        fail_msg("HF_ZK is not HOST:PORT");
    (void)snprintf(url, sizeof url, "zk://localhost%s%s", port, f->chroot);
    assert_int_equal(hf_zookeeper_open(url, NULL, &zookeeper), HF_OK);
    assert_int_equal(hf_zookeeper_exists(zookeeper, "/", WAIT_MS, NULL), HF_OK);
    assert_int_equal(hf_zookeeper_close(zookeeper), HF_OK);
}

/* The server appends digits to the last component of a sequential node, so that
 * this may be empty, or dots.  Dots in a longer name are letters. */
FIXTURE_TEST(paths_that_look_wrong_and_are_not)
{
    struct zookeeper_fixture *f = *state;
    static const struct {
        const char *path;
        bool sequential;
    } rows[] = {
        {"/f", false},     {"/.f", false},     {"/f.", false},
        {"/..f", false},   {"/f..", false},    {"/..f..", false},
        {"/.f.", false},   {"/f.g", false},    {"/f/.f", false},
        {"/f/f..", false}, {"/f/.f/f", false}, {"/f/", true},
        {"/f/.", true},    {"/f/..", true},    {"/", true},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hf_zookeeper_result *result =
            create(f->zookeeper, rows[i].path,
                   rows[i].sequential ? HF_ZOOKEEPER_SEQUENTIAL
                                      : HF_ZOOKEEPER_PERSISTENT);

        assert_int_equal(strlen(result->path),
                         strlen(rows[i].path) + (rows[i].sequential ? 10 : 0));
        assert_int_equal(
            hf_zookeeper_exists(f->zookeeper, result->path, WAIT_MS, NULL),
            HF_OK);
        hf_zookeeper_result_free(result);
    }
}

FIXTURE_TEST(paths_that_are_wrong)
{
    struct zookeeper_fixture *f = *state;
    static const struct {
        const char *path;
        bool sequential; /* also then */
    } rows[] = {
        {"", true},       {"f", true},       {"//", true},     {"///", true},
        {"/./", true},    {"/../", true},    {"/f//", true},   {"/f/./", true},
        {"/f/../", true}, {"/./.", true},    {"/../..", true}, {"/f//g", true},
        {"/f/./g", true}, {"/f/../g", true}, {"/f/g//", true}, {"/.", false},
        {"/..", false},   {"/f/", false},    {"/f/.", false},  {"/f/..", false},
        {"/f/g/", false},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                     .path = rows[i].path};

        assert_int_equal(hf_zookeeper_run(f->zookeeper, &op, WAIT_MS, NULL),
                         HF_EINVAL);
        op.mode = HF_ZOOKEEPER_SEQUENTIAL;
        if (rows[i].sequential)
            assert_int_equal(hf_zookeeper_run(f->zookeeper, &op, WAIT_MS, NULL),
                             HF_EINVAL);
    }
}

/* What is wrong is found before anything is sent, and the text says it. */
FIXTURE_TEST(an_operation_that_makes_no_sense)
{
    struct zookeeper_fixture *f = *state;
    static const struct hf_zookeeper_op inner[] = {
        {.kind = HF_ZOOKEEPER_GET, .path = "/"}};
    static const struct {
        struct hf_zookeeper_op op;
        const char *part;
    } rows[] = {
        {{.kind = 0}, "kind"},
        {{.kind = 99}, "kind"},
        {{.kind = HF_ZOOKEEPER_GET}, "no path"},
        {{.kind = HF_ZOOKEEPER_GET, .path = ""}, "path"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "a"}, "path"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "/a/"}, "path"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "//a"}, "path"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "/a/../b"}, "path"},
        {{.kind = HF_ZOOKEEPER_SET, .path = "/", .bytes = 1}, "NULL"},
        {{.kind = HF_ZOOKEEPER_SET, .path = "/", .version = -2}, "version"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .mode = 7}, "mode"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .ttl_ms = 1}, "ttl_ms"},
        {{.kind = HF_ZOOKEEPER_CREATE, .path = "/a", .mode = HF_ZOOKEEPER_TTL},
         "ttl_ms"},
        {{.kind = HF_ZOOKEEPER_SET_ACL, .path = "/"}, "access list"},
        {{.kind = HF_ZOOKEEPER_CHECK, .path = "/"}, "CHECK"},
        {{.kind = HF_ZOOKEEPER_MULTI}, "no operations"},
        {{.kind = HF_ZOOKEEPER_MULTI, .ops = inner, .op_count = 1}, ".ops[0]"},
        {{.kind = HF_ZOOKEEPER_ADD_WATCH}, "path"},
        {{.kind = HF_ZOOKEEPER_ADD_AUTH}, "scheme"},
        {{.kind = HF_ZOOKEEPER_GET, .path = "/", .priority = 3}, "priority"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hf_zookeeper_result *result;

        assert_int_equal(
            hf_zookeeper_run(f->zookeeper, &rows[i].op, WAIT_MS, &result),
            HF_EINVAL);
        assert_null(result);
        zookeeper_expect_error("hf_zookeeper_run: ");
        zookeeper_expect_error(rows[i].part);
    }
}
