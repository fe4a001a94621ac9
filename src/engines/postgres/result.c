/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the result of a call, in binary format: rows of the type
 * holdfast_4.answer.  The first row is the head; it may also have the first
 * ticket. */
#include <assert.h>
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "core/name_list.h"
#include "engines/postgres/pg_private.h"

/* The columns of holdfast_4.answer, in order. */
enum column {
    CODE,
    SERVER_MS,
    BACKEND,
    FOUND,
    OWN_IDS,
    ID,
    SEQUENCE,
    KIND,
    WEIGHT,
    PAYLOAD,
    EXPIRES_IN_MS,
    REVOKED,
    CREATED_MS,
    MORE_AHEAD,
    COLUMNS
};

#define TYPE_BOOL 16
#define TYPE_BYTEA 17
#define TYPE_INT8 20
#define TYPE_INT4 23
#define TYPE_UUID 2950

static const struct {
    Oid type;
    int bytes; /* 0: any length */
} columns[COLUMNS] = {
    [CODE] = {TYPE_INT4, 4},          [SERVER_MS] = {TYPE_INT8, 8},
    [BACKEND] = {TYPE_INT4, 4},       [FOUND] = {TYPE_BOOL, 1},
    [OWN_IDS] = {TYPE_BYTEA, 0},      [ID] = {TYPE_UUID, 16},
    [SEQUENCE] = {TYPE_INT8, 8},      [KIND] = {TYPE_INT4, 4},
    [WEIGHT] = {TYPE_INT4, 4},        [PAYLOAD] = {TYPE_BYTEA, 0},
    [EXPIRES_IN_MS] = {TYPE_INT8, 8}, [REVOKED] = {TYPE_INT4, 4},
    [CREATED_MS] = {TYPE_INT8, 8},    [MORE_AHEAD] = {TYPE_INT4, 4},
};

/* value of CODE in the head: the call came after not_after_ms */
enum { LATE = 1 };

/* ---------------------------------------------------------------- values -- */

static bool has(const PGresult *result, int row, enum column column)
{
    return PQgetisnull(result, row, (int)column) == 0;
}

/* The value of an integer or boolean column; NULL is 0. */
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

/* Returns whether every column of the row has the right length. */
static bool is_row(const PGresult *result, int row)
{
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].bytes > 0 && has(result, row, (enum column)i) &&
            PQgetlength(result, row, i) != columns[i].bytes)
            return false;
    }
    return has(result, row, row == 0 ? CODE : ID);
}

/* Returns whether the result has the form that our functions return. */
static bool is_well_formed(const PGresult *result)
{
    bool fits = PQresultStatus(result) == PGRES_TUPLES_OK &&
                PQnfields(result) == COLUMNS && PQntuples(result) >= 1 &&
                PQgetlength(result, 0, OWN_IDS) % HF_TICKET_ID_BYTES == 0;

    for (int i = 0; i < COLUMNS && fits; i++)
        fits = PQftype(result, i) == columns[i].type && PQfformat(result, i);
    for (int i = 0; i < PQntuples(result) && fits; i++)
        fits = is_row(result, i);
    return fits;
}

/* --------------------------------------------------------------- tickets -- */

/* Returns the kind of a ticket.  A kind that only a later version knows blocks
 * everybody, to be safe. */
static enum hf_ticket_kind kind_of(uint64_t stored)
{
    return hf_store_is_stored_kind(stored) ? (enum hf_ticket_kind)stored
                                           : HF_TICKET_EXCLUSIVE;
}

/* Fill in a ticket from one row. */
static void read_ticket(const PGresult *result, int row,
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
    ticket->created_utc_ms = number(result, row, CREATED_MS);
    lease->expires_in_ms = number(result, row, EXPIRES_IN_MS);
    lease->revoked = (uint32_t)number(result, row, REVOKED);
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, HF_TICKET_ID_BYTES);
}

/* The number of tickets in the sets of a RENEW; 0 for any other call. */
static size_t count_tickets(const struct hf_store_call *call)
{
    size_t count = 0;

    if (call->kind == HF_STORE_RENEW)
        for (size_t i = 0; i < call->ticket_set_count; i++)
            count += call->ticket_sets[i].count;
    return count;
}

/* The arrays of an answer, and the ids of the session's tickets at the server
 * (sorted), in one block of memory. */
struct answer_memory {
    struct hf_ticket *tickets;
    struct hf_store_lease *leases;
    struct hf_ticket_id *own;
    bool *known; /* for each of .own: whether it is in a ticket set */
    size_t own_count;
};

/* Allocate memory for ${room} tickets, and copy the session's ids from the
 * head.  Returns false if memory runs out.  hf_free(.tickets) frees all. */
