/* SPDX-License-Identifier: Apache-2.0 */
/* Sends calls as SQL.  Each call is one prepared statement, and so one
 * transaction. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engines/postgres/pg_private.h"

#define PARAMETERS_MAX 8
#define NUMBER_BYTES 24

/* The parameters of a statement. */
struct parameters {
    const char *values[PARAMETERS_MAX];
    int lengths[PARAMETERS_MAX];
    int formats[PARAMETERS_MAX]; /* 0: text; 1: binary */
    char numbers[PARAMETERS_MAX][NUMBER_BYTES];
    int count;
};

static void add_text(struct parameters *p, const char *text)
{
    p->values[p->count++] = text;
}

/* Add a number.  If bigint cannot hold it, it means "for ever". */
static void add_number(struct parameters *p, uint64_t number)
{
    if (number > INT64_MAX)
        number = INT64_MAX;
    (void)snprintf(p->numbers[p->count], NUMBER_BYTES, "%" PRIu64, number);
    add_text(p, p->numbers[p->count]);
}

static void add_bytes(struct parameters *p, const char *text)
{
    p->lengths[p->count] = (int)strlen(text);
    p->formats[p->count] = 1;
    add_text(p, text);
}

/* Send the statement and a Sync, which ends its transaction.  Returns false on
 * failure. */
static bool send_call(PGconn *conn, const char *statement,
                      const struct parameters *p)
{
    return PQsendQueryPrepared(conn, statement, p->count, p->values, p->lengths,
                               p->formats, 1) == 1 &&
           PQpipelineSync(conn) == 1;
}

/* Returns the ids of all sets as an array literal, "{uuid,uuid}", which the
 * caller frees; NULL if memory runs out. */
static char *format_ticket_sets(const struct hf_store_ticket_set *sets,
                                size_t set_count)
{
    size_t count = 0;
    char *text, *at;

    for (size_t i = 0; i < set_count; i++)
        count += sets[i].count;
    text = at = hf_alloc(count * HF_TICKET_ID_TEXT_BYTES + 3);
    if (text == NULL)
        return NULL;
    *at++ = '{';
    for (size_t i = 0; i < set_count; i++) {
        for (size_t k = 0; k < sets[i].count; k++) {
            if (at > text + 1)
                *at++ = ',';
            hf_ticket_id_format(&sets[i].tickets[k], at);
            at += HF_TICKET_ID_TEXT_BYTES - 1;
        }
    }
    *at++ = '}';
    *at = '\0';
    return text;
}

static char *format_tickets(const struct hf_ticket_id *tickets, size_t count)
{
    const struct hf_store_ticket_set set = {.tickets = tickets, .count = count};

    return format_ticket_sets(&set, 1);
}

/* Send EXISTS: which of these tickets are in the queue? */
static bool send_exists(PGconn *conn, const struct hf_store_call *call)
{
    struct parameters p = {.count = 0};
    char *tickets = format_tickets(call->tickets, call->count);
    bool sent = false;

    if (tickets != NULL) {
        add_bytes(&p, call->queue);
        add_text(&p, tickets);
        sent = send_call(conn, "hf_find_tickets", &p);
    }
    hf_free(tickets);
    return sent;
}

/* Send a partial list: which tickets does the call's ticket wait for? */
static bool send_ahead(PGconn *conn, const struct hf_store_call *call,
                       const char *ticket)
{
    struct parameters p = {.count = 0};

    add_bytes(&p, call->queue);
    add_text(&p, ticket);
    add_text(&p, call->ticket_kind == HF_TICKET_READ ? "t" : "f");
    return send_call(conn, "hf_list_ahead", &p);
}

/* Send a LIST.  It is partial, watches the queue, has some of the payloads, or
 * is plain. */
