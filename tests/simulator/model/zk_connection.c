/* SPDX-License-Identifier: Apache-2.0 */
/* A client's connection, both ends, and what its server does with the bytes.
 * Requests of a connection are answered in order: one that waits for the leader
 * delays those behind it, heartbeats too. */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <string.h>

#define LENGTH_BYTES 4
#define FRAME_MAX (1 << 20) /* jute.maxbuffer */
#define CONNECT_REQUEST_BYTES                                                  \
    44 /* a ConnectRequest as clients before 3.4 sent it */

static const struct sim_pipe_ops out_ops;
static const struct sim_pipe_ops in_ops;

/* ----------------------------------------------------------------- bytes -- */

/* Chunks are used again, because a run sends millions of bytes. */
static struct zk_chunk *chunk_new(struct hf_sim *sim, enum zk_chunk_kind kind)
{
    struct zk_chunk *chunk = sim->zk->spare_chunks;

    if (chunk == NULL)
        chunk = sim_alloc(sim, sizeof *chunk);
    else
        sim->zk->spare_chunks = (struct zk_chunk *)chunk->item.next;
    chunk->item = (struct sim_pipe_item){0};
    chunk->kind = kind;
    chunk->count = 0;
    return chunk;
}

static void chunk_free(struct hf_sim *sim, struct zk_chunk *chunk)
{
    chunk->item.next =
        sim->zk->spare_chunks == NULL ? NULL : &sim->zk->spare_chunks->item;
    sim->zk->spare_chunks = chunk;
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

static void put_signal(struct sim_pipe *pipe, enum zk_chunk_kind kind)
{
    sim_pipe_send(pipe, &chunk_new(pipe->sim, kind)->item, delay_us(pipe->sim));
}

/* Send the bytes in chunks, of random sizes if the run splits them. */
static void put_bytes(struct sim_pipe *pipe, const void *bytes, size_t count)
{
    struct hf_sim *sim = pipe->sim;
    const uint8_t *from = bytes;

    while (count > 0) {
        struct zk_chunk *chunk = chunk_new(sim, ZK_BYTES);
        size_t most = count < ZK_CHUNK_BYTES ? count : ZK_CHUNK_BYTES;

        if (sim->config.ensemble.splits_bytes &&
            sim_random_between(sim, 0, 3) == 0)
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
        chunk_free(pipe->sim, (struct zk_chunk *)item);
}

/* ------------------------------------------------------------ the client -- */

struct zk_connection *zk_connection_new(struct hf_engine *engine,
                                        struct zk_server *server)
{
    struct hf_sim *sim = engine->sim;
    struct zk_connection *connection = sim_alloc(sim, sizeof *connection);

    connection->sim = sim;
    connection->engine = engine;
    connection->server = server;
    connection->client_open = true;
    connection->next_ever = sim->zk->connections;
    sim->zk->connections = connection;
    sim_pipe_init(&connection->out, sim, connection, &out_ops);
    sim_pipe_init(&connection->in, sim, connection, &in_ops);
    put_signal(&connection->out, ZK_SYN);
    return connection;
}

void zk_connection_write(struct zk_connection *connection, const void *bytes,
                         size_t count)
{
    put_bytes(&connection->out, bytes, count);
}

/* What the client had sent arrives now, and the end of the connection behind
 * it. */
static void stop_lingering(void *arg)
{
    struct zk_connection *connection = arg;

    connection->lingers = false;
    sim_pipe_flush(&connection->out);
}

/* What the client has sent still arrives, or arrives late, or is lost, because
 * TCP does not say which. */
void zk_connection_close_client(struct zk_connection *connection)
{
    struct hf_sim *sim = connection->sim;

    assert(connection->client_open);
    connection->client_open = false;
    drop_all(&connection->in);
    if (sim_happens(sim, sim->config.late_chance)) {
        connection->lingers = true;
        hf_sim_call_at(
            sim,
            sim->now_us +
                sim_random_between(sim, 0, 900 * sim->config.least_timeout_ms),
            false, stop_lingering, connection);
    } else if (sim_random_between(sim, 0, 1) == 0) {
        drop_all(&connection->out); /* the reset overtakes them */
    }
    put_signal(&connection->out, ZK_END);
}

void zk_connection_end_after_output(struct zk_connection *connection)
{
    if (connection->client_open)
        put_signal(&connection->in, ZK_END);
}

void zk_connection_reset(struct zk_connection *connection)
{
    if (connection->client_open) {
        drop_all(&connection->in);
        put_signal(&connection->in, ZK_END);
    }
    if (!sim_happens(connection->sim, connection->sim->config.late_chance)) {
        drop_all(&connection->out);
        put_signal(&connection->out, ZK_END);
    }
}

/* ------------------------------------------------------------ the server -- */

void zk_reply(struct zk_connection *connection, const void *bytes, size_t count)
{
    if (connection->server_open && connection->client_open)
        put_bytes(&connection->in, bytes, count);
}

/* The client reads what was sent before, and then the end. */
void zk_connection_close_server(struct zk_connection *connection)
{
    struct zk_connection **at = &connection->server->connections;

    assert(connection->server_open);
    while (*at != connection)
        at = &(*at)->next;
    *at = connection->next;
    connection->server_open = false;
    zk_watches_drop(connection);
    hf_jute_free(&connection->received);
    if (connection->client_open)
        put_signal(&connection->in, ZK_END);
}

/* Must the leader execute it?  Reads are answered from the server's own
 * replica. */
bool zk_needs_leader(const struct zk_request *request)
{
    switch (request->opcode) {
    case ZK_CREATE_SESSION:
    case HF_ZK_CLOSE_SESSION:
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_DELETE:
    case HF_ZK_MULTI:
    case HF_ZK_SYNC:
    case HF_ZK_SET_DATA:
    case HF_ZK_SET_ACL:
        return !request->throttled;
    default:
        return false;
    }
}

/* Servers close a connection on which they receive any other. */
static bool known_opcode(const struct hf_sim *sim, int32_t opcode)
{
    switch (opcode) {
    case HF_ZK_CREATE_CONTAINER:
    case HF_ZK_MULTI_READ: /* of later servers still */
        return !sim->config.ensemble.lacks_containers;
    case HF_ZK_CREATE:
    case HF_ZK_DELETE:
    case HF_ZK_EXISTS:
    case HF_ZK_GET_DATA:
    case HF_ZK_SET_DATA:
    case HF_ZK_GET_ACL:
    case HF_ZK_SET_ACL:
    case HF_ZK_GET_CHILDREN:
    case HF_ZK_SYNC:
    case HF_ZK_PING:
    case HF_ZK_GET_CHILDREN2:
    case HF_ZK_CHECK:
    case HF_ZK_MULTI:
    case HF_ZK_CREATE2:
    case HF_ZK_REMOVE_WATCHES:
    case HF_ZK_AUTH:
    case HF_ZK_SET_WATCHES:
    case HF_ZK_SET_WATCHES2:
    case HF_ZK_ADD_WATCH:
    case HF_ZK_CLOSE_SESSION:
        return true;
    default:
        return false;
    }
}

void zk_connection_answer_ready(struct zk_connection *connection)
{
    while (connection->server_open && connection->first != NULL) {
        struct zk_request *request = connection->first;

        if (zk_needs_leader(request) && !request->done)
            return;
        connection->first = request->next;
        if (connection->first == NULL)
            connection->last = NULL;
        zk_answer(request);
    }
}

/* Put the request behind those that have no answer yet. */
static void queue(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;

    if (connection->last != NULL)
        connection->last->next = request;
    else
        connection->first = request;
    connection->last = request;
}

/* Send the request to the leader, which may be this server. */
static void forward(struct zk_request *request)
{
    struct zk_server *server = request->connection->server;
    struct zk_message *message;

    if (server->role == ZK_LEADING) {
        zk_leader_request(server, request, NULL);
        return;
    }
    message = zk_message_new(server->sim, ZK_REQUEST);
    message->request = request;
    zk_send_up(server->upstream, message);
}

static void submit(struct zk_request *request)
{
    queue(request);
    if (zk_needs_leader(request))
        forward(request);
    zk_connection_answer_ready(request->connection);
}

/* The server has received something from the session.  False: the leader does
 * not know the session. */
static bool touch(struct zk_connection *connection)
{
    struct zk_server *server = connection->server;
    struct zk_session *session = connection->session;

    if (server->role == ZK_LEADING)
        return zk_session_touch(server, session, connection->timeout_ms);
    session->touched_ms[server->index] = connection->timeout_ms;
    return true;
}

/* A request may be throttled: it is answered THROTTLED and has no effect. */
static struct zk_request *request_new(struct zk_connection *connection,
                                      int32_t xid, int32_t opcode,
                                      const struct hf_jute_reader *body)
{
    struct hf_sim *sim = connection->sim;
    struct zk_request *request = sim_alloc(sim, sizeof *request);
    uint8_t *copy = sim_alloc(sim, body->left + 1);

    memcpy(copy, body->bytes, body->left);
    request->connection = connection;
    request->server = connection->server;
    request->session = connection->session;
    request->xid = xid;
    request->opcode = opcode;
    request->body = copy;
    request->bytes = body->left;
    request->who = connection->who;
    request->late = !connection->client_open;
    request->throttled =
        opcode != HF_ZK_PING && opcode != HF_ZK_CLOSE_SESSION &&
        opcode != HF_ZK_SET_WATCHES && opcode != HF_ZK_SET_WATCHES2 &&
        sim_happens(sim, sim->config.refuse_chance);
    return request;
}

/* A credential counts from now on.  The scheme digest takes any; servers end a
 * connection after one of a scheme that they do not know. */
static void authenticate(struct zk_connection *connection, int32_t xid,
                         struct hf_jute_reader *frame)
{
    struct hf_jute_piece scheme, credential;
    char *text;

    (void)hf_jute_get_int(frame); /* type */
    scheme = hf_jute_get_buffer(frame);
    credential = hf_jute_get_buffer(frame);
    if (frame->failed || scheme.count != 6 ||
        memcmp(scheme.bytes, "digest", 6) != 0) {
        zk_answer_error(connection, xid, HF_ZK_AUTH_FAILED);
        zk_connection_close_server(connection);
        return;
    }
    text = sim_alloc(connection->sim, credential.count + 1);
    memcpy(text, credential.bytes, credential.count);
    zk_identities_add(&connection->who, text);
    zk_answer_error(connection, xid, 0);
}

/* Handle one frame of a connection whose session is accepted. */
static void serve(struct zk_connection *connection,
                  struct hf_jute_reader *frame)
{
    int32_t xid = hf_jute_get_int(frame);
    int32_t opcode = hf_jute_get_int(frame);

    if (frame->failed || !connection->accepted) {
        zk_connection_close_server(connection);
    } else if (!known_opcode(connection->sim, opcode)) {
        /* ZooKeeper answers this out of order and closes the connection,
         * too. */
        zk_answer_error(connection, xid, HF_ZK_UNIMPLEMENTED);
        zk_connection_close_server(connection);
    } else if (opcode == HF_ZK_AUTH) {
        authenticate(connection, xid, frame);
    } else if (zk_serves_readers(connection->server)) {
        zk_answer_reader(request_new(connection, xid, opcode, frame));
    } else if (touch(connection)) {
        submit(request_new(connection, xid, opcode, frame));
    }
}

/* -------------------------------------------------------- ConnectRequest -- */

static uint64_t negotiate(const struct zk_connection *connection,
                          int32_t timeout_ms)
{
    uint64_t least_ms = 2 * connection->sim->config.ensemble.tick_ms;
    uint64_t wanted_ms = timeout_ms < 0 ? 0 : (uint64_t)timeout_ms;

    if (wanted_ms > connection->server->timeout_max_ms)
        wanted_ms = connection->server->timeout_max_ms;
    return wanted_ms < least_ms ? least_ms : wanted_ms;
}

/* The leader has said whether the session lives (${valid}): answer the
 * ConnectRequest. */
void zk_revalidated(struct zk_connection *connection,
                    struct zk_session *session, uint64_t timeout_ms, bool valid)
{
    if (!connection->server_open)
        return;
    connection->timeout_ms = timeout_ms;
    if (valid) {
        connection->session = session;
        connection->accepted = true;
        zk_answer_connect(connection, session);
    } else {
        zk_answer_connect(connection, NULL);
        zk_connection_close_server(connection);
    }
}

/* A new session is a transaction, so the answer waits for its commit. */
static void begin_session(struct zk_connection *connection, uint64_t timeout_ms)
{
    struct hf_sim *sim = connection->sim;
    struct zk_request *request = sim_alloc(sim, sizeof *request);

    connection->session = zk_session_new(sim, connection->engine, timeout_ms);
    connection->timeout_ms = timeout_ms;
    request->connection = connection;
    request->server = connection->server;
    request->session = connection->session;
    request->opcode = ZK_CREATE_SESSION;
    request->timeout_ms = timeout_ms;
    submit(request);
}

/* Other connections of the session at this server are closed. */
static void resume_session(struct zk_connection *connection,
                           struct zk_session *session, uint64_t timeout_ms)
{
    struct zk_server *server = connection->server;
    struct zk_message *message;

    for (struct zk_connection *c = server->connections, *next; c != NULL;
         c = next) {
        next = c->next;
        if (c != connection && c->session == session)
            zk_connection_close_server(c);
    }
    if (server->role == ZK_LEADING) {
        bool valid = zk_session_touch(server, session, timeout_ms);

        if (valid)
            session->owner[server->index] = server;
        zk_revalidated(connection, session, timeout_ms, valid);
        return;
    }
    message = zk_message_new(server->sim, ZK_REVALIDATE);
    message->connection = connection;
    message->session = session;
    message->timeout_ms = timeout_ms;
    zk_send_up(server->upstream, message);
}

/* A server without a quorum resumes what its replica knows, and begins a
 * session that no other server knows. */
static void connect_reader(struct zk_connection *connection,
                           struct zk_session *session, uint64_t timeout_ms,
                           bool begins)
{
    struct zk_server *server = connection->server;
    bool valid = begins || (session != NULL && session->local == NULL &&
                            session->known[server->index]);

    if (begins) {
        session =
            zk_session_new(connection->sim, connection->engine, timeout_ms);
        session->local = server;
    }
    zk_revalidated(connection, session, timeout_ms, valid);
}

static bool password_fits(const struct zk_session *session,
                          struct hf_jute_piece password)
{
    return password.count == sizeof session->password &&
           memcmp(password.bytes, session->password, password.count) == 0;
}

/* A client that has seen a later transaction than this server is refused, so
 * that it never sees an older state. */
static void receive_connect(struct zk_connection *connection,
                            struct hf_jute_reader *frame)
{
    struct zk_server *server = connection->server;
    struct hf_sim *sim = connection->sim;
    struct hf_jute_piece password;
    struct zk_session *session;
    uint64_t timeout_ms;
    int64_t zxid, id;
    bool reads_only, reader = zk_serves_readers(server);

    (void)hf_jute_get_int(frame);
    zxid = hf_jute_get_long(frame);
    timeout_ms = negotiate(connection, hf_jute_get_int(frame));
    id = hf_jute_get_long(frame);
    password = hf_jute_get_buffer(frame);
    reads_only = frame->left > 0 && hf_jute_get_bool(frame);
    connection->connect_received = true;
    if (frame->failed || zxid > zk_replica_zxid(&server->replica) ||
        (reader && !reads_only)) {
        /* It has to try another server. */
        zk_connection_close_server(connection);
        return;
    }
    session = id == 0 ? NULL : zk_session_find(sim, id);
    if (session != NULL && session->local != NULL && session->local != server &&
        sim->observer.local_session_offered != NULL)
        sim->observer.local_session_offered(sim->observer.arg,
                                            connection->engine);
    if (reader) {
        connect_reader(connection, session, timeout_ms, id == 0);
        return;
    }
    if (id == 0) {
        begin_session(connection, timeout_ms);
        return;
    }
    if (session == NULL || !password_fits(session, password))
        zk_revalidated(connection, NULL, timeout_ms, false);
    else
        resume_session(connection, session, timeout_ms);
}

void zk_session_closed(struct zk_server *server, struct zk_session *session,
                       const struct zk_request *closing_request)
{
    struct zk_connection *next;

    for (struct zk_connection *c = server->connections; c != NULL; c = next) {
        next = c->next;
        if (c->session == session &&
            (closing_request == NULL || closing_request->connection != c))
            zk_connection_close_server(c);
    }
}

/* ------------------------------------------------------- frames received -- */

/* Handle all complete frames among the received bytes. */
static void read_frames(struct zk_connection *connection)
{
    struct hf_jute_writer *received = &connection->received;

    while (connection->server_open && received->used >= LENGTH_BYTES) {
        struct hf_jute_reader reader = {received->bytes, received->used, false};
        int32_t length = hf_jute_get_int(&reader);

        if (length < 0 || length > FRAME_MAX) {
            zk_connection_close_server(connection);
            return;
        }
        if (reader.left < (size_t)length)
            return;
        reader.left = (size_t)length;
        if (connection->connect_received)
            serve(connection, &reader);
        else
            receive_connect(connection, &reader);
        if (connection->server_open)
            hf_jute_consume(received, LENGTH_BYTES + (size_t)length);
    }
}

/* A server that is neither leading nor following accepts connections and closes
 * them. */
static void open_server_end(struct zk_connection *connection)
{
    struct zk_server *server = connection->server;

    if (server->role == ZK_DOWN) {
        put_signal(&connection->in, ZK_REFUSED);
        return;
    }
    put_signal(&connection->in, ZK_ACCEPTED);
    connection->server_open = true;
    connection->next = server->connections;
    server->connections = connection;
    if (!zk_serves(server) && !zk_serves_readers(server))
        zk_connection_close_server(connection);
}

static void take_bytes(struct zk_connection *connection,
                       const struct zk_chunk *chunk)
{
    if (!connection->server_open)
        return;
    for (size_t i = 0; i < chunk->count; i++)
        hf_jute_put_byte(&connection->received, chunk->bytes[i]);
    read_frames(connection);
}

/* Draw whether this chunk is lost, which resets the connection. */
static bool loses(struct zk_connection *connection,
                  const struct zk_chunk *chunk)
{
    struct hf_sim *sim = connection->sim;

    if (chunk->kind != ZK_BYTES || !connection->client_open ||
        !sim_happens(sim, sim->config.lose_chance))
        return false;
    sim_trace(sim, connection->engine, "link loses bytes and breaks");
    zk_connection_reset(connection);
    return true;
}

/* Something has arrived at the server. */
static void deliver_out(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct zk_connection *connection = pipe->owner;
    struct zk_chunk *chunk = (struct zk_chunk *)item;

    if (loses(connection, chunk)) {
        /* A server receives nothing behind a gap. */
        drop_all(&connection->out);
        put_signal(&connection->out, ZK_END);
    } else {
        if (chunk->kind == ZK_SYN)
            open_server_end(connection);
        else if (chunk->kind == ZK_BYTES)
            take_bytes(connection, chunk);
        else if (connection->server_open)
            zk_connection_close_server(connection);
    }
    chunk_free(pipe->sim, chunk);
}

static void deliver_in(struct sim_pipe *pipe, struct sim_pipe_item *item)
{
    struct zk_connection *connection = pipe->owner;
    struct zk_chunk *chunk = (struct zk_chunk *)item;

    if (connection->client_open && !loses(connection, chunk))
        zk_drive_receive(connection->engine->zk, connection, chunk);
    chunk_free(pipe->sim, chunk);
}

/* The kernel of a frozen server still accepts connections.  What lingers of a
 * client that has closed its end needs no link. */
static bool blocked_out(const struct sim_pipe *pipe)
{
    const struct zk_connection *connection = pipe->owner;
    const struct zk_chunk *chunk = (const struct zk_chunk *)pipe->first;

    if (connection->lingers ||
        (connection->client_open && !connection->engine->out_up))
        return true;
    return connection->server->frozen && chunk->kind != ZK_SYN;
}

static bool blocked_in(const struct sim_pipe *pipe)
{
    const struct zk_connection *connection = pipe->owner;

    return connection->client_open &&
           (!connection->engine->in_up || connection->engine->frozen);
}

static const struct sim_pipe_ops out_ops = {blocked_out, deliver_out};
static const struct sim_pipe_ops in_ops = {blocked_in, deliver_in};
