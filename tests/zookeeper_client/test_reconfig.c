/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the configuration of an ensemble of one, whose superuser may do it:
 * an observer that does not run joins and leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

/* No server is asked whether it is there, unless it may vote. */
#define OBSERVER "server.2=127.0.0.1:1:2:observer;127.0.0.1:3"
#define VOTER "server.3=127.0.0.1:4:5:participant;6"

static void become_superuser(struct hf_zookeeper *zookeeper)
{
    const char *super = getenv("HF_ZK_SUPER");

    if (super == NULL)
        return; /* the operations then end with HF_EDENIED */
    assert_int_equal(hf_zookeeper_add_auth(zookeeper, "digest", super,
                                           strlen(super), WAIT_MS),
                     HF_OK);
}

static bool has(const struct hf_zookeeper_result *config, const char *server)
{
    return memmem(config->data, config->bytes, server, strlen(server)) != NULL;
}

/* The version of ${config}, as its last line has it. */
static int64_t version_of(const struct hf_zookeeper_result *config)
{
    const char *line = memmem(config->data, config->bytes, "version=", 8);
    char digits[24];

    assert_non_null(line);
    (void)snprintf(
        digits, sizeof digits, "%.*s",
        (int)(config->bytes - (size_t)(line + 8 - (const char *)config->data)),
        line + 8);
    return (int64_t)strtoull(digits, NULL, 16);
}

#define FIXTURE_TEST(function)                                                 \
    TEST_WITH(function, zookeeper_setup, zookeeper_teardown)

FIXTURE_TEST(a_server_joins_and_leaves)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET_CONFIG};
    struct hf_zookeeper_result *config;
    int64_t before;

    become_superuser(f->zookeeper);
    config = zookeeper_do(f->zookeeper, &op, HF_OK);
    before = version_of(config);
    hf_zookeeper_result_free(config);

    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_RECONFIG,
                                  .joining = OBSERVER,
                                  .config_version = before};
    config = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_true(has(config, OBSERVER));
    assert_true(config->has_stat);
    assert_int_equal(version_of(config), config->zxid);
    hf_zookeeper_result_free(config);

    /* The version is another one now. */
    zookeeper_expect(f->zookeeper, &op, HF_EVERSION);
    zookeeper_expect_error("/zookeeper/config: another version");

    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_RECONFIG,
                                  .leaving = "2",
                                  .config_version = HF_ZOOKEEPER_ANY_VERSION};
    config = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_false(has(config, OBSERVER));
    hf_zookeeper_result_free(config);
}

/* All servers of the new configuration, in place of changes. */
FIXTURE_TEST(servers_replace_the_configuration)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET_CONFIG};
    struct hf_zookeeper_result *config;
    char servers[512], *end;

    become_superuser(f->zookeeper);
    config = zookeeper_do(f->zookeeper, &op, HF_OK);
    (void)snprintf(servers, sizeof servers, "%.*s", (int)config->bytes,
                   (const char *)config->data);
    hf_zookeeper_result_free(config);
    end = strchr(servers, '\n'); /* server.1, which is the only one */
    assert_non_null(end);
    (void)snprintf(end, sizeof servers - (size_t)(end - servers), ",%s",
                   OBSERVER);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_RECONFIG,
                                  .servers = servers,
                                  .config_version = HF_ZOOKEEPER_ANY_VERSION};
    config = zookeeper_do(f->zookeeper, &op, HF_OK);
    assert_true(has(config, OBSERVER));
    hf_zookeeper_result_free(config);
    op = (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_RECONFIG,
                                  .leaving = "2",
                                  .config_version = HF_ZOOKEEPER_ANY_VERSION};
    zookeeper_expect(f->zookeeper, &op, HF_OK);
}

FIXTURE_TEST(a_reconfiguration_that_is_refused)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_RECONFIG,
                                 .joining = OBSERVER,
                                 .config_version = HF_ZOOKEEPER_ANY_VERSION};

    zookeeper_expect(f->zookeeper, &op, HF_EDENIED);
    zookeeper_expect_error("/zookeeper/config: no permission");
    become_superuser(f->zookeeper);
    op.joining = "server.2=nonsense";
    zookeeper_expect(f->zookeeper, &op, HF_EINVAL);
    /* Two may vote then, and one of them does not run. */
    op.joining = VOTER;
    zookeeper_expect(f->zookeeper, &op, HF_EUNREACHABLE);
    zookeeper_expect_error("no quorum of the new configuration");
}

/* The superuser may give the right to others. */
FIXTURE_TEST(the_right_can_be_given)
{
    static const struct hf_zookeeper_acl acls[] = {
        {HF_ZOOKEEPER_PERM_READ, "world", "anyone"},
        {HF_ZOOKEEPER_PERM_WRITE, "ip", "127.0.0.1"}};
    static const struct hf_zookeeper_acl usual[] = {
        {HF_ZOOKEEPER_PERM_READ, "world", "anyone"}};
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *other = zookeeper_open(f, "", "", NULL);
    struct hf_zookeeper *super;
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_RECONFIG,
                                 .joining = OBSERVER,
                                 .config_version = HF_ZOOKEEPER_ANY_VERSION};
    char url[64];

    (void)snprintf(url, sizeof url, "zk://%s", getenv("HF_ZK"));
    assert_int_equal(hf_zookeeper_open(url, NULL, &super), HF_OK);
    become_superuser(super);
    assert_int_equal(hf_zookeeper_set_acl(super, "/zookeeper/config", acls, 2,
                                          HF_ZOOKEEPER_ANY_VERSION, WAIT_MS),
                     HF_OK);
    zookeeper_expect(other, &op, HF_OK);
    op.joining = NULL;
    op.leaving = "2";
    zookeeper_expect(other, &op, HF_OK);
    assert_int_equal(hf_zookeeper_set_acl(super, "/zookeeper/config", usual, 1,
                                          HF_ZOOKEEPER_ANY_VERSION, WAIT_MS),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close(super), HF_OK);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}
