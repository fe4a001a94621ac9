/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls under way.  They are sent one after the other in libpq's pipeline,
 * each as a transaction of its own, and answered in that order.
 *
 * A call has two results: what its statement returned, and the end of its
 * transaction (ReadyForQuery; for libpq PGRES_PIPELINE_SYNC).  The server
 * commits between the two, so the first result is kept until the second has
 * come.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reconnect.h"
#include "engines/postgres/pg_private.h"
#include "engines/postgres/postgres.h"

/* ----------------------------------------------------------------- calls -- */

/* Send the call and append it to the list. */
static void call(struct hf_store *store, struct hf_store_call *made)
{
    assert(store->state == HF_PG_UP);
    made->store_data = NULL;
    if (store->last != NULL)
        store->last->store_data = made;
    else
        store->first = made;
    store->last = made;
    /* If the call was not sent completely, the connection cannot be used any
     * more.  That must not be reported from here, so the socket is shut down,
     * and the next read will show it. */
    if (!hf_pg_call_send(store, made))
        (void)shutdown(PQsocket(store->conn), SHUT_RDWR);
}

/* Take the oldest call off the list. */
static struct hf_store_call *unlink_first(struct hf_store *store)
{
    struct hf_store_call *first = store->first;

    store->first = first->store_data;
    if (store->first == NULL)
        store->last = NULL;
    first->store_data = NULL;
    return first;
}

/* Returns whether it is an error of libpq itself, for instance because memory
 * ran out.  Then it is not known to which call the next results belong. */
static bool is_of_libpq(const PGresult *result)
{
    return PQresultStatus(result) == PGRES_FATAL_ERROR &&
           PQresultErrorField(result, PG_DIAG_SQLSTATE) == NULL;
}

/* Keep the result of the first call's statement.  If an error follows, it is
 * the reason why the transaction was not committed. */
static void keep_statement_result(struct hf_store *store, PGresult *result)
{
    bool first = store->statement_result == NULL;
    bool failed = PQresultStatus(result) == PGRES_FATAL_ERROR;

    if (is_of_libpq(result)) {
        char line[HF_PG_TEXT_BYTES];

        hf_pg_one_line(line, sizeof line, PQresultErrorMessage(result));
        hf_pg_down(store, HF_EUNREACHABLE, "%s", line);
    } else if (store->first == NULL || (!first && !failed)) {
        hf_pg_down(store, HF_EPROTOCOL, "the server answered unasked");
    } else if (first) {
        store->statement_result = result;
        return;
    } else {
        hf_pg_set_unsure(store, result);
    }
    PQclear(result);
}

/* Answer the first call.  Its transaction has ended, so the answer is final. */
static void end_call(struct hf_store *store)
{
    PGresult *result = store->statement_result;
    char unsure_why[HF_PG_TEXT_BYTES];
    char why[HF_PG_TEXT_BYTES];

    if (result == NULL) {
        hf_pg_down(store, HF_EPROTOCOL,
                   "the server ended a call without an answer");
        return;
    }
    memcpy(unsure_why, store->unsure_why, sizeof unsure_why);
    store->statement_result = NULL;
    store->unsure_why[0] = '\0';
    if (!hf_pg_answer_call(store, unlink_first(store), result, unsure_why, why))
        hf_pg_down(store, HF_EPROTOCOL, "%s", why);
    PQclear(result);
}

/* Handle the notices that have come.  Returns false if the connection has ended
 * or changed. */
static bool handle_notices(struct hf_store *store)
{
    uint64_t number = store->number;
    PGnotify *notice;

    while ((notice = PQnotifies(store->conn)) != NULL) {
        hf_pg_count_notification(store, notice);
        hf_pg_notice(store, notice);
        PQfreemem(notice);
        if (store->number != number)
            return false;
    }
    return true;
}

/* Returns whether notices are to be handled before the answer to ${call}: they
 * name the first ticket of the queue, which then needs no list.  With any other
 * call they are handled after the answer, because the answer begins the
 * watches.
 *
 * libpq may have read some notices from between the answer to the next call and
 * its SYNC.  These are early; at worst, an eviction is then reported only by
 * the next renewal. */
static bool notices_say_more(const struct hf_store_call *call)
{
    return call != NULL &&
           (call->kind == HF_STORE_EXISTS || call->kind == HF_STORE_REMOVE);
}

/* Handle ${result} and free it.  Returns false if the connection has ended or
 * changed. */
static bool handle_result(struct hf_store *store, PGresult *result)
{
    uint64_t number = store->number;

    if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        if (notices_say_more(store->first) && !handle_notices(store))
            return false;
        end_call(store);
    } else {
        keep_statement_result(store, result);
    }
    return store->number == number;
}

/* Handle all results that were read, because no event would follow for the
 * rest.  One NULL ends the results of a call; a second NULL in a row means that
 * there are no more. */
static bool handle_results(struct hf_store *store)
{
    unsigned ends = 0;
    bool same = true;

    while (same && ends < 2 && !PQisBusy(store->conn)) {
        PGresult *result = PQgetResult(store->conn);

        ends = result == NULL ? ends + 1 : 0;
        if (result == NULL)
            continue;
        store->unread_bytes = 0; /* because the bound is for one answer */
        hf_pg_count_result(store, result);
        same = handle_result(store, result);
    }
    return same;
}

void hf_pg_calls_read(struct hf_store *store)
{
    char why[HF_PG_TEXT_BYTES];
    hf_status status;
    bool ended = PQconsumeInput(store->conn) == 0;

    /* What came before the end of the connection still counts. */
    if (!handle_results(store) || !handle_notices(store))
        return;
    if (!ended && PQstatus(store->conn) == CONNECTION_OK)
        return;
    status = hf_pg_connection_error(store, why);
    hf_pg_down(store, status, "%s", why);
}

