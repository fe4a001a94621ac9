/* SPDX-License-Identifier: Apache-2.0 */
/* SetWatches has three lists of paths.  SetWatches2, which servers know from
 * 3.6 on, has five; it is sent if one of the other two lists is needed.  The
 * server goes through the lists in their order.  A one-shot watcher that is
 * served by an AddWatch at its path is listed, too, so that it fires if it
 * missed something.  The list of persistent watches comes later and gives the
 * path its persistent mode back. */
#include "zookeeper/watch_resume.h"

#include <assert.h>

/* A SetWatches packet ends when it reaches this many bytes.  Servers refuse
 * packets of a megabyte (jute.maxbuffer), and a packet here is at most this
 * plus one path long. */
#define RESUME_BYTES (128 << 10)

/* The lists of SetWatches2 in their order; those of SetWatches are the first
 * three. */
enum list { DATA, EXISTS, CHILDREN, PERSISTENT, RECURSIVE, LISTS };

/* ---------------------------------------------------------------- packet -- */

/* A SetWatches packet that is being written. */
struct packet {
    struct hf_jute_writer *out;
    int64_t zxid;
    enum list last; /* the last of its lists */
    bool open;
    enum list list; /* the list that is being written */
    size_t begin;
    size_t count_at;
    int32_t count;
    unsigned number; /* packets that were begun so far */
};

/* Reserve the count of a list of paths; it is filled in when the list ends. */
static void begin_list(struct packet *packet, enum list list)
{
    packet->list = list;
    packet->count_at = hf_jute_begin_frame(packet->out);
    packet->count = 0;
}

/* Write the header of a SetWatches packet and begin its first list. */
static void begin_packet(struct packet *packet)
{
    bool has_all = packet->last == RECURSIVE;

    packet->begin = hf_jute_begin_frame(packet->out);
    hf_jute_put_int(packet->out, HF_ZK_XID_SET_WATCHES);
    hf_jute_put_int(packet->out,
                    has_all ? HF_ZK_SET_WATCHES2 : HF_ZK_SET_WATCHES);
    hf_jute_put_long(packet->out, packet->zxid);
    begin_list(packet, DATA);
    packet->open = true;
    packet->number++;
}

/* End the lists before ${list} and begin that one. */
static void go_to_list(struct packet *packet, enum list list)
{
    while (packet->list < list) {
        hf_jute_set_int(packet->out, packet->count_at, packet->count);
        begin_list(packet, packet->list + 1);
    }
}

/* Complete the packet; all of its lists must be present. */
static void end_packet(struct packet *packet)
{
    go_to_list(packet, packet->last);
    hf_jute_set_int(packet->out, packet->count_at, packet->count);
    hf_jute_end_frame(packet->out, packet->begin);
    packet->open = false;
}

/* Add the watcher's path to ${list}; begins and ends packets as needed.  Paths
 * come list by list. */
static void put_path(struct packet *packet, enum list list,
                     const struct hf_zk_watcher *watcher)
{
    if (!packet->open)
        begin_packet(packet);
    go_to_list(packet, list);
    hf_jute_put_buffer(packet->out, watcher->path, watcher->bytes);
    packet->count++;
    if (packet->out->used - packet->begin >= RESUME_BYTES)
        end_packet(packet);
}

/* ---------------------------------------------------------------- resume -- */

/* The list in which an armed watcher is set again. */
static enum list list_of(const struct hf_zk_watcher *watcher)
{
    static const enum list lists[HF_ZK_WATCH_MODES] = {
        [HF_ZK_WATCH_DATA] = DATA,
        [HF_ZK_WATCH_CHILDREN] = CHILDREN,
        [HF_ZK_WATCH_PERSISTENT] = PERSISTENT,
        [HF_ZK_WATCH_RECURSIVE] = RECURSIVE,
    };

    return watcher->state == HF_ZK_WATCHER_ARMED_MISSING ? EXISTS
                                                         : lists[watcher->mode];
}

/* The first armed watcher of ${mode} at the path of ${watcher} that belongs
 * into ${list}; NULL for none. */
static const struct hf_zk_watcher *
first_armed(const struct hf_zk_watch_set *set, enum hf_zk_watch_mode mode,
            enum list list, const struct hf_zk_watcher *watcher)
{
    const struct hf_zk_watcher *first =
        hf_zk_watch_set_find(set, mode, watcher->path, watcher->bytes);

    while (first != NULL &&
           (!hf_zk_watcher_is_armed(first) || list_of(first) != list))
        first = first->next_at_path;
    return first;
}

/* Must ${watcher} be put into ${list}?  One entry serves all watchers of a
 * path, and a recursive watch serves the persistent ones too. */
