/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of JSON, one function for each rule of RFC 8259. */
#include "json_check.h"

#include <string.h>

#include "base/utf8.h"

#define DEPTH_MAX 16

static bool take_value(const char **at, unsigned depth);

static void skip(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool take(const char **at, char c)
{
    skip(at);
    if (**at != c)
        return false;
    ++*at;
    return true;
}

static bool take_word(const char **at, const char *word)
{
    size_t bytes = strlen(word);

    if (strncmp(*at, word, bytes) != 0)
        return false;
    *at += bytes;
    return true;
}

static bool take_escape(const char **at)
{
    if (**at == 'u') {
        ++*at;
        if (strspn(*at, "0123456789abcdefABCDEF") < 4)
            return false;
        *at += 4;
        return true;
    }
    if (**at == '\0' || strchr("\"\\/bfnrt", **at) == NULL)
        return false;
    ++*at;
    return true;
}

static bool take_string(const char **at)
{
    if (!take(at, '"'))
        return false;
    while (**at != '"') {
        if ((unsigned char)**at < 0x20)
            return false;
        if (*(*at)++ == '\\' && !take_escape(at))
            return false;
    }
    ++*at;
    return true;
}

/* Integers only, because we write no other numbers. */
static bool take_number(const char **at)
{
    size_t digits = strspn(*at, "0123456789");

    if (digits == 0 || (digits > 1 && **at == '0'))
        return false;
    *at += digits;
    return true;
}

static bool take_elements(const char **at, char end, unsigned depth)
{
    if (take(at, end))
        return true;
    do {
        if (end == '}' && (!take_string(at) || !take(at, ':')))
            return false;
        if (!take_value(at, depth + 1))
            return false;
    } while (take(at, ','));
    return take(at, end);
}

static bool take_value(const char **at, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return false;
    skip(at);
    if (take(at, '{'))
        return take_elements(at, '}', depth);
    if (take(at, '['))
        return take_elements(at, ']', depth);
    if (**at == '"')
        return take_string(at);
    return take_word(at, "null") || take_word(at, "true") ||
           take_word(at, "false") || take_number(at);
}

bool json_is_valid(const char *text)
{
    const char *at = text;

    if (!hf_utf8_valid(text, strlen(text)) || !take_value(&at, 0))
        return false;
    skip(&at);
    return *at == '\0';
}
