/* SPDX-License-Identifier: Apache-2.0 */
/* See queue_watches.h.  A queue watch begins with a LIST that has
 * .watches_queue, and ends when a notice or a poll shows a change. */
#include "engines/leased/queue_watches.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/leased/leased_private.h"

/* Make a watch for ${request} and link it to its queue.  Returns NULL if memory
 * runs out. */
static struct hf_leased_queue_watch *queue_watch_new(struct hf_leased *leased,
                                                     struct hf_request *request)
{
    struct hf_leased_queue_watch *queue_watch = hf_alloc(sizeof *queue_watch);
    char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES];
    struct hf_leased_queue *queue;

    if (queue_watch == NULL)
        return NULL;
    queue = hf_leased_queue_ref(&leased->queue_table,
                                hf_leased_queue_of(request, flag_queue));
    if (queue == NULL) {
        hf_free(queue_watch);
        return NULL;
    }
    queue_watch->request = request;
    queue_watch->queue = queue;
    queue_watch->previous_next = &queue->queue_watches;
    queue_watch->next = queue->queue_watches;
    if (queue_watch->next != NULL)
        queue_watch->next->previous_next = &queue_watch->next;
    queue->queue_watches = queue_watch;
    request->engine_data = queue_watch;
    return queue_watch;
}

static void queue_watch_free(struct hf_leased *leased,
                             struct hf_leased_queue_watch *queue_watch)
{
    *queue_watch->previous_next = queue_watch->next;
    if (queue_watch->next != NULL)
        queue_watch->next->previous_next = queue_watch->previous_next;
    queue_watch->request->engine_data = NULL;
    hf_leased_queue_unref(&leased->queue_table, queue_watch->queue);
    hf_free(queue_watch->tickets);
    hf_free(queue_watch);
}

void hf_leased_queue_watch_forget(struct hf_leased *leased,
                                  struct hf_leased_queue_watch *queue_watch)
{
    queue_watch_free(leased, queue_watch);
}

static void notify_changed(struct hf_leased *leased,
                           struct hf_leased_queue_watch *queue_watch)
{
    struct hf_event event = {.kind = HF_EVENT_QUEUE_CHANGED};

    event.as.answer.request = queue_watch->request;
    queue_watch_free(leased, queue_watch);
    hf_leased_notify(leased, &event);
}

/* ----------------------------------------------------------------- lists -- */

/* Copy the tickets of the list, so that polls can be compared with it.  Returns
 * false if memory runs out. */
static bool copy_list(struct hf_leased_queue_watch *queue_watch,
                      const struct hf_store_answer *answer)
{
    if (answer->count == 0)
        return true;
    queue_watch->tickets =
        hf_alloc(answer->count * sizeof *queue_watch->tickets);
    if (queue_watch->tickets == NULL)
        return false;
    queue_watch->count = answer->count;
    for (size_t i = 0; i < answer->count; i++) {
        queue_watch->tickets[i].id = answer->tickets[i].id;
        queue_watch->tickets[i].kind = answer->tickets[i].kind;
    }
    return true;
}

/* Returns the watch whose LIST has the number ${call_number}; NULL if that
 * watch was forgotten meanwhile. */
static struct hf_leased_queue_watch *find_by_call(struct hf_leased_queue *queue,
                                                  uint64_t call_number)
{
    struct hf_leased_queue_watch *queue_watch = queue->queue_watches;

    while (queue_watch != NULL && queue_watch->call_number != call_number)
        queue_watch = queue_watch->next;
    return queue_watch;
}

/* Handle the answer to the LIST of a watch.  If a change was reported before
 * this answer came, the watch ends at once. */
