/* SPDX-License-Identifier: Apache-2.0 */
/* What the end of a call means.  Its status and text come from a server, which
 * wrote them for people, or from grpc/ if the server did not answer. */
#ifndef HF_ETCD_CALL_RESULT_H
#define HF_ETCD_CALL_RESULT_H

#include <stdbool.h>

#include <holdfast/status.h>

#include "etcd/call.h"

/* What ${result}, which is a failure, means for a request that ${writes} or
 * only reads.  ${repeated}: it was sent again because of its token. */
enum hf_etcd_end hf_etcd_end_of(const struct hf_grpc_result *result,
                                bool writes, bool repeated);

/* What a refusal means to a user.  The first row whose words are in the text of
 * the result counts; the text has the name of the status, too. */
struct hf_etcd_cause {
    const char *words; /* for docs/engines.md, too */
    hf_status status;
    const char *advice; /* what the users of the servers have to do; NULL:
                           nothing that the text does not say */
};

/* The entry ${index} of the table of these, NULL behind the last one. */
const struct hf_etcd_cause *hf_etcd_cause(size_t index);

/* The first row whose words are in ${text}; NULL: none. */
const struct hf_etcd_cause *hf_etcd_cause_of(const char *text);

/* The status for a user of a call that has ended with ${result}, which is not
 * DONE.  A refusal has the status of its cause.  Otherwise, or if no row has
 * the cause, a retry may succeed: HF_EUNREACHABLE, or HF_EFULL if a write has
 * found no space. */
hf_status hf_etcd_status_of(const struct hf_etcd_result *result);

/* Is the end of a write known to be final: it was carried out or was not, and
 * will not be later? */
bool hf_etcd_is_decided(const struct hf_grpc_result *result);

/* Does the answer say that the member cannot serve us (it has no leader, for
 * example)?  It has not handled the call then. */
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
