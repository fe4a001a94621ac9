/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON (RFC 8259), written as it comes: objects and lists are begun and ended,
 * members have a key, elements have NULL.  Whatever text there is comes out as
 * valid UTF-8 without what cannot be shown (hf_utf8_unprintable()): that is
 * escaped, and what is no UTF-8 is replaced by U+FFFD.
 */
#ifndef HF_CLI_JSON_H
#define HF_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hf_json {
    FILE *out; /* its error flag tells of failures */
    unsigned depth;
    bool empty; /* nothing in the innermost object or list yet */
};

void hf_json_begin_object(struct hf_json *json, const char *key);
void hf_json_begin_list(struct hf_json *json, const char *key);
void hf_json_end_object(struct hf_json *json);
void hf_json_end_list(struct hf_json *json);

void hf_json_string(struct hf_json *json, const char *key, const char *text);
void hf_json_number(struct hf_json *json, const char *key, uint64_t number);
void hf_json_null(struct hf_json *json, const char *key);

#endif
