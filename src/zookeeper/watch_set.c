/* SPDX-License-Identifier: Apache-2.0 */
/* The first watcher of each mode and path is in a tree; further watchers of
 * the same path are linked behind it.  All watchers are also in one list,
 * newest first, for resuming.  Each watcher knows what the server has at its
 * path (.server_mode), so that nothing is allocated for a path.
 *
 * An event is reported in two steps.  First all watchers that it concerns are
 * marked, because callbacks may add watchers.  Then the marked ones are
 * searched for, one after the other, because callbacks may remove any. */
#include "zookeeper/watch_set.h"

#include <assert.h>
#include <string.h>

#include "base/container_of.h"

/* The key of the tree: mode and path. */
struct watch_key {
    enum hf_zk_watch_mode mode;
    const char *path;
    size_t bytes;
};

/* Order of the tree: mode, then length, then bytes of the path. */
static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct watch_key *key = a;
    const struct hf_zk_watcher *watcher =
        container_of(node, const struct hf_zk_watcher, by_path);

    if (key->mode != watcher->mode)
        return key->mode < watcher->mode ? -1 : 1;
    if (key->bytes != watcher->bytes)
        return key->bytes < watcher->bytes ? -1 : 1;
    return memcmp(key->path, watcher->path, key->bytes);
}

void hf_zk_watch_set_init(struct hf_zk_watch_set *set)
{
    *set = (struct hf_zk_watch_set){.paths = {.compare = compare}};
}

struct hf_zk_watcher *hf_zk_watch_set_find(const struct hf_zk_watch_set *set,
                                           enum hf_zk_watch_mode mode,
                                           const char *path, size_t bytes)
{
    const struct watch_key key = {mode, path, bytes};

    return container_of_or_null(hf_tree_find(&set->paths, &key),
                                struct hf_zk_watcher, by_path);
}

/* Any watcher at ${path}: its .server_mode says what the server has there.
 * NULL: there is no watcher, or no AddWatch was sent on this connection. */
static const struct hf_zk_watcher *who_knows(const struct hf_zk_watch_set *set,
                                             const char *path, size_t bytes)
{
    const struct hf_zk_watcher *watcher = NULL;

    for (enum hf_zk_watch_mode mode = 0;
         set->added && watcher == NULL && mode < HF_ZK_WATCH_MODES; mode++)
        watcher = hf_zk_watch_set_find(set, mode, path, bytes);
    return watcher;
}

/* Link ${watcher} behind the first one of ${key}, or make it the first. */
static void add_at_path(struct hf_zk_watch_set *set,
                        struct hf_zk_watcher *watcher,
                        const struct watch_key *key)
{
    struct hf_zk_watcher *first =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    watcher->next_at_path = NULL;
    if (first != NULL) {
        watcher->next_at_path = first->next_at_path;
        first->next_at_path = watcher;
    } else {
        hf_tree_add(&set->paths, &watcher->by_path, key);
    }
}

void hf_zk_watch_set_add(struct hf_zk_watch_set *set,
                         struct hf_zk_watcher *watcher)
{
    const struct watch_key key = {watcher->mode, watcher->path,
                                  strlen(watcher->path)};
    const struct hf_zk_watcher *other = who_knows(set, key.path, key.bytes);

    hf_zk_watcher_move(watcher, HF_ZK_WATCHER_UNSET);
    hf_zk_watcher_forget_server(watcher);
    if (other != NULL) {
        watcher->server_mode = other->server_mode;
        watcher->answered_mode = other->answered_mode;
    }
    watcher->bytes = key.bytes;
    add_at_path(set, watcher, &key);
    watcher->next = set->first;
    watcher->link = &set->first;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    set->first = watcher;
    set->counts[watcher->mode]++;
}

/* If ${watcher} was the first of its path, the next one takes its place in the
 * tree. */
static void remove_at_path(struct hf_zk_watch_set *set,
                           struct hf_zk_watcher *watcher)
{
    const struct watch_key key = {watcher->mode, watcher->path, watcher->bytes};
    struct hf_zk_watcher *at =
        hf_zk_watch_set_find(set, key.mode, key.path, key.bytes);

    if (at == watcher) {
        hf_tree_remove(&set->paths, &watcher->by_path, &key);
        if (watcher->next_at_path != NULL)
            hf_tree_add(&set->paths, &watcher->next_at_path->by_path, &key);
        return;
    }
    while (at->next_at_path != watcher)
        at = at->next_at_path;
    at->next_at_path = watcher->next_at_path;
}

