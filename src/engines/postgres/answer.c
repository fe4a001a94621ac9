/* SPDX-License-Identifier: Apache-2.0 */
/* What the server answers, in binary: the rows of holdfast.answer, of which the
 * first is the head, and may have the first ticket too. */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "engines/postgres/private.h"

/* The columns of holdfast.answer. */
enum column {
    CODE,
    SERVER_MS,
    BACKEND,
    FOUND,
    OWN,
    ID,
    SEQUENCE,
    KIND,
    WEIGHT,
    PAYLOAD,
    EXPIRES_IN_MS,
    REVOKED,
    MADE_MS,
    MORE,
    COLUMNS
};

#define TYPE_BOOL 16
#define TYPE_BYTEA 17
#define TYPE_INT8 20
#define TYPE_INT4 23
#define TYPE_UUID 2950

static const struct {
    Oid type;
    int bytes; /* 0: any number */
} columns[COLUMNS] = {
    [CODE] = {TYPE_INT4, 4},          [SERVER_MS] = {TYPE_INT8, 8},
    [BACKEND] = {TYPE_INT4, 4},       [FOUND] = {TYPE_BOOL, 1},
    [OWN] = {TYPE_BYTEA, 0},          [ID] = {TYPE_UUID, 16},
    [SEQUENCE] = {TYPE_INT8, 8},      [KIND] = {TYPE_INT4, 4},
    [WEIGHT] = {TYPE_INT4, 4},        [PAYLOAD] = {TYPE_BYTEA, 0},
    [EXPIRES_IN_MS] = {TYPE_INT8, 8}, [REVOKED] = {TYPE_INT4, 4},
    [MADE_MS] = {TYPE_INT8, 8},       [MORE] = {TYPE_INT4, 4},
};

enum { LATE = 1 }; /* the head's code */

/* -------------------------------------------------------------- values -- */

static bool has(const PGresult *result, int row, enum column column)
{
    return PQgetisnull(result, row, (int)column) == 0;
}

/* NULL is 0. */
static uint64_t number(const PGresult *result, int row, enum column column)
{
    const char *bytes = PQgetvalue(result, row, (int)column);
    uint64_t eight;
    uint32_t four;

    if (!has(result, row, column))
        return 0;
    if (columns[column].bytes == 1)
        return bytes[0] != 0;
    if (columns[column].bytes == 4) {
        memcpy(&four, bytes, sizeof four);
        return be32toh(four);
    }
    memcpy(&eight, bytes, sizeof eight);
    return be64toh(eight);
}

static bool is_row(const PGresult *result, int row)
{
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].bytes > 0 && has(result, row, (enum column)i) &&
            PQgetlength(result, row, i) != columns[i].bytes)
            return false;
    }
    return has(result, row, row == 0 ? CODE : ID);
}

/* Is it what our functions return? */
static bool makes_sense(const PGresult *result)
{
    bool fits = PQresultStatus(result) == PGRES_TUPLES_OK &&
                PQnfields(result) == COLUMNS && PQntuples(result) >= 1 &&
                PQgetlength(result, 0, OWN) % HF_TICKET_ID_BYTES == 0;

    for (int i = 0; i < COLUMNS && fits; i++)
        fits = PQftype(result, i) == columns[i].type && PQfformat(result, i);
    for (int i = 0; i < PQntuples(result) && fits; i++)
        fits = is_row(result, i);
    return fits;
}

/* ------------------------------------------------------------- tickets -- */

/* One that a later version knows is in the way of everybody. */
static enum hf_ticket_kind kind_of(uint64_t known)
{
    return hf_store_keeps(known) ? (enum hf_ticket_kind)known
                                 : HF_TICKET_EXCLUSIVE;
}

