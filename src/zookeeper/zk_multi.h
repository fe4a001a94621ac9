/* SPDX-License-Identifier: Apache-2.0 */
/* A multi and its answer: operations, or their results, with a header in front
 * of each and one behind the last. */
#ifndef HF_ZOOKEEPER_ZK_MULTI_H
#define HF_ZOOKEEPER_ZK_MULTI_H

#include "zookeeper/protocol.h"

/* Write the header in front of an operation of ${type}, and the one behind the
 * last. */
void hf_zk_multi_put_header(struct hf_jute_writer *out, int32_t type);
void hf_zk_multi_put_end(struct hf_jute_writer *out);

/* Read a header: the type of what follows, and whether nothing does. */
int32_t hf_zk_multi_get_header(struct hf_jute_reader *reader, bool *done);

/* The result of a multi from the body of its answer: HF_ZK_OK, the error of
 * the operation that failed, or HF_ZK_MALFORMED.  With HF_ZK_OK exactly
 * ${count} of its operations were creates, and ${paths} has the paths that
 * they made.  Servers answer a create2 within a multi like a create, without a
 * Stat. */
enum hf_zk_error hf_zk_multi_result(const struct hf_jute_reader *body,
                                    struct hf_jute_piece *paths, size_t count);

/* Read the header of the next operation's answer from ${body}, the answer to a
 * HF_ZK_MULTI_READ.  HF_ZK_OK: what it answers follows.  Else the error of that
 * operation, or HF_ZK_MALFORMED. */
enum hf_zk_error hf_zk_multi_read_next(struct hf_jute_reader *body);

/* The index, from 0, of the operation that failed; only for a multi that
 * failed. */
size_t hf_zk_multi_failed_index(const struct hf_jute_reader *body);

#endif
