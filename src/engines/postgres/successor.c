/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look at the other servers of the URL, for one that was promoted in place of
 * ours.
 *
 * A standby that is promoted while its primary lives leaves two servers that
 * take writes, and nothing that the old one says shows it.  A client that is
 * connected there would go on holding its locks, while others get them at the
 * new one.  So a round of short connections asks each server of the URL for its
 * *timeline*, which every promotion raises: before the connection is used, and
 * then from time to time.  If another primary has a higher one than ours, our
 * connection ends and the next one goes there, where our tickets are found, or
 * are lost.  The highest timeline that was ever seen is remembered, so that a
 * primary that was replaced is left again when its successor is down.
 *
 * A server that the URL does not name, or that cannot be reached from here, is
 * not seen.  docs/safety.md says what that means.
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

/* A round starts a process at each server. */
#define INTERVAL_MIN_MS UINT64_C(5000)

/* The part of a ttl that a new connection waits for its first round, because a
 * server of the URL may be cut off and say nothing. */
#define FIRST_ROUND_SHARE 4

/* The timeline is the first eight hexadecimal digits of the name of a file of
 * the log.  A standby has 0. */
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

/* Note the highest timeline of this round.  What was known before is forgotten
 * if its host has another timeline now: somebody has made that server anew. */
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

/* All servers were asked, or the time of the round is over. */
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
    /* 0: our server did not answer.  It is no standby, because we use it. */
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

/* Ask the server with the index ${host}.  The round ends if there is no such
 * server, or if its time is over. */
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

/* The server at hand has said ${timeline}. */
static void answered(struct hf_pg_look *look, uint64_t timeline)
{
    look->hosts[look->host] = (struct hf_pg_timeline){true, timeline};
    look->connection.state = HF_PG_UP; /* so that it ends with a message */
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

/* A server that answers something else, or does not let us ask, counts as one
 * that does not answer. */
static void take_answer(struct hf_pg_look *look)
{
    const PGresult *result = look->connection.result;

    if (result != NULL && PQresultStatus(result) == PGRES_TUPLES_OK &&
        PQntuples(result) == 1 && PQnfields(result) == 1)
        answered(look, strtoull(PQgetvalue(result, 0, 0), NULL, 16));
    else
        hf_pg_down(&look->connection, HF_EUNREACHABLE, "no answer");
}

/* Take the results that are there; the last one counts, and a NULL ends them.
 */
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

/* This server was not reached, and is closed. */
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

/* A look for ${ours}; NULL if memory runs out. */
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

/* Begin a round, which may take ${limit_ms}. */
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
    if (store->look == NULL) { /* without memory there is no look */
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
    if (look->phase == HF_PG_LOOK_ASKING) { /* it does not answer */
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
