/* SPDX-License-Identifier: Apache-2.0 */
/* A line of `holdfast zk txn`: an operation of a transaction. */
#ifndef HF_ZOOKEEPER_TOOL_TXN_LINE_H
#define HF_ZOOKEEPER_TOOL_TXN_LINE_H

#include <holdfast/zookeeper.h>

/* Parse ${line} to ${op}, whose texts then point into ${line}.  ${op}->kind is
 * 0 if the line is empty or a comment.  HF_EINVAL if the line is invalid. */
hf_status hf_tool_parse_txn_line(char *line, struct hf_zookeeper_op *op,
                                 struct hf_error *error);

#endif
