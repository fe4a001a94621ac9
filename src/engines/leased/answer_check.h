/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an answer is one that store.h allows.  A server may send anything:
 * what is behind this check relies on what it checks. */
#ifndef HF_ENGINES_LEASED_ANSWER_CHECK_H
#define HF_ENGINES_LEASED_ANSWER_CHECK_H

#include "engines/leased/store.h"

/* No number that a server gives out is greater: no token, and not its clock in
 * milliseconds.  It is what a double counts to, in which Redis keeps them. */
#define HF_STORE_NUMBER_MAX ((UINT64_C(1) << 53) - 1)

/* Check ${answer}, which is .ok, to ${call}: its numbers are in range, and
 * there are no more tickets than were asked for; a queue is in order, has each
 * ticket once, and only kinds that belong there; the ticket of the call, if it
 * is listed, has a token, and an ENQUEUE lists it; a part of a queue was
 * allowed, and shows the nearest tickets.  HF_EPROTOCOL with ${why}:
 * what is wrong, what was expected, and what to do; HF_ENOMEM: it could not be
 * checked. */
hf_status hf_store_answer_check(const struct hf_store_call *call,
                                const struct hf_store_answer *answer,
                                struct hf_error *why);

#endif
