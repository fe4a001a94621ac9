/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer of JSON (RFC 8259) to a stream.  Objects and lists are begun and
 * ended.  Members of an object are written with their key, elements of a list
 * with NULL as the key.
 *
 * The output is valid UTF-8 for any input: characters that cannot be shown
 * (hf_utf8_unprintable()) are escaped, and bytes that are not UTF-8 become
 * U+FFFD.
 */
#ifndef HF_COMMAND_JSON_H
#define HF_COMMAND_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hf_json {
    FILE *out;      /* a failure sets its error flag */
    unsigned depth; /* number of objects and lists that are open */
    bool empty;     /* the innermost object or list has nothing in it yet */
    bool one_line;  /* write no line breaks but one at the end */
};

/* Begin an object or a list.  ${key} is NULL for the outermost one and for
 * elements of a list. */
void hf_json_begin_object(struct hf_json *json, const char *key);
void hf_json_begin_list(struct hf_json *json, const char *key);
/* End the innermost object or list. */
void hf_json_end_object(struct hf_json *json);
void hf_json_end_list(struct hf_json *json);

/* Write a value.  ${key} is NULL for elements of a list.  ${text} may contain
 * any bytes. */
void hf_json_string(struct hf_json *json, const char *key, const char *text);
void hf_json_number(struct hf_json *json, const char *key, uint64_t number);
void hf_json_signed(struct hf_json *json, const char *key, int64_t number);
void hf_json_bool(struct hf_json *json, const char *key, bool value);
void hf_json_null(struct hf_json *json, const char *key);

#endif
