/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of a cache: it sets watches, and reads the nodes that the tree
 * marks as to be read.
 *
 * The watch is set before the first read, so that no change is missed.  A
 * recursive watch reports a RESYNC on each new connection; every node is then
 * compared.  With servers that have no recursive watches, each read of a node
 * sets a one-shot watch.  Changes between the event of that watch and the next
 * read are seen by the read.
 *
 * On each new connection a sync is sent before the reads, because the new
 * server may be behind the previous one.  The answer to the sync comes after
 * the RESYNC, which marks the nodes to be compared.  So when the sync is
 * answered and no node is left to read, the cache is current.
 *
 * If a read got no answer, its node stays marked.  The read is begun again on
 * the next connection, or after a pause if the cause was a lack of memory or
 * the server.  A read that the server answers with a failure of its own is also
 * begun again, but only HF_CACHE_FAILURES_MAX times.
 */
#include "zookeeper_cache/cache.h"

#include <assert.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "zookeeper/zk_session.h"

/* The first pause after a failure, and the longest one: each is twice as long
 * as the one before. */
#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 10000

/* How often the AddWatch may end with HF_EUNSUPPORTED because connections
 * ended, before the servers count as not knowing it.  Each such end takes
 * several connections (CUTS_MAX in op_queue.c). */
#define CUT_WATCHES_MAX 4

static void go_on(struct hf_zookeeper_cache *cache);

/* -------------------------------------------------------------- failures -- */

/* Begin nothing for a while. */
static void pause_reads(struct hf_zookeeper_cache *cache)
{
    if (hf_zookeeper_timer_is_set(&cache->pause))
        return;
    cache->pause_ms = cache->pause_ms == 0 ? PAUSE_MIN_MS : 2 * cache->pause_ms;
    cache->pause_ms = hf_min_ms(cache->pause_ms, PAUSE_MAX_MS);
    hf_zookeeper_timer_set(cache->zookeeper, &cache->pause,
                           hf_after_ms(hf_now_ms(), cache->pause_ms));
}

/* The .fn of the timer. */
static void end_pause(void *arg)
{
    go_on(arg);
}

/* Did an operation end with ${status} and ${result} without an answer, so that
 * it has to be begun again? */
static bool is_unanswered(hf_status status,
                          const struct hf_zookeeper_result *result)
{
    switch (status) {
    case HF_EUNREACHABLE:
    case HF_ELOST:
    case HF_ECANCELLED:
    case HF_ECLOSED:
    case HF_ENOMEM:
        return true;
    case HF_EDENIED:
        return result->error == 0; /* not an answer: a credential was refused */
    default:
        return false;
    }
}

/* Does ${status} say that the server has failed, and nothing about the node?
 * HF_ELIMIT is not such a status: the answer is longer than the user allows,
 * and a repetition would not change that. */
static bool says_nothing(hf_status status)
{
    return status == HF_EPROTOCOL;
}

/* An operation got no answer: decide when to begin again.  If the cause is a
 * lack of memory, a limit or the server, after a pause, else on the next
 * connection. */
static void unanswered(struct hf_zookeeper_cache *cache, hf_status status,
                       const struct hf_zookeeper_result *result)
{
    bool answered_by_server = result != NULL && result->error != 0;

    if (status == HF_ENOMEM || status == HF_ELIMIT || answered_by_server)
        pause_reads(cache);
    else
        cache->connection = HF_CACHE_AWAITS_CONNECTION;
}

/* --------------------------------------------------- watches of one node -- */

/* The one-shot watches of a node, if the servers have no recursive watches. */
struct node_watches {
    struct hf_zookeeper_cache *cache;
    struct hf_cache_node *node;
    struct hf_zookeeper_watch *data;     /* NULL: it was never set */
    struct hf_zookeeper_watch *children; /* NULL: it was never set */
};

/* A one-shot watch has an event.  A RESYNC says that the session has ended, so
 * a read has to set the watch again. */
static void node_fired(void *arg, enum hf_zookeeper_event_kind kind,
                       const char *path, size_t bytes)
{
    struct node_watches *watches = arg;
    struct hf_cache_tree *tree = &watches->cache->tree;

    if (kind != HF_ZOOKEEPER_RESYNC)
        hf_cache_tree_event(tree, kind, path, bytes);
    else
        hf_cache_tree_want(
            tree, watches->node,
            HF_CACHE_STAT | HF_CACHE_COMPARE |
                (watches->children != NULL ? HF_CACHE_CHILDREN : 0));
    go_on(watches->cache);
}

/* The watch of ${node} that a read of ${kind} sets, made if necessary.  NULL:
 * no memory. */