static bool send_list(PGconn *conn, const struct hf_store_call *call,
                      const char *ticket)
{
    const char *participants =
        call->ticket_kind == HF_TICKET_PARTICIPANT ? "t" : "f";
    struct parameters p = {.count = 0};

    if (hf_store_call_may_be_partial(call))
        return send_ahead(conn, call, ticket);
    if (call->watches_queue) {
        add_text(&p, call->session);
        add_number(&p, call->ttl_ms);
        add_number(&p, call->not_after_ms);
        add_bytes(&p, call->queue);
        add_text(&p, participants);
        return send_call(conn, "hf_list_and_watch", &p);
    }
    add_bytes(&p, call->queue);
    if (call->detailed && call->texts.count > 0) {
        add_text(&p, participants);
        add_number(&p, call->texts.from);
        add_number(&p, call->texts.count);
        return send_call(conn, "hf_list_texts", &p);
    }
    add_text(&p, call->detailed ? "t" : "f");
    add_text(&p, participants);
    return send_call(conn, "hf_list", &p);
}

/* Send ENQUEUE, which also finds a ticket that is there already. */
static bool send_enqueue(PGconn *conn, const struct hf_store_call *call,
                         const char *ticket)
{
    struct parameters p = {.count = 0};

    add_text(&p, call->session);
    add_number(&p, call->ttl_ms);
    add_number(&p, call->not_after_ms);
    add_bytes(&p, call->queue);
    add_text(&p, ticket);
    add_number(&p, call->ticket_kind);
    add_number(&p, call->weight);
    add_bytes(&p, call->payload);
    return send_call(conn, "hf_enqueue", &p);
}

/* Send REMOVE, DOWNGRADE or REVOKE.  A REMOVE also has who evicts the ticket,
 * or NULL. */
static bool send_ticket_call(PGconn *conn, const struct hf_store_call *call,
                             const char *statement, const char *ticket)
{
    struct parameters p = {.count = 0};

    if (call->kind != HF_STORE_REVOKE)
        add_text(&p, call->session);
    add_number(&p, call->not_after_ms);
    add_bytes(&p, call->queue);
    add_text(&p, ticket);
    if (call->kind == HF_STORE_REMOVE && call->evicted_by != NULL)
        add_bytes(&p, call->evicted_by);
    else if (call->kind == HF_STORE_REMOVE)
        add_text(&p, NULL);
    return send_call(conn, statement, &p);
}

/* Send DESCRIBE, with the new payload. */
static bool send_describe(PGconn *conn, const struct hf_store_call *call,
                          const char *ticket)
{
    struct parameters p = {.count = 0};

    add_text(&p, call->session);
    add_number(&p, call->not_after_ms);
    add_bytes(&p, call->queue);
    add_text(&p, ticket);
    add_bytes(&p, call->payload);
    return send_call(conn, "hf_describe", &p);
}

static bool send_read_success(PGconn *conn, const struct hf_store_call *call)
{
    struct parameters p = {.count = 0};

    add_bytes(&p, call->queue);
    return send_call(conn, "hf_read_success", &p);
}

static bool send_write_success(PGconn *conn, const struct hf_store_call *call,
                               const char *ticket)
{
    struct parameters p = {.count = 0};

    add_text(&p, call->session);
    add_number(&p, call->not_after_ms);
    add_bytes(&p, call->queue);
    add_text(&p, ticket);
    add_number(&p, call->success_token);
    return send_call(conn, "hf_write_success", &p);
}

/* Send SET_FLAG or CLEAR_FLAG. */
static bool send_flag(PGconn *conn, const struct hf_store_call *call,
                      const char *ticket)
{
    struct parameters p = {.count = 0};
    bool sets = call->kind == HF_STORE_SET_FLAG;

    add_number(&p, call->not_after_ms);
    add_bytes(&p, call->queue);
    add_number(&p, call->ticket_kind);
    if (sets)
        add_text(&p, ticket);
    return send_call(conn, sets ? "hf_set_flag" : "hf_clear_flag", &p);
}

/* Send NEW_GENERATION of a double barrier. */
static bool send_new_generation(PGconn *conn, const struct hf_store_call *call,
                                const char *ticket)
{
    struct parameters p = {.count = 0};
    char flag[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&call->flag, flag);
    add_number(&p, call->not_after_ms);
    add_bytes(&p, call->queue);
    add_text(&p, ticket);
    add_number(&p, call->limit);
    add_text(&p, flag);
    return send_call(conn, "hf_new_generation", &p);
}

