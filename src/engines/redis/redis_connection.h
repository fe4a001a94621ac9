/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to a Redis server: commands out, replies in.
 *
 * Not hiredis' asynchronous connections: those of 0.14 resolve names with a
 * call that blocks the loop, leave their sockets open across exec, write in a
 * way that raises SIGPIPE, and drop the failures of timers.  So the connection
 * is a link of ours (transport/connection.h), with TLS where it is wanted, and
 * hiredis reads what comes.
 */
#ifndef HF_ENGINES_REDIS_REDIS_CONNECTION_H
#define HF_ENGINES_REDIS_REDIS_CONNECTION_H

#include <hiredis/hiredis.h>

#include "engines/redis/resp.h"
#include "transport/connection.h"

struct hf_redis_connection;

#if HIREDIS_MAJOR < 1
typedef int hf_redis_elements;
#else
typedef size_t hf_redis_elements;
#endif

/* Of what is read no reply is longer, in bytes and in elements of an array: so
 * much is held before it is whole, and a server that goes on is hung up on. */
#define HF_REDIS_REPLY_BYTES_MAX (16 << 20)
#define HF_REDIS_ELEMENTS_MAX 65536

struct hf_redis_connection_user {
    void (*up)(void *arg, struct hf_redis_connection *connection);
    /* ${reply} lives for the call. */
    void (*reply)(void *arg, struct hf_redis_connection *connection,
                  const struct redisReply *reply);
    /* In the place of the first reply, in plain, there is a TLS record. */
    void (*got_tls_record)(void *arg, struct hf_redis_connection *connection);
    /* ${status} and ${why} as of a link; HF_EPROTOCOL also for an answer that
     * is not Redis'. */
    void (*down)(void *arg, struct hf_redis_connection *connection,
                 hf_status status, const char *why);
    /* Around everything that is told from the loop. */
    void (*enter)(void *arg);
    void (*leave)(void *arg);
    void *arg;
};

struct hf_redis_connection {
    const struct hf_redis_connection_user *user;
    struct hf_connection *link; /* NULL: none */
    struct hf_resp out;
    redisReader *reader;
    redisReplyObjectFunctions functions; /* hiredis' own, and a bound */
    void *(*create_array)(const redisReadTask *task,
                          hf_redis_elements elements);
    bool expects_plain;  /* it is plain, and over TCP */
    bool received_any;   /* bytes have come, through TLS if there is */
    size_t unread_bytes; /* of the reply that is not whole */
    uint64_t number;     /* of the connection: what is told of another is old */
};

/* Begin to connect; false with ${status} and ${why} if that fails at once. */
bool hf_redis_connection_open(struct hf_redis_connection *connection,
                              const struct hf_connection_config *way,
                              const struct hf_redis_connection_user *user,
                              hf_status *status,
                              char why[HF_CONNECTION_TEXT_BYTES]);

/* Nothing is told any more; also where there is no connection. */
void hf_redis_connection_close(struct hf_redis_connection *connection,
                               enum hf_connection_close_mode end);

/* Is there no answer to a TLS handshake, or was it ended in plain by the
 * server?  If nothing was heard, only one of us may speak TLS. */
bool hf_redis_connection_suspects_tls(
    const struct hf_redis_connection *connection);

/* Send what there is room for; false with ${status} and ${why} if the
 * connection has failed, of which nothing is told otherwise. */
bool hf_redis_connection_flush(struct hf_redis_connection *connection,
                               hf_status *status,
                               char why[HF_CONNECTION_TEXT_BYTES]);

#endif
