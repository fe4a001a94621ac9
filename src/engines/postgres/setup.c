/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares a new connection: sets our parameters, checks that the server can be
 * used, creates a schema that is missing, checks what is there, and listens for
 * notices.  Each step is one query of one or more statements; the last result
 * of a step decides what the next step is. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time_math.h"
#include "engines/postgres/pg_private.h"
#include "engines/postgres/schema.h"

#define SERVER_VERSION_MIN 120000
#define STATEMENT_TIMEOUT_MIN_MS 500
#define LOCK_TIMEOUT_MIN_MS 100
#define QUERY_BYTES 8192

/* The advisory lock for the creation of the schema: the first 64 bits of the
 * SHA-256 of "holdfast". */
#define SCHEMA_LOCK "5836046871406951169"

/* --------------------------------------------------------------- queries -- */

/* Make the query that sets the parameters which a role or a database may have
 * set differently.  Locks that others hold must not delay renewals for long.
 * The planner knows too little about tables that are nearly empty and full of
 * dead rows, so it is made to use an index, which every query has, and to make
 * a generic plan once. */
static bool format_settings(const struct hf_store *store, char *query,
                            size_t room)
{
    uint64_t ttl_ms = store->config.ttl_ms;
    const char *role = store->config.schema_owner;
    char *owner = PQescapeLiteral(store->conn, role, strlen(role));
    int length;

    if (owner == NULL)
        return false;
    length = snprintf(
        query, room,
        "SET client_min_messages = warning;"
        "SET search_path = pg_catalog, pg_temp;"
        "SET quote_all_identifiers = off;"
        "SET default_transaction_isolation = 'read committed';"
        "SET default_transaction_read_only = off;"
        "SET default_transaction_deferrable = off;"
        "SET statement_timeout = %" PRIu64 ";"
        "SET lock_timeout = %" PRIu64 ";"
        "SET jit = off;"
        "SET enable_seqscan = off;"
        "SET enable_bitmapscan = off;"
        "SET enable_hashjoin = off;"
        "SET enable_mergejoin = off;"
        "SET plan_cache_mode = force_generic_plan;"
        "%s"
        "SELECT set_config('synchronous_commit', 'on', false)"
        " WHERE current_setting('synchronous_commit') = 'off';"
        "SELECT set_config('holdfast.schema_owner', %s, false);"
        "SELECT pg_backend_pid(), pg_is_in_recovery(),"
        " current_setting('fsync'), to_regnamespace('holdfast') IS NOT NULL,"
        " (%s)",
        hf_max_ms(ttl_ms / 3, STATEMENT_TIMEOUT_MIN_MS),
        hf_max_ms(ttl_ms / 12, LOCK_TIMEOUT_MIN_MS),
        PQserverVersion(store->conn) >= 140000 ? "SET idle_session_timeout = 0;"
                                               : "",
        owner, hf_pg_rights);
    PQfreemem(owner);
    return length > 0 && (size_t)length < room;
}

static const char *missing_schema(enum hf_pg_missing missing)
{
    switch (missing) {
    case HF_PG_MISSING_TABLES:
        return hf_pg_tables;
    case HF_PG_MISSING_FUNCTIONS:
        return hf_pg_functions;
    case HF_PG_MISSING_BOTH:
        return hf_pg_schema;
    case HF_PG_MISSING_NOTHING:
        break;
    }
    assert(missing != HF_PG_MISSING_NOTHING);
    return "";
}

/* Returns the query of the present step; some are put together in ${query}.
 * NULL: it could not be put together. */
static const char *setup_query(const struct hf_store *store,
                               char query[QUERY_BYTES])
{
    switch (store->step) {
    case HF_PG_STEP_SETTINGS:
        return format_settings(store, query, QUERY_BYTES) ? query : NULL;
    case HF_PG_STEP_LOCK:
        /* to_regnamespace() is not used: its result may have been cached before
         * the wait for the lock, unless a table is opened */
        return "BEGIN; SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ");"
               "SELECT count(*) FILTER (WHERE nspname = 'holdfast'),"
               " count(*) FILTER (WHERE nspname = '" HF_PG_FUNCTIONS "')"
               " FROM pg_namespace";
    case HF_PG_STEP_CREATE:
        return missing_schema(store->missing);
    case HF_PG_STEP_COMMIT:
        (void)snprintf(query, QUERY_BYTES, "COMMIT; %s", hf_pg_rights);
        return query;
    case HF_PG_STEP_CHECK:
        return hf_pg_check;
    case HF_PG_STEP_LISTEN:
        (void)snprintf(query, QUERY_BYTES,
                       "%s LISTEN holdfast_%s;"
                       "SELECT " HF_PG_FUNCTIONS ".remove_abandoned();"
                       "SELECT " HF_PG_FUNCTIONS ".epoch_ms(clock_timestamp()),"
                       " " HF_PG_FUNCTIONS ".missing_rights()",
                       hf_pg_prepare, store->session);
        return query;
    case HF_PG_STEPS:
        break;
    }
    assert(store->step < HF_PG_STEPS);
    return "";
}

