/* SPDX-License-Identifier: Apache-2.0 */
/* See merged_tickets.h.  The rows are in the order in which the answers named
 * their tickets, and are searched one after the other, because a queue is
 * short. */
#include "engines/quorum/merged_tickets.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/time_math.h"
#include "engines/quorum/quorum_private.h"

/* --------------------------------------------------------------- merging -- */

struct hf_quorum_merged_ticket *
hf_quorum_merged_find(const struct hf_quorum_merged *merged,
                      const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < merged->count; i++) {
        if (hf_ticket_id_equal(&merged->rows[i].ticket.id, id))
            return &merged->rows[i];
    }
    return NULL;
}

/* Add a row for ${ticket}.  Returns NULL if memory runs out. */
static struct hf_quorum_merged_ticket *add(struct hf_quorum_merged *merged,
                                           const struct hf_ticket *ticket)
{
    size_t room = merged->room > 0 ? 2 * merged->room : 8;
    struct hf_quorum_merged_ticket *rows;

    if (merged->count == merged->room) {
        rows = hf_realloc(merged->rows, room * sizeof *rows);
        if (rows == NULL)
            return NULL;
        merged->rows = rows;
        merged->room = room;
    }
    rows = &merged->rows[merged->count++];
    *rows = (struct hf_quorum_merged_ticket){.ticket = *ticket};
    rows->ticket.payload = NULL;
    return rows;
}

/* Add the number that one server has.  Of committed numbers the greatest
 * counts, of proposed ones the least. */
static void merge_number(struct hf_quorum_merged_ticket *row, uint64_t number,
                         bool proposed)
{
    if (!proposed)
        row->committed = hf_max_ms(row->committed, number);
    else if (row->least_proposed == 0 || number < row->least_proposed)
        row->least_proposed = number;
}

/* Keep the first payload that is not empty.  False if memory runs out. */
static bool merge_payload(struct hf_quorum_merged_ticket *row,
                          const char *payload)
{
    if (row->ticket.payload != NULL || payload == NULL || payload[0] == '\0')
        return true;
    row->ticket.payload = hf_strdup(payload);
    return row->ticket.payload != NULL;
}

/* Merge what one server, a bit in ${server}, has about a ticket.  Returns false
 * if memory runs out. */
static bool merge(struct hf_quorum_merged *merged, uint32_t server,
                  const struct hf_ticket *ticket,
                  const struct hf_store_lease *lease)
{
    struct hf_quorum_merged_ticket *row =
        hf_quorum_merged_find(merged, &ticket->id);

    if (row == NULL && (row = add(merged, ticket)) == NULL)
        return false;
    if (lease->missing) {
        row->missing_at |= server;
        return true;
    }
    row->present_at |= server;
    merge_number(row, ticket->sequence, lease->proposed);
    /* A write ticket may become a read ticket, but not the reverse. */
    if (ticket->kind == HF_TICKET_READ)
        row->ticket.kind = HF_TICKET_READ;
    if (row->ticket.created_utc_ms == 0)
        row->ticket.created_utc_ms = ticket->created_utc_ms;
    row->lease.expires_in_ms =
        hf_max_ms(row->lease.expires_in_ms, lease->expires_in_ms);
    if (lease->revoked > row->lease.revoked)
        row->lease.revoked = lease->revoked;
    return merge_payload(row, ticket->payload);
}

void hf_quorum_merged_add(struct hf_quorum_merged *merged, size_t server,
                          const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (!merge(merged, UINT32_C(1) << server, &answer->tickets[i],
                   &answer->leases[i]))
            merged->out_of_memory = true;
    }
}

uint64_t hf_quorum_merged_number(const struct hf_quorum_merged_ticket *row)
{
    return row->committed > 0 ? row->committed : row->least_proposed;
}

void hf_quorum_merged_clear(struct hf_quorum_merged *merged)
{
    for (size_t i = 0; i < merged->count; i++)
        hf_free((char *)(uintptr_t)merged->rows[i].ticket.payload);
    hf_free(merged->rows);
    *merged = (struct hf_quorum_merged){0};
}

/* ------------------------------------------------ what a majority has -- */

/* Returns whether a majority can have this ticket, as far as the answers
 * show. */
static bool may_be_at_majority(const struct hf_quorum *quorum,
                               const struct hf_quorum_request *request,
                               const struct hf_quorum_merged_ticket *row)
{
    return hf_quorum_may_hold(quorum, row->present_at, request->ok_servers);
}

/* Returns whether it matters and is not known yet if a majority has the ticket.
 * If .number of the request is not 0, only tickets with a lesser number
 * matter. */
static bool is_undecided(const struct hf_quorum *quorum,
                         const struct hf_quorum_request *request,
                         const struct hf_quorum_merged_ticket *row)
{
    uint64_t below = request->number > 0 ? request->number : UINT64_MAX;

    return hf_quorum_count(row->present_at) < hf_quorum_majority(quorum) &&
           may_be_at_majority(quorum, request, row) &&
           hf_quorum_merged_number(row) < below;
}

bool hf_quorum_merged_has_undecided(const struct hf_quorum *quorum,
                                    const struct hf_quorum_request *request)
{
    for (size_t i = 0; i < request->merged.count; i++) {
        if (is_undecided(quorum, request, &request->merged.rows[i]))
            return true;
    }
    return false;
}

/* Fill in the row for the answer.  Returns false if the answer leaves the
 * ticket out, because no majority can have it or its ENQUEUE failed. */
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
    /* If a ticket has the same number as ours, it counts as ahead of ours until
     * one of the two is committed.  Therefore other tickets get the token 0,
     * which hf_ticket_compare() puts first. */
    row->ticket.token = detailed ? row->committed : 0;
    if (ticket != NULL && ticket->number > 0)
        row->ticket.sequence = row->ticket.token = ticket->number;
    return true;
}

static int compare_rows(const void *a, const void *b)
{
    return hf_ticket_compare(
        &((const struct hf_quorum_merged_ticket *)a)->ticket,
        &((const struct hf_quorum_merged_ticket *)b)->ticket);
}

size_t hf_quorum_merged_select(const struct hf_quorum *quorum,
                               struct hf_quorum_request *request)
{
    struct hf_quorum_merged *merged = &request->merged;
    size_t kept = 0;

    for (size_t i = 0; i < merged->count; i++) {
        struct hf_quorum_merged_ticket row;

        if (!prepare_row(quorum, request, &merged->rows[i]))
            continue;
        row = merged->rows[i];
        if (row.ticket.payload == NULL &&
            (row.ticket.payload = hf_strdup("")) == NULL)
            merged->out_of_memory = true;
        merged->rows[i] = merged->rows[kept];
        merged->rows[kept++] = row;
    }
    if (kept > 1)
        qsort(merged->rows, kept, sizeof *merged->rows, compare_rows);
    return kept;
}

const struct hf_quorum_merged_ticket *
hf_quorum_merged_uncommitted_ahead(const struct hf_quorum_merged_ticket *rows,
                                   size_t at)
{
    bool reads = rows[at].ticket.kind == HF_TICKET_READ;

    while (at-- > 0) {
        if (!reads || rows[at].ticket.kind == HF_TICKET_WRITE)
            return rows[at].committed == 0 ? &rows[at] : NULL;
    }
    return NULL;
}
