/* SPDX-License-Identifier: Apache-2.0 */
/* What stands on command lines and in files: paths of nodes, and versions. */
#ifndef HF_ZOOKEEPER_TOOL_OPERAND_H
#define HF_ZOOKEEPER_TOOL_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include "command/command_line.h"

/* Check that ${line}, one of ${command}, has from ${min} to ${max} operands.
 * HF_EINVAL. */
hf_status hf_tool_check_count(const struct hf_command_line *line,
                              const struct hf_command *command, int min,
                              int max, struct hf_error *error);

/* Check that servers can have a node ${path}, ${sequential} if they append
 * digits to it.  HF_EINVAL. */
hf_status hf_tool_check_path(const char *path, bool sequential,
                             struct hf_error *error);

/* The row of an option --version: a number as in a Stat. */
hf_option_reader hf_tool_option_version;

/* Set ${version} to the number ${text}.  False if it is none from 0 to
 * INT32_MAX. */
bool hf_tool_parse_version(const char *text, int32_t *version);

/* The path of ${name} below ${path}, which the caller frees with hf_free();
 * NULL without memory. */
char *hf_tool_join(const char *path, const char *name);

#endif
