/* SPDX-License-Identifier: Apache-2.0 */
/* The committed history of a run, and the checks of writes and reads against
 * it. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "simulator/random/zookeeper_private.h"
#include "zookeeper/zk_op.h"

/* ----------------------------------------------------------------- trace -- */

static void trace(const char *who, const char *format, va_list arguments)
{
    char text[400];
    uint64_t now_us = hf_sim_now_us(zookeeper.sim);
    int used;

    if (zookeeper.line == NULL)
        return;
    used = snprintf(text, sizeof text, "%6" PRIu64 ".%03u  %-6s  ",
                    now_us / 1000, (unsigned)(now_us % 1000), who);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    zookeeper.line(NULL, text);
}

void zookeeper_trace(const struct zookeeper_process *process,
                     const char *format, ...)
{
    char who[16] = "-";
    va_list arguments;

    /* Nothing is traced after the first violation. */
    if (zookeeper.end->broken != 0)
        return;
    if (process != NULL)
        snprintf(who, sizeof who, "%c%u", 'a' + (int)process->client,
                 process->number);
    va_start(arguments, format);
    trace(who, format, arguments);
    va_end(arguments);
}

void zookeeper_check(bool holds, int invariant, const char *check,
                     const char *format, ...)
{
    char text[300];
    va_list arguments;

    if (holds || zookeeper.end->broken != 0)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    zookeeper_trace(NULL, "CHECK  invariant %d broken: %s: %s", invariant,
                    check, text);
    zookeeper.end->broken = invariant;
    zookeeper.end->check = check;
    if (zookeeper.broken != NULL)
        zookeeper.broken(invariant, check, text);
}

/* --------------------------------------------------------------- history -- */

struct zookeeper_process *zookeeper_process_of(const struct hf_engine *engine)
{
    struct zookeeper_process *process = zookeeper.processes;

    while (process != NULL && process->engine != engine)
        process = process->next;
    return process;
}

/* The part of an operation that writes ${value}, and the operation. */
static struct zookeeper_part *part_with(const char *value,
                                        struct zookeeper_operation **operation)
{
    for (struct zookeeper_operation *o = zookeeper.operations; o != NULL;
         o = o->next) {
        for (unsigned i = 0; i < o->part_count; i++) {
            if (strcmp(o->parts[i].value, value) == 0) {
                *operation = o;
                return &o->parts[i];
            }
        }
    }
    return NULL;
}

/* May a write with this end have been carried out? */
static bool may_be_done(hf_status status)
{
    return status == HF_OK || status == HF_EUNSURE;
}

/* 1: a value has been committed. */
static void check_commit(const struct zookeeper_change *change)
{
    struct zookeeper_operation *operation = NULL;
    struct zookeeper_part *part = part_with(change->value, &operation);

    zookeeper_check(part != NULL, 1, "a value that nobody has written", "%s",
                    change->value);
    if (part == NULL)
        return;
    zookeeper_check(
        strncmp(part->path, change->change.path, strlen(part->path)) == 0, 1,
        "a write is carried out at another path", "%s at %s", part->value,
        change->change.path);
    zookeeper_check(part->commits == 0, 1, "a write is carried out twice",
                    "%s at %s", part->value, change->change.path);
    zookeeper_check(
        operation->ended || operation->zk_op.state != HF_ZK_OP_WAITING, 1,
        "a write is carried out before it was sent", "%s", part->value);
    zookeeper_check(!operation->ended || may_be_done(operation->status), 1,
                    "a write is carried out after it ended without having been",
                    "%s at %s, %s", part->value, change->change.path,
                    hf_status_text(operation->status));
    part->commits++;
    part->zxid = change->change.zxid;
    part->made = change->change.path;
    part->version = change->change.version;
}

static const char *const change_names[] = {
    [HF_SIM_NODE_CREATED] = "created",
    [HF_SIM_NODE_DELETED] = "deleted",
    [HF_SIM_NODE_WRITTEN] = "written",
    [HF_SIM_NODE_ACL_SET] = "access list set",
};

static void on_change(void *arg, const struct hf_sim_node_change *change)
{
    struct zookeeper_change *kept;
    char *value = zookeeper_alloc(change->bytes + 1);
    struct zookeeper_process *process = zookeeper_process_of(change->engine);

    (void)arg;
    if (change->bytes > 0)
        memcpy(value, change->data, change->bytes);
    if (zookeeper.change_count == zookeeper.change_room) {
        zookeeper.change_room = 2 * zookeeper.change_room + 256;
        zookeeper.history =
            realloc(zookeeper.history,
                    zookeeper.change_room * sizeof *zookeeper.history);
        if (zookeeper.history == NULL)
            abort();
    }
    kept = &zookeeper.history[zookeeper.change_count++];
    *kept = (struct zookeeper_change){*change, value};
    zookeeper_trace(process, "COMMIT  %" PRIx64 " %s %s %s", change->zxid,
                    change_names[change->kind], change->path, value);
    if (process == NULL || !zookeeper_user_writes(change->path))
        return;
    if (change->kind == HF_SIM_NODE_DELETED)
        process->deletes.committed++;
    else if (change->kind == HF_SIM_NODE_ACL_SET)
        process->acls_set.committed++;
    else
        check_commit(kept);
}

