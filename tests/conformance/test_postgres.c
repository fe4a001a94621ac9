/* SPDX-License-Identifier: Apache-2.0 */
/* The suite on a real PostgreSQL, where HF_PG says.  Each test begins without a
 * schema, which its clients make, several at once; those that are to be killed
 * are processes of their own, with short leases. */
#include <libpq-fe.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "conformance/seat.h"
#include "conformance/suite.h"
#include "engines/postgres/postgres.h"

#define PUMP_TICKS_MAX 1500 /* of 20 ms: a lease ends in a tenth of it */
#define CLOSE_TURNS_MAX 100
#define URL_BYTES 512

static struct {
    const char *ttl;
    PGconn *raw;
    uv_loop_t loop;
    uv_timer_t tick;
    unsigned ticks;
} place;

static const char *server(void)
{
    const char *url = getenv("HF_PG");

    if (url == NULL)
        fail_msg("HF_PG has no server; start this by tests/servers/serve.py");
    return url;
}

/* ------------------------------------------------------------------ host -- */

static uint64_t now_ms(void *host)
{
    struct timespec now;

    (void)host;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uv_loop_t *loop(void *host)
{
    (void)host;
    return &place.loop;
}

__attribute__((format(printf, 3, 4))) static void
log_line(void *host, enum hf_log_level level, const char *format, ...)
{
    va_list args;

    (void)host;
    if (level > HF_LOG_WARNING)
        return;
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
    place.ticks++;
}

static void begin_loop(void)
{
    assert_int_equal(uv_loop_init(&place.loop), 0);
    assert_int_equal(uv_timer_init(&place.loop, &place.tick), 0);
}

static void finish_loop(void)
{
    int rest = UV_EBUSY;

    uv_close((uv_handle_t *)&place.tick, NULL);
    for (unsigned i = 0; i < CLOSE_TURNS_MAX && rest != 0; i++) {
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
        rest = uv_loop_close(&place.loop);
    }
    assert_int_equal(rest, 0);
}

/* ------------------------------------------------------------------- raw -- */

static PGresult *raw(const char *query)
{
    PGresult *result = PQexec(place.raw, query);

    if (PQresultStatus(result) != PGRES_TUPLES_OK &&
        PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", query, PQerrorMessage(place.raw));
    return result;
}

/* ----------------------------------------------------------------- bench -- */

static void begin(struct bench *of)
{
    (void)of;
    place.ttl = "5s";
    place.raw = PQconnectdb(server());
    if (PQstatus(place.raw) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(place.raw));
    PQclear(raw("SET client_min_messages = warning"));
    PQclear(raw("DROP SCHEMA IF EXISTS holdfast CASCADE"));
    begin_loop();
}

static void finish(struct bench *of)
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
    PQfinish(place.raw);
    finish_loop();
}

static struct hf_engine *open_client(struct bench *of,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host whole = *host;
    struct hf_engine *engine = NULL;
    struct hf_error error = {HF_OK, ""};
    struct hf_url url;
    char text[URL_BYTES];

    whole.now_ms = now_ms;
    whole.loop = loop;
    whole.log = log_line;
    (void)snprintf(text, sizeof text, "%s?ttl=%s", server(), place.ttl);
    if (hf_url_parse(text, &url, &error) != HF_OK ||
        of->ops->open(&url, &whole, &engine, &error) != HF_OK)
        fail_msg("%s", error.text);
    hf_url_free(&url);
    return engine;
}

static void pump(struct bench *of, bool (*done)(void *arg), void *arg)
{
    (void)of;
    place.ticks = 0;
    assert_int_equal(uv_timer_start(&place.tick, on_tick, 20, 20), 0);
    while (!done(arg) && place.ticks < PUMP_TICKS_MAX)
        (void)uv_run(&place.loop, UV_RUN_ONCE);
    (void)uv_timer_stop(&place.tick);
}

/* ---------------------------------------------------------------- victim -- */

struct victim {
    pid_t pid;
};

/* In the child, which has the parent's loop but must not touch it: take the
 * ticket, say so, and live until killed. */
static void be_victim(struct bench *of, const char *queue,
                      struct hf_ticket_id id, uint32_t weight, int said)
{
    struct seat *seat;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
    begin_loop();
    place.ttl = "1s";
    seat = seat_open(of);
    if (weight > 0)
        (void)seat_lease(seat, queue, id, weight);
    else
        (void)seat_enqueue(seat, queue, id, HF_TICKET_MUTEX, "victim");
    if (write(said, "x", 1) != 1)
        _exit(1);
    for (;;)
        (void)uv_run(&place.loop, UV_RUN_ONCE);
}

static struct victim *victim_start(struct bench *of, const char *queue,
                                   struct hf_ticket_id id, uint32_t weight)
{
    struct victim *victim = calloc(1, sizeof *victim);
    int said[2];
    char byte;

    assert_non_null(victim);
    assert_int_equal(pipe(said), 0);
    victim->pid = fork();
    assert_true(victim->pid >= 0);
    if (victim->pid == 0)
        be_victim(of, queue, id, weight, said[1]);
    (void)close(said[1]);
    assert_int_equal(read(said[0], &byte, 1), 1);
    (void)close(said[0]);
    return victim;
}

static void victim_kill(struct bench *of, struct victim *victim)
{
    (void)of;
    assert_int_equal(kill(victim->pid, SIGKILL), 0);
    assert_int_equal(waitpid(victim->pid, NULL, 0), victim->pid);
    free(victim);
}

/* By hand: nobody is told of it. */
static void evict(struct bench *of, const char *queue,
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

static void shut(uv_handle_t *handle, void *arg)
{
    int fd;

    (void)arg;
    if (handle->type == UV_POLL && !uv_is_closing(handle) &&
        uv_fileno(handle, &fd) == 0)
        (void)shutdown(fd, SHUT_RDWR);
}

/* As if the network had: the engines are not asked. */
static void cut(struct bench *of)
{
    (void)of;
    uv_walk(&place.loop, shut, NULL);
}

int main(void)
{
    struct bench of = {
        .name = "conformance of postgres",
        .ops = &hf_engine_module,
        .begin = begin,
        .finish = finish,
        .open = open_client,
        .pump = pump,
        .victim_start = victim_start,
        .victim_kill = victim_kill,
        .evict = evict,
        .cut = cut,
    };

    return suite_run(&of);
}