static struct hf_zookeeper_watch *watch_of(struct hf_zookeeper_cache *cache,
                                           struct hf_cache_node *node,
                                           enum hf_zookeeper_op_kind kind,
                                           const char *path)
{
    bool children = kind == HF_ZOOKEEPER_CHILDREN;
    struct node_watches *watches = node->user;
    struct hf_zookeeper_watch **watch;

    if (watches == NULL) {
        if ((watches = hf_alloc(sizeof *watches)) == NULL)
            return NULL;
        watches->cache = cache;
        watches->node = node;
        node->user = watches;
    }
    watch = children ? &watches->children : &watches->data;
    if (*watch == NULL)
        *watch = hf_zookeeper_watch_new(
            cache->zookeeper, path,
            children ? HF_ZOOKEEPER_WATCH_CHILDREN : HF_ZOOKEEPER_WATCH_DATA,
            (struct hf_zookeeper_on_fired){node_fired, watches});
    return *watch;
}

/* The .release of the tree: delete the watches of ${node}. */
static void delete_watches(struct hf_cache_node *node)
{
    struct node_watches *watches = node->user;

    if (watches == NULL)
        return;
    hf_zookeeper_watch_delete(watches->data);
    hf_zookeeper_watch_delete(watches->children);
    hf_free(watches);
    node->user = NULL;
}

/* ----------------------------------------------------------------- reads -- */

/* The first node that cannot be read is logged, not each of them. */
static void log_unreadable(struct hf_zookeeper_cache *cache,
                           const struct hf_zookeeper_result *result)
{
    if (cache->tree.unreadable == 1)
        hf_log_write(&cache->zookeeper->monitor->log, HF_LOG_WARNING,
                     "the cache of %.200s cannot read a node: %.200s",
                     cache->tree.path, result->text);
}

/* A read has ended. */
static void read_ended(void *arg, hf_status status,
                       struct hf_zookeeper_result *result)
{
    struct hf_cache_read *read = arg;
    struct hf_zookeeper_cache *cache = read->cache;
    struct hf_cache_node *node = read->node;
    size_t unreadable = cache->tree.unreadable;

    read->node = NULL;
    read->next_free = cache->free_reads;
    cache->free_reads = read;
    if (is_unanswered(status, result)) {
        hf_cache_tree_unanswered(&cache->tree, node);
        unanswered(cache, status, result);
    } else if (says_nothing(status) &&
               hf_cache_tree_failed(&cache->tree, node)) {
        pause_reads(cache);
    } else {
        cache->pause_ms = 0;
        hf_cache_tree_answered(&cache->tree, node, result);
        if (cache->tree.unreadable > unreadable)
            log_unreadable(cache, result);
    }
    hf_zookeeper_result_free(result);
    go_on(cache);
}

/* Begin ${read}, a read of ${node} by ${kind}.  Returns why it was refused. */
static hf_status begin_read(struct hf_zookeeper_cache *cache,
                            struct hf_cache_read *read,
                            struct hf_cache_node *node,
                            enum hf_zookeeper_op_kind kind)
{
    struct hf_zookeeper_op op = {.kind = kind, .priority = HF_ZOOKEEPER_BULK};
    struct hf_error error;

    op.path = hf_cache_path_of(&cache->read_path, &cache->tree, node);
    if (op.path == NULL)
        return HF_ENOMEM;
    if (!cache->tree.recursive &&
        (op.watch = watch_of(cache, node, kind, op.path)) == NULL)
        return HF_ENOMEM;
    return hf_zookeeper_operation_begin(
        cache->zookeeper, &op, HF_FOREVER,
        (struct hf_zookeeper_on_end){read_ended, read}, &read->operation,
        &error);
}

/* Begin the next read.  False: there is none, or it cannot be begun now.  A
 * node whose path is too long for any read counts as unreadable, and reading
 * goes on. */
static bool read_next(struct hf_zookeeper_cache *cache)
{
    struct hf_zookeeper_result result = {.text = "it cannot be asked for"};
    struct hf_cache_read *read = cache->free_reads;
    enum hf_zookeeper_op_kind kind;
    struct hf_cache_node *node = hf_cache_tree_begin(&cache->tree, &kind);

    if (node == NULL)
        return false;
    cache->free_reads = read->next_free;
    read->node = node;
    result.status = begin_read(cache, read, node, kind);
    if (result.status == HF_OK)
        return true;
    read->node = NULL;
    read->next_free = cache->free_reads;
    cache->free_reads = read;
    if (result.status == HF_EINVAL) {
        hf_cache_tree_answered(&cache->tree, node, &result);
        return true;
    }
    hf_cache_tree_unanswered(&cache->tree, node);
    unanswered(cache, result.status, NULL);
    return false;
}

/* May something be begun now? */
static bool may_begin(const struct hf_zookeeper_cache *cache)
{
    return cache->state != HF_CACHE_STOPPED &&
           cache->connection != HF_CACHE_AWAITS_CONNECTION &&
           !hf_zookeeper_timer_is_set(&cache->pause);
}

