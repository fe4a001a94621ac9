/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer of JSON (RFC 8259) to a stream: objects and lists are begun and
 * ended, members are written with their key, elements with NULL for a key.
 *
 * The output is valid UTF-8 for any input: what cannot be shown
 * (hf_utf8_unprintable()) is escaped, and what is not UTF-8 becomes U+FFFD.
 */
#ifndef HF_COMMAND_JSON_H
#define HF_COMMAND_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hf_json {
    FILE *out;      /* failures are in its error flag */
    unsigned depth; /* objects and lists that are open */
    bool empty;     /* the innermost object or list has nothing in it yet */
    bool one_line;  /* no line breaks but the one at the end */
};

/* Begin an object or a list; ${key} is NULL for the outermost one and in a
 * list. */
void hf_json_begin_object(struct hf_json *json, const char *key);
void hf_json_begin_list(struct hf_json *json, const char *key);
/* End the innermost object or list. */
void hf_json_end_object(struct hf_json *json);
void hf_json_end_list(struct hf_json *json);

/* Write a value; ${key} is NULL in a list.  ${text} may have any bytes. */
void hf_json_string(struct hf_json *json, const char *key, const char *text);
void hf_json_number(struct hf_json *json, const char *key, uint64_t number);
void hf_json_signed(struct hf_json *json, const char *key, int64_t number);
void hf_json_bool(struct hf_json *json, const char *key, bool value);
void hf_json_null(struct hf_json *json, const char *key);

#endif
