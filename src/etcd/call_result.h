/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a call means: its status and text are of a server, and were
 * written for people. */
#ifndef HF_ETCD_CALL_RESULT_H
#define HF_ETCD_CALL_RESULT_H

#include <stdbool.h>

#include "etcd/call.h"

/* What ${result}, which is no answer, means for a request that ${writes} or
 * only reads.  ${repeated}: it was sent again with another token. */
enum hf_etcd_end hf_etcd_end_of(const struct hf_grpc_result *result,
                                bool writes, bool repeated);

/* Does the member say that it is of no use, and that it has not handled the
 * call? */
bool hf_etcd_is_useless_member(const struct hf_grpc_result *result);

/* Is ${status} with ${text} what servers answer to a token that is old, or
 * missing? */
bool hf_etcd_is_token_error(enum hf_grpc_status status, const char *text);

/* Write the text of a server to ${clean}, as text that can be printed. */
#define HF_ETCD_TEXT_BYTES 256
void hf_etcd_clean_text(const char *text, char clean[HF_ETCD_TEXT_BYTES]);
void hf_etcd_clean_bytes(struct hf_etcd_bytes bytes,
                         char clean[HF_ETCD_TEXT_BYTES]);

#endif