static void on_local_session_offered(void *arg, const struct hf_engine *engine)
{
    (void)arg;
    (void)engine;
    zookeeper_check(false, 7,
                    "a session of a read-only server is offered elsewhere",
                    "%s", "");
}

static void on_line(void *arg, const struct hf_engine *engine, const char *text)
{
    (void)arg;
    zookeeper_trace(zookeeper_process_of(engine), "%s", text);
}

struct hf_sim_observer zookeeper_observer(void)
{
    return (struct hf_sim_observer){
        .node_changed = on_change,
        .event_kept_back = zookeeper_access_kept_back,
        .local_session_offered = on_local_session_offered,
        .line = zookeeper.line == NULL ? NULL : on_line,
    };
}

const struct zookeeper_change *zookeeper_last_change(const char *path,
                                                     int64_t zxid)
{
    for (size_t i = zookeeper.change_count; i > 0; i--) {
        const struct zookeeper_change *change = &zookeeper.history[i - 1];

        if (change->change.zxid <= zxid &&
            strcmp(change->change.path, path) == 0)
            return change;
    }
    return NULL;
}

const struct zookeeper_change *zookeeper_node_at(const char *path, int64_t zxid)
{
    for (size_t i = zookeeper.change_count; i > 0; i--) {
        const struct zookeeper_change *change = &zookeeper.history[i - 1];

        if (change->change.zxid > zxid ||
            change->change.kind == HF_SIM_NODE_ACL_SET ||
            strcmp(change->change.path, path) != 0)
            continue;
        return change->change.kind == HF_SIM_NODE_DELETED ? NULL : change;
    }
    return NULL;
}

/* ---------------------------------------------------------------- writes -- */

static bool is_write(enum hf_zookeeper_op_kind kind)
{
    return kind == HF_ZOOKEEPER_CREATE || kind == HF_ZOOKEEPER_DELETE ||
           kind == HF_ZOOKEEPER_SET || kind == HF_ZOOKEEPER_SET_ACL ||
           kind == HF_ZOOKEEPER_MULTI;
}

/* Did a request of the process change the node so in that transaction? */
static bool has_changed(const struct zookeeper_process *process,
                        enum hf_sim_node_change_kind kind, const char *path,
                        int64_t zxid)
{
    for (size_t i = zookeeper.change_count; i > 0; i--) {
        const struct hf_sim_node_change *change =
            &zookeeper.history[i - 1].change;

        if (change->zxid == zxid && change->engine == process->engine &&
            change->kind == kind && strcmp(change->path, path) == 0)
            return true;
    }
    return false;
}

/* 1: the part of a write that ended with HF_OK. */
static void check_part_done(const struct zookeeper_operation *operation,
                            const struct zookeeper_part *part,
                            const struct hf_zookeeper_result *all,
                            const struct hf_zookeeper_result *result)
{
    if (part->kind == HF_ZOOKEEPER_DELETE) {
        zookeeper_check(has_changed(operation->process, HF_SIM_NODE_DELETED,
                                    part->path, all->zxid),
                        1, "a delete that succeeded is not in the history",
                        "%u: %s", operation->number, part->path);
        return;
    }
    if (part->kind == HF_ZOOKEEPER_SET_ACL)
        zookeeper_check(has_changed(operation->process, HF_SIM_NODE_ACL_SET,
                                    part->path, all->zxid),
                        1, "a list that was set is not in the history",
                        "%u: %s", operation->number, part->path);
    /* A node of locks is not changed by the same transaction. */
    if (part->kind == HF_ZOOKEEPER_CHECK && !zookeeper_user_writes(part->path))
        zookeeper_check(zookeeper_node_at(part->path, all->zxid) != NULL, 1,
                        "a check of a node that is gone succeeded", "%u: %s",
                        operation->number, part->path);
    if (part->value[0] == '\0')
        return;
    zookeeper_check(part->commits == 1 && part->zxid == all->zxid, 1,
                    "a write that succeeded is not in the history as it says",
                    "%s: %u times, %" PRIx64 " instead of %" PRIx64,
                    part->value, part->commits, part->zxid, all->zxid);
    if (part->commits != 1)
        return;
    if (part->kind == HF_ZOOKEEPER_CREATE)
        zookeeper_check(
            result->path != NULL && strcmp(result->path, part->made) == 0, 1,
            "a create names another path than it has made", "%s", part->made);
    else if (operation->kind == HF_ZOOKEEPER_SET &&
             result->stat.mzxid == part->zxid)
        /* Servers of the model may answer with a later Stat. */
        zookeeper_check(result->stat.version == part->version, 1,
                        "a set names another version than it has made", "%s",
                        part->value);
}

