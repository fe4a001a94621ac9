/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas: trees of znodes, and transactions applied to them
 * (DataTree.processTxn() of ZooKeeper).  A server's replica fires its watches;
 * the committed replica updates the queues that the checks read.
 */
#include "simulator/model/zk_internal.h"

#include <assert.h>
#include <string.h>

/* ----------------------------------------------------------------- nodes -- */

/* Nodes of all replicas are used again after they were deleted. */
static struct zk_node *node_new(struct hf_sim *sim)
{
    struct zk_node *node = sim->zk->spare_nodes;

    if (node == NULL)
        return sim_alloc(sim, sizeof *node);
    sim->zk->spare_nodes = node->next;
    *node = (struct zk_node){0};
    return node;
}

static void node_free(struct hf_sim *sim, struct zk_node *node)
{
    node->next = sim->zk->spare_nodes;
    sim->zk->spare_nodes = node;
}

void zk_replica_init(struct zk_replica *replica, struct hf_sim *sim,
                     struct zk_server *server, unsigned index)
{
    *replica =
        (struct zk_replica){.sim = sim, .server = server, .index = index};
    replica->root = node_new(sim);
    replica->root->path = "/";
    replica->root->name = "";
}

int64_t zk_replica_zxid(const struct zk_replica *replica)
{
    return replica->applied == NULL ? 0 : replica->applied->zxid;
}

size_t zk_parent_bytes(const char *path)
{
    const char *last = strrchr(path, '/');

    assert(last != NULL);
    return (size_t)(last - path);
}

static struct zk_node *child_of(const struct zk_node *node, const char *name,
                                size_t bytes)
{
    struct zk_node *child = node->first;

    while (child != NULL && (strncmp(child->name, name, bytes) != 0 ||
                             child->name[bytes] != '\0'))
        child = child->next;
    return child;
}

/* The node at the first ${bytes} of ${path}, or NULL. */
static struct zk_node *find(const struct zk_replica *replica, const char *path,
                            size_t bytes)
{
    struct zk_node *node = replica->root;
    size_t at = 1;

    while (at < bytes && node != NULL) {
        size_t length = 0;

        while (at + length < bytes && path[at + length] != '/')
            length++;
        node = child_of(node, path + at, length);
        at += length + 1;
    }
    return node;
}

struct zk_node *zk_find(const struct zk_replica *replica, const char *path)
{
    return find(replica, path, strlen(path));
}

/* Write the Stat that clients are shown. */
void zk_put_stat(struct hf_jute_writer *out, const struct zk_node *node)
{
    /* Stat.cversion counts creates and deletes; .cversion here only creates. */
    uint32_t both = 2 * (uint32_t)node->cversion - (uint32_t)node->children;

    hf_jute_put_long(out, node->czxid);
    hf_jute_put_long(out, node->mzxid);
    hf_jute_put_long(out, (int64_t)node->ctime_ms);
    hf_jute_put_long(out, (int64_t)node->mtime_ms);
    hf_jute_put_int(out, node->version);
    hf_jute_put_int(out, (int32_t)both);
    hf_jute_put_int(out, node->aversion);
    /* A container has an ephemeralOwner of -2^63 in ZooKeeper, which clients
     * are not shown either. */
    hf_jute_put_long(out, node->owner == NULL ? 0 : node->owner->id);
    hf_jute_put_int(out, (int32_t)node->bytes);
    hf_jute_put_int(out, node->children);
    hf_jute_put_long(out, node->pzxid);
}

/* ---------------------------------------------------------- transactions -- */

static void fire(struct zk_replica *replica, const struct zk_node *node,
                 int32_t type)
{
    if (replica->server != NULL)
        zk_watches_fire(replica->server, node->path, false, type, node->acl, 0);
}

/* The watches of both managers fire, and a connection gets one event. */
static void fire_deleted(struct zk_replica *replica, const struct zk_node *node)
{
    struct zk_server *server = replica->server;
    uint64_t number;

    if (server == NULL)
        return;
    number = zk_watches_fire(server, node->path, false, HF_ZK_NODE_DELETED,
                             node->acl, 0);
    zk_watches_fire(server, node->path, true, HF_ZK_NODE_DELETED, node->acl,
                    number);
}

/* A child was created or deleted: the parent's child watches fire. */
static void fire_parent(struct zk_replica *replica,
                        const struct zk_node *parent)
{
    if (replica->server != NULL)
        zk_watches_fire(replica->server, parent->path, true,
                        HF_ZK_NODE_CHILDREN_CHANGED, parent->acl, 0);
}

/* The counter of the parent comes from the transaction, because only the leader
 * has counted it. */
