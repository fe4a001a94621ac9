/* SPDX-License-Identifier: Apache-2.0 */
/* Caches of nodes (src/zookeeper_cache) against a fake server: every allocation
 * fails, one after the other, and then the cache still becomes complete, or the
 * call returns a status, and no memory is left.  Besides that: a server that
 * does not know recursive watches, what is asked after an outage, and caches
 * that are freed while their callback runs. */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <holdfast/zookeeper_cache.h>

#include "cmocka/runner.h"
#include "heap/heap.h"
#include "zookeeper/protocol.h"
#include "zookeeper_cache/cache.h"
#include "zookeeper_fake_server.h"

/* An end that a test that passes never reaches. */
#define TIMEOUT_MS 20000

#define CHANGED 3 /* the type of an event, as servers send it */

static struct zookeeper_fake_server server;

static void wait_until(bool (*condition)(void *arg), void *arg)
{
    const struct timespec while_others_work = {0, 1000000};

    for (int ms = 0; !condition(arg); ms++) {
        assert_true(ms < TIMEOUT_MS);
        (void)nanosleep(&while_others_work, NULL);
    }
}

/* --------------------------------------------------------------- fixture -- */

/* A handle and a cache on it, and how often its callback was called. */
struct cache_fixture {
    struct hf_zookeeper *zookeeper;
    struct hf_zookeeper_cache *cache;
    atomic_int added;
    atomic_int changed;
    atomic_int removed;
    atomic_int initialised;
    atomic_int resynced;
    atomic_int dropped;
    atomic_int wanted;   /* of resynced */
    atomic_bool running; /* the callback, */
    atomic_bool freeing; /* until another thread frees the cache */
    atomic_bool returned;
};

static void on_change(void *arg, const struct hf_zookeeper_cache_event *event)
{
    struct cache_fixture *f = arg;

    f->added += event->kind == HF_ZOOKEEPER_CACHE_ADDED;
    f->changed += event->kind == HF_ZOOKEEPER_CACHE_CHANGED;
    f->removed += event->kind == HF_ZOOKEEPER_CACHE_REMOVED;
    f->initialised += event->kind == HF_ZOOKEEPER_CACHE_INITIALISED;
    f->resynced += event->kind == HF_ZOOKEEPER_CACHE_RESYNCED;
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct cache_fixture *)arg)->dropped, 1);
}

static hf_status open_handle(struct cache_fixture *f)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;

    memset(f, 0, sizeof *f);
    opts.reconnect.pause_ms = opts.reconnect.pause_max_ms = 1;
    return hf_zookeeper_open(server.url, &opts, &f->zookeeper);
}

/* A cache of a node and its two children. */
static hf_status
open_cache(struct cache_fixture *f,
           void (*fn)(void *arg, const struct hf_zookeeper_cache_event *event))
{
    struct hf_zookeeper_cache_opts opts = HF_ZOOKEEPER_CACHE_OPTS_INIT;
    const struct hf_zookeeper_on_change report = {fn, f, on_drop};

    opts.depth = 1;
    return hf_zookeeper_cache_open(f->zookeeper, "/t", &opts, report,
                                   &f->cache);
}

static void begin(struct cache_fixture *f)
{
    assert_int_equal(open_handle(f), HF_OK);
    assert_int_equal(open_cache(f, on_change), HF_OK);
}

static bool is_released(void *arg)
{
    (void)arg;
    return heap_live() == 0;
}

static bool is_initialised(void *arg)
{
    return ((struct cache_fixture *)arg)->initialised > 0;
}

static bool is_resynced(void *arg)
{
    struct cache_fixture *f = arg;

    return f->resynced >= f->wanted;
}

static bool has_changed(void *arg)
{
    return ((struct cache_fixture *)arg)->changed > 0;
}

static void end(struct cache_fixture *f)
{
    hf_zookeeper_cache_free(f->cache);
    assert_int_equal(hf_zookeeper_close(f->zookeeper), HF_OK);
    wait_until(is_released, NULL);
}

/* ---------------------------------------------------------------- faults -- */

/* A node has changed: its event is lost with a connection that ends for lack of
 * memory, so it is sent until the cache has seen the change. */
static bool has_seen_change(void *arg)
{
    struct cache_fixture *f = arg;

    if (f->changed == 0)
        zookeeper_fake_fire(&server, CHANGED, "/t/a");
    return f->changed > 0;
}

