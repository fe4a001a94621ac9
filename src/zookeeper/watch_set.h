/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a session.  A server keeps one of each mode per path and
 * connection, whoever asked, and fires it once.  So here are the watchers, by
 * mode and path: each hears of the event, and a new connection that carries the
 * session has each path set again once.
 *
 * A watch is set by a request that reads the node and is its watcher's own
 * matter: when that was answered the watcher is armed, until the event.
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
    HF_ZK_WATCH_DATA,     /* by getData: of its data, and its end */
    HF_ZK_WATCH_CHILDREN, /* by getChildren: of these, and its end */
    HF_ZK_WATCH_MODES,
};

/* Zeroed, then the first four fields set, before hf_zk_watch_set_add(). */
struct hf_zk_watcher {
    void *user;
    /* What is watched has changed, or is gone.  The callee may make calls, and
     * add and remove watchers: an added one does not hear of this event. */
    void (*fired)(struct hf_zk_watcher *watcher, enum hf_zk_event_type type);
    const char *path; /* lives as long as the watcher is in the set */
    enum hf_zk_watch_mode mode;

    bool armed; /* the server has it, and will tell of it */
    bool idle;  /* nobody waits: a new connection need not have it */
    bool in_set;
    /* The set's own. */
    bool to_notify;              /* of the event that is being told */
    size_t bytes;                /* of .path */
    struct hf_tree_node by_path; /* of the first at its path */
    struct hf_zk_watcher
        *next_at_path;          /* another at the same path, in this mode */
    struct hf_zk_watcher *next; /* of all, the newest first */
    struct hf_zk_watcher **link;
};

struct hf_zk_watch_set {
    struct hf_tree paths;
    struct hf_zk_watcher *first;
};

void hf_zk_watch_set_init(struct hf_zk_watch_set *set);

void hf_zk_watch_set_add(struct hf_zk_watch_set *set,
                         struct hf_zk_watcher *watcher);

/* Without effect if it is not in the set. */
void hf_zk_watch_set_remove(struct hf_zk_watch_set *set,
                            struct hf_zk_watcher *watcher);

/* The first of those at ${bytes} of ${path}, the others are .beside it; or
 * NULL. */
struct hf_zk_watcher *hf_zk_watch_set_find(const struct hf_zk_watch_set *set,
                                           enum hf_zk_watch_mode mode,
                                           const char *path, size_t bytes);

/* The server tells of ${path}. */
void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes);

/* A new connection carries the session, of which all events up to ${zxid} have
 * come: put into ${out} what sets the watches again.  The idle ones are not
 * armed from then on. */
void hf_zk_watch_set_resume(const struct hf_zk_watch_set *set,
                            struct hf_jute_writer *out, int64_t zxid);

#endif
