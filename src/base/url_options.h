/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of an engine's URL as one table.  The row of an option has its
 * key, the function that reads its value, the field of the engine's
 * configuration that gets it, the range, and a help text.  So an option is
 * added in one place, and all engines describe a wrong value in the same words.
 */
#ifndef HF_BASE_URL_OPTIONS_H
#define HF_BASE_URL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#include "base/time_math.h"
#include "base/url.h"

struct hf_url_option_row;

/* Read ${text}, the value of the option of ${row}, into ${field}.  Fails with
 * HF_EURL and a text that quotes the value and says what is expected. */
typedef hf_status hf_url_option_reader(const struct hf_url_option_row *row,
                                       const char *text, void *field,
                                       struct hf_error *error);

struct hf_url_option_row {
    const char *key;
    hf_url_option_reader *read; /* NULL: the option is allowed, and other
                                   code reads it */
    size_t offset;              /* of the field in the configuration */
    uint64_t min, max;          /* the allowed range, both included */
    const char *const *choices; /* the words that hf_url_read_choice()
                                   accepts; ends with NULL */
    const char *help;           /* what it sets, for error texts */
};

/* Read every option of ${url} whose row has a .read into its field of
 * ${configuration}.  Fields of options that are not given stay as they are.
 * Fails with HF_EURL if a value is wrong, or if ${rows} do not have an option;
 * the text then lists the options that exist. */
hf_status hf_url_options_read(const struct hf_url *url,
                              const struct hf_url_option_row *rows,
                              size_t row_count, void *configuration,
                              struct hf_error *error);

/* A duration from .min to .max milliseconds; the field is a uint64_t. */
hf_url_option_reader hf_url_read_duration;
/* Decimal digits, from .min to .max; the field is a uint64_t. */
hf_url_option_reader hf_url_read_number;
/* One of .choices; the field is an int and gets the index of the choice. */
hf_url_option_reader hf_url_read_choice;
/* An absolute path; the field is a char[.max + 1]. */
hf_url_option_reader hf_url_read_path;

/* The row of the option clock_drift= (time_math.h), for every engine whose
 * leases end by the clock of another machine.  The field is a uint64_t. */
#define HF_CLOCK_DRIFT_OPTION(type, field)                                     \
    {                                                                          \
        .key = "clock_drift", .read = hf_url_read_number,                      \
        .offset = offsetof(type, field), .min = HF_CLOCK_DRIFT_MIN,            \
        .max = HF_CLOCK_DRIFT_MAX,                                             \
        .help = "by how many percent clocks may run fast or slow"              \
    }

/* Set ${*number} to the decimal number ${text}.  Returns false if ${text} is
 * empty, has anything but digits, or is too great. */
bool hf_url_parse_number(const char *text, uint64_t *number);

/* ------------------------------- the files for TLS: ca=, cert= and key= -- */

#define HF_PEM_PATH_BYTES 1024

/* Absolute paths, or "". */
struct hf_pem_files {
    char ca[HF_PEM_PATH_BYTES];
    char cert[HF_PEM_PATH_BYTES];
    char key[HF_PEM_PATH_BYTES]; /* given together with .cert, or not at all */
};

/* The rows of ca=, cert= and key= in an engine's table.  They come last, so
 * that an engine can leave them out for a scheme without TLS, by passing a
 * row_count that is smaller by HF_PEM_OPTION_COUNT.  ${type} is the engine's
 * configuration and ${files} its struct hf_pem_files. */
#define HF_PEM_OPTION_COUNT 3
#define HF_PEM_OPTIONS(type, files)                                            \
    {.key = "ca",                                                              \
     .read = hf_url_read_path,                                                 \
     .offset = offsetof(type, files.ca),                                       \
     .max = HF_PEM_PATH_BYTES - 1,                                             \
     .help = "a file with the certificates that are trusted"},                 \
        {.key = "cert",                                                        \
         .read = hf_url_read_path,                                             \
         .offset = offsetof(type, files.cert),                                 \
         .max = HF_PEM_PATH_BYTES - 1,                                         \
         .help = "a file with our certificate"},                               \
    {                                                                          \
        .key = "key", .read = hf_url_read_path,                                \
        .offset = offsetof(type, files.key), .max = HF_PEM_PATH_BYTES - 1,     \
        .help = "a file with the key of our certificate"                       \
    }

/* Fails with HF_EURL if ${files} has only one of .cert and .key.  It does not
 * check whether the files exist. */
hf_status hf_pem_files_check(const struct hf_pem_files *files,
                             struct hf_error *error);

#endif
