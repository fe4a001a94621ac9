/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a list in: names become children, with czxids as far as they are
 * known.  Giving it out: children become tickets, with the tokens of our own.
 */
#include "engines/zookeeper/queue_snapshot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "engines/zookeeper/barriers.h"
#include "engines/zookeeper/children.h"
#include "engines/zookeeper/zk_private.h"
#include "engines/zookeeper/zk_queue.h"

/* ------------------------------------------------------------ taking in -- */

/* The shortest name is that of the barrier node; those with a number are
 * longer. */
size_t hf_zk_engine_tickets_at_most(const struct hf_jute_reader *body,
                                    size_t count)
{
    size_t most = body->left / (HF_ZK_CHILD_LEAST_BYTES + strlen(HF_ZK_READY));

    return count < most ? count : most;
}

/* A participant of the previous list. */
struct known_participant {
    struct hf_ticket_id id;
    int64_t czxid;
};

/* Those of the previous list, in the order of their ids. */
struct known_participants {
    struct known_participant *at;
    size_t count;
};

/* Order of known participants for qsort() and bsearch(). */
static int compare_known(const void *a, const void *b)
{
    const struct known_participant *x = a, *y = b;

    return memcmp(&x->id, &y->id, sizeof x->id);
}

/* Collect those of the list of ${queue}, which is to be replaced.  False for
 * lack of memory. */
static bool know_participants(const struct hf_zk_engine_queue *queue,
                              struct known_participants *known)
{
    size_t count = 0;

    for (size_t i = queue->first_live; i < queue->count; i++)
        count += queue->children[i].node.kind == HF_TICKET_PARTICIPANT;
    *known = (struct known_participants){NULL, 0};
    if (count == 0)
        return true;
    if ((known->at = hf_alloc(count * sizeof *known->at)) == NULL)
        return false;
    for (size_t i = queue->first_live; i < queue->count; i++) {
        const struct hf_zk_engine_child *child = &queue->children[i];

        if (child->node.kind == HF_TICKET_PARTICIPANT && !child->gone)
            known->at[known->count++] =
                (struct known_participant){child->node.id, child->czxid};
    }
    qsort(known->at, known->count, sizeof *known->at, compare_known);
    return true;
}

/* The czxid of a participant of others, which the previous list may have; 0 if
 * unknown.  See barriers.c. */
static int64_t known_czxid(const struct known_participants *known,
                           const struct hf_ticket_id *id)
{
    const struct known_participant wanted = {*id, 0};
    const struct known_participant *found =
        known->count == 0 ? NULL
                          : bsearch(&wanted, known->at, known->count,
                                    sizeof *known->at, compare_known);

    return found != NULL ? found->czxid : 0;
}

/* Set what is known of a child by its id.  Participants and permits are ordered
 * by their czxid; of permits of others nobody has to know the order. */
static void recognise(const struct hf_zk_engine *zk,
                      const struct known_participants *known,
                      struct hf_zk_engine_child *child)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &child->node.id);
    bool participant = child->node.kind == HF_TICKET_PARTICIPANT;

    child->ours = own_ticket != NULL;
    child->czxid = 0;
    if (own_ticket == NULL && participant)
        child->czxid = known_czxid(known, &child->node.id);
    else if (own_ticket != NULL &&
             (participant || hf_zk_engine_node_is_permit(&child->node)))
        child->czxid = own_ticket->czxid;
}

/* Turn the names of a list into children and copy the names to ${names}.
 * Reports unknown nodes.  Returns how many are tickets. */
static size_t take_children(struct hf_zk_engine *zk,
                            struct hf_zk_engine_queue *queue,
                            struct hf_jute_reader *body, size_t count,
                            const struct known_participants *known,
                            struct hf_zk_engine_child *children, char *names)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(body);

        if (name.bytes == NULL ||
            !hf_zk_engine_queue_parse(queue, name.bytes, name.count,
                                      &children[kept].node)) {
            hf_zk_engine_report_unknown_node(zk, queue, name);
            continue;
        }
        hf_zk_engine_report_unseen_layout(zk, queue, name,
                                          &children[kept].node);
        memcpy(names, name.bytes, name.count);
        names[name.count] = '\0';
        children[kept].name = names;
        recognise(zk, known, &children[kept]);
        children[kept].gone = false;
        names += name.count + 1;
        kept++;
    }
    return kept;
}

/* A list that shows a ticket of ours as a reader shows that a downgrade
 * without an answer has happened. */
static void note_downgraded(struct hf_zk_engine *zk,
                            const struct hf_zk_engine_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        const struct hf_zk_engine_node *node = &queue->children[i].node;
        struct hf_zk_engine_own_ticket *own_ticket =
            node->kind == HF_TICKET_READ && queue->children[i].ours
                ? hf_zk_engine_own_ticket_find(zk, &node->id)
                : NULL;

        if (own_ticket != NULL && own_ticket->downgrading &&
            own_ticket->sequence == node->sequence)
            hf_zk_engine_own_ticket_downgraded(zk, own_ticket);
    }
}

/* Replace the queue's children by those in ${body}.  Nothing is changed if it
 * cannot be read or there is no memory. */