/* Send the query of ${step}. */
static void begin_step(struct hf_store *store, enum hf_pg_setup_step step)
{
    char query[QUERY_BYTES];
    char why[HF_PG_TEXT_BYTES];
    const char *text;
    hf_status status;

    store->step = step;
    text = setup_query(store, query);
    if (text != NULL && PQsendQuery(store->conn, text) == 1) {
        hf_pg_flush_and_poll(store);
        return;
    }
    status = hf_pg_connection_error(store, why);
    hf_pg_down(store, status, "%s", why);
}

/* --------------------------------------------------------------- results -- */

static bool is_true(const PGresult *result, int column)
{
    return PQgetvalue(result, 0, column)[0] == 't';
}

static bool is_zero(const PGresult *result, int column)
{
    return strcmp(PQgetvalue(result, 0, column), "0") == 0;
}

/* Returns whether a pooler is in front of the server.  A pooler gives each
 * client its own number for the connection, which is not the server's process
 * id. */
static bool is_pooled(const struct hf_store *store)
{
    return store->backend != PQbackendPID(store->conn) &&
           store->config.pooler == HF_PG_NO_POOLER;
}

static void warn_once(struct hf_store *store)
{
    const struct hf_engine_host *host = &store->engine->host;

    if (!store->warned)
        host->log(host->host, HF_LOG_WARNING,
                  "the server has fsync=off: if its machine fails, locks that "
                  "are held may be given to others");
    store->warned = true;
}

/* Check what lets others act as the owners of the schemas, which is in
 * ${column}.  If there is nothing, go on with CHECK. */
static void check_rights(struct hf_store *store, const PGresult *result,
                         int column)
{
    char found[HF_PG_TEXT_BYTES];

    hf_pg_one_line(found, sizeof found, PQgetvalue(result, 0, column));
    if (found[0] != '\0')
        hf_pg_down(store, HF_EDENIED, "%s", found);
    else
        begin_step(store, HF_PG_STEP_CHECK);
}

/* Check which server this is, by the result of the first step. */
static void check_server(struct hf_store *store, const PGresult *result)
{
    store->backend = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
    if (is_pooled(store)) {
        hf_pg_down(store, HF_EUNSUPPORTED,
                   "there is a pooler in front of the server, and one that "
                   "pools by transaction loses notices; expected the server "
                   "itself, or pooler=session in the URL if the pooler keeps "
                   "a connection for a session");
        return;
    }
    if (is_true(result, 1)) {
        hf_pg_down(store, HF_EUNREACHABLE,
                   "the server is a standby and can only be read; expected "
                   "the primary");
        return;
    }
    if (strcmp(PQgetvalue(result, 0, 2), "off") == 0)
        warn_once(store);
    if (!is_true(result, 3) && store->engine->host.list_only) {
        hf_pg_down(store, HF_EURL,
                   "the database has no schema holdfast, which is made when "
                   "the first lock in it is taken; expected the database that "
                   "the holders of locks use: check its name");
        return;
    }
    if (is_true(result, 3))
        check_rights(store, result, 4);
    else
        begin_step(store, HF_PG_STEP_LOCK);
}

/* Create what is missing, by the result of LOCK, which has counted the schemas.
 * No other client of holdfast creates one until we commit. */
static void create_missing(struct hf_store *store, const PGresult *result)
{
    bool tables = is_zero(result, 0);
    bool functions = is_zero(result, 1);

    store->missing = tables && functions ? HF_PG_MISSING_BOTH
                     : tables            ? HF_PG_MISSING_TABLES
                     : functions         ? HF_PG_MISSING_FUNCTIONS
                                         : HF_PG_MISSING_NOTHING;
    begin_step(store, store->missing == HF_PG_MISSING_NOTHING
                          ? HF_PG_STEP_COMMIT
                          : HF_PG_STEP_CREATE);
}

