/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of the end of a call.  Its status and text come from a server,
 * which wrote them for people, or from src/grpc if the server did not answer.
 */
#ifndef HF_ETCD_CALL_RESULT_H
#define HF_ETCD_CALL_RESULT_H

#include <stdbool.h>

#include <holdfast/status.h>

#include "etcd/call.h"

/* Return how a call has ended that failed with ${result}.  ${writes}: its
 * request changes the store.  ${repeated}: it was sent again because of its
 * token. */
enum hf_etcd_end hf_etcd_end_of(const struct hf_grpc_result *result,
                                bool writes, bool repeated);

/* A row of the table of refusals: what the user gets.  The first row counts
 * whose words are in the text of the result, which includes the name of the
 * status. */
struct hf_etcd_cause {
    const char *words; /* also shown in docs/engines.md */
    hf_status status;
    const char *advice; /* what the operators of the servers have to do;
                           NULL: nothing, or the text says it */
};

/* Return the row ${index} of the table; NULL behind the last row. */
const struct hf_etcd_cause *hf_etcd_cause(size_t index);

/* Return the first row whose words are in ${text}, or NULL. */
const struct hf_etcd_cause *hf_etcd_cause_of(const char *text);

/* Return the status that the user gets for a call that ended with ${result},
 * which is not DONE.  A refusal has the status of its row.  If no row fits, or
 * if the call was not refused, a retry may succeed: the status is
 * HF_EUNREACHABLE, or HF_EFULL if a write has found no space. */
hf_status hf_etcd_status_of(const struct hf_etcd_result *result);

/* Is the outcome of a write final although it is not known?  Then it was
 * carried out or was not, and it cannot be carried out later. */
bool hf_etcd_is_decided(const struct hf_grpc_result *result);

/* Does the answer say that this member cannot serve us, for example because it
 * has no leader?  Then it has not handled the call. */
bool hf_etcd_is_useless_member(const struct hf_grpc_result *result);

/* Are ${status} and ${text} the answer of a server to an old or missing token?
 */
bool hf_etcd_is_token_error(enum hf_grpc_status status, const char *text);

/* Copy the text of a server to ${clean}, with '?' for each byte that cannot be
 * printed. */
#define HF_ETCD_TEXT_BYTES 256
void hf_etcd_clean_text(const char *text, char clean[HF_ETCD_TEXT_BYTES]);
void hf_etcd_clean_bytes(struct hf_etcd_bytes bytes,
                         char clean[HF_ETCD_TEXT_BYTES]);

#endif
