/* SPDX-License-Identifier: Apache-2.0 */
/* drive() opens the connections that the session wants and sends its output.
 * It is called after each callback of the loop, and once in each iteration in
 * which hf_zk_io_run_soon() was called. */
#include "zookeeper_io/zk_io.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "transport/tls_module.h"

/* How many connections may fail at once in one call of drive(), before the loop
 * runs other callbacks. */
#define CONNECTIONS_PER_DRIVE 8

static uint64_t now_ms(const struct hf_zk_io *io)
{
    return io->host->now_ms(io->host->host);
}

/* ----------------------------------------------------------------- drive -- */

/* Close the connection of ${link} if there is one.  While .ending is set, the
 * connection of the session still sends what it has accepted, such as the close
 * request. */
static void close_link(struct hf_zk_io *io, struct hf_zk_io_link *link)
{
    bool carries_session = link == &io->link;

    if (carries_session && io->sasl != NULL)
        hf_sasl_exchange_end(io->sasl);
    if (link->connection != NULL)
        hf_connection_close(link->connection, carries_session && io->ending
                                                  ? HF_CONNECTION_FINISH
                                                  : HF_CONNECTION_ABORT);
    link->connection = NULL;
}

/* Close the connection and report the end to the session, with ${status} and
 * ${why}.  A connection that the server closed has no reason of its own. */
static void report_down(struct hf_zk_io *io, hf_status status, const char *why)
{
    if (io->link.connection != NULL &&
        hf_connection_closed_by_peer(io->link.connection))
        why = NULL;
    close_link(io, &io->link);
    hf_zk_session_connection_down(io->session, io->link.number, now_ms(io),
                                  status, why);
}

/* Make ${link} the connection ${number} to ${server}, or close it if ${server}
 * is NULL.  Any other connection of ${link} is closed.  False, with ${status}
 * and ${why}, if the connection cannot be begun. */
static bool open_link(struct hf_zk_io *io, struct hf_zk_io_link *link,
                      const struct hf_zk_server *server, uint64_t number,
                      const struct hf_connection_callbacks *template,
                      hf_status *status, char why[HF_CONNECTION_TEXT_BYTES])
{
    struct hf_connection_callbacks callbacks = *template;
    struct hf_connection_config config = {
        .loop = io->loop,
        .resolver = io->resolver,
        .tls = io->tls,
        .context = io->context,
    };

    if (server != NULL && number == link->number)
        return true;
    close_link(io, link);
    if (server == NULL)
        return true;
    config.host = server->host;
    config.port = server->port;
    callbacks.arg = io;
    link->number = number;
    link->connection = hf_connection_open(&config, &callbacks, status, why);
    return link->connection != NULL;
}

static const struct hf_connection_callbacks connection_callbacks;
static const struct hf_connection_callbacks rw_probe_callbacks;

/* Open the connection that the session wants.  False if that failed; the
 * failure was reported to the session. */
static bool open_wanted_connection(struct hf_zk_io *io)
{
    char why[HF_CONNECTION_TEXT_BYTES];
    uint64_t number;
    const struct hf_zk_server *server =
        hf_zk_session_wanted_server(io->session, &number);
    hf_status status;

    if (open_link(io, &io->link, server, number, &connection_callbacks, &status,
                  why))
        return true;
    report_down(io, status, why);
    return false;
}

/* As open_wanted_connection(), for the connection on which a server is
 * asked. */
static bool open_rw_probe_connection(struct hf_zk_io *io)
{
    char why[HF_CONNECTION_TEXT_BYTES];
    uint64_t number;
    const struct hf_zk_server *server =
        hf_zk_session_rw_probe_server(io->session, &number);
    hf_status status;

    if (open_link(io, &io->rw_probe, server, number, &rw_probe_callbacks,
                  &status, why))
        return true;
    hf_zk_session_rw_probe_down(io->session, number, now_ms(io));
    return false;
}

/* Send the session's output.  False if the connection failed; the failure was
 * reported to the session. */
static bool flush(struct hf_zk_io *io)
{
    struct hf_connection *connection = io->link.connection;
    size_t count = 0;
    const void *bytes = hf_zk_session_output(io->session, &count);
    char why[HF_CONNECTION_TEXT_BYTES];
    size_t taken;

    if (connection == NULL || count == 0)
        return true;
    if (hf_connection_send(connection, bytes, count, &taken)) {
        hf_zk_session_written(io->session, taken);
        return true;
    }
    hf_zk_session_written(io->session, taken);
    (void)snprintf(why, sizeof(why), "%s", hf_connection_why(connection));
    report_down(io, hf_connection_status(connection), why);
    return false;
}

/* ------------------------------------------------------------------ SASL -- */

/* Split "user:password" of the configuration into what the mechanism needs, and
 * begin an exchange with the current server.  False for lack of memory. */
