/* SPDX-License-Identifier: Apache-2.0 */
/* drive() does what the session wants.  It is called after each callback of the
 * loop, and once in each iteration in which the user made calls. */
#include "etcd_io/etcd_io.h"

#include <stdio.h>

#include "base/error.h"
#include "transport/tls_module.h"

/* How many connections may fail at once before the loop goes on. */
#define CONNECTIONS_PER_DRIVE 8

static uint64_t now_ms(const struct hf_etcd_io *io)
{
    return io->host->now_ms(io->host->host);
}

/* ----------------------------------------------------------------- drive -- */

/* Close the connection, if there is one.  While the session is being closed
 * (.ending), the request to revoke the lease is still sent, because the
 * connection has taken it already. */
static void close_connection(struct hf_etcd_io *io)
{
    if (io->connection != NULL)
        hf_connection_close(io->connection, io->ending ? HF_CONNECTION_FINISH
                                                       : HF_CONNECTION_ABORT);
    io->connection = NULL;
}

/* Close the connection and report it to the session with the reason ${why};
 * NULL if the server has closed the connection. */
static void report_down(struct hf_etcd_io *io, hf_status status,
                        const char *why)
{
    if (io->connection != NULL && hf_connection_closed_by_peer(io->connection))
        why = NULL;
    close_connection(io);
    hf_etcd_session_connection_down(io->session, io->number, now_ms(io), status,
                                    why);
}

static const struct hf_connection_callbacks connection_callbacks;

/* Open the connection that the session wants, and close any other.  If that
 * fails, the session has been informed, and false is returned. */
static bool open_wanted_connection(struct hf_etcd_io *io)
{
    struct hf_connection_callbacks callbacks = connection_callbacks;
    struct hf_connection_config config = {
        .loop = io->loop,
        .resolver = io->resolver,
        .tls = io->tls,
        .context = io->context,
        .tls_protocol = HF_ETCD_TLS_PROTOCOL,
    };
    char why[HF_CONNECTION_TEXT_BYTES];
    hf_status status;
    uint64_t number;
    const struct hf_etcd_server *server =
        hf_etcd_session_wanted_server(io->session, &number);

    if (server != NULL && number == io->number)
        return true;
    close_connection(io);
    if (server == NULL)
        return true;
    config.host = server->host;
    config.port = server->port;
    callbacks.arg = io;
    io->number = number;
    io->connection = hf_connection_open(&config, &callbacks, &status, why);
    if (io->connection != NULL)
        return true;
    report_down(io, status, why);
    return false;
}

/* Send ${count} bytes of the session's output, and set ${all} to whether the
 * socket took all of them.  If the connection has failed, the session has been
 * informed, and false is returned. */
static bool send_output(struct hf_etcd_io *io, const void *bytes, size_t count,
                        bool *all)
{
    char why[HF_CONNECTION_TEXT_BYTES];
    size_t taken;
    bool alive = hf_connection_send(io->connection, bytes, count, &taken);

    hf_etcd_session_written(io->session, taken);
    *all = taken == count;
    if (alive)
        return true;
    (void)snprintf(why, sizeof why, "%s", hf_connection_why(io->connection));
    report_down(io, hf_connection_status(io->connection), why);
    return false;
}

/* Send the session's output, which comes in parts.  Returns false if the
 * session wants another connection now, or none. */
static bool flush(struct hf_etcd_io *io)
{
    bool all = true;
    size_t count = 0;
    const struct hf_etcd_server *server;
    uint64_t number;
    const void *bytes;

    while (io->connection != NULL && all) {
        bytes = hf_etcd_session_output(io->session, &count);
        if (count == 0)
            break;
        if (!send_output(io, bytes, count, &all))
            return false;
    }
    /* While producing output, the session may have given the connection up. */
    server = hf_etcd_session_wanted_server(io->session, &number);
    return io->connection == NULL || (server != NULL && number == io->number);
}

/* Do what the session wants.  The engine loop calls this after anything has
 * changed.  Returns when it must be called again. */
static uint64_t drive(void *arg)
{
    struct hf_etcd_io *io = arg;
    bool done = false;

    for (int i = 0; i < CONNECTIONS_PER_DRIVE && !done; i++) {
        if (io->user.flush != NULL)
            io->user.flush(io->user.arg);
        done = open_wanted_connection(io) && flush(io);
    }
    return done ? hf_etcd_session_wake_at_ms(io->session) : 0;
}