static enum hf_zk_error replace_list(struct hf_zk_engine *zk,
                                     struct hf_zk_engine_queue *queue,
                                     struct hf_jute_reader *body)
{
    size_t bytes = body->left;
    size_t count = hf_jute_get_count(body, HF_ZK_CHILD_LEAST_BYTES);
    size_t room = hf_zk_engine_tickets_at_most(body, count);
    struct hf_zk_engine_child *children =
        hf_alloc((room + 1) * sizeof *children);
    char *names = hf_alloc(bytes + 1);
    enum hf_zk_error error = HF_ZK_OUT_OF_MEMORY;
    struct known_participants known = {NULL, 0};

    if (children == NULL || names == NULL || !know_participants(queue, &known))
        goto keep;
    count = take_children(zk, queue, body, count, &known, children, names);
    error = HF_ZK_MALFORMED;
    if (body->failed)
        goto keep;
    hf_zk_engine_children_set(queue, children, count, names);
    note_downgraded(zk, queue);
    queue->listed_on = zk->session.connection_number;
    hf_zk_engine_children_compact(queue);
    hf_free(known.at);
    return HF_ZK_OK;
keep:
    hf_free(known.at);
    hf_free(children);
    hf_free(names);
    return error;
}

enum hf_zk_error hf_zk_engine_queue_take_list(struct hf_zk_engine *zk,
                                              struct hf_zk_engine_queue *queue,
                                              enum hf_zk_error error,
                                              struct hf_jute_reader *body)
{
    if (error == HF_ZK_OK)
        return replace_list(zk, queue, body);
    if (error == HF_ZK_NO_NODE) {
        hf_zk_engine_children_set(queue, NULL, 0, NULL);
        queue->first_live = 0;
        queue->listed_on = 0;
    }
    return error;
}

/* Set the czxids of our own tickets, because two nodes may have the same
 * number, for example one that somebody created by hand. */
static void set_own_czxids(const struct hf_zk_engine *zk,
                           struct hf_zk_engine_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_zk_engine_child *child = &queue->children[i];
        const struct hf_zk_engine_own_ticket *own_ticket =
            child->node.kind == HF_TICKET_PARTICIPANT
                ? NULL
                : hf_zk_engine_own_ticket_find(zk, &child->node.id);

        if (own_ticket != NULL)
            child->czxid = own_ticket->czxid;
    }
}

void hf_zk_engine_queue_sort(const struct hf_zk_engine *zk,
                             struct hf_zk_engine_queue *queue)
{
    set_own_czxids(zk, queue);
    hf_zk_engine_children_sort(queue);
    hf_zk_engine_children_compact(queue);
}

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

/* The nodes of a lease stand next to each other with consecutive numbers. */
uint32_t hf_zk_engine_queue_weight(const struct hf_zk_engine_queue *queue,
                                   size_t index)
{
    size_t next = index;
    const struct hf_zk_engine_node *first;
    const struct hf_zk_engine_node *node;

    if (index == queue->count)
        return 0;
    first = &queue->children[index].node;
    do {
        next++;
        node = &queue->children[next].node;
    } while (next < queue->count && first->kind == HF_TICKET_LEASE &&
             node->kind == HF_TICKET_LEASE &&
             hf_ticket_id_equal(&node->id, &first->id) &&
             (uint32_t)node->sequence ==
                 (uint32_t)first->sequence + (uint32_t)(next - index));
    return (uint32_t)(next - index);
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
    queue->head = *id;
    queue->head_known = true;
    (void)hf_zk_engine_payload_copy(queue->head_payload, payload);
}

/* Make ${ticket} from ${child}.  Strings belong to the queue. */
static void fill_ticket(const struct hf_zk_engine *zk,
                        const struct hf_zk_engine_queue *queue,
                        const struct hf_zk_engine_child *child,
                        struct hf_ticket *ticket)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_find(zk, &child->node.id);
    int64_t czxid = own_ticket != NULL ? own_ticket->czxid : child->czxid;

    ticket->id = child->node.id;
    ticket->sequence = hf_zk_engine_child_order(child);
    ticket->token = czxid > 0 ? (uint64_t)czxid + zk->config.token_floor : 0;
    ticket->kind = child->node.kind;
    ticket->weight = 1;
    ticket->payload = "";
    if (queue->head_known && hf_ticket_id_equal(&queue->head, &ticket->id))
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
    struct hf_zk_engine_queues *queues = &zk->queues;
    struct hf_ticket *tickets;

    if (count <= queues->snapshot_size)
        return true;
    tickets = hf_realloc(queues->snapshot, 2 * count * sizeof *tickets);
    if (tickets == NULL)
        return false;
    queues->snapshot = tickets;
    queues->snapshot_size = 2 * count;
    return true;
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

/* A participant whose node was gone when it was read is left out. */
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
 * itself; .more counts those left out. */
void hf_zk_engine_queue_partial_snapshot(
    struct hf_zk_engine *zk, const struct hf_zk_engine_queue *queue,
    const struct hf_zk_engine_own_ticket *own_ticket,
    const struct hf_ticket_id *mine, enum hf_ticket_kind kind,
    struct hf_snapshot *snapshot)
{
    const struct hf_zk_engine_child *children = queue->children;
    size_t index = hf_zk_engine_queue_index_of(queue, own_ticket, mine);
    struct hf_ticket *tickets = zk->queues.partial;
    size_t first = queue->first_live, count = 0;

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
