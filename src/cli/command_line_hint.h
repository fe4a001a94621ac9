/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For `holdfast run`: the command line as it should have been written, for the
 * text of an error.
 */
#ifndef HF_CLI_COMMAND_LINE_HINT_H
#define HF_CLI_COMMAND_LINE_HINT_H

#include <stdbool.h>
#include <stddef.h>

#include "command/command_line.h"

/* Are there options between a NAME and "--"?  They belong before NAME. */
bool hf_command_line_has_late_options(const struct hf_command_line *line);

/* Write the corrected line to ${text}, quoted for a shell: options, names,
 * "--", command.  It is cut with "..." where it does not fit.  A URL with a
 * password is replaced by "URL". */
void hf_command_line_suggest(const struct hf_command_line *line, char *text,
                             size_t bytes);

#endif
