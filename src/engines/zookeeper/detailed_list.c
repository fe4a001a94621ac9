/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_LIST with details, for people: list the names, then read every
 * node, a batch at a time.  A ticket that has gone meanwhile is left out.  A
 * ticket that came meanwhile is not shown; it is behind those that are.
 *
 * If the request wants the texts of some tickets only, only their nodes are
 * read, all by one multiRead.  So a program that lists again and again makes at
 * most three calls each time.  Servers before 3.6 refuse that call and end the
 * connection; then each node is read by a call of its own.  Nodes without a
 * number are always read, because they are ordered by their czxid.
 *
 * The list is kept here and not in the queue, because other requests go on
 * listing the queue. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/double_barrier.h"
#include "engines/zookeeper/list_children.h"
#include "engines/zookeeper/queue_snapshot.h"
#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zk_request.h"
#include "zookeeper/zk_calls.h"

/* Reads in flight at a time.  It is enough to make round trips negligible, and
 * little enough to let other calls through. */
#define BATCH 64

#define FIRST_TEXT_BYTES 4096

/* One child that is shown. */
struct list_entry {
    struct hf_zk_engine_node node;
    const char *name; /* in .names of the list */
    bool there;       /* false: it had gone when it was to be read */
    int64_t czxid;    /* 0: not read */
    int64_t ctime;
    uint64_t session; /* 0: it belongs to none, or is not read */
    size_t payload;   /* offset in .text of the list */
};

/* The state of one detailed list, freed when the request is answered. */
struct detailed_list {
    struct hf_zk_engine *zk;
    struct hf_zk_engine_request *req; /* answered when the list is complete */
    char *names;
    struct list_entry *entries;
    size_t count;
    const char **unknown; /* names of the children that are not shown as
                             tickets; in .names */
    size_t unknown_count;
    size_t wanted;  /* the first .wanted of .entries are to be read */
    size_t asked;   /* how many of those have been read or are in flight */
    size_t pending; /* reads in flight */
    enum hf_zk_error error; /* the first failure of a read, or HF_ZK_OK */
    char *text;
    size_t used;
    size_t size;
    struct hf_zk_call calls[BATCH];
};

/* Free the list and what it has collected. */
static void free_list(struct detailed_list *list)
{
    hf_free(list->text);
    hf_free(list->unknown);
    hf_free(list->entries);
    hf_free(list->names);
    hf_free(list);
}

/* ---------------------------------------------------------------- answer -- */

/* Fail the request with the server's error and free the list. */
static void fail(struct detailed_list *list, enum hf_zk_error error)
{
    struct hf_zk_engine *zk = list->zk;
    struct hf_zk_engine_request *req = list->req;

    free_list(list);
    hf_zk_engine_request_fail(zk, req, error, "list", req->queue->path);
}

/* Fail the request for lack of memory and free the list. */
static void fail_memory(struct detailed_list *list)
{
    struct hf_zk_engine *zk = list->zk;
    struct hf_request *request = hf_zk_engine_request_end(zk, list->req);

    free_list(list);
    hf_zk_engine_fail_memory(zk, request);
}

/* Is ${entry} a participant or the barrier node, which have no number? */
static bool is_of_barrier(const struct list_entry *entry)
{
    return entry->node.kind == HF_TICKET_PARTICIPANT ||
           entry->node.kind == HF_TICKET_READY;
}

/* The number that orders entries: the sequence, or the czxid where there is
 * none. */
static uint64_t order_of(const struct list_entry *entry)
{
    return hf_zk_engine_node_is_permit(&entry->node) || is_of_barrier(entry)
               ? (uint64_t)entry->czxid
               : hf_zk_engine_node_order(entry->node.sequence);
}

/* Order of entries for qsort(). */
static int compare(const void *a, const void *b)
{
    const struct list_entry *x = a, *y = b;
    uint64_t left = order_of(x), right = order_of(y);

    if (left != right)
        return left < right ? -1 : 1;
    return (x->czxid > y->czxid) - (x->czxid < y->czxid);
}

