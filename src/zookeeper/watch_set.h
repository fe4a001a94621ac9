/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchers of a session, by mode and path.  A server keeps at most one
 * watch of each mode for a path and connection, no matter how many requests set
 * it.  So the set notifies each watcher that an event concerns.  It also says
 * what the server must be asked for, so that watchers of several modes at one
 * path do not end each other's watch.  Servers before 3.9 have one mode for
 * each path and connection, so where AddWatch was sent for a path, its watch
 * serves the one-shot watchers of that path too.
 *
 * The owner of a watcher sends the requests: a read of the node for a one-shot
 * watch, AddWatch for the others.  It calls the set just before it sends a
 * request, because the set counts the request as sent, and again when the
 * request is answered.  All owners on a session use the same set (the locks,
 * and each handle).  Otherwise a RemoveWatches of one owner could end the watch
 * of another.
 *
 * What happens when a connection or the session has ended is in watch_resume.h.
 * The set allocates nothing.
 */
#ifndef HF_ZOOKEEPER_WATCH_SET_H
#define HF_ZOOKEEPER_WATCH_SET_H

#include "zookeeper/watcher.h"

/* All watchers of a session. */
struct hf_zk_watch_set {
    struct hf_tree paths;
    struct hf_zk_watcher *first;
    size_t counts[HF_ZK_WATCH_MODES]; /* of watchers, by mode */
    struct hf_zk_watcher *cursor;     /* while all watchers are notified of
                                         HF_ZK_RESYNC, the next watcher to look
                                         at */
    bool added;                       /* AddWatch was sent on this connection */
    unsigned answers_due; /* SetWatches packets of this connection that are not
                             answered */
};

/* Initialise an empty set. */
void hf_zk_watch_set_init(struct hf_zk_watch_set *set);

/* Add ${watcher}, which must be in no set. */
void hf_zk_watch_set_add(struct hf_zk_watch_set *set,
                         struct hf_zk_watcher *watcher);

/* Remove ${watcher} without asking the server to remove its watch.  Does
 * nothing if it is not in the set. */
void hf_zk_watch_set_remove(struct hf_zk_watch_set *set,
                            struct hf_zk_watcher *watcher);

/* The first watcher of ${mode} at the ${bytes} of ${path}, or NULL.  The
 * others follow by .next_at_path. */
struct hf_zk_watcher *hf_zk_watch_set_find(const struct hf_zk_watch_set *set,
                                           enum hf_zk_watch_mode mode,
                                           const char *path, size_t bytes);

/* Are there watchers whose mode is persistent or recursive? */
bool hf_zk_watch_set_has_persistent(const struct hf_zk_watch_set *set);

/* Note that a request was sent (AddWatch, RemoveWatches or SetWatches) after
 * which the server keeps ${server_mode} at the path of ${watcher}.  ${watcher}
 * need not be in the set. */
void hf_zk_watch_set_put_server_mode(struct hf_zk_watch_set *set,
                                     const struct hf_zk_watcher *watcher,
                                     enum hf_zk_server_mode server_mode);

/* To be called when the server has answered an AddWatch of ${server_mode} for
 * ${path}, which has ${bytes} bytes, without an error.  Must be called for each
 * AddWatch, even if its watcher was removed since, and before
 * hf_zk_watcher_add_answered(). */
void hf_zk_watch_set_mode_answered(const struct hf_zk_watch_set *set,
                                   const char *path, size_t bytes,
                                   enum hf_zk_server_mode server_mode);

/* Abort unless the watchers of ${set} agree with each other and with its
 * counts.  Tests call it. */
void hf_zk_watch_set_check(const struct hf_zk_watch_set *set);

/* --------------------------------------------- what the server is asked -- */

/* What a server must be asked for after the removal of a watcher.  The numbers
 * of RemoveWatches are those of its field "type". */
enum hf_zk_unwatch {
    HF_ZK_UNWATCH_NOTHING = 0,
    HF_ZK_UNWATCH_CHILDREN = 1, /* RemoveWatches */
    HF_ZK_UNWATCH_DATA = 2,     /* RemoveWatches */
    HF_ZK_UNWATCH_ANY = 3,      /* RemoveWatches */
    HF_ZK_UNWATCH_LOWER,        /* AddWatch with the mode persistent, because
                                   the recursive watchers are gone */
};

/* To be called just before the read that arms the one-shot ${watcher}, which is
 * in the set, is sent.  Returns the watch flag of the read: false if an
 * AddWatch for its path serves it on this connection.
 * hf_zk_watcher_read_answered() must follow.  Until then a watcher that is not
 * armed is notified of nothing, because an event that arrives earlier is older
 * than what is read.  A watcher that is armed already is notified as before,
 * and the answer arms it anew. */
bool hf_zk_watch_set_begin_read(const struct hf_zk_watch_set *set,
                                struct hf_zk_watcher *watcher);

/* To be called just before the AddWatch for ${watcher}, which is in the set and
 * not one-shot, is sent.  Returns the mode that the AddWatch must have:
 * HF_ZK_WATCH_RECURSIVE if there is a recursive watcher at its path, otherwise
 * HF_ZK_WATCH_PERSISTENT.  If the server refuses the AddWatch, end the
 * connection, because it is not known what the server keeps at the path
 * then. */
enum hf_zk_watch_mode
hf_zk_watch_set_begin_add(struct hf_zk_watch_set *set,
                          const struct hf_zk_watcher *watcher);

/* Remove ${watcher}, which is in the set.  Returns what the caller must ask the
 * server for, if there is a connection. */
enum hf_zk_unwatch hf_zk_watch_set_unwatch(struct hf_zk_watch_set *set,
                                           struct hf_zk_watcher *watcher);

/* ---------------------------------------------------------------- events -- */

/* To be called when the server has reported an event of ${path}, which has
 * ${bytes} bytes: disarm the one-shot watchers that it concerns, and call
 * .fired of all that it concerns.  A watcher to which HF_ZK_RESYNC is due is
 * notified of that first. */
void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes);

#endif
