/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watches of a session.  A server keeps one watch of each mode for a path
 * and connection, no matter how many requests set it.  So this set has the
 * watchers by mode and path, and each watcher that an event concerns is
 * notified of it.
 *
 * The watcher's owner sets the watch itself: a one-shot one with a request that
 * reads the node, the others with AddWatch.  When that request was answered,
 * the owner sets .armed, or calls hf_zk_watch_set_added() after AddWatch.  The
 * event of a one-shot watch clears it.
 *
 * Three files have the rest: watch_set has the watchers and the events,
 * watch_modes what the server has at a path and what it must be asked for
 * there, and watch_resume what happens when a connection or the session has
 * ended.  The set allocates nothing.
 */
#ifndef HF_ZOOKEEPER_WATCH_SET_H
#define HF_ZOOKEEPER_WATCH_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "zookeeper/protocol.h"

enum hf_zk_watch_mode {
    /* One-shot, set by getData or exists: the node is created or deleted, or
     * its data change. */
    HF_ZK_WATCH_DATA,
    /* One-shot, set by getChildren: the children change or the node is
     * deleted. */
    HF_ZK_WATCH_CHILDREN,
    /* Set by AddWatch: all that the two above report, until it is removed. */
    HF_ZK_WATCH_PERSISTENT,
    /* Set by AddWatch: the node or any below it is created or deleted, or its
     * data change, until it is removed. */
    HF_ZK_WATCH_RECURSIVE,
    HF_ZK_WATCH_MODES,
};

/* What AddWatch makes of a path on this connection.  Servers before 3.9 keep
 * one mode for each path and connection: a read that sets a one-shot watch
 * takes the place of a persistent watch, and AddWatch that of a one-shot one.
 * Servers from 3.9 on keep both modes; then the last AddWatch counts here. */
enum hf_zk_server_mode {
    HF_ZK_SERVER_ONE_SHOT, /* no AddWatch */
    HF_ZK_SERVER_PERSISTENT,
    HF_ZK_SERVER_RECURSIVE, /* a server before 3.9 does not report that the
                               children of the path have changed */
};

/* What a watcher is notified of; valid during the callback. */
struct hf_zk_watch_event {
    enum hf_zk_event_type type;
    const char *path; /* of the node; not NUL-terminated.  A recursive watcher
                         is notified of nodes below its own path too */
    size_t bytes;     /* length of .path */
};

/* One interest in a path, embedded in the struct of its owner.  Zero it, set
 * the first four fields, then add it. */
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

    bool armed;   /* the server has the watch and will report the next change;
                     the owner sets it.  Other than one-shot watchers are
                     notified of nothing before */
    bool missing; /* of a data watcher: it was armed by an exists that found no
                     node; the owner sets it with .armed, and it is cleared
                     with it */
    bool idle;    /* no request waits for it, so a new connection need not set
                     it; the owner sets it */
    bool in_set;
    /* Written by the set only. */
    bool to_notify;  /* the current event has not been reported to it yet */
    bool resync_due; /* HF_ZK_RESYNC has not been reported to it yet */
    bool lost;       /* the session of its AddWatch has ended, and the next
                        session needs one too */
    /* Of one-shot watchers, see hf_zk_watch_set_wants_flag(). */
    unsigned asked; /* reads in flight that arm it */
    bool kept;      /* the server may have the watch of a removed watcher, which
                       was kept because this one needed it */
    bool kept_read; /* a read of the removed one was in flight, and may set the
                       watch again after an event */
    bool only_armed; /* it is notified of nothing while it is not armed */
    /* These two are the same for all at its path.  The first is that of the
     * last AddWatch that was sent, so the next request counts on it.  The
     * second is that of the last one that was answered, so the events that
     * come now are those of it: a server carries out and answers the requests
     * of a connection in order, and its events are in that order too. */
    enum hf_zk_server_mode server_mode;
    enum hf_zk_server_mode answered_mode;
    size_t bytes;                /* length of .path */
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
    size_t counts[HF_ZK_WATCH_MODES]; /* of watchers, by mode */
    struct hf_zk_watcher *cursor; /* the watcher that is looked at next, while
                                     all of them are notified */
    bool added;                   /* AddWatch was sent on this connection */
    unsigned answers_due; /* of the SetWatches packets of this connection */
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

/* Are there watchers that are not one-shot? */
bool hf_zk_watch_set_has_persistent(const struct hf_zk_watch_set *set);

/* Set .server_mode of all watchers at the path of ${watcher}, which need not be
 * in the set. */
void hf_zk_watch_set_put_server_mode(struct hf_zk_watch_set *set,
                                     const struct hf_zk_watcher *watcher,
                                     enum hf_zk_server_mode server_mode);

/* The server has answered, without an error, the AddWatch of ${server_mode} for
 * the ${bytes} of ${path}.  To be called for each AddWatch, also if its watcher
 * was removed since, and before hf_zk_watch_set_added(). */
void hf_zk_watch_set_mode_answered(const struct hf_zk_watch_set *set,
                                   const char *path, size_t bytes,
                                   enum hf_zk_server_mode server_mode);

/* The server has reported an event of ${path}: clear .armed of the one-shot
 * watchers that it concerns, and call .fired of all that it concerns.  A
 * watcher to which HF_ZK_RESYNC is due is notified of that first. */
void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes);

/* Notify ${watcher}, which may be freed by that, of HF_ZK_RESYNC. */
void hf_zk_watcher_resync(struct hf_zk_watcher *watcher);

#endif
