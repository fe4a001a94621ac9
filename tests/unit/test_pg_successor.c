/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look at the other servers of a PostgreSQL URL.  The connection of a look
 * and libpq are those of the test: each server has a script, and what the look
 * asked, and what it made of it, are recorded.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "engines/postgres/pg_private.h"

#define TTL_MS 30000
#define HOSTS 3

/* What a server does when it is asked. */
static struct fake_server {
    enum {
        ANSWERS,
        IS_SILENT,
        REFUSES,
        TAKES_NO_QUERY,
        ENDS_EARLY,
        GIVES_ERROR,
        GIVES_NOTHING,
        GIVES_TWO_ROWS,
        GIVES_TWO_COLUMNS,
    } does;
    const char *timeline; /* of its answer */
} servers[HOSTS];

static struct hf_engine engine;
static struct hf_store store;
static uint64_t now_ms;
static char events[512];
static char why[HF_PG_TEXT_BYTES];
static hf_status down_status;
static unsigned results_taken;
static int fd_of_look;

static void add_event(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static void add_event(const char *format, ...)
{
    size_t used = strlen(events);
    va_list args;

    if (used > 0)
        events[used++] = ' ';
    va_start(args, format);
    (void)vsnprintf(events + used, sizeof events - used, format, args);
    va_end(args);
}

/* The events since the last call. */
#define assert_events(expected)                                                \
    do {                                                                       \
        assert_string_equal(events, expected);                                 \
        events[0] = '\0';                                                      \
    } while (0)

/* ------------------------------------------------- in place of the machine */

uint64_t hf_leased_engine_now_ms(const struct hf_engine *of)
{
    (void)of;
    return now_ms;
}

void hf_pg_connect(struct hf_store *connection, const char *session)
{
    assert_ptr_not_equal(connection, &store);
    assert_int_equal(connection->state, HF_PG_NONE); /* one at a time */
    assert_string_equal(session, "session");
    connection->state = HF_PG_CONNECTING;
    add_event("%zu", connection->host_index);
}

void hf_pg_disconnect(struct hf_store *connection)
{
    PQclear(connection->result);
    connection->result = NULL;
    connection->conn = NULL;
    connection->state = HF_PG_NONE;
}

void hf_pg_flush_and_poll(struct hf_store *connection)
{
    (void)connection;
}

/* Ends the connection, and reports it: of ours as pg_store.c does. */
void hf_pg_down(struct hf_store *connection, hf_status status,
                const char *format, ...)
{
    va_list args;

    if (connection != &store) {
        hf_pg_disconnect(connection);
        connection->on_down(connection, status, format);
        return;
    }
    va_start(args, format);
    (void)vsnprintf(why, sizeof why, format, args);
    va_end(args);
    down_status = status;
    hf_pg_successor_stop(&store);
    add_event("down");
}

static struct fake_server *server(void)
{
    return &servers[store.look->connection.host_index];
}

/* The part of libpq that a look uses.  Its connection is only an address. */

int __wrap_PQsendQuery(PGconn *conn, const char *query);
int __wrap_PQsendQuery(PGconn *conn, const char *query)
{
    (void)conn;
    assert_non_null(strstr(query, "pg_walfile_name"));
    assert_non_null(strstr(query, "pg_is_in_recovery"));
    results_taken = 0;
    return server()->does != TAKES_NO_QUERY;
}

int __wrap_PQconsumeInput(PGconn *conn);
int __wrap_PQconsumeInput(PGconn *conn)
{
    (void)conn;
    return server()->does != ENDS_EARLY;
}

int __wrap_PQisBusy(PGconn *conn);
int __wrap_PQisBusy(PGconn *conn)
{
    (void)conn;
    return 0;
}

int __wrap_PQsocket(const PGconn *conn);
int __wrap_PQsocket(const PGconn *conn)
{
    (void)conn;
    return fd_of_look;
}

static PGresult *rows(int count, int columns)
{
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    PGresAttDesc column[2];
    char name[] = "column", value[16];

    memset(column, 0, sizeof column);
    column[0].name = column[1].name = name;
    (void)snprintf(value, sizeof value, "%s", server()->timeline);
    assert_int_equal(PQsetResultAttrs(result, columns, column), 1);
    for (int row = 0; row < count; row++)
        for (int i = 0; i < columns; i++)
            assert_int_equal(
                PQsetvalue(result, row, i, value, (int)strlen(value)), 1);
    return result;
}

/* The result of SET, that of SELECT, and a NULL. */
PGresult *__wrap_PQgetResult(PGconn *conn);
PGresult *__wrap_PQgetResult(PGconn *conn)
{
    (void)conn;
    if (results_taken++ == 0)
        return PQmakeEmptyPGresult(NULL, PGRES_COMMAND_OK);
    if (results_taken > 2)
        return NULL;
    switch (server()->does) {
    case GIVES_ERROR:
        return PQmakeEmptyPGresult(NULL, PGRES_FATAL_ERROR);
    case GIVES_NOTHING:
        return rows(0, 1);
    case GIVES_TWO_ROWS:
        return rows(2, 1);
    case GIVES_TWO_COLUMNS:
        return rows(1, 2);
    default:
        return rows(1, 1);
    }
}

/* --------------------------------------------------------------- scripts -- */

static void then(struct hf_store *ours)
{
    assert_ptr_equal(ours, &store);
    add_event("then");
}

/* Let the servers answer, until one is silent or none is asked. */
static void serve(void)
{
    struct hf_store *connection = &store.look->connection;

    while (connection->state == HF_PG_CONNECTING &&
           server()->does != IS_SILENT) {
        if (server()->does == REFUSES) {
            hf_pg_down(connection, HF_EUNREACHABLE, "refused");
            continue;
        }
        connection->state = HF_PG_PREPARING;
        connection->conn = (PGconn *)&fd_of_look;
        connection->on_connected(connection);
        if (connection->state == HF_PG_PREPARING)
            connection->on_input(connection);
    }
}

/* Our connection can be used: a first look. */
static void connect_ours(void)
{
    hf_pg_successor_watch(&store, then);
    if (store.look != NULL)
        serve();
}

/* A look begins when it is due. */
static void look_again(void)
{
    now_ms = hf_pg_successor_wake_at_ms(&store);
    hf_pg_successor_tick(&store);
    serve();
}

static void set_timelines(const char *a, const char *b, const char *c)
{
    servers[0] = (struct fake_server){ANSWERS, a};
    servers[1] = (struct fake_server){ANSWERS, b};
    servers[2] = (struct fake_server){ANSWERS, c};
}

static int set_up(void **state)
{
    static const struct hf_pg_host hosts[HOSTS] = {
        {"a", "", "5401"}, {"b", "", "5402"}, {"c", "", "5403"}};

    (void)state;
    memset(&store, 0, sizeof store);
    engine.loop = uv_default_loop();
    store.engine = &engine;
    store.config.ttl_ms = TTL_MS;
    store.config.host_count = HOSTS;
    memcpy(store.config.hosts, hosts, sizeof hosts);
    (void)snprintf(store.session, sizeof store.session, "session");
    set_timelines("00000001", "0", "0");
    events[0] = why[0] = '\0';
    now_ms = 1000;
    fd_of_look = -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hf_pg_successor_free(&store);
    assert_null(store.look);
    (void)uv_run(engine.loop, UV_RUN_DEFAULT);
    return uv_loop_close(engine.loop);
}

#define LOOK(test) TEST_WITH(test, set_up, tear_down)

/* --------------------------------------------------------------- a round -- */

LOOK(each_server_is_asked_once_in_turn)
{
    connect_ours();
    assert_events("0 1 2 then");
}

LOOK(one_server_has_no_successor)
{
    store.config.host_count = 1;
    connect_ours();
    assert_events("then");
    assert_null(store.look);
    assert_true(hf_pg_successor_wake_at_ms(&store) == HF_FOREVER);
    hf_pg_successor_stop(&store);
    hf_pg_successor_after_fork(&store);
}

LOOK(later_looks_call_nothing)
{
    connect_ours();
    assert_events("0 1 2 then");
    look_again();
    look_again();
    assert_events("0 1 2 0 1 2");
}

LOOK(a_look_begins_each_ttl_and_not_before)
{
    uint64_t begun_ms = now_ms;

    connect_ours();
    events[0] = '\0';
    assert_true(hf_pg_successor_wake_at_ms(&store) == begun_ms + TTL_MS);
    now_ms = begun_ms + TTL_MS - 1;
    hf_pg_successor_tick(&store);
    assert_events("");
    store.config.ttl_ms = 1000; /* short ones are no load for servers */
    look_again();
    assert_events("0 1 2");
    assert_true(hf_pg_successor_wake_at_ms(&store) == begun_ms + TTL_MS + 5000);
}

LOOK(whatever_gives_no_timeline_is_passed_over)
{
    static const struct fake_server others[] = {
        {REFUSES, ""},
        {TAKES_NO_QUERY, ""},
        {ENDS_EARLY, ""},
        {GIVES_ERROR, ""},
        {GIVES_NOTHING, ""},
        {GIVES_TWO_ROWS, "00000009"},
        {GIVES_TWO_COLUMNS, "00000009"},
        {ANSWERS, "x"},
        {ANSWERS, ""},
    };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        servers[1] = others[i];
        connect_ours();
        assert_events("0 1 2 then");
        hf_pg_successor_stop(&store);
    }
}

