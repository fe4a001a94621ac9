/* SPDX-License-Identifier: Apache-2.0 */
/* When to repeat a request after a failure: exponential backoff with jitter. */
#ifndef HF_BASE_RETRY_H
#define HF_BASE_RETRY_H

#include <stdint.h>

#include "base/random.h"

/* A policy.  Delay k (from 0) is drawn evenly from [d/2, d] with
 * d = min(base_ms * 2^k, cap_ms): exponential backoff with "equal jitter" as
 * described in the AWS Architecture Blog, "Exponential Backoff And Jitter"
 * (2015).  It ends after ${tries} retries or when ${elapsed_ms} would be over,
 * whichever is first. */
struct hf_retry_policy {
    uint64_t base_ms;
    uint64_t cap_ms;
    uint32_t tries;      /* HF_RETRY_UNLIMITED; 0: once, without a retry */
    uint64_t elapsed_ms; /* since the first failure; HF_FOREVER */
};
#define HF_RETRY_UNLIMITED UINT32_MAX

/* The delay number ${tries} (from 0) of such a policy, drawn at random. */
uint64_t hf_retry_delay_ms(uint64_t base_ms, uint64_t cap_ms, uint32_t tries,
                           struct hf_random *random);

/* How far along a policy a request is; all zero at the start. */
struct hf_retry_state {
    uint32_t tries;
    uint64_t first_at_ms;
};

/* The instant of the next try after a failure at ${now_ms}, or HF_FOREVER if
 * the policy allows none. */
uint64_t hf_retry_next(const struct hf_retry_policy *policy,
                       struct hf_retry_state *state, uint64_t now_ms,
                       struct hf_random *random);

#endif
