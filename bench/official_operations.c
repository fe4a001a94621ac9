/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-official-operations PORT PATH [cached]: the same operations through
 * ZooKeeper's own C client, its threaded form.  It looks the names of the
 * servers up whenever it waits for something; with "cached" it is set to do
 * that only once (zoo_set_servers_resolution_delay()).
 */
#define THREADED
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "operations.h"
#include "protocol.h"

#define TIMEOUT_MS 10000
#define SERVERS_BYTES 64

static zhandle_t *zookeeper;
static bool cached;
static sem_t all_ended, connected;

static void on_event(zhandle_t *handle, int type, int state, const char *path,
                     void *context)
{
    (void)handle;
    (void)path;
    (void)context;
    if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
        (void)sem_post(&connected);
}

static void open_handle(int port, bool answers)
{
    char servers[SERVERS_BYTES];

    (void)snprintf(servers, sizeof servers, "127.0.0.1:%d", port);
    (void)sem_init(&all_ended, 0, 0);
    (void)sem_init(&connected, 0, 0);
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zookeeper = zookeeper_init(servers, on_event, TIMEOUT_MS, NULL, NULL, 0);
    if (zookeeper == NULL)
        bench_fail("no handle could be opened");
    if (cached && zoo_set_servers_resolution_delay(zookeeper, -1) != ZOK)
        bench_fail("it does not stop to look names up");
    if (answers)
        (void)sem_wait(&connected);
}

static void close_handle(void)
{
    (void)zookeeper_close(zookeeper);
    (void)sem_destroy(&all_ended);
    (void)sem_destroy(&connected);
}

static void one(enum operation operation)
{
    char bytes[OPERATION_PATH_BYTES];
    int count = sizeof bytes;
    struct Stat stat;
    int status = ZBADARGUMENTS;

    switch (operation) {
    case OPERATION_GET:
        status = zoo_get(zookeeper, operation_node, 0, bytes, &count, &stat);
        break;
    case OPERATION_SET:
        status = zoo_set2(zookeeper, operation_node, operation_data,
                          OPERATION_BYTES, -1, &stat);
        break;
    case OPERATION_CREATE:
        status = zoo_create2(zookeeper, operation_child, operation_data,
                             OPERATION_BYTES, &ZOO_OPEN_ACL_UNSAFE,
                             ZOO_SEQUENCE, bytes, count, &stat);
        break;
    }
    if (status != ZOK)
        bench_fail("an operation failed");
}

static void start(struct operations *operations);

static void on_done(int status, struct operations *operations)
{
    if (atomic_load(&operations->abandoned))
        return;
    if (status != ZOK)
        bench_fail("an operation failed");
    if (operations_next(operations))
        start(operations);
    if (operations_ended(operations))
        (void)sem_post(&all_ended);
}

static void on_got(int status, const char *bytes, int count,
                   const struct Stat *stat, const void *arg)
{
    (void)bytes;
    (void)count;
    (void)stat;
    on_done(status, (struct operations *)arg);
}

static void on_set(int status, const struct Stat *stat, const void *arg)
{
    (void)stat;
    on_done(status, (struct operations *)arg);
}

static void on_created(int status, const char *path, const struct Stat *stat,
                       const void *arg)
{
    (void)path;
    (void)stat;
    on_done(status, (struct operations *)arg);
}

static void start(struct operations *operations)
{
    int status = ZBADARGUMENTS;

    switch (operations->operation) {
    case OPERATION_GET:
        status = zoo_aget(zookeeper, operation_node, 0, on_got, operations);
        break;
    case OPERATION_SET:
        status = zoo_aset(zookeeper, operation_node, operation_data,
                          OPERATION_BYTES, -1, on_set, operations);
        break;
    case OPERATION_CREATE:
        status = zoo_acreate2(zookeeper, operation_child, operation_data,
                              OPERATION_BYTES, &ZOO_OPEN_ACL_UNSAFE,
                              ZOO_SEQUENCE, on_created, operations);
        break;
    }
    if (status != ZOK)
        bench_fail("an operation could not be started");
}

static void await(struct operations *operations)
{
    (void)operations;
    (void)sem_wait(&all_ended);
}

int main(int count, char **arguments)
{
    const struct operations_client client = {open_handle, one, start, await,
                                             close_handle};

    cached = count == 4 && strcmp(arguments[3], "cached") == 0;
    return operations_main(cached ? 3 : count, arguments, &client);
}
