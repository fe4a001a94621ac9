/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of the storm, by chance.  Every write has data that no other
 * write has. */
#include <stdio.h>
#include <string.h>

#include "zk_storm.h"

/* ---------------------------------------------------------------- chance -- */

/* Below ${bound}; splitmix64. */
unsigned draw(uint64_t *random, unsigned bound)
{
    uint64_t z = *random += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % bound);
}

bool chance(uint64_t *random, unsigned percent)
{
    return draw(random, 100) < percent;
}

/* -------------------------------------------------------------- requests -- */

static int32_t seen_version(const struct storm_handle *handle, const char *path)
{
    return path[1] == 'r' ? atomic_load(&handle->versions[path[2] - '0']) : 0;
}

/* Make sub-request ${i} one of ${kind} for ${path}, with data of its own if it
 * writes some. */
static struct hf_zookeeper_op *fill(const struct storm_handle *handle,
                                    struct request *request, size_t i,
                                    enum hf_zookeeper_op_kind kind,
                                    unsigned number)
{
    struct hf_zookeeper_op *op = &request->subs[i];

    *op = (struct hf_zookeeper_op){.kind = kind, .path = request->paths[i]};
    if (kind == HF_ZOOKEEPER_SET || kind == HF_ZOOKEEPER_CREATE) {
        (void)snprintf(request->data[i], DATA_BYTES, "%s.%u.%u.%zu",
                       handle->name, handle->number, number, i);
        op->data = request->data[i];
        op->bytes = strlen(request->data[i]);
    }
    return op;
}

static void name_register(struct request *request, size_t i, unsigned number)
{
    (void)snprintf(request->paths[i], PATH_BYTES, "/r%u", number);
}

static void name_node(struct request *request, size_t i, unsigned number)
{
    (void)snprintf(request->paths[i], PATH_BYTES, "/d/n%u", number);
}

/* A set that compares versions, or not. */
static void plan_set(const struct storm_handle *handle, struct request *request,
                     size_t i, unsigned number, uint64_t *random)
{
    struct hf_zookeeper_op *op =
        fill(handle, request, i, HF_ZOOKEEPER_SET, number);

    op->version = chance(random, 60) ? seen_version(handle, op->path)
                                     : HF_ZOOKEEPER_ANY_VERSION;
}

void plan_one(const struct storm_handle *handle, struct request *request,
              enum hf_zookeeper_op_kind kind, const char *path, unsigned number)
{
    (void)snprintf(request->paths[0], PATH_BYTES, "%s", path);
    request->op = *fill(handle, request, 0, kind, number);
}

/* Two sets and checks of two other registers, or reads of several nodes. */
static void plan_multi(const struct storm_handle *handle,
                       struct request *request, unsigned number,
                       uint64_t *random)
{
    unsigned first = draw(random, REGISTERS);
    bool reads = chance(random, 30);

    for (size_t i = 0; i < SUBS_MAX; i++) {
        name_register(request, i, (first + (unsigned)i) % REGISTERS);
        if (reads)
            (void)fill(handle, request, i, HF_ZOOKEEPER_GET, number);
        else if (i < 2)
            plan_set(handle, request, i, number, random);
        else
            fill(handle, request, i, HF_ZOOKEEPER_CHECK, number)->version =
                seen_version(handle, request->paths[i]);
    }
    request->op = (struct hf_zookeeper_op){
        .kind = reads ? HF_ZOOKEEPER_MULTI_READ : HF_ZOOKEEPER_MULTI,
        .ops = request->subs,
        .op_count = 2 + draw(random, SUBS_MAX - 1)};
}

/* One operation on a node below /d, or on that. */
static void plan_on_node(const struct storm_handle *handle,
                         struct request *request, unsigned number,
                         uint64_t *random)
{
    static const enum hf_zookeeper_op_kind kinds[] = {
        HF_ZOOKEEPER_CREATE, HF_ZOOKEEPER_CREATE,   HF_ZOOKEEPER_CREATE,
        HF_ZOOKEEPER_DELETE, HF_ZOOKEEPER_DELETE,   HF_ZOOKEEPER_SET,
        HF_ZOOKEEPER_EXISTS, HF_ZOOKEEPER_CHILDREN, HF_ZOOKEEPER_GET};
    enum hf_zookeeper_op_kind kind =
        kinds[draw(random, sizeof kinds / sizeof kinds[0])];

    name_node(request, 0, draw(random, NODES));
    if (kind == HF_ZOOKEEPER_CHILDREN)
        (void)snprintf(request->paths[0], PATH_BYTES, "/d");
    request->op = *fill(handle, request, 0, kind, number);
    if (kind == HF_ZOOKEEPER_SET || kind == HF_ZOOKEEPER_DELETE)
        request->op.version = chance(random, 70) ? HF_ZOOKEEPER_ANY_VERSION : 0;
}

/* One operation on a register. */
static void plan_on_register(const struct storm_handle *handle,
                             struct request *request, unsigned number,
                             uint64_t *random)
{
    unsigned kind = draw(random, 100);

    name_register(request, 0, draw(random, REGISTERS));
    if (kind < 45) {
        plan_set(handle, request, 0, number, random);
        request->op = request->subs[0];
    } else {
        request->op = *fill(handle, request, 0,
                            kind < 50   ? HF_ZOOKEEPER_SYNC
                            : kind < 55 ? HF_ZOOKEEPER_EXISTS
                                        : HF_ZOOKEEPER_GET,
                            number);
    }
}

/* Delete the node of some registration. */
static void plan_delete_registered(const struct storm_handle *handle,
                                   struct request *request, unsigned number,
                                   uint64_t *random)
{
    (void)snprintf(request->paths[0], PATH_BYTES, "/g/c%u.%u",
                   draw(random, PROCESSES), draw(random, 2));
    request->op = *fill(handle, request, 0, HF_ZOOKEEPER_DELETE, number);
    request->op.version = HF_ZOOKEEPER_ANY_VERSION;
}

void plan_any(const struct storm_handle *handle, struct request *request,
              unsigned number, uint64_t *random)
{
    static const unsigned waits_ms[] = {0, 20, 200, 2000, 10000};
    unsigned kind = draw(random, 100);
    unsigned priority = draw(random, 100);

    if (kind < 1)
        plan_delete_registered(handle, request, number, random);
    else if (kind < 10)
        plan_multi(handle, request, number, random);
    else if (kind < 45)
        plan_on_node(handle, request, number, random);
    else
        plan_on_register(handle, request, number, random);
    request->op.priority = priority < 80   ? HF_ZOOKEEPER_NORMAL
                           : priority < 90 ? HF_ZOOKEEPER_URGENT
                                           : HF_ZOOKEEPER_BULK;
    request->wait_ms = chance(random, 60) ? 10000 : waits_ms[draw(random, 5)];
}
