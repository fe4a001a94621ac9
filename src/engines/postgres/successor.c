/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at the other servers of the URL for one that was promoted in place of
 * ours.
 *
 * If a standby is promoted while its primary lives, two servers take writes,
 * and nothing that the old primary says shows that.  A client of the old
 * primary would go on holding its locks, while other clients get the same locks
 * at the new primary.
 *
 * So short connections ask each server of the URL for its *timeline*, which
 * every promotion raises.  This is done in rounds: one before our connection is
 * used, and then one from time to time.  If another primary has a higher
 * timeline than ours, our connection is ended and the next one goes there,
 * where our tickets are found or are lost.  The highest timeline that was ever
 * seen is remembered, so that a primary that was replaced is left again even if
 * its successor is down.
 *
 * A new primary is not found if the URL does not name it, or if it cannot be
 * reached from here.  docs/safety.md says what that means.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "engines/postgres/pg_private.h"

/* The shortest time between two looks.  Each look starts a process at each
 * server. */
#define INTERVAL_MIN_MS UINT64_C(5000)

/* The share of a ttl that a new connection waits for its first look, because a
 * server of the URL may be cut off and not answer. */
#define FIRST_ROUND_SHARE 4

/* The timeline is the first eight hexadecimal digits of the name of a log file.
 * A standby answers 0. */
#define QUERY                                                                  \
    "SET search_path = pg_catalog, pg_temp;"                                   \
    "SELECT CASE WHEN pg_is_in_recovery() THEN '0'"                            \
    " ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"

/* ------------------------------------------------------------- the round -- */

static void plan(struct hf_pg_look *look)
{
    look->phase = HF_PG_LOOK_IDLE;
    look->at_ms =
        hf_after_ms(hf_leased_engine_now_ms(look->ours->engine),
                    hf_max_ms(look->ours->config.ttl_ms, INTERVAL_MIN_MS));
}

/* Note the highest timeline of this look.  The highest one so far is forgotten
 * if its host has another timeline now, because that server was set up
 * again. */
static void update_highest(struct hf_pg_look *look)
{
    const struct hf_pg_timeline *known = &look->hosts[look->highest_host];

    if (known->answered && known->timeline != look->highest)
        look->highest = 0;
    for (size_t i = 0; i < look->ours->config.host_count; i++) {
        if (look->hosts[i].timeline > look->highest) {
            look->highest = look->hosts[i].timeline;
            look->highest_host = i;
        }
    }
}

/* End the look: all servers were asked, or its time is over. */
static void end_round(struct hf_pg_look *look)
{
    struct hf_store *ours = look->ours;
    uint64_t own = look->hosts[ours->host_index].timeline;
    void (*then)(struct hf_store * store) = look->then;
    size_t host;

    plan(look);
    look->then = NULL;
    update_highest(look);
    host = look->highest_host;
    /* 0 means that our server did not answer; it is no standby, because we use
     * it */
    if (own == 0 || own >= look->highest) {
        if (then != NULL)
            then(ours);
        return;
    }
    if (look->hosts[host].answered)
        ours->host_index = host;
    else /* it did not answer: try all others before ours again */
        ours->host_index = ours->host_index + 1 < ours->config.host_count
                               ? ours->host_index + 1
                               : 0;
    hf_pg_down(
        ours, HF_EUNREACHABLE,
        "%.100s, port %.16s, was promoted in its place (timeline %" PRIu64
        ", and this one has %" PRIu64 "); locks that only the old "
        "primary has are lost; expected that one to be stopped",
        ours->config.hosts[host].name,
        hf_pg_host_port(&ours->config.hosts[host]), look->highest, own);
}

/* Ask the server with the index ${host}.  If there is no such server, or the
 * time is over, ends the look. */
static void ask_host(struct hf_pg_look *look, size_t host)
{
    uint64_t now_ms = hf_leased_engine_now_ms(look->ours->engine);
    uint64_t limit_ms = hf_leased_call_timeout_ms(look->ours->config.ttl_ms);

    if (host >= look->ours->config.host_count ||
        now_ms >= look->round_ends_ms) {
        end_round(look);
        return;
    }
    look->phase = HF_PG_LOOK_ASKING;
    look->at_ms = hf_min_ms(hf_after_ms(now_ms, limit_ms), look->round_ends_ms);
    look->host = look->connection.host_index = host;
    hf_pg_connect(&look->connection, look->ours->session);
}

/* The server that was asked has the timeline ${timeline}: note it and ask the
 * next server. */
static void answered(struct hf_pg_look *look, uint64_t timeline)
{
    look->hosts[look->host] = (struct hf_pg_timeline){true, timeline};
    /* so that the connection is ended with a message */
    look->connection.state = HF_PG_UP;
    hf_pg_disconnect(&look->connection);
    ask_host(look, look->host + 1);
}

/* -------------------------------------------------------- the connection -- */