/* Create the schema with the functions of this version, which is missing, while
 * the tables are there.  Its owner acts as every role that uses it, so only a
 * role that may own it for all creates it. */
static void add_functions(struct hf_store *store, bool may_create)
{
    if (store->engine->host.list_only || !may_create)
        hf_pg_down(store, HF_EUNSUPPORTED,
                   "the database has the tables of locks, but not the "
                   "schema " HF_PG_FUNCTIONS
                   " with the functions of this version; have "
                   "the owner of the schema holdfast run what \"holdfast sql "
                   "--functions\" prints");
    else if (store->missing != HF_PG_MISSING_NOTHING)
        hf_pg_down(store, HF_EUNREACHABLE,
                   "the schema " HF_PG_FUNCTIONS " was dropped just after it "
                   "was made");
    else
        begin_step(store, HF_PG_STEP_LOCK);
}

/* Check that the tables are of our version and that nothing was changed. */
static void check_schema(struct hf_store *store, const PGresult *result)
{
    long version = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    bool has_functions = is_true(result, 2);
    char found[HF_PG_TEXT_BYTES];

    if (version != 0 && version != HF_PG_TABLES_VERSION)
        hf_pg_down(store, HF_EUNSUPPORTED,
                   "the tables of the schema holdfast have version %ld; "
                   "expected %d: install a holdfast that has version %ld, or "
                   "stop all that use it and have its owner run DROP SCHEMA "
                   "holdfast CASCADE",
                   version, HF_PG_TABLES_VERSION, version);
    else if (hf_pg_definition_differs(PQgetvalue(result, 0, 1), has_functions,
                                      found))
        hf_pg_down(
            store, HF_EUNSUPPORTED,
            "somebody has changed the schema holdfast or " HF_PG_FUNCTIONS
            ": %s; expected what \"holdfast sql\" "
            "prints, or no such schema",
            found);
    else if (version != HF_PG_TABLES_VERSION)
        hf_pg_down(store, HF_EUNSUPPORTED,
                   "somebody has changed the schema holdfast: it has no "
                   "version; expected what \"holdfast sql\" prints, or no "
                   "such schema");
    else if (!has_functions)
        add_functions(store, is_true(result, 3));
    else
        begin_step(store, HF_PG_STEP_LISTEN);
}

/* Returns whether this role has all rights that calls need.  A client that only
 * lists needs few of them, and "holdfast doctor" reports which are missing. */
static bool has_rights(struct hf_store *store, const PGresult *result)
{
    char missing[HF_PG_TEXT_BYTES];

    hf_pg_one_line(missing, sizeof missing, PQgetvalue(result, 0, 1));
    if (missing[0] == '\0' || store->engine->host.list_only)
        return true;
    hf_pg_down(
        store, HF_EDENIED,
        "this role lacks rights that locks need: %.120s%s; have the owner "
        "of the schema run what \"holdfast sql --grant\" prints, and a "
        "superuser grant EXECUTE on functions of the server",
        missing, strlen(missing) > 120 ? "..." : "");
    return false;
}

static void report_up(struct hf_store *store)
{
    struct hf_engine *engine = store->engine;

    hf_leased_up(engine->leased, store->server_ms,
                 hf_leased_engine_now_ms(engine));
}

/* The connection is ready: go into pipeline mode, and report up after the first
 * look. */
static void go_up(struct hf_store *store, const PGresult *result)
{
    if (!has_rights(store, result))
        return;
    store->server_ms = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
    if (PQenterPipelineMode(store->conn) != 1) {
        hf_pg_down(store, HF_EPROTOCOL, "libpq cannot send more than one call");
        return;
    }
    store->state = HF_PG_UP;
    hf_pg_successor_watch(store, report_up);
}

