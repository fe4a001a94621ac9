/* SPDX-License-Identifier: Apache-2.0 */
#include "zk_honest.h"

#include <string.h>

#include "engines/zookeeper/zk_watches.h"
#include "zookeeper/zk_wire.h"

#define LIST_BYTES (HONEST_NODES * HONEST_PATH_BYTES)
#define HONEST_MULTI_BYTES STAGE_TEXT_BYTES

static struct honest_node *find(struct honest *h, const char *path)
{
    for (size_t i = 0; i < h->count; i++) {
        if (strcmp(h->nodes[i].path, path) == 0)
            return &h->nodes[i];
    }
    return NULL;
}

/* The length of what is above the last component; 0: the root. */
static size_t above(const char *path)
{
    return (size_t)(strrchr(path, '/') - path);
}

static bool has_parent(struct honest *h, const char *path)
{
    char parent[HONEST_PATH_BYTES];

    snprintf(parent, sizeof parent, "%.*s", (int)above(path), path);
    return parent[0] == '\0' || find(h, parent) != NULL;
}

static struct honest_node *add(struct honest *h, const char *path,
                               int64_t czxid, int64_t owner)
{
    struct honest_node *node = &h->nodes[h->count];

    STAGE_MUST(h->count < HONEST_NODES && strlen(path) < sizeof node->path);
    memset(node, 0, sizeof *node);
    strcpy(node->path, path);
    node->czxid = czxid;
    node->owner = owner;
    h->count++;
    return node;
}

/* A child of it has come or gone. */
static void change_parent(struct stage *s, struct honest *h, const char *child)
{
    char path[HONEST_PATH_BYTES];
    struct honest_node *node;
    bool tell;

    snprintf(path, sizeof path, "%.*s", (int)above(child), child);
    node = find(h, path);
    if (node == NULL)
        return;
    node->changed = s->zxid;
    tell = node->looked_at && s->connected;
    node->looked_at = false;
    if (tell)
        event_at(s, HF_ZK_NODE_CHILDREN_CHANGED, path);
}

/* Whoever watches it is told, before the answer to whatever removed it. */
static void drop(struct stage *s, struct honest *h, struct honest_node *node)
{
    struct honest_node was = *node;

    memmove(node, node + 1,
            (size_t)(h->nodes + h->count - node - 1) * sizeof *node);
    h->count--;
    if ((was.watched || was.looked_at) && s->connected)
        event_at(s, HF_ZK_NODE_DELETED, was.path);
    change_parent(s, h, was.path);
}

/* ---------------------------------------------------------- what it does -- */

/* In one: what an event leads to may be the end of the connection. */
static void in_one_begin(struct stage *s, bool *was_holding)
{
    *was_holding = s->holding;
    hold(s);
}

static void in_one_end(struct stage *s, bool was_holding)
{
    if (!was_holding)
        deliver(s);
}

