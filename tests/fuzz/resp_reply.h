/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of Redis, in bytes. */
#ifndef HF_TESTS_FUZZ_RESP_REPLY_H
#define HF_TESTS_FUZZ_RESP_REPLY_H

#include "bytes.h"
#include "lease_fake_server.h"

void resp_put_bulk(struct bytes *to, const char *text);
void resp_put_number(struct bytes *to, uint64_t number); /* as text */

/* What our script returns for a call of ${kind}.  ${numbered}: by one of
 * several servers.  The reply announces ${miscount} more rows than there
 * are. */
void resp_put_answer(struct bytes *to, enum hf_store_call_kind kind,
                     const struct lease_answer *answer, bool numbered,
                     int miscount);

#endif
