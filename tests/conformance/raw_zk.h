/* SPDX-License-Identifier: Apache-2.0 */
/* A session of its own on a ZooKeeper server, one request at a time: how a
 * bench looks at the tree and meddles with it behind the engine's back.  What
 * cannot be done fails the test. */
#ifndef HF_TESTS_CONFORMANCE_RAW_ZK_H
#define HF_TESTS_CONFORMANCE_RAW_ZK_H

#include <stdbool.h>
#include <stddef.h>

struct raw_zk;

/* ${address} is 127.0.0.1:PORT.  The session lives until it is closed, or for
 * 40 s after the last request. */
struct raw_zk *raw_zk_open(const char *address);
void raw_zk_close(struct raw_zk *raw);

/* A persistent node, without data. */
void raw_zk_create(struct raw_zk *raw, const char *path);

/* False if there is none. */
bool raw_zk_delete(struct raw_zk *raw, const char *path);

/* Delete ${path} and all below it.  The number of nodes that were found and
 * for whose name ${counts} is true. */
size_t raw_zk_clear(struct raw_zk *raw, const char *path,
                    bool (*counts)(const char *name));

#endif