static void make_ticket(struct stage *s, struct honest *h, const char *prefix)
{
    char path[HONEST_PATH_BYTES];
    bool was_holding;

    if (!has_parent(h, prefix)) {
        refused(s, HF_ZK_NO_NODE);
        return;
    }
    if (h->count == HONEST_NODES) {
        refused(s, HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    snprintf(path, sizeof path, "%s%010d", prefix, h->sequence);
    add(h, path, s->zxid, s->session)->weight = 1;
    in_one_begin(s, &was_holding);
    change_parent(s, h, path);
    created(s, h->sequence++, s->zxid);
    in_one_end(s, was_holding);
}

static bool is_member(const char *path)
{
    const char *name = strrchr(path, '/') + 1;
    struct hf_zk_node node;

    return hf_zk_participant_parse(name, strlen(name), &node);
}

/* It has its whole name. */
static void make_member(struct stage *s, struct honest *h, const char *path)
{
    bool was_holding;

    if (!has_parent(h, path)) {
        refused(s, HF_ZK_NO_NODE);
        return;
    }
    if (find(h, path) != NULL || h->count == HONEST_NODES) {
        refused(s, find(h, path) != NULL ? HF_ZK_NODE_EXISTS
                                         : HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    add(h, path, s->zxid, s->session)->weight = 1;
    in_one_begin(s, &was_holding);
    change_parent(s, h, path);
    came(s, s->zxid);
    in_one_end(s, was_holding);
}

/* ${prefixes}: all the same, each with a sign in front. */
static void make_lease(struct stage *s, struct honest *h, char *prefixes,
                       int32_t count)
{
    char *prefix = strtok(prefixes, " ") + 1;
    char path[HONEST_PATH_BYTES];
    bool was_holding;

    if (!has_parent(h, prefix)) {
        part_failed(s, 0, HF_ZK_NO_NODE);
        return;
    }
    if (h->count + (size_t)count > HONEST_NODES) {
        part_failed(s, 0, HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s%010d", prefix, h->sequence++);
        add(h, path, s->zxid, s->session)->weight = count;
    }
    in_one_begin(s, &was_holding);
    change_parent(s, h, path);
    created_all(s, h->sequence - count);
    in_one_end(s, was_holding);
}

static void make_parent(struct stage *s, struct honest *h, int32_t opcode,
                        const char *path)
{
    if (h->no_containers && opcode == HF_ZK_CREATE_CONTAINER) {
        refused(s, HF_ZK_UNIMPLEMENTED);
    } else if (!has_parent(h, path)) {
        refused(s, HF_ZK_NO_NODE);
    } else if (find(h, path) != NULL) {
        refused(s, HF_ZK_NODE_EXISTS);
    } else if (h->count == HONEST_NODES) {
        refused(s, HF_ZK_QUOTA_EXCEEDED);
    } else {
        (void)add(h, path, s->zxid, 0);
        done(s);
    }
}

static size_t count_children(const struct honest *h, const char *path)
{
    size_t count = 0;

    for (size_t i = 0; i < h->count; i++)
        count += above(h->nodes[i].path) == strlen(path) &&
                 strncmp(h->nodes[i].path, path, strlen(path)) == 0;
    return count;
}

static void delete_node(struct stage *s, struct honest *h, const char *path)
{
    struct honest_node *node = find(h, path);
    bool was_holding;

    if (node == NULL) {
        refused(s, HF_ZK_NO_NODE);
        return;
    }
    if (count_children(h, path) > 0) {
        refused(s, HF_ZK_NOT_EMPTY);
        return;
    }
    in_one_begin(s, &was_holding);
    drop(s, h, node);
    done(s);
    in_one_end(s, was_holding);
}

static void list_children(struct stage *s, struct honest *h, const char *path,
                          bool watch)
{
    static char list[LIST_BYTES];
    struct honest_node *node = find(h, path);
    size_t used = 0;

    list[0] = '\0';
    if (node == NULL) {
        refused(s, HF_ZK_NO_NODE);
        return;
    }
    node->looked_at |= watch;
    for (size_t i = 0; i < h->count; i++) {
        const char *name = h->nodes[i].path;

        if (above(name) != strlen(path) ||
            strncmp(name, path, strlen(path)) != 0)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s ",
                                 name + above(name) + 1);
    }
    children(s, list);
}

static void read_node(struct stage *s, struct honest_node *node, int32_t opcode,
                      bool watch)
{
    if (node == NULL) {
        refused(s, HF_ZK_NO_NODE);
    } else if (opcode == HF_ZK_EXISTS) {
        exists(s, node->czxid, node->owner);
    } else {
        node->watched |= watch;
        s->version = node->version;
        data(s, node->revoked ? HF_ZK_REVOKE : "me", node->czxid, node->owner);
    }
}

/* The event of its watch comes before the answer to the write. */
static void write_data(struct stage *s, struct honest_node *node, bool revoke)
{
    bool tell = node->watched && s->connected;

    node->version++;
    node->modified = s->zxid;
    node->told &= node->revoked && revoke;
    node->revoked = revoke;
    node->watched = false; /* it fires once */
    if (tell)
        event_at(s, HF_ZK_NODE_DATA_CHANGED, node->path);
}

static bool is_version(const struct honest_node *node, int32_t version)
{
    return version == HF_ZK_ANY_VERSION || version == node->version;
}

static void set_data(struct stage *s, struct honest *h, const char *path)
{
    struct honest_node *node = find(h, path);
    bool was_holding;

    if (node == NULL) {
        refused(s, HF_ZK_NO_NODE);
        return;
    }
    if (!is_version(node, s->first->version)) {
        refused(s, HF_ZK_BAD_VERSION);
        return;
    }
    h->untold |= node->revoked && !s->first->revokes && !node->told;
    in_one_begin(s, &was_holding);
    write_data(s, node, s->first->revokes);
    written(s);
    in_one_end(s, was_holding);
}

/* Why one of a transaction cannot be done, ${deleted} being what those before
 * it delete, or NULL. */
static enum hf_zk_error refusal(struct honest *h, const char *part,
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

static void do_part(struct stage *s, struct honest *h, const char *part)
{
    if (part[0] == '-')
        drop(s, h, find(h, part + 1));
    if (part[0] != '+')
        return;
    (void)add(h, part + 1, s->zxid, 0);
    change_parent(s, h, part + 1);
}

/* Checks; those of ${paths} that are deleted or made, as a mark is, have a
 * sign in front. */
static void check(struct stage *s, struct honest *h, const char *paths)
{
    char copy[HONEST_MULTI_BYTES], *rest = NULL;
    bool mixed = s->first->part == HF_ZK_MULTI, was_holding;
    const char *deleted = NULL;
    int32_t nth = 0;

    strcpy(copy, paths);
    for (char *part = strtok_r(copy, " ", &rest); part != NULL;
         part = strtok_r(NULL, " ", &rest), nth++) {
        enum hf_zk_error error = refusal(h, part, deleted);

        if (error == HF_ZK_OK && part[0] == '+' && h->count == HONEST_NODES)
            error = HF_ZK_QUOTA_EXCEEDED;
        if (error != HF_ZK_OK) {
            part_failed(s, nth, error);
            return;
        }
        deleted = part[0] == '-' ? part + 1 : deleted;
    }
    in_one_begin(s, &was_holding);
    strcpy(copy, paths);
    for (char *part = strtok_r(copy, " ", &rest); part != NULL;
         part = strtok_r(NULL, " ", &rest))
        do_part(s, h, part);
    if (mixed)
        stamped(s);
    else
        checked(s);
    in_one_end(s, was_holding);
}

/* "+READER -WRITER": the read ticket asks its owner to let go if the write
 * ticket did. */
static void downgrade(struct stage *s, struct honest *h, const char *paths)
{
    char reader[HONEST_PATH_BYTES], writer[HONEST_PATH_BYTES];
    struct honest_node *node, was;
    bool was_holding;

    STAGE_MUST(sscanf(paths, "+%159s -%159s", reader, writer) == 2);
    node = find(h, writer);
    if (find(h, reader) != NULL || h->count == HONEST_NODES) {
        part_failed(s, 0,
                    find(h, reader) != NULL ? HF_ZK_NODE_EXISTS
                                            : HF_ZK_QUOTA_EXCEEDED);
        return;
    }
    if (node == NULL || !is_version(node, s->first->version)) {
        part_failed(s, 1, node == NULL ? HF_ZK_NO_NODE : HF_ZK_BAD_VERSION);
        return;
    }
    h->untold |= s->first->revokes != node->revoked;
    was = *node;
    node = add(h, reader, s->zxid, s->session);
    node->weight = 1;
    node->revoked = was.revoked;
    node->told = was.told;
    in_one_begin(s, &was_holding);
    drop(s, h, find(h, writer));
    stamped(s);
    in_one_end(s, was_holding);
}

void honest_expire(struct stage *s, struct honest *h)
{
    for (size_t i = 0; i < h->count; i++)
        h->nodes[i].looked_at = false;
    for (size_t i = h->count; i-- > 0;) {
        if (h->nodes[i].owner == s->session) {
            h->nodes[i].watched = false;
            drop(s, h, &h->nodes[i]);
        }
    }
}

void honest_answer(struct stage *s, struct honest *h)
{
    int32_t opcode = s->first->opcode;
    bool watch = s->first->watch;
    int32_t parts = s->first->parts, part = s->first->part;
    char path[HONEST_MULTI_BYTES] = "";

    if (s->first->path != NULL)
        snprintf(path, sizeof path, "%s", s->first->path);
    switch (opcode) {
    case HF_ZK_CREATE2:
        if (is_member(path))
            make_member(s, h, path);
        else
            make_ticket(s, h, path);
        break;
    case HF_ZK_CREATE:
    case HF_ZK_CREATE_CONTAINER:
        make_parent(s, h, opcode, path);
        break;
    case HF_ZK_DELETE:
        delete_node(s, h, path);
        break;
    case HF_ZK_GET_CHILDREN:
        list_children(s, h, path, watch);
        break;
    case HF_ZK_EXISTS:
    case HF_ZK_GET_DATA:
        read_node(s, find(h, path), opcode, watch);
        break;
    case HF_ZK_SET_DATA:
        set_data(s, h, path);
        break;
    case HF_ZK_MULTI:
        if (part == HF_ZK_CREATE)
            make_lease(s, h, path, parts);
        else if (part == HF_ZK_MULTI && path[0] == '+')
            downgrade(s, h, path);
        else
            check(s, h, path);
        break;
    case HF_ZK_CLOSE_SESSION:
        honest_expire(s, h);
        done(s);
        break;
    default:
        done(s); /* a sync */
    }
}

/* Each leads to a few others at most. */
#define ANSWERS_MAX 10000

void honest_serve(struct stage *s, struct honest *h)
{
    for (int i = 0; s->first != NULL && s->connected; i++) {
        STAGE_MUST(i < ANSWERS_MAX);
        honest_answer(s, h);
    }
}

/* --------------------------------------------------------------- stories -- */

static void rewatch(struct stage *s, const char *path, bool queue,
                    int64_t since)
{
    struct honest *h = s->watched_arg;
    struct honest_node *node = find(h, path);
    struct honest_missed *missed = &h->missed[h->missed_count];

    if (node != NULL && (queue ? node->changed : node->modified) <= since) {
        node->watched |= !queue;
        node->looked_at |= queue;
        return;
    }
    STAGE_MUST(h->missed_count < sizeof h->missed / sizeof h->missed[0]);
    snprintf(missed->path, sizeof missed->path, "%s", path);
    missed->type = node == NULL ? HF_ZK_NODE_DELETED
                   : queue      ? HF_ZK_NODE_CHILDREN_CHANGED
                                : HF_ZK_NODE_DATA_CHANGED;
    h->missed_count++;
}

void honest_begin(struct stage *s, struct honest *h)
{
    memset(h, 0, sizeof *h);
    s->watched = rewatch;
    s->watched_arg = h;
}

void honest_connect(struct stage *s, struct honest *h)
{
    for (size_t i = 0; i < h->count; i++)
        h->nodes[i].watched = h->nodes[i].looked_at = false;
    h->missed_count = 0;
    link_up(s);
    if (!s->greeting)
        return; /* there was no memory to greet with */
    if (s->greeted_session != 0 && s->greeted_session != s->session) {
        refuse_session(s);
        return;
    }
    if (s->greeted_session == 0) {
        honest_expire(s, h);
        s->session++;
    }
    accept_session(s);
    for (size_t i = 0; i < h->missed_count && s->connected; i++)
        event_at(s, h->missed[i].type, h->missed[i].path);
}

/* By its id, whatever its kind: its first node, and how many there are. */
static struct honest_node *find_nodes(struct honest *h, const char *ticket,
                                      int32_t *count)
{
    const char *name = strrchr(ticket, '/') + 1;
    char path[HONEST_PATH_BYTES], uuid[HF_TICKET_ID_TEXT_BYTES];
    struct hf_ticket_id id = stage_id(name);
    struct honest_node *node;

    hf_ticket_id_format(&id, uuid);
    snprintf(path, sizeof path, "/%.*s%s", (int)(name - ticket), ticket, uuid);
    node = find(h, path); /* a member */
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

static struct honest_node *find_ticket(struct honest *h, const char *ticket)
{
    int32_t count;

    return find_nodes(h, ticket, &count);
}

bool honest_has(struct honest *h, const char *ticket)
{
    int32_t count;
    const struct honest_node *node = find_nodes(h, ticket, &count);

    return node != NULL && count >= node->weight;
}

bool honest_has_own(struct stage *s, struct honest *h, const char *ticket)
{
    const struct honest_node *node = find_ticket(h, ticket);

    return node != NULL && node->owner == s->session;
}

bool honest_has_reader(struct honest *h, const char *ticket)
{
    const struct honest_node *node = find_ticket(h, ticket);

    return node != NULL && strstr(node->path, "-__READ__") != NULL;
}

bool honest_has_writer(struct honest *h, const char *ticket)
{
    const struct honest_node *node = find_ticket(h, ticket);

    return node != NULL && strstr(node->path, "-__WRIT__") != NULL;
}

#define OTHERS_SESSION 7

void honest_put(struct stage *s, struct honest *h, const char *ticket,
                bool member)
{
    const char *name = strrchr(ticket, '/') + 1;
    char path[HONEST_PATH_BYTES], node[96],
        member_name[] = {name[0], '/', 'm', 0};
    int used;

    stage_node(s, member ? member_name : name, node, sizeof node);
    used = snprintf(path, sizeof path, "/%.*s%s", (int)(name - ticket), ticket,
                    node);
    if (!member)
        snprintf(path + used, sizeof path - (size_t)used, "%010d", h->sequence);
    if (!has_parent(h, path) || h->count == HONEST_NODES ||
        find_ticket(h, ticket) != NULL)
        return;
    add(h, path, s->zxid++, OTHERS_SESSION)->weight = 1;
    h->sequence++;
    change_parent(s, h, path);
}

void honest_remove(struct stage *s, struct honest *h, const char *ticket)
{
    struct honest_node *node = find_ticket(h, ticket);

    if (node != NULL)
        drop(s, h, node);
}

void honest_change(struct stage *s, struct honest *h, const char *ticket,
                   bool revoke)
{
    struct honest_node *node = find_ticket(h, ticket);

    if (node == NULL)
        return;
    write_data(s, node, revoke || node->revoked);
    s->zxid++;
}

bool honest_has_untold(struct honest *h, const char *ticket)
{
    const struct honest_node *node = find_ticket(h, ticket);

    return node != NULL && node->revoked && !node->told;
}

void honest_told(struct honest *h, const char *ticket)
{
    struct honest_node *node = find_ticket(h, ticket);

    if (node != NULL)
        node->told = true;
}
