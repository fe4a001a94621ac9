/* SPDX-License-Identifier: Apache-2.0 */
#include "base/url_options.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"

static hf_status refuse(const struct hf_url *url, const char *key,
                        const struct hf_url_option_row *rows, size_t row_count,
                        struct hf_error *error)
{
    char known[HF_ERROR_TEXT_BYTES / 2] = "";
    size_t used = 0;

    for (size_t i = 0; i < row_count; i++) {
        size_t bytes = strlen(rows[i].key) + sizeof ", and others";

        if (used + bytes > sizeof known) {
            (void)snprintf(known + used, sizeof known - used, ", and others");
            break;
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                 i > 0 ? ", " : "", rows[i].key);
    }
    return hf_error_set(error, HF_EURL,
                        "%s: does not know the option \"%s\"; expected %s",
                        url->scheme, key, known);
}

static const struct hf_url_option_row *
find_row(const struct hf_url_option_row *rows, size_t row_count,
         const char *key)
{
    for (size_t i = 0; i < row_count; i++) {
        if (strcmp(rows[i].key, key) == 0)
            return &rows[i];
    }
    return NULL;
}

hf_status hf_url_options_read(const struct hf_url *url,
                              const struct hf_url_option_row *rows,
                              size_t row_count, void *configuration,
                              struct hf_error *error)
{
    hf_status status = HF_OK;

    for (size_t i = 0; i < url->option_count && status == HF_OK; i++) {
        const struct hf_url_option *option = &url->options[i];
        const struct hf_url_option_row *row =
            find_row(rows, row_count, option->key);

        if (row == NULL)
            status = refuse(url, option->key, rows, row_count, error);
        else if (row->read != NULL)
            status = row->read(row, option->value,
                               (char *)configuration + row->offset, error);
    }
    return status;
}

/* --------------------------------------------------------------- readers -- */

struct duration_text {
    char text[24];
};

/* Format ${ms} in the largest unit that divides it. */
static struct duration_text format_duration(uint64_t ms)
{
    static const struct {
        uint64_t ms;
        const char *unit;
    } units[] = {{3600000, "h"}, {60000, "m"}, {1000, "s"}, {1, "ms"}};
    struct duration_text formatted;
    size_t i = ms == 0 ? 2 : 0; /* 0s, not 0h */

    while (ms % units[i].ms != 0)
        i++;
    (void)snprintf(formatted.text, sizeof formatted.text, "%" PRIu64 "%s",
                   ms / units[i].ms, units[i].unit);
    return formatted;
}

hf_status hf_url_read_duration(const struct hf_url_option_row *row,
                               const char *text, void *field,
                               struct hf_error *error)
{
    uint64_t *ms = field;
    uint64_t given_ms;

    if (hf_duration_parse(text, &given_ms) && given_ms >= row->min &&
        given_ms <= row->max) {
        *ms = given_ms;
        return HF_OK;
    }
    return hf_error_set(error, HF_EURL,
                        "%s=%s is not a duration in range; expected one from "
                        "%s to %s: %s",
                        row->key, hf_quote(text, strlen(text)).text,
                        format_duration(row->min).text,
                        format_duration(row->max).text, row->help);
}

bool hf_url_parse_number(const char *text, uint64_t *number)
{
    uint64_t sum = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' ||
            __builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
            return false;
    }
    *number = sum;
    return text[0] != '\0';
}

hf_status hf_url_read_number(const struct hf_url_option_row *row,
                             const char *text, void *field,
                             struct hf_error *error)
{
    uint64_t *number = field;
    uint64_t given;

    if (hf_url_parse_number(text, &given) && given >= row->min &&
        given <= row->max) {
        *number = given;
        return HF_OK;
    }
    return hf_error_set(error, HF_EURL,
                        "%s=%s is not a number in range; expected digits, from "
                        "%" PRIu64 " to %" PRIu64 ": %s",
                        row->key, hf_quote(text, strlen(text)).text, row->min,
                        row->max, row->help);
}

hf_status hf_url_read_choice(const struct hf_url_option_row *row,
                             const char *text, void *field,
                             struct hf_error *error)
{
    int *which = field;
    char expected[128] = "";
    size_t at = 0;

    for (int i = 0; row->choices[i] != NULL; i++) {
        if (strcmp(row->choices[i], text) == 0) {
            *which = i;
            return HF_OK;
        }
        assert(at < sizeof expected);
        at += (size_t)snprintf(expected + at, sizeof expected - at, "%s%s",
                               i == 0 ? "" : " or ", row->choices[i]);
    }
    return hf_error_set(
        error, HF_EURL, "%s=%s is not known; expected %s=%s: %s", row->key,
        hf_quote(text, strlen(text)).text, row->key, expected, row->help);
}

hf_status hf_url_read_path(const struct hf_url_option_row *row,
                           const char *text, void *field,
                           struct hf_error *error)
{
    if (text[0] == '/' && strlen(text) <= row->max) {
        memcpy(field, text, strlen(text) + 1);
        return HF_OK;
    }
    return hf_error_set(error, HF_EURL,
                        "%s=%s is not an absolute path; expected one of at "
                        "most %" PRIu64 " bytes: %s",
                        row->key, hf_quote(text, strlen(text)).text, row->max,
                        row->help);
}

hf_status hf_pem_files_check(const struct hf_pem_files *files,
                             struct hf_error *error)
{
    if ((files->cert[0] == '\0') == (files->key[0] == '\0'))
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the URL has only one of cert= and key=; expected "
                        "both, or neither");
}