static void take_ticket(const PGresult *result, int row,
                        struct hf_ticket *ticket, struct hf_store_lease *lease)
{
    memcpy(ticket->id.bytes, PQgetvalue(result, row, ID), HF_TICKET_ID_BYTES);
    ticket->sequence = number(result, row, SEQUENCE);
    ticket->token = ticket->sequence;
    ticket->kind = kind_of(number(result, row, KIND));
    ticket->weight = (uint32_t)number(result, row, WEIGHT);
    ticket->payload =
        hf_store_payload(PQgetvalue(result, row, PAYLOAD),
                         (size_t)PQgetlength(result, row, PAYLOAD));
    ticket->dialect = "holdfast";
    ticket->created_utc_ms = number(result, row, MADE_MS);
    lease->expires_in_ms = number(result, row, EXPIRES_IN_MS);
    lease->revoked = (uint32_t)number(result, row, REVOKED);
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, HF_TICKET_ID_BYTES);
}

static size_t count_stakes(const struct hf_store_call *call)
{
    size_t count = 0;

    if (call->kind == HF_STORE_RENEW)
        for (size_t i = 0; i < call->stake_count; i++)
            count += call->stakes[i].count;
    return count;
}

/* The arrays of an answer, and the session's tickets in order, in one piece. */
struct memory {
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    struct hf_ticket_id *own;
    bool *staked; /* for each of them */
    size_t own_count;
};

static bool take_memory(struct memory *memory, const PGresult *result,
                        size_t room)
{
    size_t own_bytes =
        has(result, 0, OWN) ? (size_t)PQgetlength(result, 0, OWN) : 0;
    size_t own_count = own_bytes / HF_TICKET_ID_BYTES;

    memory->own_count = own_count;
    memory->tickets =
        hf_alloc(room * (sizeof *memory->tickets + sizeof *memory->leases) +
                 own_count * (sizeof *memory->own + sizeof *memory->staked));
    if (memory->tickets == NULL)
        return false;
    memory->leases = (struct hf_store_lease *)(memory->tickets + room);
    memory->own = (struct hf_ticket_id *)(memory->leases + room);
    memory->staked = (bool *)(memory->own + own_count);
    if (own_count > 0)
        memcpy(memory->own, PQgetvalue(result, 0, OWN),
               own_count * HF_TICKET_ID_BYTES);
    qsort(memory->own, own_count, HF_TICKET_ID_BYTES, compare_ids);
    return true;
}

/* Is it at the server?  Then it is noted that it is staked. */
static bool find_staked(struct memory *memory, const struct hf_ticket_id *id)
{
    const struct hf_ticket_id *found =
        bsearch(id, memory->own, memory->own_count, sizeof *id, compare_ids);

    if (found == NULL)
        return false;
    memory->staked[found - memory->own] = true;
    return true;
}

/* Behind the first ${count}, which were revoked: those at stake that are not
 * there.  How many there are in all. */
static size_t add_missing(const struct hf_store_call *call,
                          struct memory *memory, size_t count)
{
    for (size_t i = 0; i < call->stake_count; i++) {
        const struct hf_store_stake *stake = &call->stakes[i];

        for (size_t j = 0; j < stake->count; j++) {
            if (find_staked(memory, &stake->tickets[j]))
                continue;
            memory->tickets[count].id = stake->tickets[j];
            memory->tickets[count].payload = "";
            memory->leases[count++].missing = true;
        }
    }
    return count;
}

/* The next renewal takes them out.  An id that the client does not know it
 * never uses again, so that it does not matter how late that happens. */
static void note_unknown(struct hf_store *store, const struct memory *memory)
{
    store->unknown_count = 0;
    for (size_t i = 0; i < memory->own_count; i++) {
        if (!memory->staked[i] && store->unknown_count < HF_PG_UNKNOWN_MAX)
            store->unknown[store->unknown_count++] = memory->own[i];
    }
}

/* ------------------------------------------------------------- answers -- */

static void tell(struct hf_store *store, struct hf_store_call *call,
                 const struct hf_store_answer *answer)
{
    hf_leased_answered(store->engine->leased, call, answer,
                       hf_leased_engine_now_ms(store->engine));
}

