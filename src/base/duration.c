/* SPDX-License-Identifier: Apache-2.0 */
/* Durations as users read and write them: see url.h. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/url.h"

#define UNITS 5
#define SECONDS 3 /* the index of the row "s" */

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

/* Read the digits at ${*text} and step over them.  False: there are none, or
 * the number is too great. */
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
        /* Each unit must be smaller than the one before it, so the loop runs at
         * most five times. */
        if (index < next || index == UNITS ||
            __builtin_mul_overflow(number, units[index].ms, &part_ms) ||
            __builtin_add_overflow(*ms, part_ms, ms))
            return false;
        next = index + 1;
    } while (*text != '\0');
    return true;
}

/* Write ${ms} in whole seconds or more: in its largest unit and the next
 * smaller one.  ${skip_zero}: leave the second part out if it is 0. */
static void format_two_units(uint64_t ms, bool skip_zero,
                             char text[HF_DURATION_BYTES])
{
    size_t index = 0;
    uint64_t rest;

    while (index < SECONDS && ms < units[index].ms)
        index++;
    rest = ms % units[index].ms / units[index + 1].ms;
    if (index == SECONDS || (skip_zero && rest == 0))
        (void)snprintf(text, HF_DURATION_BYTES, "%" PRIu64 "%s",
                       ms / units[index].ms, units[index].unit);
    else
        (void)snprintf(text, HF_DURATION_BYTES, "%" PRIu64 "%s%02" PRIu64 "%s",
                       ms / units[index].ms, units[index].unit, rest,
                       units[index + 1].unit);
}

void hf_duration_format(uint64_t ms, char text[HF_DURATION_BYTES])
{
    format_two_units(ms, false, text);
}

void hf_duration_format_short(uint64_t ms, char text[HF_DURATION_BYTES])
{
    uint64_t tenths = ms / 100;

    if (ms < 1000)
        (void)snprintf(text, HF_DURATION_BYTES, "%" PRIu64 "ms", ms);
    else if (ms < 60000 && tenths % 10 != 0)
        (void)snprintf(text, HF_DURATION_BYTES, "%" PRIu64 ".%" PRIu64 "s",
                       tenths / 10, tenths % 10);
    else
        format_two_units(ms, true, text);
}
