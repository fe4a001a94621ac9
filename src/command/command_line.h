/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as data: its usage, its table of options and what reads its
 * operands.  One function reads the command lines of all commands and prints
 * their help.
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

struct hf_command {
    const char *name;     /* "run" */
    const char *synopsis; /* "[OPTION...] NAME", for the usage */
    const char *about;    /* what it does: of --help, before the options */
    const char *notes;    /* of --help, after the options */
    const struct hf_option_row *rows; /* without --help, which all have */
    size_t row_count;                 /* at most HF_OPTION_ROWS_MAX */
    bool options_first;               /* options end at the first operand */
    /* Read the operands of ${line} into ${options}, and check that the options
     * go together.  HF_EINVAL or HF_ENAME with ${error}. */
    hf_status (*read_operands)(const struct hf_command_line *line,
                               void *options, struct hf_error *error);
};

#define HF_OPTION_ROWS_MAX 15

/* Read ${argv} into ${options}, the structure that the rows of ${command} are
 * about; fields of options that are not given stay as they are.  Options may
 * be written as "-t 5s", "-t5s", "--timeout 5s", "--timeout=5s" and, where they
 * take no value, several as "-jH".  True: run the command.  False: it ends with
 * ${*exit_code}, because its help or an error was printed. */
bool hf_command_line_read(const struct hf_command *command, int argc,
                          char **argv, void *options, int *exit_code);

/* The end of what a command prints on stdout: 0, or the exit status after
 * printing that it could not be written. */
int hf_command_line_end_output(void);

/* Print a warning if ${url}, the value of -c or NULL, has a password. */
void hf_command_line_warn_password(const char *url);

#endif
