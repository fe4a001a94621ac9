/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of request asks of the servers, and when their answers decide
 * it.  A change counts as done when a majority of the servers has done it. */
#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "engines/quorum/quorum_answer.h"

/* Returns whether a majority has done what ${request} asks.  If a majority
 * cannot do it any more, fails the request, which may free it. */
static bool has_enough(struct hf_quorum *quorum,
                       struct hf_quorum_request *request)
{
    size_t have = hf_quorum_count(request->ok_servers);

    if (have >= hf_quorum_majority(quorum))
        return true;
    if (!hf_quorum_request_can_reach(request, have, hf_quorum_majority(quorum)))
        hf_quorum_request_fail(quorum, request);
    return false;
}

/* Begin a round: send the call of the request as it is to all servers. */
static void send_to_all(struct hf_quorum *quorum,
                        struct hf_quorum_request *request, uint64_t number)
{
    const struct hf_store_quorum_args args = {.number = number,
                                              .numbers = request->numbers};
    const struct hf_store_call call = *request->user_call;

    hf_quorum_request_send_all(quorum, request, &call, &args);
}

/* ----------------------------------------------------------------- renew -- */

/* Begin a RENEW.  It names our tickets with their numbers, so that servers
 * commit tickets that they have only as proposed.  Returns false if memory runs
 * out. */
static bool renew_begin(struct hf_quorum *quorum,
                        struct hf_quorum_request *request)
{
    const struct hf_store_call *call = request->user_call;
    struct hf_quorum_ticket *ticket;
    size_t count = 0, at = 0;

    for (size_t i = 0; i < call->ticket_set_count; i++)
        count += call->ticket_sets[i].count;
    request->numbers = hf_alloc((count + 1) * sizeof *request->numbers);
    if (request->numbers == NULL)
        return false;
    request->renewal = ++quorum->renewals;
    for (size_t i = 0; i < call->ticket_set_count; i++) {
        for (size_t k = 0; k < call->ticket_sets[i].count; k++) {
            ticket = hf_quorum_ticket_find(&quorum->tickets,
                                           &call->ticket_sets[i].tickets[k]);
            request->numbers[at++] = ticket != NULL ? ticket->number : 0;
            if (ticket != NULL)
                ticket->renewal = request->renewal;
        }
    }
    send_to_all(quorum, request, 0);
    return true;
}

/* Note which of our tickets ${server} lacks.  They are repaired when a majority
 * has renewed all.  The answer says nothing about tickets that this RENEW did
 * not name, because it may be one piece of a renewal. */
static void update_missing(struct hf_quorum *quorum,
                           const struct hf_quorum_request *request,
                           size_t server, const struct hf_store_answer *answer)
{
    uint32_t bit = UINT32_C(1) << server;
    struct hf_quorum_ticket *ticket;

    for (ticket = hf_quorum_ticket_first(&quorum->tickets); ticket != NULL;
         ticket = hf_quorum_ticket_next(&quorum->tickets, ticket)) {
        if (ticket->renewal == request->renewal)
            ticket->missing_at &= ~bit;
    }
    for (size_t i = 0; i < answer->count; i++) {
        ticket =
            hf_quorum_ticket_find(&quorum->tickets, &answer->tickets[i].id);
        if (ticket != NULL && answer->leases[i].missing)
            ticket->missing_at |= bit;
    }
}

/* Returns whether fewer than a majority have renewed the ticket so far. */
static bool lacks_majority(const struct hf_quorum *quorum,
                           const struct hf_quorum_request *request,
                           const struct hf_quorum_merged_ticket *row)
{
    const struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &row->ticket.id);

    if (ticket != NULL && ticket->number == 0)
        return false; /* it has no number yet, so no grant depends on it */
    return hf_quorum_count(request->ok_servers & ~row->missing_at) <
           hf_quorum_majority(quorum);
}

/* Returns whether so many servers lack the ticket that no majority can renew
 * it. */
static bool cannot_reach_majority(const struct hf_quorum *quorum,
                                  const struct hf_quorum_merged_ticket *row)
{
    return hf_quorum_count(row->missing_at) >
           quorum->config.servers - hf_quorum_majority(quorum);
}

/* Returns whether it is not known yet for some ticket if a majority renews
 * it. */