/* The queries, which may fail. */
static void ask(struct cache_fixture *f)
{
    const struct hf_zookeeper_cache_node *node;
    struct hf_zookeeper_cache_list *list;
    hf_status status;

    status = hf_zookeeper_cache_get(f->cache, "/t/b", &node);
    assert_int_equal(status, HF_OK);
    assert_memory_equal(node->data, "data", 4);
    hf_zookeeper_cache_node_free(node);
    status = hf_zookeeper_cache_list(f->cache, "/t", 1, &list);
    assert_true(status == HF_OK || status == HF_ENOMEM);
    if (status == HF_OK)
        assert_int_equal(list->count, 3);
    hf_zookeeper_cache_list_free(list);
    status = hf_zookeeper_cache_wait_start(f->cache, 1000,
                                           (struct hf_done){NULL, NULL, NULL});
    assert_true(status == HF_OK || status == HF_ENOMEM);
}

/* Fill, ask, change, cut.  One allocation has failed, or fails on the way: then
 * the cache becomes complete all the same. */
static void fill_and_follow(struct cache_fixture *f)
{
    hf_status status = open_cache(f, on_change);

    if (status != HF_OK) {
        assert_int_equal(status, HF_ENOMEM);
        assert_null(f->cache);
        assert_int_equal(f->dropped, 1);
        return;
    }
    wait_until(is_initialised, f);
    assert_int_equal(f->added, 3);
    ask(f);
    server.mzxid = 1;
    wait_until(has_seen_change, f);
    f->wanted = f->resynced + 1;
    zookeeper_fake_cut(&server);
    wait_until(is_resynced, f);
    assert_int_equal(f->initialised, 1);
    assert_int_equal(f->added, 3);
}

/* Fail the ${nth} allocation behind the opening of the handle. */
static bool fails(unsigned long nth)
{
    struct cache_fixture f;
    bool failed;

    server.mzxid = 0;
    assert_int_equal(open_handle(&f), HF_OK);
    assert_int_equal(hf_zookeeper_sync(f.zookeeper, "/", 5000), HF_OK);
    heap_fail(nth, false);
    fill_and_follow(&f);
    failed = heap_failed();
    heap_fail(0, false);
    end(&f);
    return failed;
}

static void fail_each(void)
{
    unsigned long nth = 0;

    server.children = 2;
    while (fails(++nth))
        assert_true(nth < 1000);
    assert_true(nth > 10);
}

TEST(each_allocation_fails)
{
    fail_each();
}

TEST(each_allocation_fails_with_one_shot_watches)
{
    server.old = true;
    fail_each();
    server.old = false;
}

/* Nothing can be read then; it all goes on when there is memory again. */
TEST(all_allocations_fail_for_a_while)
{
    const struct timespec some_pauses = {0, 200000000};
    struct cache_fixture f;

    server.mzxid = 0;
    server.children = 2;
    for (unsigned long nth = 8; nth < 60; nth += 13) {
        assert_int_equal(open_handle(&f), HF_OK);
        assert_int_equal(hf_zookeeper_sync(f.zookeeper, "/", 5000), HF_OK);
        heap_fail(nth, true);
        assert_int_equal(open_cache(&f, on_change), HF_OK);
        (void)nanosleep(&some_pauses, NULL);
        heap_fail(0, false);
        wait_until(is_initialised, &f);
        assert_int_equal(f.added, 3);
        end(&f);
    }
}

/* --------------------------------------------------------------- servers -- */

/* It refuses an AddWatch, ends the connection, and is not asked again. */
TEST(a_server_without_recursive_watches)
{
    struct cache_fixture f;

    server.old = true;
    server.mzxid = 0;
    server.children = 2;
    begin(&f);
    wait_until(is_initialised, &f);
    assert_int_equal(f.added, 3);
    server.mzxid = 1;
    zookeeper_fake_fire(&server, CHANGED, "/t/a");
    wait_until(has_changed, &f);
    assert_int_equal(f.changed, 1);
    end(&f);
    server.old = false;
}

/* The connection ends ${cuts} times in a row while the watch is being set. */
static void cut_watches(int cuts, bool recursive)
{
    struct cache_fixture f;

    server.children = 2;
    server.more_losses = cuts - 1;
    server.loses = HF_ZK_ADD_WATCH;
    begin(&f);
    wait_until(is_initialised, &f);
    assert_int_equal(server.loses, 0);
    assert_int_equal(f.cache->tree.recursive, recursive);
    end(&f);
}

/* A network that cuts some connections makes no server old; but one that never
 * answers has no recursive watches. */
TEST(a_network_that_cuts_the_watch)
{
    cut_watches(1, true);
    cut_watches(2, true);
    cut_watches(7, true);
    cut_watches(8, false);
}