/* The entry as the ticket of a snapshot; its strings belong to ${list}. */
static struct hf_ticket ticket_of(const struct detailed_list *list,
                                  const struct list_entry *entry)
{
    return (struct hf_ticket){
        .id = entry->node.id,
        .sequence = order_of(entry),
        .token = entry->czxid == 0
                     ? 0
                     : (uint64_t)entry->czxid + list->zk->config.token_floor,
        .kind = entry->node.kind,
        .weight = 1,
        .payload = entry->czxid == 0 ? "" : list->text + entry->payload,
        .dialect = hf_zk_engine_dialect_name(entry->node.dialect),
        .created_utc_ms = entry->ctime > 0 ? (uint64_t)entry->ctime : 0,
        .session = entry->session,
        .unread = entry->czxid == 0,
    };
}

/* Is ${entry} another permit of ${ticket}, a lease? */
static bool is_more_of(const struct list_entry *entry,
                       const struct hf_ticket *ticket)
{
    return entry->node.kind == HF_TICKET_LEASE &&
           ticket->kind == HF_TICKET_LEASE &&
           hf_ticket_id_equal(&entry->node.id, &ticket->id);
}

/* Sort the entries, merge the permits of each lease into one ticket, and
 * answer the request. */
static void answer(struct detailed_list *list)
{
    struct hf_event event = {.kind = HF_EVENT_LISTED};
    struct hf_ticket *tickets = hf_alloc((list->count + 1) * sizeof *tickets);
    struct hf_zk_engine *zk = list->zk;
    size_t count = 0;

    if (tickets == NULL) {
        fail_memory(list);
        return;
    }
    if (list->count > 0)
        qsort(list->entries, list->count, sizeof *list->entries, compare);
    for (size_t i = 0; i < list->count; i++) {
        if (!list->entries[i].there)
            continue;
        if (count > 0 && is_more_of(&list->entries[i], &tickets[count - 1]))
            tickets[count - 1].weight++;
        else
            tickets[count++] = ticket_of(list, &list->entries[i]);
    }
    event.as.answer.request = hf_zk_engine_request_end(zk, list->req);
    event.as.answer.snapshot = (struct hf_snapshot){tickets, count, 0};
    event.as.answer.unknown = list->unknown;
    event.as.answer.unknown_count = list->unknown_count;
    hf_zk_engine_notify(zk, &event);
    hf_free(tickets);
    free_list(list);
}

/* -------------------------------------------------------------- tickets -- */

/* Make room for one more payload; false for lack of memory. */
static bool make_room(struct detailed_list *list)
{
    size_t size = list->size == 0 ? FIRST_TEXT_BYTES : 2 * list->size;
    char *text;

    if (list->size - list->used >= HF_PAYLOAD_BYTES)
        return true;
    text = hf_realloc(list->text, size);
    if (text == NULL)
        return false;
    list->text = text;
    list->size = size;
    return true;
}

static void ask_batch(struct detailed_list *list);

/* All reads of the batch are answered: send the next batch or answer the
 * request. */
static void batch_done(struct detailed_list *list)
{
    if (list->error != HF_ZK_OK)
        fail(list, list->error);
    else if (list->asked == list->wanted)
        answer(list);
    else if (hf_zk_session_usable(&list->zk->session))
        ask_batch(list);
    else
        fail(list, HF_ZK_DISCONNECTED); /* the session is closing */
}

/* Store in ${entry} what the read of its node returned. */
static void take_in(struct detailed_list *list, struct list_entry *entry,
                    struct hf_jute_reader *body)
{
    struct hf_jute_piece data = hf_jute_get_buffer(body);
    struct hf_zk_stat stat = hf_zk_get_stat(body);

