/* SPDX-License-Identifier: Apache-2.0 */
#include "base/retry.h"

#include "base/time_math.h"

/* base * 2^tries, at most cap. */
static uint64_t longest_delay_ms(uint64_t base_ms, uint64_t cap_ms,
                                 uint32_t tries)
{
    if (base_ms == 0)
        return 0;
    if (tries >= 64 || base_ms > cap_ms >> tries)
        return cap_ms;
    return base_ms << tries;
}

uint64_t hf_retry_delay_ms(uint64_t base_ms, uint64_t cap_ms, uint32_t tries,
                           struct hf_random *random)
{
    uint64_t longest_ms = longest_delay_ms(base_ms, cap_ms, tries);
    uint64_t least_ms = longest_ms / 2;

    return least_ms + hf_random_below(random, longest_ms - least_ms + 1);
}

uint64_t hf_retry_next(const struct hf_retry_policy *policy,
                       struct hf_retry_state *state, uint64_t now_ms,
                       struct hf_random *random)
{
    uint64_t at_ms;

    if (state->tries == 0)
        state->first_at_ms = now_ms;
    if (policy->tries != HF_RETRY_UNLIMITED && state->tries >= policy->tries)
        return HF_FOREVER;
    at_ms =
        hf_after_ms(now_ms, hf_retry_delay_ms(policy->base_ms, policy->cap_ms,
                                              state->tries, random));
    if (at_ms > hf_after_ms(state->first_at_ms, policy->elapsed_ms))
        return HF_FOREVER;
    if (state->tries < HF_RETRY_UNLIMITED)
        state->tries++;
    return at_ms;
}