/* After a cut Stats are asked for, and no data come. */
TEST(an_outage_costs_no_data)
{
    struct cache_fixture f;
    unsigned data_sent;

    server.mzxid = 0;
    server.children = 2;
    begin(&f);
    wait_until(is_initialised, &f);
    data_sent = server.data_sent;
    for (f.wanted = 1; f.wanted < 4; f.wanted++) {
        server.forgets = f.wanted == 3; /* the session, too */
        zookeeper_fake_cut(&server);
        wait_until(is_resynced, &f);
    }
    assert_int_equal(server.data_sent, data_sent);
    assert_int_equal(f.added, 3);
    assert_int_equal(f.changed, 0);
    server.mzxid = 1;
    zookeeper_fake_cut(&server);
    wait_until(is_resynced, &f);
    assert_int_equal(server.data_sent, data_sent + 3);
    assert_int_equal(f.changed, 3);
    end(&f);
}

/* The next ${count} calls of ${opcode} fail at the server. */
static void fail_next(enum hf_zk_opcode opcode, int count)
{
    server.refused_opcode = (int)opcode;
    server.refusal = HF_ZK_SYSTEM_ERROR;
    server.refusals = count;
}

static bool is_changed(void *arg)
{
    return ((struct cache_fixture *)arg)->changed > 0;
}

static bool is_unreadable(void *arg)
{
    return hf_zookeeper_cache_unreadable(((struct cache_fixture *)arg)->cache) >
           0;
}

static bool is_readable(void *arg)
{
    return !is_unreadable(arg);
}

/* What the server has not read may still be there, with all below it. */
TEST(a_failure_of_the_server_removes_nothing)
{
    struct cache_fixture f;

    server.mzxid = 0;
    server.children = 2;
    begin(&f);
    wait_until(is_initialised, &f);
    server.mzxid = 1;
    fail_next(HF_ZK_GET_DATA, 3);
    zookeeper_fake_fire(&server, CHANGED, "/t");
    wait_until(is_changed, &f);
    assert_int_equal(server.refusals, 0);
    assert_int_equal(hf_zookeeper_cache_wait(f.cache, TIMEOUT_MS), HF_OK);
    assert_int_equal(f.removed, 0);
    assert_int_equal(hf_zookeeper_cache_unreadable(f.cache), 0);
    end(&f);
}

/* The reads end, and the cache is current without the node. */
TEST(a_server_that_always_fails_is_not_asked_for_ever)
{
    struct cache_fixture f;

    server.mzxid = 0;
    server.children = 2;
    begin(&f);
    wait_until(is_initialised, &f);
    fail_next(HF_ZK_GET_DATA, INT_MAX);
    zookeeper_fake_fire(&server, CHANGED, "/t/a");
    wait_until(is_unreadable, &f);
    assert_int_equal(INT_MAX - server.refusals, HF_CACHE_FAILURES_MAX + 1);
    assert_int_equal(hf_zookeeper_cache_wait(f.cache, TIMEOUT_MS), HF_OK);
    server.refusals = 0;
    zookeeper_fake_fire(&server, CHANGED, "/t/a");
    wait_until(is_readable, &f);
    end(&f);
}

/* The cache is not current on a connection before its sync was answered. */
TEST(a_sync_that_fails_at_the_server_is_repeated)
{
    struct cache_fixture f;

    begin(&f);
    wait_until(is_initialised, &f);
    fail_next(HF_ZK_SYNC, 2);
    f.wanted = 1;
    zookeeper_fake_cut(&server);
    wait_until(is_resynced, &f);
    assert_int_equal(server.refusals, 0);
    assert_true(server.synced);
    end(&f);
}

static bool has_given_up(void *arg)
{
    struct hf_zookeeper *z = arg;
    bool given_up;

    hf_monitor_lock(z->monitor);
    given_up = z->queue.given_up;
    hf_monitor_unlock(z->monitor);
    return given_up;
}

TEST(a_wait_connects_again_after_the_client_has_given_up)
{
    struct hf_zookeeper_opts opts = HF_ZOOKEEPER_OPTS_INIT;
    struct cache_fixture f = {.zookeeper = NULL};

    opts.reconnect.retries = 0;
    assert_int_equal(hf_zookeeper_open(server.url, &opts, &f.zookeeper), HF_OK);
    assert_int_equal(open_cache(&f, on_change), HF_OK);
    assert_int_equal(hf_zookeeper_cache_wait(f.cache, TIMEOUT_MS), HF_OK);
    server.away = true;
    zookeeper_fake_cut(&server);
    wait_until(has_given_up, f.zookeeper);
    assert_int_equal(hf_zookeeper_cache_wait(f.cache, TIMEOUT_MS),
                     HF_EUNREACHABLE);
    server.away = false;
    assert_int_equal(hf_zookeeper_cache_wait(f.cache, TIMEOUT_MS), HF_OK);
    end(&f);
}

/* Its state, whose invariants hold. */
static unsigned state_of(const struct hf_zookeeper_cache *cache)
{
    struct hf_monitor *monitor = cache->zookeeper->monitor;
    unsigned state;

    hf_monitor_lock(monitor);
    hf_cache_check(cache);
    state = cache->state;
    hf_monitor_unlock(monitor);
    return state;
}

