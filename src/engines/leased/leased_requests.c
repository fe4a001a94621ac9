/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the core that take one call of the store.  Their answers also
 * update our own tickets: if a list lacks a ticket of ours, the server has lost
 * it. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "core/finding_list.h"
#include "engines/leased/leased_private.h"

/* ----------------------------------------------------------------- lists -- */

/* Note, for each of our tickets in the list ${answer}, that this list has it,
 * and its kind. */
static void update_own_tickets(struct hf_leased *leased,
                               const struct hf_leased_call *call,
                               const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        struct hf_leased_ticket *ticket =
            hf_leased_ticket_find(leased, &answer->tickets[i].id);

        if (ticket == NULL || ticket->queue != call->queue ||
            ticket->state != HF_LEASED_TICKET_PRESENT)
            continue;
        ticket->kind = answer->tickets[i].kind;
        ticket->last_list = call->number;
    }
}

static bool contains(const struct hf_store_answer *answer,
                     const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return true;
    }
    return false;
}

/* Returns whether the list of ${call} can have ${ticket}.  A list has either
 * the participants of a double barrier or the other tickets of the queue. */
static bool is_listed_sort(const struct hf_leased_call *call,
                           const struct hf_leased_ticket *ticket)
{
    return hf_store_is_double_barrier_kind(call->store_call.ticket_kind) ==
           hf_store_is_double_barrier_kind(ticket->kind);
}

/* Handle that the list of ${call} does not have ${ticket}, which the server has
 * lost then.  If the owner watches the ticket, GONE will come by a notice or a
 * renewal.  If the owner asked for this list, the list shows the loss.  In any
 * other case, the owner is notified when it begins to watch. */
static void drop_unlisted(struct hf_leased *leased,
                          const struct hf_leased_call *call,
                          struct hf_leased_ticket *ticket)
{
    if (ticket->queue != call->queue ||
        ticket->state != HF_LEASED_TICKET_PRESENT ||
        ticket->last_list == call->number || !is_listed_sort(call, ticket) ||
        hf_leased_owner_watches(ticket))
        return;
    ticket->loss_unreported = true;
    if (hf_ticket_id_equal(&ticket->id, &call->store_call.ticket))
        hf_leased_ticket_remove(leased, ticket);
}

/* Do this for all our tickets that the list lacks.  A partial list shows only
 * whether the ticket of the call is there; renewals show the losses of
 * others. */
static void drop_all_unlisted(struct hf_leased *leased,
                              const struct hf_leased_call *call,
                              const struct hf_store_answer *answer)
{
    struct hf_leased_ticket *ticket = call->queue->tickets, *next;

    if (answer->partial) {
        ticket = hf_leased_ticket_find(leased, &call->store_call.ticket);
        if (ticket != NULL)
            drop_unlisted(leased, call, ticket);
        return;
    }
    for (; ticket != NULL; ticket = next) {
        next = ticket->next_in_queue;
        drop_unlisted(leased, call, ticket);
    }
}

/* Handle the answer to an ENQUEUE: the ticket is there, may be there, or is
 * not. */
static void enqueued(struct hf_leased *leased, struct hf_leased_call *call,
                     const struct hf_store_answer *answer)
{
    struct hf_leased_ticket *ticket =
        hf_leased_ticket_find(leased, &call->store_call.ticket);
    bool unsure =
        answer == NULL || (!answer->ok && answer->failure == HF_FAILURE_UNSURE);

    if (ticket != NULL && unsure)
        ticket->state = HF_LEASED_TICKET_UNSURE;
    else if (ticket != NULL && answer != NULL && answer->ok)
        ticket->state = HF_LEASED_TICKET_PRESENT;
    else if (ticket != NULL)
        hf_leased_ticket_remove(leased, ticket);
    if (unsure || !answer->ok)
        hf_leased_fail_with_answer(leased, call->request, answer);
    else
        hf_leased_answer_snapshot(leased, call->request, HF_EVENT_ENQUEUED,
                                  answer);
}

/* Returns whether it is not known if our ticket ${id} is there: its ENQUEUE got
 * no answer, and no renewal has found the ticket since. */
static bool is_unsure(const struct hf_leased *leased,
                      const struct hf_ticket_id *id)
{
    const struct hf_leased_ticket *ticket = hf_leased_ticket_find(leased, id);

    return ticket != NULL && ticket->state == HF_LEASED_TICKET_UNSURE;
}

