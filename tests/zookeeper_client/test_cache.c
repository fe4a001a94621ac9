/* SPDX-License-Identifier: Apache-2.0 */
/* Caches of nodes (holdfast/zookeeper_cache.h) on a real server: what they have
 * and report, roots that come and go, nodes that cannot be read, outages, and
 * random changes by another client meanwhile.  Each is also tried as if the
 * server had no recursive watches. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/zookeeper_cache.h>

#include "base/random.h"
#include "cmocka/runner.h"
#include "zookeeper_client/zookeeper_handle.h"
#include "zookeeper_fixture.h"

/* --------------------------------------------------------------- fixture -- */

/* Have ${zookeeper} take the server for one that does not know AddWatch. */
static void have_no_recursive_watches(struct hf_zookeeper *zookeeper)
{
    hf_monitor_lock(zookeeper->monitor);
    for (size_t i = 0; i <= HF_ZK_SERVERS_MAX; i++)
        zookeeper->queue.support.unknown[i] = UINT32_MAX;
    hf_monitor_unlock(zookeeper->monitor);
}

static bool one_shot; /* the server has no recursive watches */

/* As zookeeper_reopen(). */
static void reopen(struct zookeeper_fixture *f,
                   const struct hf_zookeeper_opts *opts)
{
    zookeeper_reopen(f, opts);
    if (one_shot)
        have_no_recursive_watches(f->zookeeper);
}

/* The same with short pauses between two connections. */
static void reopen_with_short_pauses(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    opts.reconnect.pause_ms = opts.reconnect.pause_max_ms = 20;
    reopen(f, &opts);
}

/* The data of ${node}, or "-". */
static void put_data(char *text, size_t room,
                     const struct hf_zookeeper_cache_node *node)
{
    if (node == NULL)
        (void)snprintf(text, room, "-");
    else if (node->data == NULL)
        (void)snprintf(text, room, "null");
    else
        (void)snprintf(text, room, "%.*s", (int)node->bytes,
                       (const char *)node->data);
}

static void on_change(void *arg, const struct hf_zookeeper_cache_event *event)
{
    static const char *const kinds[] = {"?",       "ADDED",       "CHANGED",
                                        "REMOVED", "INITIALISED", "RESYNCED"};
    char before[16], after[16];

    put_data(before, sizeof before, event->before);
    put_data(after, sizeof after, event->after);
    log_add(arg, "%s %s %s %s", kinds[event->kind], event->path, before, after);
}

static void on_drop(void *arg)
{
    log_add(arg, "dropped");
}

static struct hf_zookeeper_cache *open_cache(struct zookeeper_fixture *f,
                                             const char *path, uint64_t depth)
{
    struct hf_zookeeper_cache_opts opts = HF_ZOOKEEPER_CACHE_OPTS_INIT;
    const struct hf_zookeeper_on_change report = {on_change, &f->log, on_drop};
    struct hf_zookeeper_cache *cache;

    opts.depth = depth;
    assert_int_equal(
        hf_zookeeper_cache_open(f->zookeeper, path, &opts, report, &cache),
        HF_OK);
    return cache;
}

/* Everything that ${f} has done so far is in the cache. */
static void catch_up(struct zookeeper_fixture *f,
                     struct hf_zookeeper_cache *cache)
{
    assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
    assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
}

static void set(struct hf_zookeeper *zookeeper, const char *path,
                const char *text)
{
    assert_int_equal(hf_zookeeper_set(zookeeper, path, text, strlen(text), -1,
                                      WAIT_MS, NULL),
                     HF_OK);
}

static void delete (struct hf_zookeeper *zookeeper, const char *path)
{
    assert_int_equal(hf_zookeeper_delete(zookeeper, path, -1, WAIT_MS), HF_OK);
}

static void expect_paths(struct hf_zookeeper_cache *cache, const char *path,
                         uint64_t depth, const char *const *paths)
{
    struct hf_zookeeper_cache_list *list;
    size_t i;

    assert_int_equal(hf_zookeeper_cache_list(cache, path, depth, &list), HF_OK);
    for (i = 0; paths[i] != NULL; i++) {
        assert_true(i < list->count);
        assert_string_equal(list->paths[i], paths[i]);
    }
    assert_int_equal(list->count, i);
    hf_zookeeper_cache_list_free(list);
}

/* The data of ${path} in the cache are ${text}. */
static void expect_data(struct hf_zookeeper_cache *cache, const char *path,
                        const char *text)
{
    const struct hf_zookeeper_cache_node *node;

    assert_int_equal(hf_zookeeper_cache_get(cache, path, &node), HF_OK);
    assert_int_equal(node->bytes, strlen(text));
    assert_memory_equal(node->data, text, node->bytes);
    hf_zookeeper_cache_node_free(node);
}

