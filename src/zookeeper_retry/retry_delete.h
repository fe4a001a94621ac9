/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine (retry_step.h) of a delete that goes on until the node is known
 * to be gone.  For what users get see hf_zookeeper_delete_guaranteed().
 *
 * Before a delete is sent again the node is read.  If its czxid is above the
 * last transaction that was known when the call was made, the node may be
 * another one with the same path, and is not deleted.  But if no delete was
 * carried out or may have been, and the user still waits, the node that the
 * read shows is the one to delete.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_DELETE_H
#define HF_ZOOKEEPER_RETRY_RETRY_DELETE_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_delete;

/* Make a machine for the delete of ${path} with ${version}; ${path} is copied.
 * NULL: no memory. */
struct hf_zk_retry_delete *
hf_zk_retry_delete_new(const char *path, int32_t version,
                       const struct hf_random *random);

extern const struct hf_zk_retry_ops hf_zk_retry_delete_ops;

#endif