static void count(struct zookeeper_count *count, hf_status status)
{
    count->ok += status == HF_OK;
    count->unsure += status == HF_EUNSURE;
}

/* 1: a write has ended. */
static void check_write(struct zookeeper_operation *operation, hf_status status,
                        const struct hf_zookeeper_result *result)
{
    struct zookeeper_process *process = operation->process;
    bool multi = operation->kind == HF_ZOOKEEPER_MULTI;

    for (unsigned i = 0; i < operation->part_count; i++) {
        const struct zookeeper_part *part = &operation->parts[i];

        if (part->kind == HF_ZOOKEEPER_DELETE)
            count(&process->deletes, status);
        if (part->kind == HF_ZOOKEEPER_SET_ACL)
            count(&process->acls_set, status);
        if (!multi)
            zookeeper_access_check(operation, part, status, result->zxid);
        else if (i < result->result_count)
            zookeeper_access_check(operation, part, result->results[i]->status,
                                   result->zxid);
        if (status == HF_OK)
            check_part_done(operation, part, result,
                            multi ? result->results[i] : result);
        else
            zookeeper_check(status == HF_EUNSURE || part->commits == 0, 1,
                            "a write was carried out, and ended otherwise",
                            "%s: %s", part->value, hf_status_text(status));
    }
}

/* ----------------------------------------------------------------- reads -- */

static bool is_child(const char *path, const char *parent)
{
    size_t bytes = strlen(parent);

    return strncmp(path, parent, bytes) == 0 && path[bytes] == '/' &&
           strchr(path + bytes + 1, '/') == NULL;
}

/* 2: the names are those of the children at ${zxid}. */
static void check_children(const char *path, int64_t zxid,
                           const struct hf_zookeeper_result *result)
{
    char child[2 * ZOOKEEPER_PATH_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < result->child_count; i++) {
        snprintf(child, sizeof child, "%s/%s", path, result->children[i]);
        zookeeper_check(zookeeper_node_at(child, zxid) != NULL, 2,
                        "a read shows a child that was not there", "%s", child);
    }
    for (size_t i = 0; i < zookeeper.change_count; i++) {
        const struct hf_sim_node_change *change = &zookeeper.history[i].change;

        if (change->zxid <= zxid && is_child(change->path, path))
            count += change->kind == HF_SIM_NODE_CREATED   ? 1
                     : change->kind == HF_SIM_NODE_DELETED ? SIZE_MAX
                                                           : 0;
    }
    zookeeper_check(count == result->child_count, 2,
                    "a read shows another number of children",
                    "%s: %zu instead of %zu", path, result->child_count, count);
}

/* 2: the answer is the state of the node at the zxid of the answer. */
static void check_content(const struct zookeeper_operation *operation,
                          hf_status status,
                          const struct hf_zookeeper_result *result)
{
    const char *path = operation->parts[0].path;
    const struct zookeeper_change *node = zookeeper_node_at(path, result->zxid);

    if (operation->kind == HF_ZOOKEEPER_SYNC)
        return;
    zookeeper_check((status == HF_EGONE) == (node == NULL), 2,
                    "a read shows a node that is not there, or none",
                    "%s at %" PRIx64, path, result->zxid);
    if (status != HF_OK || node == NULL)
        return;
    zookeeper_check(result->stat.mzxid == node->change.zxid &&
                        result->stat.version == node->change.version,
                    2, "a read shows another version", "%s: %d instead of %d",
                    path, result->stat.version, node->change.version);
    node = zookeeper_last_change(path, result->zxid);
    zookeeper_check(result->stat.aversion == node->change.aversion, 2,
                    "a read shows another version of the access list",
                    "%s: %d instead of %d", path, result->stat.aversion,
                    node->change.aversion);
    if (operation->kind == HF_ZOOKEEPER_GET)
        zookeeper_check(
            result->bytes == node->change.bytes &&
                memcmp(result->data, node->value, result->bytes) == 0,
            2, "a read shows another value", "%s: not %s", path, node->value);
    if (operation->kind == HF_ZOOKEEPER_GET_ACL)
        zookeeper_access_check_list(operation, result);
    if (operation->kind == HF_ZOOKEEPER_CHILDREN)
        check_children(path, result->zxid, result);
}