/* Begin reads while there are some to begin.  A read may end while it is being
 * begun, and calls this again: .reading makes that call do nothing. */
static void read_all(struct hf_zookeeper_cache *cache)
{
    if (cache->reading)
        return;
    cache->reading = true;
    while (hf_cache_follows(cache) && may_begin(cache) &&
           cache->free_reads != NULL) {
        if (cache->tree.starved) {
            cache->tree.starved = false;
            pause_reads(cache);
        } else if (!read_next(cache)) {
            break;
        }
    }
    cache->reading = false;
}

/* ------------------------------------------------------------- the watch -- */

/* The watch of the whole cache has an event. */
static void fired(void *arg, enum hf_zookeeper_event_kind kind,
                  const char *path, size_t bytes)
{
    struct hf_zookeeper_cache *cache = arg;

    if (kind == HF_ZOOKEEPER_RESYNC)
        hf_cache_tree_compare_all(&cache->tree);
    else
        hf_cache_tree_event(&cache->tree, kind, path, bytes);
    go_on(cache);
}

/* To be called when no change can be missed any more: begin to read, with the
 * root.  Without a ${recursive} watch each node gets its own watches. */
static void follow(struct hf_zookeeper_cache *cache, bool recursive)
{
    hf_cache_move(cache, HF_CACHE_FILLING);
    cache->tree.recursive = recursive;
    hf_cache_tree_want(&cache->tree, cache->tree.root, HF_CACHE_DATA);
    if (recursive)
        return;
    hf_zookeeper_watch_delete(cache->watch);
    cache->watch = NULL;
}

/* Did the AddWatch fail only because connections ended while it was in flight?
 * A server that does not know AddWatch also ends the connection, but answers
 * first, and that answer was noted in .support of the queue. */
static bool is_cut(const struct hf_zookeeper_cache *cache, hf_status status,
                   const struct hf_zookeeper_result *result)
{
    const struct hf_zk_op_queue *queue = &cache->zookeeper->queue;

    return status == HF_EUNSUPPORTED && result->error == 0 &&
           !hf_zk_op_support_lacks(&queue->support, queue->session->server,
                                   HF_ZK_ADD_WATCH);
}

/* The AddWatch has ended.  If the server refuses it, it does not know it, and
 * the cache uses watches of each node from then on.  This is final, so
 * connections that a bad network ends must not be mistaken for a refusal. */
static void watch_ended(void *arg, hf_status status,
                        struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_cache *cache = arg;

    cache->watch_op = NULL;
    if (is_unanswered(status, result))
        unanswered(cache, status, result);
    else if (is_cut(cache, status, result) &&
             ++cache->cut_watches < CUT_WATCHES_MAX)
        pause_reads(cache);
    else
        follow(cache, status == HF_OK);
    hf_zookeeper_result_free(result);
    go_on(cache);
}

/* Have the watch set. */
static void begin_watch(struct hf_zookeeper_cache *cache)
{
    const struct hf_zookeeper_on_fired on_fired = {fired, cache};
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_WATCH};
    hf_status status = HF_ENOMEM;
    struct hf_error error;

    if (cache->watch == NULL)
        cache->watch = hf_zookeeper_watch_new(
            cache->zookeeper, cache->tree.path,
            cache->tree.depth == 0 ? HF_ZOOKEEPER_WATCH_PERSISTENT
                                   : HF_ZOOKEEPER_WATCH_RECURSIVE,
            on_fired);
    op.watch = cache->watch;
    if (op.watch != NULL)
        status = hf_zookeeper_operation_begin(
            cache->zookeeper, &op, HF_FOREVER,
            (struct hf_zookeeper_on_end){watch_ended, cache}, &cache->watch_op,
            &error);
    if (status != HF_OK)
        unanswered(cache, status, NULL);
}

/* -------------------------------------------------------------- the sync -- */

/* The sync has ended.  If a server without a quorum refuses the sync, or the
 * server has failed it too often, the cache goes on without it. */
static void sync_ended(void *arg, hf_status status,
                       struct hf_zookeeper_result *result)
{
    struct hf_zookeeper_cache *cache = arg;

    cache->sync = NULL;
    if (is_unanswered(status, result)) {
        cache->sync_due = true;
        unanswered(cache, status, result);
    } else if (says_nothing(status) &&
               cache->sync_failures < HF_CACHE_FAILURES_MAX) {
        cache->sync_failures++;
        cache->sync_due = true;
        pause_reads(cache);
    } else {
        cache->sync_failures = 0;
    }
    hf_zookeeper_result_free(result);
    go_on(cache);
}