static void expect_nothing(struct hf_zookeeper_cache *cache, const char *path,
                           hf_status status)
{
    const struct hf_zookeeper_cache_node *node;
    struct hf_zookeeper_cache_list *list;

    assert_int_equal(hf_zookeeper_cache_get(cache, path, &node), status);
    assert_null(node);
    assert_int_equal(
        hf_zookeeper_cache_list(cache, path, HF_ZOOKEEPER_CACHE_TREE, &list),
        status);
    assert_null(list);
}

static void make_tree(struct hf_zookeeper *zookeeper)
{
    zookeeper_make(zookeeper, "/t", "root");
    zookeeper_make(zookeeper, "/t/b", "2");
    zookeeper_make(zookeeper, "/t/a", "1");
    zookeeper_make(zookeeper, "/t/a/x", "3");
    zookeeper_make(zookeeper, "/t/a/x/y", "");
    zookeeper_make(zookeeper, "/tt", "outside");
}

/* --------------------------------------------------------------- queries -- */

static void a_tree_is_filled(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache;

    make_tree(f->zookeeper);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
    expect_paths(
        cache, "/t", HF_ZOOKEEPER_CACHE_TREE,
        (const char *[]){"/t", "/t/a", "/t/a/x", "/t/a/x/y", "/t/b", NULL});
    expect_paths(cache, "/t", 1, (const char *[]){"/t", "/t/a", "/t/b", NULL});
    expect_paths(cache, "/t/a/x", 0, (const char *[]){"/t/a/x", NULL});
    expect_data(cache, "/t/a/x", "3");
    expect_data(cache, "/t/a/x/y", "");
    expect_nothing(cache, "/t/c", HF_EGONE);
    expect_nothing(cache, "/tt", HF_EINVAL);
    expect_nothing(cache, "/", HF_EINVAL);
    assert_int_equal(hf_zookeeper_cache_unreadable(cache), 0);
    hf_zookeeper_cache_free(cache);
    (void)log_await_line(&f->log, 0, "dropped");
}

static void the_depth_is_kept(struct zookeeper_fixture *f)
{
    static const char *const paths[] = {"/t", "/t/a", "/t/b", NULL};
    struct hf_zookeeper_cache *one, *alone;

    make_tree(f->zookeeper);
    one = open_cache(f, "/t", 1);
    alone = open_cache(f, "/t", 0);
    catch_up(f, one);
    catch_up(f, alone);
    expect_paths(one, "/t", HF_ZOOKEEPER_CACHE_TREE, paths);
    expect_paths(alone, "/t", HF_ZOOKEEPER_CACHE_TREE,
                 (const char *[]){"/t", NULL});
    zookeeper_make(f->zookeeper, "/t/a/new", "deep");
    zookeeper_make(f->zookeeper, "/t/c", "new");
    set(f->zookeeper, "/t/a/x", "deep");
    set(f->zookeeper, "/t", "new root");
    catch_up(f, one);
    catch_up(f, alone);
    expect_paths(one, "/t", HF_ZOOKEEPER_CACHE_TREE,
                 (const char *[]){"/t", "/t/a", "/t/b", "/t/c", NULL});
    expect_data(one, "/t", "new root");
    expect_data(alone, "/t", "new root");
    hf_zookeeper_cache_free(one);
    hf_zookeeper_cache_free(alone);
}

static void data_are_left_out(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache_opts opts = HF_ZOOKEEPER_CACHE_OPTS_INIT;
    const struct hf_zookeeper_on_change nobody = {NULL, NULL, NULL};
    const struct hf_zookeeper_cache_node *node;
    struct hf_zookeeper_cache *cache;

    make_tree(f->zookeeper);
    opts.without_data = true;
    assert_int_equal(
        hf_zookeeper_cache_open(f->zookeeper, "/t", &opts, nobody, &cache),
        HF_OK);
    catch_up(f, cache);
    set(f->zookeeper, "/t/a/x", "four");
    catch_up(f, cache);
    assert_int_equal(hf_zookeeper_cache_get(cache, "/t/a/x", &node), HF_OK);
    assert_null(node->data);
    assert_int_equal(node->stat.version, 1);
    assert_int_equal(node->stat.bytes, 4);
    hf_zookeeper_cache_free(cache);
    assert_int_equal(node->stat.bytes, 4); /* it outlives the cache */
    hf_zookeeper_cache_node_free(node);
}

/* Of the handle itself, and of what it read before. */
static void a_write_is_seen_after_a_wait(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache;
    char text[16];

    make_tree(f->zookeeper);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(text, sizeof text, "%d", i);
        set(f->zookeeper, "/t/a/x", text);
        assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
        expect_data(cache, "/t/a/x", text);
    }
    hf_zookeeper_cache_free(cache);
}

/* ---------------------------------------------------------------- events -- */