/* May the read of ${operation} show what is older than an event of an earlier
 * connection?  A server without a quorum cannot be asked to wait for it.  A
 * leader that was deposed and does not know it can, and answers the sync,
 * because it asks nobody whether it still leads. */
static bool may_be_old(const struct zookeeper_operation *operation,
                       int64_t zxid)
{
    const struct zk_handle *handle = operation->process->handles[0];

    return hf_zk_session_read_only(handle->session) ||
           (zxid >> 32 < operation->least_zxid >> 32 &&
            zk_handle_was_synced(handle));
}

/* 2: a read was answered. */
static void check_read(const struct zookeeper_operation *operation,
                       hf_status status,
                       const struct hf_zookeeper_result *result)
{
    struct zookeeper_process *process = operation->process;

    zookeeper_check(result->zxid >= process->read_zxid, 2,
                    "the reads of a session go back",
                    "%u: %" PRIx64 " after %" PRIx64, operation->number,
                    result->zxid, process->read_zxid);
    zookeeper_check(operation->session != process->session ||
                        result->zxid >= operation->least_zxid ||
                        may_be_old(operation, result->zxid),
                    2, "a read after an event does not include it",
                    "%u: %" PRIx64 " after %" PRIx64, operation->number,
                    result->zxid, operation->least_zxid);
    process->read_zxid = result->zxid;
    zookeeper_access_check(operation, &operation->parts[0], status,
                           result->zxid);
    check_content(operation, status, result);
    zookeeper_check_watches(process, result->zxid);
}

void zookeeper_check_end(struct zookeeper_operation *operation,
                         hf_status status,
                         const struct hf_zookeeper_result *result)
{
    struct zookeeper_process *process = operation->process;
    enum hf_zookeeper_op_kind kind = operation->kind;

    zookeeper_check(!operation->ended, 1, "an operation ends twice", "%u",
                    operation->number);
    operation->ended = true;
    operation->status = process->gone ? HF_EUNSURE : status;
    zookeeper_trace(process, "%u ends: %s%s%s (zxid %" PRIx64 ")",
                    operation->number, hf_status_text(status),
                    result->watching ? ", watching" : "",
                    result->error != 0 ? ", answered" : "", result->zxid);
    if (process->gone)
        return;
    zookeeper.end->operations++;
    if (is_write(kind))
        check_write(operation, status, result);
    else if (kind != HF_ZOOKEEPER_ADD_WATCH && kind != HF_ZOOKEEPER_ADD_AUTH &&
             result->zxid != 0 &&
             (status == HF_OK || status == HF_EGONE || status == HF_EDENIED))
        check_read(operation, status, result);
    if (result->watching && operation->watch != NULL)
        zookeeper_watch_set(operation->watch, result->zxid);
}

/* --------------------------------------------------------------- session -- */

static void up(void *user, bool resumed)
{
    struct zookeeper_process *process = user;

    process->connection++;
    zookeeper_watches_up(process, resumed);
}

static void suspended(void *user)
{
    (void)user;
}

static void lost(void *user)
{
    struct zookeeper_process *process = user;

    process->session++;
    process->read_zxid = 0;
    memset(process->event_zxid, 0, sizeof process->event_zxid);
    zookeeper_watches_lost(process);
}

static void closed(void *user)
{
    (void)user;
}

const struct zk_handle_callbacks zookeeper_callbacks = {
    .up = up,
    .suspended = suspended,
    .lost = lost,
    .closed = closed,
};

/* ------------------------------------------------------------ at the end -- */

bool zookeeper_is_busy(void)
{
    const struct zookeeper_operation *operation = zookeeper.operations;

    while (operation != NULL && operation->released)
        operation = operation->next;
    return operation != NULL;
}

/* 1, 4: every operation has ended and was released. */
static void check_operations(void)
{
    for (const struct zookeeper_operation *o = zookeeper.operations; o != NULL;
         o = o->next) {
        zookeeper_check(o->ended, 4, "an operation never ends", "%u",
                        o->number);
        zookeeper_check(o->released, 4, "an operation is never released", "%u",
                        o->number);
    }
}

/* 1: no more writes were carried out than may have been, and no fewer than
 * succeeded. */
static void check_count(const struct zookeeper_count *count)
{
    zookeeper_check(count->committed >= count->ok &&
                        count->committed <= count->ok + count->unsure,
                    1, "writes were carried out that ended otherwise",
                    "%" PRIu64 " of %" PRIu64 " and %" PRIu64 " unsure",
                    count->committed, count->ok, count->unsure);
}

void zookeeper_check_processes(void)
{
    check_operations();
    for (const struct zookeeper_process *p = zookeeper.processes; p != NULL;
         p = p->next) {
        if (p->gone)
            continue;
        check_count(&p->deletes);
        check_count(&p->acls_set);
    }
}
