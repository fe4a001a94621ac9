/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a grant still ours?  Where safe-until is proven all the time, the answer
 * is in what the engine has said so far.  In a lazy session grants outlast
 * safe-until, so that only says that nothing is known against them; a check
 * therefore has the session proven, and waits for that.
 */
#ifndef HF_HOST_GRANT_CHECK_H
#define HF_HOST_GRANT_CHECK_H

#include "client/grant.h"

/* A call that waits until the session is proven or ${grant} is lost, on the
 * stack of its caller.  hf_grant_check() has no twin that starts it, so there
 * is no operation to wait for: one proof answers all checks of a client. */
struct hf_grant_check {
    struct hf_waiter waiter;
    const struct hf_grant *grant;
    struct hf_grant_check *next;
};

/* Is nothing known against ${grant}?  With the client's lock. */
bool hf_grant_is_valid(const struct hf_grant *grant);

/* The same, after what the engine has sent by now was processed: HF_OK or
 * HF_ELOST.  Does not wait.  Without the lock. */
hf_status hf_grant_check_now(struct hf_grant *grant, struct hf_error *error);

/* Request a proof of a lazy session, unless the last one is fresh; nothing
 * otherwise.  Returns when the next one is due (CLOCK_BOOTTIME in ms), which a
 * caller that keeps the session proven must not miss; HF_FOREVER: the session
 * does so itself, or is not connected.  Does not wait.  Without the lock. */
uint64_t hf_grant_request_proof(struct hf_grant *grant);

/* The session was proven; or, if ${grant} is not NULL, that grant was lost:
 * answer the checks that wait for it.  With the lock. */
void hf_grant_checks_answer(struct hf_client *client,
                            const struct hf_grant *grant);

#endif
