/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of nodes as an array of paths: it is small, and nothing in it is fast.
 */
#include "zk_fake_server.h"

#include <string.h>

#include "engines/zookeeper/zk_watches.h"
#include "zookeeper/zk_wire.h"

#define LIST_BYTES (ZK_FAKE_NODES * ZK_FAKE_PATH_BYTES)
#define ZK_FAKE_MULTI_BYTES ZK_FIXTURE_TEXT_BYTES

static struct zk_fake_node *find(struct zk_fake_server *h, const char *path)
{
    for (size_t i = 0; i < h->count; i++) {
        if (strcmp(h->nodes[i].path, path) == 0)
            return &h->nodes[i];
    }
    return NULL;
}

/* The length of the path of the parent; 0: that is the root. */
static size_t above(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

static bool has_parent(struct zk_fake_server *h, const char *path)
{
    char parent[ZK_FAKE_PATH_BYTES];

    snprintf(parent, sizeof parent, "%.*s", (int)above(path), path);
    return parent[0] == '\0' || find(h, parent) != NULL;
}

static struct zk_fake_node *add(struct zk_fake_server *h, const char *path,
                                int64_t czxid, int64_t owner)
{
    struct zk_fake_node *node = &h->nodes[h->count];

    ZK_FIXTURE_MUST(h->count < ZK_FAKE_NODES &&
                    strlen(path) < sizeof node->path);
    memset(node, 0, sizeof *node);
    strcpy(node->path, path);
    node->czxid = czxid;
    node->owner = owner;
    h->count++;
    return node;
}

/* The parent of ${child} has got or lost a child: fire its watch. */
static void change_parent(struct zk_fixture *f, struct zk_fake_server *h,
                          const char *child)
{
    char path[ZK_FAKE_PATH_BYTES];
    struct zk_fake_node *node;
    bool notify;

    snprintf(path, sizeof path, "%.*s", (int)above(child), child);
    node = find(h, path);
    if (node == NULL)
        return;
    node->children_zxid = f->zxid;
    notify = node->child_watch && f->connected;
    node->child_watch = false;
    if (notify)
        event_at(f, HF_ZK_NODE_CHILDREN_CHANGED, path);
}

/* Remove a node.  Its watches fire before the answer to the call that removes
 * it, as the protocol promises. */
static void drop(struct zk_fixture *f, struct zk_fake_server *h,
                 struct zk_fake_node *node)
{
    struct zk_fake_node was = *node;

    memmove(node, node + 1,
            (size_t)(h->nodes + h->count - node - 1) * sizeof *node);
    h->count--;
    if ((was.data_watch || was.child_watch) && f->connected)
        event_at(f, HF_ZK_NODE_DELETED, was.path);
    change_parent(f, h, was.path);
}

/* ----------------------------------------------------------------- calls -- */

/* Deliver a watch event and the answer behind it as one piece: after an event
 * alone the client may end the link. */
static void in_one_begin(struct zk_fixture *f, bool *was_holding)
{
    *was_holding = f->holding;
    hold_answers(f);
}

static void in_one_end(struct zk_fixture *f, bool was_holding)
{
    if (!was_holding)
        deliver_answers(f);
}

static void make_ticket(struct zk_fixture *f, struct zk_fake_server *h,
                        const char *prefix)
{
    char path[ZK_FAKE_PATH_BYTES];
    bool was_holding;

    if (!has_parent(h, prefix)) {
        refused(f, HF_ZK_NO_NODE);
        return;
    }
    if (h->count == ZK_FAKE_NODES) {
        refused(f, HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    snprintf(path, sizeof path, "%s%010d", prefix, h->sequence);
    add(h, path, f->zxid, f->session)->weight = 1;
    in_one_begin(f, &was_holding);
    change_parent(f, h, path);
    created(f, h->sequence++, f->zxid);
    in_one_end(f, was_holding);
}

static bool is_participant(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct hf_zk_engine_node node;

    return hf_zk_engine_participant_parse(name, strlen(name), &node);
}

/* A participant: its name is that of the create, without a number. */
static void make_participant(struct zk_fixture *f, struct zk_fake_server *h,
                             const char *path)
{
    bool was_holding;

    if (!has_parent(h, path)) {
        refused(f, HF_ZK_NO_NODE);
        return;
    }
    if (find(h, path) != NULL || h->count == ZK_FAKE_NODES) {
        refused(f, find(h, path) != NULL ? HF_ZK_NODE_EXISTS
                                         : HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    add(h, path, f->zxid, f->session)->weight = 1;
    in_one_begin(f, &was_holding);
    change_parent(f, h, path);
    participant_created(f, f->zxid);
    in_one_end(f, was_holding);
}

/* A lease: ${count} nodes of one prefix.  ${prefixes} has it that often, each
 * with "+" in front. */
static void make_lease(struct zk_fixture *f, struct zk_fake_server *h,
                       char *prefixes, int32_t count)
{
    char *prefix = strtok(prefixes, " ") + 1;
    char path[ZK_FAKE_PATH_BYTES];
    bool was_holding;

    if (!has_parent(h, prefix)) {
        multi_failed(f, 0, HF_ZK_NO_NODE);
        return;
    }
    if (h->count + (size_t)count > ZK_FAKE_NODES) {
        multi_failed(f, 0, HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s%010d", prefix, h->sequence++);
        add(h, path, f->zxid, f->session)->weight = count;
    }
    in_one_begin(f, &was_holding);
    change_parent(f, h, path);
    created_all(f, h->sequence - count);
    in_one_end(f, was_holding);
}

static void make_parent(struct zk_fixture *f, struct zk_fake_server *h,
                        int32_t opcode, const char *path)
{
    if (h->no_containers && opcode == HF_ZK_CREATE_CONTAINER) {
        refused(f, HF_ZK_UNIMPLEMENTED);
    } else if (!has_parent(h, path)) {
        refused(f, HF_ZK_NO_NODE);
    } else if (find(h, path) != NULL) {
        refused(f, HF_ZK_NODE_EXISTS);
    } else if (h->count == ZK_FAKE_NODES) {
        refused(f, HF_ZK_QUOTA_EXCEEDED);
    } else {
        (void)add(h, path, f->zxid, 0);
        done(f);
    }
}

static size_t count_children(const struct zk_fake_server *h, const char *path)
{
    size_t count = 0;

    for (size_t i = 0; i < h->count; i++)
        count += above(h->nodes[i].path) == strlen(path) &&
                 strncmp(h->nodes[i].path, path, strlen(path)) == 0;
    return count;
}

static void delete_node(struct zk_fixture *f, struct zk_fake_server *h,
                        const char *path)
{
    struct zk_fake_node *node = find(h, path);
    bool was_holding;

    if (node == NULL) {
        refused(f, HF_ZK_NO_NODE);
        return;
    }
    if (count_children(h, path) > 0) {
        refused(f, HF_ZK_NOT_EMPTY);
        return;
    }
    in_one_begin(f, &was_holding);
    drop(f, h, node);
    done(f);
    in_one_end(f, was_holding);
}

static void list_children(struct zk_fixture *f, struct zk_fake_server *h,
                          const char *path, bool watch)
{
    static char list[LIST_BYTES];
    struct zk_fake_node *node = find(h, path);
    size_t used = 0;

    list[0] = '\0';
    if (node == NULL) {
        refused(f, HF_ZK_NO_NODE);
        return;
    }
    node->child_watch |= watch;
    for (size_t i = 0; i < h->count; i++) {
        const char *name = h->nodes[i].path;

        if (above(name) != strlen(path) ||
            strncmp(name, path, strlen(path)) != 0)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s ",
                                 name + above(name) + 1);
    }
    children(f, list);
}

static void read_node(struct zk_fixture *f, struct zk_fake_node *node,
                      int32_t opcode, bool watch)
{
    if (node == NULL) {
        refused(f, HF_ZK_NO_NODE);
    } else if (opcode == HF_ZK_EXISTS) {
        exists(f, node->czxid, node->owner);
    } else {
        node->data_watch |= watch;
        f->version = node->version;
        data(f, node->revoked ? HF_ZK_REVOKE : "me", node->czxid, node->owner);
    }
}

/* Write the data of a node; its watch fires before the answer. */
static void write_data(struct zk_fixture *f, struct zk_fake_node *node,
                       bool revoke)
{
    bool notify = node->data_watch && f->connected;

    node->version++;
    node->data_zxid = f->zxid;
    node->reported &= node->revoked && revoke;
    node->revoked = revoke;
    node->data_watch = false; /* it fires once */
    if (notify)
        event_at(f, HF_ZK_NODE_DATA_CHANGED, node->path);
}

static bool is_version(const struct zk_fake_node *node, int32_t version)
{
    return version == HF_ZK_ANY_VERSION || version == node->version;
}

static void set_data(struct zk_fixture *f, struct zk_fake_server *h,
                     const char *path)
{
    struct zk_fake_node *node = find(h, path);
    bool was_holding;

    if (node == NULL) {
        refused(f, HF_ZK_NO_NODE);
        return;
    }
    if (!is_version(node, f->first->version)) {
        refused(f, HF_ZK_BAD_VERSION);
        return;
    }
    h->unreported |= node->revoked && !f->first->revokes && !node->reported;
    in_one_begin(f, &was_holding);
    write_data(f, node, f->first->revokes);
    data_written(f);
    in_one_end(f, was_holding);
}

/* The error of one operation of a transaction, or HF_ZK_OK.  ${deleted} is the
 * path that an operation in front of it deletes, or NULL. */
static enum hf_zk_error refusal(struct zk_fake_server *h, const char *part,
                                const char *deleted)
{
    const char *path = part + (part[0] == '-' || part[0] == '+');
    bool was_deleted = deleted != NULL && strcmp(deleted, path) == 0;
    size_t children = count_children(h, path);

    if (strcmp(path, "/") == 0)
        return HF_ZK_OK;
    if (part[0] == '+')
        return find(h, path) == NULL || was_deleted ? HF_ZK_OK
                                                    : HF_ZK_NODE_EXISTS;
    if (find(h, path) == NULL)
        return HF_ZK_NO_NODE;
    if (deleted != NULL && above(deleted) == strlen(path) &&
        strncmp(deleted, path, strlen(path)) == 0)
        children--;
    return part[0] == '-' && children > 0 ? HF_ZK_NOT_EMPTY : HF_ZK_OK;
}

static void do_multi_op(struct zk_fixture *f, struct zk_fake_server *h,
                        const char *part)
{
    if (part[0] == '-')
        drop(f, h, find(h, part + 1));
    if (part[0] != '+')
        return;
    (void)add(h, part + 1, f->zxid, 0);
    change_parent(f, h, part + 1);
}

/* A transaction of checks, deletes ("-") and creates ("+"): all or none. */
static void check(struct zk_fixture *f, struct zk_fake_server *h,
                  const char *paths)
{
    char copy[ZK_FAKE_MULTI_BYTES], *rest = NULL;
    bool mixed = f->first->multi_opcode == HF_ZK_MULTI, was_holding;
    const char *deleted = NULL;
    int32_t nth = 0;

    strcpy(copy, paths);
    for (char *part = strtok_r(copy, " ", &rest); part != NULL;
         part = strtok_r(NULL, " ", &rest), nth++) {
        enum hf_zk_error error = refusal(h, part, deleted);

        if (error == HF_ZK_OK && part[0] == '+' && h->count == ZK_FAKE_NODES)
            error = HF_ZK_QUOTA_EXCEEDED;
        if (error != HF_ZK_OK) {
            multi_failed(f, nth, error);
            return;
        }
        deleted = part[0] == '-' ? part + 1 : deleted;
    }
    in_one_begin(f, &was_holding);
    strcpy(copy, paths);
    for (char *part = strtok_r(copy, " ", &rest); part != NULL;
         part = strtok_r(NULL, " ", &rest))
        do_multi_op(f, h, part);
    if (mixed)
        multi_done(f);
    else
        checked(f);
    in_one_end(f, was_holding);
}

/* A downgrade, "+READER -WRITER".  A request to let go at the writer must be
 * copied to the reader. */
static void downgrade(struct zk_fixture *f, struct zk_fake_server *h,
                      const char *paths)
{
    char reader[ZK_FAKE_PATH_BYTES], writer[ZK_FAKE_PATH_BYTES];
    struct zk_fake_node *node, was;
    bool was_holding;

    ZK_FIXTURE_MUST(sscanf(paths, "+%159s -%159s", reader, writer) == 2);
    node = find(h, writer);
    if (find(h, reader) != NULL || h->count == ZK_FAKE_NODES) {
        multi_failed(f, 0,
                     find(h, reader) != NULL ? HF_ZK_NODE_EXISTS
                                             : HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    if (node == NULL || !is_version(node, f->first->version)) {
        multi_failed(f, 1, node == NULL ? HF_ZK_NO_NODE : HF_ZK_BAD_VERSION);
        return;
    }
    h->unreported |= f->first->revokes != node->revoked;
    was = *node;
    node = add(h, reader, f->zxid, f->session);
    node->weight = 1;
    node->revoked = was.revoked;
    node->reported = was.reported;
    in_one_begin(f, &was_holding);
    drop(f, h, find(h, writer));
    multi_done(f);
    in_one_end(f, was_holding);
}

void zk_fake_expire(struct zk_fixture *f, struct zk_fake_server *h)
{
    for (size_t i = 0; i < h->count; i++)
        h->nodes[i].child_watch = false;
    for (size_t i = h->count; i-- > 0;) {
        if (h->nodes[i].owner == f->session) {
            h->nodes[i].data_watch = false;
            drop(f, h, &h->nodes[i]);
        }
    }
}

void zk_fake_answer(struct zk_fixture *f, struct zk_fake_server *h)
{
    int32_t opcode = f->first->opcode;
    bool watch = f->first->watch;
    int32_t parts = f->first->multi_count, part = f->first->multi_opcode;
    char path[ZK_FAKE_MULTI_BYTES] = "";

    if (f->first->path != NULL)
        snprintf(path, sizeof path, "%s", f->first->path);
    switch (opcode) {
    case HF_ZK_CREATE2:
        if (is_participant(path))
            make_participant(f, h, path);
        else
            make_ticket(f, h, path);
        break;
    case HF_ZK_CREATE:
    case HF_ZK_CREATE_CONTAINER:
        make_parent(f, h, opcode, path);
        break;
    case HF_ZK_DELETE:
        delete_node(f, h, path);
        break;
    case HF_ZK_GET_CHILDREN:
        list_children(f, h, path, watch);
        break;
    case HF_ZK_EXISTS:
    case HF_ZK_GET_DATA:
        read_node(f, find(h, path), opcode, watch);
        break;
    case HF_ZK_SET_DATA:
        set_data(f, h, path);
        break;
    case HF_ZK_MULTI:
        if (part == HF_ZK_CREATE && parts == 1 && is_participant(path + 1))
            make_participant(f, h, path + 1);
        else if (part == HF_ZK_CREATE && parts == 1 && f->first->trial)
            make_ticket(f, h, path + 1);
        else if (part == HF_ZK_CREATE)
            make_lease(f, h, path, parts);
        else if (part == HF_ZK_MULTI && path[0] == '+')
            downgrade(f, h, path);
        else
            check(f, h, path);
        break;
    case HF_ZK_CLOSE_SESSION:
        zk_fake_expire(f, h);
        done(f);
        break;
    default:
        done(f); /* SYNC */
    }
}

/* An answer leads to a few calls, so this ends an endless exchange. */
#define ANSWERS_MAX 10000

void zk_fake_serve(struct zk_fixture *f, struct zk_fake_server *h)
{
    for (int i = 0; f->first != NULL && f->connected; i++) {
        ZK_FIXTURE_MUST(i < ANSWERS_MAX);
        zk_fake_answer(f, h);
    }
}

/* ------------------------------------------------- links and sessions -- */

/* A path of a SETWATCHES: set the watch, or note the event that it missed. */
static void rewatch(struct zk_fixture *f, const char *path, bool queue,
                    int64_t since)
{
    struct zk_fake_server *h = f->on_set_watch_arg;
    struct zk_fake_node *node = find(h, path);
    struct zk_fake_missed_watch *missed = &h->missed[h->missed_count];

    if (node != NULL &&
        (queue ? node->children_zxid : node->data_zxid) <= since) {
        node->data_watch |= !queue;
        node->child_watch |= queue;
        return;
    }
    ZK_FIXTURE_MUST(h->missed_count < sizeof h->missed / sizeof h->missed[0]);
    snprintf(missed->path, sizeof missed->path, "%s", path);
    missed->type = node == NULL ? HF_ZK_NODE_DELETED
                   : queue      ? HF_ZK_NODE_CHILDREN_CHANGED
                                : HF_ZK_NODE_DATA_CHANGED;
    h->missed_count++;
}

void zk_fake_begin(struct zk_fixture *f, struct zk_fake_server *h)
{
    memset(h, 0, sizeof *h);
    f->on_set_watch = rewatch;
    f->on_set_watch_arg = h;
}

void zk_fake_connect(struct zk_fixture *f, struct zk_fake_server *h)
{
    for (size_t i = 0; i < h->count; i++)
        h->nodes[i].data_watch = h->nodes[i].child_watch = false;
    h->missed_count = 0;
    link_up(f);
    if (!f->handshake_read)
        return; /* there was no memory for a handshake */
    if (f->handshake_session != 0 && f->handshake_session != f->session) {
        refuse_session(f);
        return;
    }
    if (f->handshake_session == 0) {
        zk_fake_expire(f, h);
        f->session++;
    }
    accept_session(f);
    for (size_t i = 0; i < h->missed_count && f->connected; i++)
        event_at(f, h->missed[i].type, h->missed[i].path);
}

/* The first node of a ticket of any kind, and how many nodes it has. */
static struct zk_fake_node *find_nodes(struct zk_fake_server *h,
                                       const char *ticket, int32_t *count)
{
    const char *name = strrchr(ticket, '/') + 1;
    char path[ZK_FAKE_PATH_BYTES], uuid[HF_TICKET_ID_TEXT_BYTES];
    struct hf_ticket_id id = zk_fixture_id(name);
    struct zk_fake_node *node;

    hf_ticket_id_format(&id, uuid);
    snprintf(path, sizeof path, "/%.*s%s", (int)(name - ticket), ticket, uuid);
    node = find(h, path); /* a participant */
    *count = node != NULL;
    snprintf(path, sizeof path, "/%.*s_c_%s-", (int)(name - ticket), ticket,
             uuid);
    for (size_t i = h->count; i-- > 0;) {
        if (strncmp(h->nodes[i].path, path, strlen(path)) == 0) {
            node = &h->nodes[i];
            ++*count;
        }
    }
    return node;
}

static struct zk_fake_node *find_ticket(struct zk_fake_server *h,
                                        const char *ticket)
{
    int32_t count;

    return find_nodes(h, ticket, &count);
}

bool zk_fake_has(struct zk_fake_server *h, const char *ticket)
{
    int32_t count;
    const struct zk_fake_node *node = find_nodes(h, ticket, &count);

    return node != NULL && count >= node->weight;
}

bool zk_fake_has_own(struct zk_fixture *f, struct zk_fake_server *h,
                     const char *ticket)
{
    const struct zk_fake_node *node = find_ticket(h, ticket);

    return node != NULL && node->owner == f->session;
}

bool zk_fake_has_reader(struct zk_fake_server *h, const char *ticket)
{
    const struct zk_fake_node *node = find_ticket(h, ticket);

    return node != NULL && strstr(node->path, "-__READ__") != NULL;
}

bool zk_fake_has_writer(struct zk_fake_server *h, const char *ticket)
{
    const struct zk_fake_node *node = find_ticket(h, ticket);

    return node != NULL && strstr(node->path, "-__WRIT__") != NULL;
}

#define OTHER_SESSION 7

void zk_fake_put(struct zk_fixture *f, struct zk_fake_server *h,
                 const char *ticket, bool participant)
{
    const char *name = strrchr(ticket, '/') + 1;
    char path[ZK_FAKE_PATH_BYTES], node[96],
        participant_name[] = {name[0], '/', 'm', 0};
    int used;

    zk_fixture_node(f, participant ? participant_name : name, node,
                    sizeof node);
    used = snprintf(path, sizeof path, "/%.*s%s", (int)(name - ticket), ticket,
                    node);
    if (!participant)
        snprintf(path + used, sizeof path - (size_t)used, "%010d", h->sequence);
    if (!has_parent(h, path) || h->count == ZK_FAKE_NODES ||
        find_ticket(h, ticket) != NULL)
        return;
    add(h, path, f->zxid++, OTHER_SESSION)->weight = 1;
    h->sequence++;
    change_parent(f, h, path);
}

void zk_fake_remove(struct zk_fixture *f, struct zk_fake_server *h,
                    const char *ticket)
{
    struct zk_fake_node *node = find_ticket(h, ticket);

    if (node != NULL)
        drop(f, h, node);
}

void zk_fake_change(struct zk_fixture *f, struct zk_fake_server *h,
                    const char *ticket, bool revoke)
{
    struct zk_fake_node *node = find_ticket(h, ticket);

    if (node == NULL)
        return;
    write_data(f, node, revoke || node->revoked);
    f->zxid++;
}

bool zk_fake_has_unreported(struct zk_fake_server *h, const char *ticket)
{
    const struct zk_fake_node *node = find_ticket(h, ticket);

    return node != NULL && node->revoked && !node->reported;
}

void zk_fake_set_reported(struct zk_fake_server *h, const char *ticket)
{
    struct zk_fake_node *node = find_ticket(h, ticket);

    if (node != NULL)
        node->reported = true;
}
