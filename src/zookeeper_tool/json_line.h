/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of lines that are one object of JSON (RFC 8259) each, with values
 * that are strings, numbers, null or lists of strings: the lines of an export.
 */
#ifndef HF_ZOOKEEPER_TOOL_JSON_LINE_H
#define HF_ZOOKEEPER_TOOL_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/zookeeper.h>

enum hf_tool_json_kind {
    HF_TOOL_JSON_TEXT,   /* a string, or null */
    HF_TOOL_JSON_NUMBER, /* an integer from 0 on */
    HF_TOOL_JSON_LIST    /* of strings */
};

/* A value of an object, which a reader sets. */
struct hf_tool_json_value {
    const char *key;
    enum hf_tool_json_kind kind;
    bool given; /* the object has it */
    char *text; /* in the line; NULL: null */
    uint64_t number;
    char **list; /* the caller's to free with hf_free(), also on failure */
    size_t count;
};

/* Read ${line} into the ${count} ${values}, in the line's own memory. HF_EINVAL
 * if it is no such object, or has a key that is none of theirs; HF_ENOMEM. */
hf_status hf_tool_json_read(char *line, struct hf_tool_json_value *values,
                            size_t count, struct hf_error *error);

#endif
