/* SPDX-License-Identifier: Apache-2.0 */
/* Own tickets are in a tree by id, and in a list by how long ago each was
 * checked by a proof. */
#include "engines/zookeeper/zk_own_ticket.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "engines/zookeeper/children.h"
#include "engines/zookeeper/zk_private.h"

/* Order of the tree: by id. */
static int compare_id(const void *id, const struct hf_tree_node *node)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        container_of(node, const struct hf_zk_engine_own_ticket, by_id);

    return memcmp(id, &own_ticket->id, sizeof own_ticket->id);
}

struct hf_zk_engine_own_ticket *
hf_zk_engine_own_ticket_find(const struct hf_zk_engine *zk,
                             const struct hf_ticket_id *id)
{
    return container_of_or_null(hf_tree_find(&zk->own_tickets.ids, id),
                                struct hf_zk_engine_own_ticket, by_id);
}

/* Append to the list of proofs. */
static void link_last(struct hf_zk_engine_own_tickets *tickets,
                      struct hf_zk_engine_own_ticket *own_ticket)
{
    if (tickets->end == NULL)
        tickets->end = &tickets->first;
    own_ticket->next = NULL;
    own_ticket->link = tickets->end;
    *own_ticket->link = own_ticket;
    tickets->end = &own_ticket->next;
}

/* Remove from the list of proofs. */
static void unlink_ticket(struct hf_zk_engine_own_tickets *tickets,
                          struct hf_zk_engine_own_ticket *own_ticket)
{
    assert(*own_ticket->link == own_ticket);
    *own_ticket->link = own_ticket->next;
    if (own_ticket->next != NULL)
        own_ticket->next->link = own_ticket->link;
    else
        tickets->end = own_ticket->link;
}

/* Write the name of the ${nth} node of ${own_ticket}. */
static void node_name(const struct hf_zk_engine_own_ticket *own_ticket,
                      uint32_t nth, char name[HF_ZK_NODE_BYTES])
{
    assert(nth < own_ticket->weight);
    if (own_ticket->kind == HF_TICKET_PARTICIPANT)
        hf_ticket_id_format(&own_ticket->id, name);
    else if (own_ticket->prefix_bytes == 0)
        hf_zk_engine_permit_name(&own_ticket->id, nth, name);
    else /* servers number the nodes of one multi consecutively */
        hf_zk_engine_node_format_name(
            own_ticket->prefix, (int32_t)((uint32_t)own_ticket->sequence + nth),
            name);
}

/* Only the prefix and the number are kept.  The name is built from them and
 * compared, to be sure that it is the same. */
struct hf_zk_engine_own_ticket *hf_zk_engine_own_ticket_add(
    struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue,
    const struct hf_zk_engine_node *node, struct hf_jute_piece name,
    uint32_t weight, int64_t czxid)
{
    char rebuilt[HF_ZK_NODE_BYTES];
    struct hf_zk_engine_own_ticket *own_ticket;

    if (name.count >= sizeof own_ticket->prefix)
        return NULL;
    assert(hf_zk_engine_own_ticket_find(zk, &node->id) == NULL);
    if ((own_ticket = hf_alloc(sizeof *own_ticket)) == NULL)
        return NULL;
    own_ticket->queue = queue;
    queue->users++;
    own_ticket->id = node->id;
    own_ticket->kind = node->kind;
    own_ticket->sequence = node->sequence;
    own_ticket->weight = weight;
    own_ticket->czxid = czxid;
    if (!hf_zk_engine_node_is_permit(node) &&
        node->kind != HF_TICKET_PARTICIPANT)
        own_ticket->prefix_bytes =
            name.count - hf_zk_engine_node_sequence_bytes(node->sequence);
    memcpy(own_ticket->prefix, name.bytes, own_ticket->prefix_bytes);
    node_name(own_ticket, 0, rebuilt);
    /* It differs if the number is not written as servers write numbers. */
    if (memcmp(rebuilt, name.bytes, name.count) != 0) {
        hf_zk_engine_queue_release(zk, queue);
        hf_free(own_ticket);
        return NULL;
    }
    hf_tree_add(&zk->own_tickets.ids, &own_ticket->by_id, &own_ticket->id);
    link_last(&zk->own_tickets, own_ticket);
    return own_ticket;
}

