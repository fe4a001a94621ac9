/* SPDX-License-Identifier: Apache-2.0 */
/* A client's connection, both ends: bytes in order, of which each direction can
 * be held up, and an end that says nothing about what was under way. */
#include "simulator/model/etcd_internal.h"

#include <assert.h>
#include <string.h>

static const struct sim_pipe_ops out_ops;
static const struct sim_pipe_ops in_ops;

/* ----------------------------------------------------------------- bytes -- */

/* Chunks are used again, because a run sends millions of bytes. */
static struct etcd_chunk *chunk_new(struct hf_sim *sim,
                                    enum etcd_chunk_kind kind)
{
    struct etcd_chunk *chunk = sim->etcd->spare_chunks;

    if (chunk == NULL)
        chunk = sim_alloc(sim, sizeof *chunk);
    else
        sim->etcd->spare_chunks = (struct etcd_chunk *)chunk->item.next;
    chunk->item = (struct sim_pipe_item){0};
    chunk->kind = kind;
    chunk->count = 0;
    return chunk;
}

static void chunk_free(struct hf_sim *sim, struct etcd_chunk *chunk)
{
    chunk->item.next =
        sim->etcd->spare_chunks == NULL ? NULL : &sim->etcd->spare_chunks->item;
    sim->etcd->spare_chunks = chunk;
}

/* Most chunks take the usual delay, some up to a third of a timeout more. */
static uint64_t delay_us(struct hf_sim *sim)
{
    uint64_t delay = sim_random_between(sim, sim->config.delay_min_us,
                                        sim->config.delay_max_us);

    if (sim_happens(sim, sim->config.slow_chance))
        delay +=
            sim_random_between(sim, 0, 1000 * sim->config.least_timeout_ms / 3);
    return delay;
}

static void put_signal(struct sim_pipe *pipe, enum etcd_chunk_kind kind)
{
    sim_pipe_send(pipe, &chunk_new(pipe->sim, kind)->item, delay_us(pipe->sim));
}

/* Send the bytes in chunks, of random sizes if the run splits them. */
static void put_bytes(struct sim_pipe *pipe, const void *bytes, size_t count)
{
    struct hf_sim *sim = pipe->sim;
    const uint8_t *from = bytes;

    while (count > 0) {
        struct etcd_chunk *chunk = chunk_new(sim, ETCD_SOME_BYTES);
        size_t most = count < ETCD_CHUNK_BYTES ? count : ETCD_CHUNK_BYTES;

        if (sim->config.etcd.splits_bytes && sim_random_between(sim, 0, 3) == 0)
            most = (size_t)sim_random_between(sim, 1, most);
        chunk->count = most;
        memcpy(chunk->bytes, from, most);
        sim_pipe_send(pipe, &chunk->item, delay_us(sim));
        from += most;
        count -= most;
    }
}

static void drop_all(struct sim_pipe *pipe)
{
    struct sim_pipe_item *item;

    while ((item = sim_pipe_take(pipe)) != NULL)
        chunk_free(pipe->sim, (struct etcd_chunk *)item);
}

/* ------------------------------------------------------------ the client -- */

struct etcd_connection *
etcd_connection_new(struct hf_sim *sim, struct hf_engine *engine,
                    struct etcd_member *member,
                    const struct etcd_connection_ops *ops, void *user)
{
    struct etcd_connection *connection = sim_alloc(sim, sizeof *connection);

    connection->sim = sim;
    connection->engine = engine;
    connection->ops = ops;
    connection->user = user;
    connection->member = member;
    connection->client_open = true;
    connection->next_ever = sim->etcd->connections;
    sim->etcd->connections = connection;
    sim_pipe_init(&connection->out, sim, connection, &out_ops);
    sim_pipe_init(&connection->in, sim, connection, &in_ops);
    put_signal(&connection->out, ETCD_SYN);
    return connection;
}

void etcd_connection_write(struct etcd_connection *connection,
                           const void *bytes, size_t count)
{
    put_bytes(&connection->out, bytes, count);
}

/* What the client had sent arrives now, and the end of the connection behind
 * it. */
static void stop_lingering(void *arg)
{
    struct etcd_connection *connection = arg;

    connection->lingers = false;
    sim_pipe_flush(&connection->out);
}

/* How late it may be has no bound in etcd; here it is long enough to be behind
 * the next connection and the next enqueues. */
static void linger(struct etcd_connection *connection)
{
    struct hf_sim *sim = connection->sim;

    connection->lingers = true;
    hf_sim_call_at(
        sim,
        sim->now_us + sim_random_between(sim, 0, 3000 * sim->config.timeout_ms),
        true, stop_lingering, connection);
}

/* What the client has sent still arrives, or arrives late, or is lost, because
 * TCP does not say which. */
void etcd_connection_close_client(struct etcd_connection *connection)
{
    struct hf_sim *sim = connection->sim;

    assert(connection->client_open);
    connection->client_open = false;
    drop_all(&connection->in);
    if (sim_happens(sim, sim->config.late_chance))
        linger(connection);
    else if (sim_random_between(sim, 0, 1) == 0)
        drop_all(&connection->out); /* the reset overtakes them */
    put_signal(&connection->out, ETCD_END);
}

