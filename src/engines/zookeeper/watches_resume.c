/* SPDX-License-Identifier: Apache-2.0 */
/* SetWatches: a new connection carries the old session, and has its watches set
 * again before anything else. */
#include <assert.h>

#include "engines/zookeeper/private.h"
#include "engines/zookeeper/watch_table.h"

/* A SetWatches ends when it has so many bytes: servers refuse packets of a
 * megabyte (jute.maxbuffer), and ours are no longer than this and one path. */
#define RESUME_BYTES (128 << 10)

/* Watches without anybody who waits need not be set again. */
static void drop_unwatched(struct hf_zk *zk)
{
    struct hf_zk_watch *watch, *next;

    for (watch = zk->watches.first; watch != NULL; watch = next) {
        next = watch->next;
        assert(!watch->asking);
        if (watch->watchers == NULL)
            watch->armed = false;
        hf_zk_watch_settle(zk, watch);
    }
}

/* A packet under way: lists of data, exists and child watches. */
struct packet {
    struct hf_zk *zk;
    bool children; /* their list is being written */
    bool open;
    size_t begin;
    size_t count_at;
    int32_t count;
};

static void begin_list(struct packet *packet, bool children)
{
    packet->children = children;
    packet->count_at = hf_jute_begin_frame(&packet->zk->session.wire.out);
    packet->count = 0;
}

static void begin_packet(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->session.wire.out;

    packet->begin = hf_jute_begin_frame(out);
    hf_jute_put_int(out, HF_ZK_XID_SET_WATCHES);
    hf_jute_put_int(out, HF_ZK_SET_WATCHES);
    hf_jute_put_long(out, packet->zk->session.zxid);
    begin_list(packet, false);
    packet->open = true;
}

static void go_on_with_children(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->session.wire.out;

    hf_jute_set_int(out, packet->count_at, packet->count);
    hf_jute_put_int(out, 0); /* exists watches */
    begin_list(packet, true);
}

static void end_packet(struct packet *packet)
{
    struct hf_jute_writer *out = &packet->zk->session.wire.out;

    if (!packet->children)
        go_on_with_children(packet);
    hf_jute_set_int(out, packet->count_at, packet->count);
    hf_jute_end_frame(out, packet->begin);
    packet->open = false;
}

static void put_watch(struct packet *packet, const struct hf_zk_watch *watch)
{
    struct hf_jute_writer *out = &packet->zk->session.wire.out;

    if (!packet->open)
        begin_packet(packet);
    if (!packet->children && watch->kind == HF_ZK_WATCH_CHILDREN)
        go_on_with_children(packet);
    hf_jute_put_buffer(out, watch->path, watch->bytes);
    packet->count++;
    if (out->used - packet->begin >= RESUME_BYTES)
        end_packet(packet);
}

/* Watches that had fired and whose data were still being read when the
 * connection ended: other answers may have named the transaction already, so a
 * SetWatches would not fire them again. */
static void read_unread(struct hf_zk *zk)
{
    struct hf_zk_watch *watch;

    for (watch = zk->watches.first; watch != NULL; watch = watch->next) {
        if (watch->kind == HF_ZK_WATCH_NODE && !watch->armed)
            hf_zk_watch_read(zk, watch);
    }
}

void hf_zk_watches_resume(struct hf_zk *zk)
{
    struct packet packet = {.zk = zk};
    const struct hf_zk_watch *watch;

    drop_unwatched(zk);
    for (enum hf_zk_watch_kind kind = HF_ZK_WATCH_NODE;
         kind <= HF_ZK_WATCH_CHILDREN; kind++) {
        for (watch = zk->watches.first; watch != NULL; watch = watch->next) {
            if (watch->kind == kind && watch->armed)
                put_watch(&packet, watch);
        }
    }
    if (packet.open)
        end_packet(&packet);
    read_unread(zk);
}