/* The ticket has been removed: mark its child in the queue as gone. */
static void forget_listed(const struct hf_zk_engine_own_ticket *own_ticket)
{
    struct hf_zk_engine_queue *queue = own_ticket->queue;
    size_t index = hf_zk_engine_children_find(queue, own_ticket->sequence,
                                              &own_ticket->id);

    if (own_ticket->kind == HF_TICKET_LEASE ||
        own_ticket->kind == HF_TICKET_PARTICIPANT)
        queue->listed_on = 0;
    else if (index < queue->count)
        hf_zk_engine_children_mark_gone(queue, index);
}

void hf_zk_engine_own_ticket_free(struct hf_zk_engine *zk,
                                  struct hf_zk_engine_own_ticket *own_ticket)
{
    forget_listed(own_ticket);
    hf_tree_remove(&zk->own_tickets.ids, &own_ticket->by_id, &own_ticket->id);
    unlink_ticket(&zk->own_tickets, own_ticket);
    hf_zk_engine_queue_release(zk, own_ticket->queue);
    hf_free(own_ticket);
}

/* The prefix of our ticket as a read ticket. */
static void read_prefix(const struct hf_zk_engine *zk,
                        const struct hf_zk_engine_own_ticket *own_ticket,
                        char prefix[HF_ZK_PREFIX_BYTES])
{
    bool named = hf_zk_engine_node_prefix(zk->config.layout, &own_ticket->id,
                                          HF_TICKET_READ, prefix);

    assert(named); /* the layout has write tickets, so it has read tickets */
    (void)named;
}

void hf_zk_engine_own_ticket_read_name(
    const struct hf_zk_engine *zk,
    const struct hf_zk_engine_own_ticket *own_ticket,
    char name[HF_ZK_NODE_BYTES])
{
    char prefix[HF_ZK_PREFIX_BYTES];

    read_prefix(zk, own_ticket, prefix);
    hf_zk_engine_node_format_name(prefix, own_ticket->sequence, name);
}

void hf_zk_engine_own_ticket_downgraded(
    const struct hf_zk_engine *zk, struct hf_zk_engine_own_ticket *own_ticket)
{
    read_prefix(zk, own_ticket, own_ticket->prefix);
    own_ticket->prefix_bytes = strlen(own_ticket->prefix);
    own_ticket->kind = HF_TICKET_READ;
    own_ticket->downgrading = false;
    own_ticket->queue->listed_on = 0; /* the cached list shows a write ticket */
}

struct hf_zk_engine_own_ticket *
hf_zk_engine_own_ticket_at(const struct hf_zk_engine *zk, const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct hf_zk_engine_node node;
    struct hf_zk_engine_own_ticket *own_ticket;

    if (!hf_zk_engine_node_parse(name, strlen(name), &node) &&
        !hf_zk_engine_participant_parse(name, strlen(name), &node) &&
        !hf_zk_engine_permit_parse(name, strlen(name), &node))
        return NULL;
    own_ticket = hf_zk_engine_own_ticket_find(zk, &node.id);
    if (own_ticket != NULL && !own_ticket->downgrading &&
        strncmp(own_ticket->prefix, name, own_ticket->prefix_bytes) == 0 &&
        (uint32_t)node.sequence - (uint32_t)own_ticket->sequence <
            own_ticket->weight)
        return own_ticket;
    return NULL;
}

void hf_zk_engine_own_ticket_node_gone(struct hf_zk_engine *zk,
                                       const char *path)
{
    struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_at(zk, path);

    if (own_ticket != NULL)
        hf_zk_engine_own_ticket_free(zk, own_ticket);
}

const char *
hf_zk_engine_own_ticket_path(struct hf_zk_engine *zk,
                             const struct hf_zk_engine_own_ticket *own_ticket,
                             uint32_t nth)
{
    char name[HF_ZK_NODE_BYTES];

    node_name(own_ticket, nth, name);
    return hf_zk_engine_child_path(zk, own_ticket->queue, name);
}

/* One delete, or a multi for a lease. */
void hf_zk_engine_own_ticket_delete(
    struct hf_zk_engine *zk, const struct hf_zk_engine_own_ticket *own_ticket,
    struct hf_zk_call *call)
{
    size_t begin;

