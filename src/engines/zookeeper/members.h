/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a double barrier, as DistributedDoubleBarrier of Curator has them:
 *
 *   NAME/UUID    one who is there: ephemeral, and not numbered
 *   NAME/ready   the mark: persistent
 *
 * A stamp is made by creating the mark, or by deleting and creating it at once,
 * in one transaction with a check of so many members.  Tokens are czxids.
 *
 * A list of names does not tell them: they are asked for, each once.
 */
#ifndef HF_ENGINES_ZOOKEEPER_MEMBERS_H
#define HF_ENGINES_ZOOKEEPER_MEMBERS_H

#include "engines/zookeeper/op.h"

struct hf_zk;

#define HF_ZK_READY "ready"

/* Where members are listed, ask for what is not known of them, for ${then} to
 * go on; false if there is nothing to be asked. */
bool hf_zk_members_ask(struct hf_zk *zk, struct hf_zk_op *op,
                       void (*then)(struct hf_zk *zk, struct hf_zk_op *op));

/* As hf_zk_queue_snapshot(), the members and what they have stamped. */
bool hf_zk_members_snapshot(struct hf_zk *zk, const struct hf_zk_op *op,
                            struct hf_snapshot *snapshot);

#endif
