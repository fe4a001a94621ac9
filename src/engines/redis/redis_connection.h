/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a Redis server: sends commands and receives replies.
 *
 * The asynchronous connections of hiredis are not used, because hiredis 0.14
 * resolves names with a call that blocks the loop, leaves its sockets open
 * across exec, writes so that SIGPIPE can be raised, and ignores failures of
 * timers.  So this file uses a connection of ours (transport/connection.h),
 * with TLS if wanted, and hiredis only parses the replies.
 */
#ifndef HF_ENGINES_REDIS_REDIS_CONNECTION_H
#define HF_ENGINES_REDIS_REDIS_CONNECTION_H

#include "engines/redis/resp.h"
#include "transport/connection.h"

struct hf_redis_connection;

/* The callbacks of a connection. */
struct hf_redis_connection_listener {
    /* The connection is established; with TLS, after the TLS handshake. */
    void (*up)(void *arg, struct hf_redis_connection *connection);
    /* A reply was received.  It is freed when the callback returns. */
    void (*reply)(void *arg, struct hf_redis_connection *connection,
                  const struct redisReply *reply);
    /* The server sent a TLS record instead of its first reply, on a connection
     * without TLS. */
    void (*got_tls_record)(void *arg, struct hf_redis_connection *connection);
    /* The connection has ended.  ${status} and ${why} are those of
     * transport/connection.h; HF_EPROTOCOL also means that the server sent
     * bytes that are no Redis protocol. */
    void (*down)(void *arg, struct hf_redis_connection *connection,
                 hf_status status, const char *why);
    /* enter() is called before, and leave() after, all other callbacks that the
     * loop causes. */
    void (*enter)(void *arg);
    void (*leave)(void *arg);
    void *arg;
};

/* A connection.  Only redis_connection.c writes it, except .out, to which the
 * user appends commands. */
struct hf_redis_connection {
    const struct hf_redis_connection_listener *listener;
    struct hf_connection *link; /* NULL: there is no connection */
    /* Commands that were appended and are not sent yet. */
    struct hf_resp out;
    struct hf_resp_reader in; /* replies, from hf_redis_connection_open() on */
    /* TCP without TLS: a TLS record is passed to got_tls_record() */
    bool expects_plain;
    /* at least one byte was received; with TLS, one byte of decrypted data */
    bool received_any;
    /* Incremented when the connection is closed.  A function that calls a
     * callback compares it before and after, to see whether the callback closed
     * the connection. */
    uint64_t number;
};

/* Begin to connect.  If that fails at once, returns false and sets ${status}
 * and ${why}. */
bool hf_redis_connection_open(
    struct hf_redis_connection *connection,
    const struct hf_connection_config *way,
    const struct hf_redis_connection_listener *listener, hf_status *status,
    char why[HF_CONNECTION_TEXT_BYTES]);

/* Close the connection without callbacks.  Does nothing if there is none. */
void hf_redis_connection_close(struct hf_redis_connection *connection,
                               enum hf_connection_close_mode end);

/* Returns whether the server may expect TLS where we use none, or the reverse:
 * either our TLS handshake is not answered yet, or the server has closed a
 * connection without TLS.  The caller also checks that nothing was received. */
bool hf_redis_connection_suspects_tls(
    const struct hf_redis_connection *connection);

/* Send as much of .out as the socket accepts.  If the connection has failed,
 * returns false, sets ${status} and ${why}, and does not call down(). */
bool hf_redis_connection_flush(struct hf_redis_connection *connection,
                               hf_status *status,
                               char why[HF_CONNECTION_TEXT_BYTES]);

/* ------------------------------------------------------------- TLS probe -- */

/* If only one side speaks TLS, neither notices: a server that expects TLS
 * closes a connection without TLS silently, just as a server that is being
 * stopped does.  A server without TLS does not answer a TLS handshake, just as
 * a frozen server does not.  So if either happens, and no link to this server
 * was ever up, the next connection sends a probe.  It goes out without TLS.  A
 * server that expects TLS reads its bytes as a TLS record and answers with a
 * TLS alert.  A server without TLS reads them as a line and answers "-ERR
 * unknown command".  The bytes hold no secret. */

/* What is known about TLS on the server's port. */
enum hf_redis_tls_probe {
    HF_REDIS_TLS_NOT_PROBED,
    HF_REDIS_TLS_PROBE_NEXT, /* the next connection sends the probe */
    HF_REDIS_TLS_PROBING,    /* the probe was sent */
    HF_REDIS_TLS_KNOWN,      /* a probe was answered, or a link was up */
};

/* The size of the probe: a header of 5 bytes and a record of 257 bytes.  The
 * record has this length because then neither byte of the length field is 0,
 * and for Redis a line ends at the first 0. */
#define HF_REDIS_TLS_PROBE_BYTES 262

extern const char hf_redis_tls_probe[];

/* Returns whether the first ${count} > 0 bytes that the server sent without TLS
 * begin a TLS record of type alert or handshake (RFC 8446, 5.1).  No reply of
 * Redis begins with such a byte, so ${count} may be 1. */
bool hf_redis_is_tls_record(const void *bytes, size_t count);

#define HF_REDIS_SPEAKS_TLS                                                    \
    "the server speaks TLS on this port; expected rediss: for it, or its "     \
    "port "                                                                    \
    "without TLS"
#define HF_REDIS_SPEAKS_NO_TLS                                                 \
    "the server does not speak TLS on this port; expected redis: for it, or "  \
    "its port for TLS"
#define HF_REDIS_CLOSED_SILENTLY                                               \
    "closed by the server before its first answer; its port may be one for "   \
    "TLS (rediss:)"
#define HF_REDIS_TLS_ANSWER                                                    \
    "answer to the TLS handshake, as by a port without TLS,"

#endif
