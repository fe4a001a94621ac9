/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a Redis server: commands out, replies in.
 *
 * The asynchronous connections of hiredis are not used.  Those of hiredis 0.14
 * resolve names with a call that blocks the loop, leave their sockets open
 * across exec, write so that SIGPIPE can be raised, and ignore failures of
 * timers.  So the connection is a link of ours (transport/connection.h), with
 * TLS if wanted, and hiredis only parses the replies.
 */
#ifndef HF_ENGINES_REDIS_REDIS_CONNECTION_H
#define HF_ENGINES_REDIS_REDIS_CONNECTION_H

#include "engines/redis/resp.h"
#include "transport/connection.h"

struct hf_redis_connection;

/* Where a connection reports to. */
struct hf_redis_connection_listener {
    /* The connection is there, after the TLS handshake if there is one. */
    void (*up)(void *arg, struct hf_redis_connection *connection);
    /* ${reply} lives until the callback returns. */
    void (*reply)(void *arg, struct hf_redis_connection *connection,
                  const struct redisReply *reply);
    /* The server sent a TLS record instead of its first reply, on a connection
     * without TLS. */
    void (*got_tls_record)(void *arg, struct hf_redis_connection *connection);
    /* The connection ended; ${status} and ${why} as of a link.  HF_EPROTOCOL
     * also for bytes that are not of Redis. */
    void (*down)(void *arg, struct hf_redis_connection *connection,
                 hf_status status, const char *why);
    /* Called before and after all other callbacks from the loop. */
    void (*enter)(void *arg);
    void (*leave)(void *arg);
    void *arg;
};

/* A connection; only redis_connection.c writes it, except .out. */
struct hf_redis_connection {
    const struct hf_redis_connection_listener *listener;
    struct hf_connection *link; /* NULL: there is no connection */
    /* Commands that were made and not sent yet. */
    struct hf_resp out;
    struct hf_resp_reader in; /* replies, from hf_redis_connection_open() on */
    /* TCP without TLS: a TLS record is passed to got_tls_record() */
    bool expects_plain;
    bool received_any; /* any byte was received; with TLS: through TLS */
    /* serial number of the connection: a callback that sees it change has lost
     * its connection */
    uint64_t number;
};

/* Begin to connect.  False, with ${status} and ${why}, if that fails at
 * once. */
bool hf_redis_connection_open(
    struct hf_redis_connection *connection,
    const struct hf_connection_config *way,
    const struct hf_redis_connection_listener *listener, hf_status *status,
    char why[HF_CONNECTION_TEXT_BYTES]);

/* Close it without callbacks; allowed if there is no connection. */
void hf_redis_connection_close(struct hf_redis_connection *connection,
                               enum hf_connection_close_mode end);

/* Does the connection wait for an answer to its TLS handshake, or is it
 * without TLS and was closed by the server?  If the server sent nothing
 * either, perhaps only one side speaks TLS. */
bool hf_redis_connection_suspects_tls(
    const struct hf_redis_connection *connection);

/* Send what the socket accepts.  False, with ${status} and ${why}, if the
 * connection has failed; down() is not called then. */
bool hf_redis_connection_flush(struct hf_redis_connection *connection,
                               hf_status *status,
                               char why[HF_CONNECTION_TEXT_BYTES]);

/* ------------------------------------------------------------- TLS probe -- */

/* Does a port speak TLS?  A Redis server for TLS closes a connection without
 * TLS silently, as a server that is being stopped does.  A server without TLS
 * does not answer a TLS handshake, as if it were frozen.  So if a server does
 * either, and no link to it was ever up, it is probed once.  The next
 * connection begins without TLS with bytes that are a TLS record for one kind
 * of server and a line for the other.  A server for TLS answers with an alert,
 * one without TLS with "-ERR unknown command".  The bytes hold no secret. */

/* How far the probe for TLS on the server's port is. */
enum hf_redis_tls_probe {
    HF_REDIS_TLS_NOT_PROBED,
    HF_REDIS_TLS_PROBE_NEXT, /* on the next connection */
    HF_REDIS_TLS_PROBING,    /* the probe was sent */
    HF_REDIS_TLS_KNOWN,      /* known by a probe, or without one */
};

/* A header of 5 bytes and a record of 257.  No byte of the length is 0, because
 * for Redis a line ends at the first 0. */
#define HF_REDIS_TLS_PROBE_BYTES 262

extern const char hf_redis_tls_probe[];

/* Are the first ${count} > 0 bytes from the server, received without TLS, those
 * of a TLS record with an alert or a handshake (RFC 8446, 5.1)?  No reply of
 * Redis begins like that, so one byte is enough. */
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
