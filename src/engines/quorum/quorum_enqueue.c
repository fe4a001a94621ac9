/* SPDX-License-Identifier: Apache-2.0 */
/* How a ticket gets its number: it is proposed at all servers, then committed
 * with the greatest number of a majority (quorum.h).  And how it is repaired:
 * added again at servers that have lost it. */
#include <assert.h>

#include "engines/quorum/quorum_answer.h"

/* If a server has committed another ticket with our number, a greater number is
 * tried, in at most COMMIT_ROUNDS_MAX rounds in all.  It is greater by a random
 * step of up to STRIDE_MAX, so that two clients which want the same number soon
 * differ. */
#define COMMIT_ROUNDS_MAX 16
#define STRIDE_MAX 64

/* Begin a round of COMMIT with .number. */
static void send_commit(struct hf_quorum *quorum,
                        struct hf_quorum_request *request)
{
    const struct hf_store_quorum_args args = {.step = HF_STORE_COMMIT,
                                              .number = request->number};
    const struct hf_store_call call = *request->user_call;

    request->commit_rounds++;
    hf_quorum_request_send_all(quorum, request, &call, &args);
}

/* Begin an enqueue with proposals, or begin it again.  A server that does not
 * have the ticket proposes a number greater than all before; any other server
 * answers the number that the ticket has there. */
static void send_propose(struct hf_quorum *quorum,
                         struct hf_quorum_request *request,
                         struct hf_quorum_ticket *ticket)
{
    const struct hf_store_quorum_args args = {.step = HF_STORE_PROPOSE};
    const struct hf_store_call call = *request->user_call;

    ticket->number = request->number = 0;
    request->commit_rounds = 0;
    hf_quorum_request_send_all(quorum, request, &call, &args);
}

/* Returns the ticket of the request.  If it was forgotten since the last
 * answer, because it was removed or reported as gone, it is added again without
 * a number.  Returns NULL if memory runs out. */
static struct hf_quorum_ticket *
get_ticket(struct hf_quorum *quorum, const struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_get(&quorum->tickets, request->user_call);

    if (ticket == NULL)
        quorum->out_of_memory = true;
    return ticket;
}

void hf_quorum_enqueue_begin(struct hf_quorum *quorum,
                             struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket = get_ticket(quorum, request);

    if (ticket == NULL)
        return;
    ticket->enqueue_failed = ticket->removing = false;
    request->number = ticket->number;
    /* a ticket with a number was committed; find out whether it is still
     * there */
    if (request->number > 0)
        send_commit(quorum, request);
    else
        send_propose(quorum, request, ticket);
}

/* Returns the ticket ${id} in ${answer}, or NULL.  Sets ${*proposed} to whether
 * it is only proposed. */
static const struct hf_ticket *find_ticket(const struct hf_store_answer *answer,
                                           const struct hf_ticket_id *id,
                                           bool *proposed)
{
    for (size_t i = 0; i < answer->count; i++) {
        *proposed = answer->leases[i].proposed;
        if (hf_ticket_id_equal(&answer->tickets[i].id, id))
            return &answer->tickets[i];
    }
    return NULL;
}

/* Add the answer of a server to COMMIT, which is its queue. */
static void add_commit_answer(struct hf_quorum_request *request,
                              const struct hf_quorum_server_call *server_call,
                              const struct hf_store_answer *answer)
{
    bool proposed = false;
    const struct hf_ticket *ticket =
        find_ticket(answer, &request->ticket, &proposed);

    if (ticket == NULL)
        return; /* the server has lost the ticket, or never had it */
    if (proposed || ticket->sequence != request->number)
        request->number_taken = true;
    else
        request->committed |= UINT32_C(1) << server_call->server;
}

void hf_quorum_enqueue_add_answer(
    struct hf_quorum *quorum, struct hf_quorum_request *request,
    const struct hf_quorum_server_call *server_call,
    const struct hf_store_answer *answer)
{
    bool proposed = false;
    const struct hf_ticket *ticket;

    (void)quorum;
    if (request->user_call == NULL || server_call->round != request->round ||
        !server_call->counts)
        return;
    hf_quorum_merged_add(&request->merged, server_call->server, answer);
    if (request->commit_rounds > 0) {
        add_commit_answer(request, server_call, answer);
        return;
    }
    ticket = find_ticket(answer, &request->ticket, &proposed);
    if (ticket == NULL)
        request->ok_servers &= ~(UINT32_C(1) << server_call->server);
    else if (ticket->sequence > request->number)
        request->number = ticket->sequence;
}

