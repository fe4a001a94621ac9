/* SPDX-License-Identifier: Apache-2.0 */
/* Prints parts of a node, as text and as JSON: its path, its Stat, its access
 * list and its data. */
#ifndef HF_ZOOKEEPER_TOOL_OUTPUT_H
#define HF_ZOOKEEPER_TOOL_OUTPUT_H

#include <stdio.h>

#include <holdfast/zookeeper.h>

#include "command/json.h"

/* Print ${text}, such as a path.  If ${text} is empty, or contains a space, a
 * quote, a backslash or an unprintable character, it is printed in quotes and
 * with escapes, as by hf_quote().  So it is always one word on one line. */
void hf_tool_print_word(FILE *out, const char *text);

/* The mode of a node by its Stat: "persistent" or "ephemeral".  A Stat does not
 * show whether a node is a container or has a time to live (DataNode.java). */
const char *hf_tool_mode_of(const struct hf_zookeeper_stat *stat);

/* Room for a time such as "2026-11-26T22:24:00Z". */
#define HF_TOOL_TIME_BYTES 64
/* Write ${utc_ms} to ${text}, "-" if it is no time. */
void hf_tool_format_time(int64_t utc_ms, char text[HF_TOOL_TIME_BYTES]);

/* Print ${stat}, a line for each field, with the names that zkCli.sh uses. */
void hf_tool_print_stat(FILE *out, const struct hf_zookeeper_stat *stat);

/* Write ${stat} as an object with the key ${key}. */
void hf_tool_json_stat(struct hf_json *json, const char *key,
                       const struct hf_zookeeper_stat *stat);

/* Print the ${bytes} bytes of ${data} on a terminal.  Unprintable characters,
 * except line breaks and tabs, are replaced by '?', so that the data cannot
 * control the terminal.  A line break is added at the end if there is none. */
void hf_tool_print_data_on_terminal(FILE *out, const char *data, size_t bytes);

/* Write the ${bytes} bytes of ${data} with the key "data_base64"; null if
 * ${data} is NULL.  False: no memory. */
bool hf_tool_json_data(struct hf_json *json, const void *data, size_t bytes);

/* The entry ${acl} as text, such as "world:anyone:cdrwa".  The caller frees it
 * with hf_free().  NULL: no memory. */
char *hf_tool_format_acl(const struct hf_zookeeper_acl *acl);

/* Write ${acls} as a list of texts with the key "acl".  False: no memory. */
bool hf_tool_json_acls(struct hf_json *json,
                       const struct hf_zookeeper_acl *acls, size_t count);

#endif