static void changes_are_reported(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache;

    zookeeper_make(f->zookeeper, "/t", "0");
    zookeeper_make(f->zookeeper, "/t/a", "1");
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    log_await(&f->log, 3);
    log_expect(&f->log, 0,
               (const char *[]){"ADDED /t - 0", "ADDED /t/a - 1",
                                "INITIALISED /t - -", NULL});
    set(f->zookeeper, "/t/a", "2");
    log_await(&f->log, 4);
    zookeeper_make(f->zookeeper, "/t/b", "3");
    log_await(&f->log, 5);
    zookeeper_make(f->zookeeper, "/t/b/c", "4");
    log_await(&f->log, 6);
    delete (f->zookeeper, "/t/b/c");
    log_await(&f->log, 7);
    set(f->zookeeper, "/t", "5");
    log_await(&f->log, 8);
    log_expect(&f->log, 3,
               (const char *[]){"CHANGED /t/a 1 2", "ADDED /t/b - 3",
                                "ADDED /t/b/c - 4", "REMOVED /t/b/c 4 -",
                                "CHANGED /t 0 5", NULL});
    hf_zookeeper_cache_free(cache);
}

/* In one transaction, so that no read sees it without the node. */
static void a_node_made_again_is_another_one(struct zookeeper_fixture *f)
{
    const struct hf_zookeeper_op ops[] = {
        {.kind = HF_ZOOKEEPER_DELETE, .path = "/t/a", .version = -1},
        {.kind = HF_ZOOKEEPER_CREATE, .path = "/t/a", .data = "2", .bytes = 1}};
    struct hf_zookeeper_cache *cache;

    zookeeper_make(f->zookeeper, "/t", "0");
    zookeeper_make(f->zookeeper, "/t/a", "1");
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    log_await(&f->log, 3);
    assert_int_equal(hf_zookeeper_multi(f->zookeeper, ops, 2, WAIT_MS, NULL),
                     HF_OK);
    log_await(&f->log, 5);
    log_expect(&f->log, 3,
               (const char *[]){"REMOVED /t/a 1 -", "ADDED /t/a - 2", NULL});
    hf_zookeeper_cache_free(cache);
}

static void a_root_comes_and_goes(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache =
        open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);

    log_await(&f->log, 1);
    expect_nothing(cache, "/t", HF_EGONE);
    for (int i = 0; i < 3; i++) {
        zookeeper_make(f->zookeeper, "/t", "0");
        zookeeper_make(f->zookeeper, "/t/a", "1");
        zookeeper_make(f->zookeeper, "/t/a/b", "2");
        catch_up(f, cache);
        expect_data(cache, "/t/a/b", "2");
        log_await(&f->log, 4);
        delete (f->zookeeper, "/t/a/b");
        delete (f->zookeeper, "/t/a");
        delete (f->zookeeper, "/t");
        catch_up(f, cache);
        expect_nothing(cache, "/t/a/b", HF_EGONE);
        expect_nothing(cache, "/t", HF_EGONE);
        log_await(&f->log, 7);
        log_expect(&f->log, 0,
                   (const char *[]){"INITIALISED /t - -", "ADDED /t - 0",
                                    "ADDED /t/a - 1", "ADDED /t/a/b - 2",
                                    "REMOVED /t/a/b 2 -", "REMOVED /t/a 1 -",
                                    "REMOVED /t 0 -", NULL});
        f->log.count = 1;
    }
    hf_zookeeper_cache_free(cache);
}

static void the_chroot_can_be_cached(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache =
        open_cache(f, "/", HF_ZOOKEEPER_CACHE_TREE);

    make_tree(f->zookeeper);
    catch_up(f, cache);
    expect_paths(cache, "/", 1, (const char *[]){"/", "/t", "/tt", NULL});
    expect_data(cache, "/t/a/x", "3");
    delete (f->zookeeper, "/t/a/x/y");
    catch_up(f, cache);
    expect_paths(cache, "/t/a", HF_ZOOKEEPER_CACHE_TREE,
                 (const char *[]){"/t/a", "/t/a/x", NULL});
    hf_zookeeper_cache_free(cache);
}

/* --------------------------------------------------------------- outages -- */

/* The server under its other name, so that the session moves to it, for the
 * ${number}-th time from 0. */
static void move(struct hf_zookeeper *zookeeper, int number)
{
    const char *address = getenv("HF_ZK");
    const char *port = address != NULL ? strrchr(address, ':') : NULL;
    char servers[64];

    (void)snprintf(servers, sizeof servers, "%s%s",
                   number % 2 == 0 ? "localhost" : "127.0.0.1",
                   port != NULL ? port : "");
    assert_int_equal(hf_zookeeper_set_servers(zookeeper, servers), HF_OK);
}