static bool has_undecided_loss(const struct hf_quorum *quorum,
                               const struct hf_quorum_request *request)
{
    for (size_t i = 0; i < request->merged.count; i++) {
        if (lacks_majority(quorum, request, &request->merged.rows[i]) &&
            !cannot_reach_majority(quorum, &request->merged.rows[i]))
            return true;
    }
    return false;
}

/* Answer the RENEW.  Tickets that no majority has are answered as missing; the
 * others are repaired at the servers that lack them. */
static void renewed(struct hf_quorum *quorum, struct hf_quorum_request *request)
{
    struct hf_quorum_answer answer;

    if (!hf_quorum_answer_begin(&answer, quorum, request)) {
        hf_quorum_answer_end(&answer);
        return;
    }
    for (size_t i = 0; i < request->merged.count; i++) {
        struct hf_quorum_merged_ticket *row = &request->merged.rows[i];
        struct hf_quorum_ticket *ticket =
            hf_quorum_ticket_find(&quorum->tickets, &row->ticket.id);

        row->lease.missing = lacks_majority(quorum, request, row) &&
                             cannot_reach_majority(quorum, row);
        if (row->lease.missing && ticket != NULL)
            hf_quorum_ticket_remove(&quorum->tickets, ticket);
        if (row->lease.missing || row->lease.revoked > 0)
            hf_quorum_answer_add(&answer, row);
    }
    hf_quorum_repair(quorum, request->renewal);
    hf_quorum_request_answer(quorum, request, &answer.answer);
    hf_quorum_answer_end(&answer);
}

/* Answer the RENEW, or wait for more servers; or fail, if it cannot be found
 * out whether a majority has renewed a ticket. */
static void decide_renew(struct hf_quorum *quorum,
                         struct hf_quorum_request *request)
{
    if (!has_enough(quorum, request))
        return;
    if (!has_undecided_loss(quorum, request))
        renewed(quorum, request);
    else if (request->pending_in_round == 0)
        hf_quorum_request_fail_with(
            quorum, request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
            "too few of the servers that answer have a ticket "
            "of ours, and others do not answer");
}

/* --------------------------------------------------------------- changes -- */

static void answer_found(struct hf_quorum *quorum,
                         struct hf_quorum_request *request, bool found)
{
    struct hf_store_answer answer = {.ok = true, .found = found};

    hf_quorum_request_answer(quorum, request, &answer);
}

/* Decide a REMOVE, REVOKE or DESCRIBE.  It is answered when a majority has done
 * it, so a server that has not received it yet may still have the ticket.
 *
 * The ticket counts as found unless the answers show that no majority has it.
 * If that is not clear yet, the other servers get a grace period to answer.
 * For our own ticket (${is_own}) there is none, because nobody needs that
 * answer. */
static void decide_found(struct hf_quorum *quorum,
                         struct hf_quorum_request *request, bool is_own)
{
    bool found;

    if (!has_enough(quorum, request))
        return;
    found =
        hf_quorum_may_hold(quorum, request->found_servers, request->ok_servers);
    if (!is_own && found &&
        hf_quorum_count(request->found_servers) < hf_quorum_majority(quorum) &&
        hf_quorum_request_wait(quorum, request))
        return;
    answer_found(quorum, request, found);
}

/* Decide a REMOVE.  A ticket of ours is forgotten when a majority has removed
 * it. */
static void decide_remove(struct hf_quorum *quorum,
                          struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);
    bool removed =
        hf_quorum_count(request->ok_servers) >= hf_quorum_majority(quorum);

    if (ticket != NULL && removed)
        hf_quorum_ticket_remove(&quorum->tickets, ticket);
    decide_found(quorum, request, ticket != NULL);
}

/* Decide a DOWNGRADE or WRITE_SUCCESS, which no server can undo.  It is
 * complete when a majority has done it: after a downgrade, every reader's list
 * shows that there is no writer any more; and a success is read from a
 * majority. */
static void decide_by_majority(struct hf_quorum *quorum,
                               struct hf_quorum_request *request)
{
    size_t majority = hf_quorum_majority(quorum);
    size_t found = hf_quorum_count(request->found_servers);

    if (!has_enough(quorum, request))
        return;
    if (found >= majority)
        answer_found(quorum, request, true);
    else if (hf_quorum_request_can_reach(request, found, majority))
        return;
    else if (hf_quorum_may_hold(quorum, request->found_servers,
                                request->ok_servers))
        hf_quorum_request_fail(quorum, request);
    else
        answer_found(quorum, request, false);
}

