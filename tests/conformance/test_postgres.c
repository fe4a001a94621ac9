/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a real PostgreSQL server at HF_PG.  Each test begins without
 * the schema; its clients make it, several at once. */
#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cmocka/runner.h"
#include "conformance/real_host.h"
#include "conformance/suite.h"
#include "engines/postgres/postgres.h"

#define URL_BYTES 512

static struct {
    const char *ttl;
    PGconn *raw;
} database;

static const char *server(void)
{
    const char *url = getenv("HF_PG");

    if (url == NULL)
        fail_msg("HF_PG has no server; start this by tests/servers/serve.py");
    return url;
}

static PGresult *raw(const char *query)
{
    PGresult *result = PQexec(database.raw, query);

    if (PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", query, PQerrorMessage(database.raw));
    return result;
}

static void begin(struct conformance_fixture *of)
{
    (void)of;
    database.ttl = "5s";
    database.raw = PQconnectdb(server());
    if (PQstatus(database.raw) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(database.raw));
    PQclear(raw("SET client_min_messages = warning"));
    PQclear(raw("DROP SCHEMA IF EXISTS holdfast CASCADE"));
    real_host_begin();
}

static void finish(struct conformance_fixture *of)
{
    PGresult *left = NULL;
    PGresult *made = raw("SELECT to_regclass('holdfast.ticket') IS NOT NULL");

    (void)of;
    if (PQgetvalue(made, 0, 0)[0] == 't') {
        left = raw("SELECT FROM holdfast.ticket");
        assert_int_equal(PQntuples(left), 0);
    }
    PQclear(left);
    PQclear(made);
    PQfinish(database.raw);
    real_host_finish();
}

static struct hf_engine *open_client(struct conformance_fixture *of,
                                     const struct hf_engine_host *host)
{
    char text[URL_BYTES];

    (void)snprintf(text, sizeof text, "%s?ttl=%s", server(), database.ttl);
    return real_host_open(of, host, text);
}

static void be_short(void)
{
    database.ttl = "1s"; /* what the server then takes to see the death */
}

/* By SQL, without a notification. */
static void evict(struct conformance_fixture *of, const char *queue,
                  const struct hf_ticket *ticket)
{
    char query[256];
    char id[HF_TICKET_ID_TEXT_BYTES];
    PGresult *gone;

    (void)of;
    (void)queue;
    hf_ticket_id_format(&ticket->id, id);
    (void)snprintf(query, sizeof query,
                   "DELETE FROM holdfast.ticket WHERE id = '%s' RETURNING 1",
                   id);
    gone = raw(query);
    assert_int_equal(PQntuples(gone), 1);
    PQclear(gone);
}

TEST_FILE(postgres)
{
    struct conformance_fixture of = {
        .name = "conformance of postgres",
        .ops = &hf_engine_module,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = real_host_pump,
        .victim_start = real_host_victim,
        .victim_kill = real_host_kill,
        .evict = evict,
        .be_victim = be_short,
        .has_double_barriers = true,
        .cut = real_host_cut,
    };

    return suite_run(&of);
}