/* Handle the last result of a step, and begin the next one. */
static void finish_step(struct hf_store *store, const PGresult *result)
{
    bool rows = PQresultStatus(result) == PGRES_TUPLES_OK;
    /* Number of columns of the one row that a step returns; 0: its result is
     * not looked at. */
    static const int columns[HF_PG_STEPS] = {
        [HF_PG_STEP_SETTINGS] = 5, [HF_PG_STEP_LOCK] = 2,
        [HF_PG_STEP_COMMIT] = 1,   [HF_PG_STEP_CHECK] = 4,
        [HF_PG_STEP_LISTEN] = 2,
    };

    if (columns[store->step] > 0 &&
        (!rows || PQntuples(result) != 1 ||
         PQnfields(result) != columns[store->step])) {
        hf_pg_down(store, HF_EPROTOCOL,
                   "the server answered something else than it was asked");
        return;
    }
    switch (store->step) {
    case HF_PG_STEP_SETTINGS:
        check_server(store, result);
        break;
    case HF_PG_STEP_LOCK:
        create_missing(store, result);
        break;
    case HF_PG_STEP_CREATE:
        begin_step(store, HF_PG_STEP_COMMIT);
        break;
    case HF_PG_STEP_COMMIT:
        check_rights(store, result, 0);
        break;
    case HF_PG_STEP_CHECK:
        check_schema(store, result);
        break;
    case HF_PG_STEP_LISTEN:
        go_up(store, result);
        break;
    case HF_PG_STEPS:
        break;
    }
}

/* ---------------------------------------------------------------- errors -- */

/* Returns what the user can do about an error; "": not known. */
static const char *advice(enum hf_pg_setup_step step, const char *state)
{
    bool denied = state != NULL && strcmp(state, "42501") == 0;
    bool missing = state != NULL && strncmp(state, "42", 2) == 0 && !denied;

    if (step == HF_PG_STEP_LISTEN && state != NULL &&
        strcmp(state, "42P05") == 0)
        return "; expected a connection of our own, but the pooler in front "
               "of the server pools by transaction";
    if (step == HF_PG_STEP_CREATE && denied)
        return "; have the schema made by somebody who may, with what "
               "\"holdfast sql\" prints";
    if (denied)
        return "; have its owner run what \"holdfast sql --grant\" "
               "prints, or a superuser grant EXECUTE on a function of the "
               "server";
    if (step == HF_PG_STEP_CHECK && missing)
        return "; there is a schema called holdfast that holdfast did not "
               "make";
    return "";
}

/* End the connection, because a step failed. */
static void refuse(struct hf_store *store, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    char why[HF_PG_TEXT_BYTES];

    hf_pg_format_error(result, why);
    hf_pg_down(store, hf_pg_connection_status(state), "%.200s%s", why,
               advice(store->step, state));
}

/* Returns whether the result has an expected status.  None of our statements is
 * a COPY, whose results libpq would return without end. */
static bool is_expected(const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* -------------------------------------------------------------- the loop -- */

void hf_pg_setup(struct hf_store *store)
{
    int version = PQserverVersion(store->conn);

    if (version < SERVER_VERSION_MIN) {
        hf_pg_down(store, HF_EUNSUPPORTED,
                   "the server is PostgreSQL %d; expected %d or later",
                   version / 10000, SERVER_VERSION_MIN / 10000);
        return;
    }
    store->missing = HF_PG_MISSING_NOTHING;
    begin_step(store, HF_PG_STEP_SETTINGS);
}

void hf_pg_setup_read(struct hf_store *store)
{
    char why[HF_PG_TEXT_BYTES];
    PGresult *result;
    hf_status status;

    if (PQconsumeInput(store->conn) == 0) {
        status = hf_pg_connection_error(store, why);
        hf_pg_down(store, status, "%s", why);
        return;
    }
    while (!PQisBusy(store->conn)) {
        result = PQgetResult(store->conn);
        if (result == NULL)
            break;
        hf_pg_count_result(store, result);
        PQclear(store->result);
        store->result = result;
        if (PQresultStatus(result) == PGRES_FATAL_ERROR) {
            refuse(store, result);
            return;
        }
        if (!is_expected(result)) {
            hf_pg_down(store, HF_EPROTOCOL,
                       "the server answered something else than it was asked");
            return;
        }
    }
    hf_pg_flush_and_poll(store);
    if (PQisBusy(store->conn))
        return;
    hf_leased_making_progress(store->engine->leased,
                              hf_leased_engine_now_ms(store->engine));
    result = store->result;
    store->result = NULL;
    finish_step(store, result);
    PQclear(result);
}
