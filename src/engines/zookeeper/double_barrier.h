/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A double barrier and its participants, as in Curator's
 * DistributedDoubleBarrier:
 *
 *     NAME/UUID    a participant: ephemeral, without a number
 *     NAME/ready   the barrier node: persistent
 *
 * A new generation (HF_REQUEST_NEW_GENERATION) begins when the barrier node is
 * created, or is deleted and created again, in one transaction with a check of
 * the required number of participants.  Tokens are czxids.
 *
 * A list of names does not show czxids, so each node is read once.
 */
#ifndef HF_ENGINES_ZOOKEEPER_DOUBLE_BARRIER_H
#define HF_ENGINES_ZOOKEEPER_DOUBLE_BARRIER_H

#include "engines/zookeeper/zk_request.h"

/* The name of the barrier node. */
#define HF_ZK_READY "ready"

/* For a request about participants: send reads for those whose czxid is
 * unknown, and for the barrier node if it was not read, and call ${then} when
 * they are answered, or at once with .error if the session is not usable.
 * False if there is nothing to read. */
bool hf_zk_engine_participants_ask(
    struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req));

#endif
