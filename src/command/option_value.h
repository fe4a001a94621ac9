/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a command's table of options, and the functions that read values
 * into the fields of the rows.  A row has everything that is known of an
 * option.  So the command line, --help, the manual pages and the completion
 * cannot differ: command_line.c reads and prints the rows, and
 * packaging/command_tables.py reads them to make the pages and the completion.
 */
#ifndef HF_COMMAND_OPTION_VALUE_H
#define HF_COMMAND_OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

struct hf_option_row;

/* Read ${text} into ${field}.  ${text} is NULL if the option takes no value.
 * ${name} is the option as the user wrote it, "-w" or "--timeout".  Fails with
 * HF_EINVAL and a text that says what is expected. */
typedef hf_status hf_option_reader(const struct hf_option_row *row,
                                   const char *name, const char *text,
                                   void *field, struct hf_error *error);

struct hf_option_row {
    char letter;       /* 'w' of -w; 0: none */
    char also;         /* another letter that means the same; 0: none */
    const char *name;  /* "timeout" of --timeout */
    const char *value; /* how texts call the value, in capitals; NULL: the
                          option takes no value */
    hf_option_reader *read;
    size_t offset;              /* of the field in the command's options */
    size_t bytes;               /* size of the field, see HF_OPTION_FIELD() */
    uint64_t min, max;          /* for hf_option_number(): the allowed range,
                                   both included */
    uint64_t set;               /* for hf_option_set(): the value that the
                                   field gets */
    const char *const *choices; /* for hf_option_choice(): the words; ends
                                   with NULL */
    const char *one_of; /* only one of the options with this pointer may be
                           given; the text is the error otherwise.  For other
                           rules see .check of struct hf_command */
    const char *help;   /* what --help prints behind the choices; it is
                           wrapped then */
};

/* A row: the fields that all options have, then further fields by name.  Shells
 * complete a value that is called FILE, DIR or URL accordingly, and a value
 * with .choices to one of these. */
#define HF_OPTION(letter_, name_, value_, read_, ...)                          \
    {                                                                          \
        .letter = letter_, .name = name_, .value = value_, .read = read_,      \
        __VA_ARGS__                                                            \
    }

/* In a row: ${field} of the options, which are a ${type}.  Without it, the
 * field is the whole of the options. */
#define HF_OPTION_FIELD(type, field)                                           \
    .offset = offsetof(type, field), .bytes = sizeof((type *)0)->field

/* The next three readers have a bool, an int, an unsigned, an enum or a
 * uint64_t as field. */
hf_option_reader hf_option_set;    /* no value; the field is set to .set */
hf_option_reader hf_option_number; /* a decimal number from .min to .max */
hf_option_reader hf_option_choice; /* one of .choices; the field gets its
                                      index */
/* Reads a duration.  The field is a uint64_t, in milliseconds. */
hf_option_reader hf_option_duration;
/* The same, but a number without a unit is in seconds, as in flock(1): "30" or
 * "0.5". */
hf_option_reader hf_option_wait;
/* Takes any text.  The field is a const char *, which is set to the value in
 * argv. */
hf_option_reader hf_option_text;
/* The same for a URL.  "@NAME" is replaced by the URL of that profile, see
 * profile.h. */
hf_option_reader hf_option_url;

/* Called when no URL was given.  If HOLDFAST_URL is "@NAME", set ${field} as
 * "-c @NAME" does; otherwise leave it unchanged. */
hf_status hf_option_url_of_environment(void *field, struct hf_error *error);

/* Rows that commands share.  ${field_} is a HF_OPTION_FIELD(). */
#define HF_URL_OPTION(field_)                                                  \
    HF_OPTION('c', "url", "URL", hf_option_url, field_,                        \
              .help =                                                          \
                  "the engine, or @PROFILE; else HOLDFAST_URL, else file:")
#define HF_ANSWER_TIMEOUT_OPTION(field_)                                       \
    HF_OPTION('w', "timeout", "DURATION", hf_option_wait, field_,              \
              .help = "wait at most so long for an answer; else 15s")

/* Did hf_option_url() take ${url} from a profile? */
bool hf_option_url_is_of_profile(const char *url);

/* Write the choices of ${row} as "mutex, rwlock or all". */
#define HF_OPTION_CHOICES_BYTES 160
void hf_option_list_choices(const struct hf_option_row *row,
                            char text[HF_OPTION_CHOICES_BYTES]);

#endif
