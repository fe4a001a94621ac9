/* SPDX-License-Identifier: Apache-2.0 */
/* What the users of the public client do: operations of all kinds on a few
 * nodes, watches that come and go, cancellations. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random/decision.h"
#include "simulator/random/zookeeper_private.h"
#include "zookeeper/zk_op.h"

#define WATCHES_MAX 8 /* of one process that are not freed */
#define RECENT_MAX 16 /* changes, at whose nodes users look */
#define SEQUENTIAL_PATH "/a/s"

/* A run uses the first few, so that much happens at each. */
static const char *const paths[ZOOKEEPER_PATHS_MAX] = {
    "/a", "/a/b", "/ab", "/a/b/c", "/e", "/e/f"};

const char *zookeeper_any_path(void)
{
    return paths[zookeeper_below(zookeeper.path_count)];
}

static bool one_in(uint64_t n)
{
    return zookeeper_below(n) == 0;
}

bool zookeeper_user_writes(const char *path)
{
    for (size_t i = 0; i < ZOOKEEPER_PATHS_MAX; i++) {
        size_t bytes = strlen(paths[i]);

        if (strncmp(path, paths[i], bytes) == 0 &&
            (path[bytes] == '\0' || path[bytes] == '/'))
            return true;
    }
    return false;
}

/* One of ${paths}, or where locks are in use a node that has changed a while
 * ago, a ticket's most often, or its parent, a queue's.  Valid until the next
 * call. */
static const char *any_seen_path(void)
{
    static char path[ZOOKEEPER_PATH_BYTES];
    size_t count = zookeeper.change_count;
    char *name;

    if (!zookeeper.with_locks || count == 0 || one_in(3))
        return zookeeper_any_path();
    count -=
        1 + (size_t)zookeeper_below(count < RECENT_MAX ? count : RECENT_MAX);
    snprintf(path, sizeof path, "%s", zookeeper.history[count].change.path);
    name = strrchr(path, '/');
    if (name != path && one_in(2))
        *name = '\0';
    return path;
}

/* ------------------------------------------------------------ operations -- */

static void ended(struct hf_zk_op *op, hf_status status,
                  struct hf_zookeeper_result *result)
{
    struct zookeeper_operation *operation = (struct zookeeper_operation *)op;

    zookeeper_check_end(operation, status, result);
    operation->watch = NULL;
    op->watcher = NULL;
    hf_zookeeper_result_free(result);
}

static void released(struct hf_zk_op *op)
{
    struct zookeeper_operation *operation = (struct zookeeper_operation *)op;

    zookeeper_check(operation->ended && !operation->released, 1,
                    "an operation is released twice, or before its end", "%u",
                    operation->number);
    operation->released = true;
}

static const struct hf_zk_op_callbacks callbacks = {
    .ended = ended,
    .released = released,
};

static unsigned any_handle(const struct zookeeper_process *process)
{
    return process->handle_count == 1
               ? 0
               : (unsigned)zookeeper_below(process->handle_count);
}

struct zookeeper_operation *
zookeeper_new_operation(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_alloc(sizeof *operation);

    operation->process = process;
    operation->handle = any_handle(process);
    operation->number = ++zookeeper.operation_count;
    return operation;
}

struct zookeeper_part *zookeeper_add_part(struct zookeeper_operation *operation,
                                          enum hf_zookeeper_op_kind kind,
                                          const char *path,
                                          struct hf_zookeeper_op *op)
{
    struct zookeeper_part *part = &operation->parts[operation->part_count];

    part->kind = kind;
    snprintf(part->path, sizeof part->path, "%s", path);
    *op = (struct hf_zookeeper_op){.kind = kind, .path = part->path};
    if (kind == HF_ZOOKEEPER_CREATE || kind == HF_ZOOKEEPER_SET) {
        snprintf(part->value, sizeof part->value, "%u.%u", operation->number,
                 operation->part_count);
        op->data = part->value;
        op->bytes = strlen(part->value);
    }
    operation->part_count++;
    return part;
}

static struct zk_handle *handle_of(const struct zookeeper_operation *operation)
{
    return operation->process->handles[operation->handle];
}

/* A version that the node may have: the last one, or one near it. */
static int32_t any_version(const char *path)
{
    const struct zookeeper_change *node = zookeeper_node_at(path, INT64_MAX);
    int32_t version = node == NULL ? 0 : node->change.version;

    if (one_in(4))
        return HF_ZOOKEEPER_ANY_VERSION;
    return one_in(6) ? version + 1 : version;
}