/* ------------------------------------------------------------ successors -- */

LOOK(the_higher_timeline_is_gone_to)
{
    set_timelines("00000003", "00000001", "00000004");
    connect_ours();
    assert_events("0 1 2 down"); /* and not "then" */
    assert_int_equal(down_status, HF_EUNREACHABLE);
    assert_int_equal(store.host_index, 2);
    assert_non_null(strstr(why, "c, port 5403, was promoted"));
    assert_non_null(strstr(why, "timeline 4, and this one has 3"));
    assert_true(hf_pg_successor_wake_at_ms(&store) == HF_FOREVER);
}

LOOK(a_later_look_finds_one_too)
{
    connect_ours();
    assert_events("0 1 2 then");
    set_timelines("00000001", "00000002", "0");
    look_again();
    assert_events("0 1 2 down");
    assert_int_equal(store.host_index, 1);
}

LOOK(a_timeline_has_hexadecimal_digits)
{
    set_timelines("00000009", "0000000A", "0");
    connect_ours();
    assert_events("0 1 2 down");
    assert_int_equal(store.host_index, 1);
    set_timelines("00000009", "0000000A", "00000010");
    connect_ours();
    assert_events("0 1 2 down");
    assert_int_equal(store.host_index, 2);
    assert_non_null(strstr(why, "timeline 16, and this one has 10"));
}

