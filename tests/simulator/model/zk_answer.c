/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to requests: to reads from the server's own replica, to writes
 * with the result of their transaction (FinalRequestProcessor of ZooKeeper). */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <string.h>

/* ---------------------------------------------------------------- frames -- */

static size_t begin(struct hf_jute_writer *out, int32_t xid, int64_t zxid,
                    int32_t error)
{
    size_t frame = hf_jute_begin_frame(out);

    hf_jute_put_int(out, xid);
    hf_jute_put_long(out, zxid);
    hf_jute_put_int(out, error);
    return frame;
}

static void send(struct zk_connection *connection, struct hf_jute_writer *out,
                 size_t frame)
{
    hf_jute_end_frame(out, frame);
    zk_reply(connection, out->bytes, out->used);
    hf_jute_free(out);
}

void zk_answer_error(struct zk_connection *connection, int32_t xid,
                     int32_t error)
{
    struct hf_jute_writer out = {0};
    int64_t zxid = zk_replica_zxid(&connection->server->replica);

    send(connection, &out, begin(&out, xid, zxid, error));
}

/* ConnectResponse; with ${session} NULL it says that the session has ended. */
void zk_answer_connect(struct zk_connection *connection,
                       const struct zk_session *session)
{
    static const uint8_t none[HF_ZK_PASSWORD_BYTES];
    struct hf_jute_writer out = {0};
    size_t frame = hf_jute_begin_frame(&out);

    hf_jute_put_int(&out, 0);
    hf_jute_put_int(&out,
                    session == NULL ? 0 : (int32_t)connection->timeout_ms);
    hf_jute_put_long(&out, session == NULL ? 0 : session->id);
    hf_jute_put_buffer(&out, session == NULL ? none : session->password,
                       HF_ZK_PASSWORD_BYTES);
    hf_jute_put_bool(&out, zk_serves_readers(connection->server));
    send(connection, &out, frame);
}

/* ---------------------------------------------------------------- writes -- */

/* The body of the answer to one write. */
static void put_result(struct hf_jute_writer *out,
                       const struct zk_replica *replica,
                       const struct zk_txn *txn, int32_t opcode)
{
    const struct zk_node *node =
        txn->path == NULL ? NULL : zk_find(replica, txn->path);
    struct zk_node gone = {.czxid = txn->zxid};

    if (opcode == HF_ZK_CREATE || opcode == HF_ZK_CREATE2 ||
        opcode == HF_ZK_CREATE_CONTAINER)
        hf_jute_put_string(out, txn->path);
    if (opcode == HF_ZK_CREATE2 || opcode == HF_ZK_CREATE_CONTAINER ||
        opcode == HF_ZK_SET_DATA || opcode == HF_ZK_SET_ACL)
        zk_put_stat(out, node == NULL ? &gone : node);
}

static void put_part_header(struct hf_jute_writer *out, int32_t type, bool done,
                            int32_t error)
{
    hf_jute_put_int(out, type);
    hf_jute_put_bool(out, done);
    hf_jute_put_int(out, error);
}

/* The results of a multi: a header and a body for each operation, and a last
 * header. */
static void put_multi(struct hf_jute_writer *out,
                      const struct zk_replica *replica,
                      const struct zk_txn *txn)
{
    for (const struct zk_txn *p = txn->parts; p != NULL; p = p->next) {
        put_part_header(out, p->opcode, false, p->error);
        if (p->opcode == HF_ZK_ERROR_RESULT)
            hf_jute_put_int(out, p->error);
        else
            put_result(out, replica, p, p->opcode);
    }
    put_part_header(out, -1, true, -1);
}

/* The error of the whole transaction; an error of a part of a multi is in the
 * body, but for SESSION_MOVED. */
static int32_t error_of(const struct zk_txn *txn)
{
    if (txn->opcode == HF_ZK_ERROR_RESULT)
        return txn->error;
    for (const struct zk_txn *p = txn->parts; p != NULL; p = p->next) {
        if (p->error == HF_ZK_SESSION_MOVED)
            return p->error;
    }
    return 0;
}

/* The node may have gone again between the commit and the answer; then the Stat
 * is nearly empty. */
