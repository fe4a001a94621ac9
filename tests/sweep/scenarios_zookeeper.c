/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of the public client of ZooKeeper: of a handle of its own, and of
 * one that shares the session of a client of locks. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/zookeeper.h>
#include <holdfast/zookeeper_cache.h>
#include <holdfast/zookeeper_registration.h>
#include <holdfast/zookeeper_retry.h>

#include "scenario.h"

#define PATH_BYTES 160

static void note_log_line(void *arg, enum hf_log_level level, const char *line)
{
    struct sweep_fixture *fixture = arg;

    (void)level;
    if (line[0] == '\0')
        scenario_fail(fixture, "an empty line in the log");
}

static struct hf_zookeeper *open_handle(struct sweep_fixture *fixture)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *zookeeper = NULL;
    hf_status status;

    opts.on_log = (struct hf_on_log){note_log_line, fixture, HF_LOG_DEBUG};
    for (int i = 0; i < 2; i++) {
        status = hf_zookeeper_open(fixture->url, &opts, &zookeeper);
        if (scenario_ended_ok(fixture, "hf_zookeeper_open", status,
                              hf_last_error()->text))
            return zookeeper;
        CHECK(fixture, zookeeper == NULL);
    }
    scenario_fail(fixture, "hf_zookeeper_open: failed twice: %s",
                  hf_last_error()->text);
}

static void close_handle(struct sweep_fixture *fixture,
                         struct hf_zookeeper *zookeeper)
{
    EXPECT_OK(fixture, hf_zookeeper_close(zookeeper));
}

/* The path of a node that no other process of the sweep uses. */
static void put_path(const struct sweep_fixture *fixture, const char *word,
                     char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "/data-%s-%s", fixture->prefix, word);
    for (char *at = path + 1; *at != '\0'; at++)
        if (*at == '/')
            *at = '-';
}

/* Create an ephemeral node, which goes with the session. */
static void create(struct sweep_fixture *fixture,
                   struct hf_zookeeper *zookeeper, const char *path)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
                                       .path = path,
                                       .mode = HF_ZOOKEEPER_EPHEMERAL};

    EXPECT_OK(fixture, hf_zookeeper_create_protected(
                           zookeeper, &op, 0, SCENARIO_TIMEOUT_MS, NULL));
}

/* ----------------------------------------------------------- operations -- */

static void on_event(void *arg, const struct hf_zookeeper_event *event)
{
    (void)event;
    atomic_fetch_add((_Atomic unsigned *)arg, 1);
}

static bool is_not_zero(void *arg)
{
    return atomic_load((_Atomic unsigned *)arg) > 0;
}

static hf_status read_and_watch(struct hf_zookeeper *zookeeper,
                                const char *path,
                                struct hf_zookeeper_watch *watch)
{
    const struct hf_zookeeper_op op = {
        .kind = HF_ZOOKEEPER_GET, .path = path, .watch = watch};

    return hf_zookeeper_run(zookeeper, &op, SCENARIO_TIMEOUT_MS, NULL);
}

/* Is ${text} what the node has?  A read that failed has a result, too. */
static hf_status read_text(struct sweep_fixture *fixture,
                           struct hf_zookeeper *zookeeper, const char *path,
                           const char *text)
{
    struct hf_zookeeper_result *result = NULL;
    hf_status status =
        hf_zookeeper_get(zookeeper, path, SCENARIO_TIMEOUT_MS, &result);

    if (status == HF_OK)
        CHECK(fixture, result->bytes == strlen(text) &&
                           memcmp(result->data, text, result->bytes) == 0);
    hf_zookeeper_result_free(result);
    return status;
}

static hf_status replace(void *arg, const struct hf_zookeeper_result *now,
                         struct hf_zookeeper_new_data *new_data)
{
    (void)now;
    new_data->data = arg;
    new_data->bytes = strlen(arg);
    new_data->unique = true;
    return HF_OK;
}