static void create(struct zk_replica *replica, const struct zk_txn *txn,
                   int64_t zxid)
{
    size_t bytes = zk_parent_bytes(txn->path);
    struct zk_node *parent = find(replica, txn->path, bytes);
    struct zk_node *node = node_new(replica->sim);

    assert(parent != NULL);
    node->path = txn->path;
    node->name = txn->path + bytes + 1;
    node->data = txn->data;
    node->bytes = txn->bytes;
    node->czxid = node->mzxid = node->pzxid = zxid;
    node->ctime_ms = node->mtime_ms = txn->wall_ms;
    node->written_us = txn->made_us;
    node->owner = txn->ephemeral ? txn->session : NULL;
    node->container = txn->container;
    node->acl = txn->acl;
    node->parent = parent;
    node->next = parent->first;
    parent->first = node;
    parent->children++;
    /* Taken only if it is larger: at the end of its range the counter stays as
     * it is, as in ZooKeeper. */
    if (txn->parent_cversion > parent->cversion) {
        parent->cversion = txn->parent_cversion;
        parent->pzxid = zxid;
    }
    if (replica->server == NULL) {
        zk_committed_create(replica->sim, node, txn->next);
        zk_committed_observe(replica->sim, HF_SIM_NODE_CREATED, node);
    }
    fire(replica, node, HF_ZK_NODE_CREATED);
    fire_parent(replica, parent);
}

/* The node has no children.  Data and child watches of it fire, and child
 * watches of its parent. */
static void delete_node(struct zk_replica *replica, struct zk_node *node,
                        int64_t zxid)
{
    struct zk_node *parent = node->parent;
    struct zk_node **at = &parent->first;

    assert(node->first == NULL);
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    parent->children--;
    parent->pzxid = zxid;
    if (replica->server == NULL) {
        zk_committed_delete(replica->sim, node);
        zk_committed_observe(replica->sim, HF_SIM_NODE_DELETED, node);
    }
    fire_deleted(replica, node);
    fire_parent(replica, parent);
    node_free(replica->sim, node);
}

/* A session has ended: delete its ephemeral nodes, children first. */
static void delete_owned(struct zk_replica *replica, struct zk_node *node,
                         const struct zk_session *owner, int64_t zxid)
{
    struct zk_node *next;

    for (struct zk_node *child = node->first; child != NULL; child = next) {
        next = child->next;
        delete_owned(replica, child, owner, zxid);
    }
    if (node->owner == owner)
        delete_node(replica, node, zxid);
}

static void set_data(struct zk_replica *replica, const struct zk_txn *txn,
                     int64_t zxid)
{
    struct zk_node *node = zk_find(replica, txn->path);

    assert(node != NULL);
    node->data = txn->data;
    node->bytes = txn->bytes;
    node->version = txn->version;
    node->mzxid = zxid;
    node->mtime_ms = txn->wall_ms;
    node->written_us = txn->made_us;
    if (replica->server == NULL) {
        zk_committed_write(replica->sim, node);
        zk_committed_observe(replica->sim, HF_SIM_NODE_WRITTEN, node);
    }
    fire(replica, node, HF_ZK_NODE_DATA_CHANGED);
}

/* No watch is notified of this. */
static void set_acl(struct zk_replica *replica, const struct zk_txn *txn)
{
    struct zk_node *node = zk_find(replica, txn->path);

    assert(node != NULL);
    node->acl = txn->acl;
    node->aversion = txn->version;
    if (replica->server == NULL)
        zk_committed_observe(replica->sim, HF_SIM_NODE_ACL_SET, node);
}

/* Apply one operation.  It cannot fail, because the leader has checked it. */
static void carry_out(struct zk_replica *replica, const struct zk_txn *txn,
                      int64_t zxid)
{
    struct zk_node *node;

    switch (txn->opcode) {
    case ZK_CREATE_SESSION:
        txn->session->known[replica->index] = true;
        break;
    case HF_ZK_CLOSE_SESSION:
        txn->session->known[replica->index] = false;
        delete_owned(replica, replica->root, txn->session, zxid);
        break;
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        create(replica, txn, zxid);
        break;
    case HF_ZK_DELETE:
    case ZK_DELETE_CONTAINER:
        node = zk_find(replica, txn->path);
        assert(node != NULL);
        delete_node(replica, node, zxid);
        break;
    case HF_ZK_SET_DATA:
        set_data(replica, txn, zxid);
        break;
    case HF_ZK_SET_ACL:
        set_acl(replica, txn);
        break;
    case HF_ZK_MULTI:
        for (const struct zk_txn *p = txn->parts; p != NULL; p = p->next)
            carry_out(replica, p, zxid);
        break;
    default:
        break; /* CHECK, and errors */
    }
}

/* .previous leads backwards, so the chain is turned round first. */
void zk_catch_up(struct zk_replica *replica, struct zk_txn *txn)
{
    struct zk_txn *next = NULL;

    for (struct zk_txn *t = txn; t != replica->applied; t = t->previous) {
        assert(t != NULL && t->zxid > zk_replica_zxid(replica));
        t->following = next;
        next = t;
    }
    while (next != NULL) {
        replica->applied = next;
        carry_out(replica, next, next->zxid);
        if (replica->server == NULL)
            zk_committed_end(replica->sim);
        if (replica->server == NULL && next->command != NULL)
            next->command->done = true;
        next = next == txn ? NULL : next->following;
    }
}
