/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as data: its usage, its tables of options and of operands, and what
 * checks that they go together.  One function reads the command lines of all
 * commands and prints their help.
 */
#ifndef HF_COMMAND_COMMAND_LINE_H
#define HF_COMMAND_COMMAND_LINE_H

#include <stdbool.h>

#include "command/option_value.h"

/* The words of a command line. */
struct hf_command_line {
    int argc;     /* number of words in .argv */
    char **argv;  /* the words; argv[0] is the command, "run" */
    int operands; /* index in .argv of the first operand, or argc */
};

/* A word behind the options: the row of an operand. */
struct hf_operand_row {
    const char *name; /* "NAME", as the synopsis has it */
    size_t offset; /* in the command's options, of a const char *, which is set
                      to the word, or left as it is if there is none */
    bool is_optional; /* and so are those behind it */
    /* See that ${text} can be one: HF_EINVAL or HF_ENAME.  NULL: any can. */
    hf_status (*check)(const char *text, struct hf_error *error);
};

#define HF_OPERAND(name_, type, field, ...)                                    \
    {                                                                          \
        .name = name_, .offset = offsetof(type, field), __VA_ARGS__            \
    }

#define HF_OPERANDS_MAX 2

struct hf_command {
    const char *name;     /* "run" */
    const char *synopsis; /* "[OPTION...] NAME", for the usage */
    const char *about;    /* what it does: of --help, before the options */
    const char *notes;    /* of --help, after the options */
    const struct hf_option_row *rows; /* without --help, which all have */
    size_t row_count;                 /* at most HF_OPTION_ROWS_MAX */
    bool options_first;               /* options end at the first operand */
    /* Its operands, in order.  With .more_operands others may follow, which
     * .check reads. */
    struct hf_operand_row operands[HF_OPERANDS_MAX];
    bool more_operands;
    /* What the tables have was read into ${options}: read the rest of ${line},
     * and check that everything goes together.  HF_EINVAL or HF_ENAME with
     * ${error}.  NULL: there is nothing to check. */
    hf_status (*check)(const struct hf_command_line *line, void *options,
                       struct hf_error *error);
};

#define HF_OPTION_ROWS_MAX 15

/* Read ${argv} into ${options}, the structure that the rows of ${command} are
 * about; fields of options that are not given stay as they are.  Options may
 * be written as "-w 5s", "-w5s", "--timeout 5s", "--timeout=5s" and, where they
 * take no value, several as "-jH".  True: run the command.  False: it ends with
 * ${*exit_code}, because its help or an error was printed. */
bool hf_command_line_read(const struct hf_command *command, int argc,
                          char **argv, void *options, int *exit_code);

/* For .check: the operand ${name} is missing; ${word} is one operand ${name}
 * too many.  HF_EINVAL with ${error}. */
hf_status hf_command_line_missing(const struct hf_command *command,
                                  const char *name, struct hf_error *error);
hf_status hf_command_line_too_many(const struct hf_command *command,
                                   const char *name, const char *word,
                                   struct hf_error *error);

/* End what a command prints on stdout.  Returns 0 or, if it could not be
 * written, prints that and returns the exit status. */
int hf_command_line_end_output(void);

/* Print a warning if ${url}, the value of -c or NULL, has a password. */
void hf_command_line_warn_password(const char *url);

#endif
