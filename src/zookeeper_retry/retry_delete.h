/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delete that goes on until the node is known to be gone:
 * hf_zookeeper_delete_guaranteed() says what it does.
 *
 * After a lost answer a node whose czxid is at most the last transaction that
 * was known before the first delete is the one that was to be deleted, and is
 * deleted again.  One with a later czxid may be another one.
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_DELETE_H
#define HF_ZOOKEEPER_RETRY_RETRY_DELETE_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_delete;

/* The delete of ${path}, which is copied.  NULL: no memory. */
struct hf_zk_retry_delete *
hf_zk_retry_delete_new(const char *path, int32_t version,
                       const struct hf_random *random);

extern const struct hf_zk_retry_ops hf_zk_retry_delete_ops;

#endif
