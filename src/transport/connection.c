/* SPDX-License-Identifier: Apache-2.0 */
/* The phases are RESOLVING, CONNECTING, HANDSHAKING (TLS only), UP and ENDED.
 * The user may close the connection in any callback, so every loop looks at
 * .phase after a callback.  Memory is freed when libuv has closed the handles.
 */
#include "transport/connection.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "transport/socket.h"
#include "transport/tls_stream.h"

#define READ_BYTES 65536

/* How often one loop iteration reads at most, so that other handles are served,
 * too. */
#define READS_MAX 8

#define HANDSHAKE_CLOSED                                                       \
    "closed by the server during the TLS handshake; expected its port for "    \
    "TLS, or a URL without TLS"

/* The phases, in their order.  A phase may be skipped. */
enum hf_connection_phase {
    HF_CONNECTION_RESOLVING,
    HF_CONNECTION_CONNECTING,
    HF_CONNECTION_HANDSHAKING, /* with TLS only */
    HF_CONNECTION_UP,
    HF_CONNECTION_ENDED, /* no callback is called any more */
};

/* A connection. */
struct hf_connection {
    struct hf_connection_config config; /* .host points to .host below */
    char host[HF_HOST_BYTES];
    struct hf_connection_callbacks callbacks;
    enum hf_connection_phase phase;
    struct hf_resolver_request resolver_request; /* active while RESOLVING */
    int fd;                                      /* -1: none */
    uv_poll_t poll;
    uv_idle_t wake;      /* see poll_for() */
    unsigned handles;    /* how many of .poll and .wake are open; the memory
                            is freed with the last one */
    int events;          /* the events that are polled for */
    bool blocked;        /* the socket has no room; sending waits until it is
                            writable */
    bool closed_by_peer; /* see hf_connection_closed_by_peer() */
    bool in_handshake;   /* the TLS handshake has begun and not ended */
    bool received_any;   /* with TLS: the server has sent something */
    struct hf_tls_stream *tls_stream; /* NULL: no TLS */
    hf_status status;                 /* the status that belongs to .why */
    char why[HF_CONNECTION_TEXT_BYTES];
    char bytes[READ_BYTES]; /* the last read */
};

/* ------------------------------------------------------------------- end -- */

/* Remember why the connection ends. */
static void set_why(struct hf_connection *connection, hf_status status,
                    const char *text)
{
    connection->status = status;
    (void)snprintf(connection->why, sizeof(connection->why), "%s", text);
}

/* Copy status and text from the TLS module to .status and .why. */
static void set_tls_why(struct hf_connection *connection)
{
    connection->status =
        connection->config.tls->status(connection->tls_stream->tls);
    (void)snprintf(connection->why, sizeof(connection->why), "TLS: %s",
                   connection->config.tls->why(connection->tls_stream->tls));
}

/* Set .why for a connection that was closed during the TLS handshake.  A server
 * without TLS closes it then, and so does a load balancer that has no server.
 */
static void set_why_of_handshake(struct hf_connection *connection)
{
    set_why(connection,
            connection->received_any ? HF_EUNREACHABLE : HF_EPROTOCOL,
            HANDSHAKE_CLOSED);
}

/* What errors of the system mean for a socket file.  A missing file is no
 * mistake in the URL: a server that stops removes the file, and systemd removes
 * its directory, and both are there again when the server starts.  Missing
 * rights may come later, too, because the server makes the file before it sets
 * its rights.  Every error that is not in this table may pass, and so may every
 * error of an address; they are reported in the words of the system. */
static const struct hf_connection_cause socket_file_causes[] = {
    {"ENOENT", ENOENT, HF_EUNREACHABLE,
     "there is no such socket file; expected the path of the server's, which "
     "makes the file when it starts; see its configuration"},
    {"ENOTDIR", ENOTDIR, HF_EURL,
     "a part of the path to the socket file is not a directory; expected the "
     "path of the server's; see its configuration"},
    {"ENAMETOOLONG", ENAMETOOLONG, HF_EURL,
     "the path to the socket file is too long; expected the path of the "
     "server's; see its configuration"},
    {"ELOOP", ELOOP, HF_EURL,
     "the path to the socket file is a loop of symbolic links; expected the "
     "path of the server's; see its configuration"},
    {"EPROTOTYPE", EPROTOTYPE, HF_EURL,
     "the socket file is not of a stream socket; expected the path of the "
     "server's; see its configuration"},
    {"EACCES", EACCES, HF_EUNREACHABLE,
     "the socket file may not be used: permission denied; expected "
     "write permission on it, and search permission on its path"},
};

