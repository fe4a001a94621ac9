/* SPDX-License-Identifier: Apache-2.0 */
/* The token of a ticket is the czxid of its child, if that is known.  The czxid
 * of our own ticket was set when the ticket was listed. */
#include "engines/zookeeper/queue_snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "engines/zookeeper/children.h"
#include "engines/zookeeper/zk_private.h"
#include "engines/zookeeper/zk_queue.h"

size_t
hf_zk_engine_queue_index_of(const struct hf_zk_engine_queue *queue,
                            const struct hf_zk_engine_own_ticket *own_ticket,
                            const struct hf_ticket_id *id)
{
    size_t index = queue->count;

    assert(own_ticket == NULL || hf_ticket_id_equal(&own_ticket->id, id));
    if (own_ticket != NULL && own_ticket->queue == queue)
        index = hf_zk_engine_children_find(queue, own_ticket->sequence, id);
    if (index < queue->count && !queue->children[index].gone)
        return index;
    index = queue->first_live;
    while (index < queue->count &&
           (queue->children[index].gone ||
            !hf_ticket_id_equal(&queue->children[index].node.id, id)))
        index++;
    return index;
}

size_t hf_zk_engine_queue_index(const struct hf_zk_engine *zk,
                                const struct hf_zk_engine_queue *queue,
                                const struct hf_ticket_id *id)
{
    return hf_zk_engine_queue_index_of(
        queue, hf_zk_engine_own_ticket_find(zk, id), id);
}

/* Other programs write arbitrary bytes; a payload is valid UTF-8 without NUL.
 */
size_t hf_zk_engine_payload_copy(char payload[HF_PAYLOAD_BYTES],
                                 struct hf_jute_piece data)
{
    size_t bytes = data.count;

    if (bytes >= HF_PAYLOAD_BYTES)
        bytes = HF_PAYLOAD_BYTES - 1;
    if (bytes > 0)
        memcpy(payload, data.bytes, bytes);
    payload[bytes] = '\0';
    if (strlen(payload) != bytes || !hf_utf8_valid(payload, bytes)) {
        struct hf_quoted quoted = hf_quote(data.bytes, data.count);

        memcpy(payload, quoted.text, strlen(quoted.text) + 1);
    }
    return strlen(payload);
}

void hf_zk_engine_queue_set_head(struct hf_zk_engine_queue *queue,
                                 const struct hf_ticket_id *id,
                                 struct hf_jute_piece payload)
{
    char text[HF_PAYLOAD_BYTES];

    (void)hf_zk_engine_payload_copy(text, payload);
    hf_free(queue->head_payload);
    queue->head = *id;
    queue->head_payload = hf_strdup(text);
}

/* Make ${ticket} from ${child}.  Strings belong to the queue. */
static void fill_ticket(const struct hf_zk_engine *zk,
                        const struct hf_zk_engine_queue *queue,
                        const struct hf_zk_engine_child *child,
                        struct hf_ticket *ticket)
{
    int64_t czxid = child->czxid;

    ticket->id = child->node.id;
    ticket->sequence = hf_zk_engine_child_order(child);
    ticket->token = czxid > 0 ? (uint64_t)czxid + zk->config.token_floor : 0;
    ticket->kind = child->node.kind;
    ticket->weight = 1;
    ticket->payload = "";
    if (queue->head_payload != NULL &&
        hf_ticket_id_equal(&queue->head, &ticket->id))
        ticket->payload = queue->head_payload;
}

/* Is ${child} another permit of ${ticket}?  The permits of a lease are created
 * together, so no other node is between them. */
static bool belongs_to(const struct hf_zk_engine_child *child,
                       const struct hf_ticket *ticket)
{
    return child->node.kind == HF_TICKET_LEASE &&
           ticket->kind == HF_TICKET_LEASE &&
           hf_ticket_id_equal(&child->node.id, &ticket->id);
}

bool hf_zk_engine_snapshot_room(struct hf_zk_engine *zk, size_t count)
{
    return HF_ARRAY_ROOM(&zk->queues.snapshot, &zk->queues.snapshot_size,
                         count);
}