static void tell_late(struct hf_store *store, struct hf_store_call *call)
{
    struct hf_store_answer answer = {
        .failure = HF_FAILURE_RETRY,
        .status = HF_EUNREACHABLE,
        .text = HF_STORE_LATE,
        .server_ms = store->server_ms,
    };

    tell(store, call, &answer);
}

static bool only_reads(const struct hf_store_call *call)
{
    return call->kind == HF_STORE_PROBE ||
           (call->kind == HF_STORE_LIST && !call->looks);
}

static void tell_error(struct hf_store *store, struct hf_store_call *call,
                       const PGresult *result)
{
    struct hf_pg_trouble trouble =
        hf_pg_trouble(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    char text[HF_PG_TEXT_BYTES];
    struct hf_store_answer answer = {
        .failure = trouble.failure,
        .status = trouble.status,
        .text = text,
    };
    uint64_t number = store->number;

    if (trouble.failure == HF_FAILURE_UNSURE && only_reads(call))
        answer.failure = HF_FAILURE_RETRY;
    hf_pg_say(result, text);
    tell(store, call, &answer);
    if (trouble.ends && store->number == number)
        hf_pg_down(store, trouble.status, "%s", text);
}

/* What was not committed for sure may have been done; of a read it does not
 * matter. */
static void tell_doubt(struct hf_store *store, struct hf_store_call *call,
                       const char *doubt)
{
    struct hf_store_answer answer = {
        .failure = only_reads(call) ? HF_FAILURE_RETRY : HF_FAILURE_UNSURE,
        .status = HF_EUNREACHABLE,
        .text = doubt,
    };

    tell(store, call, &answer);
}

static void tell_rows(struct hf_store *store, struct hf_store_call *call,
                      const PGresult *result, struct memory *memory)
{
    int first = has(result, 0, ID) ? 0 : 1;
    size_t rows = (size_t)(PQntuples(result) - first);
    struct hf_store_answer answer = {
        .ok = true,
        .server_ms = store->server_ms,
        .found = number(result, 0, FOUND) != 0,
        .tickets = memory->tickets,
        .leases = memory->leases,
        .count = rows,
        .partial = hf_store_call_may_be_partial(call),
        .more = (size_t)number(result, 0, MORE),
    };

    for (size_t i = 0; i < rows; i++)
        take_ticket(result, (int)i + first, &memory->tickets[i],
                    &memory->leases[i]);
    if (call->kind == HF_STORE_RENEW) {
        answer.count = add_missing(call, memory, rows);
        note_unknown(store, memory);
    }
    tell(store, call, &answer);
}

bool hf_pg_answer(struct hf_store *store, struct hf_store_call *call,
                  const PGresult *result, const char *doubt,
                  char why[HF_PG_TEXT_BYTES])
{
    struct memory memory;

    if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
        tell_error(store, call, result);
        return true;
    }
    if (!makes_sense(result)) {
        (void)snprintf(why, HF_PG_TEXT_BYTES,
                       "the server answered something else than it was asked");
        return false;
    }
    if ((int)number(result, 0, BACKEND) != store->backend) {
        (void)snprintf(why, HF_PG_TEXT_BYTES,
                       "there is a pooler in front of the server that pools "
                       "by transaction, and notices get lost; expected the "
                       "server itself, or a pooler that pools by session");
        return false;
    }
    if (doubt[0] != '\0') {
        tell_doubt(store, call, doubt);
        return true;
    }
    store->server_ms = number(result, 0, SERVER_MS);
    if (number(result, 0, CODE) == LATE) {
        tell_late(store, call);
        return true;
    }
    if (!take_memory(&memory, result,
                     (size_t)PQntuples(result) + count_stakes(call))) {
        (void)snprintf(why, HF_PG_TEXT_BYTES, "no memory for an answer");
        return false;
    }
    tell_rows(store, call, result, &memory);
    hf_free(memory.tickets);
    return true;
}
