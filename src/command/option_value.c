/* SPDX-License-Identifier: Apache-2.0 */
/* See option_value.h.  The error texts of all readers have the same form: the
 * option, the value in quotes, what is expected. */
#include "command/option_value.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/url_options.h"
#include "client/client_url.h"
#include "command/profile.h"

/* Set ${field} of ${row} to ${number}. */
static void store(const struct hf_option_row *row, void *field, uint64_t number)
{
    if (row->bytes == sizeof(uint64_t)) {
        *(uint64_t *)field = number;
    } else if (row->bytes == sizeof(bool)) {
        *(bool *)field = number != 0;
    } else {
        assert(row->bytes == sizeof(unsigned) && number <= UINT_MAX);
        *(unsigned *)field = (unsigned)number;
    }
}

hf_status hf_option_set(const struct hf_option_row *row, const char *name,
                        const char *text, void *field, struct hf_error *error)
{
    (void)name;
    (void)text;
    (void)error;
    store(row, field, row->set);
    return HF_OK;
}

hf_status hf_option_number(const struct hf_option_row *row, const char *name,
                           const char *text, void *field,
                           struct hf_error *error)
{
    uint64_t number;

    if (!hf_url_parse_number(text, &number) || number < row->min ||
        number > row->max)
        return hf_error_set(error, HF_EINVAL,
                            "%s '%.80s': expected a number from %" PRIu64
                            " to %" PRIu64,
                            name, text, row->min, row->max);
    store(row, field, number);
    return HF_OK;
}

void hf_option_list_choices(const struct hf_option_row *row,
                            char text[HF_OPTION_CHOICES_BYTES])
{
    const char *const *choice = row->choices;
    size_t used = 0;

    for (; *choice != NULL; choice++) {
        const char *joint = choice[1] == NULL ? " or " : ", ";

        used += (size_t)snprintf(text + used, HF_OPTION_CHOICES_BYTES - used,
                                 "%s%s", used == 0 ? "" : joint, *choice);
        assert(used < HF_OPTION_CHOICES_BYTES);
    }
}

hf_status hf_option_choice(const struct hf_option_row *row, const char *name,
                           const char *text, void *field,
                           struct hf_error *error)
{
    char list[HF_OPTION_CHOICES_BYTES];

    for (size_t i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(text, row->choices[i]) == 0) {
            store(row, field, i);
            return HF_OK;
        }
    }
    hf_option_list_choices(row, list);
    return hf_error_set(error, HF_EINVAL, "%s '%.80s': expected %s", name, text,
                        list);
}

hf_status hf_option_duration(const struct hf_option_row *row, const char *name,
                             const char *text, void *field,
                             struct hf_error *error)
{
    (void)row;
    if (hf_duration_parse(text, field))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%s '%.80s': not a duration; " HF_DURATION_EXPECTED
                        ", for instance %s 1m30s",
                        name, text, name);
}

/* Set ${ms} to ${text}, a number of seconds such as "30", "0.5" or ".5".  Less
 * than a millisecond counts as one, so that only 0 means not to wait. */
static bool parse_seconds(const char *text, uint64_t *ms)
{
    size_t digits = strspn(text, "0123456789"), part = 0;
    const char *fraction = text + digits;
    uint64_t scale = 100;

    if (*fraction == '.')
        part = strspn(++fraction, "0123456789");
    if (digits + part == 0 || digits > 15 || fraction[part] != '\0')
        return false;
    *ms = digits > 0 ? strtoull(text, NULL, 10) * 1000 : 0;
    for (size_t i = 0; i < part && scale > 0; i++, scale /= 10)
        *ms += (uint64_t)(fraction[i] - '0') * scale;
    if (*ms == 0 && strspn(fraction, "0") < part)
        *ms = 1;
    return true;
}

hf_status hf_option_wait(const struct hf_option_row *row, const char *name,
                         const char *text, void *field, struct hf_error *error)
{
    (void)row;
    if (parse_seconds(text, field) || hf_duration_parse(text, field))
        return HF_OK;
    return hf_error_set(error, HF_EINVAL,
                        "%s '%.80s': not a time to wait; expected seconds or a "
                        "duration, for instance %s 30 or %s 1m30s",
                        name, text, name, name);
}

hf_status hf_option_text(const struct hf_option_row *row, const char *name,
                         const char *text, void *field, struct hf_error *error)
{
    (void)row;
    (void)name;
    (void)error;
    *(const char **)field = text;
    return HF_OK;
}

/* The URL of a profile.  It is kept until the end of the process, as the words
 * of argv are. */
static char *of_profile;

hf_status hf_option_url(const struct hf_option_row *row, const char *name,
                        const char *text, void *field, struct hf_error *error)
{
    hf_status status;

    if (text[0] != '@')
        return hf_option_text(row, name, text, field, error);
    free(of_profile);
    status = hf_profile_find(text + 1, &of_profile, error);
    *(const char **)field = of_profile;
    return status;
}

hf_status hf_option_url_of_environment(void *field, struct hf_error *error)
{
    struct hf_error why;
    const char *value;
    hf_status status = hf_client_url_of_environment(&value, error);

    /* The client refuses any other value, with a text of its own. */
    if (status != HF_OK || value == NULL || value[0] != '@')
        return HF_OK;
    free(of_profile);
    status = hf_profile_find(value + 1, &of_profile, &why);
    if (status != HF_OK)
        return hf_error_set(error, status, "HOLDFAST_URL: %s", why.text);
    *(const char **)field = of_profile;
    return HF_OK;
}

bool hf_option_url_is_of_profile(const char *url)
{
    return of_profile != NULL && url == of_profile;
}
