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

/* For a request about participants: read the participants whose czxid is
 * unknown, and the barrier node if it was not read.  ${then} is called when the
 * reads are answered; if the session is not usable, it is called at once with
 * .error set.  One step may not suffice, so ${then} calls this function again.
 * Returns false if there is nothing to read. */
bool hf_zk_engine_participants_ask(
    struct hf_zk_engine *zk, struct hf_zk_engine_request *req,
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req));

#endif