const struct hf_connection_cause *hf_connection_cause(size_t index)
{
    return index < sizeof(socket_file_causes) / sizeof(socket_file_causes[0])
               ? &socket_file_causes[index]
               : NULL;
}

/* Set .why for an error of the system. */
static void set_why_of_system(struct hf_connection *connection, int failure)
{
    const struct hf_connection_cause *cause;

    for (size_t i = 0; connection->config.path != NULL &&
                       (cause = hf_connection_cause(i)) != NULL;
         i++) {
        if (cause->failure == failure) {
            set_why(connection, cause->status, cause->text);
            return;
        }
    }
    set_why(connection, HF_EUNREACHABLE, uv_strerror(-failure));
}

/* Set .why for a socket that failed with ${failure}, and set .closed_by_peer.
 * A refused connection does not count as closed by the server, because no
 * server listens at that port. */
static void set_why_of_break(struct hf_connection *connection, int failure)
{
    bool by_server = failure == ECONNRESET || failure == EPIPE;
    bool in_handshake =
        connection->tls_stream != NULL && connection->phase != HF_CONNECTION_UP;

    connection->closed_by_peer = by_server && !in_handshake;
    if (by_server && in_handshake)
        set_why_of_handshake(connection);
    else
        set_why_of_system(connection, failure);
}

/* Stop polling, and call no callback any more.  If the connection was not up
 * yet, the resolver uses another address of the host next time. */
static void end(struct hf_connection *connection)
{
    if (connection->config.path == NULL &&
        (connection->phase == HF_CONNECTION_CONNECTING ||
         connection->phase == HF_CONNECTION_HANDSHAKING))
        hf_resolver_address_failed(connection->config.resolver,
                                   connection->host);
    connection->phase = HF_CONNECTION_ENDED;
    if (connection->handles > 0)
        (void)uv_poll_stop(&connection->poll);
}

/* End the connection and call .down with .why.  The callback may close the
 * connection, which frees it unless it has handles.  So after this function the
 * caller may use only .phase, and only if there were handles. */
static void fail(struct hf_connection *connection)
{
    char why[HF_CONNECTION_TEXT_BYTES];

    assert(connection->phase != HF_CONNECTION_ENDED);
    memcpy(why, connection->why, sizeof(why));
    end(connection);
    connection->callbacks.down(connection->callbacks.arg, connection->status,
                               why);
}

static void fail_with(struct hf_connection *connection, const char *text)
{
    set_why(connection, HF_EUNREACHABLE, text);
    fail(connection);
}

static void fail_tls(struct hf_connection *connection)
{
    set_tls_why(connection);
    fail(connection);
}

/* End the connection because of the system error ${failure}. */
static void fail_errno(struct hf_connection *connection, int failure)
{
    set_why_of_break(connection, failure);
    fail(connection);
}

/* ------------------------------------------------------------------ poll -- */

static void on_poll(uv_poll_t *poll, int status, int events);

/* Do nothing but stop the idle handle: its only purpose was that the loop
 * iterates. */
static void on_wake(uv_idle_t *wake)
{
    (void)uv_idle_stop(wake);
}

/* Poll for the events that are needed now.  libuv registers them with the
 * kernel only in the next iteration of the loop.  The idle handle keeps the
 * loop from blocking before that. */
static void poll_for(struct hf_connection *connection)
{
    int events = connection->phase == HF_CONNECTION_CONNECTING ? UV_WRITABLE
                                                               : UV_READABLE;
    int rc;

    if (connection->phase == HF_CONNECTION_ENDED)
        return;
    if (connection->blocked)
        events |= UV_WRITABLE;
    if (events == connection->events)
        return;
    rc = uv_poll_start(&connection->poll, events, on_poll);
    assert(rc == 0);
    connection->events = events;
    (void)uv_idle_start(&connection->wake, on_wake);
}

