/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reconnect_policy.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"

#define ONCE_PAUSE_MS 1000

/* "4294967294x1000ms..1000ms/1000ms" and a little room. */
#define TEXT_BYTES 96

const struct hf_reconnect hf_reconnect_default = {
    .pause_ms = 50,
    .pause_max_ms = 1000,
    .retries = HF_RECONNECT_UNLIMITED,
    .elapsed_ms = HF_FOREVER,
};

/* Read "3x" at ${*text} and step over it; nothing if there is no 'x'. */
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

/* Cut ${text} at ${separator}, and return what is behind that; NULL: it is not
 * there. */
static const char *cut_at(char *text, const char *separator)
{
    char *at = strstr(text, separator);

    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(separator);
}

/* [Nx]PAUSE[..PAUSE][/TOTAL]; changes ${text}. */
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

/* The words, or [Nx]PAUSE[..PAUSE][/TOTAL]. */
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
