/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes above one that is to be created.  They are created only after the
 * server has said that one is missing, and then in the same write as the node
 * itself, from the top: a session's requests are carried out in order, so the
 * first ticket of a new name costs one more round trip than any other, however
 * deep the name is.
 *
 * Each is a request of its own, and not all of them one multi, because nobody
 * knows which of them are there: a multi fails as a whole where one is, or
 * where somebody else creates one meanwhile.  A parent that is there may also
 * answer that we may not create it.  So only the node itself shows whether
 * there was anything wrong.
 */
#ifndef HF_ENGINES_ZOOKEEPER_PARENT_NODES_H
#define HF_ENGINES_ZOOKEEPER_PARENT_NODES_H

#include "engines/zookeeper/zk_request.h"

/* In a step that creates a node, before it: create the node at the first
 * ${bytes} of the queue's path, and those above it but for the chroot, if they
 * were found missing.  False, having answered FAILED, for lack of memory. */
bool hf_zk_create_parents(struct hf_zk *zk, struct hf_zk_request *req,
                          size_t bytes);

/* The create was answered: is the step to be done again, with its parents? */
bool hf_zk_retry_with_parents(struct hf_zk *zk, struct hf_zk_request *req);

/* It is not, and has failed: hf_zk_request_fail(), or what kept a parent from
 * being created. */
void hf_zk_fail_create(struct hf_zk *zk, struct hf_zk_request *req,
                       const char *what, const char *path);

#endif