static bool alloc_memory(struct answer_memory *answer_memory,
                         const PGresult *result, size_t room)
{
    size_t own_bytes =
        has(result, 0, OWN_IDS) ? (size_t)PQgetlength(result, 0, OWN_IDS) : 0;
    size_t own_count = own_bytes / HF_TICKET_ID_BYTES;

    answer_memory->own_count = own_count;
    answer_memory->tickets = hf_alloc(
        room *
            (sizeof *answer_memory->tickets + sizeof *answer_memory->leases) +
        own_count *
            (sizeof *answer_memory->own + sizeof *answer_memory->known));
    if (answer_memory->tickets == NULL)
        return false;
    answer_memory->leases =
        (struct hf_store_lease *)(answer_memory->tickets + room);
    answer_memory->own = (struct hf_ticket_id *)(answer_memory->leases + room);
    answer_memory->known = (bool *)(answer_memory->own + own_count);
    if (own_count > 0)
        memcpy(answer_memory->own, PQgetvalue(result, 0, OWN_IDS),
               own_count * HF_TICKET_ID_BYTES);
    qsort(answer_memory->own, own_count, HF_TICKET_ID_BYTES, compare_ids);
    return true;
}

/* Returns whether the ticket is at the server, and notes that the client knows
 * it. */
static bool find_known(struct answer_memory *answer_memory,
                       const struct hf_ticket_id *id)
{
    const struct hf_ticket_id *found =
        bsearch(id, answer_memory->own, answer_memory->own_count, sizeof *id,
                compare_ids);

    if (found == NULL)
        return false;
    answer_memory->known[found - answer_memory->own] = true;
    return true;
}

/* Append the tickets of the sets that are not at the server, behind the first
 * ${count} tickets, which are those to be released.  Returns the new count. */
static size_t add_missing(const struct hf_store_call *call,
                          struct answer_memory *answer_memory, size_t count)
{
    for (size_t i = 0; i < call->ticket_set_count; i++) {
        const struct hf_store_ticket_set *set = &call->ticket_sets[i];

        for (size_t j = 0; j < set->count; j++) {
            if (find_known(answer_memory, &set->tickets[j]))
                continue;
            answer_memory->tickets[count].id = set->tickets[j];
            answer_memory->tickets[count].payload = "";
            answer_memory->leases[count++].missing = true;
        }
    }
    return count;
}

/* Keep the ids that the client does not know, so that the next renewal removes
 * them.  The client never uses such an id again, so a late removal does no
 * harm. */
static void store_orphans(struct hf_store *store,
                          const struct answer_memory *answer_memory)
{
    store->orphan_count = 0;
    for (size_t i = 0; i < answer_memory->own_count; i++) {
        if (!answer_memory->known[i] && store->orphan_count < HF_PG_ORPHANS_MAX)
            store->orphans[store->orphan_count++] = answer_memory->own[i];
    }
}

/* --------------------------------------------------------------- answers -- */

static void answer_call(struct hf_store *store, struct hf_store_call *call,
                        const struct hf_store_answer *answer)
{
    hf_leased_answered(store->engine->leased, call, answer,
                       hf_leased_engine_now_ms(store->engine));
}

/* Answer a call that came after its not_after_ms and has done nothing. */
static void answer_late(struct hf_store *store, struct hf_store_call *call)
{
    struct hf_store_answer answer = {
        .failure = HF_FAILURE_RETRY,
        .status = HF_EUNREACHABLE,
        .text = HF_STORE_LATE,
        .server_ms = store->server_ms,
    };

    answer_call(store, call, &answer);
}

static bool only_reads(const struct hf_store_call *call)
{
    return !hf_store_call_writes(call);
}

/* Answer a call whose statement failed, and end the connection if it cannot be
 * used any more. */
static void answer_error(struct hf_store *store, struct hf_store_call *call,
                         const PGresult *result)
{
    struct hf_pg_failure failure =
        hf_pg_failure(PQresultErrorField(result, PG_DIAG_SQLSTATE));
    char text[HF_PG_TEXT_BYTES];
    struct hf_store_answer answer = {
        .failure = failure.failure,
        .status = failure.status,
        .text = text,
    };
    uint64_t number = store->number;

    if (failure.failure == HF_FAILURE_UNSURE && only_reads(call))
        answer.failure = HF_FAILURE_RETRY;
    hf_pg_format_error(result, text);
    answer_call(store, call, &answer);
    if (failure.ends_connection && store->number == number)
        hf_pg_down(store, failure.status, "%s", text);
}

/* Answer a call whose commit is not known.  A write may have been done; a read
 * can be repeated. */
static void answer_unsure(struct hf_store *store, struct hf_store_call *call,
                          const char *unsure_why)
{
    struct hf_store_answer answer = {
        .failure = only_reads(call) ? HF_FAILURE_RETRY : HF_FAILURE_UNSURE,
        .status = HF_EUNREACHABLE,
        .text = unsure_why,
    };

    answer_call(store, call, &answer);
}

/* Read the success from the head, if there is one: its token is in the column
 * SEQUENCE, its time in CREATED_MS. */
static void read_success(const PGresult *result, uint64_t server_ms,
                         struct hf_success *success)
{
    if (!has(result, 0, SEQUENCE))
        return;
    success->token = number(result, 0, SEQUENCE);
    success->at_utc_ms = (int64_t)number(result, 0, CREATED_MS);
    success->age_ms = (int64_t)server_ms - success->at_utc_ms;
}

