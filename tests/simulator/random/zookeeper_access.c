/* SPDX-License-Identifier: Apache-2.0 */
/* Access lists and credentials: which the users of a run set and have, and what
 * must follow from them.  Users have credentials of their own, of which a
 * process has up to all; any process may set the list of any node, as far as
 * the servers let it. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "simulator/random/zookeeper_private.h"

/* Credentials of the scheme digest.  The model takes them for identities, too:
 * see zk_acl.h. */
static const char *const credentials[ZOOKEEPER_USERS_MAX] = {"u0:p0", "u1:p1",
                                                             "u2:p2"};

static bool one_in(uint64_t n)
{
    return zookeeper_below(n) == 0;
}

static const char *any_credential(void)
{
    return credentials[zookeeper_below(zookeeper.user_count)];
}

/* ----------------------------------------------------------- credentials -- */

/* The session has ${credential} from now on, and sends it first on each
 * connection that follows. */
static void note(struct zookeeper_process *process, const char *credential)
{
    unsigned count = process->who.count;

    zk_identities_add(&process->who, credential);
    if (process->who.count > count)
        process->added[count] = process->connection;
}

static void add_credential(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    const char *credential = any_credential();
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_ADD_AUTH,
                                 .scheme = "digest",
                                 .data = credential,
                                 .bytes = strlen(credential)};

    zookeeper_trace(process, "adds the credential %s", credential);
    note(process, credential);
    zookeeper_start(operation, &op);
}

const char *zookeeper_access_choose(struct zookeeper_process *process)
{
    const char *credential;

    if (zookeeper.user_count == 0 || one_in(3))
        return NULL;
    credential = any_credential();
    note(process, credential);
    return credential;
}

void zookeeper_access_begin(struct zookeeper_process *process)
{
    if (zookeeper.user_count > 0 && one_in(3))
        add_credential(process);
}

/* ----------------------------------------------------------------- lists -- */

/* For everybody, for those who have the credentials of this session, or for one
 * user. */
static struct hf_zookeeper_acl any_entry(void)
{
    static const int32_t permissions[] = {
        HF_ZOOKEEPER_PERM_ALL, HF_ZOOKEEPER_PERM_READ,
        HF_ZOOKEEPER_PERM_READ | HF_ZOOKEEPER_PERM_WRITE,
        HF_ZOOKEEPER_PERM_ALL & ~HF_ZOOKEEPER_PERM_READ,
        HF_ZOOKEEPER_PERM_CREATE | HF_ZOOKEEPER_PERM_DELETE};
    struct hf_zookeeper_acl acl = {
        permissions[zookeeper_below(sizeof permissions /
                                    sizeof permissions[0])],
        "world", "anyone"};

    switch (zookeeper_below(3)) {
    case 0:
        acl.scheme = "digest";
        acl.id = any_credential();
        break;
    case 1:
        acl.scheme = "auth";
        acl.id = "";
        break;
    default:
        break;
    }
    return acl;
}

/* Most lists let everybody change them, so that no run ends with nodes that
 * nobody can use. */
static void draw_list(struct zookeeper_part *part, struct hf_zookeeper_op *op)
{
    static const struct hf_zookeeper_acl administrators = {
        HF_ZOOKEEPER_PERM_ADMIN | HF_ZOOKEEPER_PERM_DELETE, "world", "anyone"};

    op->acls = part->acls;
    op->acl_count = 1 + (size_t)zookeeper_below(2);
    for (size_t i = 0; i < op->acl_count; i++)
        part->acls[i] = any_entry();
    if (!one_in(4))
        part->acls[op->acl_count++] = administrators;
    assert(op->acl_count <= ZOOKEEPER_ACLS_MAX);
}

void zookeeper_access_draw_list(struct zookeeper_part *part,
                                struct hf_zookeeper_op *op)
{
    if (zookeeper.user_count > 0 && one_in(2))
        draw_list(part, op);
}

static void set_list(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;
    struct zookeeper_part *part = zookeeper_add_part(
        operation, HF_ZOOKEEPER_SET_ACL, zookeeper_any_path(), &op);
    const struct zookeeper_change *last =
        zookeeper_last_change(part->path, INT64_MAX);

    draw_list(part, &op);
    op.version = HF_ZOOKEEPER_ANY_VERSION;
    if (last != NULL && one_in(2))
        op.version = last->change.aversion;
    zookeeper_start(operation, &op);
}

static void read_list(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;

    zookeeper_add_part(operation, HF_ZOOKEEPER_GET_ACL, zookeeper_any_path(),
                       &op);
    zookeeper_start(operation, &op);
}

void zookeeper_access_step(struct zookeeper_process *process)
{
    switch (zookeeper_below(5)) {
    case 0:
        read_list(process);
        break;
    case 1:
        add_credential(process);
        break;
    default:
        set_list(process);
    }
}

/* ---------------------------------------------------------------- checks -- */

/* What an operation of that kind needs, and of the parent or not. */
static int32_t needed(enum hf_zookeeper_op_kind kind, bool *of_parent)
{
    *of_parent = kind == HF_ZOOKEEPER_CREATE || kind == HF_ZOOKEEPER_DELETE;
    switch (kind) {
    case HF_ZOOKEEPER_CREATE:
        return HF_ZOOKEEPER_PERM_CREATE;
    case HF_ZOOKEEPER_DELETE:
        return HF_ZOOKEEPER_PERM_DELETE;
    case HF_ZOOKEEPER_SET:
        return HF_ZOOKEEPER_PERM_WRITE;
    case HF_ZOOKEEPER_SET_ACL:
        return HF_ZOOKEEPER_PERM_ADMIN;
    case HF_ZOOKEEPER_GET_ACL:
        return HF_ZOOKEEPER_PERM_READ | HF_ZOOKEEPER_PERM_ADMIN;
    case HF_ZOOKEEPER_EXISTS:
        return zookeeper.checks_readers ? HF_ZOOKEEPER_PERM_READ : 0;
    case HF_ZOOKEEPER_SYNC:
        return 0;
    default:
        return HF_ZOOKEEPER_PERM_READ;
    }
}

