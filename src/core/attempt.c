/* SPDX-License-Identifier: Apache-2.0 */
#include "core/attempt.h"

#include <holdfast/holdfast.h>

#include "core/instant.h"

#define LEAST_MS 500
#define FIRST_MS UINT64_C(2000)
#define DOUBLINGS 20

const struct hf_retry_policy hf_attempt_pauses = {
    .base_ms = 50,
    .cap_ms = 1000,
    .tries = HF_RETRY_UNLIMITED,
    .elapsed_ms = HF_FOREVER,
};

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