static void nodes_that_cannot_be_read(struct zookeeper_fixture *f)
{
    static const struct hf_zookeeper_acl write_only = {
        HF_ZOOKEEPER_PERM_ALL & ~HF_ZOOKEEPER_PERM_READ, "world", "anyone"};
    static const struct hf_zookeeper_acl open = {HF_ZOOKEEPER_PERM_ALL, "world",
                                                 "anyone"};
    struct hf_zookeeper_cache *cache;

    make_tree(f->zookeeper);
    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, "/t/a", &write_only, 1, -1, WAIT_MS),
        HF_OK);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    (void)log_await_line(&f->log, 0, "INITIALISED /t - -");
    expect_paths(cache, "/t", HF_ZOOKEEPER_CACHE_TREE,
                 (const char *[]){"/t", "/t/b", NULL});
    assert_int_equal(hf_zookeeper_cache_unreadable(cache), 1);
    assert_int_equal(
        hf_zookeeper_set_acl(f->zookeeper, "/t/a", &open, 1, -1, WAIT_MS),
        HF_OK);
    /* No event says that it can be read now. */
    move(f->zookeeper, 0);
    (void)log_await_line(&f->log, 0, "RESYNCED /t - -");
    expect_data(cache, "/t/a", "1");
    expect_data(cache, "/t/a/x", "3");
    assert_int_equal(hf_zookeeper_cache_unreadable(cache), 0);
    hf_zookeeper_cache_free(cache);
}

/* The connection ends at once, with what was sent on it. */
static void cut(struct hf_zookeeper *zookeeper)
{
    assert_int_equal(hf_monitor_enter(zookeeper->monitor, NULL), HF_OK);
    if (hf_zk_session_usable(zookeeper->session))
        hf_zk_session_disconnect(zookeeper->session, "the test ends it");
    hf_zookeeper_changed(zookeeper);
    hf_monitor_leave(zookeeper->monitor);
}

/* Another handle takes the session over and ends it. */
static void lose_session(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_session session;
    struct hf_zookeeper *other;

    if (hf_zookeeper_session(f->zookeeper, &session) != HF_OK)
        return;
    opts.session = &session;
    other = zookeeper_open(f, "", "", &opts);
    (void)hf_zookeeper_sync(other, "/", 1000);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

static void
nothing_is_reported_if_nothing_has_changed(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache;

    make_tree(f->zookeeper);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    (void)log_await_line(&f->log, 0, "INITIALISED /t - -");
    for (int i = 0; i < 3; i++) {
        f->log.count = 0;
        move(f->zookeeper, i);
        log_await(&f->log, 1);
        assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
        log_expect(&f->log, 0, (const char *[]){"RESYNCED /t - -", NULL});
    }
    hf_zookeeper_cache_free(cache);
}

static void a_new_session_is_followed(struct zookeeper_fixture *f)
{
    struct hf_zookeeper *other = zookeeper_open(f, "", "", NULL);
    struct hf_zookeeper_cache *cache;

    make_tree(f->zookeeper);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    (void)log_await_line(&f->log, 0, "INITIALISED /t - -");
    f->log.count = 0;
    lose_session(f);
    set(other, "/t/a", "5");
    (void)log_await_line(&f->log, 0, "CHANGED /t/a 1 5");
    (void)log_await_line(&f->log, 0, "RESYNCED /t - -");
    set(other, "/t/a", "6");
    (void)log_await_line(&f->log, 0, "CHANGED /t/a 5 6");
    hf_zookeeper_cache_free(cache);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
}

/* ---------------------------------------------------------------- random -- */

#define FOLLOWED 64

/* What somebody knows who follows the events of a cache. */
struct follower {
    pthread_mutex_t lock;
    size_t count;
    struct {
        char path[24];
        struct hf_zookeeper_stat stat;
    } nodes[FOLLOWED];
    bool wrong;
};

static size_t find_followed(const struct follower *follower, const char *path)
{
    size_t i = 0;

    while (i < follower->count && strcmp(follower->nodes[i].path, path) != 0)
        i++;
    return i;
}

/* Each event leads on from what was reported last, and never back. */
static void follow(void *arg, const struct hf_zookeeper_cache_event *event)
{
    struct follower *follower = arg;
    size_t i;

    if (event->before == NULL && event->after == NULL)
        return;
    (void)pthread_mutex_lock(&follower->lock);
    i = find_followed(follower, event->path);
    follower->wrong |= (i < follower->count) != (event->before != NULL);
    if (event->before != NULL)
        follower->wrong |=
            follower->nodes[i].stat.mzxid != event->before->stat.mzxid;
    if (event->before != NULL && event->after != NULL)
        follower->wrong |=
            event->after->stat.mzxid <= event->before->stat.mzxid;
    if (event->after != NULL) {
        (void)snprintf(follower->nodes[i].path, sizeof follower->nodes[i].path,
                       "%s", event->path);
        follower->nodes[i].stat = event->after->stat;
        follower->count += i == follower->count;
    } else if (i < follower->count) {
        follower->nodes[i] = follower->nodes[--follower->count];
    }
    (void)pthread_mutex_unlock(&follower->lock);
}

/* A path of up to three levels. */
static void draw_path(struct hf_random *random, char *path, size_t room)
{
    uint64_t levels = hf_random_below(random, 4);
    size_t used = (size_t)snprintf(path, room, "/t");

    while (levels-- > 0)
        used += (size_t)snprintf(path + used, room - used, "/%c",
                                 (char)('a' + hf_random_below(random, 3)));
}

/* Changes by another client, many under way at once; those that fail, because a
 * parent is missing, say, change nothing. */
static void change_some(struct hf_zookeeper *zookeeper,
                        struct hf_random *random, int changes)
{
    const struct hf_zookeeper_done nobody = {NULL, NULL, NULL};
    hf_status status;
    char path[24];

    for (int i = 0; i < changes; i++) {
        draw_path(random, path, sizeof path);
        switch (hf_random_below(random, 4)) {
        case 0:
            status =
                hf_zookeeper_delete_start(zookeeper, path, -1, WAIT_MS, nobody);
            break;
        case 1:
            status = hf_zookeeper_set_start(zookeeper, path, &i, sizeof i, -1,
                                            WAIT_MS, nobody);
            break;
        default:
            status = hf_zookeeper_create_start(zookeeper, path, &i, sizeof i, 0,
                                               WAIT_MS, nobody);
            break;
        }
        assert_int_equal(status, HF_OK);
    }
    assert_int_equal(hf_zookeeper_sync(zookeeper, "/", WAIT_MS), HF_OK);
}

/* Compare ${node} in the cache with what the server has. */
static void check_node(struct hf_zookeeper *zookeeper, const char *path,
                       const struct hf_zookeeper_cache_node *node)
{
    struct hf_zookeeper_result *result;

    assert_int_equal(hf_zookeeper_get(zookeeper, path, WAIT_MS, &result),
                     HF_OK);
    assert_int_equal(node->stat.czxid, result->stat.czxid);
    assert_int_equal(node->stat.mzxid, result->stat.mzxid);
    assert_int_equal(node->stat.pzxid, result->stat.pzxid);
    assert_int_equal(node->stat.cversion, result->stat.cversion);
    assert_int_equal(node->stat.children, result->stat.children);
    assert_int_equal(node->bytes, result->bytes);
    assert_memory_equal(node->data, result->data, node->bytes);
    hf_zookeeper_result_free(result);
}

/* How many nodes the server has at /t and below. */
static size_t count_nodes(struct hf_zookeeper *zookeeper)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_COUNT,
                                       .path = "/t"};
    struct hf_zookeeper_result *result = NULL;
    size_t count = 0;

    if (hf_zookeeper_exists(zookeeper, "/t", WAIT_MS, NULL) != HF_OK)
        return 0;
    assert_int_equal(hf_zookeeper_run(zookeeper, &op, WAIT_MS, &result), HF_OK);
    count = 1 + (size_t)result->count;
    hf_zookeeper_result_free(result);
    return count;
}

