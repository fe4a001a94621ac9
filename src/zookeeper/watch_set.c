/* SPDX-License-Identifier: Apache-2.0 */
/* The first watcher of each mode and path is in a tree; further watchers of
 * the same path are linked behind it.  All watchers are also in one list,
 * newest first, for resuming.
 *
 * An event is reported in two steps.  First all watchers that it concerns are
 * marked, because callbacks may add watchers.  Then the marked ones are
 * searched for, one after the other, because callbacks may remove any. */
#include "zookeeper/watch_set.h"

#include <assert.h>
#include <string.h>

/* The key of the tree: mode and path. */
struct watch_key {
    enum hf_zk_watch_mode mode;
    const char *path;
    size_t bytes;
};

/* The watcher that ${node} is embedded in; NULL for NULL. */
static struct hf_zk_watcher *watcher_of(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_zk_watcher, by_path);

    if (node == NULL)
        return NULL;
    return (struct hf_zk_watcher *)(void *)((char *)(uintptr_t)node - offset);
}

/* Order of the tree: mode, then length, then bytes of the path. */
static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct watch_key *key = a;
    const struct hf_zk_watcher *watcher = watcher_of(node);

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

    return watcher_of(hf_tree_find(&set->paths, &key));
}

/* A watcher at ${path}, which knows what the server has there; NULL: none, or
 * the server has no AddWatch. */
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

    assert(!watcher->in_set);
    watcher->in_set = true;
    watcher->to_notify = watcher->resync_due = watcher->lost = false;
    watcher->asked = 0;
    watcher->kept = watcher->kept_read = watcher->only_armed = false;
    watcher->server_mode =
        other != NULL ? other->server_mode : HF_ZK_SERVER_ONE_SHOT;
    watcher->answered_mode =
        other != NULL ? other->answered_mode : HF_ZK_SERVER_ONE_SHOT;
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
    if (!watcher->in_set)
        return;
    watcher->in_set = false;
    if (set->cursor == watcher)
        set->cursor = watcher->next;
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
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

/* ---------------------------------------------------------------- events -- */

/* The watchers of one mode and path that an event concerns. */
struct target {
    struct watch_key key;
    /* The event was derived from one of a child of the path, so it concerns
     * only those whose server does not report it. */
    bool derived;
    struct hf_zk_watch_event event;
};

/* What to do with a target. */
typedef void act_on(const struct hf_zk_watch_set *set,
                    const struct target *target);

/* True for the two modes whose watch ends with its first event. */
static bool is_one_shot(enum hf_zk_watch_mode mode)
{
    return mode == HF_ZK_WATCH_DATA || mode == HF_ZK_WATCH_CHILDREN;
}

/* Is ${watcher} notified of what happens at its path now? */
static bool is_concerned(const struct hf_zk_watcher *watcher, bool derived)
{
    if (derived && watcher->answered_mode != HF_ZK_SERVER_RECURSIVE)
        return false;
    if (is_one_shot(watcher->mode) && !watcher->only_armed)
        return true;
    return watcher->armed;
}

/* Mark the watchers that are in the set now.  The event ends the watch of the
 * one-shot ones, but reads in flight will arm them again. */
static void mark(const struct hf_zk_watch_set *set, const struct target *target)
{
    const struct watch_key *key = &target->key;
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    for (; watcher != NULL; watcher = watcher->next_at_path) {
        if (is_one_shot(key->mode))
            watcher->kept = watcher->kept_read;
        if (!is_concerned(watcher, target->derived))
            continue;
        watcher->to_notify = true;
        if (is_one_shot(key->mode))
            watcher->armed = watcher->missing = false;
    }
}

/* The next marked watcher at the path of ${key}, or NULL. */
static struct hf_zk_watcher *next_to_notify(const struct hf_zk_watch_set *set,
                                            const struct watch_key *key)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    while (watcher != NULL && !watcher->to_notify)
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
            watcher->to_notify = false;
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

/* Recursive watchers at the path and above it. */
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
 * Servers do not say so of a path that they watch recursively. */
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

void hf_zk_watcher_resync(struct hf_zk_watcher *watcher)
{
    const struct hf_zk_watch_event event = {HF_ZK_RESYNC, watcher->path,
                                            watcher->bytes};

    watcher->resync_due = false;
    watcher->fired(watcher, &event);
}
