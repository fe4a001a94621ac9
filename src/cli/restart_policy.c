/* SPDX-License-Identifier: Apache-2.0 */
/* See restart_policy.h.  A decision is a function of what has happened; nothing
 * here reads a clock. */
#include "cli/restart_policy.h"

#include <stdbool.h>

/* ${least_ms}, doubled ${times} times, at most ${most_ms}. */
static uint64_t doubled_ms(uint64_t least_ms, unsigned times, uint64_t most_ms)
{
    uint64_t delay_ms = least_ms;

    for (unsigned i = 0; i < times && delay_ms < most_ms; i++)
        delay_ms *= 2;
    return delay_ms < most_ms ? delay_ms : most_ms;
}

/* Is the command to be started again after an end with ${exit_code}? */
static bool restarts(const struct hf_restart_policy *policy, int exit_code)
{
    switch (policy->when) {
    case HF_RESTART_ALWAYS:
        return true;
    case HF_RESTART_ON_FAILURE:
        return exit_code != 0;
    case HF_RESTART_NEVER:
        break;
    }
    return false;
}

/* Count an end.  After a quick success the next start is delayed too, but the
 * failures and resignations begin anew, because this machine can run the
 * command. */
static void count(struct hf_restart_state *state, uint64_t ran_ms,
                  int exit_code)
{
    if (ran_ms >= HF_RESTART_WELL_MS) {
        *state = (struct hf_restart_state){0};
        return;
    }
    state->quick_ends++;
    state->quick_failures++;
    if (exit_code == 0) {
        state->quick_failures = 0;
        state->resignations = 0;
    }
}

uint64_t hf_restart_resign(struct hf_restart_state *state)
{
    uint64_t delay_ms =
        doubled_ms(HF_RESIGNED_DELAY_MIN_MS, state->resignations,
                   HF_RESIGNED_DELAY_MAX_MS);

    state->resignations++;
    state->quick_ends = 0;
    state->quick_failures = 0;
    return delay_ms;
}

enum hf_restart_decision
hf_restart_decide(const struct hf_restart_policy *policy,
                  struct hf_restart_state *state, uint64_t ran_ms,
                  int exit_code, uint64_t *delay_ms)
{
    if (!restarts(policy, exit_code))
        return HF_RESTART_END;
    count(state, ran_ms, exit_code);
    if (policy->burst > 0 && state->quick_failures >= policy->burst) {
        *delay_ms = hf_restart_resign(state);
        return HF_RESTART_RESIGN;
    }
    *delay_ms = doubled_ms(HF_RESTART_DELAY_MIN_MS,
                           state->quick_ends > 0 ? state->quick_ends - 1 : 0,
                           HF_RESTART_DELAY_MAX_MS);
    return HF_RESTART_AGAIN;
}
