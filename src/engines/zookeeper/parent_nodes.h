/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes above a node that is to be created.  They are created only after
 * the server has said that one is missing, and then together with the node
 * itself, from the top down.  A session's requests are carried out in order,
 * so the first ticket of a new name costs one more round trip than any other,
 * however deep the name is.
 *
 * Each create is a request of its own and not an operation of one multi,
 * because nobody knows which of them exist.  A multi fails as a whole if one
 * exists, or if another client creates one meanwhile.  The create of an
 * existing parent may also fail because of its access list.  So only the
 * create of the node itself shows whether there was a problem.
 */
#ifndef HF_ENGINES_ZOOKEEPER_PARENT_NODES_H
#define HF_ENGINES_ZOOKEEPER_PARENT_NODES_H

#include "engines/zookeeper/zk_request.h"

/* To be called in a step that creates a node, before it: send creates for the
 * node at the first ${bytes} of the queue's path and those above it, if they
 * were found missing.  False, with the request failed, for lack of memory. */
bool hf_zk_create_parents(struct hf_zk *zk, struct hf_zk_request *req,
                          size_t bytes);

/* The create was answered.  True if the step must be repeated with its
 * parents. */
bool hf_zk_retry_with_parents(struct hf_zk *zk, struct hf_zk_request *req);

/* The create failed and is not repeated: fail the request with the error of
 * the node, or with what kept a parent from being created. */
void hf_zk_fail_create(struct hf_zk *zk, struct hf_zk_request *req,
                       const char *what, const char *path);

#endif