static bool begin_exchange(struct hf_zk_io *io)
{
    /* this name stands for every server, see ZooKeeperServer.java */
    static const char digest_host[] = "zk-sasl-md5";
    const struct hf_zk_session_config *config = io->session->config;
    bool digest = config->sasl.mechanism == HF_ZK_SASL_DIGEST_MD5;
    struct hf_sasl_settings settings = {
        .mechanism = hf_zk_sasl_choices[config->sasl.mechanism - 1],
        .service = config->sasl.service,
        .host = config->sasl.host,
        .user = "",
        .password = "",
    };
    char user[HF_ZK_AUTH_BYTES] = "";
    size_t bytes = strcspn(config->auth, ":");
    bool begun;

    if (settings.host[0] == '\0')
        settings.host =
            digest ? digest_host : config->servers[io->session->server].host;
    if (digest) {
        memcpy(user, config->auth, bytes);
        settings.user = user;
        settings.password = config->auth + bytes + 1;
    }
    begun = hf_sasl_exchange_begin(io->sasl, &settings);
    explicit_bzero(user, sizeof user);
    return begun;
}

/* If a step of SASL is due, begin it.  False if that failed; the failure was
 * reported to the session. */
static bool step_sasl(struct hf_zk_io *io)
{
    struct hf_zk_sasl_result failed = {.status = HF_ENOMEM,
                                       .why = "out of memory"};
    struct hf_zk_sasl_step step;

    if (io->sasl == NULL)
        return true;
    if (io->session->sasl.state == HF_ZK_SASL_OFF)
        hf_sasl_exchange_end(io->sasl);
    if (!hf_zk_session_sasl_step(io->session, &step))
        return true;
    if (!step.first || begin_exchange(io))
        failed.status = hf_sasl_exchange_step(io->sasl, step.token, step.count);
    if (failed.status == HF_OK)
        return true;
    if (failed.status == HF_ELIMIT) {
        failed.status = HF_EUNREACHABLE;
        failed.why = "no thread for it; other steps may still wait";
    }
    hf_zk_session_sasl_stepped(io->session, io->link.number, now_ms(io),
                               &failed);
    return false;
}

/* A step of the exchange of the current connection has ended: report its
 * outcome to the session. */
static void on_stepped(void *arg, const struct hf_sasl_outcome *outcome)
{
    struct hf_zk_io *io = arg;
    const struct hf_zk_sasl_result result = {outcome->status, outcome->why,
                                             outcome->bytes, outcome->count,
                                             outcome->done};

    hf_engine_loop_enter(&io->engine_loop);
    hf_zk_session_sasl_stepped(io->session, io->link.number, now_ms(io),
                               &result);
    hf_engine_loop_leave(&io->engine_loop);
}

/* If ${config} uses SASL, load the module for it and prepare for exchanges. */
static hf_status open_sasl(struct hf_zk_io *io,
                           const struct hf_zk_sasl_config *config,
                           struct hf_error *error)
{
    const struct hf_sasl_ops *ops;
    hf_status status;

