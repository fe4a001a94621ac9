/* SPDX-License-Identifier: Apache-2.0 */
#include "core/retry.h"

#include "core/instant.h"

/* base * 2^tries, at most cap. */
static uint64_t longest_delay(const struct hf_retry_policy *policy,
                              uint32_t tries)
{
    if (policy->base_ms == 0)
        return 0;
    if (tries >= 64 || policy->base_ms > policy->cap_ms >> tries)
        return policy->cap_ms;
    return policy->base_ms << tries;
}

uint64_t hf_retry_next(const struct hf_retry_policy *policy,
                       struct hf_retry_state *state, uint64_t now_ms,
                       struct hf_random *random)
{
    uint64_t longest, least, at_ms;

    if (state->tries == 0)
        state->first_at_ms = now_ms;
    if (policy->tries != HF_RETRY_UNLIMITED && state->tries >= policy->tries)
        return HF_FOREVER;
    longest = longest_delay(policy, state->tries);
    least = longest / 2;
    at_ms = hf_after_ms(now_ms,
                        least + hf_random_below(random, longest - least + 1));
    if (at_ms > hf_after_ms(state->first_at_ms, policy->elapsed_ms))
        return HF_FOREVER;
    if (state->tries < HF_RETRY_UNLIMITED)
        state->tries++;
    return at_ms;
}
