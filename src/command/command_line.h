/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as data: its usage, its tables of options and operands, and a
 * function that checks whether they fit together.  One function reads the
 * command lines of all commands and prints their help.
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

/* The row of an operand, a word behind the options. */
struct hf_operand_row {
    const char *name; /* "NAME", as in the synopsis */
    size_t offset;    /* of a const char * in the command's options: it is set
                         to the word, or left unchanged if there is none */
    bool is_optional; /* this operand may be missing, and so may those behind
                         it */
    /* Check ${text}.  Fails with HF_EINVAL or HF_ENAME.  NULL: any text is
     * allowed. */
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
    const char *about;    /* what the command does; --help prints it before
                             the options */
    const char *notes;    /* what --help prints after the options */
    const struct hf_option_row *rows; /* the options without --help, which
                                         all commands have */
    size_t row_count;                 /* at most HF_OPTION_ROWS_MAX */
    bool options_first;               /* options end at the first operand */
    /* Its operands, in their order.  With .more_operands further ones may
     * follow, which .check reads. */
    struct hf_operand_row operands[HF_OPERANDS_MAX];
    bool more_operands;
    /* Called when the tables were read into ${options}: read the rest of
     * ${line}, and check whether everything fits together.  Fails with
     * HF_EINVAL or HF_ENAME and ${error}.  NULL: there is nothing to check. */
    hf_status (*check)(const struct hf_command_line *line, void *options,
                       struct hf_error *error);
};

#define HF_OPTION_ROWS_MAX 15

/* Read ${argv} into ${options}, the struct that the rows of ${command}
 * describe.  Fields of options that are not given stay as they are.  Options
 * may be written as "-w 5s", "-w5s", "--timeout 5s" or "--timeout=5s"; several
 * options without a value also as "-jH".  Returns true if the command is to be
 * run.  Returns false if it ends with ${*exit_code}, because its help or an
 * error was printed. */
bool hf_command_line_read(const struct hf_command *command, int argc,
                          char **argv, void *options, int *exit_code);

/* For .check: fail with HF_EINVAL because the operand ${name} is missing, or
 * because ${word} is one ${name} too many. */
hf_status hf_command_line_missing(const struct hf_command *command,
                                  const char *name, struct hf_error *error);
hf_status hf_command_line_too_many(const struct hf_command *command,
                                   const char *name, const char *word,
                                   struct hf_error *error);

/* Flush what the command has printed on stdout.  Returns 0; or if it could not
 * be written, prints that and returns the exit status. */
int hf_command_line_end_output(void);

/* Print a warning if ${url}, the value of -c or NULL, has a password. */
void hf_command_line_warn_password(const char *url);

#endif