/* Decide a REVOKE.  The first round asks all servers for .revoked, the second
 * sets it to one more, so that all servers get the same value for this
 * request. */
static void decide_revoke(struct hf_quorum *quorum,
                          struct hf_quorum_request *request)
{
    const struct hf_quorum_merged_ticket *row =
        hf_quorum_merged_find(&request->merged, &request->ticket);

    if (request->number > 0) {
        decide_found(quorum, request, false);
        return;
    }
    if (!has_enough(quorum, request))
        return;
    if (row == NULL ||
        !hf_quorum_may_hold(quorum, row->present_at, request->ok_servers)) {
        answer_found(quorum, request, false);
    } else {
        request->number = (uint64_t)row->lease.revoked + 1;
        send_to_all(quorum, request, request->number);
    }
}

/* Begin a REVOKE: the first round only reads .revoked. */
static void revoke_begin(struct hf_quorum *quorum,
                         struct hf_quorum_request *request)
{
    const struct hf_store_quorum_args args = {0};
    struct hf_store_call call = *request->user_call;

    call.kind = HF_STORE_EXISTS;
    call.tickets = &request->ticket;
    call.count = 1;
    hf_quorum_request_send_all(quorum, request, &call, &args);
}

/* Add the success that one server has.  The one with the greatest token is the
 * last one.  Each server wrote it at another time, by its own clock, so the
 * least of their ages counts. */
static void merge_success(struct hf_quorum_request *request,
                          const struct hf_success *success)
{
    if (success->token > request->success.token ||
        (success->token == request->success.token &&
         success->age_ms < request->success.age_ms))
        request->success = *success;
}

static void decide_read_success(struct hf_quorum *quorum,
                                struct hf_quorum_request *request)
{
    struct hf_store_answer answer = {.ok = true, .success = request->success};

    if (has_enough(quorum, request))
        hf_quorum_request_answer(quorum, request, &answer);
}

/* Begin a REMOVE.  From now on repairs leave the ticket out. */
static void remove_begin(struct hf_quorum *quorum,
                         struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);

    if (ticket != NULL)
        ticket->removing = true;
    send_to_all(quorum, request, 0);
}

/* Begin a DOWNGRADE.  From now on repairs add the ticket as a read ticket. */
static void downgrade_begin(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);

    if (ticket != NULL)
        ticket->kind = HF_TICKET_READ;
    send_to_all(quorum, request, 0);
}

/* Begin a DESCRIBE.  From now on repairs add the ticket with the new
 * payload. */
static void describe_begin(struct hf_quorum *quorum,
                           struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);

    if (ticket != NULL)
        hf_quorum_ticket_describe(ticket, request->user_call->payload);
    send_to_all(quorum, request, 0);
}

/* --------------------------------------------------------------- examine -- */

/* Decide an EXAMINE: wait until each server that was asked has answered or lost
 * its link.  hf_quorum_look() has the reason why a server is not linked. */
static void decide_examine(struct hf_quorum *quorum,
                           struct hf_quorum_request *request)
{
    struct hf_store_answer answer = {.ok = true,
                                     .findings = &request->findings};

    if (request->pending == 0)
        hf_quorum_request_answer(quorum, request, &answer);
}

/* ------------------------------------------------------------- all kinds -- */

/* Returns whether a quorum supports ${call}.  Flags are not supported: they
 * have no session and never expire, so a server that was away while a flag was
 * cleared would still have it. */
static bool is_supported(const struct hf_store_call *call)
{
    const char *queue = call->queue;

    switch (call->kind) {
    case HF_STORE_RENEW:
    case HF_STORE_CLOSE_SESSION:
        return true;
    case HF_STORE_SET_FLAG:
    case HF_STORE_CLEAR_FLAG:
    case HF_STORE_NEW_GENERATION:
    case HF_STORE_NAMES:
        return false;
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
        return call->ticket_kind <= HF_TICKET_QUEUED_LAST &&
               queue[strlen(queue) - 1] != '/';
    case HF_STORE_EXISTS:
    case HF_STORE_REMOVE:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_REVOKE:
    case HF_STORE_DESCRIBE:
    case HF_STORE_EXAMINE:
    case HF_STORE_READ_SUCCESS:
    case HF_STORE_WRITE_SUCCESS:
        return true;
    }
    return false;
}