static struct hf_pg_look *look_of(struct hf_store *connection)
{
    return container_of(connection, struct hf_pg_look, connection);
}

static void on_connected(struct hf_store *connection)
{
    if (PQsendQuery(connection->conn, QUERY) == 1)
        hf_pg_flush_and_poll(connection);
    else
        hf_pg_down(connection, HF_EUNREACHABLE, "not sent");
}

/* Handle the answer of the server that was asked.  A server that answers
 * something else, or that refuses the query, counts as one that does not
 * answer. */
static void take_answer(struct hf_pg_look *look)
{
    const PGresult *result = look->connection.result;

    if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK &&
        PQntuples(result) == 1 && PQnfields(result) == 1)
        answered(look, strtoull(PQgetvalue(result, 0, 0), NULL, 16));
    else
        hf_pg_down(&look->connection, HF_EUNREACHABLE, "no answer");
}

/* Read the results that are there.  The last one counts, and a NULL ends
 * them. */
static void on_input(struct hf_store *connection)
{
    PGresult *result;

    if (PQconsumeInput(connection->conn) == 0) {
        hf_pg_down(connection, HF_EUNREACHABLE, "ended");
        return;
    }
    while (!PQisBusy(connection->conn)) {
        result = PQgetResult(connection->conn);
        if (result == NULL) {
            take_answer(look_of(connection));
            return;
        }
        PQclear(connection->result);
        connection->result = result;
    }
    hf_pg_flush_and_poll(connection);
}

/* The server that was asked was not reached, and its connection is closed: ask
 * the next one. */
static void on_down(struct hf_store *connection, hf_status status,
                    const char *why)
{
    struct hf_pg_look *look = look_of(connection);

    (void)status;
    (void)why;
    assert(look->phase == HF_PG_LOOK_ASKING);
    ask_host(look, look->host + 1);
}

/* ------------------------------------------------------ the store's part -- */

/* Make the look of ${ours}.  Returns NULL if memory runs out. */
static struct hf_pg_look *look_new(struct hf_store *ours)
{
    struct hf_pg_look *look = hf_alloc(sizeof *look);

    if (look == NULL)
        return NULL;
    look->ours = ours;
    look->connection.engine = ours->engine;
    look->connection.config = ours->config;
    look->connection.resolver = ours->resolver;
    look->connection.on_connected = on_connected;
    look->connection.on_input = on_input;
    look->connection.on_down = on_down;
    (void)uv_idle_init(ours->engine->loop, &look->connection.later);
    look->connection.later.data = &look->connection;
    return look;
}

/* Begin to ask all servers, which may take ${limit_ms}. */
static void begin_round(struct hf_pg_look *look, uint64_t limit_ms)
{
    memset(look->hosts, 0, sizeof look->hosts);
    look->round_ends_ms =
        hf_after_ms(hf_leased_engine_now_ms(look->ours->engine), limit_ms);
    ask_host(look, 0);
}

void hf_pg_successor_watch(struct hf_store *store,
                           void (*then)(struct hf_store *store))
{
    if (store->config.host_count > 1 && store->look == NULL)
        store->look = look_new(store);
    if (store->look == NULL) { /* there is one server, or memory ran out */
        then(store);
        return;
    }
    store->look->then = then;
    begin_round(store->look, store->config.ttl_ms / FIRST_ROUND_SHARE);
}

void hf_pg_successor_stop(struct hf_store *store)
{
    if (store->look == NULL)
        return;
    store->look->phase = HF_PG_LOOK_STOPPED;
    store->look->then = NULL;
    hf_pg_disconnect(&store->look->connection);
}

uint64_t hf_pg_successor_wake_at_ms(const struct hf_store *store)
{
    return store->look == NULL || store->look->phase == HF_PG_LOOK_STOPPED
               ? HF_FOREVER
               : store->look->at_ms;
}

void hf_pg_successor_tick(struct hf_store *store)
{
    struct hf_pg_look *look = store->look;

    if (hf_leased_engine_now_ms(store->engine) <
        hf_pg_successor_wake_at_ms(store))
        return;
    if (look->phase == HF_PG_LOOK_ASKING) { /* the server did not answer */
        hf_pg_disconnect(&look->connection);
        ask_host(look, look->host + 1);
        return;
    }
    begin_round(look, HF_FOREVER);
}

void hf_pg_successor_after_fork(const struct hf_store *store)
{
    const struct hf_pg_look *look = store->look;

    if (look != NULL && look->connection.conn != NULL &&
        PQsocket(look->connection.conn) >= 0)
        (void)close(PQsocket(look->connection.conn));
}

static void on_closed(uv_handle_t *handle)
{
    hf_free(look_of(handle->data));
}

void hf_pg_successor_free(struct hf_store *store)
{
    struct hf_pg_look *look = store->look;

    if (look == NULL)
        return;
    hf_pg_successor_stop(store);
    store->look = NULL;
    uv_close((uv_handle_t *)&look->connection.later, on_closed);
}
