/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to a list: the merged tickets that a majority has or may have.  If
 * only some of the servers have shown a ticket, the others get a short time to
 * show it. */
#include "engines/quorum/quorum_answer.h"

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

/* -------------------------------------------------------------- rechecks -- */

#define RECHECK_FIRST_MS 20

/* Plan to list again soon, and then at growing intervals, because ${ahead} may
 * be committed behind ${ticket}.  NULL: plan none. */
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
            plan_recheck(quorum, ticket,
                         hf_quorum_merged_uncommitted_ahead(rows, i));
    }
}

/* ---------------------------------------------------------------- answer -- */

/* Answer with the selected tickets, in the order of the queue. */
static void answer_rows(struct hf_quorum *quorum,
                        struct hf_quorum_request *request)
{
    const struct hf_quorum_merged_ticket *rows;
    struct hf_quorum_answer answer;
    size_t count = hf_quorum_merged_select(quorum, request);

    /* a row may lack its payload, so do not answer: the next tick takes the
     * link down */
    if (request->merged.out_of_memory) {
        quorum->out_of_memory = true;
        return;
    }
    rows = request->merged.rows;
    if (request->kind != HF_STORE_EXISTS)
        plan_rechecks(quorum, rows, count);
    if (hf_quorum_answer_begin(&answer, quorum, request)) {
        for (size_t i = 0; i < count; i++)
            hf_quorum_answer_add(&answer, &rows[i]);
        hf_quorum_request_answer(quorum, request, &answer.answer);
    }
    hf_quorum_answer_end(&answer);
}

void hf_quorum_answer_queue(struct hf_quorum *quorum,
                            struct hf_quorum_request *request)
{
    if (hf_quorum_merged_has_undecided(quorum, request) &&
        hf_quorum_request_wait(quorum, request))
        return;
    answer_rows(quorum, request);
}
