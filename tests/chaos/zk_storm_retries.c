/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes of the storm that are retried: protected creates below /p, of
 * nodes that are sequential (/p/s-, /p/e-) or ephemeral (/p/x0, ...) or both,
 * guaranteed deletes of what they have made, and updates of two counters.
 *
 * /c0 has the data COUNT:NAME.HANDLE.NUMBER, which no other update writes, and
 * /c1 COUNT alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "zk_storm.h"

#define EPHEMERALS 4

enum retried_kind { RETRIED_CREATE, RETRIED_DELETE, RETRIED_UPDATE };

/* A write, and the argument of its callback. */
struct retried {
    struct storm_handle *handle;
    unsigned number;
    enum retried_kind kind;
    enum hf_zookeeper_mode mode;
    bool is_kept; /* what it has created is not deleted */
    bool refuses; /* the function of the update writes nothing */
    uint64_t wait_ms;
    char path[PROTECTED_PATH_BYTES];
    char data[DATA_BYTES]; /* unique; of a delete, that of the node */
};

/* The argument of the function of an update. */
struct counting {
    bool unique;
    bool refuses;
    char id[DATA_BYTES];
    char text[DATA_BYTES + 32];
};

/* ----------------------------------------------------------------- plans -- */

static void plan_create(struct retried *retried, uint64_t *random)
{
    unsigned kind = draw(random, 10);

    retried->kind = RETRIED_CREATE;
    retried->is_kept = chance(random, 15);
    if (kind < 4) {
        retried->mode = HF_ZOOKEEPER_SEQUENTIAL;
        strcpy(retried->path, "/p/s-");
    } else if (kind < 7) {
        retried->mode = HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL;
        strcpy(retried->path, "/p/e-");
    } else {
        retried->mode = HF_ZOOKEEPER_EPHEMERAL;
        (void)snprintf(retried->path, sizeof retried->path, "/p/x%u",
                       draw(random, EPHEMERALS));
    }
}

/* Take a node that was created.  False: there is none. */
static bool plan_delete(struct retried *retried)
{
    struct storm_handle *handle = retried->handle;
    bool taken = false;

    pthread_mutex_lock(&handle->lock);
    for (size_t i = 0; i < CREATED && !taken; i++) {
        if (handle->created[i].path[0] == '\0')
            continue;
        retried->kind = RETRIED_DELETE;
        strcpy(retried->path, handle->created[i].path);
        strcpy(retried->data, handle->created[i].data);
        handle->created[i].path[0] = '\0';
        taken = true;
    }
    pthread_mutex_unlock(&handle->lock);
    return taken;
}

static void plan_update(struct retried *retried, uint64_t *random)
{
    retried->kind = RETRIED_UPDATE;
    retried->refuses = chance(random, 5);
    (void)snprintf(retried->path, sizeof retried->path, "/c%u",
                   chance(random, 40));
}

static struct retried *new_retried(struct storm_handle *handle,
                                   uint64_t *random)
{
    static const unsigned waits_ms[] = {0, 20, 200, 2000, 10000};
    struct retried *retried = alloc_or_fail(sizeof *retried);

    *retried = (struct retried){
        .handle = handle,
        .number = atomic_fetch_add(&handle->next, 1),
        .wait_ms = chance(random, 50) ? 10000 : waits_ms[draw(random, 5)]};
    (void)snprintf(retried->data, DATA_BYTES, "%s.%u.%u", handle->name,
                   handle->number, retried->number);
    return retried;
}

static struct retried *plan_retried(struct storm_handle *handle,
                                    uint64_t *random)
{
    struct retried *retried = new_retried(handle, random);
    unsigned kind = draw(random, 10);

    if (kind < 4)
        plan_update(retried, random);
    else if (kind < 7 || !plan_delete(retried))
        plan_create(retried, random);
    return retried;
}

/* ----------------------------------------------------------------- lines -- */

static void write_begin(const struct retried *retried, char how)
{
    static const char *const kinds[] = {"create", "delete", "update"};

    write_line("o %u %u %c %" PRIu64 " %s %d %s %s", retried->handle->number,
               retried->number, how, retried->wait_ms, kinds[retried->kind],
               (int)retried->mode, retried->path, retried->data);
}

/* ${result} is NULL of a call that brings none. */
static void write_retried(const struct retried *retried, hf_status status,
                          const struct hf_zookeeper_result *result)
{
    static const struct hf_zookeeper_result none;
    const struct hf_zookeeper_stat *stat;

    if (result == NULL)
        result = &none;
    stat = &result->stat;
    write_line("p %u %u %s %" PRId64 " %" PRId64 " %d %" PRId64 " %s",
               retried->handle->number, retried->number, hf_status_name(status),
               stat->czxid, stat->mzxid, (int)stat->version,
               stat->ephemeral_owner,
               result->path != NULL ? result->path : "-");
}

/* ------------------------------------------------------------------ ends -- */

/* Have the node deleted later, if there is room for it. */
static void note_created(const struct retried *retried, const char *path)
{
    struct storm_handle *handle = retried->handle;
    struct created *free = NULL;

    pthread_mutex_lock(&handle->lock);
    for (size_t i = 0; i < CREATED && free == NULL; i++)
        if (handle->created[i].path[0] == '\0')
            free = &handle->created[i];
    if (free != NULL && strlen(path) < sizeof free->path) {
        strcpy(free->path, path);
        strcpy(free->data, retried->data);
    }
    pthread_mutex_unlock(&handle->lock);
}

static void note_end(const struct retried *retried, hf_status status,
                     const struct hf_zookeeper_result *result)
{
    write_retried(retried, status, result);
    if (retried->kind == RETRIED_CREATE && status == HF_OK && !retried->is_kept)
        note_created(retried, result->path);
}

