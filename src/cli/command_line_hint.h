/* SPDX-License-Identifier: Apache-2.0 */
/* A command line that was meant well: what it should have been. */
#ifndef HF_CLI_COMMAND_LINE_HINT_H
#define HF_CLI_COMMAND_LINE_HINT_H

#include <stdbool.h>
#include <stddef.h>

struct hf_command_line {
    int argc;
    char **argv; /* argv[0] is "run" */
    int name;    /* the place of the first NAME */
};

/* Do options stand behind a NAME, before a "--"? */
bool hf_command_line_has_late_options(const struct hf_command_line *line);

/* Write the line with its options before the names, and "--" after, to ${text},
 * quoted for a shell; cut with "..." where it does not fit.  A password in a
 * URL is left out. */
void hf_command_line_suggest(const struct hf_command_line *line, char *text,
                             size_t bytes);

#endif
