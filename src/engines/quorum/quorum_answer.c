/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a list: the merged tickets that a majority has, or may have, in
 * the order of the queue.  A ticket that only some of the servers have shown is
 * undecided, and a little time is given to the others to show it. */
#include "engines/quorum/quorum_answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/time_math.h"

/* --------------------------------------------------------- construction -- */

bool hf_quorum_answer_begin(struct hf_quorum_answer *answer,
                            struct hf_quorum *quorum,
                            const struct hf_quorum_request *request)
{
    size_t room = request->merged.count + 1;

    *answer = (struct hf_quorum_answer){.answer = {.ok = true}};
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

void hf_quorum_answer_add(struct hf_quorum_answer *answer,
                          const struct hf_quorum_merged_ticket *row)
{
    answer->tickets[answer->answer.count] = row->ticket;
    answer->leases[answer->answer.count] = row->lease;
    answer->answer.count++;
}

void hf_quorum_answer_end(struct hf_quorum_answer *answer)
{
    hf_free(answer->tickets);
    hf_free(answer->leases);
}

/* ------------------------------------------------------------------ rows -- */

/* Can a majority have this ticket, as far as the answers show? */
static bool may_be_at_majority(const struct hf_quorum *quorum,
                               const struct hf_quorum_request *request,
                               const struct hf_quorum_merged_ticket *row)
{
    return hf_quorum_may_hold(quorum, row->present_at, request->ok_servers);
}

/* Is it open whether a majority has the ticket, and does that matter?  For a
 * list only tickets ahead of our own matter. */
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

/* Fill in the row as the answer shows it.  False: the answer leaves it out. */
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
    /* A ticket with our number counts as ahead of ours until one of the two is
     * committed.  Therefore the others get the token 0, which
     * hf_ticket_compare() puts first. */
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

/* The nearest ticket that the one at ${at} waits for, if it is only proposed;
 * else NULL.  A reader waits for writers alone. */
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

/* -------------------------------------------------------------- rechecks -- */

#define RECHECK_FIRST_MS 20

/* List again soon, and then at growing intervals.  ${ahead} is NULL if there is
 * no need. */
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

/* Plan the rechecks of all our tickets in the queue. */
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

/* ---------------------------------------------------------------- answer -- */

/* Answer with the merged tickets that are shown, in the order of the queue. */
static void answer_rows(struct hf_quorum *quorum,
                        struct hf_quorum_request *request)
{
    struct hf_quorum_merged *merged = &request->merged;
    struct hf_quorum_answer answer;
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
    if (hf_quorum_answer_begin(&answer, quorum, request)) {
        for (size_t i = 0; i < kept; i++)
            hf_quorum_answer_add(&answer, &merged->rows[i]);
        hf_quorum_request_answer(quorum, request, &answer.answer);
    }
    hf_quorum_answer_end(&answer);
}

void hf_quorum_answer_queue(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    if (has_undecided(quorum, request) &&
        hf_quorum_request_wait(quorum, request))
        return;
    answer_rows(quorum, request);
}