/* Deadlines are rare, so that most operations end with an answer. */
static void draw_options(struct zookeeper_operation *operation,
                         struct hf_zookeeper_op *op)
{
    struct hf_zk_op *zk_op = &operation->zk_op;
    uint64_t now_ms = zk_handle_now_ms(handle_of(operation));

    zk_op->deadline_at_ms =
        one_in(8) && !zookeeper.faults_over
            ? now_ms + zookeeper_below(2 * zookeeper.timeout_ms)
            : HF_FOREVER;
    zk_op->connect_by_ms =
        one_in(4) ? now_ms + zookeeper.timeout_ms : HF_FOREVER;
    zk_op->only_try = one_in(16);
    op->priority = one_in(6) ? (enum hf_zookeeper_priority)zookeeper_below(3)
                             : HF_ZOOKEEPER_NORMAL;
}

void zookeeper_start(struct zookeeper_operation *operation,
                     struct hf_zookeeper_op *op)
{
    struct zookeeper_process *process = operation->process;
    struct zk_handle *handle = handle_of(operation);
    struct hf_zk_op *zk_op = &operation->zk_op;
    const struct hf_zookeeper_credential credential = {op->scheme, op->data,
                                                       op->bytes};
    struct hf_error error;
    hf_status status;

    draw_options(operation, op);
    status = hf_zk_op_check(op, &handle->context, &error);
    assert(status == HF_OK);
    operation->kind = zk_op->kind = op->kind;
    operation->session = process->session;
    operation->least_zxid = process->event_zxid[operation->handle];
    operation->who = process->who;
    operation->next = zookeeper.operations;
    zookeeper.operations = operation;
    zk_op->callbacks = &callbacks;
    zk_op->priority = op->priority;
    zk_op->opcode = hf_zk_op_opcode(op);
    zk_op->path = op->path == NULL ? "" : op->path;
    zk_op->watcher =
        operation->watch == NULL ? NULL : &operation->watch->watch.watcher;
    zk_op->reserved = hf_zk_op_reserve();
    zk_op->credential = &credential;
    zookeeper_trace(process, "%u: kind %d of %s%s", operation->number,
                    (int)op->kind, zk_op->path,
                    operation->watch == NULL ? "" : ", with a watch");
    zk_handle_begin(handle);
    status = hf_zk_op_encode(op, &handle->context, &zk_op->record, &error);
    assert(status == HF_OK);
    status = hf_zk_op_queue_add(&handle->queue, zk_op, zk_handle_now_ms(handle),
                                &error);
    assert(status == HF_OK);
    (void)status;
    zk_op->credential = NULL;
    zk_handle_end(handle);
}

/* ---------------------------------------------------------------- writes -- */

static void create(struct zookeeper_process *process)
{
    static const enum hf_zookeeper_mode modes[] = {
        HF_ZOOKEEPER_PERSISTENT, HF_ZOOKEEPER_PERSISTENT,
        HF_ZOOKEEPER_EPHEMERAL,  HF_ZOOKEEPER_CONTAINER,
        HF_ZOOKEEPER_SEQUENTIAL, HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL};
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;
    enum hf_zookeeper_mode mode =
        modes[zookeeper_below(sizeof modes / sizeof modes[0])];
    bool sequential = mode == HF_ZOOKEEPER_SEQUENTIAL ||
                      mode == HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL;

    zookeeper_add_part(operation, HF_ZOOKEEPER_CREATE,
                       sequential ? SEQUENTIAL_PATH : zookeeper_any_path(),
                       &op);
    op.mode = mode;
    zookeeper_access_draw_list(&operation->parts[0], &op);
    zookeeper_start(operation, &op);
}

static void set(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;

    zookeeper_add_part(operation, HF_ZOOKEEPER_SET, zookeeper_any_path(), &op);
    op.version = any_version(op.path);
    zookeeper_start(operation, &op);
}

/* A node that is there, sequential ones too; or any path. */
static const char *any_node(void)
{
    for (int tries = 0; tries < 4 && zookeeper.change_count > 0; tries++) {
        const char *path =
            zookeeper.history[zookeeper_below(zookeeper.change_count)]
                .change.path;

        if (zookeeper_user_writes(path) &&
            zookeeper_node_at(path, INT64_MAX) != NULL)
            return path;
    }
    return zookeeper_any_path();
}

static void delete_node(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;

    zookeeper_add_part(operation, HF_ZOOKEEPER_DELETE, any_node(), &op);
    op.version = any_version(op.path);
    zookeeper_start(operation, &op);
}