/* The cache, and in the end who follows its events, has what the server has. */
struct compared {
    struct follower *follower;
    struct hf_zookeeper_cache_list *list;
};

static bool is_followed(void *arg)
{
    const struct compared *compared = arg;
    struct follower *follower = compared->follower;
    size_t count = compared->list != NULL ? compared->list->count : 0;
    bool same;

    (void)pthread_mutex_lock(&follower->lock);
    same = follower->count == count;
    for (size_t i = 0; same && i < count; i++) {
        size_t at = find_followed(follower, compared->list->paths[i]);

        same = at < follower->count && follower->nodes[at].stat.mzxid ==
                                           compared->list->nodes[i]->stat.mzxid;
    }
    assert_false(follower->wrong);
    (void)pthread_mutex_unlock(&follower->lock);
    return same;
}

static void compare(struct zookeeper_fixture *f, struct hf_zookeeper *other,
                    struct hf_zookeeper_cache *cache, struct follower *follower)
{
    struct compared compared = {follower, NULL};
    hf_status status;

    while (hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS) == HF_ELOST)
        ; /* the session was ended just now */
    assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
    status = hf_zookeeper_cache_list(cache, "/t", HF_ZOOKEEPER_CACHE_TREE,
                                     &compared.list);
    assert_true(status == HF_OK || status == HF_EGONE);
    for (size_t i = 0; compared.list != NULL && i < compared.list->count; i++)
        check_node(other, compared.list->paths[i], compared.list->nodes[i]);
    assert_int_equal(compared.list != NULL ? compared.list->count : 0,
                     count_nodes(other));
    wait_for(is_followed, &compared);
    hf_zookeeper_cache_list_free(compared.list);
}