    if (body->failed || !make_room(list)) {
        list->error = body->failed ? HF_ZK_MALFORMED : HF_ZK_OUT_OF_MEMORY;
        return;
    }
    entry->there = true;
    entry->czxid = stat.czxid;
    entry->ctime = stat.ctime;
    entry->session = hf_zk_is_session(stat.owner) ? (uint64_t)stat.owner : 0;
    entry->payload = list->used;
    list->used += hf_zk_engine_payload_copy(list->text + list->used, data) + 1;
}

/* The answer to one read of the batch. */
static void data_read(void *user, struct hf_zk_call *call,
                      const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct detailed_list *list = call->owner;
    size_t first = list->asked - (list->asked - 1) % BATCH - 1;
    struct hf_jute_reader body = reply->body;

    (void)zk;
    if (reply->error == HF_ZK_OK)
        take_in(list, &list->entries[first + (size_t)(call - list->calls)],
                &body);
    else if (reply->error != HF_ZK_NO_NODE)
        list->error = reply->error;
    if (--list->pending == 0)
        batch_done(list);
}

/* Send the reads of the next batch. */
static void ask_batch(struct detailed_list *list)
{
    struct hf_zk_engine *zk = list->zk;

    for (size_t i = 0; i < BATCH && list->asked < list->wanted; i++) {
        struct hf_zk_call *call = &list->calls[i];

        call->answered = data_read;
        call->user = zk;
        call->owner = list;
        list->pending++;
        hf_zk_send_get_data(
            &zk->session, call,
            hf_zk_engine_child_path(zk, list->req->queue,
                                    list->entries[list->asked++].name),
            false);
    }
}

/* ---------------------------------------------------------- some texts -- */

/* The answer to the call that reads all wanted entries. */
static void all_read(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct detailed_list *list = call->owner;
    struct hf_jute_reader body = reply->body;

    (void)user;
    list->pending = 0;
    if (reply->error == HF_ZK_UNIMPLEMENTED) {
        list->zk->lacks_multi_read = true;
        list->asked = 0;
        batch_done(list);
        return;
    }
    list->error = reply->error;
    for (size_t i = 0; i < list->wanted && list->error == HF_ZK_OK; i++) {
        enum hf_zk_error error = hf_zk_multi_read_next(&body);

        if (error == HF_ZK_OK)
            take_in(list, &list->entries[i], &body);
        else if (error != HF_ZK_NO_NODE)
            list->error = error;
    }
    batch_done(list);
}

/* Read all wanted entries by one call. */
static void ask_all(struct detailed_list *list)
{
    struct hf_zk_session *session = &list->zk->session;
    struct hf_zk_call *call = &list->calls[0];
    size_t begin;

    call->answered = all_read;
    call->user = list->zk;
    call->owner = list;
    list->pending = 1;
    list->asked = list->wanted;
    begin = hf_zk_call_begin(session, call, HF_ZK_MULTI_READ);
    for (size_t i = 0; i < list->wanted; i++)
        hf_zk_multi_get_data(session,
                             hf_zk_engine_child_path(list->zk, list->req->queue,
                                                     list->entries[i].name));
    hf_zk_multi_end(session, begin);
}

/* Has the entry a number in its name, which orders it without a read? */
static bool has_number(const struct list_entry *entry)
{
    return !hf_zk_engine_node_is_permit(&entry->node) && !is_of_barrier(entry);
}

/* Move the entries that are to be read to the beginning, and count them in
 * .wanted. */
static void choose_wanted(struct detailed_list *list)
{
    const struct hf_text_range *texts = list->req->request->texts;
    size_t taken = 0;

    if (texts->count == 0 || list->count == 0) {
        list->wanted = list->count;
        return;
    }
    qsort(list->entries, list->count, sizeof *list->entries, compare);
    for (size_t i = 0; i < list->count; i++) {
        struct list_entry entry = list->entries[i];
        bool numbered = has_number(&entry);

        if (numbered && !hf_text_range_wants(texts, order_of(&entry), taken)) {
            list->entries[i].there = true;
            continue;
        }
        taken += numbered;
        list->entries[i] = list->entries[list->wanted];
        list->entries[list->wanted++] = entry;
    }
}

