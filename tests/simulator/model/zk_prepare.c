/* SPDX-License-Identifier: Apache-2.0 */
/* The leader makes a transaction of each request (PrepRequestProcessor of
 * ZooKeeper).  It decides as if all proposals before this one were committed:
 * the change records show nodes as they will be then.  A request that fails is
 * a transaction too, an error. */
#include "simulator/model/zk_internal.h"

#include <stdio.h>
#include <string.h>

#include "engines/zookeeper/node_name.h"
#include "engines/zookeeper/zk_queue.h"

#define RUNTIME_INCONSISTENCY (-2)
#define PATH_BYTES 2048

/* One operation: a request, or a part of a multi. */
struct op {
    int32_t opcode;
    char path[PATH_BYTES];
    struct hf_jute_piece data;
    int32_t flags;
    int32_t version;
    const struct zk_identities *who; /* NULL: the servers themselves */
    const struct zk_acl *acl;
    int32_t acl_error; /* of .acl; 0: it can be used */
    bool malformed;
};

/* --------------------------------------------------------------- changes -- */

static const struct zk_change_record *
find_change(const struct zk_server *leader, const char *path)
{
    const struct zk_change_record *change = leader->changes;

    while (change != NULL && strcmp(change->path, path) != 0)
        change = change->next;
    return change;
}

/* The node as it will be when all proposals are committed. */
static struct zk_change_record look_up(const struct zk_server *leader,
                                       const char *path)
{
    const struct zk_change_record *change = find_change(leader, path);
    const struct zk_node *node;

    if (change != NULL)
        return *change;
    node = zk_find(&leader->replica, path);
    if (node == NULL)
        return (struct zk_change_record){.path = path};
    return (struct zk_change_record){.path = node->path,
                                     .exists = true,
                                     .container = node->container,
                                     .owner = node->owner,
                                     .acl = node->acl,
                                     .aversion = node->aversion,
                                     .cversion = node->cversion,
                                     .version = node->version,
                                     .children = node->children};
}

/* What later requests will see of the node. */
static void record_change(struct zk_server *leader,
                          struct zk_change_record change, int64_t zxid)
{
    struct zk_change_record *kept = sim_alloc(leader->sim, sizeof *kept);

    *kept = change;
    kept->path = sim_strdup(leader->sim, change.path);
    kept->zxid = zxid;
    kept->next = leader->changes;
    leader->changes = kept;
}

void zk_change_records_drop(struct zk_server *leader, int64_t zxid)
{
    struct zk_change_record **at = &leader->changes;

    while (*at != NULL && (*at)->zxid > zxid)
        at = &(*at)->next;
    *at = NULL;
}

/* ------------------------------------------------------------- decisions -- */

static struct zk_txn *txn_new(struct hf_sim *sim, int32_t opcode)
{
    struct zk_txn *txn = sim_alloc(sim, sizeof *txn);

    txn->opcode = opcode;
    txn->made_us = sim->now_us;
    txn->wall_ms = sim_wall_ms(sim);
    return txn;
}

static void fail(struct zk_txn *txn, int32_t error)
{
    txn->opcode = HF_ZK_ERROR_RESULT;
    txn->error = error;
}

static void parent_of(const char *path, char parent[PATH_BYTES])
{
    size_t bytes = zk_parent_bytes(path);

    snprintf(parent, PATH_BYTES, "%.*s", bytes == 0 ? 1 : (int)bytes, path);
}

static bool valid(const char *path)
{
    size_t bytes = strlen(path);

    return path[0] == '/' && bytes + 12 < PATH_BYTES &&
           strstr(path, "//") == NULL && (bytes == 1 || path[bytes - 1] != '/');
}

/* 0, or the error that a create below ${parent} fails with. */
static int32_t may_create(const struct zk_server *leader, const struct op *op,
                          const struct zk_change_record *parent)
{
    struct hf_sim *sim = leader->sim;

    if (op->acl_error != 0)
        return op->acl_error;
    if (!parent->exists)
        return HF_ZK_NO_NODE;
    if (!zk_acl_permits(parent->acl, ZK_PERM_CREATE, op->who))
        return HF_ZK_NO_AUTH;
    if (parent->owner != NULL)
        return HF_ZK_NO_CHILDREN_FOR_EPHEMERALS;
    if (sim->zk->denied != NULL && strcmp(sim->zk->denied, parent->path) == 0)
        return HF_ZK_NO_AUTH;
    return 0;
}

static void keep_data(struct hf_sim *sim, struct zk_txn *txn,
                      struct hf_jute_piece data)
{
    uint8_t *copy = sim_alloc(sim, data.count + 1);

    if (data.count > 0)
        memcpy(copy, data.bytes, data.count);
    txn->data = copy;
    txn->bytes = data.count;
}

