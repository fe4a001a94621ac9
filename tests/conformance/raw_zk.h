/* SPDX-License-Identifier: Apache-2.0 */
/* A session with a ZooKeeper server without the engine, one call at a time, for
 * fixtures that check the tree or remove nodes.  An error fails the test. */
#ifndef HF_TESTS_CONFORMANCE_RAW_ZK_H
#define HF_TESTS_CONFORMANCE_RAW_ZK_H

#include <stdbool.h>
#include <stddef.h>

struct raw_zk;

/* ${address} is 127.0.0.1:PORT.  The session ends when it is closed, or 40 s
 * after the last call. */
struct raw_zk *raw_zk_open(const char *address);
void raw_zk_close(struct raw_zk *raw);

/* Make a persistent node without data. */
void raw_zk_create(struct raw_zk *raw, const char *path);

/* Delete a node; false if there is none. */
bool raw_zk_delete(struct raw_zk *raw, const char *path);

/* Delete ${path} and all below it.  How many of those nodes had a name for
 * which
 * ${counts} is true. */
size_t raw_zk_clear(struct raw_zk *raw, const char *path,
                    bool (*counts)(const char *name));

#endif