/* ---------------------------------------------------------------- names -- */

/* Is ${name} shown?  A list shows either tickets, or participants and their
 * barrier node.  Sets ${node} if so. */
static bool is_wanted(const struct detailed_list *list, const char *name,
                      size_t bytes, struct hf_zk_engine_node *node)
{
    bool participants =
        list->req->request->ticket_kind == HF_TICKET_PARTICIPANT;

    if (participants && bytes == strlen(HF_ZK_READY) &&
        memcmp(name, HF_ZK_READY, bytes) == 0) {
        *node = (struct hf_zk_engine_node){.kind = HF_TICKET_READY};
        return true;
    }
    return hf_zk_engine_queue_parse(list->req->queue, name, bytes, node) &&
           (node->kind == HF_TICKET_PARTICIPANT) == participants;
}

/* Split the answer of getChildren into entries and unknown children.  False
 * for lack of memory. */
static bool take_names(struct detailed_list *list, struct hf_jute_reader *body)
{
    size_t bytes = body->left;
    size_t count = hf_jute_get_count(body, sizeof(int32_t));
    size_t room = hf_zk_engine_tickets_at_most(body, count);
    char *names;

    list->names = names = hf_alloc(bytes + 1);
    list->entries = hf_alloc((room + 1) * sizeof *list->entries);
    list->unknown = hf_alloc((count + 1) * sizeof *list->unknown);
    if (names == NULL || list->entries == NULL || list->unknown == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(body);
        struct hf_zk_engine_node node;

        if (name.bytes == NULL)
            continue;
        memcpy(names, name.bytes, name.count);
        if (is_wanted(list, names, name.count, &node)) {
            hf_zk_engine_report_unseen_layout(list->zk, list->req->queue, name,
                                              &node);
            assert(list->count < room);
            list->entries[list->count].name = names;
            list->entries[list->count++].node = node;
        } else {
            list->unknown[list->unknown_count++] = names;
        }
        names += name.count + 1;
    }
    return true;
}

/* The answer to getChildren. */
static void children_listed(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct detailed_list *list = hf_zk_engine_request_detailed(req);
    struct hf_jute_reader body = reply->body;

    req->list_error =
        req->sync_error != HF_ZK_OK ? req->sync_error : reply->error;
    if (req->list_error == HF_ZK_OK && !take_names(list, &body))
        req->list_error = HF_ZK_OUT_OF_MEMORY;
    if (body.failed)
        req->list_error = HF_ZK_MALFORMED;
    hf_zk_engine_request_answered(zk, req);
}

/* The names are known, or the list has failed. */
static void listed(struct hf_zk_engine *zk, struct hf_zk_engine_request *req)
{
    struct detailed_list *list = hf_zk_engine_request_detailed(req);

    list->error = req->list_error == HF_ZK_NO_NODE ? HF_ZK_OK : req->list_error;
    choose_wanted(list);
    if (list->error == HF_ZK_OK && list->wanted > 0 &&
        req->request->texts->count > 0 && !zk->lacks_multi_read &&
        hf_zk_session_usable(&list->zk->session))
        ask_all(list);
    else
        batch_done(list);
}

/* The list is behind a sync, so it shows what other clients have done before.
 */
void hf_zk_engine_list_detailed(struct hf_zk_engine *zk,
                                struct hf_request *request)
{
    struct hf_zk_engine_request *req = hf_zk_engine_request_new(zk, request);
    struct detailed_list *list;

    if (req == NULL)
        return;
    list = hf_alloc(sizeof *list);
    if (list == NULL) {
        hf_zk_engine_fail_memory(zk, hf_zk_engine_request_end(zk, req));
        return;
    }
    list->zk = zk;
    list->req = req;
    hf_zk_engine_request_enter(req, HF_ZK_DETAILED);
    req->as.detailed = list;
    hf_zk_engine_request_step(req, listed);
    hf_zk_engine_list_behind_sync(zk, req, children_listed);
}