/* The leader numbers sequential nodes by the counter of the parent. */
static void create(struct zk_server *leader, struct zk_txn *txn, struct op *op,
                   int64_t zxid)
{
    char parent_path[PATH_BYTES];
    struct zk_change_record parent;
    struct zk_change_record made = {.exists = true};
    int32_t error;

    parent_of(op->path, parent_path);
    parent = look_up(leader, parent_path);
    error = may_create(leader, op, &parent);
    if (error != 0) {
        fail(txn, error);
        return;
    }
    if (op->flags == 2 || op->flags == HF_ZK_EPHEMERAL_SEQUENTIAL)
        snprintf(op->path + strlen(op->path), 12, "%010d", parent.cversion);
    if (look_up(leader, op->path).exists) {
        fail(txn, HF_ZK_NODE_EXISTS);
        return;
    }
    txn->path = sim_strdup(leader->sim, op->path);
    txn->ephemeral = op->flags == 1 || op->flags == HF_ZK_EPHEMERAL_SEQUENTIAL;
    txn->container = op->opcode == HF_ZK_CREATE_CONTAINER;
    txn->acl = op->acl;
    keep_data(leader->sim, txn, op->data);
    /* As in ZooKeeper, the counter becomes negative after 2^31 - 1. */
    txn->parent_cversion = (int32_t)((uint32_t)parent.cversion + 1);
    parent.cversion = txn->parent_cversion;
    parent.children++;
    record_change(leader, parent, zxid);
    made.path = txn->path;
    made.owner = txn->ephemeral ? txn->session : NULL;
    made.container = txn->container;
    made.acl = txn->acl;
    record_change(leader, made, zxid);
}

static void delete (struct zk_server *leader, struct zk_txn *txn, struct op *op,
                    int64_t zxid)
{
    struct zk_change_record node = look_up(leader, op->path);
    char parent_path[PATH_BYTES];
    struct zk_change_record parent;

    parent_of(op->path, parent_path);
    parent = look_up(leader, parent_path);
    if (!parent.exists)
        fail(txn, HF_ZK_NO_NODE);
    else if (!zk_acl_permits(parent.acl, ZK_PERM_DELETE, op->who))
        fail(txn, HF_ZK_NO_AUTH);
    else if (!node.exists)
        fail(txn, HF_ZK_NO_NODE);
    else if (strcmp(op->path, "/") == 0 ||
             (op->opcode == ZK_DELETE_CONTAINER && !node.container))
        fail(txn, HF_ZK_BAD_ARGUMENTS);
    else if (op->version != -1 && op->version != node.version)
        fail(txn, HF_ZK_BAD_VERSION);
    else if (node.children > 0)
        fail(txn, HF_ZK_NOT_EMPTY);
    if (txn->opcode == HF_ZK_ERROR_RESULT)
        return;
    txn->path = sim_strdup(leader->sim, op->path);
    node.exists = false;
    record_change(leader, node, zxid);
    parent.children--;
    record_change(leader, parent, zxid);
}

/* CHECK and SET_DATA need the node in the same way. */
static void check(struct zk_server *leader, struct zk_txn *txn, struct op *op,
                  int64_t zxid)
{
    struct zk_change_record node = look_up(leader, op->path);

    if (!node.exists) {
        fail(txn, HF_ZK_NO_NODE);
        return;
    }
    if (!zk_acl_permits(
            node.acl, op->opcode == HF_ZK_CHECK ? ZK_PERM_READ : ZK_PERM_WRITE,
            op->who)) {
        fail(txn, HF_ZK_NO_AUTH);
        return;
    }
    if (op->version != -1 && op->version != node.version) {
        fail(txn, HF_ZK_BAD_VERSION);
        return;
    }
    txn->path = sim_strdup(leader->sim, op->path);
    if (op->opcode == HF_ZK_CHECK)
        return;
    keep_data(leader->sim, txn, op->data);
    txn->version = ++node.version;
    record_change(leader, node, zxid);
}

static void set_acl(struct zk_server *leader, struct zk_txn *txn, struct op *op,
                    int64_t zxid)
{
    struct zk_change_record node = look_up(leader, op->path);

    if (op->acl_error != 0)
        fail(txn, op->acl_error);
    else if (!node.exists)
        fail(txn, HF_ZK_NO_NODE);
    else if (!zk_acl_permits(node.acl, ZK_PERM_ADMIN, op->who))
        fail(txn, HF_ZK_NO_AUTH);
    else if (op->version != -1 && op->version != node.aversion)
        fail(txn, HF_ZK_BAD_VERSION);
    if (txn->opcode == HF_ZK_ERROR_RESULT)
        return;
    txn->path = sim_strdup(leader->sim, op->path);
    txn->acl = node.acl = op->acl;
    txn->version = ++node.aversion;
    record_change(leader, node, zxid);
}