static void listed(struct hf_leased *leased, struct hf_leased_call *call,
                   const struct hf_store_answer *answer)
{
    struct hf_leased_queue_watch *queue_watch =
        find_by_call(call->queue, call->number);
    struct hf_request *request;

    if (queue_watch == NULL)
        return; /* the watch was forgotten */
    request = queue_watch->request;
    if (answer == NULL || !answer->ok) {
        queue_watch_free(leased, queue_watch);
        hf_leased_fail_with_answer(leased, request, answer);
        return;
    }
    if (!copy_list(queue_watch, answer)) {
        queue_watch_free(leased, queue_watch);
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    queue_watch->listed = true;
    hf_leased_poll_plan(leased, call->queue, answer);
    hf_leased_answer_snapshot(leased, request, HF_EVENT_LISTED, answer);
    queue_watch = find_by_call(call->queue, call->number);
    if (queue_watch != NULL && queue_watch->changed)
        notify_changed(leased, queue_watch);
}

void hf_leased_queue_watch(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_queue_watch *queue_watch;
    struct hf_leased_call *call;

    if (leased->config.has_unlisted_waiters &&
        hf_request_is_of_kept_ticket(request)) {
        hf_leased_fail(leased, request, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
                       "programs that wait for this lock are in no queue, so "
                       "its ticket is not kept");
        return;
    }
    queue_watch = queue_watch_new(leased, request);
    if (queue_watch == NULL) {
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    call = hf_leased_call_new(leased, HF_STORE_LIST, queue_watch->queue->name,
                              NULL);
    if (call == NULL) {
        queue_watch_free(leased, queue_watch);
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    call->store_call.watches_queue = true;
    call->store_call.ticket_kind = request->ticket_kind;
    queue_watch->call_number = leased->calls.number + 1;
    hf_leased_call_begin(leased, call, listed);
    assert(queue_watch->call_number == call->number);
}

/* --------------------------------------------------------------- changes -- */

static struct hf_leased_queue_watch *find_listed(struct hf_leased_queue *queue)
{
    struct hf_leased_queue_watch *queue_watch = queue->queue_watches;

    while (queue_watch != NULL && !queue_watch->listed)
        queue_watch = queue_watch->next;
    return queue_watch;
}

void hf_leased_queue_watches_changed(struct hf_leased *leased,
                                     const char *queue_name)
{
    struct hf_leased_queue *queue =
        hf_leased_queue_find(&leased->queue_table, queue_name);
    struct hf_leased_queue_watch *queue_watch;

    if (queue == NULL)
        return;
    queue->references++;
    /* This also marks watches whose LIST is under way.  The list may show the
     * change already, but one event too many does no harm. */
    for (queue_watch = queue->queue_watches; queue_watch != NULL;
         queue_watch = queue_watch->next)
        queue_watch->changed = true;
    while ((queue_watch = find_listed(queue)) != NULL && queue_watch->changed)
        notify_changed(leased, queue_watch);
    hf_leased_queue_unref(&leased->queue_table, queue);
}

/* Returns whether ${queue_watch} is one of participants, if ${participants},
 * else whether it is one of tickets.  The two are listed separately. */
static bool is_of_sort(const struct hf_leased_queue_watch *queue_watch,
                       bool participants)
{
    return (queue_watch->request->ticket_kind == HF_TICKET_PARTICIPANT) ==
           participants;
}

struct hf_leased_queue_watch *
hf_leased_queue_watch_listed(const struct hf_leased_queue *queue,
                             bool participants)
{
    struct hf_leased_queue_watch *queue_watch = queue->queue_watches;

    while (queue_watch != NULL &&
           !(queue_watch->listed && is_of_sort(queue_watch, participants)))
        queue_watch = queue_watch->next;
    return queue_watch;
}

/* Returns whether ${answer} has the tickets that were listed, in the same
 * order.  A ticket in the queue of a quorum may change its position, which is a
 * change, too. */
static bool is_as_listed(const struct hf_leased_queue_watch *queue_watch,
                         const struct hf_store_answer *answer)
{
    if (queue_watch->count != answer->count)
        return false;
    for (size_t i = 0; i < answer->count; i++) {
        const struct hf_leased_listed *listed = &queue_watch->tickets[i];

        if (!hf_ticket_id_equal(&listed->id, &answer->tickets[i].id) ||
            listed->kind != answer->tickets[i].kind)
            return false;
    }
    return true;
}

/* A list with the same ids as before means that nothing has changed, even for
 * READY, because each READY flag has a new id.  Calls take effect in the order
 * of their numbers, so only answers to later calls are newer than what was
 * listed. */
void hf_leased_queue_watches_relisted(struct hf_leased *leased,
                                      const struct hf_leased_call *call,
                                      const struct hf_store_answer *answer)
{
    bool participants = call->store_call.ticket_kind == HF_TICKET_PARTICIPANT;

    for (struct hf_leased_queue_watch *queue_watch = call->queue->queue_watches;
         queue_watch != NULL; queue_watch = queue_watch->next) {
        if (queue_watch->listed && is_of_sort(queue_watch, participants) &&
            queue_watch->call_number < call->number &&
            !is_as_listed(queue_watch, answer)) {
            hf_leased_queue_watches_changed(leased, call->queue->name);
            return;
        }
    }
}

void hf_leased_queue_watches_clear(struct hf_leased *leased)
{
    struct hf_leased_queue *queue, *after;

    for (queue = leased->queue_table.first; queue != NULL; queue = after) {
        after = queue->next;
        queue->references++;
        while (queue->queue_watches != NULL)
            queue_watch_free(leased, queue->queue_watches);
        hf_leased_queue_unref(&leased->queue_table, queue);
    }
}
