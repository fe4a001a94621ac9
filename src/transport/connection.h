/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one server, from the lookup of its name to its end.  It
 * passes bytes in both directions, through TLS if configured, and does not
 * know what they mean.
 *
 * It uses a socket of its own in a uv_poll_t and not a uv_tcp_t, because libuv
 * writes without MSG_NOSIGNAL, and a library must neither raise SIGPIPE nor
 * change how the program handles it.
 *
 * Everything here is used with the client's lock held.
 */
#ifndef HF_TRANSPORT_CONNECTION_H
#define HF_TRANSPORT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "transport/resolver.h"
#include "transport/tls.h"

#define HF_CONNECTION_TEXT_BYTES 256

struct hf_connection;

/* Callbacks.  The loop calls them, never hf_connection_open(), _send() or
 * _close().  Each callback may send on the connection and may close it. */
struct hf_connection_callbacks {
    /* The connection is established, including TLS. */
    void (*up)(void *arg);
    /* ${count} bytes have arrived. */
    void (*received)(void *arg, const void *bytes, size_t count);
    /* The socket has room again after hf_connection_send() could not take
     * everything. */
    void (*writable)(void *arg);
    /* The connection could not be made, or has ended, because of ${why}, a text
     * without the server's name.  ${status} is one of:
     *
     *     HF_EUNREACHABLE   a later attempt may succeed
     *     HF_EDENIED        one side refused the other's certificate
     *     HF_EURL           the server is not what the URL says
     *     HF_EPROTOCOL      a TLS handshake ended to which the server had
     *                       answered nothing
     *
     * No callback follows.  The user must still close the connection. */
    void (*down)(void *arg, hf_status status, const char *why);
    void *arg;
};

/* Where to connect, and by what means.  .host is copied; the rest must stay
 * valid while the connection is open. */
struct hf_connection_config {
    uv_loop_t *loop;
    struct hf_resolver *resolver;
    const char *host; /* a host name or an address */
    uint16_t port;
    const char *path; /* not NULL: connect to this unix socket instead of
                         host and port; must fit into sockaddr_un */
    const struct hf_tls_ops *tls; /* NULL: no TLS */
    struct hf_tls_context *context;
    const char *tls_protocol; /* protocol that the server must choose by
                                 ALPN, such as "h2"; NULL: any */
};

/* What an errno means when the server is a socket file.  The status decides
 * whether waiting may mend the error (base/reconnect.h). */
struct hf_connection_cause {
    const char *name; /* name of .failure, for docs/engines.md */
    int failure;      /* errno */
    hf_status status;
    const char *text; /* the text that .down gets */
};

/* Return the entry ${index} of the table of causes; NULL behind the last one.
 */
const struct hf_connection_cause *hf_connection_cause(size_t index);

/* How to close a connection. */
enum hf_connection_close_mode {
    /* Drop unsent bytes and send a reset, because a request that was given up
     * must not arrive later. */
    HF_CONNECTION_ABORT,
    /* Close, and let the system send the bytes that it has taken.  With TLS,
     * encrypted bytes for which the socket had no room are dropped, although
     * hf_connection_send() has taken them. */
    HF_CONNECTION_FINISH,
};

/* Begin to connect.  If that fails at once, return NULL with ${status} and
 * ${why} as .down would get them. */
struct hf_connection *
hf_connection_open(const struct hf_connection_config *config,
                   const struct hf_connection_callbacks *callbacks,
                   hf_status *status, char why[HF_CONNECTION_TEXT_BYTES]);

/* Send as much of ${bytes} as there is room for, and set ${taken} to that
 * number of bytes; it is 0 unless the connection is up.  If the connection is
 * up and not all ${count} bytes were taken, .writable will be called.  Returns
 * false if the connection has failed.  Then .down is not called:
 * hf_connection_status() and hf_connection_why() have the reason, and the
 * caller must close the connection. */
bool hf_connection_send(struct hf_connection *connection, const void *bytes,
                        size_t count, size_t *taken);
hf_status hf_connection_status(const struct hf_connection *connection);
const char *hf_connection_why(const struct hf_connection *connection);

/* Did the server end the connection outside of a TLS handshake, by closing it
 * or by a reset?  Which of the two is seen depends on what is in the buffers,
 * so they are not distinguished. */
bool hf_connection_closed_by_peer(const struct hf_connection *connection);

/* Is the connection in a TLS handshake, or did it end in one, while the server
 * has not answered anything?  Then the port may be one without TLS. */
bool hf_connection_awaits_tls(const struct hf_connection *connection);

/* Close the connection.  No callback is called any more, and the descriptor is
 * closed at once.  The memory is freed when the loop has closed the handles. */
void hf_connection_close(struct hf_connection *connection,
                         enum hf_connection_close_mode end);

/* In the child of a fork: close the descriptor and touch nothing else. */
void hf_connection_after_fork(struct hf_connection *connection);

#endif
