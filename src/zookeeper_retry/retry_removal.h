/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The removal of a sequential node with a name of its own that must not stay: a
 * create that was given up has made it, or may make it yet.
 *
 * The parent is searched for the name: at once, unless that was just done, and
 * a last time when the node can come no more.  A create is carried out once at
 * most, so the removal is done when the node was found and deleted, or when the
 * last search has not found it.  Otherwise only the close of the handle ends
 * it, or a failure that no retry mends: no permission, a list that is too long,
 * or children of the node.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_REMOVAL_H
#define HF_ZOOKEEPER_RETRY_RETRY_REMOVAL_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_removal;

/* A removal of a node whose path, without the digits, has at most
 * ${path_bytes}.  NULL: no memory. */
struct hf_zk_retry_removal *hf_zk_retry_removal_new(size_t path_bytes);

/* Remove ${remains}; then comes the first event. */
void hf_zk_retry_removal_set(struct hf_zk_retry_removal *removal,
                             const struct hf_zk_retry_remains *remains);

/* A removal ends with the result of its last operation if that failed for good,
 * else with NULL. */
extern const struct hf_zk_retry_ops hf_zk_retry_removal_ops;

/* ------------------------------------------------------- names of nodes -- */

/* The digits that a server appends: ten, or a sign and ten. */
#define HF_ZK_RETRY_DIGITS_BYTES 11

/* The child in ${result}, of a CHILDREN, that was created as ${name}: its name
 * is ${name} with digits behind it.  NULL: there is none. */
const char *hf_zk_retry_find_child(const struct hf_zookeeper_result *result,
                                   const char *name);

#endif
