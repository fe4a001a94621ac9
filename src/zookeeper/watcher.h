/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watcher: somebody's interest in the changes of a path, and whether the
 * server reports them.
 *
 * The state says what the server has for the watcher on this connection.  The
 * owner reports the answers to the requests that set the watch; everything else
 * is done by the set that the watcher is in (watch_set.h).
 */
#ifndef HF_ZOOKEEPER_WATCHER_H
#define HF_ZOOKEEPER_WATCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/tree.h"
#include "zookeeper/protocol.h"

enum hf_zk_watch_mode {
    /* One-shot, set by getData or exists: the node is created or deleted, or
     * its data change. */
    HF_ZK_WATCH_DATA,
    /* One-shot, set by getChildren: the children change or the node is
     * deleted. */
    HF_ZK_WATCH_CHILDREN,
    /* Set by AddWatch: reports all that the two above report, until it is
     * removed. */
    HF_ZK_WATCH_PERSISTENT,
    /* Set by AddWatch: reports, until it is removed, that the node or any node
     * below it is created or deleted, or that its data change. */
    HF_ZK_WATCH_RECURSIVE,
    HF_ZK_WATCH_MODES,
};

/* What a server keeps at a path on this connection because of AddWatch.
 * Servers before 3.9 keep one mode for each path and connection: a read that
 * sets a one-shot watch replaces a persistent watch, and AddWatch replaces a
 * one-shot watch.  Servers from 3.9 on keep both modes; then the last AddWatch
 * counts here. */
enum hf_zk_server_mode {
    HF_ZK_SERVER_ONE_SHOT, /* no AddWatch */
    HF_ZK_SERVER_PERSISTENT,
    HF_ZK_SERVER_RECURSIVE, /* a server before 3.9 does not report that the
                               children of the path have changed */
};

/* Legal moves are in the table in watcher.c. */
enum hf_zk_watcher_state {
    HF_ZK_WATCHER_OUT,   /* in no set */
    HF_ZK_WATCHER_UNSET, /* in a set, and notified of no event */
    HF_ZK_WATCHER_ARMED, /* the server has the watch and will report the next
                            change */
    HF_ZK_WATCHER_ARMED_MISSING, /* the same, but the watch was set by an exists
                                    that found no node */
    HF_ZK_WATCHER_LOST, /* the session of its AddWatch has ended, and the next
                           session needs another AddWatch */
};

/* What the server may still have because of removed one-shot watchers at the
 * same path.  It was not removed at the server, because this watcher needed it.
 * When this watcher is removed, the server is asked to remove it. */
enum hf_zk_leftover {
    HF_ZK_LEFTOVER_NONE,
    HF_ZK_LEFTOVER_WATCH, /* a watch, until its event */
    HF_ZK_LEFTOVER_READ,  /* a read is in flight, which may set the watch again
                             after an event */
};

/* The outcome of a read that was to set a one-shot watch. */
enum hf_zk_read_answer {
    HF_ZK_READ_SET_NOTHING, /* it failed, or there is no node */
    HF_ZK_READ_FOUND_NODE,
    HF_ZK_READ_FOUND_NONE, /* an exists found no node, and the watch is set */
};

/* What a watcher is notified of; valid during the callback. */
struct hf_zk_watch_event {
    enum hf_zk_event_type type;
    const char *path; /* of the node; not NUL-terminated.  A recursive watcher
                         is notified of nodes below its own path too */
    size_t bytes;     /* length of .path */
};

/* Embedded in the struct of its owner.  Zero it, set the first four fields,
 * then add it to a set. */
struct hf_zk_watcher {
    void *user;
    /* The watched thing has changed or is gone, or HF_ZK_RESYNC: what happened
     * to it is not known.  The callback may make calls, add and remove
     * watchers, and free this one after removing it.  A watcher added during
     * an event is not notified of that event. */
    void (*fired)(struct hf_zk_watcher *watcher,
                  const struct hf_zk_watch_event *event);
    const char *path; /* must stay valid while the watcher is in the set */
    enum hf_zk_watch_mode mode;
    /* If true, nobody waits for the event, so a new connection does not set the
     * watch again.  Written by the owner. */
    bool not_set_again;

    /* Written by the files of the set only. */
    unsigned state;  /* enum hf_zk_watcher_state */
    bool event_due;  /* the current event was not reported to it yet */
    bool resync_due; /* HF_ZK_RESYNC was not reported to it yet */
    unsigned reads;  /* reads in flight that set its watch; 0 unless it is
                        one-shot */
    enum hf_zk_leftover leftover; /* NONE unless it is one-shot */
    /* These two are the same for all watchers at the path.  .server_mode is
     * what the server keeps after the last request that was sent, so it decides
     * what the next request must be.  .answered_mode is the mode of the last
     * AddWatch that was answered, so it decides which events arrive now: a
     * server answers requests and sends events in the order in which it carries
     * them out. */
    enum hf_zk_server_mode server_mode;
    enum hf_zk_server_mode answered_mode;
    size_t bytes;                /* length of .path */
    struct hf_tree_node by_path; /* used by the first watcher at its path */
    /* The next watcher with the same mode and path. */
    struct hf_zk_watcher *next_at_path;
    struct hf_zk_watcher *next; /* in the list of all watchers, newest first */
    struct hf_zk_watcher **link;
};

/* True for the two modes whose watch ends with its first event. */
bool hf_zk_watch_mode_is_one_shot(enum hf_zk_watch_mode mode);

bool hf_zk_watcher_in_set(const struct hf_zk_watcher *watcher);

/* Will the server report the next change? */
bool hf_zk_watcher_is_armed(const struct hf_zk_watcher *watcher);

/* To be called when the read for which hf_zk_watch_set_begin_read() was called
 * is answered, with its outcome ${answer}.  A watcher that was removed since
 * stays removed. */
void hf_zk_watcher_read_answered(struct hf_zk_watcher *watcher,
                                 enum hf_zk_read_answer answer);

/* To be called when the AddWatch for ${watcher} was answered without an error:
 * the watcher is armed now.  If it was lost, it is notified of HF_ZK_RESYNC;
 * that callback may free it. */
void hf_zk_watcher_add_answered(struct hf_zk_watcher *watcher);

/* Notify ${watcher} of HF_ZK_RESYNC; the callback may free it. */
void hf_zk_watcher_resync(struct hf_zk_watcher *watcher);

/* ------------------------------------------------- for the set's own files */

/* Change the state of ${watcher}; the table in watcher.c says which changes are
 * legal. */
void hf_zk_watcher_move(struct hf_zk_watcher *watcher,
                        enum hf_zk_watcher_state state);

/* Note that the server has no watch for ${watcher} any more. */
void hf_zk_watcher_disarm(struct hf_zk_watcher *watcher);

/* The connection has ended: forget what the server had for ${watcher}, and the
 * requests in flight for it. */
void hf_zk_watcher_forget_server(struct hf_zk_watcher *watcher);

/* Abort unless the fields of ${watcher} fit together.  Tests call it. */
void hf_zk_watcher_check(const struct hf_zk_watcher *watcher);

#endif
