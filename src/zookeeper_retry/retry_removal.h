/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine (retry_step.h) that removes the sequential node of a create that
 * was given up.  The create may have made the node, or may still make it.  The
 * node is recognised by the unique id in its name.
 *
 * The children of the parent are searched for the name: at once, unless that
 * was just done, and a last time when the create can no longer be carried out.
 * A create is carried out at most once, so the removal is done when the node
 * was found and deleted, or when the last search has not found it.  Before that
 * only the close of the handle ends the removal, or a failure against which no
 * retry helps: no permission, a list that is too long, or children of the node.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_REMOVAL_H
#define HF_ZOOKEEPER_RETRY_RETRY_REMOVAL_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_removal;

/* Make a removal with room for a path of ${path_bytes}, without the digits that
 * a server appends.  NULL: no memory. */
struct hf_zk_retry_removal *hf_zk_retry_removal_new(size_t path_bytes);

/* Set the node to remove.  To be called before the first event. */
void hf_zk_retry_removal_set(struct hf_zk_retry_removal *removal,
                             const struct hf_zk_retry_remains *remains);

/* A removal ends with the result of its last operation if no retry helps
 * against its failure, else with NULL. */
extern const struct hf_zk_retry_ops hf_zk_retry_removal_ops;

/* ------------------------------------------------------- names of nodes -- */

/* The digits that a server appends: ten, or a sign and ten. */
#define HF_ZK_RETRY_DIGITS_BYTES 11

/* The child in ${result}, the result of a CHILDREN, whose name is ${name} with
 * the digits of a server behind it.  NULL: none. */
const char *hf_zk_retry_find_child(const struct hf_zookeeper_result *result,
                                   const char *name);

#endif