LOOK(as_high_as_ours_is_no_successor)
{
    set_timelines("00000002", "00000002", "00000001");
    connect_ours();
    assert_events("0 1 2 then");
    assert_int_equal(store.host_index, 0);
}

/* Ours was used, so that it is a primary whose timeline was not seen. */
LOOK(without_our_own_timeline_nothing_is_known)
{
    set_timelines("", "00000007", "0");
    servers[0].does = REFUSES;
    connect_ours();
    assert_events("0 1 2 then");
    assert_int_equal(store.host_index, 0);
}

/* ----------------------------------------- a successor that has answered -- */

/* Ours is left for the server ${host}, which then ends. */
static void leave_for(size_t host)
{
    connect_ours();
    assert_events("0 1 2 down");
    assert_int_equal(store.host_index, host);
    servers[host].does = REFUSES;
}

LOOK(a_server_that_was_replaced_is_left_again)
{
    set_timelines("00000001", "0", "00000002");
    leave_for(2);
    store.host_index = 0; /* pg_store.c has gone on to the next one */
    connect_ours();
    assert_events("0 1 2 down");
    assert_int_equal(store.host_index, 1); /* all others go before ours */
    assert_non_null(strstr(why, "timeline 2, and this one has 1"));
}

LOOK(the_first_server_follows_the_last)
{
    set_timelines("00000002", "0", "00000001");
    store.host_index = 2;
    leave_for(0);
    store.host_index = 2;
    connect_ours();
    assert_events("0 1 2 down");
    assert_int_equal(store.host_index, 0);
}