/* Send RENEW, and have it remove the orphaned tickets (.orphans). */
static bool send_renew(struct hf_store *store, const struct hf_store_call *call)
{
    struct parameters p = {.count = 0};
    char *orphans = NULL;
    bool sent;

    add_text(&p, call->session);
    add_number(&p, call->ttl_ms);
    add_number(&p, call->not_after_ms);
    if (store->orphan_count == 0)
        return send_call(store->conn, "hf_renew", &p);
    orphans = format_tickets(store->orphans, store->orphan_count);
    if (orphans == NULL)
        return false;
    add_text(&p, orphans);
    sent = send_call(store->conn, "hf_renew_and_remove", &p);
    hf_free(orphans);
    return sent;
}

/* Send CLOSE_SESSION: remove the tickets of this piece; the last piece removes
 * all that is left of the session. */
static bool send_close_session(PGconn *conn, const struct hf_store_call *call)
{
    struct parameters p = {.count = 0};
    char *tickets;
    bool sent;

    add_text(&p, call->session);
    add_number(&p, call->not_after_ms);
    if (!call->not_last_piece)
        return send_call(conn, "hf_close_session", &p);
    tickets = format_ticket_sets(call->ticket_sets, call->ticket_set_count);
    if (tickets == NULL)
        return false;
    add_text(&p, tickets);
    sent = send_call(conn, "hf_close_in_part", &p);
    hf_free(tickets);
    return sent;
}

/* How many rows a NAMES looks at.  A statement that takes long would delay
 * renewals, and could end the connection and so cost the program its locks. */
#define NAMES_ROWS 1024

/* Send NAMES for the page behind the cursor, which is the last name of the page
 * before.  If there is no cursor, for the page behind a text that sorts before
 * all wanted names. */
static bool send_names(PGconn *conn, const struct hf_store_call *call)
{
    const struct hf_names_request *names = call->names;
    struct parameters p = {.count = 0};
    char end[HF_NAME_BYTES + 2];
    size_t bytes = strlen(call->prefix);

    /* ${end} sorts behind all wanted names: '0' is the character behind '/',
     * and a name has no byte 0xff. */
    (void)snprintf(end, sizeof end, "%.*s%s", HF_NAME_BYTES, call->prefix,
                   bytes > 0 ? "0" : "\xff");
    add_bytes(&p, names->cursor_bytes > 0 ? names->cursor : call->prefix);
    p.lengths[0] = (int)(names->cursor_bytes > 0 ? names->cursor_bytes
                         : bytes > 0             ? bytes - 1
                                                 : 0);
    add_bytes(&p, call->prefix);
    add_bytes(&p, end);
    add_number(&p, NAMES_ROWS);
    return send_call(conn, "hf_names", &p);
}

bool hf_pg_call_send(struct hf_store *store, const struct hf_store_call *call)
{
    PGconn *conn = store->conn;
    char ticket[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(&call->ticket, ticket);
    switch (call->kind) {
    case HF_STORE_RENEW:
        return send_renew(store, call);
    case HF_STORE_CLOSE_SESSION:
        return send_close_session(conn, call);
    case HF_STORE_ENQUEUE:
        return send_enqueue(conn, call, ticket);
    case HF_STORE_LIST:
        return send_list(conn, call, ticket);
    case HF_STORE_EXISTS:
        return send_exists(conn, call);
    case HF_STORE_REMOVE:
        return send_ticket_call(conn, call, "hf_remove", ticket);
    case HF_STORE_DOWNGRADE:
        return send_ticket_call(conn, call, "hf_downgrade", ticket);
    case HF_STORE_REVOKE:
        return send_ticket_call(conn, call, "hf_request_release", ticket);
    case HF_STORE_DESCRIBE:
        return send_describe(conn, call, ticket);
    case HF_STORE_SET_FLAG:
    case HF_STORE_CLEAR_FLAG:
        return send_flag(conn, call, ticket);
    case HF_STORE_READ_SUCCESS:
        return send_read_success(conn, call);
    case HF_STORE_WRITE_SUCCESS:
        return send_write_success(conn, call, ticket);
    case HF_STORE_NAMES:
        return send_names(conn, call);
    case HF_STORE_EXAMINE:
        return hf_pg_examine_send(conn);
    case HF_STORE_NEW_GENERATION:
        return send_new_generation(conn, call, ticket);
    }
    return false;
}