    if (config->mechanism == HF_ZK_SASL_NONE)
        return HF_OK;
    if (io->host->sasl == NULL)
        return hf_error_set(error, HF_EUNSUPPORTED,
                            "there is no SASL where this engine is used; "
                            "expected a URL without sasl=");
    status = io->host->sasl(io->host->host, &ops, error);
    if (status == HF_OK)
        status = ops->check(hf_zk_sasl_choices[config->mechanism - 1], error);
    if (status != HF_OK)
        return status;
    io->sasl = hf_sasl_exchanges_new(io->loop, ops, on_stepped, io);
    if (io->sasl == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for SASL");
    return HF_OK;
}

/* ----------------------------------------------------------------- drive -- */

/* Called by the engine loop after anything has changed.  Returns when it wants
 * to be called again. */
static uint64_t drive(void *arg)
{
    struct hf_zk_io *io = arg;
    bool done = false;

    for (int i = 0; i < CONNECTIONS_PER_DRIVE && !done; i++)
        done = open_wanted_connection(io) && open_rw_probe_connection(io) &&
               step_sasl(io) && flush(io);
    return done ? hf_zk_session_wake_at_ms(io->session) : 0;
}

/* The time that drive() returned has come. */
static void on_due(void *arg)
{
    struct hf_zk_io *io = arg;

    hf_zk_session_tick(io->session, now_ms(io));
}

/* ------------------------------------------------------------ connection -- */

/* Callbacks of the connection.  Each calls a function of the session;
 * hf_engine_loop_leave() then calls drive(). */
static void on_up(void *arg)
{
    struct hf_zk_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_zk_session_connection_up(io->session, io->link.number, now_ms(io));
    hf_engine_loop_leave(&io->engine_loop);
}

/* Bytes have arrived. */
static void on_received(void *arg, const void *bytes, size_t count)
{
    struct hf_zk_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_zk_session_receive(io->session, io->link.number, now_ms(io), bytes,
                          count);
    hf_engine_loop_leave(&io->engine_loop);
}

/* The socket has room again; entering and leaving the loop calls drive(),
 * which sends. */
static void on_writable(void *arg)
{
    struct hf_zk_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_engine_loop_leave(&io->engine_loop);
}

/* The connection has ended or could not be made. */
static void on_down(void *arg, hf_status status, const char *why)
{
    struct hf_zk_io *io = arg;

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

/* ------------------------------------------------- asking another server -- */

static void rw_probe_down(struct hf_zk_io *io)
{
    close_link(io, &io->rw_probe);
    hf_zk_session_rw_probe_down(io->session, io->rw_probe.number, now_ms(io));
}

/* Send the command.  It is short, so a new connection has room for all of
 * it. */
static void on_rw_probe_up(void *arg)
{
    struct hf_zk_io *io = arg;
    size_t count = strlen(HF_ZK_RW_PROBE_COMMAND);
    size_t taken;

    hf_engine_loop_enter(&io->engine_loop);
    if (!hf_connection_send(io->rw_probe.connection, HF_ZK_RW_PROBE_COMMAND,
                            count, &taken) ||
        taken < count)
        rw_probe_down(io);
    hf_engine_loop_leave(&io->engine_loop);
}

static void on_rw_probe_received(void *arg, const void *bytes, size_t count)
{
    struct hf_zk_io *io = arg;

    hf_engine_loop_enter(&io->engine_loop);
    hf_zk_session_rw_probe_received(io->session, io->rw_probe.number,
                                    now_ms(io), bytes, count);
    hf_engine_loop_leave(&io->engine_loop);
}

static void on_rw_probe_down(void *arg, hf_status status, const char *why)
{
    struct hf_zk_io *io = arg;

    (void)status;
    (void)why;
    hf_engine_loop_enter(&io->engine_loop);
    rw_probe_down(io);
    hf_engine_loop_leave(&io->engine_loop);
}

static const struct hf_connection_callbacks rw_probe_callbacks = {
    .up = on_rw_probe_up,
    .received = on_rw_probe_received,
    .writable = on_writable,
    .down = on_rw_probe_down,
};

/* ----------------------------------------------------- beginning and end -- */

/* All handles are closed: free what is left. */
static void on_closed(void *arg)
{
    struct hf_zk_io *io = arg;

    if (io->context != NULL)
        io->tls->context_free(io->context);
    io->user.closed(io->user.arg);
}

void hf_zk_io_init(struct hf_zk_io *io, const struct hf_engine_host *host,
                   const struct hf_zk_io_user *user)
{
    const struct hf_engine_loop_ops ops = {drive, on_due, on_closed, io, host};

    *io = (struct hf_zk_io){.user = *user, .host = host};
    hf_engine_loop_init(&io->engine_loop, &ops);
}

/* Create what needs the loop. */
static hf_status open_loop(struct hf_zk_io *io, struct hf_error *error)
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

hf_status hf_zk_io_open(struct hf_zk_io *io,
                        const struct hf_zk_url_config *config,
                        struct hf_error *error)
{
    hf_status status = HF_OK;

    if (config->session.tls)
        status = hf_tls_context_get(io->host, &config->files, "zk", &io->tls,
                                    &io->context, error);
    if (status == HF_OK)
        status = open_loop(io, error);
    return status == HF_OK ? open_sasl(io, &config->session.sasl, error)
                           : status;
}

void hf_zk_io_start(struct hf_zk_io *io, struct hf_zk_session *session)
{
    io->session = session;
    hf_engine_loop_start(&io->engine_loop);
}

void hf_zk_io_run_soon(struct hf_zk_io *io)
{
    hf_engine_loop_run_soon(&io->engine_loop);
}

void hf_zk_io_run_now(struct hf_zk_io *io)
{
    hf_engine_loop_run_now(&io->engine_loop);
}

void hf_zk_io_close(struct hf_zk_io *io)
{
    close_link(io, &io->link);
    close_link(io, &io->rw_probe);
    io->session = NULL;
    if (io->sasl != NULL)
        hf_sasl_exchanges_free(io->sasl);
    io->sasl = NULL;
    if (io->resolver != NULL)
        hf_resolver_free(io->resolver);
    hf_engine_loop_close(&io->engine_loop);
}

void hf_zk_io_after_fork(struct hf_zk_io *io)
{
    if (io->link.connection != NULL)
        hf_connection_after_fork(io->link.connection);
    if (io->rw_probe.connection != NULL)
        hf_connection_after_fork(io->rw_probe.connection);
    hf_engine_loop_after_fork(&io->engine_loop);
}
