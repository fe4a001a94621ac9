/* SPDX-License-Identifier: Apache-2.0 */
/* A callback without a function, for every call of the client that starts
 * something: it is allowed, and its .drop is called once.  The same with a
 * function, and for a call that is refused. */
#include <stdio.h>
#include <string.h>

#include <holdfast/zookeeper_retry.h>

#include "cmocka/runner.h"
#include "zookeeper_fixture.h"

/* Start an operation on "/", or on ${path} where a row needs another. */
typedef hf_status start_fn(struct hf_zookeeper *zookeeper, const char *path,
                           struct hf_zookeeper_done done);

static hf_status start_plain(struct hf_zookeeper *zookeeper, const char *path,
                             struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_GET, .path = path};

    return hf_zookeeper_start(zookeeper, &op, WAIT_MS, done, NULL);
}

static hf_status start_create(struct hf_zookeeper *zookeeper, const char *path,
                              struct hf_zookeeper_done done)
{
    return hf_zookeeper_create_start(zookeeper, path, NULL, 0,
                                     HF_ZOOKEEPER_PERSISTENT, WAIT_MS, done);
}

static hf_status start_delete(struct hf_zookeeper *zookeeper, const char *path,
                              struct hf_zookeeper_done done)
{
    return hf_zookeeper_delete_start(zookeeper, path, 77, WAIT_MS, done);
}

static hf_status start_exists(struct hf_zookeeper *zookeeper, const char *path,
                              struct hf_zookeeper_done done)
{
    return hf_zookeeper_exists_start(zookeeper, path, WAIT_MS, done);
}

static hf_status start_get(struct hf_zookeeper *zookeeper, const char *path,
                           struct hf_zookeeper_done done)
{
    return hf_zookeeper_get_start(zookeeper, path, WAIT_MS, done);
}

static hf_status start_set(struct hf_zookeeper *zookeeper, const char *path,
                           struct hf_zookeeper_done done)
{
    return hf_zookeeper_set_start(zookeeper, path, NULL, 0, -1, WAIT_MS, done);
}

static hf_status start_children(struct hf_zookeeper *zookeeper,
                                const char *path, struct hf_zookeeper_done done)
{
    return hf_zookeeper_children_start(zookeeper, path, WAIT_MS, done);
}

static hf_status start_sync(struct hf_zookeeper *zookeeper, const char *path,
                            struct hf_zookeeper_done done)
{
    return hf_zookeeper_sync_start(zookeeper, path, WAIT_MS, done);
}

static hf_status start_multi(struct hf_zookeeper *zookeeper, const char *path,
                             struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op check = {
        .kind = HF_ZOOKEEPER_CHECK, .path = path, .version = -1};

    return hf_zookeeper_multi_start(zookeeper, &check, 1, WAIT_MS, done);
}

static hf_status start_create_protected(struct hf_zookeeper *zookeeper,
                                        const char *path,
                                        struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = path};

    return hf_zookeeper_create_protected_start(zookeeper, &op, 0, WAIT_MS, done,
                                               NULL);
}

static hf_status start_delete_guaranteed(struct hf_zookeeper *zookeeper,
                                         const char *path,
                                         struct hf_zookeeper_done done)
{
    return hf_zookeeper_delete_guaranteed_start(zookeeper, path, 77, WAIT_MS,
                                                done, NULL);
}

static hf_status keep_data(void *arg, const struct hf_zookeeper_result *now,
                           struct hf_zookeeper_new_data *new_data)
{
    (void)arg;
    (void)now;
    (void)new_data;
    return HF_OK;
}

static hf_status start_update(struct hf_zookeeper *zookeeper, const char *path,
                              struct hf_zookeeper_done done)
{
    const struct hf_zookeeper_change change = {keep_data, NULL, NULL};

    return hf_zookeeper_update_start(zookeeper, path, change, WAIT_MS, done,
                                     NULL);
}