/* Record the deletion of the committed ephemeral nodes of a session that
 * closes, from ${node} on downwards, unless they will be another's by then.
 * After this the leader refuses all writes of the session. */
static void close_session(struct zk_server *leader, struct zk_session *session,
                          const struct zk_node *node, int64_t zxid)
{
    for (const struct zk_node *c = node->first; c != NULL; c = c->next)
        close_session(leader, session, c, zxid);
    if (node->owner == session &&
        look_up(leader, node->path).owner == session) {
        struct zk_txn txn = {.session = session};
        struct op op = {.opcode = HF_ZK_DELETE, .version = -1};

        snprintf(op.path, sizeof op.path, "%s", node->path);
        delete (leader, &txn, &op, zxid);
    }
}

/* The same for nodes that are proposed and not committed. */
static void close_proposed(struct zk_server *leader, struct zk_session *session,
                           int64_t zxid)
{
    for (const struct zk_change_record *c = leader->changes; c != NULL;
         c = c->next) {
        struct zk_txn txn = {.session = session};
        struct op op = {.opcode = HF_ZK_DELETE, .version = -1};

        if (!c->exists || c->owner != session ||
            find_change(leader, c->path) != c)
            continue;
        snprintf(op.path, sizeof op.path, "%s", c->path);
        delete (leader, &txn, &op, zxid);
    }
}

/* Decide on one operation: fills in ${txn}, or makes it an error. */
static void apply_op(struct zk_server *leader, struct zk_txn *txn,
                     struct op *op, int64_t zxid)
{
    if (op->malformed) {
        fail(txn, HF_ZK_MARSHALLING);
        return;
    }
    if (!valid(op->path)) {
        fail(txn, HF_ZK_BAD_ARGUMENTS);
        return;
    }
    switch (op->opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        create(leader, txn, op, zxid);
        break;
    case HF_ZK_DELETE:
    case ZK_DELETE_CONTAINER:
        delete (leader, txn, op, zxid);
        break;
    case HF_ZK_CHECK:
    case HF_ZK_SET_DATA:
        check(leader, txn, op, zxid);
        break;
    case HF_ZK_SET_ACL:
        set_acl(leader, txn, op, zxid);
        break;
    default:
        fail(txn, HF_ZK_UNIMPLEMENTED);
    }
}

/* -------------------------------------------------------------- requests -- */

static void read_path(struct hf_jute_reader *body, struct op *op)
{
    struct hf_jute_piece path = hf_jute_get_buffer(body);

    if (path.count + 12 >= sizeof op->path)
        op->malformed = true;
    else if (path.count > 0)
        memcpy(op->path, path.bytes, path.count);
}

/* Decode one operation of ${request}. */
static void read_op(struct hf_sim *sim, const struct zk_request *request,
                    struct hf_jute_reader *body, int32_t opcode, struct op *op)
{
    memset(op, 0, sizeof *op);
    op->who = &request->who;
    op->opcode = opcode;
    op->version = -1;
    read_path(body, op);
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        op->data = hf_jute_get_buffer(body);
        op->acl_error = zk_acl_read(sim, body, op->who, &op->acl);
        op->flags = hf_jute_get_int(body);
        break;
    case HF_ZK_SET_DATA:
        op->data = hf_jute_get_buffer(body);
        op->version = hf_jute_get_int(body);
        break;
    case HF_ZK_SET_ACL:
        op->acl_error = zk_acl_read(sim, body, op->who, &op->acl);
        op->version = hf_jute_get_int(body);
        break;
    default:
        op->version = hf_jute_get_int(body);
    }
    op->malformed |= body->failed;
}

static bool denies(struct hf_sim *sim)
{
    return sim_happens(sim, sim->config.deny_chance);
}

/* In a multi that failed, operations before the failed one have the error 0 and
 * those after it RUNTIME_INCONSISTENCY, as in ZooKeeper. */
static void fail_parts(struct zk_txn *txn)
{
    bool after_failed = false;

    for (struct zk_txn *p = txn->parts; p != NULL; p = p->next) {
        if (p->opcode == HF_ZK_ERROR_RESULT && p->error != 0)
            after_failed = true;
        else
            fail(p, after_failed ? RUNTIME_INCONSISTENCY : 0);
    }
}

/* A multi succeeds or fails as a whole.  ${error}: if not 0, its first
 * operation fails with it. */
static void multi(struct zk_server *leader, struct zk_txn *txn,
                  struct hf_jute_reader *body, int32_t error, int64_t zxid)
{
    struct zk_change_record *before = leader->changes;
    struct zk_txn **end = &txn->parts;
    bool failed = false;
    struct op op;

