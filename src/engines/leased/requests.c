/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that take one call of the store, and what their answers mean. */
#include <assert.h>
#include <stdio.h>

#include "engines/leased/private.h"

/* ----------------------------------------------------------------- place -- */

static void note_own(struct hf_leased *leased, const struct hf_leased_op *op,
                     const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct hf_leased_own *own =
            hf_leased_own_find(leased, &answer->tickets[i].id);

        if (own == NULL || own->queue != op->queue ||
            own->state != HF_LEASED_OWN_THERE)
            continue;
        own->kind = answer->tickets[i].kind;
        own->listed = op->number;
    }
}

static bool lists(const struct hf_store_answer *answer,
                  const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return true;
    }
    return false;
}

/* What is gone and not watched: its owner hears of it by this list if it was he
 * who asked for it, else when he watches it. */
static void drop_unlisted(struct hf_leased *leased,
                          const struct hf_leased_op *op,
                          struct hf_leased_own *own)
{
    if (own->queue != op->queue || own->state != HF_LEASED_OWN_THERE ||
        own->listed == op->number || hf_leased_watched_by_owner(own))
        return;
    own->gone = true;
    if (hf_ticket_id_equal(&own->id, &op->call.ticket))
        hf_leased_own_drop(leased, own);
}

/* A part of a queue tells of the ticket that it was asked for, and not of
 * others: renewals tell of these. */
static void drop_all_unlisted(struct hf_leased *leased,
                              const struct hf_leased_op *op,
                              const struct hf_store_answer *answer)
{
    struct hf_leased_own *own = op->queue->owns, *next;

    if (answer->partial) {
        own = hf_leased_own_find(leased, &op->call.ticket);
        if (own != NULL)
            drop_unlisted(leased, op, own);
        return;
    }
    for (; own != NULL; own = next) {
        next = own->next_in_queue;
        drop_unlisted(leased, op, own);
    }
}

static void enqueued(struct hf_leased *leased, struct hf_leased_op *op,
                     const struct hf_store_answer *answer)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, &op->call.ticket);
    bool open =
        answer == NULL || (!answer->ok && answer->failure == HF_FAILURE_UNSURE);

    if (own != NULL && open)
        own->state = HF_LEASED_OWN_UNSURE;
    else if (own != NULL && answer != NULL && answer->ok)
        own->state = HF_LEASED_OWN_THERE;
    else if (own != NULL)
        hf_leased_own_drop(leased, own);
    if (open || !answer->ok)
        hf_leased_fail_as(leased, op->request, answer);
    else
        hf_leased_tell_snapshot(leased, op->request, HF_EVENT_ENQUEUED, answer);
}

/* Its ENQUEUE got no answer, and no renewal has shown it since. */
static bool is_unsure(const struct hf_leased *leased,
                      const struct hf_ticket_id *id)
{
    const struct hf_leased_own *own = hf_leased_own_find(leased, id);

    return own != NULL && own->state == HF_LEASED_OWN_UNSURE;
}

/* A list may show a ticket that the server can still lose: of reading nothing
 * is written down, so it waits for no disk and no replica. */
static bool shows_too_soon(const struct hf_leased *leased,
                           const struct hf_leased_op *op,
                           const struct hf_store_answer *answer)
{
    return is_unsure(leased, &op->call.ticket) &&
           lists(answer, &op->call.ticket);
}

static void listed(struct hf_leased *leased, struct hf_leased_op *op,
                   const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok) {
        hf_leased_fail_as(leased, op->request, answer);
        return;
    }
    if (shows_too_soon(leased, op, answer)) {
        hf_leased_fail(leased, op->request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                       "the ticket is there, but the server has not confirmed "
                       "yet that it stays");
        return;
    }
    note_own(leased, op, answer);
    drop_all_unlisted(leased, op, answer);
    hf_leased_tell_snapshot(leased, op->request, HF_EVENT_LISTED, answer);
}

/* --------------------------------------------------------------- changes -- */

static void tell(struct hf_leased *leased, const struct hf_leased_op *op,
                 enum hf_event_kind kind, bool found)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = op->request;
    event.as.answer.found = found;
    hf_leased_tell(leased, &event);
}

static void withdrawn(struct hf_leased *leased, struct hf_leased_op *op,
                      const struct hf_store_answer *answer)
{
    struct hf_leased_own *own;

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_as(leased, op->request, answer);
        return;
    }
    own = hf_leased_own_find(leased, &op->call.ticket);
    if (own != NULL)
        hf_leased_own_drop(leased, own);
    hf_leased_ticket_gone(leased, op->queue->name, &op->call.ticket);
    tell(leased, op, HF_EVENT_REMOVED, answer->found);
}

static void downgraded(struct hf_leased *leased, struct hf_leased_op *op,
                       const struct hf_store_answer *answer)
{
    struct hf_leased_own *own;

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_as(leased, op->request, answer);
        return;
    }
    if (!answer->found) {
        own = hf_leased_own_find(leased, &op->call.ticket);
        if (own != NULL && own->gone)
            hf_leased_own_drop(leased, own);
        else if (own != NULL)
            own->forsaken = true;
        hf_leased_fail(leased, op->request, HF_FAILURE_FATAL, HF_ELOST,
                       "there is no such write ticket of ours any more");
        return;
    }
    own = hf_leased_own_find(leased, &op->call.ticket);
    if (own != NULL)
        own->kind = HF_TICKET_READ;
    hf_leased_watches_gone(leased, op->queue->name, &op->call.ticket,
                           HF_TICKET_WRITE);
    tell(leased, op, HF_EVENT_DOWNGRADED, true);
}