void hf_zk_watch_set_remove(struct hf_zk_watch_set *set,
                            struct hf_zk_watcher *watcher)
{
    if (!hf_zk_watcher_in_set(watcher))
        return;
    hf_zk_watcher_move(watcher, HF_ZK_WATCHER_OUT);
    watcher->event_due = watcher->resync_due = false;
    if (set->cursor == watcher)
        set->cursor = watcher->next;
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
    assert(set->counts[watcher->mode] > 0);
    set->counts[watcher->mode]--;
    remove_at_path(set, watcher);
}

bool hf_zk_watch_set_has_persistent(const struct hf_zk_watch_set *set)
{
    return set->counts[HF_ZK_WATCH_PERSISTENT] > 0 ||
           set->counts[HF_ZK_WATCH_RECURSIVE] > 0;
}

void hf_zk_watch_set_put_server_mode(struct hf_zk_watch_set *set,
                                     const struct hf_zk_watcher *watcher,
                                     enum hf_zk_server_mode server_mode)
{
    struct hf_zk_watcher *at;

    set->added |= server_mode != HF_ZK_SERVER_ONE_SHOT;
    for (enum hf_zk_watch_mode mode = 0; mode < HF_ZK_WATCH_MODES; mode++) {
        at = hf_zk_watch_set_find(set, mode, watcher->path, watcher->bytes);
        for (; at != NULL; at = at->next_at_path)
            at->server_mode = server_mode;
    }
}

void hf_zk_watch_set_mode_answered(const struct hf_zk_watch_set *set,
                                   const char *path, size_t bytes,
                                   enum hf_zk_server_mode server_mode)
{
    struct hf_zk_watcher *at;

    for (enum hf_zk_watch_mode mode = 0; mode < HF_ZK_WATCH_MODES; mode++) {
        at = hf_zk_watch_set_find(set, mode, path, bytes);
        for (; at != NULL; at = at->next_at_path)
            at->answered_mode = server_mode;
    }
}

/* All watchers at one path must have the same .server_mode and
 * .answered_mode. */
void hf_zk_watch_set_check(const struct hf_zk_watch_set *set)
{
    size_t counts[HF_ZK_WATCH_MODES] = {0};
    const struct hf_zk_watcher *at, *watcher;

    for (watcher = set->first; watcher != NULL; watcher = watcher->next) {
        hf_zk_watcher_check(watcher);
        assert(hf_zk_watcher_in_set(watcher) && *watcher->link == watcher);
        counts[watcher->mode]++;
        at = hf_zk_watch_set_find(set, watcher->mode, watcher->path,
                                  watcher->bytes);
        while (at != NULL && at != watcher)
            at = at->next_at_path;
        assert(at == watcher);
        at = who_knows(set, watcher->path, watcher->bytes);
        assert(watcher->server_mode ==
               (at != NULL ? at->server_mode : HF_ZK_SERVER_ONE_SHOT));
        assert(watcher->answered_mode ==
               (at != NULL ? at->answered_mode : HF_ZK_SERVER_ONE_SHOT));
    }
    assert(memcmp(counts, set->counts, sizeof counts) == 0);
}

/* --------------------------------------------- what the server is asked -- */

/* Is there a watcher of ${mode} at the path of ${watcher}? */
static bool has_mode(const struct hf_zk_watch_set *set,
                     enum hf_zk_watch_mode mode,
                     const struct hf_zk_watcher *watcher)
{
    return hf_zk_watch_set_find(set, mode, watcher->path, watcher->bytes) !=
           NULL;
}

bool hf_zk_watch_set_begin_read(const struct hf_zk_watch_set *set,
                                struct hf_zk_watcher *watcher)
{
    assert(hf_zk_watcher_in_set(watcher));
    assert(has_mode(set, watcher->mode, watcher));
    assert(hf_zk_watch_mode_is_one_shot(watcher->mode));
    watcher->reads++;
    return watcher->server_mode == HF_ZK_SERVER_ONE_SHOT;
}

enum hf_zk_watch_mode
hf_zk_watch_set_begin_add(struct hf_zk_watch_set *set,
                          const struct hf_zk_watcher *watcher)
{
    bool recursive = has_mode(set, HF_ZK_WATCH_RECURSIVE, watcher);

    assert(hf_zk_watcher_in_set(watcher));
    assert(!hf_zk_watch_mode_is_one_shot(watcher->mode));
    hf_zk_watch_set_put_server_mode(set, watcher,
                                    recursive ? HF_ZK_SERVER_RECURSIVE
                                              : HF_ZK_SERVER_PERSISTENT);
    return recursive ? HF_ZK_WATCH_RECURSIVE : HF_ZK_WATCH_PERSISTENT;
}

/* A one-shot watcher of ${mode} at the path of ${watcher} that still needs the
 * server's watch: it is armed, or a read that arms it is in flight.  NULL:
 * there is none. */
