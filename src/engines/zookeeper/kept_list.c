/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last list of a queue, less what has gone since: a superset of who is
 * ahead.
 *
 * Nobody comes to stand ahead of a ticket that was listed, but for a reader who
 * takes the place of its own write ticket.  So what a list shows ahead of a
 * ticket of ours is, less what this session saw go, all that can be ahead of it
 * ever after.  Who waits by that waits too long at the worst, until the watch
 * of one that is not there says so, and never enters early.
 *
 * It serves in place of a new list while those ahead are the session's own, or
 * are watched: what goes of them is seen.  Of others we see nothing, and
 * whoever waited for one after the other would find each gone.  And it serves
 * on the connection that it came by, and only a ticket that is watched itself.
 *
 * A write ticket of another session that goes, or what may be one, ends its
 * use: there may be a reader where it was.
 */
#include <string.h>

#include "core/plant.h"
#include "engines/zookeeper/private.h"

/* Links each child with the nearest other ahead; nothing has gone yet. */
static void begin(struct hf_zk_queue *queue)
{
    size_t other = 0;

    for (size_t i = 0; i < queue->count; i++) {
        queue->children[i].other = other;
        if (!queue->children[i].ours)
            other = i + 1;
    }
    queue->live = 0;
    queue->holes = false;
}

/* After what has gone is left out, so that those ahead can be counted. */
void hf_zk_kept_begin(struct hf_zk_queue *queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < queue->count; i++) {
        if (!queue->children[i].gone)
            queue->children[kept++] = queue->children[i];
    }
    queue->count = kept;
    begin(queue);
}

static void strike(struct hf_zk_queue *queue, size_t place)
{
    queue->children[place].gone = true;
    if (HF_PLANTED(ZK_STRUCK_BEHIND) && place + 1 < queue->count)
        queue->children[place + 1].gone = true;
    while (queue->live < queue->count && queue->children[queue->live].gone)
        queue->live++;
    queue->holes |= place > queue->live;
}

/* Kinds whose tickets stand one by one, and leave nothing in their place. */
static bool goes_for_good(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_MUTEX || kind == HF_TICKET_READ ||
           kind == HF_TICKET_ELECTION ||
           (kind == HF_TICKET_WRITE && HF_PLANTED(ZK_WRITER_STRUCK));
}

/* Of ours it is known that nothing is left. */
void hf_zk_kept_own_gone(const struct hf_zk_own *own)
{
    struct hf_zk_queue *queue = own->queue;
    size_t place = hf_zk_queue_numbered(queue, own->sequence, &own->id);

    if (own->kind == HF_TICKET_LEASE || own->kind == HF_TICKET_MEMBER)
        queue->kept = 0;
    else if (place < queue->count)
        strike(queue, place);
}

void hf_zk_kept_node_gone(struct hf_zk *zk, const char *name, const char *path)
{
    struct hf_zk_queue *queue = hf_zk_queue_find(zk, name);
    const char *child = strrchr(path, '/') + 1;
    struct hf_zk_node node;
    size_t place;

    if (queue == NULL || !hf_zk_queue_parse(queue, child, strlen(child), &node))
        return;
    place = hf_zk_queue_numbered(queue, node.sequence, &node.id);
    if (place == queue->count || queue->children[place].gone ||
        strcmp(queue->children[place].name, child) != 0)
        return;
    if (goes_for_good(node.kind))
        strike(queue, place);
    else
        queue->kept = 0;
}

static bool is_watched(const struct hf_zk *zk, const char *path)
{
    int32_t version;

    return hf_zk_watches_version(zk, path, &version);
}

/* Are those ahead of ${place} ours, but for a few that are watched? */
static bool sees_ahead(struct hf_zk *zk, const struct hf_zk_queue *queue,
                       size_t place)
{
    const struct hf_zk_child *children = queue->children;
    size_t others = 0;

    for (size_t at = children[place].other; at > queue->live;
         at = children[at - 1].other) {
        if (children[at - 1].gone)
            continue;
        if (++others > HF_ADMISSION_NEAREST ||
            !is_watched(zk, hf_zk_child_path(zk, queue, children[at - 1].name)))
            return false;
    }
    return true;
}

bool hf_zk_kept_serves(struct hf_zk *zk, struct hf_zk_queue *queue,
                       const struct hf_zk_own *own)
{
    size_t place;

    if (queue->kept != zk->session.number || own->leaving || own->downgrading ||
        own->kind < HF_TICKET_MUTEX || own->kind > HF_TICKET_ASKED_LAST ||
        own->kind == HF_TICKET_LEASE)
        return false;
    if (queue->holes)
        hf_zk_kept_begin(queue);
    place = hf_zk_queue_numbered(queue, own->sequence, &own->id);
    return place < queue->count && !queue->children[place].gone &&
           is_watched(zk, hf_zk_own_path(zk, own, 0)) &&
           sees_ahead(zk, queue, place);
}
