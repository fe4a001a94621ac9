/* SPDX-License-Identifier: Apache-2.0 */
/* Shared lists, searches and the cached list, see queue_list.h.  .list_requests
 * of a queue are the requests that the list in flight is for, and
 * .next_list_requests those that wait for the next one.  Indexes are into
 * .children of the queue. */
#include "engines/zookeeper/queue_list.h"

#include <assert.h>
#include <string.h>

#include "engines/zookeeper/children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_request.h"

/* ---------------------------------------------------------------- cached -- */

/* Is the data of the node at ${path} watched by a waiting request, so that its
 * end will be seen? */
static bool is_watched(const struct hf_zk_engine *zk, const char *path)
{
    int32_t version;

    return hf_zk_engine_watches_version(zk, path, &version);
}

/* Are all children ahead of ${index} tickets of this session, except for at
 * most HF_ADMISSION_NEAREST that are watched?  Walks only the others, by
 * .nearest_other. */
static bool sees_all_ahead(struct hf_zk_engine *zk,
                           const struct hf_zk_engine_queue *queue, size_t index)
{
    const struct hf_zk_engine_child *children = queue->children;
    size_t others = 0;

    assert(index < queue->count);
    for (size_t at = children[index].nearest_other; at > queue->first_live;
         at = children[at - 1].nearest_other) {
        if (children[at - 1].gone)
            continue;
        if (++others > HF_ADMISSION_NEAREST ||
            !is_watched(
                zk, hf_zk_engine_child_path(zk, queue, children[at - 1].name)))
            return false;
    }
    return true;
}

/* The index of our ticket in the cached list, or .count if the list cannot be
 * used for it: it came on another connection, or the ticket is being removed
 * or downgraded, is a lease, or is not in the list. */
static size_t index_of(const struct hf_zk_engine *zk,
                       const struct hf_zk_engine_queue *queue,
                       const struct hf_zk_engine_own_ticket *own_ticket)
{
    size_t index;

    if (queue->listed_on != zk->session.connection_number ||
        own_ticket->removing || own_ticket->downgrading ||
        own_ticket->kind < HF_TICKET_MUTEX ||
        own_ticket->kind > HF_TICKET_QUEUED_LAST ||
        own_ticket->kind == HF_TICKET_LEASE)
        return queue->count;
    index = hf_zk_engine_children_find(queue, own_ticket->sequence,
                                       &own_ticket->id);
    return index < queue->count && !queue->children[index].gone ? index
                                                                : queue->count;
}

bool hf_zk_engine_cached_list_serves(
    struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue,
    const struct hf_zk_engine_own_ticket *own_ticket)
{
    size_t index = index_of(zk, queue, own_ticket);

    if (index == queue->count ||
        !is_watched(zk, hf_zk_engine_own_ticket_path(zk, own_ticket, 0)) ||
        !sees_all_ahead(zk, queue, index))
        return false;
    if (queue->gone_count > 0)
        hf_zk_engine_children_compact(queue);
    return true;
}

/* ------------------------------------------------------------ new lists -- */

/* The greatest index of the tickets of ${requests}, or at least .count if one
 * of them is not in the cached list. */
static size_t last_index(const struct hf_zk_engine *zk,
                         const struct hf_zk_engine_queue *queue,
                         const struct hf_zk_engine_request_list *requests)
{
    size_t last = 0;

    for (const struct hf_zk_engine_request *req = requests->first; req != NULL;
         req = req->next_in_list) {
        const struct hf_zk_engine_own_ticket *own_ticket =
            hf_zk_engine_own_ticket_find(zk, &req->request->ticket);
        size_t index =
            own_ticket != NULL ? index_of(zk, queue, own_ticket) : queue->count;

        if (index > last)
            last = index;
    }
    return last;
}

/* Handle one name of a new list.  False if it stands ahead of ${last} and is
 * not in the cached list, which is then of no use. */
static bool mark_child_listed(struct hf_zk_engine *zk,
                              struct hf_zk_engine_queue *queue, size_t last,
                              struct hf_jute_piece name)
{
    struct hf_zk_engine_child *children = queue->children;
    struct hf_zk_engine_node node;
    size_t index;

    if (name.bytes == NULL ||
        !hf_zk_engine_queue_parse(queue, name.bytes, name.count, &node)) {
        hf_zk_engine_report_unknown_node(zk, queue, name);
        return true;
    }
    hf_zk_engine_report_unseen_layout(zk, queue, name, &node);
    if (hf_zk_engine_node_order(node.sequence) >
        hf_zk_engine_node_order(children[last].node.sequence))
        return true;
    index = hf_zk_engine_children_find(queue, node.sequence, &node.id);
    if (index == queue->count || strlen(children[index].name) != name.count ||
        memcmp(children[index].name, name.bytes, name.count) != 0)
        return false;
    children[index].listed = true;
    return true;
}

/* Set .listed of the children up to ${last} that the new list ${body} has.
 * False if the new list has others there, or cannot be read.  Most names are
 * behind ${last}; hf_zk_engine_pattern_precedes() recognises these without
 * parsing them. */
static bool mark_listed(struct hf_zk_engine *zk,
                        struct hf_zk_engine_queue *queue, size_t last,
                        struct hf_jute_reader body)
{
    const struct hf_zk_engine_child *mine = &queue->children[last];
    size_t count = hf_jute_get_count(&body, HF_ZK_CHILD_LEAST_BYTES);
    struct hf_zk_engine_pattern pattern;