/* Did the servers permit ${part} to ${who} at ${zxid}?  Where there is no node
 * nobody is denied anything. */
static bool is_permitted(const struct zookeeper_part *part, int64_t zxid,
                         const struct zk_identities *who)
{
    char path[ZOOKEEPER_PATH_BYTES];
    const struct zookeeper_change *last;
    bool of_parent;
    int32_t permissions = needed(part->kind, &of_parent);

    snprintf(path, sizeof path, "%s", part->path);
    if (of_parent)
        *strrchr(path, '/') = '\0';
    last = zookeeper_last_change(path, zxid);
    return permissions == 0 || last == NULL ||
           last->change.kind == HF_SIM_NODE_DELETED ||
           zk_acl_permits(last->change.acl, permissions, who);
}

/* Is ${path} that of the node, or of its parent or child? */
static bool is_near(const char *path, const char *node)
{
    size_t bytes = strlen(path), node_bytes = strlen(node);
    size_t least = bytes < node_bytes ? bytes : node_bytes;

    return strncmp(path, node, least) == 0;
}

/* Does an operation of the same multi before ${part} change what counts? */
static bool is_changed_before(const struct zookeeper_operation *operation,
                              const struct zookeeper_part *part)
{
    const struct zookeeper_part *before = operation->parts;

    while (before != part && (before->kind == HF_ZOOKEEPER_CHECK ||
                              !is_near(before->path, part->path)))
        before++;
    return before != part;
}

/* A write counts on the state before its transaction.  A credential that was
 * added while the operation was under way may have come in time, or not. */
void zookeeper_access_check(const struct zookeeper_operation *operation,
                            const struct zookeeper_part *part, hf_status status,
                            int64_t zxid)
{
    bool writes = operation->kind == HF_ZOOKEEPER_MULTI ||
                  part->kind == HF_ZOOKEEPER_CREATE ||
                  part->kind == HF_ZOOKEEPER_DELETE ||
                  part->kind == HF_ZOOKEEPER_SET ||
                  part->kind == HF_ZOOKEEPER_SET_ACL;
    int64_t at_zxid = writes ? zxid - 1 : zxid;

    if (zookeeper.user_count == 0 || zxid == 0 ||
        is_changed_before(operation, part))
        return;
    if (status == HF_EDENIED)
        zookeeper_check(!is_permitted(part, at_zxid, &operation->who), 6,
                        "an operation is denied without a reason",
                        "%u: %s at %" PRIx64, operation->number, part->path,
                        zxid);
    else if (status == HF_OK || status == HF_EVERSION ||
             status == HF_ENOTEMPTY || status == HF_EEXISTS)
        zookeeper_check(
            is_permitted(part, at_zxid, &operation->process->who), 6,
            "an operation is answered that should have been denied",
            "%u: %s at %" PRIx64, operation->number, part->path, zxid);
}

/* Does ${shown} name the same as ${entry}, perhaps without the hash? */
static bool is_entry(const struct hf_zookeeper_acl *shown,
                     const struct zk_acl *entry)
{
    const char *colon = strchr(entry->id, ':');
    size_t bytes =
        colon == NULL ? strlen(entry->id) : (size_t)(colon - entry->id) + 1;

    return shown->permissions == entry->permissions &&
           strcmp(shown->scheme, entry->scheme) == 0 &&
           strncmp(shown->id, entry->id, bytes) == 0;
}

void zookeeper_access_check_list(const struct zookeeper_operation *operation,
                                 const struct hf_zookeeper_result *result)
{
    static const struct zk_acl everybody = {ZK_PERM_ALL, "world", "anyone",
                                            NULL};
    const char *path = operation->parts[0].path;
    const struct zk_acl *entry =
        zookeeper_last_change(path, result->zxid)->change.acl;
    size_t count = 0;

    if (entry == NULL)
        entry = &everybody;
    while (entry != NULL && count < result->acl_count &&
           is_entry(&result->acls[count], entry)) {
        entry = entry->next;
        count++;
    }
    zookeeper_check(entry == NULL && count == result->acl_count, 2,
                    "a read shows another access list", "%s", path);
}

/* 3: an event is kept back only from a session that had no credential for the
 * node when its connection began. */
void zookeeper_access_kept_back(void *arg, const struct hf_engine *engine,
                                int32_t type, const char *path, int64_t zxid,
                                const struct zk_acl *acl)
{
    struct zookeeper_process *process = zookeeper_process_of(engine);
    struct zookeeper_kept_event *kept;
    struct zk_identities who = {0};

    (void)arg;
    if (process == NULL || process->gone)
        return;
    zookeeper_trace(process, "is not notified of %d of %s", (int)type, path);
    for (unsigned i = 0; i < process->who.count; i++) {
        if (process->added[i] < process->connection)
            zk_identities_add(&who, process->who.digests[i]);
    }
    zookeeper_check(!zk_acl_permits(acl, ZK_PERM_READ, &who), 3,
                    "an event is kept from a session that may read the node",
                    "%d of %s", (int)type, path);
    kept = zookeeper_alloc(sizeof *kept);
    *kept = (struct zookeeper_kept_event){type, path, zxid, process->connection,
                                          process->kept_events};
    process->kept_events = kept;
}
