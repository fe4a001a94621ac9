/* SPDX-License-Identifier: Apache-2.0 */
/* See redis_connection.h.  Received bytes go to the reader of replies, and
 * complete replies to the listener. */
#include "engines/redis/redis_connection.h"

#include <assert.h>
#include <stdio.h>

/* ------------------------------------------------- callbacks of the link -- */

static void on_up(void *arg)
{
    struct hf_redis_connection *connection = arg;

    connection->listener->enter(connection->listener->arg);
    connection->listener->up(connection->listener->arg, connection);
    connection->listener->leave(connection->listener->arg);
}

/* Call reply() for all complete replies.  The callback may close the
 * connection, which changes .number. */
static void handle_replies(struct hf_redis_connection *connection)
{
    uint64_t number = connection->number;
    struct redisReply *reply;

    while (number == connection->number) {
        if (!hf_resp_reader_next(&connection->in, &reply)) {
            connection->listener->down(
                connection->listener->arg, connection, HF_EPROTOCOL,
                "an answer that is not Redis', or has an array of more than "
                "65536 elements, or more than 524288 in all; see whether the "
                "port is right");
            return;
        }
        if (reply == NULL)
            return;
        connection->listener->reply(connection->listener->arg, connection,
                                    reply);
        freeReplyObject(reply);
    }
}

static void feed(struct hf_redis_connection *connection, const void *bytes,
                 size_t count)
{
    const struct hf_redis_connection_listener *listener = connection->listener;

    switch (hf_resp_reader_feed(&connection->in, bytes, count)) {
    case HF_RESP_FED:
        handle_replies(connection);
        break;
    case HF_RESP_TOO_LONG:
        listener->down(
            listener->arg, connection, HF_EPROTOCOL,
            "an answer of more than 16 MiB; see what fills the queue, "
            "and whether the port is right");
        break;
    case HF_RESP_NO_MEMORY:
        listener->down(listener->arg, connection, HF_EUNREACHABLE,
                       "out of memory");
        break;
    }
}

/* Handle bytes from the server.  The first bytes on a connection without TLS
 * show whether the server speaks TLS. */
static void on_received(void *arg, const void *bytes, size_t count)
{
    struct hf_redis_connection *connection = arg;
    void *listener_arg = connection->listener->arg;
    const struct hf_redis_connection_listener *listener = connection->listener;
    bool first = !connection->received_any;

    listener->enter(listener_arg);
    connection->received_any = true;
    if (first && connection->expects_plain &&
        hf_redis_is_tls_record(bytes, count))
        listener->got_tls_record(listener_arg, connection);
    else
        feed(connection, bytes, count);
    listener->leave(listener_arg);
}

static void on_writable(void *arg)
{
    struct hf_redis_connection *connection = arg;

    connection->listener->enter(connection->listener->arg);
    /* leave() flushes the connection */
    connection->listener->leave(connection->listener->arg);
}

static void on_down(void *arg, hf_status status, const char *why)
{
    struct hf_redis_connection *connection = arg;

    connection->listener->enter(connection->listener->arg);
    connection->listener->down(connection->listener->arg, connection, status,
                               why);
    connection->listener->leave(connection->listener->arg);
}

/* ------------------------------------------------------------- interface -- */

bool hf_redis_connection_open(
    struct hf_redis_connection *connection,
    const struct hf_connection_config *way,
    const struct hf_redis_connection_listener *listener, hf_status *status,
    char why[HF_CONNECTION_TEXT_BYTES])
{
    const struct hf_connection_callbacks callbacks = {
        .up = on_up,
        .received = on_received,
        .writable = on_writable,
        .down = on_down,
        .arg = connection,
    };

    assert(connection->link == NULL);
    connection->listener = listener;
    if (!hf_resp_reader_open(&connection->in)) {
        *status = HF_EUNREACHABLE;
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "out of memory");
        return false;
    }
    connection->expects_plain = way->tls == NULL && way->path == NULL;
    connection->link = hf_connection_open(way, &callbacks, status, why);
    return connection->link != NULL;
}

void hf_redis_connection_close(struct hf_redis_connection *connection,
                               enum hf_connection_close_mode end)
{
    connection->number++;
    if (connection->link != NULL)
        hf_connection_close(connection->link, end);
    connection->link = NULL;
    connection->received_any = false;
    hf_resp_reader_close(&connection->in);
    hf_resp_free(&connection->out);
}

bool hf_redis_connection_suspects_tls(
    const struct hf_redis_connection *connection)
{
    return connection->link != NULL &&
           (hf_connection_awaits_tls(connection->link) ||
            (connection->expects_plain &&
             hf_connection_closed_by_peer(connection->link)));
}

bool hf_redis_connection_flush(struct hf_redis_connection *connection,
                               hf_status *status,
                               char why[HF_CONNECTION_TEXT_BYTES])
{
    size_t taken;
    bool sent;

    if (connection->out.failed) {
        *status = HF_EUNREACHABLE;
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "out of memory");
        return false;
    }
    if (connection->link == NULL || connection->out.used == 0)
        return true;
    sent = hf_connection_send(connection->link, connection->out.bytes,
                              connection->out.used, &taken);
    hf_resp_drop(&connection->out, taken);
    if (!sent) {
        *status = hf_connection_status(connection->link);
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "%s",
                       hf_connection_why(connection->link));
    }
    return sent;
}

/* ------------------------------------------------------------- TLS probe -- */

#define DOTS_48 "................................................"

/* A TLS record of type handshake and length 0x0101.  Its first byte, 'h', is a
 * message type that does not exist. */
const char hf_redis_tls_probe[] =
    "\x16\x03\x01\x01\x01"
    "holdfast: TLS? " DOTS_48 DOTS_48 DOTS_48 DOTS_48 DOTS_48 "\r\n";

_Static_assert(sizeof hf_redis_tls_probe - 1 == HF_REDIS_TLS_PROBE_BYTES,
               "the record is as long as its header says");

#define ALERT 0x15
#define HANDSHAKE 0x16
#define VERSION_MAJOR 0x03

bool hf_redis_is_tls_record(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    return (at[0] == ALERT || at[0] == HANDSHAKE) &&
           (count < 2 || at[1] == VERSION_MAJOR);
}