static void retried_ended(void *arg, const struct hf_zookeeper_result *result)
{
    const struct retried *retried = arg;

    note_end(retried, result->status, result);
    atomic_fetch_add(&retried->handle->ended, 1);
}

static void retried_dropped(void *arg)
{
    struct retried *retried = arg;

    atomic_fetch_add(&retried->handle->dropped, 1);
    atomic_fetch_sub(&retried->handle->under_way, 1);
    free(retried);
}

/* --------------------------------------------------------------- updates -- */

/* One more.  What the counter is created with counts as 0. */
static hf_status count_up(void *arg, const struct hf_zookeeper_result *now,
                          struct hf_zookeeper_new_data *new_data)
{
    struct counting *counting = arg;
    char text[DATA_BYTES + 32];
    unsigned long count;

    (void)snprintf(text, sizeof text, "%.*s", (int)now->bytes,
                   now->data != NULL ? (const char *)now->data : "");
    count = strtoul(text, NULL, 10) + 1;
    if (counting->unique)
        (void)snprintf(counting->text, sizeof counting->text, "%lu:%s", count,
                       counting->id);
    else
        (void)snprintf(counting->text, sizeof counting->text, "%lu", count);
    *new_data = (struct hf_zookeeper_new_data){
        counting->text, strlen(counting->text), counting->unique};
    return counting->refuses ? HF_ESTATE : HF_OK;
}

static struct hf_zookeeper_change change_of(const struct retried *retried)
{
    struct counting *counting = alloc_or_fail(sizeof *counting);

    *counting = (struct counting){.unique = strcmp(retried->path, "/c0") == 0,
                                  .refuses = retried->refuses};
    strcpy(counting->id, retried->data);
    return (struct hf_zookeeper_change){count_up, counting, free};
}

static struct hf_zookeeper_op create_of(const struct retried *retried)
{
    return (struct hf_zookeeper_op){.kind = HF_ZOOKEEPER_CREATE,
                                    .path = retried->path,
                                    .data = retried->data,
                                    .bytes = strlen(retried->data),
                                    .mode = retried->mode};
}

/* ---------------------------------------------------------------- starts -- */

static hf_status start_by_kind(struct retried *retried, struct hf_op **op)
{
    struct hf_zookeeper *zookeeper = retried->handle->zookeeper;
    const struct hf_zookeeper_done done = {retried_ended, retried,
                                           retried_dropped};
    struct hf_zookeeper_op create;

    switch (retried->kind) {
    case RETRIED_CREATE:
        create = create_of(retried);
        return hf_zookeeper_create_protected_start(zookeeper, &create, 0,
                                                   retried->wait_ms, done, op);
    case RETRIED_DELETE:
        return hf_zookeeper_delete_guaranteed_start(zookeeper, retried->path,
                                                    HF_ZOOKEEPER_ANY_VERSION,
                                                    retried->wait_ms, done, op);
    default:
        return hf_zookeeper_update_start(zookeeper, retried->path,
                                         change_of(retried), retried->wait_ms,
                                         done, op);
    }
}

/* retried_dropped() may have freed ${retried} when this returns. */
static void start(struct retried *retried, struct hf_op **op)
{
    struct storm_handle *handle = retried->handle;
    unsigned number = retried->number;
    hf_status status;

    write_begin(retried, 'a');
    atomic_fetch_add(&handle->under_way, 1);
    status = start_by_kind(retried, op);
    if (status == HF_OK) {
        atomic_fetch_add(&handle->started, 1);
        return;
    }
    atomic_fetch_add(&handle->refused, 1);
    write_line("x %u %u %s", handle->number, number, hf_status_name(status));
}

void start_retried(struct storm_handle *handle, struct hf_op **kept)
{
    bool keep = chance(&handle->random, 10);
    struct retried *retried;

    if (keep && *kept != NULL) {
        write_line("X %u %u", handle->number, handle->kept_number);
        hf_op_cancel(*kept);
        hf_op_free(*kept);
        *kept = NULL;
    }
    retried = plan_retried(handle, &handle->random);
    if (keep)
        handle->kept_number = retried->number;
    start(retried, keep ? kept : NULL);
}

void start_update(struct storm_handle *handle)
{
    struct retried *retried = new_retried(handle, &handle->random);

    plan_update(retried, &handle->random);
    start(retried, NULL);
}

/* ----------------------------------------------------------------- calls -- */

static hf_status run_by_kind(const struct retried *retried,
                             struct hf_zookeeper_result **result)
{
    struct hf_zookeeper *zookeeper = retried->handle->zookeeper;
    struct hf_zookeeper_op create;

    switch (retried->kind) {
    case RETRIED_CREATE:
        create = create_of(retried);
        return hf_zookeeper_create_protected(zookeeper, &create, 0,
                                             retried->wait_ms, result);
    case RETRIED_DELETE:
        return hf_zookeeper_delete_guaranteed(zookeeper, retried->path,
                                              HF_ZOOKEEPER_ANY_VERSION,
                                              retried->wait_ms);
    default:
        return hf_zookeeper_update(zookeeper, retried->path, change_of(retried),
                                   retried->wait_ms, result);
    }
}

void run_retried(struct storm_handle *handle)
{
    struct retried *retried = plan_retried(handle, &handle->caller_random);
    struct hf_zookeeper_result *result = NULL;
    hf_status status;

    write_begin(retried, 'b');
    status = run_by_kind(retried, &result);
    note_end(retried, status, result);
    hf_zookeeper_result_free(result);
    free(retried);
}