/* Returns whether the list has the ticket of ${call} although it is not known
 * to stay.  The server may still lose such a ticket, because a read does not
 * wait until the ticket is on disk or on a replica.  So this list must not
 * admit the ticket. */
static bool lists_unsure_ticket(const struct hf_leased *leased,
                                const struct hf_leased_call *call,
                                const struct hf_store_answer *answer)
{
    return is_unsure(leased, &call->store_call.ticket) &&
           contains(answer, &call->store_call.ticket);
}

/* Handle the answer to a LIST: update our own tickets, then pass the list
 * on. */
static void listed(struct hf_leased *leased, struct hf_leased_call *call,
                   const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok) {
        hf_leased_fail_with_answer(leased, call->request, answer);
        return;
    }
    if (lists_unsure_ticket(leased, call, answer)) {
        hf_leased_fail(leased, call->request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                       "the ticket is there, but the server has not confirmed "
                       "yet that it stays");
        return;
    }
    update_own_tickets(leased, call, answer);
    drop_all_unlisted(leased, call, answer);
    hf_leased_answer_snapshot(leased, call->request, HF_EVENT_LISTED, answer);
}

/* --------------------------------------------------------------- changes -- */

/* Answer the request of ${call} with ${kind} and .found. */
static void answer_found(struct hf_leased *leased,
                         const struct hf_leased_call *call,
                         enum hf_event_kind kind, bool found)
{
    struct hf_event event = {.kind = kind};

    event.as.answer.request = call->request;
    event.as.answer.found = found;
    hf_leased_notify(leased, &event);
}

/* Returns the text for the owner of the ticket that ${request} removed: who
 * evicted the ticket.  The owner may be of this session.  NULL: not known. */
static const char *explain(const struct hf_request *request,
                           char why[HF_EVICTED_WHY_BYTES])
{
    if (request->evicted_by == NULL)
        return NULL;
    return hf_evicted_by_explain(request->evicted_by,
                                 strlen(request->evicted_by), why);
}

/* Handle the answer to a REMOVE: the ticket is gone, found or not.  If the
 * owner asked for the removal, it knows.  If another operation evicted the
 * ticket (.operation is set), the owner is notified. */
static void removed(struct hf_leased *leased, struct hf_leased_call *call,
                    const struct hf_store_answer *answer)
{
    struct hf_leased_ticket *ticket;
    char why[HF_EVICTED_WHY_BYTES];

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_with_answer(leased, call->request, answer);
        return;
    }
    ticket = hf_leased_ticket_find(leased, &call->store_call.ticket);
    if (ticket != NULL && call->request->operation == NULL)
        hf_leased_ticket_remove(leased, ticket);
    hf_leased_ticket_gone(leased, call->queue->name, &call->store_call.ticket,
                          answer->found ? explain(call->request, why) : NULL,
                          NULL);
    answer_found(leased, call, HF_EVENT_REMOVED, answer->found);
}

/* Handle the answer to a DOWNGRADE.  If the ticket was not there, the grant is
 * lost. */
static void downgraded(struct hf_leased *leased, struct hf_leased_call *call,
                       const struct hf_store_answer *answer)
{
    struct hf_leased_ticket *ticket;

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_with_answer(leased, call->request, answer);
        return;
    }
    if (!answer->found) {
        ticket = hf_leased_ticket_find(leased, &call->store_call.ticket);
        if (ticket != NULL && ticket->loss_unreported)
            hf_leased_ticket_remove(leased, ticket);
        else if (ticket != NULL)
            ticket->abandoned = true;
        hf_leased_fail(leased, call->request, HF_FAILURE_FATAL, HF_ELOST,
                       "there is no such write ticket of ours any more");
        return;
    }
    ticket = hf_leased_ticket_find(leased, &call->store_call.ticket);
    if (ticket != NULL)
        ticket->kind = HF_TICKET_READ;
    hf_leased_watches_gone(leased, call->queue->name, &call->store_call.ticket,
                           HF_TICKET_WRITE);
    answer_found(leased, call, HF_EVENT_DOWNGRADED, true);
}

static void revoke_answered(struct hf_leased *leased,
                            struct hf_leased_call *call,
                            const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_with_answer(leased, call->request, answer);
    else
        answer_found(leased, call, HF_EVENT_REVOKE_SENT, answer->found);
}

static void described(struct hf_leased *leased, struct hf_leased_call *call,
                      const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_with_answer(leased, call->request, answer);
    else
        answer_found(leased, call, HF_EVENT_DESCRIBED, answer->found);
}

