/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that looks like a URL has ":/" in it, or one of our schemes and ':' at
 * its beginning or behind a '/' or '='.  Its password is between the second ':'
 * and the last '@', because the first ':' is that of the scheme; or it is the
 * value of an option with such a key.
 */
#include "base/secret.h"

#include <string.h>
#include <strings.h>

#define MASK "***"

static const char *const schemes[] = {
    "file:",   "zk:",       "zks:",        "redis:", "rediss:",
    "quorum:", "postgres:", "postgresql:", "etcd:",  "etcds:"};

bool hf_secret_key(const char *key, size_t bytes)
{
    static const char *const keys[] = {
        "auth", "pass", "passwd", "password", "pwd", "secret", "sslpassword"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strlen(keys[i]) == bytes && strncasecmp(keys[i], key, bytes) == 0)
            return true;
    return false;
}

/* Does one of our schemes begin at ${at}? */
static bool is_scheme(const char *text, size_t bytes, size_t at)
{
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (bytes - at > strlen(schemes[i]) &&
            strncasecmp(text + at, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

/* A path or a key may be in front of the URL. */
static bool looks_like_url(const char *text, size_t bytes)
{
    if (bytes == 0) /* ${text} may be NULL */
        return false;
    if (memmem(text, bytes, ":/", 2) != NULL)
        return true;
    for (size_t at = 0; at < bytes; at++)
        if ((at == 0 || text[at - 1] == '/' || text[at - 1] == '=') &&
            is_scheme(text, bytes, at))
            return true;
    return false;
}

/* A password in front of the last '@'. */
static bool find_before_at(const char *text, size_t bytes, size_t *from,
                           size_t *to)
{
    const char *at = memrchr(text, '@', bytes);
    const char *colon = memchr(text, ':', bytes);

    if (at == NULL || colon == NULL || colon > at)
        return false;
    colon = memchr(colon + 1, ':', (size_t)(at - colon) - 1);
    if (colon == NULL || colon + 1 == at)
        return false;
    *from = (size_t)(colon - text) + 1;
    *to = (size_t)(at - text);
    return true;
}

/* A password as the value of an option. */
static bool find_option(const char *text, size_t bytes, size_t *from,
                        size_t *to)
{
    for (size_t at = 0, end; at < bytes; at = end) {
        const char *equals;

        for (end = at + 1; end < bytes; end++)
            if (text[end] == '?' || text[end] == '&')
                break;
        equals = memchr(text + at, '=', end - at);
        if ((text[at] != '?' && text[at] != '&') || equals == NULL ||
            equals + 1 == text + end ||
            !hf_secret_key(text + at + 1, (size_t)(equals - text) - at - 1))
            continue;
        *from = (size_t)(equals - text) + 1;
        *to = end;
        return true;
    }
    return false;
}

bool hf_secret_find(const char *text, size_t bytes, size_t *from, size_t *to)
{
    return looks_like_url(text, bytes) &&
           (find_before_at(text, bytes, from, to) ||
            find_option(text, bytes, from, to));
}

/* Replace what is from ${from} up to ${to}; the text does not grow.  Returns
 * where the mask ends. */
static size_t put_mask(char *text, size_t from, size_t to)
{
    size_t bytes = to - from < strlen(MASK) ? to - from : strlen(MASK);

    memcpy(text + from, MASK, bytes);
    memmove(text + from + bytes, text + to, strlen(text + to) + 1);
    return from + bytes;
}

static bool is_mask(const char *text, size_t bytes)
{
    return strspn(text, "*") >= bytes;
}

/* Words end at blanks, quotes and brackets. */
void hf_secret_hide(char *text)
{
    size_t from, to;

    while (*text != '\0') {
        size_t bytes = strcspn(text, " \t\n\"'()<>");

        if (bytes > 0 && hf_secret_find(text, bytes, &from, &to) &&
            !is_mask(text + from, to - from))
            text += put_mask(text, from, to);
        else
            text += bytes > 0 ? bytes : 1;
    }
}
