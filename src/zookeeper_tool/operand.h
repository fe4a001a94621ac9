/* SPDX-License-Identifier: Apache-2.0 */
/* Parses words of command lines and files: paths of nodes, versions, and
 * entries of access lists. */
#ifndef HF_ZOOKEEPER_TOOL_OPERAND_H
#define HF_ZOOKEEPER_TOOL_OPERAND_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/zookeeper.h>

#include "command/command_line.h"

/* Check that servers accept ${path}; HF_EINVAL if not.
 * hf_tool_check_new_path() is for a node to create; with ${sequential} the
 * servers append digits to its path. */
hf_status hf_tool_check_path(const char *path, struct hf_error *error);
hf_status hf_tool_check_new_path(const char *path, bool sequential,
                                 struct hf_error *error);

/* The row of the operand PATH. */
#define HF_TOOL_PATH_OPERAND(type, field)                                      \
    HF_OPERAND("PATH", type, field, .check = hf_tool_check_path)

/* The reader of an option --version: a version number, as in a Stat. */
hf_option_reader hf_tool_option_version;

/* Set ${version} to the number ${text}.  False if ${text} is no number from 0
 * to INT32_MAX. */
bool hf_tool_parse_version(const char *text, int32_t *version);

/* The path of the child ${name} of ${path}.  The caller frees it with
 * hf_free().  NULL: no memory. */
char *hf_tool_join(const char *path, const char *name);

/* --------------------------------------------------------- access lists -- */

/* Read ${text}, an entry as people and zkCli.sh write it
 * ("world:anyone:cdrwa"), into ${acl}, whose texts then point into ${text}.
 * The scheme ends at the first ':', and the id at the last one.  HF_EINVAL. */
hf_status hf_tool_parse_acl(char *text, struct hf_zookeeper_acl *acl,
                            struct hf_error *error);

#endif