static void answer_write(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    const struct zk_txn *txn = request->txn;
    int32_t error = error_of(txn);
    struct hf_jute_writer out = {0};
    size_t frame;

    if (error == HF_ZK_SESSION_MOVED &&
        !connection->sim->config.ensemble.answers_moved) {
        zk_connection_close_server(connection);
        return;
    }
    frame = begin(&out, request->xid, txn->zxid, error);
    if (error == 0 && request->opcode == HF_ZK_MULTI)
        put_multi(&out, &connection->server->replica, txn);
    else if (error == 0)
        put_result(&out, &connection->server->replica, txn, request->opcode);
    send(connection, &out, frame);
    if (request->opcode == HF_ZK_CLOSE_SESSION)
        zk_connection_close_server(connection);
}

static void answer_create_session(struct zk_request *request)
{
    request->connection->accepted = true;
    zk_answer_connect(request->connection, request->session);
}

/* ----------------------------------------------------------------- reads -- */

/* The path is copied to memory that lives as long as the run, because watches
 * keep it. */
static const char *take_path(struct hf_sim *sim, struct hf_jute_reader *body)
{
    struct hf_jute_piece piece = hf_jute_get_buffer(body);
    char *path = sim_alloc(sim, piece.count + 1);

    if (piece.count > 0)
        memcpy(path, piece.bytes, piece.count);
    return path[0] == '/' ? path : "/?";
}

/* Children that no correct program makes: a name that is there twice, and names
 * that look like tickets and are not. */
