/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the clients of bench/operations.py that are written in C share: each of
 * them says how it does one operation and how it does many, and the rest is
 * here.
 */
#ifndef HF_BENCH_OPERATIONS_H
#define HF_BENCH_OPERATIONS_H

#include <stdatomic.h>
#include <stdbool.h>

enum operation {
    OPERATION_GET,    /* the data of the node, and its Stat */
    OPERATION_SET,    /* of the same length */
    OPERATION_CREATE, /* a sequential node below it */
};

/* The data of each node, of OPERATION_BYTES; and what the name of a created one
 * begins with. */
#define OPERATION_BYTES 100
#define OPERATION_PATH_BYTES 128
extern const char operation_data[OPERATION_BYTES + 1];

/* The nodes of the operations.  Set before .open is called. */
extern char operation_node[OPERATION_PATH_BYTES];
extern char operation_child[OPERATION_PATH_BYTES];

/* Operations of which ${underway} are under way.  The client calls
 * operations_next() for each that it starts. */
struct operations {
    enum operation operation;
    unsigned count;
    unsigned underway;
    atomic_uint started, ended;
};

/* May another one be started?  Then it counts as started. */
bool operations_next(struct operations *operations);

/* Count one that has ended.  Was it the last one? */
bool operations_ended(struct operations *operations);

/* A client: one operation, which is waited for; many of them; and a session
 * with the server of 127.0.0.1:${port}, from .open to .close. */
struct operations_client {
    void (*open)(int port);
    void (*one)(enum operation operation);
    void (*many)(struct operations *operations);
    void (*close)(void);
};

/* main(): the arguments are PORT PATH, and requests are
 *
 *   get|set|create COUNT            one after the other; a sample for each
 *   get|set|create COUNT UNDERWAY   with so many under way
 */
int operations_main(int count, char **arguments,
                    const struct operations_client *client);

#endif