static void a_node_is_watched_and_updated(struct sweep_fixture *fixture)
{
    const struct hf_zookeeper_change change = {replace, (char[]){"new"}, NULL};
    struct hf_zookeeper *zookeeper = open_handle(fixture);
    _Atomic unsigned events = 0;
    struct hf_zookeeper_watch *watch;
    char path[PATH_BYTES];

    put_path(fixture, "node", path);
    create(fixture, zookeeper, path);
    EXPECT_OK(fixture,
              hf_zookeeper_watch_open(
                  zookeeper, path, HF_ZOOKEEPER_WATCH_DATA,
                  (struct hf_zookeeper_on_event){on_event, &events, NULL},
                  &watch));
    EXPECT_OK(fixture, read_and_watch(zookeeper, path, watch));
    EXPECT_OK(fixture, hf_zookeeper_update(zookeeper, path, change,
                                           SCENARIO_TIMEOUT_MS, NULL));
    scenario_until(fixture, is_not_zero, &events, "the event of the watch");
    EXPECT_OK(fixture, read_text(fixture, zookeeper, path, "new"));
    hf_zookeeper_watch_free(watch);
    close_handle(fixture, zookeeper);
}

/* ---------------------------------------------------- a session of locks -- */

/* Write to ${path} on the condition that ${grant} is held.  A write whose
 * answer was lost may be written again. */
static hf_status write_fenced(struct hf_zookeeper *zookeeper,
                              struct hf_grant *grant, const char *path)
{
    struct hf_zookeeper_op ops[2] = {{.kind = 0},
                                     {.kind = HF_ZOOKEEPER_SET,
                                      .path = path,
                                      .data = "x",
                                      .bytes = 1,
                                      .version = HF_ZOOKEEPER_ANY_VERSION}};
    hf_status status = hf_zookeeper_op_check_grant(zookeeper, grant, &ops[0]);

    for (int i = 0; i < 2 && (i == 0 || status == HF_EUNSURE); i++)
        if (status == HF_OK || status == HF_EUNSURE)
            status = hf_zookeeper_multi(zookeeper, ops, 2, SCENARIO_TIMEOUT_MS,
                                        NULL);
    return status;
}

static void a_holder_writes(struct sweep_fixture *fixture)
{
    struct hf_client *client = scenario_open_client(fixture, HF_DELIVER_THREAD);
    struct hf_lock *lock =
        scenario_lock(fixture, client, "nightly", HF_KIND_MUTEX);
    struct hf_zookeeper *zookeeper;
    struct hf_grant *grant;
    char path[PATH_BYTES];

    put_path(fixture, "report", path);
    EXPECT_OK(fixture, hf_client_zookeeper(client, &zookeeper));
    create(fixture, zookeeper, path);
    grant = scenario_acquire(fixture, lock);
    EXPECT_OK(fixture, write_fenced(zookeeper, grant, path));
    scenario_release(fixture, grant);
    close_handle(fixture, zookeeper);
    hf_lock_free(lock);
    scenario_close_client(fixture, client);
}

/* ------------------------------------------ what is kept at the servers -- */

static void a_registration_is_in_a_cache(struct sweep_fixture *fixture)
{
    const struct hf_zookeeper_on_change nobody = {NULL, NULL, NULL};
    struct hf_zookeeper *zookeeper = open_handle(fixture);
    struct hf_zookeeper_registration *registration;
    const struct hf_zookeeper_cache_node *node;
    struct hf_zookeeper_cache *cache;
    char path[PATH_BYTES];

    put_path(fixture, "worker", path);
    EXPECT_OK(fixture,
              hf_zookeeper_cache_open(zookeeper, path, NULL, nobody, &cache));
    EXPECT_OK(fixture, hf_zookeeper_registration_open(zookeeper, path, "x", 1,
                                                      NULL, &registration));
    EXPECT_OK(fixture, hf_zookeeper_registration_wait(registration,
                                                      SCENARIO_TIMEOUT_MS));
    EXPECT_OK(fixture, hf_zookeeper_sync(zookeeper, path, SCENARIO_TIMEOUT_MS));
    EXPECT_OK(fixture, hf_zookeeper_cache_wait(cache, SCENARIO_TIMEOUT_MS));
    EXPECT_OK(fixture, hf_zookeeper_cache_get(cache, path, &node));
    CHECK(fixture, node->bytes == 1);
    hf_zookeeper_cache_node_free(node);
    hf_zookeeper_cache_free(cache);
    hf_zookeeper_registration_free(registration);
    close_handle(fixture, zookeeper);
}

const struct scenario scenarios_of_zookeeper[] = {
    {"a_node_is_watched_and_updated", a_node_is_watched_and_updated},
    {"a_holder_writes", a_holder_writes},
    {"a_registration_is_in_a_cache", a_registration_is_in_a_cache},
    {NULL, NULL},
};
