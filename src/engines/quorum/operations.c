/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of servers for each kind of call, and when they have said
 * enough. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/time_math.h"
#include "engines/quorum/quorum_private.h"

/* Have so many answered?  If they never will, it has failed. */
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

static void send_to_all(struct hf_quorum *quorum,
                        struct hf_quorum_request *request, uint64_t number)
{
    const struct hf_store_quorum_args args = {.number = number,
                                              .numbers = request->numbers};
    const struct hf_store_call call = *request->user_call;

    hf_quorum_request_send_all(quorum, request, &call, &args);
}

/* ---------------------------------------------------------------- queues -- */

static bool may_be_at_majority(const struct hf_quorum *quorum,
                               const struct hf_quorum_request *request,
                               const struct hf_quorum_merged_ticket *row)
{
    return hf_quorum_may_hold(quorum, row->present_at, request->ok_servers);
}

/* Perhaps a majority has it, and perhaps not; and it matters. */
static bool is_undecided(const struct hf_quorum *quorum,
                         const struct hf_quorum_request *request,
                         const struct hf_quorum_merged_ticket *row)
{
    uint64_t below = request->number > 0 ? request->number : UINT64_MAX;

    return hf_quorum_count(row->present_at) < hf_quorum_majority(quorum) &&
           may_be_at_majority(quorum, request, row) &&
           hf_quorum_merged_number(row) < below;
}

static bool has_undecided(const struct hf_quorum *quorum,
                          const struct hf_quorum_request *request)
{
    for (size_t i = 0; i < request->merged.count; i++) {
        if (is_undecided(quorum, request, &request->merged.rows[i]))
            return true;
    }
    return false;
}

/* The row as it is shown; false if it is not. */
static bool prepare_row(const struct hf_quorum *quorum,
                        const struct hf_quorum_request *request,
                        struct hf_quorum_merged_ticket *row)
{
    const struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &row->ticket.id);
    bool detailed = request->user_call->detailed;

    if (!may_be_at_majority(quorum, request, row) ||
        (ticket != NULL && ticket->enqueue_failed))
        return false;
    row->ticket.sequence = hf_quorum_merged_number(row);
    /* Who has my number and is not I is ahead of me, until it is settled who
     * has it. */
    row->ticket.token = detailed ? row->committed : 0;
    if (ticket != NULL && ticket->number > 0)
        row->ticket.sequence = row->ticket.token = ticket->number;
    if (row->ticket.payload == NULL)
        row->ticket.payload = hf_strdup("");
    return row->ticket.payload != NULL;
}

static int compare_rows(const void *a, const void *b)
{
    return hf_ticket_compare(
        &((const struct hf_quorum_merged_ticket *)a)->ticket,
        &((const struct hf_quorum_merged_ticket *)b)->ticket);
}

struct answer_builder {
    struct hf_store_answer answer;
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
};

/* With room for what the tally has. */
static bool answer_begin(struct answer_builder *answer,
                         struct hf_quorum *quorum,
                         const struct hf_quorum_request *request)
{
    size_t room = request->merged.count + 1;

    *answer = (struct answer_builder){.answer = {.ok = true}};
    answer->tickets = hf_alloc(room * sizeof *answer->tickets);
    answer->leases = hf_alloc(room * sizeof *answer->leases);
    if (answer->tickets == NULL || answer->leases == NULL) {
        quorum->out_of_memory = true;
        return false;
    }
    answer->answer.tickets = answer->tickets;
    answer->answer.leases = answer->leases;
    return true;
}

static void answer_add(struct answer_builder *answer,
                       const struct hf_quorum_merged_ticket *row)
{
    answer->tickets[answer->answer.count] = row->ticket;
    answer->leases[answer->answer.count] = row->lease;
    answer->answer.count++;
}

static void answer_end(struct answer_builder *answer)
{
    hf_free(answer->tickets);
    hf_free(answer->leases);
}

/* What is ahead of ${at} and only proposed, as far as whoever is there waits
 * for it; or NULL. */
static const struct hf_quorum_merged_ticket *
uncommitted_ahead(const struct hf_quorum_merged_ticket *rows, size_t at)
{
    bool reads = rows[at].ticket.kind == HF_TICKET_READ;

    while (at-- > 0) {
        if (!reads || rows[at].ticket.kind == HF_TICKET_WRITE)
            return rows[at].committed == 0 ? &rows[at] : NULL;
    }
    return NULL;
}

#define RECHECK_FIRST_MS 20

/* Look again soon, and then less and less often. */
static void plan_recheck(struct hf_quorum *quorum,
                         struct hf_quorum_ticket *ticket,
                         const struct hf_quorum_merged_ticket *ahead)
{
    if (ahead == NULL) {
        ticket->recheck_at_ms = HF_FOREVER;
        ticket->recheck_interval_ms = 0;
        return;
    }
    ticket->ticket_ahead = ahead->ticket.id;
    ticket->recheck_interval_ms =
        hf_min_ms(hf_max_ms(2 * ticket->recheck_interval_ms, RECHECK_FIRST_MS),
                  quorum->config.ttl_ms / 4);
    ticket->recheck_at_ms =
        hf_after_ms(quorum->now_ms, ticket->recheck_interval_ms);
}

