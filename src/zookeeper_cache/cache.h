/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of a user: the tree, and what keeps it as the servers have it.  The
 * monitor of the handle guards all of it.
 *
 * The tree (cache_tree.h) says what is to be read.  The reader has a fixed
 * number of reads, which it begins while something is to be read.  Its watch,
 * or the watches of the nodes where servers have no recursive ones, mark what
 * has changed.  The report queues one callback, which takes changes from the
 * tree, so that nothing is allocated for an event.
 *
 *   UNWATCHED    nothing is read yet: the watch is being set, or is to be
 *   FILLING      the watch is set, or each node has its own: everything is read
 *                for the first time
 *   CURRENT      everything was read once on this connection
 *   CATCHING_UP  the connection was lost since
 *   STOPPED      it was freed, or the handle was closed
 */
#ifndef HF_ZOOKEEPER_CACHE_CACHE_H
#define HF_ZOOKEEPER_CACHE_CACHE_H

#include "operation/user_callback.h"
#include "zookeeper_cache/cache_tree.h"
#include "zookeeper_client/zookeeper_wait.h"
#include "zookeeper_client/zookeeper_watch.h"

/* Reads of one cache that are under way at most. */
#define HF_CACHE_READS_MAX 128

enum hf_cache_state {
    HF_CACHE_UNWATCHED,
    HF_CACHE_FILLING,
    HF_CACHE_CURRENT,
    HF_CACHE_CATCHING_UP,
    HF_CACHE_STOPPED
};

/* What the reader knows of the connection of the session. */
enum hf_cache_connection {
    HF_CACHE_NOT_CONNECTED, /* what is begun waits for one */
    HF_CACHE_CONNECTED,
    /* Something has ended without an answer: nothing is begun before the next
     * connection. */
    HF_CACHE_AWAITS_CONNECTION
};

/* A read under way, or in the list of those that are free. */
struct hf_cache_read {
    struct hf_zookeeper_cache *cache;
    struct hf_cache_node *node;               /* NULL: it is free */
    struct hf_zookeeper_operation *operation; /* while .node is set */
    struct hf_cache_read *next_free;
};

/* A path that is made when it is needed. */
struct hf_cache_path {
    char *text;
    size_t room;
};

/* All fields under the monitor's lock. */
struct hf_zookeeper_cache {
    struct hf_zookeeper *zookeeper;
    struct hf_cache_tree tree;

    /* The reader. */
    unsigned state; /* enum hf_cache_state, by hf_cache_move() */
    enum hf_cache_connection connection;
    struct hf_zk_listener listener;   /* of the handle, until STOPPED */
    struct hf_zookeeper_watch *watch; /* NULL: none, or each node has its own */
    struct hf_zookeeper_operation *watch_op; /* that sets .watch; NULL: none */
    unsigned cut_watches; /* cuts of the AddWatch, see cache_reader.c */
    struct hf_zookeeper_operation *sync; /* after a new connection, or NULL */
    bool sync_due;
    unsigned sync_failures; /* of the server, since the last other answer */
    struct hf_cache_read reads[HF_CACHE_READS_MAX];
    struct hf_cache_read *free_reads;
    bool reading;                    /* the reader begins reads just now */
    struct hf_zookeeper_timer pause; /* while set nothing is begun */
    uint64_t pause_ms;               /* the last one; 0: an answer came since */
    bool initialised;                /* the cache was CURRENT once */
    struct hf_cache_path read_path;

    /* Calls that wait until everything is read. */
    struct hf_zookeeper_wait *waits;

    /* The report. */
    struct hf_zookeeper_on_change on_change;
    struct hf_callback callback;
    struct hf_zookeeper_timer report_timer; /* after a lack of memory */
    struct hf_cache_path report_path;
    bool initialised_reported;
    struct hf_user_callback user; /* around .on_change.fn */
    unsigned references; /* the user's, and one of .callback while queued */
    struct hf_deferred_free deferred;
};

/* Set ${path} to that of ${node}.  NULL: no memory. */
const char *hf_cache_path_of(struct hf_cache_path *path,
                             const struct hf_cache_tree *tree,
                             const struct hf_cache_node *node);

/* -------------------------------------------------- state, with the lock -- */

/* Change the state, as the table in cache_state.c allows. */
void hf_cache_move(struct hf_zookeeper_cache *cache, enum hf_cache_state state);

/* Is every change noticed, by .watch or by the watches of the nodes? */
bool hf_cache_follows(const struct hf_zookeeper_cache *cache);

/* Is there a connection, with the watch set and the sync answered, and has
 * everything been read of which it is known that it has changed? */
bool hf_cache_is_current(const struct hf_zookeeper_cache *cache);

/* Everything has been read: end the waits for that.  The first time on a
 * connection the tree is marked as well, so that the user is notified. */
void hf_cache_be_current(struct hf_zookeeper_cache *cache);

/* Assert the invariants of ${cache}. */
void hf_cache_check(const struct hf_zookeeper_cache *cache);

/* ---------------------------------------------------------------- reader -- */

/* Begin to follow what the servers have, and end that.  With the lock. */
void hf_cache_reader_start(struct hf_zookeeper_cache *cache);
void hf_cache_reader_stop(struct hf_zookeeper_cache *cache);

/* ---------------------------------------------------------------- report -- */

/* Initialise the report of ${cache}. */
void hf_cache_report_init(struct hf_zookeeper_cache *cache,
                          struct hf_zookeeper_on_change on_change);

/* Have the changes that wait be reported.  With the lock. */
void hf_cache_report(struct hf_zookeeper_cache *cache);

/* Drop the user's reference of ${cache}, whose reader has been stopped, and
 * release the lock, as hf_monitor_leave() does.  ${cache} is freed when no
 * callback of it is queued or runs. */
void hf_cache_drop_and_leave(struct hf_zookeeper_cache *cache);

/* -------------------------------------------- queries: zookeeper_cache.c -- */

/* Set ${list} to ${top}, which is known, and what is known up to ${depth}
 * levels below it.  HF_ENOMEM. */
hf_status hf_cache_query_list(const struct hf_cache_tree *tree,
                              struct hf_cache_node *top, uint64_t depth,
                              struct hf_zookeeper_cache_list **list);

#endif