static void on_input(struct hf_store *store)
{
    if (store->state == HF_PG_PREPARING)
        hf_pg_setup_read(store);
    else
        hf_pg_calls_read(store);
}

static void on_down(struct hf_store *store, hf_status status, const char *why)
{
    hf_pg_successor_stop(store);
    hf_leased_down(store->engine->leased, status, why,
                   hf_leased_engine_now_ms(store->engine));
}

static void disconnect(struct hf_store *store)
{
    hf_pg_successor_stop(store);
    hf_pg_disconnect(store);
}

static void flush(struct hf_store *store)
{
    if (store->state == HF_PG_UP)
        hf_pg_flush_and_poll(store);
}

/* ------------------------------------------------------------------- end -- */

static void after_fork(struct hf_store *store)
{
    if (store->conn != NULL && PQsocket(store->conn) >= 0)
        (void)close(PQsocket(store->conn));
    hf_pg_successor_after_fork(store);
}

static void on_idle_closed(uv_handle_t *handle)
{
    struct hf_store *store = handle->data;

    hf_pg_config_free(&store->config);
    hf_free(store);
}

static void free_store(struct hf_store *store)
{
    hf_pg_successor_free(store);
    hf_pg_disconnect(store);
    if (store->resolver != NULL)
        hf_resolver_free(store->resolver);
    uv_close((uv_handle_t *)&store->later, on_idle_closed);
}

/* libpq does its own TLS.  A port that speaks only TLS does not answer a
 * startup message without TLS. */
static const char *store_awaited(const struct hf_store *store)
{
    if (store->state != HF_PG_CONNECTING)
        return NULL;
    switch (PQstatus(store->conn)) {
    case CONNECTION_SSL_STARTUP:
        return "answer to the request for TLS";
    case CONNECTION_AWAITING_RESPONSE:
        return "answer to the startup message (expected a port of "
               "PostgreSQL's: one "
               "for TLS alone gives none)";
    default:
        return NULL;
    }
}

static void store_server(const struct hf_store *store, char *text, size_t bytes)
{
    hf_pg_server_format(store->conn, text, bytes);
}

static const struct hf_store_ops ops = {
    .connect = hf_pg_connect,
    .disconnect = disconnect,
    .call = call,
    .awaited = store_awaited,
    .server = store_server,
    .flush = flush,
    .wake_at_ms = hf_pg_successor_wake_at_ms,
    .tick = hf_pg_successor_tick,
    .after_fork = after_fork,
    .free = free_store,
};

/* ------------------------------------------------------------------ open -- */

/* Make the store, which owns ${config}; it is freed on failure, too. */
static struct hf_store *new_store(struct hf_engine *engine,
                                  struct hf_pg_config *config)
{
    const struct hf_resolver_host host = {engine->host.host, engine->host.log,
                                          engine->host.now_ms};
    struct hf_store *store = hf_alloc(sizeof *store);

    if (store == NULL) {
        hf_pg_config_free(config);
        return NULL;
    }
    store->engine = engine;
    store->on_connected = hf_pg_setup;
    store->on_input = on_input;
    store->on_down = on_down;
    store->config = *config;
    (void)uv_idle_init(engine->loop, &store->later);
    store->later.data = store;
    store->resolver = hf_resolver_new(engine->loop, &host);
    if (store->resolver == NULL) {
        free_store(store);
        return NULL;
    }
    return store;
}

/* Make the store and start the engine with it. */
static hf_status start(struct hf_engine *engine, struct hf_pg_config *config,
                       const struct hf_reconnect *reconnect,
                       const char *server_address, struct hf_error *error)
{
    struct hf_leased_config leased = {
        .ttl_ms = config->ttl_ms,
        .clock_drift = config->clock_drift,
        .server_address = server_address,
        .reconnect = reconnect,
        .servers = config->host_count,
    };
    hf_status status = hf_leased_engine_random(&leased.random, error);
    struct hf_store *store;

    if (status != HF_OK) {
        hf_pg_config_free(config);
        return status;
    }
    if ((store = new_store(engine, config)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    return hf_leased_engine_start(engine, &leased, &ops, store, error);
}

hf_status hf_pg_open(const struct hf_url *url,
                     const struct hf_engine_host *host,
                     struct hf_engine **engine, struct hf_error *error)
{
    static const char scheme[] = "postgresql://";
    char description[HF_URL_BYTES];
    struct hf_reconnect reconnect;
    struct hf_pg_config config;
    struct hf_engine *made;
    hf_status status;

    *engine = NULL;
    /* A module has its own copy of hf_alloc() and its allocator.  The allocator
     * can be set only once, before anything was allocated.  If the module is
     * opened again, this call fails, which does no harm because the allocator
     * is the same. */
    if (host->allocator != NULL)
        (void)!hf_set_allocator(host->allocator);
    memcpy(description, scheme, sizeof scheme);
    status = hf_reconnect_choose(url, host->reconnect, &reconnect, error);
    if (status == HF_OK)
        status = hf_pg_config_parse(&config, url, error);
    if (status != HF_OK)
        return status;
    hf_pg_config_describe(&config, description + strlen(scheme),
                          sizeof description - strlen(scheme));
    made = hf_leased_engine_new(host, description, error);
    if (made == NULL) {
        hf_pg_config_free(&config);
        return error->status;
    }
    status = start(made, &config, &reconnect,
                   made->description + strlen(scheme), error);
    if (status != HF_OK) {
        hf_leased_engine_free(made);
        return status;
    }
    *engine = made;
    return HF_OK;
}