static void random_changes_are_followed(struct zookeeper_fixture *f)
{
    struct follower follower = {.count = 0};
    const struct hf_zookeeper_on_change report = {follow, &follower, NULL};
    struct hf_zookeeper *other = zookeeper_open(f, "", "", NULL);
    struct hf_zookeeper_cache *cache;
    struct hf_random random;
    int moves = 0;

    reopen_with_short_pauses(f);
    hf_random_seed(&random, 7);
    (void)pthread_mutex_init(&follower.lock, NULL);
    assert_int_equal(
        hf_zookeeper_cache_open(f->zookeeper, "/t", NULL, report, &cache),
        HF_OK);
    for (int i = 0; i < 60; i++) {
        change_some(other, &random, 1 + (int)hf_random_below(&random, 60));
        if (hf_random_below(&random, 3) == 0)
            move(f->zookeeper, moves++);
        if (hf_random_below(&random, 8) == 0)
            lose_session(f);
        if (hf_random_below(&random, 3) == 0)
            cut(f->zookeeper);
        change_some(other, &random, 1 + (int)hf_random_below(&random, 20));
        if (hf_random_below(&random, 2) == 0)
            compare(f, other, cache, &follower);
    }
    compare(f, other, cache, &follower);
    hf_zookeeper_cache_free(cache);
    assert_int_equal(hf_zookeeper_close(other), HF_OK);
    (void)pthread_mutex_destroy(&follower.lock);
}

/* -------------------------------------------------------- many and waits -- */

/* Create ${count} children of /t. */
static void make_many(struct hf_zookeeper *zookeeper, int count)
{
    const struct hf_zookeeper_done nobody = {NULL, NULL, NULL};
    char path[32];

    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof path, "/t/%05d", i);
        assert_int_equal(hf_zookeeper_create_start(zookeeper, path, "x", 1, 0,
                                                   WAIT_MS, nobody),
                         HF_OK);
    }
    assert_int_equal(hf_zookeeper_sync(zookeeper, "/", WAIT_MS), HF_OK);
}

/* More than the cache reads at a time. */
static void many_nodes_are_filled(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache_list *list;
    struct hf_zookeeper_cache *cache;

    zookeeper_make(f->zookeeper, "/t", "");
    make_many(f->zookeeper, 3000);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    catch_up(f, cache);
    assert_int_equal(hf_zookeeper_cache_list(cache, "/t", 1, &list), HF_OK);
    assert_int_equal(list->count, 3001);
    assert_string_equal(list->paths[3000], "/t/02999");
    hf_zookeeper_cache_list_free(list);
    (void)log_await_line(&f->log, 0, "INITIALISED /t - -");
    assert_int_equal(log_count(&f->log), 3002);
    hf_zookeeper_cache_free(cache);
}

/* Each cut ends the reads that are under way. */
static void connections_end_while_it_is_filled(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache;

    zookeeper_make(f->zookeeper, "/t", "");
    make_many(f->zookeeper, 2000);
    reopen_with_short_pauses(f);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    for (int i = 0; i < 10; i++) {
        cut(f->zookeeper);
        assert_int_equal(hf_zookeeper_sync(f->zookeeper, "/", WAIT_MS), HF_OK);
    }
    (void)log_await_line(&f->log, 0, "INITIALISED /t - -");
    assert_int_equal(log_find(&f->log, 0, "ADDED /t/01999 - x") < 2002, true);
    hf_zookeeper_cache_free(cache);
}

/* It cannot be asked for: an operation with its path is longer than the handle
 * may send. */
static void a_path_that_is_too_long(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_cache *cache;
    char path[1400] = "/t/";

    make_tree(f->zookeeper);
    memset(path + 3, 'n', sizeof path - 4);
    zookeeper_make(f->zookeeper, path, "");
    opts.max_request_bytes = 1024;
    reopen(f, &opts);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    catch_up(f, cache);
    assert_int_equal(hf_zookeeper_cache_unreadable(cache), 1);
    expect_paths(cache, "/t", 1, (const char *[]){"/t", "/t/a", "/t/b", NULL});
    hf_zookeeper_cache_free(cache);
}

static void on_waited(void *arg, const struct hf_result *result)
{
    assert_int_equal(result->text[0] == '\0', result->status == HF_OK);
    if (result->status != HF_OK)
        assert_string_equal(hf_last_error()->text, result->text);
    log_add(arg, "waited %s", hf_status_name(result->status));
}

/* A wait for ${cache} says why there is no connection, once one attempt to
 * connect has failed. */
static void expect_reason(struct hf_zookeeper_cache *cache)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(hf_zookeeper_cache_wait(cache, 30), HF_ETIMEDOUT);
        if (strstr(hf_last_error()->text,
                   "there is no connection: 127.0.0.1:1: "
                   "connection refused") != NULL)
            return;
    }
    fail_msg("\"%s\" has no reason", hf_last_error()->text);
}

