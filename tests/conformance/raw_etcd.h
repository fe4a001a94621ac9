/* SPDX-License-Identifier: Apache-2.0 */
/* A client of etcd without the engine, for fixtures that check the keys or
 * remove some: the server's JSON gateway, one connection for each request.  An
 * error fails the test. */
#ifndef HF_TESTS_CONFORMANCE_RAW_ETCD_H
#define HF_TESTS_CONFORMANCE_RAW_ETCD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_etcd;

/* ${addresses} is HOST:PORT,..., each an IPv4 address; the first one is used.
 */
struct raw_etcd *raw_etcd_open(const char *addresses);
void raw_etcd_close(struct raw_etcd *raw);

/* Delete the key below ${prefix} that has this create revision.  False if there
 * is none. */
bool raw_etcd_delete_created(struct raw_etcd *raw, const char *prefix,
                             uint64_t revision);

/* Print the keys below ${prefix} that have a lease, and delete all keys below
 * it.  Returns how many had a lease. */
size_t raw_etcd_clear(struct raw_etcd *raw, const char *prefix);

/* Forget all revisions but the last. */
void raw_etcd_compact(struct raw_etcd *raw);

#endif