void hf_quorum_operation_begin(struct hf_quorum *quorum,
                               struct hf_quorum_request *request)
{
    request->kind = request->user_call->kind;
    request->ticket = request->user_call->ticket;
    assert(request->state == HF_QUORUM_REQUEST_OPEN);
    if (!is_supported(request->user_call)) {
        request->state = HF_QUORUM_REQUEST_UNSUPPORTED;
        return;
    }
    switch (request->kind) {
    case HF_STORE_ENQUEUE:
        hf_quorum_enqueue_begin(quorum, request);
        break;
    case HF_STORE_RENEW:
        if (!renew_begin(quorum, request))
            quorum->out_of_memory = true;
        break;
    case HF_STORE_LIST:
        request->number = hf_quorum_tickets_max_number(
            &quorum->tickets, request->user_call->queue);
        send_to_all(quorum, request, request->number);
        break;
    case HF_STORE_REMOVE:
        remove_begin(quorum, request);
        break;
    case HF_STORE_DOWNGRADE:
        downgrade_begin(quorum, request);
        break;
    case HF_STORE_REVOKE:
        revoke_begin(quorum, request);
        break;
    case HF_STORE_DESCRIBE:
        describe_begin(quorum, request);
        break;
    default:
        send_to_all(quorum, request, 0);
    }
}

/* Add the answer of a server that has done the call.  Missing tickets and
 * findings are noted even if the answer does not count for the request. */
static void add_answer(struct hf_quorum *quorum,
                       struct hf_quorum_request *request,
                       const struct hf_quorum_server_call *server_call,
                       const struct hf_store_answer *answer)
{
    bool counts = request->user_call != NULL &&
                  server_call->round == request->round && server_call->counts;

    if (request->kind == HF_STORE_ENQUEUE) {
        hf_quorum_enqueue_add_answer(quorum, request, server_call, answer);
        return;
    }
    if (request->kind == HF_STORE_RENEW)
        update_missing(quorum, request, server_call->server, answer);
    if (request->kind == HF_STORE_EXAMINE)
        hf_finding_list_append(&request->findings, answer->findings);
    if (!counts)
        return;
    if (request->kind == HF_STORE_READ_SUCCESS)
        merge_success(request, &answer->success);
    if (answer->found)
        request->found_servers |= UINT32_C(1) << server_call->server;
    hf_quorum_merged_add(&request->merged, server_call->server, answer);
}

void hf_quorum_operation_decide(struct hf_quorum *quorum,
                                struct hf_quorum_request *request)
{
    /* The merged answers may lack a ticket that is ahead.  The next tick takes
     * the link down, and nothing is answered before that. */
    if (quorum->out_of_memory)
        return;
    switch (request->kind) {
    case HF_STORE_ENQUEUE:
        hf_quorum_enqueue_decide(quorum, request);
        break;
    case HF_STORE_RENEW:
        decide_renew(quorum, request);
        break;
    case HF_STORE_LIST:
    case HF_STORE_EXISTS:
        if (has_enough(quorum, request))
            hf_quorum_answer_queue(quorum, request);
        break;
    case HF_STORE_REMOVE:
        decide_remove(quorum, request);
        break;
    case HF_STORE_DOWNGRADE:
    case HF_STORE_WRITE_SUCCESS:
        decide_by_majority(quorum, request);
        break;
    case HF_STORE_READ_SUCCESS:
        decide_read_success(quorum, request);
        break;
    case HF_STORE_REVOKE:
        decide_revoke(quorum, request);
        break;
    case HF_STORE_DESCRIBE:
        decide_found(quorum, request, false);
        break;
    case HF_STORE_CLOSE_SESSION:
        if (request->pending == 0)
            answer_found(quorum, request, true);
        break;
    case HF_STORE_EXAMINE:
        decide_examine(quorum, request);
        break;
    default:
        assert(false && "a call that was refused");
    }
}

void hf_quorum_server_call_done(struct hf_quorum *quorum,
                                struct hf_quorum_server_call *server_call,
                                const struct hf_store_answer *answer)
{
    struct hf_quorum_request *request = server_call->request;

    if (hf_quorum_server_call_end(quorum, server_call, answer))
        add_answer(quorum, request, server_call, answer);
    if (request->merged.out_of_memory)
        quorum->out_of_memory = true;
    hf_free(server_call);
    if (request->user_call != NULL)
        hf_quorum_operation_decide(quorum, request);
    else
        hf_quorum_request_release(quorum, request);
}