static void waits_end(struct zookeeper_fixture *f)
{
    const struct hf_done done = {on_waited, &f->log, on_drop};
    const struct hf_done nobody = {NULL, NULL, NULL};
    struct hf_zookeeper *unreachable;
    struct hf_zookeeper_cache *cache;
    const struct hf_zookeeper_on_change no_change = {NULL, NULL, NULL};

    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    (void)log_await_line(&f->log, 0, "INITIALISED /t - -");
    assert_int_equal(hf_zookeeper_cache_wait(cache, 0), HF_OK);
    assert_int_equal(hf_zookeeper_cache_wait_start(cache, 5000, done), HF_OK);
    assert_int_equal(hf_zookeeper_cache_wait_start(cache, 5000, nobody), HF_OK);
    (void)log_await_line(&f->log, 0, "waited HF_OK");
    hf_zookeeper_cache_free(cache);

    f->log.count = 0;
    assert_int_equal(hf_zookeeper_open("zk://127.0.0.1:1", NULL, &unreachable),
                     HF_OK);
    assert_int_equal(
        hf_zookeeper_cache_open(unreachable, "/t", NULL, no_change, &cache),
        HF_OK);
    expect_nothing(cache, "/t", HF_ESTATE);
    assert_int_equal(hf_zookeeper_cache_wait(cache, 0), HF_ETIMEDOUT);
    assert_int_equal(hf_zookeeper_cache_wait(cache, 30), HF_ETIMEDOUT);
    zookeeper_expect_error("hf_zookeeper_cache_wait: the time");
    expect_reason(cache);
    assert_int_equal(hf_zookeeper_cache_wait_start(cache, 30, done), HF_OK);
    (void)log_await_line(&f->log, 0, "waited HF_ETIMEDOUT");
    assert_int_equal(hf_zookeeper_cache_wait_start(cache, HF_FOREVER, done),
                     HF_OK);
    hf_zookeeper_cache_free(cache);
    (void)log_await_line(&f->log, 0, "waited HF_ECANCELLED");
    assert_int_equal(
        hf_zookeeper_cache_open(unreachable, "/t", NULL, no_change, &cache),
        HF_OK);
    assert_int_equal(hf_zookeeper_cache_wait_start(cache, HF_FOREVER, done),
                     HF_OK);
    assert_int_equal(hf_zookeeper_close(unreachable), HF_OK);
    (void)log_await_line(&f->log, 0, "waited HF_ECLOSED");
    assert_int_equal(log_count(&f->log), 6);
    hf_zookeeper_cache_free(cache);
}

/* The cache keeps what it had. */
static void a_handle_is_closed_before_its_cache(struct zookeeper_fixture *f)
{
    const struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper *closed = f->zookeeper;
    struct hf_zookeeper_cache *cache;

    make_tree(closed);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
    f->zookeeper = zookeeper_open(f, "", "", &opts);
    assert_int_equal(hf_zookeeper_close(closed), HF_OK);
    expect_data(cache, "/t/a/x", "3");
    assert_int_equal(hf_zookeeper_cache_wait(cache, 0), HF_ECLOSED);
    hf_zookeeper_cache_free(cache);
    (void)log_await_line(&f->log, 0, "dropped");
}

/* The cache is filled without a dispatch, but nothing is reported. */
static void changes_are_dispatched(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct hf_zookeeper_cache *cache;
    struct pollfd fd = {.events = POLLIN};

    make_tree(f->zookeeper);
    make_many(f->zookeeper, 200); /* more than are reported in a row */
    opts.delivery = HF_DELIVER_DISPATCH;
    reopen(f, &opts);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    assert_int_equal(hf_zookeeper_cache_wait(cache, WAIT_MS), HF_OK);
    set(f->zookeeper, "/t/a", "7");
    catch_up(f, cache);
    expect_data(cache, "/t/a", "7");
    assert_int_equal(log_count(&f->log), 0);
    fd.fd = hf_zookeeper_fd(f->zookeeper);
    while (log_count(&f->log) < 206) {
        assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
        assert_int_equal(hf_zookeeper_dispatch(f->zookeeper), HF_OK);
    }
    /* The change before the report is part of it. */
    assert_true(log_find(&f->log, 0, "ADDED /t/a - 7") < LOG_LINES);
    assert_true(log_find(&f->log, 0, "INITIALISED /t - -") < LOG_LINES);
    hf_zookeeper_cache_free(cache);
}

/* What a callback may do with its cache. */
struct asking {
    struct callback_log *log;
    struct hf_zookeeper_cache *cache; /* set before it is called */
};

static void ask_in_callback(void *arg,
                            const struct hf_zookeeper_cache_event *event)
{
    const struct asking *asking = arg;
    const struct hf_zookeeper_cache_node *node;

    if (event->kind == HF_ZOOKEEPER_CACHE_INITIALISED)
        log_add(asking->log, "initialised");
    if (event->kind != HF_ZOOKEEPER_CACHE_CHANGED)
        return;
    log_add(asking->log, "wait %s",
            hf_status_name(hf_zookeeper_cache_wait(asking->cache, 0)));
    log_add(asking->log, "get %s",
            hf_status_name(
                hf_zookeeper_cache_get(asking->cache, event->path, &node)));
    hf_zookeeper_cache_node_free(node);
}