static void plan_rechecks(struct hf_quorum *quorum,
                          const struct hf_quorum_merged_ticket *rows,
                          size_t count)
{
    struct hf_quorum_ticket *ticket;

    for (size_t i = 0; i < count; i++) {
        ticket = hf_quorum_ticket_find(&quorum->tickets, &rows[i].ticket.id);
        if (ticket != NULL && ticket->number > 0)
            plan_recheck(quorum, ticket, uncommitted_ahead(rows, i));
    }
}

static void answer_rows(struct hf_quorum *quorum,
                        struct hf_quorum_request *request)
{
    struct hf_quorum_merged *merged = &request->merged;
    struct answer_builder answer;
    size_t kept = 0;

    for (size_t i = 0; i < merged->count; i++) {
        struct hf_quorum_merged_ticket row;

        if (!prepare_row(quorum, request, &merged->rows[i]))
            continue;
        row = merged->rows[i];
        merged->rows[i] = merged->rows[kept];
        merged->rows[kept++] = row;
    }
    if (kept > 1)
        qsort(merged->rows, kept, sizeof *merged->rows, compare_rows);
    if (request->kind != HF_STORE_EXISTS)
        plan_rechecks(quorum, merged->rows, kept);
    if (answer_begin(&answer, quorum, request)) {
        for (size_t i = 0; i < kept; i++)
            answer_add(&answer, &merged->rows[i]);
        hf_quorum_request_answer(quorum, request, &answer.answer);
    }
    answer_end(&answer);
}

void hf_quorum_answer_queue(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    if (has_undecided(quorum, request) &&
        hf_quorum_request_wait(quorum, request))
        return;
    answer_rows(quorum, request);
}

/* ----------------------------------------------------------------- renew -- */

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

/* What one server lacks is put in again once a majority has all.  The answer
 * says nothing of tickets that its RENEW, a piece of one, has not named. */
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

/* Have too few renewed it for a majority, of those that have answered? */
static bool lacks_majority(const struct hf_quorum *quorum,
                           const struct hf_quorum_request *request,
                           const struct hf_quorum_merged_ticket *row)
{
    const struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &row->ticket.id);

    if (ticket != NULL && ticket->number == 0)
        return false; /* nobody counts on it yet */
    return hf_quorum_count(request->ok_servers & ~row->missing_at) <
           hf_quorum_majority(quorum);
}

/* And will not even with those that have not? */
static bool cannot_reach_majority(const struct hf_quorum *quorum,
                                  const struct hf_quorum_merged_ticket *row)
{
    return hf_quorum_count(row->missing_at) >
           quorum->config.servers - hf_quorum_majority(quorum);
}

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

static void renewed(struct hf_quorum *quorum, struct hf_quorum_request *request)
{
    struct answer_builder answer;

    if (!answer_begin(&answer, quorum, request)) {
        answer_end(&answer);
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
            answer_add(&answer, row);
    }
    hf_quorum_repair(quorum, request->renewal);
    hf_quorum_request_answer(quorum, request, &answer.answer);
    answer_end(&answer);
}

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

/* A removal answers when a majority has carried it out, so a server that has
 * not heard of it yet may still find the ticket.  A ticket counts as found
 * unless the answers show that no majority has it.  Servers that have not
 * answered are given a moment, except when the ticket is our own: nobody has to
 * learn whether that was found. */
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

/* What one has done no other may undo: a majority shows every reader that there
 * is no writer any more. */
static void decide_downgrade(struct hf_quorum *quorum,
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

/* First how often it was asked for, and then that once more: so that all have
 * one number for it. */
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
    if (row == NULL || !may_be_at_majority(quorum, request, row)) {
        answer_found(quorum, request, false);
    } else {
        request->number = (uint64_t)row->lease.revoked + 1;
        send_to_all(quorum, request, request->number);
    }
}

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

static void remove_begin(struct hf_quorum *quorum,
                         struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);

    if (ticket != NULL)
        ticket->removing = true;
    send_to_all(quorum, request, 0);
}

/* Whoever begins it is no writer any more. */
static void downgrade_begin(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);

    if (ticket != NULL)
        ticket->kind = HF_TICKET_READ;
    send_to_all(quorum, request, 0);
}

/* What a server gets that is to have the ticket later says it too. */
static void describe_begin(struct hf_quorum *quorum,
                           struct hf_quorum_request *request)
{
    struct hf_quorum_ticket *ticket =
        hf_quorum_ticket_find(&quorum->tickets, &request->ticket);

    if (ticket != NULL)
        hf_quorum_ticket_describe(ticket, request->user_call->payload);
    send_to_all(quorum, request, 0);
}

/* ------------------------------------------------------------- all kinds -- */

/* Marks live for ever, and so would one that a server still had which was away
 * when it was lowered. */
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
        return true;
    }
    return false;
}

void hf_quorum_operation_begin(struct hf_quorum *quorum,
                               struct hf_quorum_request *request)
{
    request->kind = request->user_call->kind;
    request->ticket = request->user_call->ticket;
    request->unsupported = !is_supported(request->user_call);
    if (request->unsupported)
        return;
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

void hf_quorum_operation_add_answer(
    struct hf_quorum *quorum, struct hf_quorum_request *request,
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
    if (!counts)
        return;
    if (answer->found)
        request->found_servers |= UINT32_C(1) << server_call->server;
    hf_quorum_merged_add(&request->merged, server_call->server, answer);
}

void hf_quorum_operation_decide(struct hf_quorum *quorum,
                                struct hf_quorum_request *request)
{
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
        decide_downgrade(quorum, request);
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
    default:
        assert(false && "a call that was refused");
    }
}