    if (own_ticket->weight == 1) {
        hf_zk_send_delete(&zk->session, call,
                          hf_zk_engine_own_ticket_path(zk, own_ticket, 0));
        return;
    }
    begin = hf_zk_call_begin(&zk->session, call, HF_ZK_MULTI);
    for (uint32_t i = 0; i < own_ticket->weight; i++)
        hf_zk_multi_delete(&zk->session,
                           hf_zk_engine_own_ticket_path(zk, own_ticket, i),
                           HF_ZK_ANY_VERSION);
    hf_zk_multi_end(&zk->session, begin);
}

void hf_zk_engine_own_ticket_move_last(
    struct hf_zk_engine *zk, struct hf_zk_engine_own_ticket *own_ticket)
{
    unlink_ticket(&zk->own_tickets, own_ticket);
    link_last(&zk->own_tickets, own_ticket);
}

void hf_zk_engine_own_tickets_init(struct hf_zk_engine_own_tickets *tickets)
{
    *tickets =
        (struct hf_zk_engine_own_tickets){.ids = {.compare = compare_id}};
}

void hf_zk_engine_own_tickets_clear(struct hf_zk_engine *zk)
{
    while (zk->own_tickets.first != NULL)
        hf_zk_engine_own_ticket_free(zk, zk->own_tickets.first);
}

/* -------------------------------------------------------------- eviction -- */

#define EVICTED "holdfast evicted "
#define BY " by "

void hf_zk_engine_eviction_format(const struct hf_ticket_id *id,
                                  const char *evicted_by,
                                  char data[HF_ZK_EVICTION_BYTES])
{
    char text[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(id, text);
    (void)snprintf(data, HF_ZK_EVICTION_BYTES, EVICTED "%s" BY "%s", text,
                   evicted_by);
}

bool hf_zk_engine_eviction_may_replace(struct hf_jute_piece data)
{
    return data.count == 0 ||
           (data.count >= strlen(EVICTED) &&
            memcmp(data.bytes, EVICTED, strlen(EVICTED)) == 0);
}

/* A read of who evicted a ticket, from its call to the answer. */
struct eviction_read {
    struct hf_zk_call call;
    struct hf_ticket_id id;
    char path[]; /* of the parent */
};

/* Log what ${data} say, if they are about the ticket of ${read}. */
static void log_eviction(struct hf_zk_engine *zk,
                         const struct eviction_read *read,
                         struct hf_jute_piece data)
{
    char before[HF_ZK_EVICTION_BYTES];
    char why[HF_EVICTED_WHY_BYTES];
    size_t bytes;

    hf_zk_engine_eviction_format(&read->id, "", before);
    bytes = strlen(before);
    if (data.count > bytes && memcmp(data.bytes, before, bytes) == 0 &&
        hf_evicted_by_explain(data.bytes + bytes, data.count - bytes, why) !=
            NULL)
        zk->host.log(zk->host.host, HF_LOG_WARNING, "the lock at %s: %s",
                     read->path, why);
}

static void parent_read(void *user, struct hf_zk_call *call,
                        const struct hf_zk_reply *reply)
{
    struct eviction_read *read = call->owner;
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK)
        log_eviction(user, read, hf_jute_get_buffer(&body));
    hf_free(read);
}

void hf_zk_engine_eviction_read(struct hf_zk_engine *zk, const char *path)
{
    const struct hf_zk_engine_own_ticket *own_ticket =
        hf_zk_engine_own_ticket_at(zk, path);
    struct eviction_read *read;
    size_t bytes;

    if (own_ticket == NULL || own_ticket->removing ||
        !hf_zk_session_usable(&zk->session))
        return;
    bytes = strlen(own_ticket->queue->path) + 1;
    read = hf_alloc(sizeof(*read) + bytes);
    if (read == NULL)
        return;
    memcpy(read->path, own_ticket->queue->path, bytes);
    read->id = own_ticket->id;
    read->call.answered = parent_read;
    read->call.user = zk;
    read->call.owner = read;
    hf_zk_send_get_data(&zk->session, &read->call, read->path, false);
}
