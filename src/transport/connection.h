/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one server, from its name to its end.  What it is for does
 * not matter here: bytes go in and out, through TLS if wanted.
 *
 * A socket of our own in a uv_poll_t rather than a uv_tcp_t: libuv writes
 * without MSG_NOSIGNAL, and a library must neither raise SIGPIPE nor change how
 * a program takes it.
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

/* Who is told, from the loop and never from inside a call of his own.  Each of
 * these may send and close. */
struct hf_connection_callbacks {
    /* The connection is there, TLS and all. */
    void (*up)(void *arg);
    void (*received)(void *arg, const void *bytes, size_t count);
    /* There is room again after hf_connection_send() could not take everything.
     */
    void (*writable)(void *arg);
    /* It could not be made, or has ended, for the reason ${why}: a text for
     * people without the server's name.  ${status}: HF_EUNREACHABLE, trying
     * again may help by itself; HF_EDENIED, a certificate was refused, by us or
     * the server; HF_EURL, there is something else than the URL says;
     * HF_EPROTOCOL, it ended in a TLS handshake of which nothing was answered.
     * Nothing is told after that but nothing else happens either: close it. */
    void (*down)(void *arg, hf_status status, const char *why);
    void *arg;
};

/* Where a link goes.  Everything is borrowed for as long as the link is open,
 * but for .host, which is copied. */
struct hf_connection_config {
    uv_loop_t *loop;
    struct hf_resolver *resolver;
    const char *host; /* a name or an address */
    uint16_t port;
    const char *path; /* not NULL: of a unix socket, instead of both; shorter
                         than sockaddr_un has room for */
    const struct hf_tls_ops *tls; /* NULL: none */
    struct hf_tls_context *context;
};

enum hf_connection_close_mode {
    /* What has not been sent yet is not sent, and the peer is told by a reset:
     * a request that was given up must not arrive later. */
    HF_CONNECTION_ABORT,
    /* What was taken goes out, then the end. */
    HF_CONNECTION_FINISH,
};

/* Begin to connect.  NULL with ${status} and ${why}, as .down has them, if that
 * fails at once. */
struct hf_connection *
hf_connection_open(const struct hf_connection_config *config,
                   const struct hf_connection_callbacks *callbacks,
                   hf_status *status, char why[HF_CONNECTION_TEXT_BYTES]);

/* Send as much of ${bytes} as there is room for and set ${taken} to how much
 * that was; nothing unless the link is up.  If it was not everything,
 * .writable will be told.  False if the link has failed, of which .down is not
 * told: see hf_connection_status() and hf_connection_why(), and close it. */
bool hf_connection_send(struct hf_connection *connection, const void *bytes,
                        size_t count, size_t *taken);
hf_status hf_connection_status(const struct hf_connection *connection);
const char *hf_connection_why(const struct hf_connection *connection);

/* Did the server end it, by closing or by a reset, and not in the middle of a
 * TLS handshake?  Which of them says more of its buffers than of its reasons.
 */
bool hf_connection_closed_by_peer(const struct hf_connection *connection);

/* Is, or was until its end, a TLS handshake under way of which the server has
 * answered nothing?  A port without TLS may be the reason. */
bool hf_connection_awaits_tls(const struct hf_connection *connection);

/* Close it: nothing is told any more, the descriptor is gone at once, and the
 * memory when the loop has closed the handle. */
void hf_connection_close(struct hf_connection *connection,
                         enum hf_connection_close_mode end);

/* In the child of a fork: close the descriptor, touch nothing else. */
void hf_connection_after_fork(struct hf_connection *connection);

#endif
