/* SPDX-License-Identifier: Apache-2.0 */
/* When to repeat a request after a failure: exponential backoff with jitter. */
#ifndef HF_BASE_RETRY_H
#define HF_BASE_RETRY_H

#include <stdint.h>

#include "base/random.h"

/* A policy.  Delay k (from 0) is drawn evenly from [d/2, d] with d =
 * min(base_ms * 2^k, cap_ms): exponential backoff with "equal jitter" as
 * described in the AWS Architecture Blog, "Exponential Backoff And Jitter"
 * (2015).  There is no further retry after .tries of them, or if it would be
 * later than .elapsed_ms after the first failure. */
struct hf_retry_policy {
    uint64_t base_ms;
    uint64_t cap_ms;
    uint32_t tries;      /* the most retries; 0: none; HF_RETRY_UNLIMITED */
    uint64_t elapsed_ms; /* time since the first failure; HF_FOREVER: no
                            limit */
};
#define HF_RETRY_UNLIMITED UINT32_MAX

/* Draw the delay number ${tries}, counted from 0, of a policy with ${base_ms}
 * and ${cap_ms}. */
uint64_t hf_retry_delay_ms(uint64_t base_ms, uint64_t cap_ms, uint32_t tries,
                           struct hf_random *random);

/* The retries of one request so far; all zero at the start. */
struct hf_retry_state {
    uint32_t tries;
    uint64_t first_at_ms;
};

/* A request has failed at ${now_ms}.  Returns the instant of the next try, or
 * HF_FOREVER if the policy allows none. */
uint64_t hf_retry_next(const struct hf_retry_policy *policy,
                       struct hf_retry_state *state, uint64_t now_ms,
                       struct hf_random *random);

#endif