/* Fail the ENQUEUE.  If a server may have done it, the ticket stays in our
 * table, so that no list shows it. */
static void fail(struct hf_quorum *quorum, struct hf_quorum_request *request,
                 struct hf_quorum_ticket *ticket)
{
    if (request->may_be_done)
        ticket->enqueue_failed = true;
    else
        hf_quorum_ticket_remove(&quorum->tickets, ticket);
    hf_quorum_request_fail(quorum, request);
}

/* Answer the ENQUEUE if a majority has committed, or wait while a majority
 * still can.  Otherwise try another number; or, if the ticket had its number
 * before, propose it again; or fail. */
static void decide_commit(struct hf_quorum *quorum,
                          struct hf_quorum_request *request,
                          struct hf_quorum_ticket *ticket)
{
    size_t enough = hf_quorum_majority(quorum);

    if (hf_quorum_count(request->committed) >= enough) {
        ticket->number = request->number;
        hf_quorum_answer_queue(quorum, request);
    } else if (hf_quorum_request_can_reach(
                   request, hf_quorum_count(request->committed), enough)) {
        return;
    } else if (request->number_taken && ticket->number == 0 &&
               request->commit_rounds < COMMIT_ROUNDS_MAX) {
        request->number +=
            1 + hf_random_below(&quorum->config.random, STRIDE_MAX);
        send_commit(quorum, request);
    } else if (ticket->number > 0) {
        send_propose(quorum, request, ticket);
    } else {
        fail(quorum, request, ticket);
    }
}

void hf_quorum_enqueue_decide(struct hf_quorum *quorum,
                              struct hf_quorum_request *request)
{
    size_t majority = hf_quorum_majority(quorum);
    size_t have = hf_quorum_count(request->ok_servers);
    struct hf_quorum_ticket *ticket = get_ticket(quorum, request);

    if (ticket == NULL)
        return;
    if (request->commit_rounds > 0)
        decide_commit(quorum, request, ticket);
    else if (have >= majority)
        send_commit(quorum, request);
    else if (!hf_quorum_request_can_reach(request, have, majority))
        fail(quorum, request, ticket);
}

/* ---------------------------------------------------------------- repair -- */

/* Add the ticket at one server that lacks it, as committed. */
static void repair_at(struct hf_quorum *quorum,
                      struct hf_quorum_request *request, size_t server,
                      struct hf_quorum_ticket *ticket)
{
    const struct hf_store_quorum_args args = {.step = HF_STORE_REPAIR,
                                              .number = ticket->number};
    const struct hf_store_call call = {
        .kind = HF_STORE_ENQUEUE,
        .session = quorum->session,
        .queue = ticket->queue,
        .ticket = ticket->id,
        .ticket_kind = ticket->kind,
        .weight = ticket->weight,
        .payload = ticket->payload,
        .ttl_ms = quorum->config.ttl_ms,
    };

    ticket->missing_at &= ~(UINT32_C(1) << server);
    hf_quorum_request_send_one(quorum, request, server, &call, &args);
}

void hf_quorum_repair(struct hf_quorum *quorum, uint64_t renewal)
{
    struct hf_quorum_request *request = hf_quorum_request_new(quorum, NULL);
    struct hf_quorum_ticket *ticket;

    if (request == NULL)
        return; /* the next renewal tries again */
    request->kind = HF_STORE_ENQUEUE;
    for (ticket = hf_quorum_ticket_first(&quorum->tickets); ticket != NULL;
         ticket = hf_quorum_ticket_next(&quorum->tickets, ticket)) {
        if (ticket->renewal != renewal)
            continue;
        for (size_t i = 0; i < quorum->config.servers; i++) {
            if (ticket->missing_at & UINT32_C(1) << i && ticket->number > 0 &&
                !ticket->removing &&
                quorum->servers[i].link == HF_QUORUM_LINKED)
                repair_at(quorum, request, i, ticket);
        }
    }
    hf_quorum_request_release(quorum, request);
}
