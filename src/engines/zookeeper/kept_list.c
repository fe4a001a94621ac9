/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/kept_list.h"

#include <string.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/op.h"
#include "engines/zookeeper/queue_list.h"

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
        own->kind < HF_TICKET_MUTEX || own->kind > HF_TICKET_QUEUED_LAST ||
        own->kind == HF_TICKET_LEASE)
        return queue->count;
    place = hf_zk_children_numbered(queue, own->sequence, &own->id);
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
        hf_zk_children_compact(queue);
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
        hf_zk_unknown_node_ignored(zk, queue, name);
        return true;
    }
    hf_zk_unknown_layout_check(zk, queue, name, &node);
    if (hf_zk_node_order(node.sequence) >
        hf_zk_node_order(children[last].node.sequence))
        return true;
    place = hf_zk_children_numbered(queue, node.sequence, &node.id);
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
            hf_zk_children_strike(queue, i);
    }
    if (queue->holes > 0)
        hf_zk_children_compact(queue);
    return true;
}
