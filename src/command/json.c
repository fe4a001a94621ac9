/* SPDX-License-Identifier: Apache-2.0 */
/* See json.h. */
#include "command/json.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

/* Write ${code} as \uXXXX; beyond U+FFFF as a pair of surrogates (UTF-16). */
static void put_utf16(FILE *out, uint32_t code)
{
    if (code > 0xffff)
        fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32,
                0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
    else
        fprintf(out, "\\u%04" PRIx32, code);
}

/* Write a character that must be escaped in a string. */
static void put_escaped(FILE *out, uint32_t code)
{
    switch (code) {
    case '"':
        fputs("\\\"", out);
        break;
    case '\\':
        fputs("\\\\", out);
        break;
    case '\n':
        fputs("\\n", out);
        break;
    case '\t':
        fputs("\\t", out);
        break;
    default:
        put_utf16(out, code);
    }
}

/* Write a string in quotes. */
static void put_string(FILE *out, const char *text)
{
    size_t bytes = strlen(text);
    uint32_t code;

    putc('"', out);
    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length == 0) {
            put_escaped(out, 0xfffd);
            length = 1;
        } else if (hf_utf8_unprintable(code) || code == '"' || code == '\\') {
            put_escaped(out, code);
        } else {
            fwrite(text + at, 1, length, out);
        }
    }
    putc('"', out);
}

/* Begin a new line and indent it. */
static void begin_line(struct hf_json *json)
{
    if (json->one_line)
        return;
    putc('\n', json->out);
    for (unsigned i = 0; i < json->depth; i++)
        fputs("  ", json->out);
}

/* Write what precedes a value: comma, new line and key. */
static void begin_value(struct hf_json *json, const char *key)
{
    if (json->depth > 0) {
        if (!json->empty)
            fputs(json->one_line ? ", " : ",", json->out);
        begin_line(json);
    }
    json->empty = false;
    if (key != NULL) {
        put_string(json->out, key);
        fputs(": ", json->out);
    }
}

/* Begin an object or a list. */
static void begin_nested(struct hf_json *json, const char *key, char bracket)
{
    begin_value(json, key);
    putc(bracket, json->out);
    json->depth++;
    json->empty = true;
}

/* End the innermost object or list; the outermost one ends with a newline. */
static void end_nested(struct hf_json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    if (!json->empty)
        begin_line(json);
    putc(bracket, json->out);
    json->empty = false;
    if (json->depth == 0)
        putc('\n', json->out);
}

void hf_json_begin_object(struct hf_json *json, const char *key)
{
    begin_nested(json, key, '{');
}

void hf_json_begin_list(struct hf_json *json, const char *key)
{
    begin_nested(json, key, '[');
}

void hf_json_end_object(struct hf_json *json)
{
    end_nested(json, '}');
}

void hf_json_end_list(struct hf_json *json)
{
    end_nested(json, ']');
}

void hf_json_string(struct hf_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    put_string(json->out, text);
}

void hf_json_number(struct hf_json *json, const char *key, uint64_t number)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRIu64, number);
}

void hf_json_signed(struct hf_json *json, const char *key, int64_t number)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, number);
}

void hf_json_bool(struct hf_json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}

void hf_json_null(struct hf_json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}
