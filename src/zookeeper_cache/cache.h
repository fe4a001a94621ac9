/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of a user: the tree of nodes, the reader that keeps it up to date,
 * and the report of changes to the user.  The monitor of the handle guards all
 * of it.
 *
 * The tree (cache_tree.h) says which nodes are to be read.  The reader begins
 * reads while there are such nodes, up to a fixed number at a time.  An event
 * of a watch marks the node that has changed as to be read.  There is one
 * recursive watch; with servers that have no recursive watches, each node has
 * watches of its own.  The report queues one callback, which takes changes from
 * the tree, so that nothing is allocated for an event.
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

/* At most this many reads of one cache are under way. */
#define HF_CACHE_READS_MAX 128

enum hf_cache_state {
    HF_CACHE_UNWATCHED,
    HF_CACHE_FILLING,
    HF_CACHE_CURRENT,
    HF_CACHE_CATCHING_UP,
    HF_CACHE_STOPPED
};

/* Whether the session is connected, as far as the reader is concerned. */
enum hf_cache_connection {
    HF_CACHE_NOT_CONNECTED, /* operations that are begun wait for a
                               connection */
    HF_CACHE_CONNECTED,
    /* An operation has ended without an answer: nothing is begun before the
     * next connection. */
    HF_CACHE_AWAITS_CONNECTION
};

/* A read under way, or a free one, which is in .free_reads of the cache. */
struct hf_cache_read {
    struct hf_zookeeper_cache *cache;
    struct hf_cache_node *node;               /* NULL: it is free */
    struct hf_zookeeper_operation *operation; /* while .node is set */
    struct hf_cache_read *next_free;
};

/* Memory for a path, which is written when it is needed. */
struct hf_cache_path {
    char *text;
    size_t room;
};

/* All fields are used with the monitor's lock. */
struct hf_zookeeper_cache {
    struct hf_zookeeper *zookeeper;
    struct hf_cache_tree tree;

    /* The reader. */
    unsigned state; /* enum hf_cache_state, by hf_cache_move() */
    enum hf_cache_connection connection;
    struct hf_zk_listener listener;   /* added to .parts of the handle, until
                                         STOPPED */
    struct hf_zookeeper_watch *watch; /* the recursive watch; NULL: none yet, or
                                         each node has its own watches */
    struct hf_zookeeper_operation *watch_op; /* the operation that sets .watch;
                                                NULL: none is under way */
    unsigned cut_watches; /* how often the AddWatch got no answer, see is_cut()
                             in cache_reader.c */
    struct hf_zookeeper_operation *sync; /* the sync after a new connection,
                                            while it is under way, or NULL */
    bool sync_due;
    unsigned sync_failures; /* how often the server failed the sync, since
                               another answer to it */
    struct hf_cache_read reads[HF_CACHE_READS_MAX];
    struct hf_cache_read *free_reads;
    bool reading;                    /* the reader is in its loop that begins
                                        reads */
    struct hf_zookeeper_timer pause; /* while it is set, nothing is begun */
    uint64_t pause_ms;               /* the last pause; 0: an answer came
                                        since */
    bool initialised;                /* the cache has been CURRENT at least
                                        once */
    struct hf_cache_path read_path;

    /* Calls that wait until everything is read. */
    struct hf_zookeeper_wait *waits;

    /* The report. */
    struct hf_zookeeper_on_change on_change;
    struct hf_callback callback;
    struct hf_zookeeper_timer report_timer; /* to report again after a lack of
                                               memory */
    struct hf_cache_path report_path;
    bool initialised_reported;
    struct hf_user_callback user; /* guards the calls of .on_change.fn */
    unsigned references; /* one for the user, and one for .callback while it is
                            queued */
    struct hf_deferred_free deferred;
};

/* Write the path of ${node} to ${path}, and return its text.  NULL: no
 * memory. */
const char *hf_cache_path_of(struct hf_cache_path *path,
                             const struct hf_cache_tree *tree,
                             const struct hf_cache_node *node);

/* -------------------------------------------------- state, with the lock -- */

/* Change the state, as the table in cache_state.c allows. */
void hf_cache_move(struct hf_zookeeper_cache *cache, enum hf_cache_state state);

/* Are the watches in use, .watch or those of the nodes, so that every change is
 * noticed?  True in FILLING, CURRENT and CATCHING_UP. */
bool hf_cache_follows(const struct hf_zookeeper_cache *cache);

/* Is everything read?  That is so if there is a connection, the watch is set,
 * the sync was answered, and no node is to be read or being read. */
bool hf_cache_is_current(const struct hf_zookeeper_cache *cache);

/* To be called when hf_cache_is_current(): change the state to CURRENT and end
 * the waits.  If the state was another, the user will be notified, too. */
void hf_cache_be_current(struct hf_zookeeper_cache *cache);

/* Assert the invariants of ${cache}. */
void hf_cache_check(const struct hf_zookeeper_cache *cache);

/* ---------------------------------------------------------------- reader -- */

/* hf_cache_reader_start() begins to watch and read.  hf_cache_reader_stop()
 * ends that.  Called with the lock. */
void hf_cache_reader_start(struct hf_zookeeper_cache *cache);
void hf_cache_reader_stop(struct hf_zookeeper_cache *cache);

/* ---------------------------------------------------------------- report -- */

/* Initialise the report of ${cache}. */
void hf_cache_report_init(struct hf_zookeeper_cache *cache,
                          struct hf_zookeeper_on_change on_change);

/* Queue the callback if there are changes to report.  Called with the lock. */
void hf_cache_report(struct hf_zookeeper_cache *cache);

/* Drop the user's reference of ${cache}, whose reader has been stopped, and
 * release the lock, as hf_monitor_leave() does.  ${cache} is freed when no
 * callback of it is queued or runs. */
void hf_cache_drop_and_leave(struct hf_zookeeper_cache *cache);

/* -------------------------------------------- queries: zookeeper_cache.c -- */

/* Set ${list} to a list of ${top}, whose content must be known, and of the
 * known nodes up to ${depth} levels below it.  HF_ENOMEM for lack of memory. */
hf_status hf_cache_query_list(const struct hf_cache_tree *tree,
                              struct hf_cache_node *top, uint64_t depth,
                              struct hf_zookeeper_cache_list **list);

#endif
