/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line of `holdfast run` or `holdfast elect` as it should have been
 * written, for the text of an error: options, NAME, "--", COMMAND.
 */
#ifndef HF_CLI_SUGGESTION_H
#define HF_CLI_SUGGESTION_H

#include <stdbool.h>
#include <stddef.h>

#include "command/command_line.h"

/* Are there options behind NAME and before "--"?  ${line} has a NAME. */
bool hf_suggestion_has_late_options(const struct hf_command_line *line);

/* Write ${line}, which has a NAME, to ${text} as it should have been written,
 * in words of a shell.  What does not fit into ${bytes} becomes " ...", and a
 * URL with a password "URL". */
void hf_suggestion_write(const struct hf_command *command,
                         const struct hf_command_line *line, char *text,
                         size_t bytes);

#endif