static void a_callback_asks_but_does_not_wait(struct zookeeper_fixture *f)
{
    struct asking asking = {&f->log, NULL};
    const struct hf_zookeeper_on_change report = {ask_in_callback, &asking,
                                                  NULL};

    make_tree(f->zookeeper);
    assert_int_equal(hf_zookeeper_cache_open(f->zookeeper, "/t", NULL, report,
                                             &asking.cache),
                     HF_OK);
    /* A change of a node that was not reported yet would be part of ADDED. */
    log_await(&f->log, 1);
    set(f->zookeeper, "/t/a", "2");
    log_await(&f->log, 3);
    log_expect(&f->log, 0,
               (const char *[]){"initialised", "wait HF_EREENTRANT",
                                "get HF_OK", NULL});
    hf_zookeeper_cache_free(asking.cache);
}

/* Every call in the child of a fork; 0 if all are refused. */
static int use_in_child(struct zookeeper_fixture *f,
                        struct hf_zookeeper_cache *cache)
{
    const struct hf_zookeeper_on_change nobody = {NULL, NULL, NULL};
    const struct hf_zookeeper_cache_node *node;
    struct hf_zookeeper_cache_list *list;
    struct hf_zookeeper_cache *other;
    int wrong = 0;

    wrong += hf_zookeeper_cache_get(cache, "/t", &node) != HF_EFORKED;
    wrong += hf_zookeeper_cache_list(cache, "/t", 1, &list) != HF_EFORKED;
    wrong += hf_zookeeper_cache_wait(cache, 0) != HF_EFORKED;
    wrong += hf_zookeeper_cache_wait_start(
                 cache, 0, (struct hf_done){NULL, NULL, NULL}) != HF_EFORKED;
    wrong += hf_zookeeper_cache_open(f->zookeeper, "/t", NULL, nobody,
                                     &other) != HF_EFORKED;
    wrong += hf_zookeeper_cache_unreadable(cache) != 0;
    hf_zookeeper_cache_free(cache);
    return wrong;
}

static void a_child_of_a_fork_is_refused(struct zookeeper_fixture *f)
{
    struct hf_zookeeper_cache *cache;
    int status = -1;
    pid_t child;

    make_tree(f->zookeeper);
    cache = open_cache(f, "/t", HF_ZOOKEEPER_CACHE_TREE);
    catch_up(f, cache);
    if ((child = test_fork()) == 0)
        _exit(use_in_child(f, cache));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_data(cache, "/t/a", "1");
    hf_zookeeper_cache_free(cache);
}

static void wrong_arguments(struct zookeeper_fixture *f)
{
    const struct hf_zookeeper_on_change report = {on_change, &f->log, on_drop};
    struct hf_zookeeper_cache *cache;

    assert_int_equal(
        hf_zookeeper_cache_open(f->zookeeper, "t/", NULL, report, &cache),
        HF_EINVAL);
    assert_null(cache);
    log_expect(&f->log, 0, (const char *[]){"dropped", NULL});
    zookeeper_expect_error("hf_zookeeper_cache_open: ");
    hf_zookeeper_cache_free(NULL);
    hf_zookeeper_cache_node_free(NULL);
    hf_zookeeper_cache_list_free(NULL);
}

/* ----------------------------------------------------------------- tests -- */

/* Each test, and again as if the server had no recursive watches. */
#define BOTH(name)                                                             \
    TEST_WITH(test_##name, zookeeper_setup, zookeeper_teardown)                \
    {                                                                          \
        one_shot = false;                                                      \
        name(*state);                                                          \
    }                                                                          \
                                                                               \
    TEST_WITH(one_shot_##name, zookeeper_setup, zookeeper_teardown)            \
    {                                                                          \
        const struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;          \
                                                                               \
        one_shot = true;                                                       \
        reopen(*state, &opts);                                                 \
        name(*state);                                                          \
    }

BOTH(a_tree_is_filled)
BOTH(the_depth_is_kept)
BOTH(data_are_left_out)
BOTH(a_write_is_seen_after_a_wait)
BOTH(changes_are_reported)
BOTH(a_node_made_again_is_another_one)
BOTH(a_root_comes_and_goes)
BOTH(the_chroot_can_be_cached)
BOTH(nodes_that_cannot_be_read)
BOTH(nothing_is_reported_if_nothing_has_changed)
BOTH(a_new_session_is_followed)
BOTH(random_changes_are_followed)
BOTH(many_nodes_are_filled)
BOTH(connections_end_while_it_is_filled)
BOTH(a_path_that_is_too_long)
BOTH(waits_end)
BOTH(a_handle_is_closed_before_its_cache)
BOTH(changes_are_dispatched)
BOTH(a_callback_asks_but_does_not_wait)
BOTH(a_child_of_a_fork_is_refused)
BOTH(wrong_arguments)
