/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of a lock's node that somebody should look at, and the lines of the
 * log that say so, once for each path.
 *
 * A child that is no ticket is an unknown node, and is ignored.  A ticket in a
 * dialect that does not see ours is waited for, though its owner does not wait
 * for us.
 */
#ifndef HF_ENGINES_ZOOKEEPER_UNKNOWN_NODE_H
#define HF_ENGINES_ZOOKEEPER_UNKNOWN_NODE_H

#include "engines/zookeeper/node_name.h"
#include "zookeeper/jute.h"

struct hf_zk;

/* This many reports are remembered; what has been forgotten is reported
 * again. */
#define HF_ZK_REPORTS_MAX 64

struct hf_zk_reports {
    uint64_t reported[HF_ZK_REPORTS_MAX]; /* digests of path and matter */
    size_t count;                         /* so far, ever */
};

struct hf_zk_queue;

/* Each writes to the log once for each path. */

/* ${name} is a child of the queue and no ticket. */
void hf_zk_unknown_node_ignored(struct hf_zk *zk,
                                const struct hf_zk_queue *queue,
                                struct hf_jute_piece name);

/* ${name} is the ticket ${node}: does the program that made it see ours? */
void hf_zk_unknown_layout_check(struct hf_zk *zk,
                                const struct hf_zk_queue *queue,
                                struct hf_jute_piece name,
                                const struct hf_zk_node *node);

#endif
