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
 * operations_next() before it starts another one, and operations_ended() for
 * each that has ended. */
struct operations {
    enum operation operation;
    unsigned count;
    unsigned underway;
    atomic_uint started, ended;
    atomic_bool abandoned; /* the session is being closed: they fail */
};

/* May another one be started?  Then it counts as started. */
bool operations_next(struct operations *operations);

/* Count one that has ended.  Was it the last one? */
bool operations_ended(struct operations *operations);

/* A client: a session with the server of 127.0.0.1:${port}, from .open to
 * .close, which may be one that never answers; one operation, which is waited
 * for; and many of them: .start starts one, and .await waits until all have
 * ended, each of which starts the next. */
struct operations_client {
    void (*open)(int port, bool answers);
    void (*one)(enum operation operation);
    void (*start)(struct operations *operations);
    void (*await)(struct operations *operations);
    void (*close)(void);
};

/* main(): the arguments are PORT PATH, and requests are
 *
 *   get|set|create COUNT            one after the other; a sample for each
 *   get|set|create COUNT UNDERWAY   with so many under way
 *   memory COUNT                    get, COUNT times, from a server that never
 *                                   answers; the sample is the memory that
 *                                   all of them take, in bytes
 */
int operations_main(int count, char **arguments,
                    const struct operations_client *client);

#endif
