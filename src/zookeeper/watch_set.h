/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a session.  A server keeps one watch of each mode for a path
 * and connection, no matter how many requests set it, and fires it once.  So
 * this set has the watchers by mode and path.  Each watcher at a path is
 * notified of an event, and a new connection that resumes the session sets
 * each path again once.
 *
 * The watcher's owner sets the watch itself, with a request that reads the
 * node.  When that request was answered, the owner sets .armed; the next event
 * clears it.
 */
#ifndef HF_ZOOKEEPER_WATCH_SET_H
#define HF_ZOOKEEPER_WATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tree.h"
#include "zookeeper/jute.h"
#include "zookeeper/protocol.h"

enum hf_zk_watch_mode {
    HF_ZK_WATCH_DATA,     /* set by getData: the node's data change or the node
                             is deleted */
    HF_ZK_WATCH_CHILDREN, /* set by getChildren: the children change or the
                             node is deleted */
    HF_ZK_WATCH_MODES,
};

/* One interest in a path, embedded in the struct of its owner.  Zero it, set
 * the first four fields, then add it. */
struct hf_zk_watcher {
    void *user;
    /* The watched thing has changed or is gone.  The callback may make calls,
     * and add and remove watchers.  A watcher added during an event is not
     * notified of that event. */
    void (*fired)(struct hf_zk_watcher *watcher, enum hf_zk_event_type type);
    const char *path; /* must stay valid while the watcher is in the set */
    enum hf_zk_watch_mode mode;

    bool armed; /* the server has the watch and will report the next change;
                   the owner sets it */
    bool idle;  /* no request waits for it, so a new connection need not set
                   it; the owner sets it */
    bool in_set;
    /* Written by the set only. */
    bool to_notify; /* the current event has not been reported to it yet */
    size_t bytes;   /* length of .path */
    struct hf_tree_node by_path; /* used by the first watcher at its path */
    /* The next watcher with the same mode and path. */
    struct hf_zk_watcher *next_at_path;
    struct hf_zk_watcher *next; /* in the list of all watchers, newest first */
    struct hf_zk_watcher **link;
};

/* All watchers of a session. */
struct hf_zk_watch_set {
    struct hf_tree paths;
    struct hf_zk_watcher *first;
};

/* Initialise an empty set. */
void hf_zk_watch_set_init(struct hf_zk_watch_set *set);

/* Add ${watcher}, which must be in no set. */
void hf_zk_watch_set_add(struct hf_zk_watch_set *set,
                         struct hf_zk_watcher *watcher);

/* Remove ${watcher}.  Does nothing if it is not in the set. */
void hf_zk_watch_set_remove(struct hf_zk_watch_set *set,
                            struct hf_zk_watcher *watcher);

/* The first watcher of ${mode} at the ${bytes} of ${path}, or NULL.  The
 * others follow by .next_at_path. */
struct hf_zk_watcher *hf_zk_watch_set_find(const struct hf_zk_watch_set *set,
                                           enum hf_zk_watch_mode mode,
                                           const char *path, size_t bytes);

/* The server has reported an event of ${path}: clear .armed of its watchers
 * and call their .fired. */
void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes);

/* A new connection resumes the session, which has seen all events up to the
 * transaction ${zxid}.  Write to ${out} the SetWatches packets for all armed
 * watchers.  Idle watchers are not set again, and are not armed afterwards. */
void hf_zk_watch_set_resume(const struct hf_zk_watch_set *set,
                            struct hf_jute_writer *out, int64_t zxid);

#endif
