/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/wire.h"

#include <assert.h>
#include <stdio.h>

#include "engines/redis/tls_question.h"

/* ----------------------------------------------------------------- bounds --
 */

/* hiredis takes memory for as many elements as are announced, before the first
 * of them has come.  NULL: it reports that, and the connection ends. */
static void *create_array(const redisReadTask *task, hf_redis_elements elements)
{
    const struct hf_redis_wire *wire = task->privdata;

    if ((long long)elements < 0 || elements > HF_REDIS_ELEMENTS_MAX)
        return NULL;
    return wire->create_array(task, elements);
}

static bool make_reader(struct hf_redis_wire *wire)
{
    wire->unread_bytes = 0;
    wire->reader = redisReaderCreate();
    if (wire->reader == NULL)
        return false;
    wire->functions = *wire->reader->fn;
    wire->create_array = wire->functions.createArray;
    wire->functions.createArray = create_array;
    wire->reader->fn = &wire->functions;
    wire->reader->privdata = wire;
    return true;
}

/* ------------------------------------------------------------------ told -- */

static void on_up(void *arg)
{
    struct hf_redis_wire *wire = arg;

    wire->user->enter(wire->user->arg);
    wire->user->up(wire->user->arg, wire);
    wire->user->leave(wire->user->arg);
}

/* Work off the replies that are whole.  Whoever is told may close the wire. */
static void take_replies(struct hf_redis_wire *wire)
{
    uint64_t number = wire->number;
    void *reply = NULL;

    while (number == wire->number) {
        if (redisReaderGetReply(wire->reader, &reply) != REDIS_OK) {
            wire->user->down(wire->user->arg, wire, HF_EPROTOCOL,
                             "an answer that is not Redis', or has more than "
                             "65536 elements; see whether the port is right");
            return;
        }
        if (reply == NULL)
            return;
        wire->unread_bytes = wire->reader->len - wire->reader->pos;
        wire->user->reply(wire->user->arg, wire, reply);
        freeReplyObject(reply);
    }
}

static void on_received(void *arg, const void *bytes, size_t count)
{
    struct hf_redis_wire *wire = arg;
    void *arg_of_user = wire->user->arg;
    const struct hf_redis_wire_user *user = wire->user;
    bool first = !wire->heard;

    user->enter(arg_of_user);
    wire->heard = true;
    wire->unread_bytes += count;
    if (first && wire->may_meet_tls && hf_redis_is_tls_record(bytes, count))
        user->met_tls(arg_of_user, wire);
    else if (wire->unread_bytes > HF_REDIS_REPLY_BYTES_MAX)
        user->down(arg_of_user, wire, HF_EPROTOCOL,
                   "an answer of more than 16 MiB; see what fills the queue, "
                   "and whether the port is right");
    else if (redisReaderFeed(wire->reader, bytes, count) != REDIS_OK)
        user->down(arg_of_user, wire, HF_EUNREACHABLE, "out of memory");
    else
        take_replies(wire);
    user->leave(arg_of_user);
}

static void on_writable(void *arg)
{
    struct hf_redis_wire *wire = arg;

    wire->user->enter(wire->user->arg);
    wire->user->leave(wire->user->arg); /* which flushes */
}

static void on_down(void *arg, hf_status status, const char *why)
{
    struct hf_redis_wire *wire = arg;

    wire->user->enter(wire->user->arg);
    wire->user->down(wire->user->arg, wire, status, why);
    wire->user->leave(wire->user->arg);
}

/* ------------------------------------------------------------- interface -- */

bool hf_redis_wire_open(struct hf_redis_wire *wire,
                        const struct hf_connection_config *way,
                        const struct hf_redis_wire_user *user,
                        hf_status *status, char why[HF_CONNECTION_TEXT_BYTES])
{
    const struct hf_connection_callbacks link_user = {
        .up = on_up,
        .received = on_received,
        .writable = on_writable,
        .down = on_down,
        .arg = wire,
    };

    assert(wire->link == NULL && wire->reader == NULL);
    wire->user = user;
    if (!make_reader(wire)) {
        *status = HF_EUNREACHABLE;
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "out of memory");
        return false;
    }
    wire->may_meet_tls = way->tls == NULL && way->path == NULL;
    wire->link = hf_connection_open(way, &link_user, status, why);
    return wire->link != NULL;
}

void hf_redis_wire_close(struct hf_redis_wire *wire,
                         enum hf_connection_close_mode end)
{
    wire->number++;
    if (wire->link != NULL)
        hf_connection_close(wire->link, end);
    wire->link = NULL;
    wire->heard = false;
    if (wire->reader != NULL)
        redisReaderFree(wire->reader);
    wire->reader = NULL;
    hf_resp_free(&wire->out);
}

bool hf_redis_wire_doubts_tls(const struct hf_redis_wire *wire)
{
    return wire->link != NULL &&
           (hf_connection_awaits_tls(wire->link) ||
            (wire->may_meet_tls && hf_connection_closed_by_peer(wire->link)));
}

bool hf_redis_wire_flush(struct hf_redis_wire *wire, hf_status *status,
                         char why[HF_CONNECTION_TEXT_BYTES])
{
    size_t taken;
    bool sent;

    if (wire->out.failed) {
        *status = HF_EUNREACHABLE;
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "out of memory");
        return false;
    }
    if (wire->link == NULL || wire->out.used == 0)
        return true;
    sent =
        hf_connection_send(wire->link, wire->out.bytes, wire->out.used, &taken);
    hf_resp_drop(&wire->out, taken);
    if (!sent) {
        *status = hf_connection_status(wire->link);
        (void)snprintf(why, HF_CONNECTION_TEXT_BYTES, "%s",
                       hf_connection_why(wire->link));
    }
    return sent;
}