static bool is_catching_up(void *arg)
{
    return state_of(((struct cache_fixture *)arg)->cache) ==
           HF_CACHE_CATCHING_UP;
}

/* Its handle is closed first. */
TEST(it_is_in_the_state_that_its_events_say)
{
    struct cache_fixture f;

    begin(&f);
    wait_until(is_initialised, &f);
    assert_int_equal(state_of(f.cache), HF_CACHE_CURRENT);
    server.silent = true;
    zookeeper_fake_cut(&server);
    wait_until(is_catching_up, &f);
    server.silent = false;
    zookeeper_fake_cut(&server);
    f.wanted = 1;
    wait_until(is_resynced, &f);
    assert_int_equal(state_of(f.cache), HF_CACHE_CURRENT);
    assert_int_equal(hf_zookeeper_close(f.zookeeper), HF_OK);
    assert_int_equal(f.cache->state, HF_CACHE_STOPPED);
    hf_zookeeper_cache_free(f.cache);
    wait_until(is_released, NULL);
}

/* The server of the next connection does not have the last change yet. */
TEST(a_server_that_is_behind)
{
    struct cache_fixture f;

    server.mzxid = 0;
    server.children = 2;
    server.behind = true;
    begin(&f);
    wait_until(is_initialised, &f);
    server.mzxid = 1;
    f.wanted = 1;
    zookeeper_fake_cut(&server);
    wait_until(is_resynced, &f);
    assert_int_equal(f.changed, 3);
    end(&f);
    server.behind = false;
}

/* ------------------------------------------------------------------ free -- */

static void free_in_callback(void *arg,
                             const struct hf_zookeeper_cache_event *event)
{
    struct cache_fixture *f = arg;

    (void)event;
    assert_false(f->returned);
    hf_zookeeper_cache_free(f->cache);
    assert_int_equal(f->dropped, 0);
    f->cache = NULL;
    f->returned = true;
}

static bool is_dropped(void *arg)
{
    return ((struct cache_fixture *)arg)->dropped > 0;
}

TEST(a_cache_is_freed_in_its_own_callback)
{
    struct cache_fixture f;

    server.mzxid = 0;
    server.children = 2;
    server.silent = true; /* until .cache is set */
    assert_int_equal(open_handle(&f), HF_OK);
    assert_int_equal(open_cache(&f, free_in_callback), HF_OK);
    server.silent = false;
    zookeeper_fake_cut(&server);
    wait_until(is_dropped, &f);
    assert_true(f.returned);
    end(&f);
    assert_int_equal(f.dropped, 1);
}

static void run_until_freed(void *arg,
                            const struct hf_zookeeper_cache_event *event)
{
    struct cache_fixture *f = arg;

    if (atomic_load(&f->returned))
        return; /* the free comes late: this is another event */
    assert_string_equal(event->path, "/t");
    atomic_store(&f->running, true);
    while (!atomic_load(&f->freeing))
        (void)sched_yield();
    for (int i = 0; i < 100; i++)
        (void)sched_yield(); /* the other thread waits by now, probably */
    /* What the event points to is still there. */
    assert_string_equal(event->path, "/t");
    assert_memory_equal(event->after->data, "data", 4);
    atomic_store(&f->returned, true);
}

static bool is_running(void *arg)
{
    return ((struct cache_fixture *)arg)->running;
}

static void *free_cache(void *arg)
{
    struct cache_fixture *f = arg;

    atomic_store(&f->freeing, true);
    hf_zookeeper_cache_free(f->cache);
    assert_true(atomic_load(&f->returned));
    assert_int_equal(f->dropped, 1);
    f->cache = NULL;
    return NULL;
}

TEST(a_free_waits_for_a_callback_on_another_thread)
{
    struct cache_fixture f;
    pthread_t thread;

    server.children = 2;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(open_handle(&f), HF_OK);
        assert_int_equal(open_cache(&f, run_until_freed), HF_OK);
        wait_until(is_running, &f);
        assert_int_equal(pthread_create(&thread, NULL, free_cache, &f), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        end(&f);
        assert_int_equal(f.dropped, 1);
    }
}

/* While reads and the AddWatch are under way, at any time. */
TEST(a_cache_is_freed_at_any_time)
{
    struct cache_fixture f;

    server.children = 2;
    for (int i = 0; i < 200; i++) {
        begin(&f);
        for (int j = 0; j < i; j++)
            (void)sched_yield();
        end(&f);
        assert_int_equal(f.dropped, 1);
    }
}

TEST_FILE(zookeeper_cache)
{
    int failed;

    heap_install();
    zookeeper_fake_start(&server);
    failed = RUN_TESTS(NULL, NULL);
    zookeeper_fake_stop(&server);
    return failed;
}