void etcd_connection_reset(struct etcd_connection *connection)
{
    struct hf_sim *sim = connection->sim;

    if (connection->client_open) {
        drop_all(&connection->in);
        put_signal(&connection->in, ETCD_END);
    }
    if (!sim_happens(sim, sim->config.late_chance)) {
        drop_all(&connection->out);
        put_signal(&connection->out, ETCD_END);
    }
}

void etcd_connection_flush(struct etcd_connection *connection)
{
    sim_pipe_flush(&connection->out);
    sim_pipe_flush(&connection->in);
}

/* ------------------------------------------------------------ the server -- */

void etcd_reply(struct etcd_connection *connection,
                const struct etcd_frame *frame)
{
    struct etcd_writer out = {0};

    if (!connection->server_open || !connection->client_open)
        return;
    etcd_frame_write(&out, frame);
    put_bytes(&connection->in, out.at, out.count);
    etcd_writer_free(&out);
}

/* The client reads what was sent before, and then the end. */
void etcd_connection_close_server(struct etcd_connection *connection)
{
    struct etcd_connection **at = &connection->member->connections;

    assert(connection->server_open);
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    etcd_calls_drop(connection);
    connection->server_open = false;
    etcd_writer_free(&connection->received);
    if (connection->client_open)
        put_signal(&connection->in, ETCD_END);
}

static void open_server_end(struct etcd_connection *connection)
{
    struct etcd_member *member = connection->member;

    if (member->down) {
        put_signal(&connection->in, ETCD_REFUSED);
        return;
    }
    put_signal(&connection->in, ETCD_ACCEPTED);
    connection->server_open = true;
    connection->next = member->connections;
    member->connections = connection;
}

/* Handle all complete frames among the received bytes. */
static void take_bytes(struct etcd_connection *connection,
                       const struct etcd_chunk *chunk)
{
    struct etcd_writer *received = &connection->received;
    struct etcd_frame frame;
    int taken = 0;

    if (!connection->server_open)
        return;
    etcd_put_raw(received, (struct etcd_bytes){chunk->bytes, chunk->count});
    while (connection->server_open &&
           (taken = etcd_frame_read(etcd_written(received), &frame)) > 0) {
        size_t bytes = etcd_frame_bytes(&frame);

        etcd_call_frame(connection, &frame);
        if (!connection->server_open)
            return;
        memmove(received->at, received->at + bytes, received->count - bytes);
        received->count -= bytes;
    }
    if (taken < 0 && connection->server_open)
        etcd_connection_close_server(connection);
}

/* -------------------------------------------------------------- delivery -- */

/* Draw whether this chunk is lost, which resets the connection. */
static bool loses(struct etcd_connection *connection,
                  const struct etcd_chunk *chunk)
{
    struct hf_sim *sim = connection->sim;

    if (chunk->kind != ETCD_SOME_BYTES || !connection->client_open ||
        !sim_happens(sim, sim->config.lose_chance))
        return false;
    sim_trace(sim, connection->engine, "link loses bytes and breaks");
    etcd_connection_reset(connection);
    return true;
}

/* Something has arrived at the server. */
static void deliver_out(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct etcd_connection *connection = pipe->owner;
    struct etcd_chunk *chunk = (struct etcd_chunk *)item;

    if (loses(connection, chunk)) {
        /* A server receives nothing behind a gap. */
        drop_all(&connection->out);
        put_signal(&connection->out, ETCD_END);
    } else if (chunk->kind == ETCD_SYN) {
        open_server_end(connection);
    } else if (chunk->kind == ETCD_SOME_BYTES) {
        take_bytes(connection, chunk);
    } else if (connection->server_open) {
        etcd_connection_close_server(connection);
    }
    chunk_free(pipe->sim, chunk);
}

static void deliver_in(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct etcd_connection *connection = pipe->owner;
    struct etcd_chunk *chunk = (struct etcd_chunk *)item;

    if (connection->client_open && !loses(connection, chunk))
        connection->ops->receive(connection->user, connection, chunk);
    chunk_free(pipe->sim, chunk);
}

/* The kernel of a frozen member still accepts connections.  What lingers of a
 * client that has closed its end needs no link. */
static bool blocked_out(const struct sim_pipe *pipe)
{
    const struct etcd_connection *connection = pipe->owner;
    const struct etcd_chunk *chunk = (const struct etcd_chunk *)pipe->first;
    const struct etcd_member *member = connection->member;

    if (connection->lingers ||
        (connection->client_open && connection->engine != NULL &&
         !connection->engine->out_up))
        return true;
    return (member->frozen || member->links_at_us > member->sim->now_us) &&
           chunk->kind != ETCD_SYN;
}

static bool blocked_in(const struct sim_pipe *pipe)
{
    const struct etcd_connection *connection = pipe->owner;
    const struct hf_engine *engine = connection->engine;

    return connection->client_open && engine != NULL &&
           (!engine->in_up || engine->frozen);
}

static const struct sim_pipe_ops out_ops = {blocked_out, deliver_out};
static const struct sim_pipe_ops in_ops = {blocked_in, deliver_in};
