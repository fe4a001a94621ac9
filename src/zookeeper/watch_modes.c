/* SPDX-License-Identifier: Apache-2.0 */
/* Each watcher knows what the server has at its path (.server_mode), so that
 * nothing is allocated for a path. */
#include "zookeeper/watch_modes.h"

#include <assert.h>

/* Is there a watcher of ${mode} at the path of ${watcher}? */
static bool has_mode(const struct hf_zk_watch_set *set,
                     enum hf_zk_watch_mode mode,
                     const struct hf_zk_watcher *watcher)
{
    return hf_zk_watch_set_find(set, mode, watcher->path, watcher->bytes) !=
           NULL;
}

bool hf_zk_watch_set_wants_flag(const struct hf_zk_watch_set *set,
                                struct hf_zk_watcher *watcher)
{
    assert(watcher->in_set && has_mode(set, watcher->mode, watcher));
    watcher->asked++;
    watcher->only_armed = true;
    return watcher->server_mode == HF_ZK_SERVER_ONE_SHOT;
}

void hf_zk_watch_set_read_answered(struct hf_zk_watcher *watcher)
{
    if (watcher->asked > 0)
        watcher->asked--;
}

enum hf_zk_watch_mode
hf_zk_watch_set_add_mode(struct hf_zk_watch_set *set,
                         const struct hf_zk_watcher *watcher)
{
    bool recursive = has_mode(set, HF_ZK_WATCH_RECURSIVE, watcher);

    assert(watcher->in_set && (watcher->mode == HF_ZK_WATCH_PERSISTENT ||
                               watcher->mode == HF_ZK_WATCH_RECURSIVE));
    hf_zk_watch_set_put_server_mode(set, watcher,
                                    recursive ? HF_ZK_SERVER_RECURSIVE
                                              : HF_ZK_SERVER_PERSISTENT);
    return recursive ? HF_ZK_WATCH_RECURSIVE : HF_ZK_WATCH_PERSISTENT;
}

/* --------------------------------------------------------------- removal -- */

/* The one-shot watcher of ${mode} at the path of ${watcher} that needs the
 * watch that the server has, or will have before it answers its read; or NULL.
 */
static struct hf_zk_watcher *who_needs(const struct hf_zk_watch_set *set,
                                       enum hf_zk_watch_mode mode,
                                       const struct hf_zk_watcher *watcher)
{
    struct hf_zk_watcher *at =
        hf_zk_watch_set_find(set, mode, watcher->path, watcher->bytes);

    while (at != NULL && !at->armed && at->asked == 0)
        at = at->next_at_path;
    return at;
}

/* The server has the one-shot watch of ${watcher} alone.  Another watcher that
 * needs it may yet fail to be armed, because a read of a missing node leaves no
 * watch: then that one has it taken back. */
static enum hf_zk_unwatch
after_one_shot_removal(const struct hf_zk_watch_set *set,
                       const struct hf_zk_watcher *watcher)
{
    struct hf_zk_watcher *needs;

    if (!watcher->armed && watcher->asked == 0 && !watcher->kept)
        return HF_ZK_UNWATCH_NOTHING;
    if ((needs = who_needs(set, watcher->mode, watcher)) != NULL) {
        needs->kept = true;
        needs->kept_read |= watcher->asked > 0 || watcher->kept_read;
        return HF_ZK_UNWATCH_NOTHING;
    }
    if (watcher->mode == HF_ZK_WATCH_DATA)
        return HF_ZK_UNWATCH_DATA;
    return watcher->mode == HF_ZK_WATCH_CHILDREN ? HF_ZK_UNWATCH_CHILDREN
                                                 : HF_ZK_UNWATCH_NOTHING;
}

/* Where AddWatch was sent, its watch serves everybody at the path.  Nobody is
 * armed where it is taken back, and a one-shot watcher is notified once of a
 * change, so .answered_mode needs no answer to a RemoveWatches. */
enum hf_zk_unwatch
hf_zk_watch_set_after_removal(struct hf_zk_watch_set *set,
                              const struct hf_zk_watcher *watcher)
{
    enum hf_zk_server_mode server_mode = watcher->server_mode;

    assert(!watcher->in_set);
    if (server_mode == HF_ZK_SERVER_ONE_SHOT)
        return after_one_shot_removal(set, watcher);
    if (has_mode(set, HF_ZK_WATCH_RECURSIVE, watcher))
        return HF_ZK_UNWATCH_NOTHING;
    if (has_mode(set, HF_ZK_WATCH_PERSISTENT, watcher)) {
        hf_zk_watch_set_put_server_mode(set, watcher, HF_ZK_SERVER_PERSISTENT);
        return server_mode == HF_ZK_SERVER_RECURSIVE ? HF_ZK_UNWATCH_LOWER
                                                     : HF_ZK_UNWATCH_NOTHING;
    }
    if (who_needs(set, HF_ZK_WATCH_DATA, watcher) != NULL ||
        who_needs(set, HF_ZK_WATCH_CHILDREN, watcher) != NULL)
        return HF_ZK_UNWATCH_NOTHING;
    hf_zk_watch_set_put_server_mode(set, watcher, HF_ZK_SERVER_ONE_SHOT);
    return HF_ZK_UNWATCH_ANY;
}
