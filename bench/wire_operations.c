/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-wire-operations PORT PATH: operations on the bare wire, which are the
 * floor.  Of many, all answers that have arrived are read before the requests
 * that take their places leave in one write.
 */
#include "operations.h"
#include "wire_session.h"

#define SEQUENTIAL 2 /* of CreateMode */

static struct wire *wire;

static void open_session(int port, bool answers)
{
    (void)answers;
    wire = wire_open(port);
}

static void close_session(void)
{
    wire_close(wire);
}

static void put(enum operation operation)
{
    switch (operation) {
    case OPERATION_GET:
        wire_read(wire, HF_ZK_GET_DATA, operation_node, false);
        break;
    case OPERATION_SET:
        wire_set(wire, operation_node, operation_data);
        break;
    case OPERATION_CREATE:
        wire_create(wire, operation_child, operation_data, SEQUENTIAL);
        break;
    }
}

static void one(enum operation operation)
{
    put(operation);
    wire_send(wire);
    (void)wire_answer(wire, wire->xid);
}

static void start(struct operations *operations)
{
    put(operations->operation);
}

static void await(struct operations *operations)
{
    int32_t xid = wire->xid - (int32_t)operations->underway;
    bool last = false;

    while (!last) {
        wire_send(wire);
        do {
            (void)wire_answer(wire, ++xid);
            last = operations_ended(operations);
            if (operations_next(operations))
                put(operations->operation);
        } while (!last && wire_has_frame(wire));
    }
}

int main(int count, char **arguments)
{
    const struct operations_client client = {open_session, one, start, await,
                                             close_session};

    return operations_main(count, arguments, &client);
}