static struct hf_zk_watcher *who_needs(const struct hf_zk_watch_set *set,
                                       enum hf_zk_watch_mode mode,
                                       const struct hf_zk_watcher *watcher)
{
    struct hf_zk_watcher *at =
        hf_zk_watch_set_find(set, mode, watcher->path, watcher->bytes);

    while (at != NULL && !hf_zk_watcher_is_armed(at) && at->reads == 0)
        at = at->next_at_path;
    return at;
}

/* The one-shot ${watcher}, which had been ${armed}, was removed, and no
 * AddWatch was sent for its path.  Another watcher may need the watch that the
 * server has, so the watch is left to it.  If that watcher is never armed (a
 * read of a missing node sets no watch), its own removal asks the server to
 * remove the watch. */
static enum hf_zk_unwatch unwatch_one_shot(const struct hf_zk_watch_set *set,
                                           const struct hf_zk_watcher *watcher,
                                           bool armed)
{
    struct hf_zk_watcher *needs;

    if (!armed && watcher->reads == 0 &&
        watcher->leftover == HF_ZK_LEFTOVER_NONE)
        return HF_ZK_UNWATCH_NOTHING;
    needs = who_needs(set, watcher->mode, watcher);
    if (needs == NULL)
        return watcher->mode == HF_ZK_WATCH_DATA ? HF_ZK_UNWATCH_DATA
                                                 : HF_ZK_UNWATCH_CHILDREN;
    if (watcher->reads > 0 || watcher->leftover == HF_ZK_LEFTOVER_READ)
        needs->leftover = HF_ZK_LEFTOVER_READ;
    else if (needs->leftover == HF_ZK_LEFTOVER_NONE)
        needs->leftover = HF_ZK_LEFTOVER_WATCH;
    return HF_ZK_UNWATCH_NOTHING;
}

/* ${watcher} was removed from a path that an AddWatch serves.  That watch
 * serves all watchers at the path, so the server is asked to remove it only
 * when none of them needs it.  .answered_mode is not changed; this is harmless,
 * because a one-shot watcher that is armed later is notified of a change only
 * once. */
static enum hf_zk_unwatch unwatch_added(struct hf_zk_watch_set *set,
                                        const struct hf_zk_watcher *watcher)
{
    bool lowers = watcher->server_mode == HF_ZK_SERVER_RECURSIVE;

    if (has_mode(set, HF_ZK_WATCH_RECURSIVE, watcher))
        return HF_ZK_UNWATCH_NOTHING;
    if (has_mode(set, HF_ZK_WATCH_PERSISTENT, watcher)) {
        hf_zk_watch_set_put_server_mode(set, watcher, HF_ZK_SERVER_PERSISTENT);
        return lowers ? HF_ZK_UNWATCH_LOWER : HF_ZK_UNWATCH_NOTHING;
    }
    if (who_needs(set, HF_ZK_WATCH_DATA, watcher) != NULL ||
        who_needs(set, HF_ZK_WATCH_CHILDREN, watcher) != NULL)
        return HF_ZK_UNWATCH_NOTHING;
    hf_zk_watch_set_put_server_mode(set, watcher, HF_ZK_SERVER_ONE_SHOT);
    return HF_ZK_UNWATCH_ANY;
}

enum hf_zk_unwatch hf_zk_watch_set_unwatch(struct hf_zk_watch_set *set,
                                           struct hf_zk_watcher *watcher)
{
    bool armed = hf_zk_watcher_is_armed(watcher);

    assert(hf_zk_watcher_in_set(watcher));
    hf_zk_watch_set_remove(set, watcher);
    if (watcher->server_mode != HF_ZK_SERVER_ONE_SHOT)
        return unwatch_added(set, watcher);
    if (hf_zk_watch_mode_is_one_shot(watcher->mode))
        return unwatch_one_shot(set, watcher, armed);
    return HF_ZK_UNWATCH_NOTHING; /* its AddWatch was not sent */
}

/* ---------------------------------------------------------------- events -- */

/* The watchers of one mode and path that an event concerns. */
struct target {
    struct watch_key key;
    /* The event was derived from the event of a child, so it concerns only
     * watchers to which the server does not report it itself. */
    bool derived;
    struct hf_zk_watch_event event;
};

/* A function that is called for each target: mark() or notify(). */
typedef void act_on(const struct hf_zk_watch_set *set,
                    const struct target *target);

/* Mark the watchers that are in the set now and that the server reports to.
 * The event ends the watch of the one-shot ones, but reads in flight will arm
 * them again. */
