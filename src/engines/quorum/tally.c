/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/quorum/tally.h"

#include "core/memory.h"
#include "core/time_math.h"

struct hf_quorum_row *hf_quorum_tally_find(const struct hf_quorum_tally *tally,
                                           const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < tally->count; i++) {
        if (hf_ticket_id_equal(&tally->rows[i].ticket.id, id))
            return &tally->rows[i];
    }
    return NULL;
}

static struct hf_quorum_row *add(struct hf_quorum_tally *tally,
                                 const struct hf_ticket *ticket)
{
    size_t room = tally->room > 0 ? 2 * tally->room : 8;
    struct hf_quorum_row *rows;

    if (tally->count == tally->room) {
        rows = hf_realloc(tally->rows, room * sizeof *rows);
        if (rows == NULL)
            return NULL;
        tally->rows = rows;
        tally->room = room;
    }
    rows = &tally->rows[tally->count++];
    *rows = (struct hf_quorum_row){.ticket = *ticket};
    rows->ticket.payload = NULL;
    return rows;
}

static void take_number(struct hf_quorum_row *row, uint64_t number,
                        bool proposed)
{
    if (!proposed)
        row->settled = hf_max_ms(row->settled, number);
    else if (row->least == 0 || number < row->least)
        row->least = number;
}

static bool take_payload(struct hf_quorum_row *row, const char *payload)
{
    if (row->ticket.payload != NULL || payload == NULL || payload[0] == '\0')
        return true;
    row->ticket.payload = hf_strdup(payload);
    return row->ticket.payload != NULL;
}

/* False for lack of memory. */
static bool take(struct hf_quorum_tally *tally, uint32_t server,
                 const struct hf_ticket *ticket,
                 const struct hf_store_lease *lease)
{
    struct hf_quorum_row *row = hf_quorum_tally_find(tally, &ticket->id);

    if (row == NULL && (row = add(tally, ticket)) == NULL)
        return false;
    if (lease->missing) {
        row->missing |= server;
        return true;
    }
    row->there |= server;
    take_number(row, ticket->sequence, lease->proposed);
    /* A write ticket may become a read ticket, and never the other way. */
    if (ticket->kind == HF_TICKET_READ)
        row->ticket.kind = HF_TICKET_READ;
    if (row->ticket.created_utc_ms == 0)
        row->ticket.created_utc_ms = ticket->created_utc_ms;
    row->lease.expires_in_ms =
        hf_max_ms(row->lease.expires_in_ms, lease->expires_in_ms);
    if (lease->revoked > row->lease.revoked)
        row->lease.revoked = lease->revoked;
    return take_payload(row, ticket->payload);
}

void hf_quorum_tally_take(struct hf_quorum_tally *tally, size_t server,
                          const struct hf_store_answer *answer)
{
    for (size_t i = 0; i < answer->count; i++) {
        if (!take(tally, UINT32_C(1) << server, &answer->tickets[i],
                  &answer->leases[i]))
            tally->starved = true;
    }
}

uint64_t hf_quorum_row_number(const struct hf_quorum_row *row)
{
    return row->settled > 0 ? row->settled : row->least;
}

void hf_quorum_tally_clear(struct hf_quorum_tally *tally)
{
    for (size_t i = 0; i < tally->count; i++)
        hf_free((char *)(uintptr_t)tally->rows[i].ticket.payload);
    hf_free(tally->rows);
    *tally = (struct hf_quorum_tally){0};
}