/* ------------------------------------------------------------------ send -- */

/* Send the ciphertext that is ready.  Returns false if the socket failed. */
static bool flush(struct hf_connection *connection)
{
    bool alive = hf_tls_stream_flush(connection->tls_stream, connection->fd);

    if (!alive)
        set_why_of_break(connection, errno);
    connection->blocked =
        alive && hf_tls_stream_blocked(connection->tls_stream);
    return alive;
}

/* Encrypt and send.  Returns false if the socket or TLS failed. */
static bool send_tls(struct hf_connection *connection, const void *bytes,
                     size_t count, size_t *taken)
{
    enum hf_tls_result answer = hf_tls_stream_send(
        connection->tls_stream, connection->fd, bytes, count, taken);

    if (answer == HF_TLS_MORE)
        set_why_of_break(connection, errno);
    else if (answer == HF_TLS_FAILED)
        set_tls_why(connection);
    return answer == HF_TLS_DONE;
}

/* A failure is reported by the return value and not by .down, because the
 * caller is in the middle of its own work. */
bool hf_connection_send(struct hf_connection *connection, const void *bytes,
                        size_t count, size_t *taken)
{
    bool alive;

    *taken = 0;
    if (connection->phase != HF_CONNECTION_UP || connection->blocked ||
        count == 0)
        return true;
    if (connection->tls_stream != NULL) {
        alive = send_tls(connection, bytes, count, taken);
    } else {
        alive = hf_socket_send(connection->fd, bytes, count, taken);
        if (!alive)
            set_why_of_break(connection, errno);
    }
    if (!alive) {
        end(connection);
        return false;
    }
    connection->blocked =
        *taken < count || (connection->tls_stream != NULL &&
                           hf_tls_stream_blocked(connection->tls_stream));
    poll_for(connection);
    return true;
}

hf_status hf_connection_status(const struct hf_connection *connection)
{
    return connection->status;
}

const char *hf_connection_why(const struct hf_connection *connection)
{
    return connection->why;
}

bool hf_connection_closed_by_peer(const struct hf_connection *connection)
{
    return connection->closed_by_peer;
}

bool hf_connection_awaits_tls(const struct hf_connection *connection)
{
    return connection->in_handshake && !connection->received_any;
}

/* The socket has room again. */
static void on_socket_writable(struct hf_connection *connection)
{
    connection->blocked = false;
    if (connection->tls_stream != NULL && !flush(connection)) {
        fail(connection);
        return;
    }
    if (!connection->blocked && connection->phase == HF_CONNECTION_UP)
        connection->callbacks.writable(connection->callbacks.arg);
}

/* --------------------------------------------------------------- receive -- */

/* The server has closed its side. */
static void on_end_of_stream(struct hf_connection *connection)
{
    connection->closed_by_peer = connection->phase == HF_CONNECTION_UP;
    if (connection->closed_by_peer)
        set_why(connection, HF_EUNREACHABLE, "closed by the server");
    else
        set_why_of_handshake(connection);
    fail(connection);
}

/* The connection is up. */
static void set_up(struct hf_connection *connection)
{
    connection->phase = HF_CONNECTION_UP;
    connection->in_handshake = false;
    connection->callbacks.up(connection->callbacks.arg);
}

/* Pass on what TLS has decrypted.  Then send what TLS has to send, or end the
 * connection if TLS was closed or failed. */
static void read_tls(struct hf_connection *connection)
{
    struct hf_tls_stream *tls_stream = connection->tls_stream;
    enum hf_tls_result answer = HF_TLS_DONE;
    size_t count = 0;

    while (connection->phase == HF_CONNECTION_UP && answer == HF_TLS_DONE) {
        answer = connection->config.tls->read(tls_stream->tls, tls_stream->in,
                                              sizeof(tls_stream->in), &count);
        if (answer == HF_TLS_DONE)
            connection->callbacks.received(connection->callbacks.arg,
                                           tls_stream->in, count);
    }
    if (connection->phase != HF_CONNECTION_UP)
        return;
    if (answer == HF_TLS_CLOSED)
        on_end_of_stream(connection);
    else if (answer == HF_TLS_FAILED)
        fail_tls(connection);
    else if (!connection->blocked &&
             !flush(connection)) /* if blocked, on_socket_writable() flushes */
        fail(connection);
}