static void multi(struct zookeeper_process *process)
{
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_CREATE, HF_ZOOKEEPER_DELETE, HF_ZOOKEEPER_SET,
        HF_ZOOKEEPER_SET, HF_ZOOKEEPER_CHECK};
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op ops[ZOOKEEPER_PARTS_MAX];
    struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_MULTI, .ops = ops};

    op.op_count = 1 + (size_t)zookeeper_below(ZOOKEEPER_PARTS_MAX);
    for (size_t i = 0; i < op.op_count; i++) {
        enum hf_zookeeper_op_kind kind =
            kinds[zookeeper_below(sizeof kinds / sizeof kinds[0])];

        zookeeper_add_part(operation, kind,
                           kind == HF_ZOOKEEPER_CHECK ? any_seen_path()
                                                      : zookeeper_any_path(),
                           &ops[i]);
        if (kind == HF_ZOOKEEPER_CREATE)
            zookeeper_access_draw_list(&operation->parts[i], &ops[i]);
        else
            ops[i].version = any_version(ops[i].path);
    }
    zookeeper_start(operation, &op);
}

/* ----------------------------------------------------------------- reads -- */

/* The kinds of reads, and those that can set a watch of ${mode}. */
static enum hf_zookeeper_op_kind any_read(enum hf_zk_watch_mode mode)
{
    if (mode == HF_ZK_WATCH_CHILDREN)
        return HF_ZOOKEEPER_CHILDREN;
    if (mode == HF_ZK_WATCH_DATA)
        return one_in(2) ? HF_ZOOKEEPER_GET : HF_ZOOKEEPER_EXISTS;
    switch (zookeeper_below(4)) {
    case 0:
        return HF_ZOOKEEPER_EXISTS;
    case 1:
        return HF_ZOOKEEPER_CHILDREN;
    default:
        return HF_ZOOKEEPER_GET;
    }
}

/* ${operation} is to set ${watch}, of the same handle. */
static void set_watch_of(struct zookeeper_operation *operation,
                         struct zookeeper_watch *watch)
{
    operation->watch = watch;
    if (watch != NULL)
        operation->handle = watch->handle;
}

/* ${watch} may be NULL. */
static void read_node(struct zookeeper_process *process, const char *path,
                      struct zookeeper_watch *watch)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;

    zookeeper_add_part(
        operation, any_read(watch == NULL ? HF_ZK_WATCH_MODES : watch->mode),
        path, &op);
    set_watch_of(operation, watch);
    zookeeper_start(operation, &op);
}

static void sync_node(struct zookeeper_process *process)
{
    struct zookeeper_operation *operation = zookeeper_new_operation(process);
    struct hf_zookeeper_op op;

    zookeeper_add_part(operation, HF_ZOOKEEPER_SYNC, any_seen_path(), &op);
    zookeeper_start(operation, &op);
}

/* --------------------------------------------------------------- watches -- */

static struct zookeeper_watch *new_watch(struct zookeeper_process *process,
                                         enum hf_zk_watch_mode mode)
{
    struct zookeeper_watch *watch = zookeeper_alloc(sizeof *watch);

    watch->process = process;
    watch->mode = mode;
    snprintf(watch->path, sizeof watch->path, "%s", any_seen_path());
    watch->next = process->watches;
    process->watches = watch;
    watch->handle = any_handle(process);
    watch->watch.fired = zookeeper_watch_fired;
    zk_handle_watch_open(&watch->watch, process->handles[watch->handle],
                         watch->path, mode);
    return watch;
}

static unsigned count_watches(const struct zookeeper_process *process)
{
    unsigned count = 0;

    for (const struct zookeeper_watch *w = process->watches; w != NULL;
         w = w->next)
        count += !w->freed;
    return count;
}

/* A watch that is not freed, one-shot or not; NULL: there is none. */
static struct zookeeper_watch *
any_watch(const struct zookeeper_process *process)
{
    unsigned count = count_watches(process);
    uint64_t index = count == 0 ? 0 : zookeeper_below(count);
    struct zookeeper_watch *watch = process->watches;

    while (watch != NULL && (watch->freed || index-- > 0))
        watch = watch->next;
    return watch;
}

/* Start the operation that sets ${watch}. */
static void set_watch(struct zookeeper_watch *watch)
{
    struct zookeeper_operation *operation;
    struct hf_zookeeper_op op;

    if (watch->mode == HF_ZK_WATCH_DATA ||
        watch->mode == HF_ZK_WATCH_CHILDREN) {
        read_node(watch->process, watch->path, watch);
        return;
    }
    operation = zookeeper_new_operation(watch->process);
    zookeeper_add_part(operation, HF_ZOOKEEPER_ADD_WATCH, watch->path, &op);
    set_watch_of(operation, watch);
    zookeeper_start(operation, &op);
}

