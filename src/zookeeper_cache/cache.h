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
 */
#ifndef HF_ZOOKEEPER_CACHE_CACHE_H
#define HF_ZOOKEEPER_CACHE_CACHE_H

#include "zookeeper_cache/cache_tree.h"
#include "zookeeper_client/zookeeper_watch.h"

/* Reads of one cache that are under way at most. */
#define HF_CACHE_READS_MAX 128

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
    struct hf_zk_listener listener; /* of the handle, while .listening */
    bool listening;
    struct hf_zookeeper_watch *watch; /* NULL: none, or each node has its own */
    struct hf_zookeeper_operation *watch_op; /* that sets it; NULL: none */
    unsigned cut_watches; /* how often it was given up, see cache_reader.c */
    bool follows;         /* the watch is set, or each node has its own */
    struct hf_zookeeper_operation *sync; /* after a new connection, or NULL */
    bool sync_due;
    struct hf_cache_read reads[HF_CACHE_READS_MAX];
    struct hf_cache_read *free_reads;
    bool reading;           /* the reader begins reads just now */
    bool connected;         /* the session is */
    bool awaits_connection; /* nothing is begun before the next connection */
    bool paused;            /* nothing is begun before .timer */
    struct hf_zookeeper_timer timer;
    uint64_t pause_ms; /* the last pause; 0: an answer came since */
    bool stopped;      /* it was freed, or the handle was closed */
    bool initialised;  /* everything was read once */
    bool synchronised; /* the same, on this connection */
    struct hf_cache_path read_path;

    /* Calls that wait until everything is read. */
    struct hf_cache_wait *waits;

    /* The report. */
    struct hf_zookeeper_on_change on_change;
    struct hf_callback callback;
    struct hf_zookeeper_timer report_timer; /* after a lack of memory */
    struct hf_cache_path report_path;
    bool initialised_reported;
    bool freed;                    /* by the user, perhaps while .notifying */
    bool notifying;                /* .on_change.fn runs */
    struct hf_waiter *free_waiter; /* the free that waits for its return */
    unsigned references; /* the user's, and one of .callback while queued */
    struct hf_deferred_free deferred;
};

/* Set ${path} to that of ${node}.  NULL: no memory. */
const char *hf_cache_path_of(struct hf_cache_path *path,
                             const struct hf_cache_tree *tree,
                             const struct hf_cache_node *node);

/* ---------------------------------------------------------------- reader -- */

/* Begin to follow what the servers have; end that.  With the lock. */
void hf_cache_reader_start(struct hf_zookeeper_cache *cache);
void hf_cache_reader_stop(struct hf_zookeeper_cache *cache);

/* ---------------------------------------------------------------- report -- */

/* Initialise the report of ${cache}. */
void hf_cache_report_init(struct hf_zookeeper_cache *cache,
                          struct hf_zookeeper_on_change on_change);

/* Have the changes that wait be reported.  With the lock. */
void hf_cache_report(struct hf_zookeeper_cache *cache);

/* Drop the user's reference of ${cache}, which is freed; its reader has been
 * stopped.  With the lock, as hf_monitor_leave(), which it calls. */
void hf_cache_report_free_and_leave(struct hf_zookeeper_cache *cache);

/* Free a cache that no other thread knows and that has no reader.  Without the
 * lock. */
void hf_cache_destroy(struct hf_zookeeper_cache *cache);

/* --------------------------------------------- queries: zookeeper_cache.c --
 */

/* Set ${list} to ${top}, which is known, and what is known up to ${depth}
 * levels below it.  HF_ENOMEM. */
hf_status hf_cache_query_list(const struct hf_cache_tree *tree,
                              struct hf_cache_node *top, uint64_t depth,
                              struct hf_zookeeper_cache_list **list);

/* ----------------------------------------------------------------- waits -- */

/* Has everything been read of which it is known that it has changed? */
bool hf_cache_is_current(const struct hf_zookeeper_cache *cache);

/* End all calls that wait, with ${status} and ${text}.  With the lock. */
void hf_cache_waits_end(struct hf_zookeeper_cache *cache, hf_status status,
                        const char *text);

#endif
