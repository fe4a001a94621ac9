/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attempt.h"

#include <assert.h>

#include "core/instant.h"
#include "core/retry.h"

#define LEAST_MS 500
#define FIRST_MS UINT64_C(2000)
#define DOUBLINGS 20

/* A policy without pauses would spin. */
#define PAUSE_LEAST_MS 1

void hf_attempts_init(struct hf_attempts *attempts,
                      const struct hf_reconnect *policy, size_t servers)
{
    assert(servers > 0);
    *attempts = (struct hf_attempts){
        .policy = policy != NULL ? *policy : hf_reconnect_default,
        .servers = servers,
    };
}

void hf_attempts_restart(struct hf_attempts *attempts)
{
    attempts->failures = 0;
    attempts->retries = 0;
    attempts->pauses = 0;
    attempts->same = 0;
}

uint64_t hf_attempts_lost(struct hf_attempts *attempts, uint64_t now_ms,
                          struct hf_random *random)
{
    const struct hf_reconnect *policy = &hf_reconnect_default;

    hf_attempts_restart(attempts);
    attempts->failures = 1; /* the server that was lost comes last */
    if (attempts->servers > 1)
        return now_ms;
    attempts->pauses = 1;
    return hf_after_ms(
        now_ms,
        hf_retry_delay_ms(policy->pause_ms, policy->pause_max_ms, 0, random));
}

/* The pause before the next round; false to give up. */
static bool pause_ms(const struct hf_attempts *attempts, uint64_t elapsed_ms,
                     struct hf_random *random, uint64_t *ms)
{
    const struct hf_reconnect *policy = &attempts->policy;

    *ms = policy->pause_ms;
    if (policy->fn != NULL)
        return policy->fn(policy->arg, attempts->retries, elapsed_ms, ms);
    if (policy->pause_max_ms > policy->pause_ms)
        *ms = hf_retry_delay_ms(policy->pause_ms, policy->pause_max_ms,
                                attempts->pauses, random);
    return policy->retries == HF_RECONNECT_UNLIMITED ||
           attempts->retries < policy->retries;
}

/* A round is over. */
static uint64_t next_round_ms(struct hf_attempts *attempts, uint64_t now_ms,
                              struct hf_random *random)
{
    uint64_t at_ms, ms;

    if (attempts->retries == 0)
        attempts->first_at_ms = now_ms;
    if (!pause_ms(attempts, now_ms - attempts->first_at_ms, random, &ms))
        return HF_FOREVER;
    at_ms = hf_after_ms(now_ms, hf_later_ms(ms, PAUSE_LEAST_MS));
    if (at_ms > hf_after_ms(attempts->first_at_ms, attempts->policy.elapsed_ms))
        return HF_FOREVER;
    if (attempts->retries < UINT32_MAX)
        attempts->retries++;
    if (attempts->pauses < UINT32_MAX)
        attempts->pauses++;
    return at_ms;
}

uint64_t hf_attempts_failed(struct hf_attempts *attempts, hf_status status,
                            uint64_t now_ms, struct hf_random *random)
{
    attempts->same = status == attempts->status ? attempts->same + 1 : 1;
    attempts->status = status;
    attempts->failures++;
    if (attempts->failures % attempts->servers != 0)
        return now_ms;
    return next_round_ms(attempts, now_ms, random);
}

hf_status hf_attempts_status(const struct hf_attempts *attempts)
{
    return attempts->same >= attempts->servers ? attempts->status
                                               : HF_EUNREACHABLE;
}

bool hf_attempts_are_final(const struct hf_attempts *attempts)
{
    if (attempts->status == HF_EDENIED || attempts->status == HF_EURL)
        return attempts->same >= attempts->servers;
    return attempts->status == HF_EPROTOCOL &&
           attempts->same >= attempts->servers * HF_ATTEMPT_NONSENSE;
}

uint64_t hf_attempt_ms(uint64_t session_ms, size_t servers, size_t silences)
{
    size_t rounds = silences / servers;
    uint64_t share_ms = session_ms / (2 * (uint64_t)servers);

    if (rounds < DOUBLINGS)
        share_ms = hf_earlier_ms(share_ms, FIRST_MS << rounds);
    return hf_later_ms(share_ms, LEAST_MS);
}

/* FNV-1a.  Two texts with one cost a line of the log. */
static uint64_t digest(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash;
}

bool hf_attempt_is_news(uint64_t *last, const char *text)
{
    uint64_t before = *last;

    *last = digest(text);
    return *last != before;
}