/* Answer with the tickets of the rows. */
static void answer_rows(struct hf_store *store, struct hf_store_call *call,
                        const PGresult *result,
                        struct answer_memory *answer_memory)
{
    int first = has(result, 0, ID) ? 0 : 1;
    size_t rows = (size_t)(PQntuples(result) - first);
    struct hf_store_answer answer = {
        .ok = true,
        .server_ms = store->server_ms,
        .found = number(result, 0, FOUND) != 0,
        .tickets = answer_memory->tickets,
        .leases = answer_memory->leases,
        .count = rows,
        .partial = hf_store_call_may_be_partial(call),
        .more_ahead = (size_t)number(result, 0, MORE_AHEAD),
    };

    for (size_t i = 0; i < rows; i++)
        read_ticket(result, (int)i + first, &answer_memory->tickets[i],
                    &answer_memory->leases[i]);
    if (call->kind == HF_STORE_READ_SUCCESS)
        read_success(result, store->server_ms, &answer.success);
    if (call->kind == HF_STORE_RENEW) {
        answer.count = add_missing(call, answer_memory, rows);
        store_orphans(store, answer_memory);
    }
    answer_call(store, call, &answer);
}

/* Answer with the names of the rows.  .kind of a row shows that the name has
 * tickets, .weight that it has participants.  Returns false if memory runs
 * out. */
static bool answer_names(struct hf_store *store, struct hf_store_call *call,
                         const PGresult *result)
{
    struct hf_name_list list = {0};
    struct hf_names_answer names = {.looked_at = number(result, 0, SEQUENCE)};
    struct hf_store_answer answer = {
        .ok = true, .server_ms = store->server_ms, .names = &names};
    bool failed;

    for (int i = 1; i < PQntuples(result); i++) {
        const char *name = PQgetvalue(result, i, PAYLOAD);
        size_t bytes = (size_t)PQgetlength(result, i, PAYLOAD);

        if (bytes == 0 || name[bytes - 1] == '/' || strlen(name) != bytes ||
            !hf_name_is_below(name, call->prefix))
            continue;
        if (number(result, i, KIND) != 0)
            hf_name_list_add(&list, name, bytes, false);
        if (number(result, i, WEIGHT) != 0)
            hf_name_list_add(&list, name, bytes, true);
    }
    if (number(result, 0, FOUND) != 0) {
        names.cursor = PQgetvalue(result, 0, PAYLOAD);
        names.cursor_bytes = (size_t)PQgetlength(result, 0, PAYLOAD);
    }
    failed = list.failed;
    hf_name_list_answer(&list, &names);
    if (!failed)
        answer_call(store, call, &answer);
    hf_name_list_free(&list);
    return !failed;
}

/* Answer with the findings of the rows, whose .kind is the severity.  Returns
 * false if memory runs out. */
static bool answer_findings(struct hf_store *store, struct hf_store_call *call,
                            const PGresult *result)
{
    struct hf_finding_list list = {0};
    struct hf_store_answer answer = {
        .ok = true, .server_ms = store->server_ms, .findings = &list};
    bool failed;

    hf_pg_examine_begin(store, &list);
    for (int i = 1; i < PQntuples(result); i++)
        hf_pg_examine_add(store, &list, number(result, i, KIND),
                          PQgetvalue(result, i, PAYLOAD));
    failed = list.failed;
    if (!failed)
        answer_call(store, call, &answer);
    hf_finding_list_free(&list);
    return !failed;
}

/* Answer a NAMES or an EXAMINE, whose rows are no tickets.  Returns false if
 * memory runs out. */
static bool answer_other_rows(struct hf_store *store,
                              struct hf_store_call *call,
                              const PGresult *result)
{
    return call->kind == HF_STORE_NAMES ? answer_names(store, call, result)
                                        : answer_findings(store, call, result);
}

bool hf_pg_answer_call(struct hf_store *store, struct hf_store_call *call,
                       const PGresult *result, const char *unsure_why,
                       char why[HF_PG_TEXT_BYTES])
{
    struct answer_memory answer_memory;

    if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
        answer_error(store, call, result);
        return true;
    }
    if (!is_well_formed(result)) {
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
    if (unsure_why[0] != '\0') {
        answer_unsure(store, call, unsure_why);
        return true;
    }
    store->server_ms = number(result, 0, SERVER_MS);
    if (number(result, 0, CODE) == LATE) {
        answer_late(store, call);
        return true;
    }
    if (call->kind == HF_STORE_NAMES || call->kind == HF_STORE_EXAMINE) {
        if (answer_other_rows(store, call, result))
            return true;
        (void)snprintf(why, HF_PG_TEXT_BYTES, "no memory for an answer");
        return false;
    }
    if (!alloc_memory(&answer_memory, result,
                      (size_t)PQntuples(result) + count_tickets(call))) {
        (void)snprintf(why, HF_PG_TEXT_BYTES, "no memory for an answer");
        return false;
    }
    answer_rows(store, call, result, &answer_memory);
    hf_free(answer_memory.tickets);
    return true;
}
