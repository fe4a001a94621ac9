/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a grant still ours?  Where safe-until is proven all the time, what the
 * engine has said so far decides.  In a lazy session, whose grants outlast
 * safe-until, that only says that nothing is known against it; so a check has
 * the session proven, and waits for that.
 */
#ifndef HF_HOST_GRANT_CHECK_H
#define HF_HOST_GRANT_CHECK_H

#include "host/grant.h"

/* One who waits for the session to be proven, or for the loss of ${grant}. */
struct hf_grant_check {
    struct hf_waiter waiter;
    const struct hf_grant *grant;
    struct hf_grant_check *next;
};

/* With the client's lock: is nothing known against ${grant}? */
bool hf_grant_is_valid(const struct hf_grant *grant);

/* The same, with what the engine has said by now: HF_OK or HF_ELOST.  Waits for
 * nothing. */
hf_status hf_grant_check_now(struct hf_grant *grant, struct hf_error *error);

/* Have a lazy session proven, if that is not as good as new; nothing otherwise.
 * Waits for nothing. */
hf_status hf_grant_request_proof(struct hf_grant *grant);

/* With the lock: the session was proven, or, with ${grant}, that was lost. */
void hf_grant_checks_answer(struct hf_client *client,
                            const struct hf_grant *grant);

#endif