static void asked(struct hf_leased *leased, struct hf_leased_op *op,
                  const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_as(leased, op->request, answer);
    else
        tell(leased, op, HF_EVENT_REVOKE_SENT, answer->found);
}

static void described(struct hf_leased *leased, struct hf_leased_op *op,
                      const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_as(leased, op->request, answer);
    else
        tell(leased, op, HF_EVENT_DESCRIBED, answer->found);
}

static void marked(struct hf_leased *leased, struct hf_leased_op *op,
                   const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_as(leased, op->request, answer);
    else
        tell(leased, op, HF_EVENT_FLAG_UPDATED, answer->found);
}

static void stamped(struct hf_leased *leased, struct hf_leased_op *op,
                    const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_as(leased, op->request, answer);
    else if (answer->found)
        tell(leased, op, HF_EVENT_FLAG_UPDATED, true);
    else
        hf_leased_fail(leased, op->request, HF_FAILURE_RETRY, HF_EBUSY,
                       "the member is not there, or too few others are");
}

/* ------------------------------------------------------------------- ask -- */

static const struct deed {
    enum hf_store_call_kind call;
    hf_leased_answered_fn *answered;
} deeds[] = {
    [HF_REQUEST_ENQUEUE] = {HF_STORE_ENQUEUE, enqueued},
    [HF_REQUEST_LIST] = {HF_STORE_LIST, listed},
    [HF_REQUEST_REMOVE] = {HF_STORE_REMOVE, withdrawn},
    [HF_REQUEST_DOWNGRADE] = {HF_STORE_DOWNGRADE, downgraded},
    [HF_REQUEST_REVOKE] = {HF_STORE_REVOKE, asked},
    [HF_REQUEST_DESCRIBE] = {HF_STORE_DESCRIBE, described},
    [HF_REQUEST_SET_FLAG] = {HF_STORE_RAISE, marked},
    [HF_REQUEST_CLEAR_FLAG] = {HF_STORE_LOWER, marked},
    [HF_REQUEST_NEW_GENERATION] = {HF_STORE_STAMP, stamped},
};

/* Ours from now on, whatever comes of it.  False for lack of memory. */
static bool expect(struct hf_leased *leased, const struct hf_leased_op *op)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, &op->call.ticket);

    if (own == NULL)
        own = hf_leased_own_add(leased, op->queue, &op->call.ticket);
    if (own == NULL)
        return false;
    own->state = HF_LEASED_OWN_ASKED;
    own->gone = own->forsaken = false;
    own->kind = op->call.ticket_kind;
    own->owner = op->request->own_ticket;
    return true;
}

/* Also if it fails, and is asked for again once there is a link. */
static void forsake(struct hf_leased *leased, const struct hf_request *request)
{
    struct hf_leased_own *own = hf_leased_own_find(leased, &request->ticket);

    if (own != NULL && request->operation == NULL)
        own->forsaken = true;
}

const char *hf_leased_queue_of(const struct hf_request *request,
                               char marks[HF_LEASED_MARKS_BYTES])
{
    bool of_marks = (request->kind == HF_REQUEST_SET_FLAG ||
                     request->kind == HF_REQUEST_CLEAR_FLAG ||
                     request->kind == HF_REQUEST_WATCH_QUEUE) &&
                    request->ticket_kind == HF_TICKET_BARRIER;

    if (!of_marks)
        return request->queue;
    (void)snprintf(marks, HF_LEASED_MARKS_BYTES, "%s/", request->queue);
    return marks;
}

void hf_leased_ask(struct hf_leased *leased, struct hf_request *request)
{
    const struct deed *deed = &deeds[request->kind];
    char marks[HF_LEASED_MARKS_BYTES];
    struct hf_leased_op *op;

    assert(deed->answered != NULL);
    op = hf_leased_op_new(leased, deed->call,
                          hf_leased_queue_of(request, marks), request);
    if (op == NULL) {
        hf_leased_fail_memory(leased, request);
        return;
    }
    op->call.ticket = request->ticket;
    op->call.ticket_kind = request->ticket_kind;
    op->call.weight = request->weight;
    op->call.payload = request->payload;
    op->call.whole = request->detailed;
    op->call.limit = request->limit;
    if (request->kind == HF_REQUEST_NEW_GENERATION)
        op->call.mark = hf_ticket_id_random(&leased->config.random);
    if (request->kind == HF_REQUEST_ENQUEUE && !expect(leased, op)) {
        hf_leased_op_free(leased, op);
        hf_leased_fail_memory(leased, request);
        return;
    }
    if (request->kind == HF_REQUEST_REMOVE)
        forsake(leased, request);
    /* Answered before the list, it shows whether the ticket stays. */
    if (request->kind == HF_REQUEST_LIST && is_unsure(leased, &request->ticket))
        hf_leased_renew(leased);
    hf_leased_op_begin(leased, op, deed->answered);
}

void hf_leased_ticket_gone(struct hf_leased *leased, const char *queue,
                           const struct hf_ticket_id *id)
{
    struct hf_leased_queue *place =
        hf_leased_queue_find(&leased->queues, queue);
    struct hf_leased_own *own = hf_leased_own_find(leased, id);

    if (place == NULL)
        return;
    place->users++;
    /* While its ENQUEUE has not been answered it may be there again; and while
     * its owner does not watch it, no renewal may promise him anything. */
    if (own != NULL && own->state == HF_LEASED_OWN_THERE) {
        if (own->forsaken || hf_leased_watched_by_owner(own))
            hf_leased_own_drop(leased, own);
        else
            own->gone = true;
    }
    hf_leased_watches_gone(leased, place->name, id, 0);
    hf_leased_queue_leave(&leased->queues, place);
}
