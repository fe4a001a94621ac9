/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/watch_set.h"

#include <assert.h>
#include <string.h>

#include "zookeeper/wire.h"

/* A SetWatches ends when it has so many bytes: servers refuse packets of a
 * megabyte (jute.maxbuffer), and ours are no longer than this and one path. */
#define RESUME_BYTES (128 << 10)

struct key {
    enum hf_zk_watch_mode mode;
    const char *path;
    size_t bytes;
};

static struct hf_zk_watcher *of_node(const struct hf_tree_node *node)
{
    size_t offset = offsetof(struct hf_zk_watcher, by_path);

    if (node == NULL)
        return NULL;
    return (struct hf_zk_watcher *)(void *)((char *)(uintptr_t)node - offset);
}

static int compare(const void *a, const struct hf_tree_node *node)
{
    const struct key *key = a;
    const struct hf_zk_watcher *watcher = of_node(node);

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
    const struct key key = {mode, path, bytes};

    return of_node(hf_tree_find(&set->paths, &key));
}

void hf_zk_watch_set_add(struct hf_zk_watch_set *set,
                         struct hf_zk_watcher *watcher)
{
    const struct key key = {watcher->mode, watcher->path,
                            strlen(watcher->path)};
    struct hf_zk_watcher *first =
        hf_zk_watch_set_find(set, key.mode, key.path, key.bytes);

    assert(!watcher->in_set);
    watcher->in_set = true;
    watcher->to_tell = false;
    watcher->bytes = key.bytes;
    watcher->beside = NULL;
    if (first != NULL) {
        watcher->beside = first->beside;
        first->beside = watcher;
    } else {
        hf_tree_add(&set->paths, &watcher->by_path, &key);
    }
    watcher->next = set->first;
    watcher->link = &set->first;
    if (watcher->next != NULL)
        watcher->next->link = &watcher->next;
    set->first = watcher;
}

void hf_zk_watch_set_remove(struct hf_zk_watch_set *set,
                            struct hf_zk_watcher *watcher)
{
    const struct key key = {watcher->mode, watcher->path, watcher->bytes};
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
        if (watcher->beside != NULL)
            hf_tree_add(&set->paths, &watcher->beside->by_path, &key);
        return;
    }
    while (at->beside != watcher)
        at = at->beside;
    at->beside = watcher->beside;
}

/* ---------------------------------------------------------------- events -- */

static struct hf_zk_watcher *next_to_tell(const struct hf_zk_watch_set *set,
                                          const struct key *key)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    while (watcher != NULL && !watcher->to_tell)
        watcher = watcher->beside;
    return watcher;
}

/* Those who are there now: who is told may remove others, and add some. */
static void tell(const struct hf_zk_watch_set *set, const struct key *key,
                 enum hf_zk_event_type type)
{
    struct hf_zk_watcher *watcher =
        hf_zk_watch_set_find(set, key->mode, key->path, key->bytes);

    for (; watcher != NULL; watcher = watcher->beside) {
        watcher->armed = false;
        watcher->to_tell = true;
    }
    while ((watcher = next_to_tell(set, key)) != NULL) {
        watcher->to_tell = false;
        watcher->fired(watcher, type);
    }
}

void hf_zk_watch_set_fired(const struct hf_zk_watch_set *set,
                           enum hf_zk_event_type type, const char *path,
                           size_t bytes)
{
    const struct key data = {HF_ZK_WATCH_DATA, path, bytes};
    const struct key children = {HF_ZK_WATCH_CHILDREN, path, bytes};

    if (type != HF_ZK_NODE_CHILDREN_CHANGED)
        tell(set, &data, type);
    if (type == HF_ZK_NODE_CHILDREN_CHANGED || type == HF_ZK_NODE_DELETED)
        tell(set, &children, type);
}

/* ---------------------------------------------------------------- resume -- */

/* A packet under way: lists of data, exists and child watches. */
struct packet {
    struct hf_jute_writer *out;
    int64_t zxid;
    bool children; /* their list is being written */
    bool open;
    size_t begin;
    size_t count_at;
    int32_t count;
};

static void begin_list(struct packet *packet, bool children)
{
    packet->children = children;
    packet->count_at = hf_jute_begin_frame(packet->out);
    packet->count = 0;
}

static void begin_packet(struct packet *packet)
{
    packet->begin = hf_jute_begin_frame(packet->out);
    hf_jute_put_int(packet->out, HF_ZK_XID_SET_WATCHES);
    hf_jute_put_int(packet->out, HF_ZK_SET_WATCHES);
    hf_jute_put_long(packet->out, packet->zxid);
    begin_list(packet, false);
    packet->open = true;
}

static void go_on_with_children(struct packet *packet)
{
    hf_jute_set_int(packet->out, packet->count_at, packet->count);
    hf_jute_put_int(packet->out, 0); /* exists watches */
    begin_list(packet, true);
}

static void end_packet(struct packet *packet)
{
    if (!packet->children)
        go_on_with_children(packet);
    hf_jute_set_int(packet->out, packet->count_at, packet->count);
    hf_jute_end_frame(packet->out, packet->begin);
    packet->open = false;
}

static void put_path(struct packet *packet, const struct hf_zk_watcher *watcher)
{
    if (!packet->open)
        begin_packet(packet);
    if (!packet->children && watcher->mode == HF_ZK_WATCH_CHILDREN)
        go_on_with_children(packet);
    hf_jute_put_buffer(packet->out, watcher->path, watcher->bytes);
    packet->count++;
    if (packet->out->used - packet->begin >= RESUME_BYTES)
        end_packet(packet);
}

/* Is it the first of those at its path that the new connection has to have? */
static bool stands_for_path(const struct hf_zk_watch_set *set,
                            const struct hf_zk_watcher *watcher)
{
    const struct hf_zk_watcher *first =
        hf_zk_watch_set_find(set, watcher->mode, watcher->path, watcher->bytes);

    while (!first->armed)
        first = first->beside;
    return first == watcher;
}

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
                stands_for_path(set, watcher))
                put_path(&packet, watcher);
        }
    }
    if (packet.open)
        end_packet(&packet);
}