static void put_invalid_children(struct hf_jute_writer *out,
                                 const struct zk_node *node)
{
    static const char *const invalid[] = {"", "_c_-lock-0000000000",
                                          "lock-99999999999", "-2147483648"};

    hf_jute_put_string(out, node->first->name);
    for (size_t i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
        hf_jute_put_string(out, invalid[i]);
}

#define INVALID_COUNT 5

/* In some runs the list has children that no correct program makes. */
static void put_children(struct hf_sim *sim, struct hf_jute_writer *out,
                         const struct zk_node *node)
{
    bool invalid =
        node->first != NULL && sim_happens(sim, sim->config.garble_chance);

    hf_jute_put_int(out, node->children + (invalid ? INVALID_COUNT : 0));
    if (invalid)
        put_invalid_children(out, node);
    for (const struct zk_node *c = node->first; c != NULL; c = c->next)
        hf_jute_put_string(out, c->name);
}

/* The body of the answer to a read. */
static void put_read(struct zk_request *request, struct hf_jute_writer *out,
                     const struct zk_node *node)
{
    switch (request->opcode) {
    case HF_ZK_GET_DATA:
        hf_jute_put_buffer(out,
                           node->data == NULL ? (const void *)"" : node->data,
                           node->bytes);
        zk_put_stat(out, node);
        break;
    case HF_ZK_EXISTS:
        zk_put_stat(out, node);
        break;
    case HF_ZK_GET_ACL:
        zk_acl_put(out, node->acl, &request->who);
        zk_put_stat(out, node);
        break;
    case HF_ZK_GET_CHILDREN2:
        put_children(request->connection->sim, out, node);
        zk_put_stat(out, node);
        break;
    default:
        put_children(request->connection->sim, out, node);
    }
}

/* May the read be answered?  ${node} NULL: there is none. */
static bool may_read(const struct zk_request *request,
                     const struct zk_node *node)
{
    int32_t permissions = request->opcode == HF_ZK_GET_ACL
                              ? ZK_PERM_READ | ZK_PERM_ADMIN
                              : ZK_PERM_READ;

    if (node == NULL ||
        (request->opcode == HF_ZK_EXISTS &&
         !request->connection->sim->config.ensemble.checks_readers))
        return true;
    return zk_acl_permits(node->acl, permissions, &request->who);
}

/* The watch is set before the answer, at the state that the answer shows. */
static void answer_read(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    struct zk_server *server = connection->server;
    struct hf_jute_reader body = {request->body, request->bytes, false};
    const char *path = take_path(connection->sim, &body);
    bool watch = request->opcode != HF_ZK_GET_ACL && hf_jute_get_bool(&body);
    bool child = request->opcode == HF_ZK_GET_CHILDREN ||
                 request->opcode == HF_ZK_GET_CHILDREN2;
    const struct zk_node *node = zk_find(&server->replica, path);
    struct hf_jute_writer out = {0};
    size_t frame;

    if (!may_read(request, node)) {
        zk_answer_error(connection, request->xid, HF_ZK_NO_AUTH);
        return;
    }
    /* A data or child watch of a node that does not exist is not set; only
     * exists watches are. */
    if (watch && (node != NULL || request->opcode == HF_ZK_EXISTS))
        zk_watch_set(connection, path, child, ZK_WATCH_ONE_SHOT);
    frame = begin(&out, request->xid, zk_replica_zxid(&server->replica),
                  node == NULL ? HF_ZK_NO_NODE : 0);
    if (node != NULL)
        put_read(request, &out, node);
    send(connection, &out, frame);
}

/* Reads of data, each of which fails by itself. */
static void answer_multi_read(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    const struct zk_replica *replica = &connection->server->replica;
    struct hf_jute_reader body = {request->body, request->bytes, false};
    struct hf_jute_writer out = {0};
    size_t frame = begin(&out, request->xid, zk_replica_zxid(replica), 0);

    for (;;) {
        int32_t opcode = hf_jute_get_int(&body);
        bool done = hf_jute_get_bool(&body);
        const struct zk_node *node;

        (void)hf_jute_get_int(&body);
        if (done || body.failed)
            break;
        node = zk_find(replica, take_path(connection->sim, &body));
        (void)hf_jute_get_bool(&body); /* a watch, which is not set */
        put_part_header(&out, node == NULL ? HF_ZK_ERROR_RESULT : opcode, false,
                        node == NULL ? HF_ZK_NO_NODE : 0);
        if (node == NULL) {
            hf_jute_put_int(&out, HF_ZK_NO_NODE);
            continue;
        }
        hf_jute_put_buffer(&out,
                           node->data == NULL ? (const void *)"" : node->data,
                           node->bytes);
        zk_put_stat(&out, node);
    }
    put_part_header(&out, -1, true, -1);
    send(connection, &out, frame);
}

/* The leader has answered, so this server has applied all that came before. */
static void answer_sync(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    struct hf_jute_reader body = {request->body, request->bytes, false};
    const char *path = take_path(connection->sim, &body);
    struct hf_jute_writer out = {0};
    size_t frame = begin(&out, request->xid,
                         zk_replica_zxid(&connection->server->replica), 0);

    connection->synced = true;
    hf_jute_put_string(&out, path);
    send(connection, &out, frame);
}

/* --------------------------------------------------------------- watches -- */

/* The lists of SetWatches2 in their order; SetWatches has the first three. */
enum watch_kind {
    DATA_WATCH,
    EXIST_WATCH,
    CHILD_WATCH,
    PERSISTENT_WATCH,
    RECURSIVE_WATCH,
};

/* The event that the client has missed since ${since}, its last zxid; 0: none.
 * What a persistent watch has missed is not known. */
static int32_t missed(const struct zk_node *node, enum watch_kind kind,
                      int64_t since)
{
    if (kind >= PERSISTENT_WATCH)
        return 0;
    if (kind == EXIST_WATCH)
        return node != NULL ? HF_ZK_NODE_CREATED : 0;
    if (node == NULL)
        return HF_ZK_NODE_DELETED;
    if (kind == DATA_WATCH)
        return node->mzxid > since ? HF_ZK_NODE_DATA_CHANGED : 0;
    return node->pzxid > since ? HF_ZK_NODE_CHILDREN_CHANGED : 0;
}

/* A persistent watch is set in both managers, as DataTree.addWatch() does. */
static void set_persistent(struct zk_connection *connection, const char *path,
                           bool recursive)
{
    enum zk_watch_mode mode =
        recursive ? ZK_WATCH_RECURSIVE : ZK_WATCH_PERSISTENT;

    zk_watch_set(connection, path, false, mode);
    zk_watch_set(connection, path, true, mode);
}

/* The client sets a watch again after it connected to another server
 * (SetWatches).  If it missed the event, it gets it at once. */
static void set_again(struct zk_connection *connection, const char *path,
                      enum watch_kind kind, int64_t since)
{
    struct zk_server *server = connection->server;
    int32_t type = missed(zk_find(&server->replica, path), kind, since);
    struct hf_jute_writer out = {0};
    size_t frame;

    if (kind >= PERSISTENT_WATCH) {
        set_persistent(connection, path, kind == RECURSIVE_WATCH);
        return;
    }
    if (type == 0) {
        zk_watch_set(connection, path, kind == CHILD_WATCH, ZK_WATCH_ONE_SHOT);
        return;
    }
    zk_event_sent(connection, type, path, zk_replica_zxid(&server->replica));
    frame = begin(&out, HF_ZK_XID_EVENT, -1, 0);
    hf_jute_put_int(&out, type);
    hf_jute_put_int(&out, 3);
    hf_jute_put_string(&out, path);
    send(connection, &out, frame);
}

/* Watches of three kinds follow each other, in SetWatches2 of five. */
static void answer_set_watches(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    struct hf_jute_reader body = {request->body, request->bytes, false};
    int64_t since = hf_jute_get_long(&body);
    int last =
        request->opcode == HF_ZK_SET_WATCHES2 ? RECURSIVE_WATCH : CHILD_WATCH;

    for (int kind = DATA_WATCH; kind <= last; kind++) {
        for (size_t n = hf_jute_get_count(&body, 4); n > 0; n--)
            set_again(connection, take_path(connection->sim, &body),
                      (enum watch_kind)kind, since);
    }
    zk_answer_error(connection, request->xid, 0);
}

static void answer_add_watch(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    struct hf_jute_reader body = {request->body, request->bytes, false};
    const char *path = take_path(connection->sim, &body);

    set_persistent(connection, path, hf_jute_get_int(&body) == 1);
    zk_answer_error(connection, request->xid, 0);
}

static void answer_remove_watches(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    struct hf_jute_reader body = {request->body, request->bytes, false};
    const char *path = take_path(connection->sim, &body);
    /* 1: child watches, 2: data watches, 3: both. */
    int32_t type = hf_jute_get_int(&body);
    bool found = false;

    if (type != 2)
        found |= zk_watch_unset(connection, path, true);
    if (type != 1)
        found |= zk_watch_unset(connection, path, false);
    zk_answer_error(connection, request->xid, found ? 0 : HF_ZK_NO_WATCHER);
}

/* ------------------------------------------------------------------- all -- */

/* Everything that needs a leader is refused (ReadOnlyRequestProcessor), but the
 * end of a session that is its own. */
void zk_answer_reader(struct zk_request *request)
{
    struct zk_connection *connection = request->connection;
    bool closes = request->opcode == HF_ZK_CLOSE_SESSION &&
                  request->session->local != NULL;

    if (!zk_needs_leader(request)) {
        zk_answer(request);
        return;
    }
    zk_answer_error(connection, request->xid, closes ? 0 : HF_ZK_NOT_READ_ONLY);
    if (closes)
        zk_connection_close_server(connection);
}

/* A request whose leader's part is done, or that needs none. */
void zk_answer(struct zk_request *request)
{
    if (request->throttled) {
        zk_answer_error(request->connection, request->xid, HF_ZK_THROTTLED);
        return;
    }
    switch (request->opcode) {
    case ZK_CREATE_SESSION:
        answer_create_session(request);
        break;
    case HF_ZK_SYNC:
        answer_sync(request);
        break;
    case HF_ZK_PING:
        zk_answer_error(request->connection, request->xid, 0);
        break;
    case HF_ZK_SET_WATCHES:
    case HF_ZK_SET_WATCHES2:
        answer_set_watches(request);
        break;
    case HF_ZK_ADD_WATCH:
        answer_add_watch(request);
        break;
    case HF_ZK_REMOVE_WATCHES:
        answer_remove_watches(request);
        break;
    case HF_ZK_MULTI_READ:
        answer_multi_read(request);
        break;
    case HF_ZK_GET_DATA:
    case HF_ZK_EXISTS:
    case HF_ZK_GET_CHILDREN:
    case HF_ZK_GET_CHILDREN2:
    case HF_ZK_GET_ACL:
        answer_read(request);
        break;
    default:
        if (request->txn != NULL)
            answer_write(request);
        else /* a CHECK outside a multi, which clients may not send */
            zk_answer_error(request->connection, request->xid,
                            HF_ZK_UNIMPLEMENTED);
    }
}