/* Go on with the TLS handshake after bytes have arrived. */
static void continue_handshake(struct hf_connection *connection)
{
    enum hf_tls_result answer =
        connection->config.tls->handshake(connection->tls_stream->tls);
    bool alive = flush(connection); /* also sends the alert by which TLS
                                       reports a failure to the peer */

    if (answer == HF_TLS_FAILED)
        fail_tls(connection);
    else if (!alive)
        fail(connection);
    else if (answer == HF_TLS_DONE)
        set_up(connection);
}

/* Give ${count} received bytes to TLS. */
static void receive_tls(struct hf_connection *connection, size_t count)
{
    connection->received_any = true;
    if (connection->config.tls->push(connection->tls_stream->tls,
                                     connection->bytes, count) != HF_TLS_DONE) {
        fail_tls(connection);
        return;
    }
    if (connection->phase == HF_CONNECTION_HANDSHAKING)
        continue_handshake(connection);
    if (connection->phase == HF_CONNECTION_UP)
        read_tls(connection);
}

/* Read from the socket until it is empty, but READS_MAX times at most. */
static void receive(struct hf_connection *connection)
{
    ssize_t count = READ_BYTES;

    for (int i = 0; i < READS_MAX && count == READ_BYTES &&
                    connection->phase != HF_CONNECTION_ENDED;
         i++) {
        count = recv(connection->fd, connection->bytes, READ_BYTES, 0);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            fail_errno(connection, errno);
        else if (count == 0)
            on_end_of_stream(connection);
        else if (count > 0 && connection->tls_stream != NULL)
            receive_tls(connection, (size_t)count);
        else if (count > 0)
            connection->callbacks.received(connection->callbacks.arg,
                                           connection->bytes, (size_t)count);
    }
}

/* --------------------------------------------------------------- connect -- */

/* The socket is connected, or could not be. */
static void on_connected(struct hf_connection *connection)
{
    int failure = hf_socket_connected(connection->fd);

    if (failure != 0) {
        fail_errno(connection, failure);
    } else if (connection->tls_stream != NULL) {
        connection->phase = HF_CONNECTION_HANDSHAKING;
        connection->in_handshake = true;
        continue_handshake(connection);
    } else {
        set_up(connection);
    }
}

/* End the connection: libuv has reported an error of the socket that reading
 * did not show. */
static void on_error(struct hf_connection *connection)
{
    int failure = hf_socket_connected(connection->fd);

    if (failure != 0)
        fail_errno(connection, failure);
    else
        fail_with(connection, "the connection broke");
}

/* libuv's callback for the socket. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct hf_connection *connection = poll->data;

    if (connection->phase == HF_CONNECTION_CONNECTING) {
        on_connected(connection);
    } else {
        if ((events & UV_WRITABLE) != 0)
            on_socket_writable(connection);
        if (connection->phase != HF_CONNECTION_ENDED)
            receive(connection);
        /* On an error libuv has stopped polling, so the connection must end. */
        if (status != 0 && connection->phase != HF_CONNECTION_ENDED)
            on_error(connection);
    }
    poll_for(connection);
}

/* Create the socket and begin to connect.  ${address} is NULL for a unix
 * socket.  On failure returns false and sets .status and .why. */
static bool connect_to(struct hf_connection *connection,
                       const union hf_address *address)
{
    int failure;

    connection->phase = HF_CONNECTION_CONNECTING;
    connection->fd = address == NULL
                         ? hf_socket_connect_unix(connection->config.path)
                         : hf_socket_connect(address, connection->config.port);
    if (connection->fd < 0) {
        set_why_of_system(connection, errno);
        return false;
    }
    failure = uv_poll_init(connection->config.loop, &connection->poll,
                           connection->fd);
    if (failure != 0) {
        set_why(connection, HF_EUNREACHABLE, uv_strerror(failure));
        return false;
    }
    (void)uv_idle_init(connection->config.loop, &connection->wake);
    connection->handles = 2;
    connection->poll.data = connection;
    connection->wake.data = connection;
    poll_for(connection);
    return true;
}

