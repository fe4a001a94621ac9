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
 *
 * Where it does not serve, a new list is compared with it: of those ahead of
 * the ticket that asks, what the new one lacks has gone.  Those behind stay, as
 * they are a superset of who is ahead of the tickets there.  So a list of ten
 * thousand, of which a few are ahead, is passed over once and not sorted.  A
 * ticket ahead that is not in the kept one is a reader in the place of its
 * writer: then the new list replaces it.
 */
#include <string.h>

#include "engines/zookeeper/op.h"

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
    queue->holes = 0;
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

static void mark_gone(struct hf_zk_queue *queue, size_t place)
{
    queue->holes += !queue->children[place].gone;
    queue->children[place].gone = true;
}

static void strike(struct hf_zk_queue *queue, size_t place)
{
    mark_gone(queue, place);
    for (; queue->live < queue->count && queue->children[queue->live].gone;
         queue->live++)
        queue->holes--;
}

/* Kinds whose tickets stand one by one, and leave nothing in their place. */
static bool goes_for_good(enum hf_ticket_kind kind)
{
    return kind == HF_TICKET_MUTEX || kind == HF_TICKET_READ ||
           kind == HF_TICKET_ELECTION;
}

/* Of ours it is known that nothing is left. */
void hf_zk_kept_own_gone(const struct hf_zk_own *own)
{
    struct hf_zk_queue *queue = own->queue;
    size_t place = hf_zk_queue_numbered(queue, own->sequence, &own->id);

    if (own->kind == HF_TICKET_LEASE || own->kind == HF_TICKET_PARTICIPANT)
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

/* The place of our ticket ${own}, if what is kept is about it; or .count. */
static size_t place_of(const struct hf_zk *zk, const struct hf_zk_queue *queue,
                       const struct hf_zk_own *own)
{
    size_t place;

    if (queue->kept != zk->session.number || own->leaving || own->downgrading ||
        own->kind < HF_TICKET_MUTEX || own->kind > HF_TICKET_ASKED_LAST ||
        own->kind == HF_TICKET_LEASE)
        return queue->count;
    place = hf_zk_queue_numbered(queue, own->sequence, &own->id);
    return place < queue->count && !queue->children[place].gone ? place
                                                                : queue->count;
}

bool hf_zk_kept_serves(struct hf_zk *zk, struct hf_zk_queue *queue,
                       const struct hf_zk_own *own)
{
    size_t place = place_of(zk, queue, own);

    if (place == queue->count || !is_watched(zk, hf_zk_own_path(zk, own, 0)) ||
        !sees_ahead(zk, queue, place))
        return false;
    if (queue->holes > 0)
        hf_zk_kept_begin(queue);
    return true;
}

/* ------------------------------------------------------------ new lists -- */

/* The place of the last of those in ${line}, or .count if one is not there. */
static size_t last_of(const struct hf_zk *zk, const struct hf_zk_queue *queue,
                      const struct hf_zk_line *line)
{
    size_t last = 0;

    for (const struct hf_zk_op *op = line->first; op != NULL;
         op = op->next_in_line) {
        const struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);
        size_t place = own != NULL ? place_of(zk, queue, own) : queue->count;

        if (place > last)
            last = place;
    }
    return last;
}

/* The new list has ${name}.  False if that is ahead and not in what is kept. */
static bool take_child(struct hf_zk *zk, struct hf_zk_queue *queue, size_t last,
                       struct hf_jute_piece name)
{
    struct hf_zk_child *children = queue->children;
    struct hf_zk_node node;
    size_t place;

    if (name.bytes == NULL ||
        !hf_zk_queue_parse(queue, name.bytes, name.count, &node)) {
        hf_zk_stranger_ignored(zk, queue, name);
        return true;
    }
    hf_zk_stranger_check(zk, queue, name, &node);
    if (hf_zk_node_order(node.sequence) >
        hf_zk_node_order(children[last].node.sequence))
        return true;
    place = hf_zk_queue_numbered(queue, node.sequence, &node.id);
    if (place == queue->count || strlen(children[place].name) != name.count ||
        memcmp(children[place].name, name.bytes, name.count) != 0)
        return false;
    children[place].listed = true;
    return true;
}

/* Mark those up to ${last} that the new list has; false if they are not all
 * that it has there. */
static bool take_ahead(struct hf_zk *zk, struct hf_zk_queue *queue, size_t last,
                       struct hf_jute_reader body)
{
    const struct hf_zk_child *mine = &queue->children[last];
    size_t count = hf_jute_get_count(&body, HF_ZK_CHILD_LEAST_BYTES);
    struct hf_zk_pattern pattern;

    if (!hf_zk_pattern_of(&mine->node, mine->name, &pattern))
        return false;
    for (size_t i = queue->live; i <= last; i++)
        queue->children[i].listed = false;
    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(&body);

        if ((name.bytes == NULL ||
             !hf_zk_pattern_before(&pattern, name.bytes, name.count)) &&
            !take_child(zk, queue, last, name))
            return false;
    }
    return !body.failed;
}

bool hf_zk_kept_update(struct hf_zk *zk, struct hf_zk_queue *queue,
                       const struct hf_zk_line *line,
                       struct hf_jute_reader body)
{
    size_t last = last_of(zk, queue, line);

    if (last >= queue->count || !take_ahead(zk, queue, last, body))
        return false;
    for (size_t i = queue->live; i <= last; i++) {
        if (!queue->children[i].gone && !queue->children[i].listed)
            strike(queue, i);
    }
    if (queue->holes > 0)
        hf_zk_kept_begin(queue);
    return true;
}