static void free_one(void *arg)
{
    struct zookeeper_watch *watch = arg;

    if (!watch->freed && !zookeeper.stopping && zookeeper_runs(watch->process))
        zookeeper_user_free_watch(watch);
}

/* Persistent ones are set once.  Some watches are freed soon, perhaps before
 * they are set. */
static void watch_something(struct zookeeper_process *process)
{
    struct zookeeper_watch *watch = any_watch(process);

    if (watch != NULL && one_in(2) &&
        (watch->mode == HF_ZK_WATCH_DATA ||
         watch->mode == HF_ZK_WATCH_CHILDREN)) {
        set_watch(watch);
        return;
    }
    if (count_watches(process) >= WATCHES_MAX)
        return;
    watch = new_watch(
        process, (enum hf_zk_watch_mode)zookeeper_below(HF_ZK_WATCH_MODES));
    set_watch(watch);
    if (one_in(4))
        zookeeper_later(1000 * zookeeper_below(zookeeper.timeout_ms), free_one,
                        watch);
}

void zookeeper_user_free_watch(struct zookeeper_watch *watch)
{
    struct zk_handle *handle = watch->watch.handle;

    zookeeper_trace(watch->process, "frees the watch %d of %s",
                    (int)watch->mode, watch->path);
    zk_handle_begin(handle);
    for (struct zookeeper_operation *o = zookeeper.operations; o != NULL;
         o = o->next) {
        if (o->watch != watch)
            continue;
        o->watch = NULL;
        o->zk_op.watcher = NULL;
        if (o->kind == HF_ZOOKEEPER_ADD_WATCH)
            hf_zk_op_queue_cancel(&handle->queue, &o->zk_op,
                                  zk_handle_now_ms(handle));
    }
    watch->freed = true;
    zk_handle_watch_free(&watch->watch);
    zk_handle_end(handle);
}

/* Read what has changed, and set a one-shot watch again or not. */
static void react(void *arg)
{
    struct zookeeper_watch *watch = arg;
    bool one_shot =
        watch->mode == HF_ZK_WATCH_DATA || watch->mode == HF_ZK_WATCH_CHILDREN;

    if (watch->freed || zookeeper.stopping || !zookeeper_runs(watch->process))
        return;
    read_node(watch->process, watch->path,
              one_shot && one_in(2) ? watch : NULL);
}

void zookeeper_user_react(struct zookeeper_watch *watch)
{
    if (!zookeeper.stopping && one_in(2))
        zookeeper_later(zookeeper_below(2000), react, watch);
}

/* ----------------------------------------------------------------- steps -- */

static void cancel_one(struct zookeeper_process *process)
{
    struct zk_handle *handle;

    for (struct zookeeper_operation *o = zookeeper.operations; o != NULL;
         o = o->next) {
        if (o->process != process || o->ended || one_in(2))
            continue;
        zookeeper_trace(process, "cancels %u", o->number);
        handle = handle_of(o);
        zk_handle_begin(handle);
        hf_zk_op_queue_cancel(&handle->queue, &o->zk_op,
                              zk_handle_now_ms(handle));
        zk_handle_end(handle);
        return;
    }
}

static void step_once(struct zookeeper_process *process)
{
    struct zookeeper_watch *watch;

    if (zookeeper.user_count > 0 && one_in(12)) {
        zookeeper_access_step(process);
        return;
    }
    switch (zookeeper_below(16)) {
    case 0:
    case 1:
    case 2:
        create(process);
        break;
    case 3:
    case 4:
    case 5:
        set(process);
        break;
    case 6:
        delete_node(process);
        break;
    case 7:
        multi(process);
        break;
    case 8:
        sync_node(process);
        break;
    case 9:
        cancel_one(process);
        break;
    case 10:
        watch = any_watch(process);
        if (watch != NULL)
            zookeeper_user_free_watch(watch);
        break;
    case 11:
    case 12:
        watch_something(process);
        break;
    default:
        read_node(process, any_seen_path(), NULL);
    }
}

/* Again and again. */
static void step(void *arg)
{
    unsigned number = (unsigned)(uintptr_t)arg;
    struct zookeeper_process *process = zookeeper.clients[number];
    uint64_t us;

    if (zookeeper.stopping)
        return;
    if (decision_taken(zookeeper.user_decision, number) && process != NULL &&
        zookeeper_runs(process))
        step_once(process);
    us = decision_delay_us(zookeeper.user_decision, number,
                           1 + zookeeper_below(2 * zookeeper.step_every_us));
    zookeeper_later(us, step, arg);
}

void zookeeper_user_start(unsigned number)
{
    zookeeper_later(1000, step, (void *)(uintptr_t)number);
}