/* Permits of one lease become one ticket with a weight. */
bool hf_zk_engine_queue_snapshot(struct hf_zk_engine *zk,
                                 const struct hf_zk_engine_queue *queue,
                                 struct hf_snapshot *snapshot)
{
    struct hf_ticket *tickets;

    if (!hf_zk_engine_snapshot_room(zk, queue->count))
        return false;
    tickets = zk->queues.snapshot;
    snapshot->tickets = tickets;
    snapshot->count = 0;
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_engine_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_PARTICIPANT)
            continue;
        if (snapshot->count > 0 &&
            belongs_to(child, &tickets[snapshot->count - 1]))
            tickets[snapshot->count - 1].weight++;
        else
            fill_ticket(zk, queue, child, &tickets[snapshot->count++]);
    }
    return true;
}

/* Append one ticket to the snapshot. */
static void put_ticket(struct hf_zk_engine *zk, struct hf_snapshot *snapshot,
                       enum hf_ticket_kind kind, const struct hf_ticket_id *id,
                       int64_t czxid)
{
    zk->queues.snapshot[snapshot->count++] =
        (struct hf_ticket){.id = *id,
                           .sequence = (uint64_t)czxid,
                           .token = (uint64_t)czxid + zk->config.token_floor,
                           .kind = kind,
                           .weight = 1,
                           .payload = ""};
}

/* A participant whose node was gone when it was read has a negative .czxid, and
 * is left out. */
bool hf_zk_engine_participants_snapshot(struct hf_zk_engine *zk,
                                        const struct hf_zk_engine_queue *queue,
                                        int64_t ready,
                                        struct hf_snapshot *snapshot)
{
    static const struct hf_ticket_id no_id;

    if (!hf_zk_engine_snapshot_room(zk, queue->count + 1))
        return false;
    *snapshot = (struct hf_snapshot){zk->queues.snapshot, 0, 0};
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_engine_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_PARTICIPANT && child->czxid > 0)
            put_ticket(zk, snapshot, child->node.kind, &child->node.id,
                       child->czxid);
    }
    if (ready > 0)
        put_ticket(zk, snapshot, HF_TICKET_READY, &no_id, ready);
    qsort(zk->queues.snapshot, snapshot->count, sizeof *zk->queues.snapshot,
          hf_ticket_compare);
    return true;
}

/* The head, the nearest tickets ahead that may be in the way, and the ticket
 * itself; .more_ahead counts the tickets ahead that were left out. */
void hf_zk_engine_queue_partial_snapshot(struct hf_zk_engine *zk,
                                         const struct hf_zk_engine_queue *queue,
                                         size_t index,
                                         const struct hf_ticket_id *mine,
                                         enum hf_ticket_kind kind,
                                         struct hf_snapshot *snapshot)
{
    const struct hf_zk_engine_child *children = queue->children;
    struct hf_ticket *tickets = zk->queues.partial;
    size_t first = queue->first_live, count = 0;

    assert(index == queue->count ||
           hf_ticket_id_equal(&children[index].node.id, mine));
    while (first < queue->count &&
           children[first].node.kind == HF_TICKET_PARTICIPANT)
        first++;
    if (first < queue->count)
        fill_ticket(zk, queue, &children[first], &tickets[count++]);
    *snapshot = (struct hf_snapshot){tickets, count, 0};
    if (index == queue->count || index <= first)
        return;
    for (size_t i = index; --i > first && count <= HF_ADMISSION_NEAREST;) {
        if (!children[i].gone &&
            hf_admission_concerns(mine, kind, &children[i].node.id,
                                  children[i].node.kind))
            fill_ticket(zk, queue, &children[i], &tickets[count++]);
    }
    snapshot->more_ahead = index - first - count;
    fill_ticket(zk, queue, &children[index], &tickets[count++]);
    snapshot->count = count;
    qsort(tickets, count, sizeof *tickets, hf_ticket_compare);
}