static bool is_listed(const struct hf_zk_watch_set *set, enum list list,
                      const struct hf_zk_watcher *watcher)
{
    if (!hf_zk_watcher_is_armed(watcher) || list_of(watcher) != list ||
        first_armed(set, watcher->mode, list, watcher) != watcher)
        return false;
    return list != PERSISTENT ||
           first_armed(set, HF_ZK_WATCH_RECURSIVE, RECURSIVE, watcher) == NULL;
}

/* The server of the new connection has no watches.  It will not report what the
 * watches of AddWatch have missed, so HF_ZK_RESYNC is due to their watchers.
 * Returns the last list that is needed. */
static enum list begin_resume(struct hf_zk_watch_set *set)
{
    struct hf_zk_watcher *watcher;
    enum list last = CHILDREN;

    set->added = false;
    for (watcher = set->first; watcher != NULL; watcher = watcher->next) {
        if (watcher->not_set_again)
            hf_zk_watcher_disarm(watcher);
        hf_zk_watcher_forget_server(watcher);
        watcher->resync_due = hf_zk_watcher_is_armed(watcher) &&
                              !hf_zk_watch_mode_is_one_shot(watcher->mode);
        if (watcher->resync_due)
            last = RECURSIVE;
    }
    return last;
}

/* Put all paths of ${list} into packets.  From now on the server has the mode
 * of that list at these paths.  The answer need not be awaited: the server had
 * no watch there before, so it sends no event of another mode. */
static void put_list(struct hf_zk_watch_set *set, struct packet *packet,
                     enum list list)
{
    static const enum hf_zk_server_mode server_modes[LISTS] = {
        [PERSISTENT] = HF_ZK_SERVER_PERSISTENT,
        [RECURSIVE] = HF_ZK_SERVER_RECURSIVE,
    };
    struct hf_zk_watcher *watcher;

    for (watcher = set->first; watcher != NULL; watcher = watcher->next) {
        if (!is_listed(set, list, watcher))
            continue;
        put_path(packet, list, watcher);
        if (server_modes[list] == HF_ZK_SERVER_ONE_SHOT)
            continue;
        hf_zk_watch_set_put_server_mode(set, watcher, server_modes[list]);
        hf_zk_watch_set_mode_answered(set, watcher->path, watcher->bytes,
                                      server_modes[list]);
    }
}

/* The watchers are walked once for each list, because the lists follow each
 * other in a packet. */
void hf_zk_watch_set_resume(struct hf_zk_watch_set *set,
                            struct hf_jute_writer *out, int64_t zxid)
{
    struct packet packet = {.out = out, .zxid = zxid};

    packet.last = begin_resume(set);
    for (enum list list = DATA; list <= packet.last; list++)
        put_list(set, &packet, list);
    if (packet.open)
        end_packet(&packet);
    set->answers_due = packet.number;
}

/* ---------------------------------------------------------------- resync -- */

/* Notify all watchers to which HF_ZK_RESYNC is due.  The set moves the cursor
 * when a callback removes the next watcher.  Added watchers are in front of the
 * cursor, so they are not notified. */
static void notify_resync(struct hf_zk_watch_set *set)
{
    struct hf_zk_watcher *watcher;

    assert(set->cursor == NULL);
    set->cursor = set->first;
    while ((watcher = set->cursor) != NULL) {
        set->cursor = watcher->next;
        if (watcher->resync_due)
            hf_zk_watcher_resync(watcher);
    }
}

void hf_zk_watch_set_resume_answered(struct hf_zk_watch_set *set)
{
    if (set->answers_due == 0)
        return; /* the server has sent more answers than it got packets */
    set->answers_due--;
    if (set->answers_due == 0 && hf_zk_watch_set_has_persistent(set))
        notify_resync(set);
}

/* ------------------------------------------------ the end of the session -- */

/* The one-shot watchers are notified after all watchers have been changed. */
void hf_zk_watch_set_session_lost(struct hf_zk_watch_set *set)
{
    struct hf_zk_watcher *watcher;
    bool one_shot;

    set->added = false;
    for (watcher = set->first; watcher != NULL; watcher = watcher->next) {
        one_shot = hf_zk_watch_mode_is_one_shot(watcher->mode);
        watcher->resync_due = one_shot && hf_zk_watcher_is_armed(watcher);
        if (one_shot)
            hf_zk_watcher_disarm(watcher);
        else if (hf_zk_watcher_is_armed(watcher))
            hf_zk_watcher_move(watcher, HF_ZK_WATCHER_LOST);
        hf_zk_watcher_forget_server(watcher);
    }
    notify_resync(set);
}

struct hf_zk_watcher *
hf_zk_watch_set_next_lost(const struct hf_zk_watch_set *set,
                          const struct hf_zk_watcher *previous)
{
    struct hf_zk_watcher *watcher =
        previous != NULL ? previous->next : set->first;

    while (watcher != NULL && watcher->state != HF_ZK_WATCHER_LOST)
        watcher = watcher->next;
    return watcher;
}
