/* SPDX-License-Identifier: Apache-2.0 */
/* See json_line.h.  A string is never longer than what it is written as, so it
 * is decoded over that. */
#include "zookeeper_tool/json_line.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"

/* What is left to read. */
struct cursor {
    char *at;
    const char *begin;
    struct hf_error *error;
};

static hf_status refuse(const struct cursor *cursor, const char *expected)
{
    return hf_error_set(cursor->error, HF_EINVAL,
                        "column %zu: expected %s, as 'holdfast zk export' "
                        "writes it",
                        (size_t)(cursor->at - cursor->begin) + 1, expected);
}

static void skip_blanks(struct cursor *cursor)
{
    cursor->at += strspn(cursor->at, " \t\r");
}

/* Take the character ${c} and blanks around it, if it is next. */
static bool take(struct cursor *cursor, char c)
{
    skip_blanks(cursor);
    if (*cursor->at != c)
        return false;
    cursor->at++;
    skip_blanks(cursor);
    return true;
}

/* -------------------------------------------------------------- strings -- */

/* Set ${unit} to the four hexadecimal digits at ${text}. */
static bool read_unit(const char *text, uint32_t *unit)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";

    *unit = 0;
    for (int i = 0; i < 4; i++) {
        const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;

        if (digit == NULL)
            return false;
        *unit = *unit << 4 | (uint32_t)((digit - digits) % 16);
    }
    return true;
}

/* Take what follows \u: one unit of UTF-16, or a pair of them.  Not 0, which no
 * text of ours has. */
static bool take_code(struct cursor *cursor, uint32_t *code)
{
    uint32_t second;

    if (!read_unit(cursor->at, code) || *code == 0)
        return false;
    cursor->at += 4;
    if (*code < 0xd800 || *code > 0xdfff)
        return true;
    if (*code > 0xdbff || cursor->at[0] != '\\' || cursor->at[1] != 'u' ||
        !read_unit(cursor->at + 2, &second) || second < 0xdc00 ||
        second > 0xdfff)
        return false;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (second - 0xdc00);
    cursor->at += 6;
    return true;
}

/* Write ${code} in UTF-8 at ${to}, and return where that ends. */
static char *put_code(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xe0 | code >> 12);
        } else {
            *to++ = (char)(0xf0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 63));
        }
        *to++ = (char)(0x80 | (code >> 6 & 63));
    }
    *to++ = (char)(0x80 | (code & 63));
    return to;
}

/* Take what follows a backslash. */
static bool take_escape(struct cursor *cursor, char **to)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char letter = *cursor->at;
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    uint32_t code;

    if (letter != '\0')
        cursor->at++;
    if (found != NULL) {
        *(*to)++ = meanings[found - letters];
        return true;
    }
    if (letter != 'u' || !take_code(cursor, &code))
        return false;
    *to = put_code(*to, code);
    return true;
}

/* Take a string.  NULL after refusing what is there. */
static char *take_string(struct cursor *cursor)
{
    char *text, *to;

    if (*cursor->at != '"') {
        (void)refuse(cursor, "a string");
        return NULL;
    }
    text = to = ++cursor->at;
    while (*cursor->at != '"') {
        char c = *cursor->at;

        if (c == '\0') {
            (void)refuse(cursor, "the end of a string");
            return NULL;
        }
        cursor->at++;
        if (c != '\\') {
            *to++ = c;
        } else if (!take_escape(cursor, &to)) {
            (void)refuse(cursor, "an escape such as \\n or \\u00e4");
            return NULL;
        }
    }
    cursor->at++;
    *to = '\0';
    return text;
}

/* --------------------------------------------------------------- values -- */

static hf_status take_number(struct cursor *cursor, uint64_t *number)
{
    size_t digits = strspn(cursor->at, "0123456789");

    if (digits == 0 || digits > 18)
        return refuse(cursor, "a number");
    *number = 0;
    for (size_t i = 0; i < digits; i++)
        *number = *number * 10 + (uint64_t)(*cursor->at++ - '0');
    return HF_OK;
}

/* Add ${text} to the list of ${value}. */
static hf_status add(const struct cursor *cursor,
                     struct hf_tool_json_value *value, char *text)
{
    /* Room is doubled at each power of two. */
    if ((value->count & (value->count - 1)) == 0) {
        size_t room = value->count == 0 ? 1 : value->count * 2;
        char **list = hf_realloc(value->list, room * sizeof *list);

        if (list == NULL)
            return hf_error_set(cursor->error, HF_ENOMEM, "no memory is left");
        value->list = list;
    }
    value->list[value->count++] = text;
    return HF_OK;
}

static hf_status take_list(struct cursor *cursor,
                           struct hf_tool_json_value *value)
{
    if (!take(cursor, '['))
        return refuse(cursor, "a list");
    if (take(cursor, ']'))
        return HF_OK;
    for (;;) {
        char *text = take_string(cursor);
        hf_status status =
            text != NULL ? add(cursor, value, text) : cursor->error->status;

        if (status != HF_OK || take(cursor, ']'))
            return status;
        if (!take(cursor, ','))
            return refuse(cursor, "',' or ']'");
    }
}

static hf_status take_value(struct cursor *cursor,
                            struct hf_tool_json_value *value)
{
    if (value->kind == HF_TOOL_JSON_NUMBER)
        return take_number(cursor, &value->number);
    if (value->kind == HF_TOOL_JSON_LIST)
        return take_list(cursor, value);
    if (strncmp(cursor->at, "null", 4) == 0) {
        cursor->at += 4;
        return HF_OK;
    }
    value->text = take_string(cursor);
    return value->text != NULL ? HF_OK : cursor->error->status;
}

/* --------------------------------------------------------------- object -- */

static struct hf_tool_json_value *find(struct hf_tool_json_value *values,
                                       size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].key, key) == 0)
            return &values[i];
    return NULL;
}

/* Take a key and its value. */
static hf_status take_pair(struct cursor *cursor,
                           struct hf_tool_json_value *values, size_t count)
{
    struct hf_tool_json_value *value;
    char *key = take_string(cursor);

    if (key == NULL)
        return cursor->error->status;
    value = find(values, count, key);
    if (value == NULL || value->given)
        return hf_error_set(cursor->error, HF_EINVAL,
                            "the key %s, %s; expected a line as 'holdfast zk "
                            "export' writes it",
                            hf_quote(key, strlen(key)).text,
                            value == NULL ? "which has no meaning here"
                                          : "twice");
    value->given = true;
    if (!take(cursor, ':'))
        return refuse(cursor, "':'");
    return take_value(cursor, value);
}

hf_status hf_tool_json_read(char *line, struct hf_tool_json_value *values,
                            size_t count, struct hf_error *error)
{
    struct cursor cursor = {line, line, error};

    if (!take(&cursor, '{'))
        return refuse(&cursor, "an object, which begins with '{'");
    do {
        hf_status status = take_pair(&cursor, values, count);

        if (status != HF_OK)
            return status;
    } while (take(&cursor, ','));
    if (!take(&cursor, '}'))
        return refuse(&cursor, "',' or '}'");
    return *cursor.at == '\0' ? HF_OK : refuse(&cursor, "the end of the line");
}
