/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text looks like a URL if it has ":/" in it, or one of our schemes with its
 * ':' at its beginning or behind a '/' or '='.  Its passwords are the text
 * between the second ':' and the last '@' (the first ':' is that of the
 * scheme), and the values of options whose keys are for passwords.
 */
#include "base/secret.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MASK "***"

static const char *const schemes[] = {
    "file:",   "zk:",       "zks:",        "redis:", "rediss:",
    "quorum:", "postgres:", "postgresql:", "etcd:",  "etcds:"};

/* Is the key, with its length ${bytes}, the word ${plain}?  Upper case and
 * percent escapes in the key make no difference. */
static bool is_key(const char *key, size_t bytes, const char *plain)
{
    for (size_t at = 0; at < bytes; at++, plain++) {
        unsigned long byte = (unsigned char)key[at];

        if (byte == '%' && bytes - at > 2 &&
            isxdigit((unsigned char)key[at + 1]) &&
            isxdigit((unsigned char)key[at + 2])) {
            const char digits[] = {key[at + 1], key[at + 2], '\0'};

            byte = strtoul(digits, NULL, 16);
            at += 2;
        }
        if (*plain == '\0' || tolower((int)byte) != *plain)
            return false;
    }
    return *plain == '\0';
}

bool hf_secret_key(const char *key, size_t bytes)
{
    static const char *const keys[] = {
        "auth", "pass", "passwd", "password", "pwd", "secret", "sslpassword"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (is_key(key, bytes, keys[i]))
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

/* Does ${text} look like a URL, perhaps with a path or a key in front of it? */
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

static bool is_empty(struct hf_secret secret)
{
    return secret.from == secret.to;
}

/* Set .user to the password in front of the last '@', if there is one. */
static void find_before_at(struct hf_secrets *secrets)
{
    const char *text = secrets->text;
    const char *at = memrchr(text, '@', secrets->bytes);
    const char *colon = memchr(text, ':', secrets->bytes);

    if (at == NULL || colon == NULL || colon > at)
        return;
    colon = memchr(colon + 1, ':', (size_t)(at - colon) - 1);
    if (colon != NULL)
        secrets->user =
            (struct hf_secret){(size_t)(colon - text) + 1, (size_t)(at - text)};
}

/* Return where the value that contains the offset ${at} ends: before the next
 * '?' or '&'. */
static size_t value_end(const struct hf_secrets *secrets, size_t at)
{
    while (at < secrets->bytes && secrets->text[at] != '?' &&
           secrets->text[at] != '&')
        at++;
    return at;
}

/* Set .option to the next password that is the value of an option, searching
 * from .next on.  If there is none, set .option to an empty one. */
static void find_option(struct hf_secrets *secrets)
{
    const char *text = secrets->text;

    secrets->option = (struct hf_secret){0, 0};
    while (is_empty(secrets->option) && secrets->next < secrets->bytes) {
        size_t at = secrets->next, end = value_end(secrets, at + 1);
        const char *equals;

        secrets->next = end;
        equals = memchr(text + at, '=', end - at);
        if ((text[at] == '?' || text[at] == '&') && equals != NULL &&
            hf_secret_key(text + at + 1, (size_t)(equals - text) - at - 1))
            secrets->option =
                (struct hf_secret){(size_t)(equals - text) + 1, end};
    }
}

void hf_secrets_begin(struct hf_secrets *secrets, const char *text,
                      size_t bytes)
{
    *secrets = (struct hf_secrets){.text = text, .bytes = bytes};
    if (looks_like_url(text, bytes))
        find_before_at(secrets);
    else
        secrets->next = bytes;
}

/* Join .user and .option while they overlap or touch: a password in front of
 * the '@' may contain what looks like an option, and the value of an option may
 * contain the '@'.  Hidden separately, they would leave a piece of a password
 * visible.  If the joined password begins with the value of an option, it ends
 * where a value ends, so that a second search of the masked text finds nothing
 * more. */
static void join_overlapping(struct hf_secrets *secrets)
{
    struct hf_secret *user = &secrets->user, *option = &secrets->option;

    while (!is_empty(*option) && !is_empty(*user) && option->from <= user->to &&
           user->from <= option->to) {
        user->to = option->to > user->to ? option->to : user->to;
        if (option->from < user->from) {
            user->from = option->from;
            user->to = value_end(secrets, user->to);
        }
        find_option(secrets);
    }
}

bool hf_secrets_next(struct hf_secrets *secrets, struct hf_secret *secret)
{
    struct hf_secret *user = &secrets->user, *option = &secrets->option;
    struct hf_secret *first = option;

    if (is_empty(*option))
        find_option(secrets);
    join_overlapping(secrets);
    if (is_empty(*option) || (!is_empty(*user) && user->from < option->from))
        first = user;
    *secret = *first;
    *first = (struct hf_secret){0, 0};
    return !is_empty(*secret);
}

/* Copy the word of ${bytes} at ${text} to ${out}, with each password masked.
 * ${out} may be equal to ${text} or in front of it: what was copied is not read
 * again.  Returns where the copy ends. */
static char *copy_hidden(char *out, const char *text, size_t bytes)
{
    struct hf_secrets secrets;
    struct hf_secret secret;
    size_t copied = 0;

    hf_secrets_begin(&secrets, text, bytes);
    while (hf_secrets_next(&secrets, &secret)) {
        size_t mask = secret.to - secret.from;

        mask = mask < strlen(MASK) ? mask : strlen(MASK);
        memmove(out, text + copied, secret.from - copied);
        out += secret.from - copied;
        memcpy(out, MASK, mask);
        out += mask;
        copied = secret.to;
    }
    memmove(out, text + copied, bytes - copied);
    return out + (bytes - copied);
}

/* Words end at blanks, quotes and brackets. */
void hf_secret_hide(char *text)
{
    char *out = text;

    while (*text != '\0') {
        size_t bytes = strcspn(text, " \t\n\"'()<>");

        bytes += bytes == 0;
        out = copy_hidden(out, text, bytes);
        text += bytes;
    }
    *out = '\0';
}
