/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as users write them: see hf_duration_parse() in url.h. */
#include <assert.h>
#include <string.h>

#include "core/url.h"

#define UNITS 5

static const struct {
    const char *unit;
    uint64_t ms;
} units[UNITS] = {
    {"d", UINT64_C(86400) * 1000},
    {"h", UINT64_C(3600) * 1000},
    {"m", UINT64_C(60) * 1000},
    {"s", 1000},
    {"ms", 1},
};

/* Read the digits at ${*text} and step over them. */
static bool read_number(const char **text, uint64_t *number)
{
    const char *digit = *text;
    uint64_t value = 0;

    while (*digit >= '0' && *digit <= '9') {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*digit - '0'), &value))
            return false;
        digit++;
    }
    if (digit == *text)
        return false;
    *text = digit;
    *number = value;
    return true;
}

/* Step over the unit at ${*text}, and return its index in the table; UNITS:
 * there is no such unit. */
static size_t read_unit(const char **text)
{
    size_t length = strspn(*text, "dhms");
    const char *digit = *text;
    size_t index = 0;

    while (index < UNITS && (strlen(units[index].unit) != length ||
                             memcmp(units[index].unit, digit, length) != 0))
        index++;
    *text = digit + length;
    return index;
}

bool hf_duration_parse(const char *text, uint64_t *ms)
{
    uint64_t number, part_ms;
    size_t index, next = 0;

    assert(text != NULL && ms != NULL);
    *ms = 0;
    do {
        if (!read_number(&text, &number))
            return false;
        index = read_unit(&text);
        /* A smaller unit than the one before it, hence at most five rounds. */
        if (index < next || index == UNITS ||
            __builtin_mul_overflow(number, units[index].ms, &part_ms) ||
            __builtin_add_overflow(*ms, part_ms, ms))
            return false;
        next = index + 1;
    } while (*text != '\0');
    return true;
}