/* The resolver's callback: connect to the address, or fail. */
static void on_resolved(void *arg, const union hf_address *address,
                        const char *why)
{
    struct hf_connection *connection = arg;

    if (address == NULL)
        fail_with(connection, why);
    else if (!connect_to(connection, address))
        fail(connection);
}

/* ------------------------------------------------------------- interface -- */

/* Look the name up, or connect at once if the address is known.  On failure
 * returns false and sets .status and .why. */
static bool begin(struct hf_connection *connection)
{
    char no_address[HF_RESOLVER_TEXT_BYTES];
    enum hf_resolver_result answer;
    union hf_address address;

    if (connection->config.path != NULL)
        return connect_to(connection, NULL);
    answer =
        hf_resolver_find(connection->config.resolver, connection->host,
                         &connection->resolver_request, &address, no_address);
    if (answer == HF_RESOLVER_FOUND)
        return connect_to(connection, &address);
    if (answer == HF_RESOLVER_FAILED)
        set_why(connection, HF_EUNREACHABLE, no_address);
    return answer == HF_RESOLVER_PENDING;
}

/* Allocate a connection and its TLS stream.  Returns NULL for lack of memory.
 */
static struct hf_connection *
make(const struct hf_connection_config *config,
     const struct hf_connection_callbacks *callbacks)
{
    struct hf_connection *connection = hf_alloc(sizeof(*connection));

    if (connection == NULL)
        return NULL;
    connection->config = *config;
    connection->callbacks = *callbacks;
    connection->fd = -1;
    (void)snprintf(connection->host, sizeof(connection->host), "%s",
                   config->host);
    connection->config.host = connection->host;
    connection->resolver_request =
        (struct hf_resolver_request){.fn = on_resolved, .arg = connection};
    if (config->tls == NULL)
        return connection;
    connection->tls_stream = hf_tls_stream_new(
        config->tls, config->context, config->host, config->tls_protocol);
    if (connection->tls_stream != NULL)
        return connection;
    hf_free(connection);
    return NULL;
}

struct hf_connection *
hf_connection_open(const struct hf_connection_config *config,
                   const struct hf_connection_callbacks *callbacks,
                   hf_status *status, char why[HF_CONNECTION_TEXT_BYTES])
{
    struct hf_connection *connection = make(config, callbacks);

    if (connection == NULL) {
        *status = HF_EUNREACHABLE;
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "out of memory");
        return NULL;
    }
    if (begin(connection))
        return connection;
    *status = connection->status;
    memcpy(why, connection->why, sizeof(connection->why));
    hf_connection_close(connection, HF_CONNECTION_ABORT);
    return NULL;
}

/* A handle is closed; free the memory with the last one. */
static void on_closed(uv_handle_t *handle)
{
    struct hf_connection *connection = handle->data;

    if (--connection->handles == 0)
        hf_free(connection);
}

/* The handles are closed before the descriptor, because libuv must not poll a
 * closed descriptor. */
void hf_connection_close(struct hf_connection *connection,
                         enum hf_connection_close_mode how)
{
    end(connection);
    hf_resolver_cancel(&connection->resolver_request);
    hf_tls_stream_free(connection->tls_stream);
    connection->tls_stream = NULL;
    if (connection->handles > 0) {
        uv_close((uv_handle_t *)&connection->poll, on_closed);
        uv_close((uv_handle_t *)&connection->wake, on_closed);
    }
    if (connection->fd >= 0 && how == HF_CONNECTION_ABORT)
        hf_socket_abort(connection->fd);
    else if (connection->fd >= 0)
        (void)close(connection->fd);
    connection->fd = -1;
    if (connection->handles == 0)
        hf_free(connection);
}

void hf_connection_after_fork(struct hf_connection *connection)
{
    if (connection->fd >= 0)
        (void)close(connection->fd);
}
