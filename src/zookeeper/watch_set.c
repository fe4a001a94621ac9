/* SPDX-License-Identifier: Apache-2.0 */
/* The first watcher of each mode and path is in a tree; further watchers of
 * the same path are linked behind it.  All watchers are also in one list,
 * newest first, for resuming. */
#include "zookeeper/watch_set.h"

#include <assert.h>
#include <string.h>

#include "zookeeper/zk_wire.h"

/* A SetWatches packet ends when it reaches this many bytes.  Servers refuse
 * packets of a megabyte (jute.maxbuffer), and a packet here is at most this
 * plus one path long. */
#define RESUME_BYTES (128 << 10)

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

void hf_zk_watch_set_add(struct hf_zk_watch_set *set,
                         struct hf_zk_watcher *watcher)
{
    const struct watch_key key = {watcher->mode, watcher->path,
                                  strlen(watcher->path)};
    struct hf_zk_watcher *first =
        hf_zk_watch_set_find(set, key.mode, key.path, key.bytes);

    assert(!watcher->in_set);
    watcher->in_set = true;
    watcher->to_notify = false;
    watcher->bytes = key.bytes;
    watcher->next_at_path = NULL;
    if (first != NULL) {
        watcher->next_at_path = first->next_at_path;
        first->next_at_path = watcher;
    } else {
        hf_tree_add(&set->paths, &watcher->by_path, &key);
    }
    watcher->next = set->first;
    watcher->link = &set->first;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    set->first = watcher;
}

/* If it was the first of its path, the next watcher takes its place in the
 * tree. */
void hf_zk_watch_set_remove(struct hf_zk_watch_set *set,
                            struct hf_zk_watcher *watcher)
{
    const struct watch_key key = {watcher->mode, watcher->path, watcher->bytes};
    struct hf_zk_watcher *at =
        hf_zk_watch_set_find(set, key.mode, key.path, key.bytes);

    if (!watcher->in_set)
        return;
    watcher->in_set = false;
    *watcher->link = watcher->next;
    if (watcher->next != NULL)
        watcher->next->link = watcher->link;
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

/* ---------------------------------------------------------------- events -- */

/* The next watcher at the path of ${key} that has not been notified of the
 * current event, or NULL. */
static struct hf_zk_watcher *next_to_notify(const struct hf_zk_watch_set *set,
                                            const struct watch_key *key)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    while (watcher != NULL && !watcher->to_notify)
        watcher = watcher->next_at_path;
    return watcher;
}

/* Notify the watchers that are in the set now.  A callback may remove any of
 * them and may add others, so the search starts again after each callback. */
static void notify_all(const struct hf_zk_watch_set *set,
                       const struct watch_key *key, enum hf_zk_event_type type)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    for (; watcher != NULL; watcher = watcher->next_at_path) {
        watcher->armed = false;
        watcher->to_notify = true;
    }
    while ((watcher = next_to_notify(set, key)) != NULL) {
        watcher->to_notify = false;
        watcher->fired(watcher, type);
    }
}

/* A deletion fires the watches of both modes. */
void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes)
{
    const struct watch_key data = {HF_ZK_WATCH_DATA, path, bytes};
    const struct watch_key children = {HF_ZK_WATCH_CHILDREN, path, bytes};

    if (type != HF_ZK_NODE_CHILDREN_CHANGED)
        notify_all(set, &data, type);
    if (type == HF_ZK_NODE_CHILDREN_CHANGED || type == HF_ZK_NODE_DELETED)
        notify_all(set, &children, type);
}

/* ---------------------------------------------------------------- resume -- */

/* A SetWatches packet that is being written: lists of data, exists and child
 * watches. */
struct packet {
    struct hf_jute_writer *out;
    int64_t zxid;
    bool children; /* the list of child watches is being written */
    bool open;
    size_t begin;
    size_t count_at;
    int32_t count;
};

/* Reserve the count of a list of paths; it is filled in when the list ends. */
static void begin_list(struct packet *packet, bool children)
{
    packet->children = children;
    packet->count_at = hf_jute_begin_frame(packet->out);
    packet->count = 0;
}

/* Write the header of a SetWatches packet and begin its list of data watches.
 */
static void begin_packet(struct packet *packet)
{
    packet->begin = hf_jute_begin_frame(packet->out);
    hf_jute_put_int(packet->out, HF_ZK_XID_SET_WATCHES);
    hf_jute_put_int(packet->out, HF_ZK_SET_WATCHES);
    hf_jute_put_long(packet->out, packet->zxid);
    begin_list(packet, false);
    packet->open = true;
}

/* End the list of data watches and begin that of child watches. */
static void begin_children_list(struct packet *packet)
{
    hf_jute_set_int(packet->out, packet->count_at, packet->count);
    hf_jute_put_int(packet->out, 0); /* no exists watches */
    begin_list(packet, true);
}

/* Complete the packet; all three lists must be present. */
static void end_packet(struct packet *packet)
{
    if (!packet->children)
        begin_children_list(packet);
    hf_jute_set_int(packet->out, packet->count_at, packet->count);
    hf_jute_end_frame(packet->out, packet->begin);
    packet->open = false;
}

/* Add the watcher's path to the packet; begins and ends packets as needed.
 * Data watches must come before child watches. */
static void put_path(struct packet *packet, const struct hf_zk_watcher *watcher)
{
    if (!packet->open)
        begin_packet(packet);
    if (!packet->children && watcher->mode == HF_ZK_WATCH_CHILDREN)
        begin_children_list(packet);
    hf_jute_put_buffer(packet->out, watcher->path, watcher->bytes);
    packet->count++;
    if (packet->out->used - packet->begin >= RESUME_BYTES)
        end_packet(packet);
}

/* True for the first armed watcher at its path.  One entry in SetWatches
 * serves all watchers of a path. */
static bool is_first_armed(const struct hf_zk_watch_set *set,
                           const struct hf_zk_watcher *watcher)
{
    const struct hf_zk_watcher *first =
        hf_zk_watch_set_find(set, watcher->mode, watcher->path, watcher->bytes);

    while (!first->armed)
        first = first->next_at_path;
    return first == watcher;
}

/* Two passes, because SetWatches has the data watches before the child
 * watches. */
void hf_zk_watch_set_resume(const struct hf_zk_watch_set *set,
                            struct hf_jute_writer *out, int64_t zxid)
{
    struct packet packet = {.out = out, .zxid = zxid};
    struct hf_zk_watcher *watcher;

    for (watcher = set->first; watcher != NULL; watcher = watcher->next)
        watcher->armed &= !watcher->idle;
    for (enum hf_zk_watch_mode mode = 0; mode < HF_ZK_WATCH_MODES; mode++) {
        for (watcher = set->first; watcher != NULL; watcher = watcher->next) {
            if (watcher->mode == mode && watcher->armed &&
                is_first_armed(set, watcher))
                put_path(&packet, watcher);
        }
    }
    if (packet.open)
        end_packet(&packet);
}