static void mark(const struct hf_zk_watch_set *set, const struct target *target)
{
    const struct watch_key *key = &target->key;
    bool one_shot = hf_zk_watch_mode_is_one_shot(key->mode);
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    for (; watcher != NULL; watcher = watcher->next_at_path) {
        if (watcher->leftover == HF_ZK_LEFTOVER_WATCH)
            watcher->leftover = HF_ZK_LEFTOVER_NONE;
        if (!hf_zk_watcher_is_armed(watcher) ||
            (target->derived &&
             watcher->answered_mode != HF_ZK_SERVER_RECURSIVE))
            continue;
        watcher->event_due = true;
        if (one_shot)
            hf_zk_watcher_disarm(watcher);
    }
}

/* The next marked watcher at the path of ${key}, or NULL. */
static struct hf_zk_watcher *next_to_notify(const struct hf_zk_watch_set *set,
                                            const struct watch_key *key)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    while (watcher != NULL && !watcher->event_due)
        watcher = watcher->next_at_path;
    return watcher;
}

/* Notify the marked watchers.  A callback may remove any of them and may add
 * others, so the search starts again after each callback.  A watcher that gets
 * HF_ZK_RESYNC first is found again, unless its callback has removed it. */
static void notify(const struct hf_zk_watch_set *set,
                   const struct target *target)
{
    struct hf_zk_watcher *watcher;

    while ((watcher = next_to_notify(set, &target->key)) != NULL) {
        if (watcher->resync_due) {
            hf_zk_watcher_resync(watcher);
        } else {
            watcher->event_due = false;
            watcher->fired(watcher, &target->event);
        }
    }
}

/* Let ${act} act on the watchers of ${mode} at the first ${bytes} of the path
 * of ${event}. */
static void act_at(const struct hf_zk_watch_set *set, act_on *act,
                   enum hf_zk_watch_mode mode, size_t bytes,
                   const struct hf_zk_watch_event *event)
{
    const struct target target = {.key = {mode, event->path, bytes},
                                  .event = *event};

    act(set, &target);
}

/* The length of the path of the parent of ${path}; 0 for the root, which has
 * none. */
static size_t parent_bytes(const char *path, size_t bytes)
{
    size_t end = bytes;

    if (bytes <= 1)
        return 0;
    while (end > 0 && path[end - 1] != '/')
        end--;
    return end > 1 ? end - 1 : end;
}

/* Let ${act} act on the recursive watchers at the path of ${event} and above
 * it. */
static void act_on_recursive(const struct hf_zk_watch_set *set, act_on *act,
                             const struct hf_zk_watch_event *event)
{
    size_t bytes = event->bytes;

    if (set->counts[HF_ZK_WATCH_RECURSIVE] == 0)
        return;
    for (; bytes > 0; bytes = parent_bytes(event->path, bytes))
        act_at(set, act, HF_ZK_WATCH_RECURSIVE, bytes, event);
}

/* The node was created or deleted, so the children of its parent have changed.
 * Servers do not report that at a path that they watch recursively, so it is
 * derived here. */
static void act_on_parent(const struct hf_zk_watch_set *set, act_on *act,
                          const struct hf_zk_watch_event *event)
{
    static const enum hf_zk_watch_mode modes[] = {HF_ZK_WATCH_CHILDREN,
                                                  HF_ZK_WATCH_PERSISTENT};
    const struct hf_zk_watch_event derived = {
        HF_ZK_NODE_CHILDREN_CHANGED, event->path,
        parent_bytes(event->path, event->bytes)};

    if (!set->added)
        return;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        const struct target target = {
            .key = {modes[i], derived.path, derived.bytes},
            .derived = true,
            .event = derived};

        act(set, &target);
    }
}

/* Let ${act} act on all watchers that ${event} concerns.  A deletion concerns
 * the watchers of all modes. */
static void act_on_all(const struct hf_zk_watch_set *set, act_on *act,
                       const struct hf_zk_watch_event *event)
{
    bool created = event->type == HF_ZK_NODE_CREATED;
    bool deleted = event->type == HF_ZK_NODE_DELETED;
    bool children = event->type == HF_ZK_NODE_CHILDREN_CHANGED;

    if (!children)
        act_at(set, act, HF_ZK_WATCH_DATA, event->bytes, event);
    if (children || deleted)
        act_at(set, act, HF_ZK_WATCH_CHILDREN, event->bytes, event);
    if (set->counts[HF_ZK_WATCH_PERSISTENT] > 0)
        act_at(set, act, HF_ZK_WATCH_PERSISTENT, event->bytes, event);
    if (created || deleted || event->type == HF_ZK_NODE_DATA_CHANGED)
        act_on_recursive(set, act, event);
    if (created || deleted)
        act_on_parent(set, act, event);
}

void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes)
{
    const struct hf_zk_watch_event event = {type, path, bytes};

    act_on_all(set, mark, &event);
    act_on_all(set, notify, &event);
}
