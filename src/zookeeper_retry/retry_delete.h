/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delete that goes on until the node is known to be gone:
 * hf_zookeeper_delete_guaranteed() says what it does.
 *
 * A delete that has to be sent again goes behind a read of the node.  If the
 * node's czxid is above the last transaction that was known when the call was
 * made, it may be another one with the same path, and is left alone.  A delete
 * that failed before it was sent repeats nothing: as long as the user waits for
 * it, the node that the read shows is the one that is to be deleted.
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
