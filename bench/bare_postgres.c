/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-bare-postgres CONNINFO: what a PostgreSQL itself takes, and its own
 * advisory locks, by libpq's blocking calls of prepared statements.  Requests:
 *
 *   pair COUNT          SELECT 1 twice: two round trips
 *   commit COUNT        INSERT and DELETE of a row with a key, each a
 *                       transaction: the least that a lock which outlives its
 *                       connection has to do
 *   advisory COUNT      SELECT pg_advisory_lock(1) and _unlock(1)
 *   contend CLIENTS MS  for MS each of CLIENTS, a connection and a thread each,
 *                       takes that lock and gives it back, again and again; a
 *                       sample is from the call of a release to the grant of
 *                       another client
 *   handoff COUNT MS    DELETE with a NOTIFY, the notice at another connection,
 *                       and its INSERT; MS before each DELETE nothing happens
 */
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "protocol.h"

#define WARM_UP 50
#define CLIENTS_MAX 64

static const struct {
    const char *name, *text;
} statements[] = {
    {"one", "SELECT 1"},
    {"insert", "INSERT INTO bench_bare VALUES (1)"},
    {"delete", "DELETE FROM bench_bare WHERE number = 1"},
    {"lock", "SELECT pg_advisory_lock(1)"},
    {"unlock", "SELECT pg_advisory_unlock(1)"},
    {"leave", "WITH gone AS (DELETE FROM bench_bare WHERE number = 1"
              " RETURNING number)"
              " SELECT pg_notify('bench_bare', number::text) FROM gone"},
};

static const char *conninfo;
static PGconn *conn;

static void need(PGconn *of, bool ok)
{
    if (!ok) {
        (void)fprintf(stderr, "%s", PQerrorMessage(of));
        bench_fail("the server will not");
    }
}

static PGconn *dial(void)
{
    PGconn *made = PQconnectdb(conninfo);

    need(made, PQstatus(made) == CONNECTION_OK);
    return made;
}

static void query(PGconn *of, const char *text)
{
    PGresult *result = PQexec(of, text);

    need(of, PQresultStatus(result) == PGRES_COMMAND_OK);
    PQclear(result);
}

static void prepare(PGconn *of)
{
    PGresult *result;

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        result = PQprepare(of, statements[i].name, statements[i].text, 0, NULL);
        need(of, PQresultStatus(result) == PGRES_COMMAND_OK);
        PQclear(result);
    }
}

static void run(PGconn *of, const char *name)
{
    PGresult *result = PQexecPrepared(of, name, 0, NULL, NULL, NULL, 0);
    ExecStatusType status = PQresultStatus(result);

    need(of, status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK);
    PQclear(result);
}

static void pairs(const char *first, const char *second, unsigned count)
{
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP; i++) {
        run(conn, first);
        run(conn, second);
    }
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        run(conn, first);
        run(conn, second);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
}

/* --------------------------------------------------------------- contend -- */

struct contender {
    pthread_t thread;
    unsigned number;
    uint64_t grants;
};

/* Written by the holder of the lock. */
static _Atomic uint64_t released_at_ns;
static atomic_uint holder; /* its number; 0: nobody yet */
static uint64_t deadline_ns;
static pthread_barrier_t start, finish;

static void take_over(unsigned number)
{
    uint64_t now_ns = bench_now_ns();
    unsigned before = atomic_exchange(&holder, number);

    if (before != 0 && before != number)
        bench_sample(now_ns - atomic_load(&released_at_ns));
}

static void *contend(void *arg)
{
    struct contender *contender = arg;
    PGconn *own = dial();

    prepare(own);
    (void)pthread_barrier_wait(&start); /* all have a session */
    (void)pthread_barrier_wait(&start); /* and clocks run */
    while (bench_now_ns() < deadline_ns) {
        run(own, "lock");
        take_over(contender->number);
        contender->grants++;
        atomic_store(&released_at_ns, bench_now_ns());
        run(own, "unlock");
    }
    (void)pthread_barrier_wait(&finish);
    PQfinish(own);
    return NULL;
}

static void contest(unsigned count, unsigned ms)
{
    struct contender contenders[CLIENTS_MAX];
    uint64_t grants = 0;

    if (count > CLIENTS_MAX)
        bench_fail("too many clients; expected up to 64");
    atomic_store(&holder, 0);
    (void)pthread_barrier_init(&start, NULL, count + 1);
    (void)pthread_barrier_init(&finish, NULL, count + 1);
    for (unsigned i = 0; i < count; i++) {
        contenders[i] = (struct contender){.number = i + 1};
        if (pthread_create(&contenders[i].thread, NULL, contend,
                           &contenders[i]) != 0)
            bench_fail("a thread could not be started");
    }
    (void)pthread_barrier_wait(&start);
    bench_begin();
    deadline_ns = bench_now_ns() + (uint64_t)ms * 1000000;
    (void)pthread_barrier_wait(&start);
    (void)pthread_barrier_wait(&finish);
    for (unsigned i = 0; i < count; i++)
        grants += contenders[i].grants;
    bench_end(grants);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(contenders[i].thread, NULL);
    (void)pthread_barrier_destroy(&start);
    (void)pthread_barrier_destroy(&finish);
}

/* --------------------------------------------------------------- handoff -- */

static void receive(PGconn *listener)
{
    struct pollfd polled = {.fd = PQsocket(listener), .events = POLLIN};
    PGnotify *notice;

    while ((notice = PQnotifies(listener)) == NULL) {
        if (poll(&polled, 1, -1) == 1)
            need(listener, PQconsumeInput(listener) == 1);
    }
    PQfreemem(notice);
}

static void handoffs(unsigned count, unsigned pause_ms)
{
    PGconn *listener = dial();
    uint64_t began_ns;

    prepare(listener);
    query(listener, "LISTEN bench_bare");
    run(conn, "insert");
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        bench_pause(pause_ms);
        began_ns = bench_now_ns();
        run(conn, "leave");
        receive(listener);
        run(listener, "insert");
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
    run(conn, "delete");
    PQfinish(listener);
}

int main(int count, char **arguments)
{
    struct bench_request request;

    if (count != 2)
        return 64;
    conninfo = arguments[1];
    conn = dial();
    prepare(conn);
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "pair") == 0)
            pairs("one", "one", request.first);
        else if (strcmp(request.word, "commit") == 0)
            pairs("insert", "delete", request.first);
        else if (strcmp(request.word, "advisory") == 0)
            pairs("lock", "unlock", request.first);
        else if (strcmp(request.word, "contend") == 0)
            contest(request.first, request.second);
        else if (strcmp(request.word, "handoff") == 0)
            handoffs(request.first, request.second);
        else
            bench_fail("a request that is not known");
    }
    PQfinish(conn);
    return 0;
}
