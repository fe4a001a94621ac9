/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reconnect.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/retry.h"
#include "base/time_math.h"

/* ----------------------------------------------- the policy of the user -- */

#define ONCE_PAUSE_MS 1000

/* Room for "4294967294x1000ms..1000ms/1000ms", and some more. */
#define TEXT_BYTES 96

const struct hf_reconnect hf_reconnect_default = {
    .pause_ms = 50,
    .pause_max_ms = 1000,
    .retries = HF_RECONNECT_UNLIMITED,
    .elapsed_ms = HF_FOREVER,
};

/* Read "3x" at ${*text}, set ${retries} to 3 and step over the "3x".  Returns
 * false if something else is in front of the 'x'.  Without any 'x' the function
 * returns true and changes nothing. */
static bool take_retries(char **text, uint32_t *retries)
{
    char *x = strchr(*text, 'x');
    uint64_t number = 0;

    if (x == NULL)
        return true;
    if (x == *text)
        return false;
    for (const char *at = *text; at < x; at++) {
        if (*at < '0' || *at > '9')
            return false;
        number = number * 10 + (uint64_t)(*at - '0');
        if (number >= HF_RECONNECT_UNLIMITED)
            return false;
    }
    *text = x + 1;
    *retries = (uint32_t)number;
    return number > 0;
}

static bool take_duration(const char *text, uint64_t *ms)
{
    return hf_duration_parse(text, ms) && *ms > 0;
}

/* Cut ${text} at ${separator}, and return what follows the separator; NULL if
 * the separator is not there. */
static const char *cut_at(char *text, const char *separator)
{
    char *at = strstr(text, separator);

    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(separator);
}

/* Parse [Nx]PAUSE[..PAUSE][/TOTAL].  Changes ${text}. */
static bool parse_numbers(char *text, struct hf_reconnect *policy)
{
    const char *total, *longest;

    policy->pause_max_ms = 0;
    if (!take_retries(&text, &policy->retries))
        return false;
    total = cut_at(text, "/");
    longest = cut_at(text, "..");
    return take_duration(text, &policy->pause_ms) &&
           (longest == NULL || (take_duration(longest, &policy->pause_max_ms) &&
                                policy->pause_max_ms >= policy->pause_ms)) &&
           (total == NULL || take_duration(total, &policy->elapsed_ms));
}

/* Parse "forever", "never", "once" or [Nx]PAUSE[..PAUSE][/TOTAL]. */
static bool parse(const char *text, struct hf_reconnect *policy)
{
    char copy[TEXT_BYTES];

    *policy = hf_reconnect_default;
    if (strcmp(text, "forever") == 0)
        return true;
    if (strcmp(text, "never") == 0) {
        policy->retries = 0;
        return true;
    }
    if (strcmp(text, "once") == 0) {
        policy->retries = 1;
        policy->pause_ms = ONCE_PAUSE_MS;
        return true;
    }
    if (strlen(text) >= sizeof copy)
        return false;
    memcpy(copy, text, strlen(text) + 1);
    return parse_numbers(copy, policy);
}

hf_status hf_reconnect_choose(const struct hf_url *url,
                              const struct hf_reconnect *given,
                              struct hf_reconnect *policy,
                              struct hf_error *error)
{
    const char *text = hf_url_option(url, HF_RECONNECT_OPTION);

    *policy = given != NULL ? *given : hf_reconnect_default;
    if (text == NULL || parse(text, policy))
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        HF_RECONNECT_OPTION
                        "=%s is no policy for reconnecting; expected forever, "
                        "never, once or [Nx]PAUSE[..PAUSE][/TOTAL], such as "
                        "3x5s, 50ms..1s or 1s/2m",
                        hf_quote(text, strlen(text)).text);
}

/* -------------------------------------------------------------- backoff -- */

/* The shortest pause, because without pauses the client would try again without
 * end and use all of a processor. */
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
    backoff->failures = 1; /* counts the server that was lost as tried, so it
                              is tried last */
    if (backoff->servers > 1)
        return now_ms;
    backoff->pauses_taken = 1;
    return hf_after_ms(
        now_ms,
        hf_retry_delay_ms(policy->pause_ms, policy->pause_max_ms, 0, random));
}

/* Set ${ms} to the pause before the next round.  False: the policy allows no
 * further round. */
static bool choose_pause(const struct hf_reconnect_backoff *backoff,
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

/* A round has failed.  Returns when the next one begins; HF_FOREVER: never. */
static uint64_t next_round_ms(struct hf_reconnect_backoff *backoff,
                              uint64_t now_ms, struct hf_random *random)
{
    uint64_t at_ms, ms;

    if (backoff->retries == 0)
        backoff->first_failed_ms = now_ms;
    if (!choose_pause(backoff, now_ms - backoff->first_failed_ms, random, &ms))
        return HF_FOREVER;
    at_ms = hf_after_ms(now_ms, hf_max_ms(ms, LEAST_PAUSE_MS));
    if (at_ms >
        hf_after_ms(backoff->first_failed_ms, backoff->policy.elapsed_ms))
        return HF_FOREVER;
    if (backoff->retries < UINT32_MAX)
        backoff->retries++;
    if (backoff->pauses_taken < UINT32_MAX)
        backoff->pauses_taken++;
    return at_ms;
}

/* Does ${status} stand for a failure that waiting does not mend? */
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
