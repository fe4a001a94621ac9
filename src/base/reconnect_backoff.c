/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reconnect_backoff.h"

#include <assert.h>

#include "base/retry.h"
#include "base/time_math.h"

/* A policy without pauses would spin. */
#define LEAST_PAUSE_MS 1

void hf_reconnect_backoff_init(struct hf_reconnect_backoff *backoff,
                               const struct hf_reconnect *policy,
                               size_t servers)
{
    assert(servers > 0);
    *backoff = (struct hf_reconnect_backoff){
        .policy = policy != NULL ? *policy : hf_reconnect_default,
        .servers = servers,
    };
}

void hf_reconnect_backoff_reset(struct hf_reconnect_backoff *backoff)
{
    backoff->failures = 0;
    backoff->retries = 0;
    backoff->pauses_taken = 0;
    backoff->same_status = 0;
    backoff->refusals = 0;
}

void hf_reconnect_backoff_set_servers(struct hf_reconnect_backoff *backoff,
                                      size_t servers)
{
    assert(servers > 0);
    backoff->servers = servers;
    hf_reconnect_backoff_reset(backoff);
}

uint64_t hf_reconnect_backoff_lost(struct hf_reconnect_backoff *backoff,
                                   uint64_t now_ms, struct hf_random *random)
{
    const struct hf_reconnect *policy = &hf_reconnect_default;

    hf_reconnect_backoff_reset(backoff);
    backoff->failures = 1; /* the server that was lost comes last */
    if (backoff->servers > 1)
        return now_ms;
    backoff->pauses_taken = 1;
    return hf_after_ms(
        now_ms,
        hf_retry_delay_ms(policy->pause_ms, policy->pause_max_ms, 0, random));
}

/* Set ${ms} to the pause before the next round; false if there is none. */
static bool pause_ms(const struct hf_reconnect_backoff *backoff,
                     uint64_t elapsed_ms, struct hf_random *random,
                     uint64_t *ms)
{
    const struct hf_reconnect *policy = &backoff->policy;

    *ms = policy->pause_ms;
    if (policy->fn != NULL)
        return policy->fn(policy->arg, backoff->retries, elapsed_ms, ms);
    if (policy->pause_max_ms > policy->pause_ms)
        *ms = hf_retry_delay_ms(policy->pause_ms, policy->pause_max_ms,
                                backoff->pauses_taken, random);
    return policy->retries == HF_RECONNECT_UNLIMITED ||
           backoff->retries < policy->retries;
}

/* A round has failed: when the next one begins. */
static uint64_t next_round_ms(struct hf_reconnect_backoff *backoff,
                              uint64_t now_ms, struct hf_random *random)
{
    uint64_t at_ms, ms;

    if (backoff->retries == 0)
        backoff->first_at_ms = now_ms;
    if (!pause_ms(backoff, now_ms - backoff->first_at_ms, random, &ms))
        return HF_FOREVER;
    at_ms = hf_after_ms(now_ms, hf_max_ms(ms, LEAST_PAUSE_MS));
    if (at_ms > hf_after_ms(backoff->first_at_ms, backoff->policy.elapsed_ms))
        return HF_FOREVER;
    if (backoff->retries < UINT32_MAX)
        backoff->retries++;
    if (backoff->pauses_taken < UINT32_MAX)
        backoff->pauses_taken++;
    return at_ms;
}

/* Does waiting not mend what has this status? */
static bool is_refusal(hf_status status)
{
    return status == HF_EDENIED || status == HF_EURL ||
           status == HF_EUNSUPPORTED;
}

uint64_t hf_reconnect_backoff_failed(struct hf_reconnect_backoff *backoff,
                                     hf_status status, uint64_t now_ms,
                                     struct hf_random *random)
{
    backoff->same_status =
        status == backoff->status ? backoff->same_status + 1 : 1;
    backoff->status = status;
    backoff->refusals = is_refusal(status) ? backoff->refusals + 1 : 0;
    backoff->failures++;
    if (backoff->failures % backoff->servers != 0)
        return now_ms;
    return next_round_ms(backoff, now_ms, random);
}

hf_status
hf_reconnect_backoff_status(const struct hf_reconnect_backoff *backoff)
{
    return backoff->same_status >= backoff->servers ||
                   backoff->refusals >= backoff->servers
               ? backoff->status
               : HF_EUNREACHABLE;
}

bool hf_reconnect_backoff_is_final(const struct hf_reconnect_backoff *backoff)
{
    if (backoff->refusals >= backoff->servers)
        return true;
    return backoff->status == HF_EPROTOCOL &&
           backoff->same_status >=
               backoff->servers * HF_RECONNECT_PROTOCOL_ROUNDS;
}