static void flag_answered(struct hf_leased *leased, struct hf_leased_call *call,
                          const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_with_answer(leased, call->request, answer);
    else
        answer_found(leased, call, HF_EVENT_FLAG_UPDATED, answer->found);
}

static void generation_answered(struct hf_leased *leased,
                                struct hf_leased_call *call,
                                const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_with_answer(leased, call->request, answer);
    else if (answer->found)
        answer_found(leased, call, HF_EVENT_FLAG_UPDATED, true);
    else
        hf_leased_fail(leased, call->request, HF_FAILURE_RETRY, HF_EBUSY,
                       "the participant is not there, or too few others are");
}

static void success_read(struct hf_leased *leased, struct hf_leased_call *call,
                         const struct hf_store_answer *answer)
{
    struct hf_event event = {.kind = HF_EVENT_SUCCESS_READ};

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_with_answer(leased, call->request, answer);
        return;
    }
    event.as.answer.request = call->request;
    event.as.answer.success = answer->success;
    hf_leased_notify(leased, &event);
}

static void success_written(struct hf_leased *leased,
                            struct hf_leased_call *call,
                            const struct hf_store_answer *answer)
{
    if (answer == NULL || !answer->ok)
        hf_leased_fail_with_answer(leased, call->request, answer);
    else
        answer_found(leased, call, HF_EVENT_SUCCESS_WRITTEN, answer->found);
}

/* -------------------------------------------------------------- requests -- */

/* For each kind of request: the call of the store, and the function that
 * handles the answer. */
static const struct request_kind {
    enum hf_store_call_kind store_call;
    hf_leased_answered_fn *answered;
} request_kinds[] = {
    [HF_REQUEST_ENQUEUE] = {HF_STORE_ENQUEUE, enqueued},
    [HF_REQUEST_LIST] = {HF_STORE_LIST, listed},
    [HF_REQUEST_REMOVE] = {HF_STORE_REMOVE, removed},
    [HF_REQUEST_DOWNGRADE] = {HF_STORE_DOWNGRADE, downgraded},
    [HF_REQUEST_REVOKE] = {HF_STORE_REVOKE, revoke_answered},
    [HF_REQUEST_DESCRIBE] = {HF_STORE_DESCRIBE, described},
    [HF_REQUEST_SET_FLAG] = {HF_STORE_SET_FLAG, flag_answered},
    [HF_REQUEST_CLEAR_FLAG] = {HF_STORE_CLEAR_FLAG, flag_answered},
    [HF_REQUEST_NEW_GENERATION] = {HF_STORE_NEW_GENERATION,
                                   generation_answered},
    [HF_REQUEST_READ_SUCCESS] = {HF_STORE_READ_SUCCESS, success_read},
    [HF_REQUEST_WRITE_SUCCESS] = {HF_STORE_WRITE_SUCCESS, success_written},
};

/* Add the ticket of ${call} to our tickets before the answer is known.  Returns
 * false if memory runs out. */
static bool add_own_ticket(struct hf_leased *leased,
                           const struct hf_leased_call *call)
{
    struct hf_leased_ticket *ticket =
        hf_leased_ticket_find(leased, &call->store_call.ticket);

    if (ticket == NULL)
        ticket =
            hf_leased_ticket_add(leased, call->queue, &call->store_call.ticket);
    if (ticket == NULL)
        return false;
    ticket->state = HF_LEASED_TICKET_ENQUEUING;
    ticket->loss_unreported = ticket->abandoned = false;
    hf_free(ticket->why);
    ticket->why = NULL;
    ticket->kind = call->store_call.ticket_kind;
    ticket->owner = call->request->own_ticket;
    return true;
}

/* Note that the owner has given up its ticket, if ${request} comes from the
 * owner and not from an operation that evicts.  This stays so even if the call
 * fails, because the core repeats a failed removal. */
static void abandon(struct hf_leased *leased, const struct hf_request *request)
{
    struct hf_leased_ticket *ticket =
        hf_leased_ticket_find(leased, &request->ticket);

    if (ticket != NULL && request->operation == NULL)
        ticket->abandoned = true;
}

void hf_leased_begin_request(struct hf_leased *leased,
                             struct hf_request *request)
{
    const struct request_kind *request_kind = &request_kinds[request->kind];
    char flag_queue[HF_LEASED_FLAG_QUEUE_BYTES];
    struct hf_leased_call *call;

