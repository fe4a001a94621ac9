/* SPDX-License-Identifier: Apache-2.0 */
/* Children of a lock's node that somebody should look at, and the log lines
 * that say so, once for each path.
 *
 * A child that is no ticket is an unknown node, and is ignored.  A ticket in a
 * dialect that does not see ours is waited for, although its owner does not
 * wait for us. */
#ifndef HF_ENGINES_ZOOKEEPER_UNKNOWN_NODE_H
#define HF_ENGINES_ZOOKEEPER_UNKNOWN_NODE_H

#include "engines/zookeeper/node_name.h"
#include "zookeeper/jute.h"

struct hf_zk;

/* How many reports are remembered; a forgotten one is made again. */
#define HF_ZK_REPORTS_MAX 64

struct hf_zk_reports {
    uint64_t reported[HF_ZK_REPORTS_MAX]; /* digests of path and subject */
    size_t count;                         /* reports made so far */
};

struct hf_zk_queue;

/* Each of these writes a log line once for each path. */

/* Report that ${name}, a child of the queue, is no ticket. */
void hf_zk_report_unknown_node(struct hf_zk *zk,
                               const struct hf_zk_queue *queue,
                               struct hf_jute_piece name);

/* Report the ticket ${name}, parsed to ${node}, if the program that made it
 * does not see ours. */
void hf_zk_report_unseen_layout(struct hf_zk *zk,
                                const struct hf_zk_queue *queue,
                                struct hf_jute_piece name,
                                const struct hf_zk_node *node);

#endif