/* The instant that drive() returned has come. */
static void on_due(void *arg)
{
    struct hf_etcd_io *io = arg;

    hf_etcd_session_tick(io->session, now_ms(io));
}

/* ------------------------------------------------------------ connection -- */

/* Callbacks of the connection.  Each calls the session; then
 * hf_engine_loop_leave() calls drive(). */
static void on_up(void *arg)
{
    struct hf_etcd_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_etcd_session_connection_up(io->session, io->number, now_ms(io));
    hf_engine_loop_leave(&io->engine_loop);
}

/* Bytes have arrived. */
static void on_received(void *arg, const void *bytes, size_t count)
{
    struct hf_etcd_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_etcd_session_receive(io->session, io->number, now_ms(io), bytes, count);
    hf_engine_loop_leave(&io->engine_loop);
}

/* The socket has room again: leaving the engine loop calls drive(), which
 * sends. */
static void on_writable(void *arg)
{
    struct hf_etcd_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_engine_loop_leave(&io->engine_loop);
}

/* The connection has ended or could not be made. */
static void on_down(void *arg, hf_status status, const char *why)
{
    struct hf_etcd_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    report_down(io, status, why);
    hf_engine_loop_leave(&io->engine_loop);
}

static const struct hf_connection_callbacks connection_callbacks = {
    .up = on_up,
    .received = on_received,
    .writable = on_writable,
    .down = on_down,
};

/* ----------------------------------------------------- beginning and end -- */

/* All handles are closed: free the rest. */
static void on_closed(void *arg)
{
    struct hf_etcd_io *io = arg;

    if (io->context != NULL)
        io->tls->context_free(io->context);
    io->user.closed(io->user.arg);
}

void hf_etcd_io_init(struct hf_etcd_io *io, const struct hf_engine_host *host,
                     const struct hf_etcd_io_user *user)
{
    const struct hf_engine_loop_ops ops = {drive, on_due, on_closed, io, host};

    *io = (struct hf_etcd_io){.user = *user, .host = host};
    hf_engine_loop_init(&io->engine_loop, &ops);
}

/* Get the loop, and make what needs it. */
static hf_status open_loop(struct hf_etcd_io *io, struct hf_error *error)
{
    const struct hf_resolver_host host = {io->host->host, io->host->log,
                                          io->host->now_ms};
    hf_status status;

    if ((io->loop = io->host->loop(io->host->host)) == NULL)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptors for a loop; raise the limit on "
                            "open files");
    if ((status = hf_engine_loop_open(&io->engine_loop, io->loop, error)) !=
        HF_OK)
        return status;
    if ((io->resolver = hf_resolver_new(io->loop, &host)) == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for looking up names");
    return HF_OK;
}

hf_status hf_etcd_io_open(struct hf_etcd_io *io,
                          const struct hf_etcd_url_config *config,
                          struct hf_error *error)
{
    hf_status status = HF_OK;

    if (config->session.tls)
        status = hf_tls_context_get(io->host, &config->files, "etcd", &io->tls,
                                    &io->context, error);
    return status == HF_OK ? open_loop(io, error) : status;
}

void hf_etcd_io_start(struct hf_etcd_io *io, struct hf_etcd_session *session)
{
    io->session = session;
    hf_engine_loop_start(&io->engine_loop);
}

void hf_etcd_io_run_soon(struct hf_etcd_io *io)
{
    hf_engine_loop_run_soon(&io->engine_loop);
}

void hf_etcd_io_run_now(struct hf_etcd_io *io)
{
    hf_engine_loop_run_now(&io->engine_loop);
}

void hf_etcd_io_close(struct hf_etcd_io *io)
{
    close_connection(io);
    io->session = NULL;
    if (io->resolver != NULL)
        hf_resolver_free(io->resolver);
    hf_engine_loop_close(&io->engine_loop);
}

void hf_etcd_io_after_fork(struct hf_etcd_io *io)
{
    if (io->connection != NULL)
        hf_connection_after_fork(io->connection);
    hf_engine_loop_after_fork(&io->engine_loop);
}