    if (!hf_zk_engine_pattern_of(&mine->node, mine->name, &pattern))
        return false;
    for (size_t i = queue->first_live; i <= last; i++)
        queue->children[i].listed = false;
    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(&body);

        if ((name.bytes == NULL || !hf_zk_engine_pattern_precedes(
                                       &pattern, name.bytes, name.count)) &&
            !mark_child_listed(zk, queue, last, name))
            return false;
    }
    return !body.failed;
}

/* A new list ${body} has arrived for ${requests}.  If all of their tickets are
 * in the cached list, remove the children that have gone ahead of the last of
 * them and return true.  Otherwise return false with nothing changed; the
 * caller must take the new list in.
 *
 * Cost: linear in the length of the new list, but most names are only compared
 * with a pattern. */
static bool update_cached(struct hf_zk_engine *zk,
                          struct hf_zk_engine_queue *queue,
                          const struct hf_zk_engine_request_list *requests,
                          struct hf_jute_reader body)
{
    size_t last = last_index(zk, queue, requests);

    if (last >= queue->count || !mark_listed(zk, queue, last, body))
        return false;
    for (size_t i = queue->first_live; i <= last; i++) {
        if (!queue->children[i].gone && !queue->children[i].listed)
            hf_zk_engine_children_mark_gone(queue, i);
    }
    if (queue->gone_count > 0)
        hf_zk_engine_children_compact(queue);
    return true;
}

/* --------------------------------------------------------------- shared -- */

static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply);

/* Send a list for all that wait for the next one. */
static void send_list(struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue)
{
    assert(queue->list_requests.first == NULL);
    assert(queue->next_list_requests.first != NULL);
    queue->list_requests = queue->next_list_requests;
    queue->next_list_requests = (struct hf_zk_engine_request_list){0};
    queue->list_call.answered = listed;
    queue->list_call.user = zk;
    queue->list_call.owner = queue;
    hf_zk_send_get_children(&zk->session, &queue->list_call, queue->path,
                            false);
}

/* Finish the list call of each of ${requests} with ${error}. */
static void answer_all(struct hf_zk_engine *zk,
                       struct hf_zk_engine_request_list requests,
                       enum hf_zk_error error)
{
    for (struct hf_zk_engine_request *req = requests.first; req != NULL;
         req = req->next_in_list)
        req->list_error = error;
    hf_zk_engine_request_list_answered(zk, &requests);
}

/* Send the next list if one is waited for and none is in flight.  If no call
 * can be made, because the session is closing or disconnected, fail the
 * requests instead. */
static void send_next_list(struct hf_zk_engine *zk,
                           struct hf_zk_engine_queue *queue)
{
    struct hf_zk_engine_request_list waiting = queue->next_list_requests;

    if (waiting.first == NULL || queue->list_requests.first != NULL)
        return;
    if (hf_zk_session_usable(&zk->session)) {
        send_list(zk, queue);
        return;
    }
    queue->next_list_requests = (struct hf_zk_engine_request_list){0};
    answer_all(zk, waiting, HF_ZK_DISCONNECTED);
}

/* Take a list in for ${requests}: compare it with the cached one, or replace
 * that. */
static enum hf_zk_error
take_list(struct hf_zk_engine *zk, struct hf_zk_engine_queue *queue,
          const struct hf_zk_engine_request_list *requests,
          const struct hf_zk_reply *reply)
{
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK && update_cached(zk, queue, requests, body))
        return HF_ZK_OK;
    return hf_zk_engine_queue_take_list(zk, queue, reply->error, &body);
}

/* The answer to a shared list. */
static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_queue *queue = call->owner;
    struct hf_zk_engine_request_list requests = queue->list_requests;

    queue->users++;
    queue->list_requests = (struct hf_zk_engine_request_list){0};
    answer_all(zk, requests, take_list(zk, queue, &requests, reply));
    send_next_list(zk, queue);
    hf_zk_engine_queue_release(zk, queue);
}

void hf_zk_engine_list_children(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_queue *queue = req->queue;

    hf_zk_engine_request_list_add(&queue->next_list_requests, req);
    send_next_list(zk, queue);
}

/* --------------------------------------------------------------- search -- */

void hf_zk_engine_take_synced_list(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req,
                                   const struct hf_zk_reply *reply)
{
    struct hf_jute_reader body = reply->body;

    req->list_error =
        req->sync_error != HF_ZK_OK
            ? req->sync_error
            : hf_zk_engine_queue_take_list(zk, req->queue, reply->error, &body);
}

/* The answer to the list of a search. */
static void children(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;

    hf_zk_engine_take_synced_list(zk, req, reply);
    hf_zk_engine_request_answered(zk, req);
}

void hf_zk_engine_list_behind_sync(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req,
                                   hf_zk_answered *answered)
{
    hf_zk_send_sync(
        &zk->session,
        hf_zk_engine_request_call(req, hf_zk_engine_request_sync_answered),
        req->queue->path);
    hf_zk_send_get_children(&zk->session,
                            hf_zk_engine_request_call(req, answered),
                            req->queue->path, false);
}

void hf_zk_engine_find_ticket(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req)
{
    hf_zk_engine_list_behind_sync(zk, req, children);
}
