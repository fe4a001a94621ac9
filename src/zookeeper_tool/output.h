/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands print of a node: its path, its Stat, its access list and
 * its data, for people and as JSON. */
#ifndef HF_ZOOKEEPER_TOOL_OUTPUT_H
#define HF_ZOOKEEPER_TOOL_OUTPUT_H

#include <stdio.h>

#include <holdfast/zookeeper.h>

#include "command/json.h"

/* Print ${text}, such as a path.  If ${text} is empty, or has a space, a quote,
 * a backslash or anything that cannot be shown, it is printed in quotes as
 * hf_quote() has it, so that it is one word of one line. */
void hf_tool_print_word(FILE *out, const char *text);

/* What a node is, by its Stat: "persistent" or "ephemeral".  Servers do not say
 * which nodes are containers or have a time to live: DataNode.java. */
const char *hf_tool_mode_of(const struct hf_zookeeper_stat *stat);

/* Room for an instant: "2026-11-26T22:24:00Z". */
#define HF_TOOL_TIME_BYTES 64
/* Write ${utc_ms} to ${text}, "-" if it is no time. */
void hf_tool_format_time(int64_t utc_ms, char text[HF_TOOL_TIME_BYTES]);

/* Print ${stat}, a line for each field, in the words of zkCli.sh. */
void hf_tool_print_stat(FILE *out, const struct hf_zookeeper_stat *stat);

/* Write ${stat} as the object ${key}. */
void hf_tool_json_stat(struct hf_json *json, const char *key,
                       const struct hf_zookeeper_stat *stat);

/* Print the ${bytes} of ${data} on a terminal, so that they cannot control it:
 * what cannot be shown becomes '?', except line breaks and tabs.  The last line
 * ends with a line break. */
void hf_tool_print_data_on_terminal(FILE *out, const char *data, size_t bytes);

/* Write the ${bytes} of ${data} as "data_base64": null if they are absent.
 * False: no memory. */
bool hf_tool_json_data(struct hf_json *json, const void *data, size_t bytes);

/* The entry ${acl} as "world:anyone:cdrwa", which the caller frees with
 * hf_free(); NULL without memory. */
char *hf_tool_format_acl(const struct hf_zookeeper_acl *acl);

/* Write ${acls} as the list "acl".  False: no memory. */
bool hf_tool_json_acls(struct hf_json *json,
                       const struct hf_zookeeper_acl *acls, size_t count);

#endif