static void begin_sync(struct hf_zookeeper_cache *cache)
{
    const struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_SYNC,
                                       .path = cache->tree.path};
    struct hf_error error;
    hf_status status;

    cache->sync_due = false;
    status = hf_zookeeper_operation_begin(
        cache->zookeeper, &op, HF_FOREVER,
        (struct hf_zookeeper_on_end){sync_ended, cache}, &cache->sync, &error);
    if (status == HF_OK)
        return;
    cache->sync_due = true;
    unanswered(cache, status, NULL);
}

/* ----------------------------------------------------------------- go on -- */

/* Something has happened: begin what can be begun. */
static void go_on(struct hf_zookeeper_cache *cache)
{
    if (cache->state == HF_CACHE_STOPPED)
        return;
    if (may_begin(cache) && cache->state == HF_CACHE_UNWATCHED &&
        cache->watch_op == NULL)
        begin_watch(cache);
    if (may_begin(cache) && cache->sync_due && cache->sync == NULL)
        begin_sync(cache);
    read_all(cache);
    if (!cache->reading && hf_cache_is_current(cache))
        hf_cache_be_current(cache);
    hf_cache_report(cache);
    hf_cache_check(cache);
}

/* -------------------------------------------------- the session's events -- */

/* One-shot watches are set again and report what happened meanwhile.  But nodes
 * that could not be read have no watch, so without a recursive watch every node
 * is compared. */
static void up(void *user, bool resumed)
{
    struct hf_zookeeper_cache *cache = user;

    (void)resumed;
    cache->connection = HF_CACHE_CONNECTED;
    cache->sync_due = hf_cache_follows(cache);
    if (hf_cache_follows(cache) && !cache->tree.recursive)
        hf_cache_tree_compare_all(&cache->tree);
    go_on(cache);
}

static void suspended(void *user)
{
    struct hf_zookeeper_cache *cache = user;

    if (cache->connection == HF_CACHE_CONNECTED)
        cache->connection = HF_CACHE_NOT_CONNECTED;
    if (cache->state == HF_CACHE_CURRENT)
        hf_cache_move(cache, HF_CACHE_CATCHING_UP);
}

/* The waits end; the reader itself goes on with the next connection. */
static void gave_up(void *user, uint32_t retries, uint64_t elapsed_ms)
{
    struct hf_zookeeper_cache *cache = user;

    (void)retries;
    (void)elapsed_ms;
    hf_zookeeper_waits_gave_up(cache->zookeeper, &cache->waits);
}

/* Begin nothing any more. */
static void stop(struct hf_zookeeper_cache *cache)
{
    hf_cache_move(cache, HF_CACHE_STOPPED);
    hf_zk_listeners_remove(&cache->zookeeper->parts, &cache->listener);
}

static void closed(void *user)
{
    static const struct hf_error why = {.status = HF_ECLOSED,
                                        .text = "the handle was closed"};
    struct hf_zookeeper_cache *cache = user;

    stop(cache);
    hf_zookeeper_waits_end(&cache->waits, &why);
}

/* ------------------------------------------------------- start and stop -- */

void hf_cache_reader_start(struct hf_zookeeper_cache *cache)
{
    struct hf_zk_session *session = cache->zookeeper->session;

    for (size_t i = 0; i < HF_CACHE_READS_MAX; i++) {
        cache->reads[i].cache = cache;
        cache->reads[i].next_free = cache->free_reads;
        cache->free_reads = &cache->reads[i];
    }
    cache->tree.release = delete_watches;
    cache->pause.fn = end_pause;
    cache->pause.arg = cache;
    cache->listener = (struct hf_zk_listener){.user = cache,
                                              .up = up,
                                              .suspended = suspended,
                                              .gave_up = gave_up,
                                              .closed = closed};
    hf_zk_listeners_add(&cache->zookeeper->parts, &cache->listener);
    if (hf_zk_session_usable(session))
        cache->connection = HF_CACHE_CONNECTED;
    go_on(cache);
}

/* Cancel ${operation}, which may be NULL. */
static void cancel(struct hf_zookeeper_operation *operation)
{
    if (operation != NULL)
        hf_zookeeper_operation_cancel(operation);
}

void hf_cache_reader_stop(struct hf_zookeeper_cache *cache)
{
    struct hf_cache_node *node;

    if (cache->state != HF_CACHE_STOPPED)
        stop(cache);
    hf_zookeeper_timer_stop(&cache->pause);
    cancel(cache->watch_op);
    cancel(cache->sync);
    for (size_t i = 0; i < HF_CACHE_READS_MAX; i++) {
        if (cache->reads[i].node != NULL)
            hf_zookeeper_operation_cancel(cache->reads[i].operation);
    }
    hf_zookeeper_watch_delete(cache->watch);
    cache->watch = NULL;
    node = hf_cache_tree_first_leaf(cache->tree.root);
    for (; node != NULL; node = hf_cache_tree_after(cache->tree.root, node))
        delete_watches(node);
}
