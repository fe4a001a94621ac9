/* SPDX-License-Identifier: Apache-2.0 */
/* Is an answer one that store.h allows?  A server may send anything, so every
 * answer is checked here, where it enters the client.  The code behind this
 * check relies on it. */
#ifndef HF_ENGINES_LEASED_ANSWER_CHECK_H
#define HF_ENGINES_LEASED_ANSWER_CHECK_H

#include "engines/leased/store.h"

/* The largest number from a server: a token, or its clock in milliseconds.
 * Redis keeps numbers as doubles, which are exact up to here. */
#define HF_STORE_NUMBER_MAX ((UINT64_C(1) << 53) - 1)

/* Check ${answer}, which is .ok, against ${call}.  Its numbers are in range,
 * and it has no more tickets than were asked for.  A queue is sorted, has each
 * ticket once, and has only kinds that belong there.  The ticket of the call
 * has a token if it is listed, and an ENQUEUE lists it.  A partial queue was
 * allowed and has the nearest tickets.  Returns HF_EPROTOCOL if not; ${why}
 * says what is wrong, what was expected and what to do.  Returns HF_ENOMEM if
 * it could not be checked. */
hf_status hf_store_answer_check(const struct hf_store_call *call,
                                const struct hf_store_answer *answer,
                                struct hf_error *why);

#endif
