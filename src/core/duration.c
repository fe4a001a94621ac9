/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/url.h"

static const struct {
    const char *unit;
    uint64_t ms;
} units[] = {
    {"ms", 1},
    {"s", 1000},
    {"m", UINT64_C(60) * 1000},
    {"h", UINT64_C(3600) * 1000},
    {"d", UINT64_C(86400) * 1000},
};

/* Read the digits at ${*text} and step over them. */
static bool read_number(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t value = 0;

    while (*at >= '0' && *at <= '9') {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
        at++;
    }
    if (at == *text)
        return false;
    *text = at;
    *number = value;
    return true;
}

bool hf_duration_parse(const char *text, uint64_t *ms)
{
    uint64_t number;

    assert(text != NULL && ms != NULL);
    if (!read_number(&text, &number))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(text, units[i].unit) == 0)
            return !__builtin_mul_overflow(number, units[i].ms, ms);
    return false;
}
