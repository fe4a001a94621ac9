/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's error means for an operation: its status, and the text for
 * people, which begins with the path and ends with what to do. */
#ifndef HF_ZOOKEEPER_OP_FAILURE_H
#define HF_ZOOKEEPER_OP_FAILURE_H

#include "zookeeper/op_codec.h"

/* What was asked of one node, as the record of the request says. */
struct hf_zk_op_record {
    enum hf_zk_opcode opcode;
    struct hf_jute_piece path; /* with the chroot; null if there is none */
    int64_t version;           /* the one that was expected, if any */
};

/* Read the next operation of a record that hf_zk_op_encode() wrote. */
struct hf_zk_op_record hf_zk_op_read(struct hf_jute_reader *record,
                                     enum hf_zk_opcode opcode);

/* Set ${error} to what ${code}, an error of the server or of the session,
 * means for ${record}.  Returns the status. */
hf_status hf_zk_op_failure(const struct hf_zk_op_record *record,
                           const char *chroot, enum hf_zk_error code,
                           struct hf_error *error);

#endif
