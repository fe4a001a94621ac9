/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operations each server of the session knows.  Some operations came with
 * later versions of ZooKeeper, or can be switched off.  A server shows by its
 * answer whether it knows an operation.  After an unknown operation it closes
 * the connection.
 */
#ifndef HF_ZOOKEEPER_OP_SUPPORT_H
#define HF_ZOOKEEPER_OP_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/protocol.h"
#include "zookeeper/zk_session.h"

/* For each server of the configuration: in .known a bit for each opcode that it
 * has shown to know, in .unknown a bit for each that it has refused as unknown.
 * Zero: nothing is known.  Written by op_support.c only. */
struct hf_zk_op_support {
    uint32_t known[HF_ZK_SERVERS_MAX + 1];
    uint32_t unknown[HF_ZK_SERVERS_MAX + 1];
};

/* The end of the text of a failure, for a server that does not know ${opcode}:
 * which version or setting of ZooKeeper is expected. */
const char *hf_zk_op_support_expected(enum hf_zk_opcode opcode);

/* True if the server with the index ${server} may not know ${opcode}: not every
 * version knows it, and this server has not shown that it does. */
bool hf_zk_op_support_may_lack(const struct hf_zk_op_support *support,
                               size_t server, enum hf_zk_opcode opcode);

/* True if the server with the index ${server} has shown that it does not know
 * ${opcode}. */
bool hf_zk_op_support_lacks(const struct hf_zk_op_support *support,
                            size_t server, enum hf_zk_opcode opcode);

/* Note what ${error}, the answer of the server with the index ${server} to a
 * request of ${opcode}, shows. */
void hf_zk_op_support_note(struct hf_zk_op_support *support, size_t server,
                           enum hf_zk_opcode opcode, enum hf_zk_error error);

/* The list of servers was replaced: move what is known of each server to its
 * new index.  ${was} is the argument of .servers_changed (listeners.h). */
void hf_zk_op_support_move(struct hf_zk_op_support *support, const size_t *was);

#endif
