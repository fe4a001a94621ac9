/* SPDX-License-Identifier: Apache-2.0 */
/* Drives the machine of zk_machine.h: opens the connection that its session
 * wants, passes bytes and time, and runs on the engine loop.  The requests of
 * one loop iteration leave in one write.  Everything here runs with the
 * client's lock held. */
#include <stdio.h>

#include "core/memory.h"
#include "engines/zookeeper/engine_io.h"

/* How many connections may fail at once before the loop continues. */
#define CONNECTIONS_PER_DRIVE 8

static uint64_t now_ms(const struct hf_engine *engine)
{
    return engine->host.now_ms(engine->host.host);
}

/* ----------------------------------------------------------------- drive -- */

/* Close the connection if there is one. */
static void close_connection(struct hf_engine *engine)
{
    /* While closing, the close request, which was taken already, still goes
     * out. */
    if (engine->connection != NULL)
        hf_connection_close(engine->connection, engine->ending
                                                    ? HF_CONNECTION_FINISH
                                                    : HF_CONNECTION_ABORT);
    engine->connection = NULL;
}

/* Close the connection and give the session the reason.  A connection that the
 * server closed has no reason of its own. */
static void report_down(struct hf_engine *engine, hf_status status,
                        const char *why)
{
    if (engine->connection != NULL &&
        hf_connection_closed_by_peer(engine->connection))
        why = NULL;
    close_connection(engine);
    hf_zk_session_connection_down(hf_zk_session(engine->zk),
                                  engine->connection_number, now_ms(engine),
                                  status, why);
}

static const struct hf_connection_callbacks connection_callbacks;

/* Open the connection that the session wants and close any other.  False if
 * opening failed; the session knows it then. */
static bool open_wanted_connection(struct hf_engine *engine)
{
    struct hf_connection_config config = {
        .loop = engine->loop,
        .resolver = engine->resolver,
        .tls = engine->tls,
        .context = engine->context,
    };
    struct hf_connection_callbacks user = connection_callbacks;
    char why[HF_CONNECTION_TEXT_BYTES];
    const struct hf_zk_server *server;
    uint64_t number = engine->connection_number;
    hf_status status;

    server = hf_zk_session_wanted_server(hf_zk_session(engine->zk), &number);
    if (server != NULL && number == engine->connection_number)
        return true;
    close_connection(engine);
    if (server == NULL)
        return true;
    engine->connection_number = number;
    config.host = server->host;
    config.port = server->port;
    user.arg = engine;
    engine->connection = hf_connection_open(&config, &user, &status, why);
    if (engine->connection == NULL)
        report_down(engine, status, why);
    return engine->connection != NULL;
}

/* Send the session's output.  False if the connection failed; the session has
 * been informed. */
static bool flush(struct hf_engine *engine)
{
    size_t count = 0;
    const void *bytes = hf_zk_session_output(hf_zk_session(engine->zk), &count);
    char why[HF_CONNECTION_TEXT_BYTES];
    size_t taken;

    if (engine->connection == NULL || count == 0)
        return true;
    if (hf_connection_send(engine->connection, bytes, count, &taken)) {
        hf_zk_session_written(hf_zk_session(engine->zk), taken);
        return true;
    }
    hf_zk_session_written(hf_zk_session(engine->zk), taken);
    (void)snprintf(why, sizeof(why), "%s",
                   hf_connection_why(engine->connection));
    report_down(engine, hf_connection_status(engine->connection), why);
    return false;
}

/* Called by the engine loop after anything has changed.  Returns when it wants
 * to be called again. */
static uint64_t drive(void *arg)
{
    struct hf_engine *engine = arg;
    bool done = false;

    for (int i = 0; i < CONNECTIONS_PER_DRIVE && !done; i++)
        done = open_wanted_connection(engine) && flush(engine);
    return done ? hf_zk_session_wake_at_ms(hf_zk_session(engine->zk)) : 0;
}

/* The time that drive() returned has come. */
static void on_due(void *arg)
{
    struct hf_engine *engine = arg;

    hf_zk_session_tick(hf_zk_session(engine->zk), now_ms(engine));
}

/* ------------------------------------------------------------ connection -- */

/* Callbacks of the connection; each calls the session and then drive(), by way
 * of hf_engine_loop_leave(). */
static void on_up(void *arg)
{
    struct hf_engine *engine = arg;

    hf_engine_loop_enter(&engine->engine_loop);
    hf_zk_session_connection_up(hf_zk_session(engine->zk),
                                engine->connection_number, now_ms(engine));
    hf_engine_loop_leave(&engine->engine_loop);
}

/* Bytes have arrived. */
static void on_received(void *arg, const void *bytes, size_t count)
{
    struct hf_engine *engine = arg;

    hf_engine_loop_enter(&engine->engine_loop);
    hf_zk_session_receive(hf_zk_session(engine->zk), engine->connection_number,
                          now_ms(engine), bytes, count);
    hf_engine_loop_leave(&engine->engine_loop);
}

/* The socket has room again; entering and leaving the loop calls drive(),
 * which sends. */
static void on_writable(void *arg)
{
    struct hf_engine *engine = arg;

    hf_engine_loop_enter(&engine->engine_loop);
    hf_engine_loop_leave(&engine->engine_loop);
}

/* The connection has ended or could not be made. */
static void on_down(void *arg, hf_status status, const char *why)
{
    struct hf_engine *engine = arg;

    hf_engine_loop_enter(&engine->engine_loop);
    report_down(engine, status, why);
    hf_engine_loop_leave(&engine->engine_loop);
}

static const struct hf_connection_callbacks connection_callbacks = {
    .up = on_up,
    .received = on_received,
    .writable = on_writable,
    .down = on_down,
};

/* ----------------------------------------------------- beginning and end -- */

/* Free the memory once all handles are closed. */
static void release(void *arg)
{
    struct hf_engine *engine = arg;

    if (engine->context != NULL)
        engine->tls->context_free(engine->context);
    hf_free(engine->description);
    hf_free(engine);
}

void hf_engine_init(struct hf_engine *engine, const struct hf_engine_host *host)
{
    const struct hf_engine_loop_ops user = {drive, on_due, release, engine};

    engine->host = *host;
    hf_engine_loop_init(&engine->engine_loop, &user);
}

/* Frees whatever hf_engine_open() had made. */
void hf_engine_free(struct hf_engine *engine)
{
    close_connection(engine);
    if (engine->resolver != NULL)
        hf_resolver_free(engine->resolver);
    if (engine->zk != NULL)
        hf_zk_free(engine->zk);
    engine->zk = NULL;
    hf_engine_loop_close(&engine->engine_loop);
}