    for (;;) {
        int32_t opcode = hf_jute_get_int(body);
        bool last = hf_jute_get_bool(body);

        (void)hf_jute_get_int(body);
        if (last || body->failed)
            break;
        read_op(leader->sim, txn->request, body, opcode, &op);
        *end = txn_new(leader->sim, opcode);
        (*end)->session = txn->session;
        if (error != 0 && !failed)
            fail(*end, error);
        else if (!failed && opcode == HF_ZK_CREATE && denies(leader->sim))
            fail(*end, HF_ZK_NO_AUTH);
        else if (!failed)
            apply_op(leader, *end, &op, zxid);
        failed |= (*end)->opcode == HF_ZK_ERROR_RESULT;
        end = &(*end)->next;
    }
    if (!failed)
        return;
    leader->changes = before;
    fail_parts(txn);
}

/* A write of a session that has ended or moved fails, see
 * zk_session_check(). */
struct zk_txn *zk_prepare(struct zk_server *leader, struct zk_request *request,
                          const struct zk_server *from, int64_t zxid)
{
    struct zk_txn *txn = txn_new(leader->sim, request->opcode);
    struct hf_jute_reader body = {request->body, request->bytes, false};
    int32_t error = 0;
    struct op op;

    txn->zxid = zxid;
    txn->request = request;
    txn->session = request->session;
    if (request->opcode == ZK_CREATE_SESSION) {
        zk_session_track(leader, request->session, request->timeout_ms);
        request->session->owner[leader->index] = from;
        return txn;
    }
    if (!request->late || !leader->sim->config.ensemble.ignores_moves)
        error = zk_session_check(leader, request->session, from);
    if (request->opcode == HF_ZK_CLOSE_SESSION) {
        close_proposed(leader, request->session, zxid);
        close_session(leader, request->session, leader->replica.root, zxid);
        request->session->closing[leader->index] = true;
    } else if (request->opcode == HF_ZK_MULTI) {
        multi(leader, txn, &body, error, zxid);
    } else if (error != 0) {
        fail(txn, error);
    } else {
        read_op(leader->sim, request, &body, request->opcode, &op);
        if (request->opcode != HF_ZK_DELETE && denies(leader->sim))
            fail(txn, HF_ZK_NO_AUTH);
        else
            apply_op(leader, txn, &op, zxid);
    }
    return txn;
}

/* -------------------------------------------------------------- commands -- */

static bool has_ticket(const char *path, const struct hf_ticket_id *ticket)
{
    const char *name = strrchr(path, '/') + 1;
    struct hf_zk_engine_node node;

    return (hf_zk_engine_node_parse(name, strlen(name), &node) ||
            hf_zk_engine_permit_parse(name, strlen(name), &node)) &&
           hf_ticket_id_equal(&node.id, ticket);
}

static const char *path_below(const struct zk_node *node,
                              const struct hf_ticket_id *ticket)
{
    for (const struct zk_node *c = node->first; c != NULL; c = c->next) {
        const char *path =
            has_ticket(c->path, ticket) ? c->path : path_below(c, ticket);

        if (path != NULL)
            return path;
    }
    return NULL;
}

/* The path of the node with that ticket, proposed or committed; NULL: none. */
static const char *path_with(const struct zk_server *leader,
                             const struct hf_ticket_id *ticket)
{
    for (const struct zk_change_record *c = leader->changes; c != NULL;
         c = c->next) {
        if (c->exists && has_ticket(c->path, ticket))
            return c->path;
    }
    return path_below(leader->replica.root, ticket);
}

/* A command needs no session of a client, and is not throttled or denied. */
struct zk_txn *zk_prepare_command(struct zk_server *leader,
                                  struct zk_command *command, int64_t zxid)
{
    struct zk_txn *txn = txn_new(leader->sim, command->opcode);
    const char *path = command->path;
    struct op op = {.opcode = command->opcode, .version = -1};

    txn->zxid = zxid;
    txn->session = command->session;
    txn->command = command;
    if (command->opcode == HF_ZK_CLOSE_SESSION) {
        close_proposed(leader, command->session, zxid);
        close_session(leader, command->session, leader->replica.root, zxid);
        command->session->closing[leader->index] = true;
        return txn;
    }
    if (command->by_ticket)
        path = path_with(leader, &command->ticket);
    if (path == NULL) {
        fail(txn, HF_ZK_NO_NODE);
        return txn;
    }
    snprintf(op.path, sizeof op.path, "%s", path);
    if (command->opcode == HF_ZK_CREATE && command->session != NULL)
        op.flags = command->sequential ? HF_ZK_EPHEMERAL_SEQUENTIAL : 1;
    op.data.bytes = "another";
    op.data.count =
        command->session != NULL || command->opcode == HF_ZK_SET_DATA ? 7 : 0;
    apply_op(leader, txn, &op, zxid);
    return txn;
}
