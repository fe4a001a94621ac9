/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-holdfast-operations PORT PATH: operations through
 * <holdfast/zookeeper.h>, as a program would do them.  Of many, the callback of
 * each starts the next.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <holdfast/zookeeper.h>

#include "operations.h"
#include "protocol.h"

#define URL_BYTES 64

static struct hf_zookeeper *zookeeper;
static sem_t all_ended;

static void open_handle(int port, bool answers)
{
    char url[URL_BYTES];

    (void)answers;
    (void)snprintf(url, sizeof url, "zk://127.0.0.1:%d?timeout=10s", port);
    (void)sem_init(&all_ended, 0, 0);
    if (hf_zookeeper_open(url, NULL, &zookeeper) != HF_OK)
        bench_fail("no handle could be opened");
}

static void close_handle(void)
{
    if (hf_zookeeper_close(zookeeper) != HF_OK)
        bench_fail("a handle could not be closed");
    (void)sem_destroy(&all_ended);
}

static void one(enum operation operation)
{
    struct hf_zookeeper_result *result = NULL;
    hf_status status = HF_EINVAL;

    switch (operation) {
    case OPERATION_GET:
        status =
            hf_zookeeper_get(zookeeper, operation_node, HF_FOREVER, &result);
        break;
    case OPERATION_SET:
        status = hf_zookeeper_set(zookeeper, operation_node, operation_data,
                                  OPERATION_BYTES, HF_ZOOKEEPER_ANY_VERSION,
                                  HF_FOREVER, &result);
        break;
    case OPERATION_CREATE:
        status = hf_zookeeper_create(zookeeper, operation_child, operation_data,
                                     OPERATION_BYTES, HF_ZOOKEEPER_SEQUENTIAL,
                                     HF_FOREVER, &result);
        break;
    }
    if (status != HF_OK)
        bench_fail("an operation failed");
    hf_zookeeper_result_free(result);
}

static void on_done(void *arg, const struct hf_zookeeper_result *result);

static void start(struct operations *operations)
{
    const struct hf_zookeeper_done done = {on_done, operations, NULL};
    hf_status status = HF_EINVAL;

    switch (operations->operation) {
    case OPERATION_GET:
        status =
            hf_zookeeper_get_start(zookeeper, operation_node, HF_FOREVER, done);
        break;
    case OPERATION_SET:
        status = hf_zookeeper_set_start(
            zookeeper, operation_node, operation_data, OPERATION_BYTES,
            HF_ZOOKEEPER_ANY_VERSION, HF_FOREVER, done);
        break;
    case OPERATION_CREATE:
        status = hf_zookeeper_create_start(
            zookeeper, operation_child, operation_data, OPERATION_BYTES,
            HF_ZOOKEEPER_SEQUENTIAL, HF_FOREVER, done);
        break;
    }
    if (status != HF_OK)
        bench_fail("an operation could not be started");
}

static void on_done(void *arg, const struct hf_zookeeper_result *result)
{
    struct operations *operations = arg;

    if (atomic_load(&operations->abandoned))
        return;
    if (result->status != HF_OK)
        bench_fail("an operation failed");
    if (operations_next(operations))
        start(operations);
    if (operations_ended(operations))
        (void)sem_post(&all_ended);
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

    return operations_main(count, arguments, &client);
}
