/* SPDX-License-Identifier: Apache-2.0 */
/* Shared lists, searches and the cached list, see list_children.h; and what an
 * answer to getChildren does: names become children, with the czxids that are
 * known.
 * .list_requests of a queue are the requests that the list in flight is for,
 * and .next_list_requests those that wait for the next one.  Indexes are into
 * .children of the queue. */
#include "engines/zookeeper/list_children.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/children.h"
#include "engines/zookeeper/double_barrier.h"
#include "engines/zookeeper/zk_request.h"

/* ---------------------------------------------------------------- cached -- */

/* Is there a cached list, from this connection? */
static bool has_cached_list(const struct hf_zk_engine *zk,
                            const struct hf_zk_engine_queue *queue)
{
    return queue->listed_on == zk->session.connection_number;
}

/* Does a waiting request watch the node at ${path}, so that its deletion will
 * be seen? */
static bool is_watched(const struct hf_zk_engine *zk, const char *path)
{
    int32_t version;

    return hf_zk_engine_watches_version(zk, path, &version);
}

/* Are all children ahead of ${index} tickets of this session, except for at
 * most HF_ADMISSION_NEAREST that are watched?  Walks only the tickets of other
 * sessions, by .nearest_other. */
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
 * used for it: the ticket is being removed or downgraded, is a lease, or is not
 * in the list. */
static size_t index_of(const struct hf_zk_engine_queue *queue,
                       const struct hf_zk_engine_own_ticket *own_ticket)
{
    size_t index;

    if (own_ticket->removing || own_ticket->downgrading ||
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
    size_t index;

    if (!has_cached_list(zk, queue))
        return false;
    index = index_of(queue, own_ticket);
    if (index == queue->count ||
        !is_watched(zk, hf_zk_engine_own_ticket_path(zk, own_ticket, 0)) ||
        !sees_all_ahead(zk, queue, index))
        return false;
    if (queue->gone_count > 0)
        hf_zk_engine_children_compact(queue);
    return true;
}

/* ------------------------------------------------------------ new lists -- */

/* The greatest index of the tickets of ${requests}; .count if the cached list
 * cannot be used for one of them. */
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
            own_ticket != NULL ? index_of(queue, own_ticket) : queue->count;

        if (index > last)
            last = index;
    }
    return last;
}

/* Mark the child with the ${name}, from a new list, as listed.  False if
 * ${name} stands ahead of ${last} and is not in the cached list: then the
 * cached list is of no use. */
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
 * False if the new list has other children there, or cannot be read.  Most
 * names are behind ${last}; hf_zk_engine_pattern_precedes() recognises those
 * without parsing them. */
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
    size_t last;

    if (!has_cached_list(zk, queue))
        return false;
    last = last_index(zk, queue, requests);
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

/* ----------------------------------------------------------- replacing -- */

/* The barrier node has the shortest name; names with a number are longer. */
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

/* The participants of the previous list, in the order of their ids. */
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

/* Collect the participants in the list of ${queue}, which is to be replaced.
 * False for lack of memory. */
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

/* The czxid of another session's participant, if the previous list has it; 0:
 * unknown. */
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

/* Set .ours of a child, and its .czxid if it is ordered by that: participants
 * and permits are.  The .czxid of other sessions' permits stays 0, because
 * their order does not matter. */
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
        struct hf_zk_engine_node node;

        if (name.bytes == NULL ||
            !hf_zk_engine_queue_parse(queue, name.bytes, name.count, &node)) {
            hf_zk_engine_report_unknown_node(zk, queue, name);
            continue;
        }
        hf_zk_engine_report_unseen_layout(zk, queue, name, &node);
        children[kept].node = node;
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

/* Set the czxids of our tickets among the children, which are in order.  A
 * child that is a read ticket shows that a downgrade without an answer was
 * carried out. */
static void know_own(struct hf_zk_engine *zk,
                     const struct hf_zk_engine_queue *queue)
{
    for (size_t i = 0; i < queue->count; i++) {
        struct hf_zk_engine_child *child = &queue->children[i];
        struct hf_zk_engine_own_ticket *own_ticket;

        if (!child->ours)
            continue;
        own_ticket = hf_zk_engine_own_ticket_find(zk, &child->node.id);
        assert(own_ticket != NULL);
        child->czxid = own_ticket->czxid;
        if (child->node.kind == HF_TICKET_READ && own_ticket->downgrading &&
            own_ticket->sequence == child->node.sequence)
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
        hf_alloc((room > 0 ? room : 1) * sizeof *children);
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
    know_own(zk, queue);
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

/* Take in the answer to a getChildren and return its ${error}; NoNode empties
 * the list.  HF_ZK_MALFORMED if the answer makes no sense, or
 * HF_ZK_OUT_OF_MEMORY: then nothing was changed. */
static enum hf_zk_error take_list(struct hf_zk_engine *zk,
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

/* --------------------------------------------------------------- shared -- */

static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply);

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

/* Send the next getChildren if requests wait for it and none is in flight.  If
 * no call can be made, because the session is closing or disconnected, fail the
 * requests instead. */
static void send_next_list(struct hf_zk_engine *zk,
                           struct hf_zk_engine_queue *queue)
{
    struct hf_zk_engine_request_list waiting = queue->next_list_requests;

    if (waiting.first == NULL || queue->list_requests.first != NULL)
        return;
    queue->next_list_requests = (struct hf_zk_engine_request_list){0};
    if (!hf_zk_session_usable(&zk->session)) {
        answer_all(zk, waiting, HF_ZK_DISCONNECTED);
        return;
    }
    queue->list_requests = waiting;
    queue->list_call.answered = listed;
    queue->list_call.user = zk;
    queue->list_call.owner = queue;
    hf_zk_send_get_children(&zk->session, &queue->list_call, queue->path,
                            false);
}

/* The answer to a shared list: compare it with the cached list, or replace that
 * list.
 */
static void listed(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_queue *queue = call->owner;
    struct hf_zk_engine_request_list requests = queue->list_requests;
    struct hf_jute_reader body = reply->body;
    enum hf_zk_error error = reply->error;

    queue->users++;
    queue->list_requests = (struct hf_zk_engine_request_list){0};
    if (error != HF_ZK_OK || !update_cached(zk, queue, &requests, body))
        error = take_list(zk, queue, error, &body);
    answer_all(zk, requests, error);
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

    req->list_error = req->sync_error != HF_ZK_OK
                          ? req->sync_error
                          : take_list(zk, req->queue, reply->error, &body);
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