static const struct {
    const char *name;
    start_fn *start;
    const char *line; /* of the callback */
} calls[] = {
    {"hf_zookeeper_children_start", start_children, "op HF_OK"},
    {"hf_zookeeper_create_protected_start", start_create_protected,
     "op HF_EEXISTS"},
    {"hf_zookeeper_create_start", start_create, "op HF_EEXISTS"},
    {"hf_zookeeper_delete_guaranteed_start", start_delete_guaranteed,
     "op HF_EVERSION"},
    {"hf_zookeeper_delete_start", start_delete, "op HF_EVERSION"},
    {"hf_zookeeper_exists_start", start_exists, "op HF_OK"},
    {"hf_zookeeper_get_start", start_get, "op HF_OK"},
    {"hf_zookeeper_multi_start", start_multi, "op HF_OK"},
    {"hf_zookeeper_set_start", start_set, "op HF_OK"},
    {"hf_zookeeper_start", start_plain, "op HF_OK"},
    {"hf_zookeeper_sync_start", start_sync, "op HF_OK"},
    {"hf_zookeeper_update_start", start_update, "op HF_OK"},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

#define FIXTURE_TEST(name) TEST_WITH(name, zookeeper_setup, zookeeper_teardown)

FIXTURE_TEST(with_a_function)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "op"};

    for (size_t i = 0; i < CALLS; i++) {
        f->log.count = 0;
        assert_int_equal(calls[i].start(f->zookeeper, "/", log_done(&name)),
                         HF_OK);
        log_await(&f->log, 2);
        log_expect(&f->log, 0,
                   (const char *[]){calls[i].line, "op dropped", NULL});
    }
}

FIXTURE_TEST(without_a_function)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "op"};
    struct hf_zookeeper_done done = log_done(&name);

    done.fn = NULL;
    for (size_t i = 0; i < CALLS; i++) {
        f->log.count = 0;
        assert_int_equal(calls[i].start(f->zookeeper, "/", done), HF_OK);
        log_await(&f->log, 1);
        log_expect(&f->log, 0, (const char *[]){"op dropped", NULL});
    }
}

FIXTURE_TEST(without_anything)
{
    struct zookeeper_fixture *f = *state;
    const struct hf_zookeeper_done done = {NULL, NULL, NULL};

    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(calls[i].start(f->zookeeper, "/", done), HF_OK);
    assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
}

/* The error text has the name of the call. */
FIXTURE_TEST(refused)
{
    struct zookeeper_fixture *f = *state;
    struct log_name name = {&f->log, "op"};

    for (size_t i = 0; i < CALLS; i++) {
        f->log.count = 0;
        assert_int_equal(
            calls[i].start(f->zookeeper, "nonsense", log_done(&name)),
            HF_EINVAL);
        log_expect(&f->log, 0, (const char *[]){"op dropped", NULL});
        zookeeper_expect_error(calls[i].name);
    }
}

static void drop_close(void *arg)
{
    log_add(arg, "close dropped");
}

/* hf_zookeeper_close_start() has a callback of another type. */
FIXTURE_TEST(a_close_without_a_function)
{
    struct zookeeper_fixture *f = *state;
    struct hf_zookeeper *zookeeper = zookeeper_open(f, "", "", NULL);

    assert_int_equal(
        hf_zookeeper_close_start(zookeeper,
                                 (struct hf_done){NULL, &f->log, drop_close}),
        HF_OK);
    (void)log_await_line(&f->log, 0, "close dropped");
    zookeeper = zookeeper_open(f, "", "", NULL);
    assert_int_equal(
        hf_zookeeper_close_start(zookeeper, (struct hf_done){NULL, NULL, NULL}),
        HF_OK);
}

/* ------------------------------------------------------- is it complete? -- */

/* test_cache.c and test_registration.c have the tests of the last two. */
static bool has_another_type(const char *name)
{
    return strcmp(name, "hf_zookeeper_close_start") == 0 ||
           strcmp(name, "hf_zookeeper_cache_wait_start") == 0 ||
           strcmp(name, "hf_zookeeper_registration_wait_start") == 0;
}

static bool is_in_table(const char *name)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (strcmp(calls[i].name, name) == 0)
            return true;
    }
    return has_another_type(name);
}

static bool starts_something(const char *name)
{
    size_t length = strlen(name), end = strlen("_start");

    return strncmp(name, "hf_zookeeper_", strlen("hf_zookeeper_")) == 0 &&
           length > end && strcmp(name + length - end, "_start") == 0;
}

/* The names that the library exports, one a line. */
TEST(the_table_is_complete)
{
    FILE *map = fopen(EXPORTED, "re");
    char line[128], name[128];
    size_t found = 0;

    assert_non_null(map);
    while (fgets(line, sizeof line, map) != NULL) {
        if (sscanf(line, " %127[a-z_];", name) != 1 || !starts_something(name))
            continue;
        if (!is_in_table(name))
            print_error("%s is missing\n", name);
        assert_true(is_in_table(name));
        found++;
    }
    assert_int_equal(fclose(map), 0);
    assert_int_equal(found, CALLS + 3);
}
