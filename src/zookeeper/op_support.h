/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which operations each server of the session knows.  Some came with later
 * versions of ZooKeeper, or can be switched off; a server shows by its answer
 * whether it knows one, and closes the connection after one that it does not
 * know.
 */
#ifndef HF_ZOOKEEPER_OP_SUPPORT_H
#define HF_ZOOKEEPER_OP_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/protocol.h"
#include "zookeeper/zk_session.h"

/* For each server of the configuration: a bit for each opcode that it has
 * answered, and for each that it does not know.  Zero: nothing is known.
 * Written by op_support.c only. */
struct hf_zk_op_support {
    uint32_t known[HF_ZK_SERVERS_MAX + 1];
    uint32_t unknown[HF_ZK_SERVERS_MAX + 1];
};

/* The end of the text of a failure, for a server that does not know ${opcode}:
 * which version or setting of ZooKeeper is expected. */
const char *hf_zk_op_support_expected(enum hf_zk_opcode opcode);

/* True if the server with the index ${server} may not know ${opcode}: only some
 * servers do, and that one has not shown that it does. */
bool hf_zk_op_support_may_lack(const struct hf_zk_op_support *support,
                               size_t server, enum hf_zk_opcode opcode);

/* True if the server with the index ${server} has shown that it does not know
 * ${opcode}. */
bool hf_zk_op_support_lacks(const struct hf_zk_op_support *support,
                            size_t server, enum hf_zk_opcode opcode);

/* The server with the index ${server} has answered a request of ${opcode} with
 * ${error}. */
void hf_zk_op_support_note(struct hf_zk_op_support *support, size_t server,
                           enum hf_zk_opcode opcode, enum hf_zk_error error);

/* The list of servers has changed: what is known of each goes to its new index.
 * ${was} is as .servers_changed of a listener gets it. */
void hf_zk_op_support_move(struct hf_zk_op_support *support, const size_t *was);

#endif