LOOK(a_successor_that_was_made_anew_is_none)
{
    set_timelines("00000002", "00000003", "0");
    leave_for(1);
    store.host_index = 0;
    servers[1] = (struct fake_server){ANSWERS, "00000001"};
    connect_ours();
    assert_events("0 1 2 then");
    servers[1].does = REFUSES; /* nor remembered */
    look_again();
    assert_events("0 1 2");
    servers[1] = (struct fake_server){ANSWERS, "00000003"};
    look_again();
    assert_events("0 1 2 down");
}

LOOK(a_successor_that_follows_ours_now_is_none)
{
    set_timelines("00000001", "00000002", "0");
    leave_for(1);
    store.host_index = 0;
    servers[1] = (struct fake_server){ANSWERS, "0"};
    connect_ours();
    assert_events("0 1 2 then");
}

/* ---------------------------------------------------------------- limits -- */

LOOK(a_silent_server_is_given_up)
{
    connect_ours();
    events[0] = '\0';
    servers[1].does = IS_SILENT;
    look_again();
    assert_events("0 1");
    now_ms = hf_pg_successor_wake_at_ms(&store) - 1;
    hf_pg_successor_tick(&store);
    serve();
    assert_events("");
    now_ms++;
    hf_pg_successor_tick(&store);
    serve();
    assert_events("2");
    assert_true(hf_pg_successor_wake_at_ms(&store) == now_ms + TTL_MS);
}

/* A new connection has a lease to renew, and waits a quarter of it. */
LOOK(a_first_look_ends_in_time)
{
    uint64_t end_ms = now_ms + TTL_MS / 4;

    for (size_t i = 0; i < HOSTS; i++)
        servers[i].does = IS_SILENT;
    connect_ours();
    while (strstr(events, "then") == NULL) {
        assert_true(hf_pg_successor_wake_at_ms(&store) <= end_ms);
        look_again();
    }
    assert_true(now_ms == end_ms);
}

/* What was seen before the end of a look counts. */
LOOK(a_look_that_is_cut_short_still_counts)
{
    set_timelines("00000001", "00000002", "0");
    servers[2].does = IS_SILENT;
    connect_ours();
    assert_events("0 1 2");
    look_again();
    assert_events("down");
    assert_int_equal(store.host_index, 1);
}

LOOK(a_look_begins_without_the_last_one)
{
    set_timelines("00000001", "0", "0");
    connect_ours();
    assert_events("0 1 2 then");
    servers[0].does = REFUSES; /* ours is unknown, and not as it was */
    servers[1].timeline = "00000002";
    look_again();
    assert_events("0 1 2");
}

/* ------------------------------------------------------------------ ends -- */

LOOK(a_connection_that_ended_is_not_looked_at)
{
    servers[1].does = IS_SILENT;
    connect_ours();
    assert_events("0 1");
    hf_pg_successor_stop(&store);
    assert_int_equal(store.look->connection.state, HF_PG_NONE);
    assert_true(hf_pg_successor_wake_at_ms(&store) == HF_FOREVER);
    now_ms += 10 * (uint64_t)TTL_MS;
    hf_pg_successor_tick(&store);
    assert_events("");
    servers[1].does = ANSWERS;
    connect_ours();
    assert_events("0 1 2 then");
}

/* The child has a descriptor of the look, and nothing else is touched. */
LOOK(a_child_closes_the_socket)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    servers[0].does = IS_SILENT;
    connect_ours();
    hf_pg_successor_after_fork(&store); /* not connected yet */
    store.look->connection.conn = (PGconn *)&fd_of_look;
    hf_pg_successor_after_fork(&store); /* without a socket */
    fd_of_look = ends[0];
    hf_pg_successor_after_fork(&store);
    assert_int_equal(fcntl(ends[0], F_GETFD), -1);
    assert_int_equal(close(ends[1]), 0);
}
