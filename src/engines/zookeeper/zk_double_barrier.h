/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double barrier and its participants, as DistributedDoubleBarrier of Curator
 * has them:
 *
 *   NAME/UUID    one who is there: ephemeral, and not numbered
 *   NAME/ready   the barrier node: persistent
 *
 * A stamp is made by creating the barrier node, or by deleting and creating it
 * at once, in one transaction with a check of that many participants.  Tokens
 * are czxids.
 *
 * A list of names does not tell them: they are asked for, each once.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_DOUBLE_BARRIER_H
#define HF_ENGINES_ZOOKEEPER_ZK_DOUBLE_BARRIER_H

#include "engines/zookeeper/zk_request.h"

struct hf_zk;

#define HF_ZK_READY "ready"

/* Where participants are listed, ask for what is not known of them, for ${then}
 * to go on; false if there is nothing to be asked. */
bool hf_zk_participants_ask(struct hf_zk *zk, struct hf_zk_request *req,
                            void (*then)(struct hf_zk *zk,
                                         struct hf_zk_request *req));

/* As hf_zk_queue_snapshot(), the participants and what they have stamped. */
bool hf_zk_participants_snapshot(struct hf_zk *zk,
                                 const struct hf_zk_request *req,
                                 struct hf_snapshot *snapshot);

#endif
