/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine (retry_step.h) of a create with retries.  For what users get see
 * hf_zookeeper_create_protected().
 *
 * If the answer to a create is lost, this shows whether it was carried out:
 *
 * - A sequential node has a random id in its name, another one for each
 *   attempt.  An attempt that may still be carried out is handed over to a
 *   removal.
 * - An ephemeral node has its session as owner, and a czxid above the last
 *   transaction that was known before the create.
 * - Any other node is another program's if its czxid is not above that
 *   transaction.  If its czxid is above, the data show who has created the
 *   node, provided that nobody else writes the same data.
 *
 * Protection by an id in the name is Curator's (CreateBuilderImpl,
 * "withProtection"); an id for each attempt, and the removal of what comes
 * late, are as in the lock engine (core/removal.h).
 */
#ifndef HF_ZOOKEEPER_RETRY_RETRY_CREATE_H
#define HF_ZOOKEEPER_RETRY_RETRY_CREATE_H

#include "zookeeper_retry/retry_step.h"

struct hf_zk_retry_create;

/* Make a machine for the create ${op}, which hf_zk_op_check() must have
 * accepted, with ${flags}.  ${op} and ${random} are copied.  NULL: no
 * memory. */
struct hf_zk_retry_create *
hf_zk_retry_create_new(const struct hf_zookeeper_op *op, unsigned flags,
                       const struct hf_random *random);

/* HF_OK if ${flags} are valid for ${op}, else HF_EINVAL. */
hf_status hf_zk_retry_create_check(const struct hf_zookeeper_op *op,
                                   unsigned flags, struct hf_error *error);

extern const struct hf_zk_retry_ops hf_zk_retry_create_ops;

#endif