    assert(request_kind->answered != NULL);
    call = hf_leased_call_new(leased, request_kind->store_call,
                              hf_leased_queue_of(request, flag_queue), request);
    if (call == NULL) {
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    call->store_call.ticket = request->ticket;
    call->store_call.ticket_kind = request->ticket_kind;
    call->store_call.weight = request->weight;
    call->store_call.payload = request->payload;
    call->store_call.detailed = request->detailed;
    call->store_call.limit = request->limit;
    if (request->kind == HF_REQUEST_REMOVE)
        call->store_call.evicted_by = request->evicted_by;
    if (request->detailed)
        call->store_call.texts = *request->texts;
    if (request->kind == HF_REQUEST_WRITE_SUCCESS)
        call->store_call.success_token = request->success_token;
    if (request->kind == HF_REQUEST_NEW_GENERATION)
        call->store_call.flag = hf_ticket_id_random(&leased->config.random);
    if (request->kind == HF_REQUEST_ENQUEUE && !add_own_ticket(leased, call)) {
        hf_leased_call_free(leased, call);
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    if (request->kind == HF_REQUEST_REMOVE)
        abandon(leased, request);
    /* The renewal is answered before the list, and shows whether the ticket
     * stays. */
    if (request->kind == HF_REQUEST_LIST && is_unsure(leased, &request->ticket))
        hf_leased_renew(leased);
    hf_leased_call_begin(leased, call, request_kind->answered);
}

/* --------------------------------------------------------------- names -- */

static void named(struct hf_leased *leased, struct hf_leased_call *call,
                  const struct hf_store_answer *answer)
{
    struct hf_event event = {.kind = HF_EVENT_NAMED};

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_with_answer(leased, call->request, answer);
        return;
    }
    event.as.answer.request = call->request;
    event.as.answer.names = answer->names;
    hf_leased_notify(leased, &event);
}

void hf_leased_begin_names(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_call *call =
        hf_leased_call_new(leased, HF_STORE_NAMES, NULL, request);

    if (call == NULL) {
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    call->store_call.prefix = request->queue;
    call->store_call.names = request->names;
    hf_leased_call_begin(leased, call, named);
}

/* -------------------------------------------------------- examination -- */

/* The lease should be at least this many times as long as the server takes to
 * answer, because several renewals are sent within a lease, and one may have to
 * be repeated. */
#define ANSWERS_IN_LEASE 12

/* Add the finding that compares the time which the store took with the
 * lease. */
static void add_lease(const struct hf_leased *leased,
                      const struct hf_leased_call *call,
                      struct hf_finding_list *list)
{
    uint64_t took_ms = leased->now_ms - call->sent_at_ms;
    uint64_t ttl_ms = leased->config.ttl_ms;
    struct hf_finding_head head = {HF_SEVERITY_OK, "lease", "", NULL};

    if (took_ms > ttl_ms / ANSWERS_IN_LEASE) {
        head.severity = HF_SEVERITY_WARNING;
        head.advice = "see why the service is slow, or let all who share the "
                      "locks use a longer ttl= in the URL";
        hf_finding_add(list, &head,
                       "the service took %" PRIu64 " ms to answer, and the "
                       "lease (ttl=) is %" PRIu64 " ms: a little slower, and "
                       "locks are lost because renewals come too late",
                       took_ms, ttl_ms);
        return;
    }
    hf_finding_add(list, &head,
                   "the service took %" PRIu64 " ms to answer, and the lease "
                   "(ttl=) is %" PRIu64 " ms",
                   took_ms, ttl_ms);
}

static void examined(struct hf_leased *leased, struct hf_leased_call *call,
                     const struct hf_store_answer *answer)
{
    struct hf_event event = {.kind = HF_EVENT_EXAMINED};
    struct hf_finding_list list = {0};

    if (answer == NULL || !answer->ok) {
        hf_leased_fail_with_answer(leased, call->request, answer);
        return;
    }
    hf_finding_list_append(&list, answer->findings);
    add_lease(leased, call, &list);
    event.as.answer.request = call->request;
    event.as.answer.findings = &list;
    event.as.answer.text = "";
    hf_leased_notify(leased, &event);
    hf_finding_list_free(&list);
}

void hf_leased_begin_examine(struct hf_leased *leased,
                             struct hf_request *request)
{
    struct hf_leased_call *call =
        hf_leased_call_new(leased, HF_STORE_EXAMINE, NULL, request);

    if (call == NULL)
        hf_leased_fail_no_memory(leased, request);
    else
        hf_leased_call_begin(leased, call, examined);
}
