/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server is asked for, so that watchers of several modes at one path
 * do not end each other.  Servers before 3.9 have one mode for each path and
 * connection.  So where AddWatch was sent for a path, its watch serves the
 * one-shot watchers of that path too.
 *
 * The owner writes the requests.  It calls these functions just before it
 * sends them, because the set counts them as sent.  Watchers of which these
 * functions know nothing, because their owner does not ask, could lose their
 * watch to a RemoveWatches.  So all owners ask: the locks, and each handle on
 * their session.
 */
#ifndef HF_ZOOKEEPER_WATCH_MODES_H
#define HF_ZOOKEEPER_WATCH_MODES_H

#include "zookeeper/watch_set.h"

/* What the server must be asked after a removal.  The numbers of RemoveWatches
 * are those of its field "type". */
enum hf_zk_unwatch {
    HF_ZK_UNWATCH_NOTHING = 0,
    HF_ZK_UNWATCH_CHILDREN = 1, /* RemoveWatches */
    HF_ZK_UNWATCH_DATA = 2,     /* RemoveWatches */
    HF_ZK_UNWATCH_ANY = 3,      /* RemoveWatches */
    HF_ZK_UNWATCH_LOWER,        /* AddWatch with the mode persistent, because
                                   the recursive watchers are gone */
};

/* Must the read that arms the one-shot ${watcher}, which is in the set, carry
 * watch=true?  False if AddWatch was sent for its path on this connection.
 * Call it for each read.  From now on ${watcher} is notified only while it is
 * armed, because an event that arrives before the answer is older than what is
 * read.  One that is armed already may be armed again: if an event comes before
 * the answer, it is notified, and the answer arms it anew. */
bool hf_zk_watch_set_wants_flag(const struct hf_zk_watch_set *set,
                                struct hf_zk_watcher *watcher);

/* A server has answered the read for which hf_zk_watch_set_wants_flag() was
 * called, whatever it says.  Call it before .armed is set. */
void hf_zk_watch_set_read_answered(struct hf_zk_watcher *watcher);

/* The mode of the AddWatch for ${watcher}, which is in the set and not
 * one-shot: HF_ZK_WATCH_RECURSIVE if there is a recursive watcher at its path,
 * otherwise HF_ZK_WATCH_PERSISTENT.  If the server refuses the AddWatch, end
 * the connection, because it is not known what the server has at the path. */
enum hf_zk_watch_mode
hf_zk_watch_set_add_mode(struct hf_zk_watch_set *set,
                         const struct hf_zk_watcher *watcher);

/* What to ask the server for after the removal of ${watcher}, which was in the
 * set until just now.  Without a connection there is nothing to ask. */
enum hf_zk_unwatch
hf_zk_watch_set_after_removal(struct hf_zk_watch_set *set,
                              const struct hf_zk_watcher *watcher);

#endif
